"""Newton's method for the convex losses of the parametric recalibrators.

Losses are weighted means over the rows, so that tolerances mean the same for any number
of rows.
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

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
_MANY_CLASSES = 32
# Multiplications per block of rows; OpenBLAS uses one thread up to 2**18.
_BLOCK_PRODUCT, _BLOCK_LEAST = 1 << 18, 16
# Rows of a block where a dozen arrays of that length are at work: half a megabyte.
_BLOCK_ROWS = 1 << 13
# Where scores separate the classes a fitted slope has no bound. It stops where the
# largest log odds are these (a probability of 1 - 1e-13): no two scores become tied.
LARGEST_SEPARABLE = 30.0


def warn_not_converged(name):
    """Tell the user that a fit stopped early, at something finite."""
    warnings.warn(
        f"The fit of {name} did not converge. The scores may separate the classes; "
        "a penalty or label smoothing helps.",
        ConvergenceWarning,
        stacklevel=2,
    )


def warn_reversed(name):
    """Tell the user that the scores rank the labels in reverse."""
    warnings.warn(
        f"The scores rank the labels in reverse, so {name} gives the same probability "
        "to every row. Are the columns in the order of the sorted labels?",
        UserWarning,
        stacklevel=2,
    )


def separable_line(log_odds, event):
    """Slope and midpoint of log odds that separate the events, None where they don't.

    Then the loss has no minimum. Of the ever steeper slopes, at least one, this one
    brings the largest log odds to about 30, so that no two scores become tied.
    """
    happened = event > 0.5
    below, above = log_odds[~happened].max(), log_odds[happened].min()
    width = log_odds.max() - log_odds.min()
    if below > above or width == 0.0:
        return None
    return max(1.0, LARGEST_SEPARABLE / width), 0.5 * (below + above)


def is_constant(log_odds):
    """Whether log odds are equal up to rounding."""
    low, high = log_odds.min(), log_odds.max()
    return high - low <= 1e-12 * max(1.0, abs(low), abs(high))


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


def restricted(evaluate, directions, origin):
    """A function of coordinates along the rows of `directions`, from `origin`."""

    def evaluate_restricted(coordinates):
        loss, gradient, hessian = evaluate(origin + coordinates @ directions)
        return loss, directions @ gradient, directions @ hessian @ directions.T

    return evaluate_restricted


def dot(first, second):
    """Inner product along the last axis.

    Not by BLAS, whose threads cost a hundred times the work where cores are shared.
    """
    return np.einsum("...i,...i->...", first, second)


def row_blocks(n_rows):
    """Slices of rows so few that what is computed of them stays in the cache."""
    return [
        slice(first, first + _BLOCK_ROWS) for first in range(0, n_rows, _BLOCK_ROWS)
    ]


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
    blocks = [
        (design[:, rows], target[rows], share[rows])
        for rows in row_blocks(target.shape[0])
    ]

    def evaluate(parameters):
        sums = [_logistic_sums(parameters, *block) for block in blocks]
        return tuple(map(sum, zip(*sums, strict=True)))

    return evaluate


def _logistic_sums(parameters, design, target, share):
    """The block's part of the loss, its gradient and its Hessian."""
    log_odds = np.einsum("p,pi->i", parameters, design)
    tail = np.exp(-np.abs(log_odds))
    # Row by row, so that the losses of confident rows do not drown in others'.
    losses = np.maximum(log_odds, 0.0)
    losses -= target * log_odds
    losses += np.log1p(tail)
    loss = dot(share, losses)
    # expit, its distance to the target and its derivative, exact however large the log
    # odds are
    rest = 1.0 / (1.0 + tail)
    tail *= rest
    residual = np.where(log_odds >= 0.0, (1.0 - target) - tail, tail - target)
    residual *= share
    gradient = dot(design, residual)
    rest *= tail
    rest *= share
    hessian = np.einsum("pi,qi->pq", design * rest, design)
    return float(loss), gradient, hessian


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


def vector_loss(base, features, codes, share):
    """Log loss of ``softmax(base + slope * features + shift)``, for `newton`.

    Parameters
    ----------
    base : ndarray of shape (n_classes, n_samples)
        Logits at zero parameters, which are a slope, then a shift of each class.
    features : ndarray of shape (n_classes, n_samples)
    codes : ndarray of shape (n_samples,)
        Rows of the true classes.
    share : ndarray of shape (n_samples,)
        Weights that sum to one.
    """
    n_classes, n_samples = base.shape
    size = _BLOCK_PRODUCT // (4 * n_classes**2)
    if size < _BLOCK_LEAST:
        # One product per step is then worth a second thread.
        size = n_samples
    target = np.zeros((n_classes, n_samples))
    target[codes, np.arange(n_samples)] = share
    towards = np.concatenate([dot(target, features), target.sum(axis=1)])
    base, features = _blocks(base, size), _blocks(features, size)
    share, codes = _blocks(share[np.newaxis], size), _blocks(codes[np.newaxis], size)

    def evaluate(parameters):
        slope, shift = parameters.reshape(2, n_classes, 1)
        losses, proba = _losses(base + slope * features + shift, codes)
        loss = dot(losses.ravel(), share.ravel())
        both = np.concatenate([proba * features, proba], axis=1)
        shared = both * share
        gradient = shared.sum(axis=(0, 2))
        hessian = -np.matmul(shared, both.swapaxes(1, 2)).sum(axis=0)
        within = np.einsum("bkm,bkm->k", shared[:, :n_classes], features)
        own, of_slope = np.arange(n_classes), gradient[:n_classes]
        hessian[own, own] += within
        hessian[own, own + n_classes] += of_slope
        hessian[own + n_classes, own] += of_slope
        hessian[own + n_classes, own + n_classes] += gradient[n_classes:]
        return float(loss), gradient - towards, hessian

    return evaluate


def _losses(logits, codes):
    """Log losses and probabilities in blocks; overwrites the logits."""
    logits -= logits.max(axis=1, keepdims=True)
    losses = -np.take_along_axis(logits, codes, axis=1)
    proba = np.exp(logits, out=logits)
    total = proba.sum(axis=1, keepdims=True)
    proba /= total
    losses += np.log(total)
    return losses, proba


class MultinomialLoss:
    """Penalised log loss of ``softmax(base + parameters @ features)``.

    Classes and features are rows, samples columns. The samples lie in blocks small
    enough for BLAS to multiply each on one thread: waiting for a second one costs far
    more than such products do.

    Parameters
    ----------
    base : ndarray of shape (n_classes, n_samples)
        Logits at zero parameters.
    features : ndarray of shape (n_features, n_samples)
    codes : ndarray of shape (n_samples,)
        Rows of the true classes.
    share : ndarray of shape (n_samples,)
        Weights that sum to one.
    strength : ndarray of shape (n_classes, n_features)
        The penalty is half of the sum of these times squared parameters.
    """

    def __init__(self, base, features, codes, share, strength):
        n_classes, n_samples = base.shape
        size = max(_BLOCK_PRODUCT // (n_classes * features.shape[0]), _BLOCK_LEAST)
        self.base = _blocks(base, size)
        self.features = _blocks(features, size)
        self.share = _blocks(share[np.newaxis], size)
        self.strength = strength
        target = np.zeros((n_classes, n_samples))
        target[codes, np.arange(n_samples)] = share
        target = _blocks(target, size)
        self._towards = self._pull(target)
        self._codes = _blocks(codes[np.newaxis], size)

    def _pull(self, blocks):
        return np.matmul(blocks, self.features.swapaxes(1, 2)).sum(axis=0)

    def at(self, parameters):
        """Loss and gradient; `curved` then refers to these parameters."""
        logits = np.matmul(parameters, self.features)
        logits += self.base
        losses, self._proba = _losses(logits, self._codes)
        penalty = self.strength * parameters
        loss = dot(losses.ravel(), self.share.ravel())
        loss += 0.5 * float(np.sum(parameters * penalty))
        self._shared = self._proba * self.share
        return float(loss), self._pull(self._shared) - self._towards + penalty

    def curved(self, direction):
        """Product of the Hessian and a direction."""
        change = np.matmul(direction, self.features)
        change -= np.einsum("bkm,bkm->bm", self._proba, change)[:, np.newaxis]
        change *= self._shared
        return self._pull(change) + self.strength * direction

    def preconditioner(self):
        """Approximate inverse of the Hessian, which treats each class by itself.

        One matrix per class is worth its price for few classes only; the diagonal is
        what is left for many, whose penalties are large anyway.
        """
        own = self._shared * (1.0 - self._proba)
        if self.strength.shape[0] > _MANY_CLASSES:
            squares = (self.features * self.features).swapaxes(1, 2)
            curvature = np.matmul(own, squares).sum(axis=0) + self.strength
            curvature += 1e-12 * curvature.max() + 1e-300
            return lambda gradient: gradient / curvature
        # An inverse, as a solve would cost as much at every application.
        inverse = np.linalg.inv(
            np.stack([self._of_class(row, own) for row in range(own.shape[1])])
        )
        return lambda gradient: np.einsum("kde,ke->kd", inverse, gradient)

    def _of_class(self, row, own):
        """Hessian of one class's parameters, made positive definite."""
        weighted = self.features * own[:, row : row + 1]
        hessian = np.matmul(weighted, self.features.swapaxes(1, 2)).sum(axis=0)
        hessian += np.diag(self.strength[row])
        diagonal = np.diag_indices_from(hessian)
        hessian[diagonal] += 1e-12 * hessian[diagonal].max() + 1e-300
        return hessian


def _blocks(rows, size):
    """Columns in blocks of at most `size`, zeros after the last."""
    n_rows, n_columns = rows.shape
    size = min(size, n_columns)
    n_blocks = -(-n_columns // size)
    padded = np.zeros((n_rows, n_blocks * size), dtype=rows.dtype)
    padded[:, :n_columns] = rows
    blocks = padded.reshape(n_rows, n_blocks, size)
    return np.ascontiguousarray(blocks.swapaxes(0, 1))


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
