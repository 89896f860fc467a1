"""Quadratic scaling of log odds."""

from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy.special import logit

from skcal._core.logistic import sigmoid
from skcal._sklearn import Interval
from skcal.recalibration._base import BaseRecalibrator, OneVsRestRecalibrator
from skcal.recalibration._newton import (
    dot,
    is_constant,
    logistic_loss,
    newton,
    penalised,
    restricted,
    warn_reversed,
)


class Parabola(NamedTuple):
    """A map of log odds, quadratic on either side of zero, linear beyond its ends."""

    intercept: float
    slope: float
    below: float
    above: float
    low: float
    high: float


class QuadraticScaling(OneVsRestRecalibrator):
    r"""Quadratic scaling: the repaired log odds are quadratic in the given ones.

    The curvature may differ below and above even odds. A light penalty towards the
    identity makes the fit safe on a few rows, and by default the ranking is kept.

    Read more in the :ref:`User Guide <quadratic_scaling>`.

    Parameters
    ----------
    penalty : float, default=1.0
        Strength of the penalty towards the identity, in observations: it does not grow
        with their number. 0 for none.
    monotonic : bool, default=True
        Keep the ranking of the scores. Otherwise the map may turn around where that
        fits the labels better.
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order. Give them where `y` may lack a class.
    input : {"proba", "logits"}, default="proba"
        What is given to `fit` and `transform`: probabilities, or logits.

    Attributes
    ----------
    coef_ : ndarray of shape (n_events, 3)
        The slope at even odds and the curvatures below and above: of the second class
        for two classes, else of each class.
    intercept_ : ndarray of shape (n_events,)
        The repaired log odds at even odds.
    calibrators_ : list
        The same for each event, and the lowest and highest log odds that it was fitted
        to, None for a class that the training labels lack.
    classes_ : ndarray of shape (n_classes,)
        The labels in sorted order.
    n_features_in_ : int
        Number of columns seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns seen during `fit`, where they have string names.

    See Also
    --------
    PlattScaling : No curvature.
    BetaCalibration : Different slopes for low and high probabilities.

    Notes
    -----
    With log odds :math:`z`, their parts :math:`z_- = \min(z, 0)` and
    :math:`z_+ = \max(z, 0)`, and their root mean square :math:`s`, the repaired log
    odds are :math:`c + b z - a_- z_-^2 + a_+ z_+^2`. They minimise the sum of the
    weighted log losses and

    .. math:: \frac{\lambda}{2} \left(
        c^2 + (b - 1)^2 + \frac{s^4}{2} (a_-^2 + a_+^2) \right),

    which is zero for the identity, so that the fit is never worse than the identity on
    its own data. Beyond the scores that it was fitted to the map goes on as a straight
    line. It is monotonic where its slope is not negative at both ends and at zero;
    these are the constraints. If all three bind, the scores rank the labels in reverse:
    every row gets the base rate, with a warning.

    Scores of two classes with normal distributions have exactly quadratic log odds
    [1]_, :math:`a_- = -a_+`. The signed square, :math:`a_- = a_+`, is what repairs
    scores that are too extreme the further out they are. Real data need both.

    With three classes or more there is one map per class, of that class's log odds
    against the rest, and the repaired probabilities are divided by their sum.

    References
    ----------
    .. [1] E. Berta, D. Holzmüller, M. I. Jordan and F. Bach, "Structured Matrix Scaling
       for Multi-Class Calibration", 2025.
       `arXiv:2511.03685 <https://arxiv.org/abs/2511.03685>`_

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import expit
    >>> from skcal.recalibration import QuadraticScaling
    >>> rng = np.random.default_rng(0)
    >>> log_odds = rng.normal(size=100_000)
    >>> y = rng.uniform(size=100_000) < expit(log_odds + 0.1 * log_odds**2)
    >>> QuadraticScaling().fit(expit(log_odds), y).coef_.round(1)
    array([[ 1. , -0.1,  0.1]])
    """

    _softens = True
    _parameter_constraints: dict = {
        **BaseRecalibrator._parameter_constraints,
        "penalty": [Interval(Real, 0, None, closed="left")],
        "monotonic": ["boolean"],
    }

    def __init__(self, *, penalty=1.0, monotonic=True, labels=None, input="proba"):
        self.penalty = penalty
        self.monotonic = monotonic
        self.labels = labels
        self.input = input

    def _fit_scores(self, scores, codes, weight):
        super()._fit_scores(scores, codes, weight)
        identity = Parabola(0.0, 1.0, 0.0, 0.0, 0.0, 0.0)
        maps = [learned or identity for learned in self.calibrators_]
        self.coef_ = np.array([[m.slope, m.below, m.above] for m in maps])
        self.intercept_ = np.array([m.intercept for m in maps])

    def _fit_event(self, log_odds, event, weight):
        if event.min() == event.max():
            return None
        share = weight / weight.sum()
        low, high = float(log_odds.min()), float(log_odds.max())
        if is_constant(log_odds):
            return Parabola(logit(dot(share, event)), 0.0, 0.0, 0.0, low, high)
        # Parameters are intercept, slope and curvatures in units of `scale`.
        scale = np.sqrt(dot(share, log_odds * log_odds))
        identity = np.array([0.0, scale, 0.0, 0.0])
        strength = self.penalty / weight.sum() * np.array([1, scale**-2, 0.5, 0.5])
        evaluate = logistic_loss(_design(log_odds / scale), event, share)
        evaluate = penalised(evaluate, identity, strength)
        name = type(self).__name__
        if self.monotonic:
            found = _monotonic(evaluate, identity, low / scale, high / scale, name)
        else:
            found, _ = newton(evaluate, identity, name)
        if not found[1:].any():
            warn_reversed(name)
            return Parabola(logit(dot(share, event)), 0.0, 0.0, 0.0, low, high)
        found /= np.array([1.0, scale, scale**2, scale**2])
        return Parabola(*found.tolist(), low, high)

    def _apply_event(self, learned, log_odds):
        inside = np.clip(log_odds, learned.low, learned.high)
        bend = learned.above * np.maximum(inside, 0.0)
        bend -= learned.below * np.minimum(inside, 0.0)
        slope = learned.slope + 2.0 * bend
        bend += learned.slope
        return sigmoid(learned.intercept + bend * inside + slope * (log_odds - inside))


def _design(scaled):
    """Features of the intercept, the slope and the two curvatures in rows."""
    design = np.empty((4, scaled.shape[0]))
    design[0] = 1.0
    design[1] = scaled
    np.minimum(scaled, 0.0, out=design[2])
    design[2] *= -design[2]
    np.maximum(scaled, 0.0, out=design[3])
    design[3] *= design[3]
    return design


def _monotonic(evaluate, identity, low, high, name):
    """Minimise over the maps whose slope is negative at neither end nor at zero.

    The slope is linear between these, so its values there are the parameters: it is
    their being non-negative that makes the map monotonic.
    """
    # An end on the other side of zero constrains nothing; any other place will do.
    below, above = (-low if low < 0.0 else 1.0), (high if high > 0.0 else 1.0)
    to_parameters = np.array(
        [
            [1.0, 0.0, 0.0, 0.0],
            [0.0, 1.0, -0.5 / below, -0.5 / above],
            [0.0, 0.0, 0.5 / below, 0.0],
            [0.0, 0.0, 0.0, 0.5 / above],
        ]
    )
    start = np.array([0.0, *(identity[1],) * 3])
    lower = np.array([-np.inf, 0.0, 0.0, 0.0])
    evaluate = restricted(evaluate, to_parameters, np.zeros(4))
    slopes, _ = newton(evaluate, start, name, lower)
    return slopes @ to_parameters
