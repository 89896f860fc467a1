"""Sums of Beta kernels of two classes on a grid, for many rows."""

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import log_expit

from skcal._core.pooling import cells_of, two_point_rule
from skcal.recalibration._kernel_rows import Kernels, exponentials, mean_left_out

# The lowest power of ten that a bandwidth is looked for at, and that has a grid.
NARROWEST = -4.0
# Distinct scores of two classes from which the kernels are summed on a grid.
_MANY_SCORES = 1000
# Cells and nodes of the grid per standard deviation of the kernel, and the nodes'
# largest distance in log odds.
_CELLS, _NODES, _LOG_ODDS_STEP = 16.0, 8.0, 0.0625
# Cells in log odds in which the leave-one-out loss is summed.
_LOSS_CELLS = 2048
# Probabilities are within these log odds.
_REACH = 37.0


def is_gridded(rows, bandwidth):
    return (
        rows.mass.shape[1] == 2
        and rows.n_present == 2
        and rows.mass.shape[0] > _MANY_SCORES
        and bandwidth >= 0.99 * 10.0**NARROWEST
    )


def _angle(log_odds):
    """Arc sine of the root of a probability: kernels have sd sqrt(h) / 2 in it."""
    return np.arctan(np.exp(0.5 * np.clip(log_odds, -700.0, 700.0)))


def _condensed(centres, bandwidth):
    """Angles and weights of each class, in place of many few with the same moments."""
    width = 0.5 * np.sqrt(bandwidth) / _CELLS
    return [
        two_point_rule(at, mass, ((at - at.min()) / width).astype(np.intp))
        for at, mass in centres
    ]


def _centres(rows):
    """Angles and weights of the rows of each class, condensed as far as any may be."""
    angle = _angle(rows.scores[:, 1] - rows.scores[:, 0])
    by_class = [(angle[mass > 0.0], mass[mass > 0.0]) for mass in rows.mass.T]
    return _condensed(by_class, 10.0**NARROWEST)


class Grid:
    """Sums of Beta kernels by class, as curves through nodes in log odds."""

    def __init__(self, rows, bandwidth, centres=None):
        self.bandwidth = bandwidth
        self.centres = _condensed(
            _centres(rows) if centres is None else centres, bandwidth
        )
        nodes = _nodes(bandwidth)
        self.curve = CubicSpline(nodes, self._sums(nodes))

    def _sums(self, log_odds):
        """Logarithms of the sums, shape (n_points, 2), point by point."""
        log_proba = np.column_stack([log_expit(-log_odds), log_expit(log_odds)])
        sums = np.empty((log_odds.size, 2))
        for k, (angle, mass) in enumerate(self.centres):
            proba = np.column_stack([np.cos(angle) ** 2, np.sin(angle) ** 2])
            kernels = Kernels.around(proba, self.bandwidth)
            for block, density in kernels.log_densities(log_proba):
                highest = density.max(axis=1)
                density -= highest[:, np.newaxis]
                sums[block, k] = highest + np.log(exponentials(density) @ mass)
        return sums

    def sums(self, log_odds):
        """The same from the curves, where they reach."""
        sums = self.curve(log_odds)
        outside = np.abs(log_odds) > _REACH
        if outside.any():
            sums[outside] = self._sums(log_odds[outside])
        return sums

    def sums_left_out(self, log_odds, codes, left_out):
        """The same less a part of a kernel at the point itself, in its class's sum.

        Returns
        -------
        sums : ndarray of shape (n_points, 2)
        rest : ndarray of shape (n_points,)
            What is left of the sum, as a share; too small a share is not accurate.
        """
        sums = self.sums(log_odds)
        log_proba = np.column_stack([log_expit(-log_odds), log_expit(log_odds)])
        kernels = Kernels.around(np.exp(log_proba), self.bandwidth)
        itself = np.einsum("ij,ij->i", log_proba, kernels.slope) + kernels.intercept
        at = np.arange(log_odds.size)
        itself += np.log(left_out) - sums[at, codes]
        rest = -np.expm1(np.minimum(itself, 0.0))
        np.maximum(rest, 1e-300, out=rest)
        sums[at, codes] += np.log(rest)
        return sums, rest


def _nodes(bandwidth):
    """Log odds that resolve the kernels in angle, and log odds themselves."""
    fine = np.linspace(-_REACH, _REACH, 1 << 14)
    step = 0.5 * np.sqrt(bandwidth) / _NODES
    level = _angle(fine) / step + fine / _LOG_ODDS_STEP
    n_nodes = int(level[-1] - level[0]) + 2
    return np.interp(np.linspace(level[0], level[-1], n_nodes), level, fine)


def grid_criterion(rows):
    centres = _centres(rows)
    log_odds = rows.scores[:, 1] - rows.scores[:, 0]
    cell = cells_of(log_odds, rows.mass.sum(axis=1), _LOSS_CELLS)
    points, masses = zip(
        *(two_point_rule(log_odds, mass, cell) for mass in rows.mass.T), strict=True
    )
    codes = np.repeat([0, 1], [len(at) for at in points])
    points, masses = np.concatenate(points), np.concatenate(masses)
    left_out = mean_left_out(rows.weight)
    most = -np.log(np.finfo(np.float64).eps)

    def loss(bandwidth):
        grid = Grid(rows, bandwidth, centres)
        sums, _ = grid.sums_left_out(points, codes, left_out)
        margin = (2 * codes - 1) * (sums[:, 1] - sums[:, 0])
        return float(masses @ np.minimum(-log_expit(margin), most))

    return loss
