"""Products of neighbours in rank, with ties, and their moments under calibration."""

from typing import NamedTuple

import numpy as np


def in_rank(outcome, number):
    """Outcomes and numbers by ascending number, as int8 and float64.

    The bits of numbers below 2 leave room for the outcome and, read as integers, have
    the numbers' order but for the sign. To sort these takes a fraction of the time that
    it takes to sort the rows' places and to gather the rows.

    Parameters
    ----------
    outcome : ndarray of shape (n_samples,)
        Zeros and ones.
    number : ndarray of shape (n_samples,)
        Such as forecasts. Of magnitude below 2: the exponent's highest bit is free.
    """
    single = number.dtype in (np.float16, np.float32)
    real, integer = (np.float32, np.int32) if single else (np.float64, np.int64)
    # The sum has no negative zeros, whose bits are out of order.
    key = (number.astype(real, copy=False) + real(0.0)).view(integer)
    signed = key.min() < 0
    if signed:
        negative = key >> (8 * key.itemsize - 1)
        key <<= 1
        key ^= negative
        key -= negative
    else:
        key <<= 1
    key |= outcome.astype(np.int8, copy=False)
    key.sort()
    outcome = key.astype(np.int8)
    outcome &= 1
    key >>= 1
    ordered = key.view(real)
    if signed:
        ordered = np.copysign(np.abs(key).view(real), key)
    return outcome, ordered.astype(np.float64, copy=False)


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
    outcome, forecast = in_rank(outcome, forecast)
    residual = outcome - forecast
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


class TieBlocks(NamedTuple):
    """Rows gathered by equal forecasts, in ascending order.

    Attributes
    ----------
    forecast : ndarray of shape (n_blocks,)
        The distinct forecasts.
    size, events : ndarray of shape (n_blocks,)
        Number of rows and of those with outcome 1, as int64.
    """

    forecast: np.ndarray
    size: np.ndarray
    events: np.ndarray


def tie_blocks(outcome, forecast):
    """Gather rows by equal forecasts: the same for any order of the rows."""
    outcome, forecast = in_rank(outcome, forecast)
    start = np.concatenate(([0], np.flatnonzero(forecast[1:] != forecast[:-1]) + 1))
    size = np.diff(start, append=forecast.size)
    events = np.add.reduceat(outcome, start, dtype=np.int64)
    return TieBlocks(forecast[start], size, events)


def block_products(events, size, forecast):
    """Sum of products of neighbours, expected over the orders of tied rows.

    What `lagged_products` gives at lag 1, for any number of samples which share their
    forecasts.

    Parameters
    ----------
    events : ndarray of shape (..., n_blocks)
        Rows with outcome 1 in every block of tied forecasts.
    size, forecast : ndarray of shape (n_blocks,)
    """
    tied = size > 1
    any_tied = tied.any()
    mean = (events / size if any_tied else events) - forecast
    total = np.einsum("...i,...i->...", mean[..., :-1], mean[..., 1:])
    if any_tied:
        size, forecast, events = size[tied], forecast[tied], events[..., tied]
        square = events * (1.0 - 2.0 * forecast) + size * forecast**2
        # ((sum W)^2 - sum W^2) / m
        mean = mean[..., tied]
        total += (size * mean * mean - square / size).sum(axis=-1)
    return total


def null_moments(size, forecast):
    """Variance and third central moment of `block_products` under calibration.

    Exact, given the forecasts: the products of two different pairs of rows are
    uncorrelated, and products of three have a mean other than zero only where the three
    are the same or form a triangle, which needs tied rows.

    Parameters
    ----------
    size, forecast : ndarray of shape (n_blocks,)

    Returns
    -------
    variance, third : float
    """
    spread = forecast * (1.0 - forecast)
    skew = spread * (1.0 - 2.0 * forecast)
    inside = (size - 1.0) / size
    per_row, skew_per_row = spread / size, skew / size**2
    variance = 2.0 * inside @ spread**2 + per_row[:-1] @ per_row[1:]
    triangle = inside * spread**2 / size
    third = (
        4.0 * (inside / size) @ skew**2
        + skew_per_row[:-1] @ skew_per_row[1:]
        + 8.0 * (inside * np.maximum(size - 2.0, 0.0) / size) @ spread**3
        + 6.0 * (triangle[:-1] @ per_row[1:] + triangle[1:] @ per_row[:-1])
    )
    return float(variance), float(third)
