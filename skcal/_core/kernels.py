"""Kernels on probability vectors, block by block."""

import numpy as np
from scipy.spatial.distance import cdist, pdist

TILE = 1024
# The median distance comes from this many rows, 2 million pairs.
_MEDIAN_ROWS = 2000


def kernel_values(name, first, second, bandwidth):
    """Kernel between all rows of two arrays of shape (n, n_columns)."""
    return _decay(name, cdist(first, second) / bandwidth)


def paired_kernel_values(name, first, second, bandwidth):
    """Kernel between rows at the same place."""
    distance = np.sqrt(np.sum((first - second) ** 2, axis=1))
    return _decay(name, distance / bandwidth)


def _decay(name, distance):
    if name == "gaussian":
        return np.exp(-0.5 * distance**2)
    return np.exp(-distance)


def median_distance(points):
    """Median distance of rows that differ, 1.0 where none do.

    From evenly spaced rows where there are many: in canonical order these are a
    stratified sample of all.
    """
    n = points.shape[0]
    if n > _MEDIAN_ROWS:
        points = points[np.arange(_MEDIAN_ROWS) * n // _MEDIAN_ROWS]
    distance = pdist(points)
    distance = distance[distance > 0]
    return float(np.median(distance)) if distance.size else 1.0


def quadratic_forms(points, residual, vectors, name, bandwidth):
    """Sums of v_i v_j k(f_i, f_j) <r_i, r_j> over ordered pairs of different rows.

    Parameters
    ----------
    points, residual : ndarray of shape (n_samples, n_columns)
        Forecasts f and residuals r.
    vectors : ndarray of shape (n_samples, n_vectors)
        One v a column.

    Returns
    -------
    forms : ndarray of shape (n_vectors,)
    """
    n = points.shape[0]
    forms = np.zeros(vectors.shape[1])
    for i in range(0, n, TILE):
        rows = slice(i, i + TILE)
        left = vectors[rows].astype(np.float64)
        for j in range(i, n, TILE):
            columns = slice(j, j + TILE)
            tile = kernel_values(name, points[rows], points[columns], bandwidth)
            tile *= residual[rows] @ residual[columns].T
            if i == j:
                np.fill_diagonal(tile, 0.0)
            right = left if i == j else vectors[columns].astype(np.float64)
            part = np.einsum("ib,ib->b", left, tile @ right)
            # By symmetry the tile on the other side of the diagonal gives the same.
            forms += part if i == j else 2.0 * part
    return forms
