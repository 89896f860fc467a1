"""The penalised fit of one event's spline, with the penalty that suits it."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit

from skcal._core.pooling import cells_of, level_of, two_point_rule
from skcal.recalibration._newton import dot, logistic_loss, newton
from skcal.recalibration._spline_curve import (
    SplineCurve,
    integrated_basis,
    roughness,
    slope_basis,
)
from skcal.recalibration._temperature import first_slope

# More distinct scores than this are replaced by two points for each of the cells.
_MANY_SCORES, _N_CELLS = 1024, 256
# Knots are at least this far apart, in standard deviations of the log odds.
_LEAST_GAP = 1e-3
# Of these powers of ten the best penalty is found, then refined to so much of a power.
_SMOOTHEST, _ROUGHEST, _FINENESS = 1, -8, 0.05
# A monotone curve has at least this slope, so that distinct scores stay distinct, but
# no more than so much rise per standard deviation, as scores may be of any size.
_LEAST_SLOPE, _LEAST_RISE = 1e-3, 1e-2
# From this penalty on the curve is a straight line to about 1e-7: it gets two knots.
_STRAIGHT = 1e6


class SplineProblem:
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
        basis = rows.scale * integrated_basis(self.knots, position)
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
        self.roughness = rows.scale**2 * roughness(self.knots)
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
        basis = self.rows.scale * integrated_basis(self.knots, position)
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
            parameters[1:] @ slope_basis(self.knots, self.knots),
            penalty,
            self.degrees_of_freedom(penalty, parameters),
        )


class Rows(NamedTuple):
    """Positions, weights of events and of other rows at them, and the positions' unit.

    Positions are log odds less `centre`, divided by `scale`.
    """

    position: np.ndarray
    events: np.ndarray
    others: np.ndarray
    centre: float
    scale: float


def condensed(scores, mass, events):
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
    return Rows(position, events, others, centre, scale)


def place_knots(scores, mass, scale, n_knots):
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
