"""Newton's method, for few parameters and for many.

Losses are weighted means over the rows, so that tolerances mean the same for any number
of rows.
"""

import numpy as np

from skcal.recalibration._newton._degenerate import warn_not_converged

# A Newton step whose predicted gain is this small, relative to the loss, is the last:
# steps converge quadratically, so the next one would be lost in rounding.
_TOLERANCE = 1e-13
# A fit that stops with more to gain than this, relative to the loss, is reported.
_GOOD_ENOUGH = 1e-8
# What rounding may do to a loss, relative to it and to one: the loss of a row is
# computed from terms of that size.
_ROUNDING = 1e-15
# Parameters this close to their bound are at it.
_EDGE = 1e-12
_MOST_STEPS = 100
# Where a loss is all but linear the first steps are far too long.
_FEW_TRIALS, _MOST_TRIALS = 10, 80
_MOST_PRODUCTS = 500


def newton(evaluate, start, name, lower=None):
    """Minimise a smooth convex function of few parameters, some bounded from below.

    Parameters
    ----------
    evaluate : callable
        Takes parameters, returns loss, gradient and Hessian.
    start : ndarray of shape (n_parameters,)
        Where to begin, within the bounds; the result's loss is not larger than here.
    name : str
        Who to name in a `ConvergenceWarning`.
    lower : ndarray of shape (n_parameters,), default=None
        Lower bounds, minus infinity for none.

    Returns
    -------
    parameters : ndarray of shape (n_parameters,)
    loss : float
    """
    parameters = np.array(start, dtype=np.float64)
    if lower is None:
        lower = np.full(parameters.shape, -np.inf)
    loss, gradient, hessian = evaluate(parameters)
    for _ in range(_MOST_STEPS):
        step = _bounded_step(gradient, hessian, parameters <= lower)
        gain = -float(gradient @ step)
        if not gain > _TOLERANCE * loss + _ROUNDING:
            if _is_small(step, parameters):
                parameters = np.maximum(parameters + step, lower)
            return parameters, loss
        found = _search(evaluate, parameters, loss, step, gain, lower)
        if found is None:
            break
        parameters, loss, gradient, hessian = found
    if gain > _GOOD_ENOUGH * loss + _TOLERANCE:
        warn_not_converged(name)
    return parameters, loss


def _is_small(step, parameters):
    """Whether a last step may be taken without a look at the loss there."""
    return np.all(np.abs(step) <= 1e-4 * (1.0 + np.abs(parameters)))


def _bounded_step(gradient, hessian, at_bound):
    """Newton step that does not push a parameter at its bound beyond it."""
    step = np.zeros_like(gradient)
    free = ~(at_bound & (gradient > 0.0))
    while free.any():
        step[:] = 0.0
        step[free] = _newton_step(gradient[free], hessian[np.ix_(free, free)])
        beyond = at_bound & (step < 0.0)
        if not beyond.any():
            return step
        free &= ~beyond
    return np.zeros_like(gradient)


def _newton_step(gradient, hessian):
    """Solution of ``hessian @ step = -gradient``, damped where that is singular."""
    # Less curvature than the floor is none: the loss is linear as far as one can see.
    scale = np.sqrt(np.maximum(np.diag(hessian), 1e-20))
    scaled = hessian / np.outer(scale, scale)
    for damping in (0.0, 1e-12, 1e-8, 1e-4):
        try:
            factor = np.linalg.cholesky(scaled + damping * np.eye(len(scale)))
        except np.linalg.LinAlgError:
            continue
        half = np.linalg.solve(factor, -gradient / scale)
        return np.linalg.solve(factor.T, half) / scale
    return -gradient / scale**2


def _search(evaluate, parameters, loss, step, gain, lower=None):
    """Shorten the step until the loss falls by a part of what is predicted."""
    size = 1.0
    if lower is not None:
        size = _room(parameters, step, lower)
    for trial in range(_MOST_TRIALS):
        candidate = parameters + size * step
        if lower is not None:
            candidate = np.where(candidate <= lower + _EDGE, lower, candidate)
        # Far too long a step may overflow; its loss then is not less than any.
        with np.errstate(over="ignore", invalid="ignore"):
            found = evaluate(candidate)
        # Of what the quadratic model predicts for this step, a ten-thousandth.
        if found[0] <= loss - 1e-4 * size * gain + _ROUNDING * (1.0 + loss):
            return candidate, *found
        size *= 0.5 if trial < _FEW_TRIALS else 0.25
    return None


def _room(parameters, step, lower):
    """Largest part of the step, at most all of it, that stays within the bounds."""
    falling = (step < 0.0) & (parameters > lower)
    if not falling.any():
        return 1.0
    return min(1.0, float(np.min((lower - parameters)[falling] / step[falling])))


def truncated_newton(problem, start, name):
    """Minimise a `MultinomialLoss` by Newton steps from conjugate gradients.

    Parameters
    ----------
    problem : MultinomialLoss
    start : ndarray of shape (n_classes, n_features)
    name : str
        Who to name in a `ConvergenceWarning`.

    Returns
    -------
    parameters : ndarray of shape (n_classes, n_features)
    loss : float
    """
    parameters = np.array(start, dtype=np.float64)
    loss, gradient = problem.at(parameters)
    for _ in range(_MOST_STEPS):
        step = _conjugate_gradients(problem, gradient)
        gain = -float(np.sum(gradient * step))
        if not gain > _TOLERANCE * loss + _ROUNDING:
            if _is_small(step, parameters):
                parameters = parameters + step
            return parameters, loss
        found = _search(problem.at, parameters, loss, step, gain)
        if found is None:
            break
        parameters, loss, gradient = found
    if gain > _GOOD_ENOUGH * loss + _TOLERANCE:
        warn_not_converged(name)
    return parameters, loss


def _conjugate_gradients(problem, gradient):
    """Newton step, as exact as it pays at this distance from the optimum."""
    precondition = problem.preconditioner()
    step = np.zeros_like(gradient)
    residual = -gradient
    direction = precondition(residual)
    size = first = float(np.sum(residual * direction))
    # The relative error allowed shrinks with the gradient: superlinear convergence.
    allowed = min(0.1, np.sqrt(max(first, 0.0))) ** 2 * first
    for _ in range(_MOST_PRODUCTS):
        if not size > max(allowed, 1e-300):
            break
        image = problem.curved(direction)
        curvature = float(np.sum(direction * image))
        if not curvature > 0.0:
            break
        step += (size / curvature) * direction
        residual -= (size / curvature) * image
        better = precondition(residual)
        previous, size = size, float(np.sum(residual * better))
        direction = better + (size / previous) * direction
    return step
