"""Row orders that depend on the multiset of rows only."""

import numpy as np


def canonical_order(*columns):
    """Order of the rows by the first column, then the next: the same for any shuffling.

    Parameters
    ----------
    *columns : ndarray of shape (n_samples,) or (n_samples, n_columns) or None
        None is no column.
    """
    keys = []
    for column in columns:
        if column is not None:
            column = np.asarray(column)
            keys += list(column.T) if column.ndim == 2 else [column]
    return np.lexsort(keys[::-1])
