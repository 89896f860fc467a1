"""Fewer weighted points in place of many rows."""

import numpy as np

from skcal._core.ranks import tie_blocks

# Brings scores, which may be log odds of any size, to where `in_rank` takes them.
_SCALE = 2.0**-60


def pool_ties(score, outcome, weight):
    """Distinct scores in increasing order, with their sums of weights and outcomes.

    The result does not depend on the order of the rows, beyond rounding in the sums.

    Returns
    -------
    distinct, mass, events : ndarray of shape (n_distinct,)
    """
    if score.dtype == np.float64 and weight.min() == weight.max() == 1.0:
        is_event = outcome == 1
        if np.all(is_event | (outcome == 0)) and _leaves_room(score):
            blocks = tie_blocks(is_event, score * _SCALE)
            distinct = blocks.forecast / _SCALE
            return distinct, blocks.size.astype(float), blocks.events.astype(float)
    order = np.argsort(score)
    ordered, weight = score[order], weight[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] > ordered[:-1]))
    mass = np.add.reduceat(weight, starts)
    events = np.add.reduceat(weight * outcome[order], starts)
    return ordered[starts], mass, events


def _leaves_room(score):
    """Whether the scaled scores are below 2, and lose no digits."""
    size = np.abs(score)
    return size.max() <= 1e15 and not np.any((size < 1e-280) & (size > 0.0))


def level_of(position, mass):
    """A scale from 0 to 2 on which sorted positions are spread both ways.

    Half of it is the share of the mass below, half the way through the range, on a
    scale that is linear around 0 and logarithmic far out. Points close in this are
    close in both.
    """
    spread = np.arcsinh(0.5 * position)
    spread -= spread[0]
    if spread[-1] > 0:
        spread /= spread[-1]
    below = np.cumsum(mass) - 0.5 * mass
    return spread + below / mass.sum()


def cells_of(position, mass, n_cells):
    """Cell of each of the sorted positions, numbered from 0 without a gap."""
    cell = (level_of(position, mass) * (0.5 * n_cells)).astype(np.intp)
    return np.cumsum(np.append(False, cell[1:] > cell[:-1]))


def two_point_rule(position, weight, cell):
    """Two weighted points per cell with the first four moments of its rows.

    A sum of weight * g(position) over the rows equals that over the points where g is a
    cubic in each cell: it is the Gauss rule of each cell's rows.

    Parameters
    ----------
    position, weight : ndarray of shape (n_rows,)
        Weights are non-negative.
    cell : ndarray of shape (n_rows,)
        Index of each row's cell.

    Returns
    -------
    points, weights : ndarray of shape (n_points,)
        At most two per cell; none of weight zero.
    """
    n_cells = int(cell.max()) + 1
    mass = np.bincount(cell, weight, n_cells)
    used = mass > 0
    divisor = np.where(used, mass, 1.0)
    mean = np.bincount(cell, weight * position, n_cells) / divisor
    gap = position - mean[cell]
    moment = weight * gap
    mean += np.bincount(cell, moment, n_cells) / divisor
    moment *= gap
    variance = np.bincount(cell, moment, n_cells) / divisor
    moment *= gap
    third = np.bincount(cell, moment, n_cells) / divisor
    # Below rounding a cell is one point.
    floor = (8.0 * np.finfo(np.float64).eps * np.maximum(np.abs(mean), 1e-300)) ** 2
    spread = used & (variance > floor)
    sd = np.sqrt(np.where(spread, variance, 1.0))
    half_skew = np.where(spread, 0.5 * third / sd**3, 0.0)
    # The nodes are the roots of t^2 - skew t - 1; their product is -1.
    far = np.abs(half_skew) + np.sqrt(half_skew * half_skew + 1.0)
    upper = np.where(half_skew > 0, far, 1.0 / far)
    lower = -1.0 / upper
    points = np.concatenate(
        [np.where(spread, mean + sd * lower, mean), (mean + sd * upper)[spread]]
    )
    share = np.where(spread, upper / (upper - lower), 1.0)
    weights = np.concatenate([mass * share, (mass * (1.0 - share))[spread]])
    kept = weights > 0
    return points[kept], weights[kept]
