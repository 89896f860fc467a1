"""Histogram binning."""

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from skcal._core.binning import quantile_bins
from skcal._core.edges import n_edges_up_to
from skcal._core.logistic import sigmoid
from skcal._core.pooling import pool_ties
from skcal._sklearn import Interval, StrOptions
from skcal.recalibration._base import BaseRecalibrator, OneVsRestRecalibrator

STRATEGIES = ("uniform", "quantile")
# Edges are lowered by so many roundings, so that a probability equal to an edge lands
# above it though its log odds were computed.
_MARGIN = 4.0 * np.finfo(np.float64).eps


class Histogram(NamedTuple):
    """A step function of the log odds.

    Attributes
    ----------
    edges : ndarray of shape (n_bins - 1,)
        Log odds between the bins, increasing. A score on an edge is in the upper bin.
    proba : ndarray of shape (n_bins,)
        The event's repaired probability in each bin, NaN where no row was.
    """

    edges: np.ndarray
    proba: np.ndarray


class HistogramBinning(OneVsRestRecalibrator):
    r"""Histogram binning: the share of events in each bin of the scores.

    The oldest and simplest map without a shape. It loses the order of the scores within
    a bin, and log loss with it; :class:`IsotonicCalibration` finds better bins and
    :class:`SplineCalibration` needs none.

    Read more in the :ref:`User Guide <histogram_binning>`.

    Parameters
    ----------
    n_bins : int, default=15
        Number of bins; fewer where equal scores would have to be split.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width in probability, closed on the left and the last one on both
        sides, or of about equal numbers of rows, with edges half way, in log odds,
        between the scores next to them. Equal scores always share a bin.
    pseudo_count : float, default=0.0
        Number of rows added to each bin, with its mean score as their share of events:
        a positive count draws small bins towards what they came with and keeps exact 0
        and 1 out.
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order. Give them where `y` may lack a class.
    input : {"proba", "logits"}, default="proba"
        What is given to `fit` and `transform`: probabilities, or logits.

    Attributes
    ----------
    calibrators_ : list of (edges, proba)
        The bins: of the second class for two classes, else of each class; None for a
        class that the training labels lack, which keeps its probability.
    classes_ : ndarray of shape (n_classes,)
        The labels in sorted order.
    n_features_in_ : int
        Number of columns seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns seen during `fit`, where they have string names.

    See Also
    --------
    skcal.binned_ece : The error that such bins show.
    IsotonicCalibration : Bins that the data choose, in increasing order.

    Notes
    -----
    With weights w, outcomes y and scores p of the rows of bin b and pseudo-count m, the
    repaired probability is

    .. math:: \frac{\sum_b w_i y_i + m \bar p_b}{\sum_b w_i + m},
        \qquad \bar p_b = \frac{\sum_b w_i p_i}{\sum_b w_i} .

    A score in a bin that no training row was in stays as it is.

    References
    ----------
    .. [1] B. Zadrozny and C. Elkan, "Obtaining Calibrated Probability Estimates from
       Decision Trees and Naive Bayesian Classifiers", ICML 2001 (quantile bins).

    Examples
    --------
    >>> from skcal.recalibration import HistogramBinning
    >>> proba = [0.1, 0.2, 0.3, 0.7, 0.9]
    >>> y = [0, 0, 1, 0, 1]
    >>> histogram = HistogramBinning(n_bins=2).fit(proba, y)
    >>> histogram.transform([0.4, 0.6])[:, 1].round(2)
    array([0.33, 0.5 ])
    """

    _parameter_constraints: dict = {
        **BaseRecalibrator._parameter_constraints,
        "n_bins": [Interval(Integral, 1, None, closed="left")],
        "strategy": [StrOptions(set(STRATEGIES))],
        "pseudo_count": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        n_bins=15,
        strategy="uniform",
        pseudo_count=0.0,
        labels=None,
        input="proba",
    ):
        self.n_bins = n_bins
        self.strategy = strategy
        self.pseudo_count = pseudo_count
        self.labels = labels
        self.input = input

    def _fit_event(self, log_odds, event, weight):
        if event.min() == event.max():
            return None
        if self.strategy == "uniform":
            scores, mass, events = log_odds, weight, weight * event
            edges = _uniform_edges(self.n_bins)
        else:
            scores, mass, events = pool_ties(log_odds, event, weight)
            edges = _quantile_edges(scores, mass, self.n_bins)
        index = n_edges_up_to(edges, scores)
        n_bins = edges.size + 1
        total = np.bincount(index, mass, n_bins)
        shrunk = np.bincount(index, events, n_bins)
        if self.pseudo_count > 0:
            sums = np.bincount(index, mass * sigmoid(scores), n_bins)
            shrunk += self.pseudo_count * sums / np.where(total > 0, total, 1.0)
        used = total > 0
        proba = np.full(n_bins, np.nan)
        proba[used] = shrunk[used] / (total[used] + self.pseudo_count)
        return Histogram(edges, proba)

    def _apply_event(self, learned, log_odds):
        proba = learned.proba[n_edges_up_to(learned.edges, log_odds)]
        if np.isnan(learned.proba).any():
            empty = np.isnan(proba)
            proba[empty] = expit(log_odds[empty])
        return proba


def _uniform_edges(n_bins):
    edges = logit(np.arange(1, n_bins) / n_bins)
    return edges - _MARGIN * np.maximum(1.0, np.abs(edges))


def _quantile_edges(scores, mass, n_bins):
    index = quantile_bins(scores, mass, n_bins)
    last = np.flatnonzero(index[1:] > index[:-1])
    return 0.5 * scores[last] + 0.5 * scores[last + 1]
