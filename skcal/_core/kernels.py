"""Kernels on probability vectors, block by block."""

import numpy as np
from scipy.spatial.distance import cdist, pdist

TILE = 1024
# The median distance comes from this many rows at most.
_MEDIAN_ROWS = 500


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


def quadratic_forms(matrix, vectors, n):
    """Sums of v_i m_ij v_j over ordered pairs i, j that differ, tile by tile.

    Parameters
    ----------
    matrix : callable
        The tile of a symmetric matrix at a slice of rows and one of columns.
    vectors : callable
        Yields arrays of shape (n_rows, n_vectors) at a slice of rows. The forms of the
        arrays are added up.
    n : int
        Number of rows.

    Returns
    -------
    forms : ndarray of shape (n_vectors,)
    """
    forms = 0.0
    for i in range(0, n, TILE):
        rows = slice(i, i + TILE)
        for j in range(i, n, TILE):
            columns = slice(j, j + TILE)
            tile = matrix(rows, columns)
            if i == j:
                np.fill_diagonal(tile, 0.0)
            # By symmetry the tile beyond the diagonal gives the same.
            times = 1.0 if i == j else 2.0
            for left, right in zip(vectors(rows), vectors(columns), strict=True):
                forms = forms + times * np.einsum("ib,ib->b", left, tile @ right)
    return forms
