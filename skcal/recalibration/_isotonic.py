"""Isotonic regression of outcomes on scores, plain, centred and strictly increasing."""

from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.isotonic import isotonic_regression

from skcal._core.edges import n_edges_up_to
from skcal._core.pooling import pool_ties
from skcal._sklearn import Interval
from skcal.recalibration._base import BaseRecalibrator, OneVsRestRecalibrator

# Neighbouring blocks whose means differ by less than rounding are one block.
_SAME = 1e-12
# Share of the tilt in a strictly increasing map, the most by which it moves a value.
_TILT = 1e-4
_TILT_SCALE = 10.0


class IsotonicKnots(NamedTuple):
    """A non-decreasing map of one event: values at knots, joined by straight lines.

    Attributes
    ----------
    log_odds : ndarray of shape (n_knots,)
        Increasing scores of the knots.
    proba : ndarray of shape (n_knots,)
        The event's repaired probabilities there.
    """

    log_odds: np.ndarray
    proba: np.ndarray


class IsotonicCalibration(OneVsRestRecalibrator):
    r"""Isotonic calibration: the best non-decreasing map from score to probability.

    Isotonic regression fits the outcomes in least squares, and in log loss, among all
    non-decreasing maps. It assumes no shape, so it needs more rows than the
    parametric recalibrators. The plain fit is a staircase: scores of one step tie, and
    the first and last step are often exactly 0 and 1, which costs an infinite log loss
    on the first surprise. Centred isotonic regression [2]_ places each step at its mean
    score and joins the steps by straight lines, which has no ties inside and is more
    accurate wherever the truth is not itself a staircase.

    Read more in the :ref:`User Guide <isotonic_calibration>`.

    Parameters
    ----------
    centered : bool, default=False
        Join the centres of the steps instead of their edges. The map is then constant
        only below the first and above the last centre.
    strict : bool, default=False
        Tilt the map so that it increases strictly everywhere and keeps the order of the
        scores, and with it the AUC. No value moves by more than 1e-4. The order is kept
        in float64; float32 input has float32 output, which cannot resolve the tilt.
    pseudo_count : float, default=0.0
        Weight of two rows added to the fit, an event below all scores and a non-event
        above: a positive count keeps exact 0 and 1 out, as Laplace's rule does. A last
        step of n events gets n / (n + `pseudo_count`) or less. 1 is a good choice.
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order, where `y` may lack one. None takes those of `y`.
    input : {"proba", "logits"}, default="proba"
        What is given to `fit` and `transform`: probabilities or logits.

    Attributes
    ----------
    calibrators_ : list of (log_odds, proba)
        Knots of the map, of the second class for two classes, else of each class; None
        for a class that `y` lacks. No training data are kept.
    classes_ : ndarray of shape (n_classes,)
        The labels in sorted order.
    n_features_in_ : int
        Number of columns seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns seen during fit, where all of them are strings.

    See Also
    --------
    SplineCalibration : A smooth map.
    HistogramBinning : A staircase with steps of your choice.

    Notes
    -----
    With rows in the order of their scores, equal scores pooled with the sum of their
    weights, the values are

    .. math:: \min_{q_1 \le \dots \le q_n} \sum_i w_i (y_i - q_i)^2 .

    The solution is constant on blocks of rows and equals their weighted mean outcome
    there. Between knots the map is linear in the predicted *probability*, also where
    logits are given, and constant beyond the first and the last, so that the plain map
    equals scikit-learn's
    :class:`~sklearn.isotonic.IsotonicRegression` of `y` on the probabilities with
    ``out_of_bounds="clip"``. A score that does not tell the classes apart, or in
    reverse order, has a constant map.

    `strict` turns a value q into :math:`(1 - \lambda) q + \lambda s(z)` with
    :math:`\lambda = 10^{-4}`, z the log odds of the score and
    :math:`s(z) = (1 + z / (10 + |z|)) / 2`, which keeps resolving scores far out in the
    tails. With three or more classes it is each class's map that increases, before a
    row's values are divided by their sum.

    `centered` centres every block, those of exactly 0 and 1 as well.

    References
    ----------
    .. [1] B. Zadrozny and C. Elkan, "Transforming Classifier Scores into Accurate
       Multiclass Probability Estimates", KDD 2002.
    .. [2] A. P. Oron and N. Flournoy, "Centered Isotonic Regression: Point and Interval
       Estimation for Dose-Response Studies", Statistics in Biopharmaceutical Research
       9(3), 2017.
       `arXiv:1701.05964 <https://arxiv.org/abs/1701.05964>`_

    Examples
    --------
    >>> from skcal.recalibration import IsotonicCalibration
    >>> proba = [0.1, 0.2, 0.2, 0.6, 0.9]
    >>> y = [0, 0, 1, 0, 1]
    >>> isotonic = IsotonicCalibration().fit(proba, y)
    >>> isotonic.transform(proba)[:, 1].round(2)
    array([0.  , 0.33, 0.33, 0.33, 1.  ])
    >>> centered = IsotonicCalibration(centered=True, pseudo_count=1).fit(proba, y)
    >>> centered.transform(proba)[:, 1].round(2)
    array([0.4 , 0.4 , 0.4 , 0.45, 0.5 ])
    """

    _parameter_constraints: dict = {
        **BaseRecalibrator._parameter_constraints,
        "centered": ["boolean"],
        "strict": ["boolean"],
        "pseudo_count": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        centered=False,
        strict=False,
        pseudo_count=0.0,
        labels=None,
        input="proba",
    ):
        self.centered = centered
        self.strict = strict
        self.pseudo_count = pseudo_count
        self.labels = labels
        self.input = input

    def _fit_event(self, log_odds, event, weight):
        if event.min() == event.max():
            return None
        # Equal probabilities of a class have log odds that differ by rounding where the
        # other classes' are summed.
        scores, mass, events = pool_ties(log_odds.round(12), event, weight)
        first, last, proba = _blocks(mass, events, self.pseudo_count)
        if self.centered:
            at = _mean_scores(scores, mass, first, last)
        else:
            at = np.column_stack([scores[first], scores[last]]).ravel()
            proba = np.repeat(proba, 2)
        # A block of one score has one knot.
        kept = np.append(True, np.diff(at) > 0)
        return IsotonicKnots(at[kept], proba[kept])

    def _apply_event(self, learned, log_odds):
        proba = _interpolate(log_odds, learned)
        if self.strict:
            tilt = 0.5 + 0.5 * log_odds / (_TILT_SCALE + np.abs(log_odds))
            proba = (1.0 - _TILT) * proba + _TILT * tilt
        return proba


def _blocks(mass, events, pseudo_count):
    """First and last index of the blocks of isotonic regression, and their values."""
    mass = np.concatenate([[pseudo_count], mass, [pseudo_count]])
    events = np.concatenate([[pseudo_count], events, [0.0]])
    counted = slice(None) if pseudo_count > 0 else slice(1, -1)
    fitted = np.empty(mass.size)
    fitted[counted] = isotonic_regression(
        events[counted] / mass[counted], sample_weight=mass[counted]
    )
    if pseudo_count == 0:
        fitted[0], fitted[-1] = fitted[1], fitted[-2]
    starts = np.flatnonzero(np.append(True, np.diff(fitted) > _SAME * fitted[1:]))
    proba = np.add.reduceat(events, starts) / np.add.reduceat(mass, starts)
    last = np.append(starts[1:], mass.size) - 1
    # Back to indices of the scores: the two added rows belong to the end blocks.
    n_scores = mass.size - 2
    first, last = np.maximum(starts - 1, 0), np.minimum(last - 1, n_scores - 1)
    return first, last, np.maximum.accumulate(proba)


def _mean_scores(scores, mass, first, last):
    """Log odds of each block's mean probability, accurate near 0 and 1 alike."""
    total = np.add.reduceat(mass, first)
    yes = np.add.reduceat(mass * expit(scores), first) / total
    no = np.add.reduceat(mass * expit(-scores), first) / total
    several = (first < last) & (yes > 0) & (no > 0)
    means = 0.5 * (scores[first] + scores[last])
    means[several] = np.log(yes[several]) - np.log(no[several])
    return np.clip(means, scores[first], scores[last])


def _interpolate(log_odds, knots):
    """Values between the knots, linear in probability, constant beyond them."""
    at, proba = knots
    if at.size == 1:
        return np.full(log_odds.shape, proba[0])
    z = np.clip(log_odds, at[0], at[-1])
    right = n_edges_up_to(at, z)
    np.minimum(right, at.size - 1, out=right)
    value = proba[right]
    rises = np.append(False, np.diff(proba) > 0)
    if not rises.any():
        return value
    between = slice(None)
    if not rises[1:].all():
        # Most rows of a staircase are on a step.
        between = np.flatnonzero(rises[right])
        right, z = right[between], z[between]
    # (p - p_left) / (p_right - p_left) without the cancellation near 0 and 1, from
    # p = exp(min(z, 0)) / (1 + exp(-|z|)); what depends on the knots alone comes first.
    ends = 1.0 + np.exp(-np.abs(at[1:]))
    ends /= np.expm1(at[:-1] - at[1:])
    left = right - 1
    share = np.expm1(at[left] - z)
    share *= ends[left]
    share *= np.exp(np.minimum(z, 0.0) - np.minimum(at, 0.0)[right])
    share /= 1.0 + np.exp(-np.abs(z))
    share *= np.diff(proba)[left]
    share += proba[left]
    value[between] = np.minimum(share, proba[right])
    return value
