"""Newton's method for the convex losses of the parametric recalibrators.

Losses are weighted means over the rows, so that tolerances mean the same for any number
of rows.
"""

import warnings

import numpy as np
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

# A Newton step whose predicted gain is this small, relative to the loss, is the last:
# steps converge quadratically, so the next one would be lost in rounding.
_TOLERANCE = 1e-13
# What rounding may do to a loss.
_ROUNDING = 1e-14
_MOST_STEPS = 100
_MOST_HALVINGS = 40
# Where scores separate the classes a fitted slope has no bound. It stops where the
# largest log odds are these (a probability of 1 - 1e-13): no two scores become tied.
LARGEST_SEPARABLE = 30.0


def warn_not_converged(name):
    """Tell the user that a fit stopped early; what it returns is finite all the same."""
    warnings.warn(
        f"The fit of {name} did not converge. The scores may separate the classes; "
        "a penalty or label smoothing helps.",
        ConvergenceWarning,
        stacklevel=2,
    )


def newton(evaluate, start, name):
    """Minimise a smooth convex function of few parameters.

    Parameters
    ----------
    evaluate : callable
        Takes parameters, returns loss, gradient and Hessian.
    start : ndarray of shape (n_parameters,)
        Where to begin; the result's loss is not larger than here.
    name : str
        Who to name in a `ConvergenceWarning`.

    Returns
    -------
    parameters : ndarray of shape (n_parameters,)
    loss : float
    """
    parameters = np.array(start, dtype=np.float64)
    loss, gradient, hessian = evaluate(parameters)
    for _ in range(_MOST_STEPS):
        step = _newton_step(gradient, hessian)
        gain = -float(gradient @ step)
        if not gain > _TOLERANCE * abs(loss):
            return parameters, loss
        found = _search(evaluate, parameters, loss, step, gain)
        if found is None:
            break
        parameters, loss, gradient, hessian = found
    if gain > 1e-8 * abs(loss):
        warn_not_converged(name)
    return parameters, loss


def _newton_step(gradient, hessian):
    """Solution of ``hessian @ step = -gradient``, damped where that is singular."""
    scale = np.sqrt(np.maximum(np.diag(hessian), 1e-300))
    scaled = hessian / np.outer(scale, scale)
    for damping in (0.0, 1e-12, 1e-8, 1e-4):
        try:
            factor = np.linalg.cholesky(scaled + damping * np.eye(len(scale)))
        except np.linalg.LinAlgError:
            continue
        half = np.linalg.solve(factor, -gradient / scale)
        return np.linalg.solve(factor.T, half) / scale
    return -gradient / scale**2


def _search(evaluate, parameters, loss, step, gain):
    """Halve the step until the loss falls by a part of what is predicted."""
    size = 1.0
    for _ in range(_MOST_HALVINGS):
        candidate = parameters + size * step
        found = evaluate(candidate)
        if found[0] <= loss - 1e-4 * size * gain + _ROUNDING * abs(loss):
            return candidate, *found
        size *= 0.5
    return None


def weighted_mean(weight):
    """Weights that sum to one; None where they are all equal, which is faster."""
    return weight / weight.sum()


def logistic_loss(design, target, share):
    """Loss, gradient and Hessian of logistic regression, as a function for `newton`.

    Parameters
    ----------
    design : ndarray of shape (n_parameters, n_samples)
        Features in rows, contiguous, which is several times faster than in columns.
    target : ndarray of shape (n_samples,)
        In [0, 1].
    share : ndarray of shape (n_samples,)
        Weights that sum to one.
    """
    towards = design @ (share * target)

    def evaluate(parameters):
        log_odds = parameters @ design
        tail = np.exp(-np.abs(log_odds))
        loss = share @ np.log1p(tail) + share @ np.maximum(log_odds, 0.0)
        loss -= parameters @ towards
        # expit and its derivative, both exact for large log odds
        rest = 1.0 / (1.0 + tail)
        curvature = share * tail * rest * rest
        proba = np.where(log_odds >= 0.0, rest, tail * rest)
        gradient = design @ (share * proba) - towards
        return loss, gradient, (design * curvature) @ design.T

    return evaluate


def penalised(evaluate, centre, strength):
    """Add ``sum(strength * (parameters - centre)**2) / 2`` to a function."""

    def evaluate_penalised(parameters):
        loss, gradient, hessian = evaluate(parameters)
        away = parameters - centre
        return (
            loss + 0.5 * float(strength @ (away * away)),
            gradient + strength * away,
            hessian + np.diag(strength),
        )

    return evaluate_penalised
