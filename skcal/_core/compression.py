"""Few weighted points in place of many, for sums of smooth functions."""

import numpy as np


def cells_of(position, weight, n_cells):
    """Cell of each of the sorted positions, and the number of cells in use.

    Half of the cells divide the weight, half the range on a scale that is linear around
    0 and logarithmic far out, so that a cell is small in both.
    """
    spread = np.arcsinh(0.5 * position)
    spread -= spread[0]
    rank = np.cumsum(weight)
    level = spread / max(spread[-1], np.finfo(np.float64).tiny) + rank / rank[-1]
    cell = (level * (0.5 * n_cells)).astype(np.intp)
    # Number the cells in use from 0.
    cell = np.cumsum(np.append(False, cell[1:] > cell[:-1]))
    return cell, int(cell[-1]) + 1


def two_point_rule(position, weight, cell, n_cells):
    """Two weighted points per cell with the first four moments of its rows.

    A sum of weight * g(position) over the rows equals that over the points where g is a
    cubic in each cell: it is the Gauss rule of each cell's rows.

    Parameters
    ----------
    position, weight : ndarray of shape (n_rows,)
        Weights are non-negative.
    cell : ndarray of shape (n_rows,)
        Index of each row's cell.
    n_cells : int

    Returns
    -------
    points, weights : ndarray of shape (n_points,)
        At most two per cell; none of weight zero.
    """
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
