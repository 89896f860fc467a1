"""Bins of forecasts and their sums."""

import numpy as np

from skcal._core.edges import n_edges_up_to

# Rows, in all and for each bin, from which bins of equal mass need no rank of each
# row.
_MANY_ROWS, _ROWS_PER_BIN = 20_000, 64


def uniform_bins(forecast, n_bins):
    """Index of each forecast among equal bins of [0, 1].

    Bin b is [b / n_bins, (b + 1) / n_bins); the last one includes 1.
    """
    index = (forecast * n_bins).astype(np.intp)
    np.minimum(index, n_bins - 1, out=index)
    # The product rounds, so a forecast next to an edge can land on its wrong side.
    edges = np.arange(n_bins + 1) / n_bins
    index += (forecast >= edges[index + 1]) & (index < n_bins - 1)
    index -= forecast < edges[index]
    return index


def quantile_bins(forecast, weight, n_bins):
    """Index of each forecast among bins of about equal weight.

    Equal forecasts share a bin, the one that holds the middle of their block, so the
    bins depend on the multiset of rows only and some may stay empty.
    """
    if weight is None and forecast.size >= max(_MANY_ROWS, _ROWS_PER_BIN * n_bins):
        return n_edges_up_to(_quantile_edges(np.sort(forecast), n_bins), forecast)
    values, inverse = np.unique(forecast, return_inverse=True)
    mass = np.bincount(inverse.ravel(), weights=weight, minlength=values.size)
    upper = np.cumsum(mass)
    bin_of_value = _bin_of(upper - 0.5 * mass, upper[-1], n_bins)
    return bin_of_value[inverse.ravel()]


def _bin_of(middle, total, n_bins):
    """Bins of blocks of equal forecasts by the middle of their places in rank."""
    # Sums of weights round, and a middle on an edge belongs to the bin on its right.
    index = (middle * n_bins / total + 1e-9).astype(np.intp)
    return np.minimum(index, n_bins - 1)


def _quantile_edges(ordered, n_bins):
    """Least forecasts of all bins but the first, for rows of equal weight."""
    bins = np.arange(1, n_bins)
    # The block at a bin's first place in rank is the bin's first, unless its middle
    # comes before that place: then whatever is above it is.
    edges = ordered[bins * ordered.size // n_bins]
    lower = np.searchsorted(ordered, edges, side="left")
    upper = np.searchsorted(ordered, edges, side="right")
    is_before = _bin_of(0.5 * (lower + upper), ordered.size, n_bins) < bins
    above = np.nextafter(edges, edges.dtype.type(np.inf))
    return np.where(is_before, above, edges)


def bin_sums(index, outcome, forecast, weight, n_bins):
    """Sums of weight, outcome and forecast per bin, shape (3, n_bins)."""
    sums = np.empty((3, n_bins))
    sums[0] = np.bincount(index, weights=weight, minlength=n_bins)
    if weight is not None:
        outcome = outcome * weight
        forecast = forecast * weight
    sums[1] = np.bincount(index, weights=outcome, minlength=n_bins)
    sums[2] = np.bincount(index, weights=forecast, minlength=n_bins)
    return sums


def calibration_error(sums, norm, debias):
    """Binned calibration error from the sums of `bin_sums`.

    Parameters
    ----------
    sums : ndarray of shape (3, n_bins)
    norm : {"l1", "l2", "max"}
        Mean absolute, mean squared or largest absolute gap.
    debias : bool
        Take off each squared gap's sampling variance, with "l2" only.
    """
    mass, outcome, forecast = sums[:, sums[0] > 0]
    gap = (outcome - forecast) / mass
    if norm == "max":
        return float(np.max(np.abs(gap)))
    share = mass / mass.sum()
    if norm == "l1":
        return float(np.sum(share * np.abs(gap)))
    squared = gap * gap
    if debias:
        rate = outcome / mass
        # One row alone says nothing about its own variance: it adds nothing.
        several = mass >= 2.0
        if not several.any():
            raise ValueError(
                "debias=True needs a bin with two rows at least, and none of "
                f"{mass.size} has them (weights count as repetitions of a row). Use "
                "fewer bins."
            )
        squared -= rate * (1.0 - rate) / np.where(several, mass - 1.0, 1.0)
        squared = np.where(several, squared, 0.0)
    return float(np.sum(share * squared))
