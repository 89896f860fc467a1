"""Where numbers lie among edges, for many numbers and few edges."""

import numpy as np

_CELLS_PER_EDGE = 64
_ROWS_PER_CELL = 2
# One in so many edges at either end, which may be far out, is left outside the cells.
_OUTSIDE = 50


def n_edges_up_to(edges, values):
    """Number of edges at or below each value.

    It is ``np.searchsorted(edges, values, side="right")`` in a third or fourth of the
    time: a table of the numbers at cells of equal width answers for most values.

    Parameters
    ----------
    edges : ndarray of shape (n_edges,)
        Finite numbers in ascending order.
    values : ndarray of shape (n_values,)
        Numbers that are not NaN.
    """
    n_cells = min(_CELLS_PER_EDGE * edges.size, values.size // _ROWS_PER_CELL)
    skipped = edges.size // _OUTSIDE
    if edges.size < 2 or n_cells < 2 * edges.size:
        return np.searchsorted(edges, values, side="right")
    low, high = float(edges[skipped]), float(edges[-1 - skipped])
    # Also where the edges are so close or so far apart that this overflows.
    if not 1e-290 < high - low < 1e290:
        return np.searchsorted(edges, values, side="right")
    # The first and the last cell are for what is beyond.
    per_unit = (n_cells - 3) / (high - low)

    def cell_of(numbers):
        # Each operation rounds, and none of them turns the order around.
        cell = numbers - low
        cell *= per_unit
        cell += 1.0
        np.maximum(cell, 0.0, out=cell)
        np.minimum(cell, n_cells - 1.0, out=cell)
        return cell.astype(np.intp)

    count = np.bincount(cell_of(edges), minlength=n_cells)
    # Cells that hold an edge are marked, as they leave the number open.
    found = np.where(count > 0, -1, np.cumsum(count))[cell_of(values)]
    unsure = np.flatnonzero(found < 0)
    found[unsure] = np.searchsorted(edges, values[unsure], side="right")
    return found
