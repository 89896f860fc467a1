"""Log losses of linear and multinomial models, with the derivatives that steps need."""

import numpy as np

_MANY_CLASSES = 32
# Multiplications per block of rows; OpenBLAS uses one thread up to 2**18.
_BLOCK_PRODUCT, _BLOCK_LEAST = 1 << 18, 16
# Rows of a block where a dozen arrays of that length are at work: half a megabyte.
_BLOCK_ROWS = 1 << 13


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
    residual = 1.0 - np.signbit(log_odds)
    residual -= target
    residual -= np.copysign(tail, log_odds)
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
