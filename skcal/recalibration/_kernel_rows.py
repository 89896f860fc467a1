"""Sums of Dirichlet kernels at each point, row by row."""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, log_expit, log_softmax

# Multiplications per block of rows, which bounds the memory. OpenBLAS uses one thread
# up to 2**18, and waiting for a second one costs far more than such products do.
_BLOCK = 1 << 18
# Log densities this far below the highest count as this far: in sums they are nothing,
# and numbers below 1e-308 are a hundred times slower.
_FAINT = -700.0
# Rows that choose the bandwidth times rows they are compared with, three classes up.
_MOST_PAIRS = 2e7


class PooledRows(NamedTuple):
    """Training rows: what is distinct among them, and which each of them is."""

    scores: np.ndarray  # of the distinct rows, (n_distinct, n_classes)
    mass: np.ndarray  # their weight by class, (n_distinct, n_classes)
    index: np.ndarray  # of each row among the distinct ones, (n_rows,)
    codes: np.ndarray
    weight: np.ndarray

    @property
    def present(self):
        return self.mass.any(axis=0)

    @property
    def n_present(self):
        return int(np.count_nonzero(self.present))


def pooled(scores, codes, weight):
    if scores.shape[1] == 2:
        distinct, index = np.unique(scores[:, 1], return_inverse=True)
        distinct = np.column_stack([-distinct, distinct])
    else:
        distinct, index = np.unique(scores, axis=0, return_inverse=True)
    index = index.ravel()
    n_classes = scores.shape[1]
    cell = index * n_classes + codes
    mass = np.bincount(cell, weight, distinct.shape[0] * n_classes)
    return PooledRows(distinct, mass.reshape(-1, n_classes), index, codes, weight)


def log_proba_of(scores):
    if scores.shape[1] == 2:
        # Exact however close to 0 and 1.
        log_odds = scores[:, 1] - scores[:, 0]
        return np.column_stack([log_expit(-log_odds), log_expit(log_odds)])
    return log_softmax(scores, axis=1)


class Kernels(NamedTuple):
    """Dirichlet log densities as functions of log probabilities: linear ones."""

    slope: np.ndarray
    intercept: np.ndarray

    @classmethod
    def around(cls, proba, bandwidth):
        slope = proba / bandwidth
        norm = gammaln(slope.sum(axis=1) + slope.shape[1])
        return cls(slope, norm - gammaln(slope + 1.0).sum(axis=1))

    def log_densities(self, log_proba):
        """Yield blocks of points and the kernels' log densities there.

        They have shape (n_points, n_kernels) and are overwritten by the next block.
        """
        n_points, n_kernels = log_proba.shape[0], self.intercept.size
        size = max(1, min(_BLOCK // self.slope.size, n_points))
        buffer = np.empty((size, n_kernels))
        for start in range(0, n_points, size):
            block = slice(start, min(start + size, n_points))
            density = buffer[: block.stop - start]
            np.matmul(log_proba[block], self.slope.T, out=density)
            density += self.intercept
            yield block, density


def exponentials(density):
    """Exponentials relative to each row's highest, in place."""
    np.maximum(density, _FAINT, out=density)
    return np.exp(density, out=density)


def shares_near(rows, bandwidth, log_proba):
    """Shares of the classes among the training rows near each point."""
    kernels = Kernels.around(np.exp(log_proba_of(rows.scores)), bandwidth)
    shares = np.empty(log_proba.shape)
    for block, density in kernels.log_densities(log_proba):
        density -= density.max(axis=1, keepdims=True)
        shares[block] = exponentials(density) @ rows.mass
    return shares / shares.sum(axis=1, keepdims=True)


def left_out_shares(rows, bandwidth, index, codes, left_out):
    """The same at training rows, less a part of the row's own weight.

    Parameters
    ----------
    index, codes : ndarray of shape (n_points,)
        Distinct rows, and the class of the one left out.
    left_out : ndarray of shape (n_points,)
        The weight left out.

    Returns
    -------
    shares : ndarray of shape (n_points, n_classes)
        Zeros where nothing is left.
    """
    log_proba = log_proba_of(rows.scores)
    kernels = Kernels.around(np.exp(log_proba), bandwidth)
    shares = np.empty((index.size, rows.mass.shape[1]))
    for block, density in kernels.log_densities(log_proba[index]):
        own = index[block]
        at = np.arange(own.size)
        # The row itself apart from the others: no difference of nearly equal sums.
        itself = density[at, own]
        density[at, own] = -np.inf
        highest = np.maximum(density.max(axis=1), -1e300)
        density -= highest[:, np.newaxis]
        exponentials(density)
        density[at, own] = 0.0
        others = density @ rows.mass
        rest = rows.mass[own]
        rest[at, codes[block]] -= left_out[block]
        np.maximum(rest, 0.0, out=rest)
        # Relative to what is denser, the others or itself where some of it is left: no
        # product overflows then, whatever the weights.
        ahead = np.where(rest.any(axis=1), itself - highest, -np.inf)[:, np.newaxis]
        shares[block] = others * np.exp(np.maximum(-np.maximum(ahead, 0.0), _FAINT))
        shares[block] += rest * np.exp(np.minimum(ahead, 0.0))
    total = shares.sum(axis=1, keepdims=True)
    return np.divide(shares, total, out=np.zeros_like(shares), where=total > 0.0)


def mean_left_out(weight):
    """Weight of one row, in the mean over the rows that the weights stand for."""
    return float(np.sum(weight * np.minimum(weight, 1.0)) / np.sum(weight))


def criterion(rows):
    n_distinct = rows.mass.shape[0]
    step = max(1, int(np.ceil(n_distinct**2 / _MOST_PAIRS)))
    index, codes = np.nonzero(rows.mass[::step])
    index *= step
    mass = rows.mass[index, codes]
    left_out = np.minimum(mean_left_out(rows.weight), mass)
    eps = np.finfo(np.float64).eps

    def loss(bandwidth):
        shares = left_out_shares(rows, bandwidth, index, codes, left_out)
        own = shares[np.arange(index.size), codes]
        return -float(mass @ np.log(np.maximum(own, eps)))

    return loss
