"""Bins of forecasts and their sums."""

import numpy as np


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
    values, inverse = np.unique(forecast, return_inverse=True)
    mass = np.bincount(inverse.ravel(), weights=weight, minlength=values.size)
    upper = np.cumsum(mass)
    middle = upper - 0.5 * mass
    # Sums of weights round, and a middle on an edge belongs to the bin on its right.
    bin_of_value = (middle * n_bins / upper[-1] + 1e-9).astype(np.intp)
    np.minimum(bin_of_value, n_bins - 1, out=bin_of_value)
    return bin_of_value[inverse.ravel()]


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
