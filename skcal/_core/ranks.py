"""Products of neighbours in rank, with ties."""

import numpy as np


def lagged_products(outcome, forecast, n_neighbors):
    """Mean over lags 1 to m of the sums of residual products at that lag in rank.

    Tied forecasts count by the exact expectation over a random order of the tied rows:
    within a block of b tied rows every pair of places has the mean product of two
    different rows; between blocks the product of the blocks' means.

    Parameters
    ----------
    outcome, forecast : ndarray of shape (n_samples,)
    n_neighbors : int
        Largest lag m, from 1 to ``n_samples - 1``.
    """
    order = np.argsort(forecast)
    forecast = np.take(forecast, order).astype(np.float64, copy=False)
    # Bytes are gathered from within the cache.
    residual = np.take(outcome.astype(np.int8, copy=False), order) - forecast
    change = forecast[1:] != forecast[:-1]
    if change.all():
        return mean_lagged_dot(residual, n_neighbors)

    start = np.concatenate(([0], np.flatnonzero(change) + 1))
    size = np.diff(start, append=residual.size)
    total = np.add.reduceat(residual, start)
    square = np.add.reduceat(residual * residual, start)
    mean = total / size
    expected = np.repeat(mean, size)
    # The lagged products of the expected residuals are right between blocks; within a
    # block the b - l pairs at lag l have the mean product of two different rows.
    pair_product = np.divide(
        total * total - square,
        size * (size - 1.0),
        out=np.zeros_like(total),
        where=size > 1,
    )
    excess = pair_product - mean * mean
    lags = np.minimum(n_neighbors, size - 1)
    n_pairs = lags * size - lags * (lags + 1) / 2.0
    return mean_lagged_dot(expected, n_neighbors) + (n_pairs @ excess) / n_neighbors


def mean_lagged_dot(values, n_neighbors):
    """Mean over lags 1 to m of the dot product of a sequence with its lagged self."""
    total = 0.0
    for lag in range(1, n_neighbors + 1):
        total += np.dot(values[:-lag], values[lag:])
    return total / n_neighbors
