"""Penalised spline of the log odds."""

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy.interpolate import BSpline, CubicHermiteSpline
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit

from skcal._core.pooling import cells_of, level_of, pool_ties, two_point_rule
from skcal._sklearn import Interval, StrOptions
from skcal.recalibration._base import BaseRecalibrator, OneVsRestRecalibrator
from skcal.recalibration._newton import (
    dot,
    is_constant,
    logistic_loss,
    newton,
    warn_reversed,
)
from skcal.recalibration._temperature import first_slope

CRITERIA = ("reml", "gcv", "loo")
# More distinct scores than this are replaced by two points for each of the cells.
_MANY_SCORES, _N_CELLS = 1024, 256
# Knots are at least this far apart, in standard deviations of the log odds.
_LEAST_GAP = 1e-3
# Of these powers of ten the best penalty is found, then refined to so much of a power.
_SMOOTHEST, _ROUGHEST, _FINENESS = 1, -8, 0.05
# A monotone curve has at least this slope, so that distinct scores stay distinct, but
# no more than so much rise per standard deviation, as scores may be of any size.
_LEAST_SLOPE, _LEAST_RISE = 1e-3, 1e-2
# Log odds beyond this, which decision functions may be, are fitted in a larger unit.
_LARGEST = 1e6
# From this penalty on the curve is a straight line to about 1e-7: it gets two knots.
_STRAIGHT = 1e6


class SplineCurve(NamedTuple):
    """A natural cubic spline from log odds to repaired log odds.

    Attributes
    ----------
    knots : ndarray of shape (n_knots,)
        Log odds, increasing.
    values : ndarray of shape (n_knots,)
        Repaired log odds at the knots.
    slopes : ndarray of shape (n_knots,)
        The curve's slopes there. Beyond the knots it goes on in straight lines.
    penalty : float
        Penalty of curvature that was given or found.
    degrees_of_freedom : float
        Effective number of parameters: 2 is a straight line.
    """

    knots: np.ndarray
    values: np.ndarray
    slopes: np.ndarray
    penalty: float
    degrees_of_freedom: float


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
    moments. That changes the loss by about 1e-10 and makes the fit's time nearly
    independent of the number of rows.

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
        rows = _condensed(scores, mass, events)
        knots = _place_knots(scores, mass, rows.scale, self.n_knots)
        problem = _Problem(rows, knots, self, self.pseudo_count)
        penalty, parameters = problem.fit()
        if self.pseudo_count > 0.0:
            plain = _Problem(rows, knots, self, 0.0)
            if plain.harms(problem.log_odds_at(rows.position, parameters)):
                problem = plain
                penalty, parameters = problem.fit()
        if np.all(parameters[1:] <= problem.lower[1:]):
            if dot(rows.position, rows.events) < 0.0:
                warn_reversed(type(self).__name__)
            return _constant(scores, mass, events)
        return problem.curve(penalty, parameters)

    def _apply_event(self, learned, log_odds):
        return expit(_evaluate(learned, log_odds))


def _constant(scores, mass, events):
    rate = np.array([logit(events.sum() / mass.sum())])
    return SplineCurve(scores[:1], rate, np.zeros(1), np.inf, 1.0)


class _Problem:
    """The penalised loss of one event's curve, for any penalty.

    The parameters are the curve's mean over the rows, then the coefficients of its
    slope. Positions are standardised log odds.
    """

    def __init__(self, rows, knots, options, pseudo_count):
        self.rows, self.options = rows, options
        if not isinstance(options.penalty, str) and options.penalty >= _STRAIGHT:
            knots = knots[[0, -1]]
        self.knots = (knots - rows.centre) / rows.scale
        position, events, others = rows.position, rows.events, rows.others
        if pseudo_count > 0.0:
            position = np.concatenate([position, self.knots[[0, -1]]])
            events = np.concatenate([events, [pseudo_count, 0.0]])
            others = np.concatenate([others, [0.0, pseudo_count]])
        self.events, self.others = events, others
        mass = events + others
        self.total = mass.sum()
        self.share = mass / self.total
        basis = rows.scale * _integrated_basis(self.knots, position)
        self.offset = np.einsum("pi,i->p", basis, self.share)
        basis -= self.offset[:, np.newaxis]
        self.design = np.concatenate([np.ones((1, mass.size)), basis])
        self.target = events / mass
        self.loss = logistic_loss(self.design, self.target, self.share)

        n_parameters = self.design.shape[0]
        self.identity = np.ones(n_parameters)
        self.identity[0] = rows.centre + rows.scale * dot(self.share, position)
        self.start = self._first(rows, position)
        self.differences = np.diff(np.eye(n_parameters)[1:], axis=0)
        self.roughness = rows.scale**2 * _roughness(self.knots)
        self.ridge = np.zeros((n_parameters, n_parameters))
        self.ridge[1:, 1:] = np.einsum("pi,qi->pq", basis * self.share, basis)
        self.ridge /= self.total * rows.scale**2
        # Certain and right everywhere: the mean is free, and any change is.
        self.ridge[0, 0] = 1e-12
        self.lower = np.full(n_parameters, -np.inf)
        if options.monotone:
            self.lower[1:] = min(_LEAST_SLOPE, _LEAST_RISE / rows.scale)

    def _first(self, rows, position):
        """Where to start: from the identity, but where it has no curvature."""
        log_odds = rows.centre + rows.scale * position
        slope = first_slope(log_odds, self.target > 0.5, self.share)
        return slope * self.identity

    def fit(self):
        """Penalty, given or best, and the parameters there."""
        penalty = self.options.penalty
        if self.knots.size == 2:
            return np.inf, self.solve(_STRAIGHT, self.start)
        if not isinstance(penalty, str):
            return float(penalty), self.solve(float(penalty), self.start)
        parameters, found = self.start, {}
        for power in range(_SMOOTHEST, _ROUGHEST - 1, -1):
            parameters = self.solve(10.0**power, parameters)
            found[power] = self.criterion(10.0**power, parameters), parameters
        best = min(found, key=lambda power: found[power][0])
        nearby = found[best][1]
        refined = minimize_scalar(
            lambda p: self.criterion(10.0**p, self.solve(10.0**p, nearby)),
            bounds=(best - 1.0, best + 1.0),
            method="bounded",
            options={"xatol": _FINENESS},
        )
        if refined.fun < found[best][0]:
            penalty = 10.0 ** float(refined.x)
            return penalty, self.solve(penalty, nearby)
        return 10.0**best, nearby

    def quadratic(self, penalty):
        """Hessian of the penalties."""
        bent = self.differences.T @ self.roughness @ self.differences
        return min(penalty, _STRAIGHT) * bent + self.ridge

    def penalised_loss(self, penalty):
        """Mean loss with penalties, its gradient and Hessian, as a function."""
        quadratic = self.quadratic(penalty)

        def evaluate(parameters):
            loss, gradient, hessian = self.loss(parameters)
            away = parameters - self.identity
            pull = self.ridge @ away
            loss += 0.5 * float(away @ pull)
            # Differences first: they are small where the penalty is large.
            bent = self.differences @ parameters
            stress = penalty * (self.roughness @ bent)
            loss += 0.5 * float(bent @ stress)
            pull += self.differences.T @ stress
            return loss, gradient + pull, hessian + quadratic

        return evaluate

    def solve(self, penalty, start):
        evaluate = self.penalised_loss(penalty)
        start = np.maximum(start, self.lower)
        return newton(evaluate, start, "SplineCalibration", self.lower)[0]

    def criterion(self, penalty, parameters):
        """What the best penalty has the least of."""
        if self.options.penalty == "reml":
            loss, _, hessian = self.penalised_loss(penalty)(parameters)
            rank = parameters.size - 2
            volume = np.linalg.slogdet(hessian)[1] - rank * np.log(penalty)
            return self.total * loss + 0.5 * volume
        loss = self.loss(parameters)[0]
        if self.options.penalty == "gcv":
            left = self.total - self.degrees_of_freedom(penalty, parameters)
            return loss / left**2 if left > 0.0 else np.inf
        return self._leave_one_out_loss(penalty, parameters)

    def _free(self, parameters):
        return parameters > self.lower

    def degrees_of_freedom(self, penalty, parameters):
        hessian = self.loss(parameters)[2]
        free = np.ix_(*2 * [self._free(parameters)])
        both = hessian + self.quadratic(penalty)
        return float(np.trace(np.linalg.solve(both[free], hessian[free])))

    def _leave_one_out_loss(self, penalty, parameters):
        """Mean log loss after a Newton step for each row left out."""
        free = self._free(parameters)
        design = self.design[free]
        hessian = self.penalised_loss(penalty)(parameters)[2][np.ix_(free, free)]
        spread = np.linalg.solve(hessian, design)
        leverage = np.einsum("pi,pi->i", design, spread) / self.total
        log_odds = np.einsum("p,pi->i", parameters, self.design)
        proba = expit(log_odds)
        loss = 0.0
        for mass, sign in ((self.events, 1.0), (self.others, -1.0)):
            # A row of weight k is k rows; one of them is left out.
            pull = np.minimum(mass, 1.0) * leverage
            miss = np.where(sign > 0.0, 1.0 - proba, proba)
            rest = 1.0 - np.minimum(pull * proba * (1.0 - proba), 0.999)
            left_out = sign * log_odds - pull * miss / rest
            loss += dot(mass, np.logaddexp(0.0, -left_out))
        return loss / self.total

    def log_odds_at(self, position, parameters):
        basis = self.rows.scale * _integrated_basis(self.knots, position)
        basis -= self.offset[:, np.newaxis]
        return parameters[0] + np.einsum("p,pi->i", parameters[1:], basis)

    def harms(self, log_odds):
        """Whether log odds of the rows have a larger loss than those they came with."""
        identity = np.einsum("p,pi->i", self.identity, self.design)
        loss = logistic_loss(np.stack([identity, log_odds]), self.target, self.share)
        return loss(np.array([0.0, 1.0]))[0] > loss(np.array([1.0, 0.0]))[0]

    def curve(self, penalty, parameters):
        return SplineCurve(
            self.rows.centre + self.rows.scale * self.knots,
            self.log_odds_at(self.knots, parameters),
            parameters[1:] @ _slope_basis(self.knots, self.knots),
            penalty,
            self.degrees_of_freedom(penalty, parameters),
        )


class _Rows(NamedTuple):
    """Positions, weights of events and of other rows at them, and the positions' unit.

    Positions are log odds less `centre`, divided by `scale`.
    """

    position: np.ndarray
    events: np.ndarray
    others: np.ndarray
    centre: float
    scale: float


def _condensed(scores, mass, events):
    """Standardised positions and their weights, few where there are many."""
    centre = dot(mass, scores) / mass.sum()
    position = scores - centre
    scale = np.sqrt(dot(mass, position * position) / mass.sum())
    position /= scale
    others = mass - events
    if scores.size > _MANY_SCORES:
        cell = cells_of(scores, mass, _N_CELLS)
        at_events, events = two_point_rule(position, events, cell)
        at_others, others = two_point_rule(position, others, cell)
        position = np.concatenate([at_events, at_others])
        none_of_one, none_of_other = np.zeros(others.size), np.zeros(events.size)
        events = np.concatenate([events, none_of_one])
        others = np.concatenate([none_of_other, others])
    return _Rows(position, events, others, centre, scale)


def _place_knots(scores, mass, scale, n_knots):
    """Log odds from the lowest to the highest, spread by range and by rank."""
    # Points without mass lead through gaps in which no score lies.
    ends = np.arcsinh(0.5 * scores[[0, -1]])
    between = 2.0 * np.sinh(np.linspace(*ends, 1024)[1:-1])
    points = np.concatenate([scores, between])
    order = np.argsort(points, kind="stable")
    points = points[order]
    level = level_of(points, np.append(mass, np.zeros(between.size))[order])
    wanted = np.linspace(level[0], level[-1], min(n_knots, scores.size))
    low, high = scores[0], scores[-1]
    knots = [low]
    for knot in np.interp(wanted[1:-1], level, points):
        if min(knot - knots[-1], high - knot) >= _LEAST_GAP * scale:
            knots.append(knot)
    return np.array([*knots, high])


def _slope_knots(knots, degree):
    return np.concatenate([knots[:1].repeat(degree), knots, knots[-1:].repeat(degree)])


def _natural(n_knots):
    """Coefficients of a quadratic spline, the first two and the last two alike.

    Then its derivative is zero at both ends: the cubic spline that has it for a slope
    is natural.
    """
    index = np.clip(np.arange(n_knots + 1) - 1, 0, n_knots - 2)
    return np.eye(n_knots - 1)[index]


def _slope_basis(knots, position, derivative=False):
    """Quadratic spline basis of the curve's slope, shape (n_knots - 1, n_positions)."""
    spline = BSpline(_slope_knots(knots, 2), _natural(knots.size), 2)
    return spline(position, nu=int(derivative)).T


def _integrated_basis(knots, position):
    """The same integrated from the first knot: a basis of natural cubic splines."""
    padded = _slope_knots(knots, 3)
    widths = (padded[4:-1] - padded[1:-4]) / 3.0
    coefficients = np.zeros((knots.size + 2, knots.size - 1))
    np.cumsum(
        widths[:, np.newaxis] * _natural(knots.size), axis=0, out=coefficients[1:]
    )
    return np.ascontiguousarray(BSpline(padded, coefficients, 3)(position).T)


def _roughness(knots):
    """Integral of the squared derivative of the slope, of its coefficients' steps."""
    half = 0.5 * np.diff(knots)
    middle = 0.5 * (knots[1:] + knots[:-1])
    # The derivative is linear between knots, so that Gauss's two points are exact.
    at = np.concatenate([middle - half / np.sqrt(3.0), middle + half / np.sqrt(3.0)])
    derivative = _slope_basis(knots, at, derivative=True)
    of_step = np.cumsum(derivative[::-1], axis=0)[::-1][1:]
    return np.einsum("pi,qi->pq", of_step * np.tile(half, 2), of_step)


def _evaluate(curve, log_odds):
    """The curve at log odds: a cubic between knots, a straight line beyond."""
    knots, values, slopes = curve.knots, curve.values, curve.slopes
    if knots.size == 1:
        return np.full(log_odds.shape, values[0])
    inside = np.clip(log_odds, knots[0], knots[-1])
    found = CubicHermiteSpline(knots, values, slopes)(inside)
    return found + (log_odds - inside) * np.where(
        log_odds > inside, slopes[-1], slopes[0]
    )
