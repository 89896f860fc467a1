"""Penalised spline of the log odds."""

from numbers import Integral, Real

import numpy as np
from scipy.special import logit

from skcal._core.logistic import sigmoid
from skcal._core.pooling import pool_ties
from skcal._sklearn import Interval, StrOptions
from skcal.recalibration._base import BaseRecalibrator, OneVsRestRecalibrator
from skcal.recalibration._newton import dot, is_constant, warn_reversed
from skcal.recalibration._spline_curve import SplineCurve, evaluate
from skcal.recalibration._spline_fit import SplineProblem, condensed, place_knots

CRITERIA = ("reml", "gcv", "loo")
# Log odds beyond this, which decision functions may be, are fitted in a larger unit.
_LARGEST = 1e6


class SplineCalibration(OneVsRestRecalibrator):
    r"""Spline calibration: a smooth curve from log odds to log odds.

    The repaired log odds are a penalised cubic spline of the given ones. What the
    penalty leaves free is a straight line, which is Platt scaling on log odds and
    contains the identity; how far the curve leaves it, the data decide. So it is about
    as good as Platt scaling where a line is right or rows are few, and follows any
    smooth shape where rows are many.

    Read more in the :ref:`User Guide <spline_calibration>`.

    Parameters
    ----------
    penalty : {"reml", "gcv", "loo"} or float, default="reml"
        Penalty of curvature, or how to choose it: by the greatest marginal likelihood
        of the data (the least erratic choice, above all below a thousand rows), by
        generalised cross-validation or by leave-one-out log loss. A given penalty does
        not depend on the unit of the scores nor on the number of rows. 1 is nearly, and
        1e6 or more exactly a straight line.
    n_knots : int, default=30
        Largest number of knots, at least two. They are spread over the scores' range
        and quantiles. The penalty smooths the curve, so more knots do no harm but to
        the time.
    monotone : bool, default=True
        Keep the order of the scores: no slope is less than 0.001, or than 0.01 per
        standard deviation of the log odds where that is less.
    pseudo_count : float, default=0.25
        Weight of two rows added to the fit, an event at the lowest score and a
        non-event at the highest: they keep apart from certainty what few rows say. They
        are left out where the fit would otherwise be worse than the identity on the
        training rows.
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order. Give them where `y` may lack a class.
    input : {"proba", "logits"}, default="proba"
        What is given to `fit` and `transform`: probabilities, or logits.

    Attributes
    ----------
    calibrators_ : list of (knots, values, slopes, penalty, degrees_of_freedom)
        The spline: of the second class for two classes, else of each class; None for a
        class that the training labels lack, which keeps its probability.
    classes_ : ndarray of shape (n_classes,)
        The labels in sorted order.
    n_features_in_ : int
        Number of columns seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns seen during `fit`, where they have string names.

    See Also
    --------
    PlattScaling : The straight line.
    BetaCalibration : Different slopes for low and high probabilities.
    IsotonicCalibration : Any non-decreasing map, smooth or not.

    Notes
    -----
    With log odds :math:`z` of mean :math:`m` and standard deviation :math:`s`, weights
    :math:`w` of sum :math:`W` and :math:`\ell` the log loss, the curve :math:`f`
    minimises

    .. math::
        \frac1W \sum_i w_i\, \ell(y_i, f(z_i))
        + \frac{\lambda}{2}\, s^3 \int f''(z)^2\, dz
        + \frac{1}{2 W} \frac{\mathrm{Var}(f(z) - z)}{s^2}

    over natural cubic splines. The last term, about one row's worth, has its minimum at
    slope one; it keeps the curve finite where the scores separate the classes. As both
    penalties are zero at the identity, the curve is never worse than the identity on
    the training rows, and its mean is the base rate but for the pseudo-count. The slope
    is a quadratic spline; a lower bound on its coefficients makes the curve monotone.
    Newton's method minimises.

    ``"reml"`` takes the Gaussian prior that the penalty is the logarithm of, and
    maximises Laplace's approximation of the probability of the labels over
    :math:`\lambda`. ``"loo"`` takes one Newton step for each row left out. Weights are
    numbers of rows to all three criteria.

    More than 1,024 distinct scores are replaced, within each of some 250 narrow cells
    and for events and other rows apart, by two weighted points with the same first four
    moments. That hardly changes the loss and makes the fit's time nearly independent of
    the number of rows.

    Equal scores get the base rate. So does every row, if no increasing curve is better,
    with a warning where the scores rank the labels in reverse.

    References
    ----------
    .. [1] S. N. Wood, "Generalized Additive Models: An Introduction with R", 2nd
       edition, 2017, chapters 5 and 6.
    .. [2] P. H. C. Eilers and B. D. Marx, "Flexible Smoothing with B-splines and
       Penalties", Statistical Science 11(2), 1996.
    .. [3] B. Lucena, "Spline-Based Probability Calibration", 2018.
       `arXiv:1809.07751 <https://arxiv.org/abs/1809.07751>`_
    .. [4] K. Rahnama Rad and A. Maleki, "A Scalable Estimate of the Out-of-Sample
       Prediction Error via Approximate Leave-One-Out Cross-Validation", Journal of the
       Royal Statistical Society B 82(4), 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import expit
    >>> from skcal.recalibration import SplineCalibration
    >>> rng = np.random.default_rng(0)
    >>> log_odds = rng.normal(size=10_000)
    >>> y = rng.uniform(size=10_000) < expit(log_odds + np.sin(log_odds))
    >>> spline = SplineCalibration(input="logits").fit(log_odds, y)
    >>> spline.transform([-1.0, 0.0, 1.0])[:, 1].round(2)
    array([0.13, 0.5 , 0.86])
    >>> expit([-1.0 + np.sin(-1.0), 0.0, 1.0 + np.sin(1.0)]).round(2)
    array([0.14, 0.5 , 0.86])
    """

    _softens = True
    _parameter_constraints: dict = {
        **BaseRecalibrator._parameter_constraints,
        "penalty": [
            StrOptions(set(CRITERIA)),
            Interval(Real, 0, None, closed="neither"),
        ],
        "n_knots": [Interval(Integral, 2, None, closed="left")],
        "monotone": ["boolean"],
        "pseudo_count": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        penalty="reml",
        n_knots=30,
        monotone=True,
        pseudo_count=0.25,
        labels=None,
        input="proba",
    ):
        self.penalty = penalty
        self.n_knots = n_knots
        self.monotone = monotone
        self.pseudo_count = pseudo_count
        self.labels = labels
        self.input = input

    def _fit_event(self, log_odds, event, weight):
        if event.min() == event.max():
            return None
        unit = np.abs(log_odds).max() / _LARGEST
        if unit <= 1.0:
            return self._fit_curve(log_odds, event, weight)
        curve = self._fit_curve(log_odds / unit, event, weight)
        return curve._replace(knots=unit * curve.knots, slopes=curve.slopes / unit)

    def _fit_curve(self, log_odds, event, weight):
        scores, mass, events = pool_ties(log_odds, event, weight)
        if is_constant(scores):
            return _constant(scores, mass, events)
        rows = condensed(scores, mass, events)
        knots = place_knots(scores, mass, rows.scale, self.n_knots)
        problem = SplineProblem(rows, knots, self, self.pseudo_count)
        penalty, parameters = problem.fit()
        if self.pseudo_count > 0.0:
            plain = SplineProblem(rows, knots, self, 0.0)
            if plain.harms(problem.log_odds_at(rows.position, parameters)):
                problem = plain
                penalty, parameters = problem.fit()
        if np.all(parameters[1:] <= problem.lower[1:]):
            if dot(rows.position, rows.events) < 0.0:
                warn_reversed(type(self).__name__)
            return _constant(scores, mass, events)
        return problem.curve(penalty, parameters)

    def _apply_event(self, learned, log_odds):
        return sigmoid(evaluate(learned, log_odds))


def _constant(scores, mass, events):
    rate = np.array([logit(events.sum() / mass.sum())])
    return SplineCurve(scores[:1], rate, np.zeros(1), np.inf, 1.0)
