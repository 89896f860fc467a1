"""Reliability curves: observed frequency against predicted probability."""

from typing import NamedTuple

import numpy as np

from skcal._core.binning import bin_sums, quantile_bins, uniform_bins
from skcal._core.smoothing import CHUNK, MomentGrid, n_cells_for
from skcal.metrics._binned import number_of_bins
from skcal.metrics._smooth import smooth_fixed_point

_FEWEST_NODES, _MOST_NODES = 400, 20_000
# A curve is drawn at a bandwidth of at least this, for samples with no error at all.
_SMALLEST_BANDWIDTH = 1e-4
_DENSITY_BINS = 40


class ReliabilityCurve(NamedTuple):
    """A reliability curve and the density of the forecasts below it.

    Attributes
    ----------
    prob_pred, prob_true : ndarray of shape (n_points,)
        Predicted probability and observed frequency there.
    density_at, density : ndarray of shape (n_nodes,)
        Density of the forecasts over [0, 1].
    """

    prob_pred: np.ndarray
    prob_true: np.ndarray
    density_at: np.ndarray
    density: np.ndarray


def smooth_curve(problem):
    """Kernel regression of the outcome at the bandwidth of smECE, and that smECE.

    The curve has no points where the kernel covers less than half a row's worth of
    forecasts.
    """
    error = smooth_fixed_point(problem, "linear")
    bandwidth = max(error, _SMALLEST_BANDWIDTH)
    n_cells = n_cells_for(bandwidth, 1.0)
    events, rows = MomentGrid(n_cells), MomentGrid(n_cells)
    squares = total = 0.0
    for outcome, forecast, weight in problem.chunks(CHUNK):
        if weight is None:
            weight = np.ones_like(forecast)
        rows.add(forecast, weight)
        events.add(forecast, weight * outcome)
        total += weight.sum()
        squares += weight @ weight
    n_nodes = int(np.clip(4.0 / bandwidth, _FEWEST_NODES, _MOST_NODES))
    nodes = np.arange(n_nodes + 1) / n_nodes
    density = rows.spectrum().values(bandwidth, n_nodes) / total
    event_density = events.spectrum().values(bandwidth, n_nodes) / total
    # The kernel's mass at a node in rows: its density there over its peak density.
    n_effective = total * total / squares
    covered = density * n_effective * bandwidth * np.sqrt(2.0 * np.pi) >= 0.5
    rate = np.clip(event_density[covered] / density[covered], 0.0, 1.0)
    curve = ReliabilityCurve(nodes[covered], rate, nodes, np.maximum(density, 0.0))
    return curve, error


def binned_curve(problem, n_bins, strategy):
    """Mean outcome against mean forecast of each bin that holds rows."""
    n_bins = number_of_bins(n_bins, problem)
    outcome, forecast, weight = problem.as_float64()
    if strategy == "quantile":
        index = quantile_bins(forecast, weight, n_bins)
    else:
        index = uniform_bins(forecast, n_bins)
    sums = bin_sums(index, outcome, forecast, weight, n_bins)
    mass, events, forecasts = sums[:, sums[0] > 0]
    cell = uniform_bins(forecast, _DENSITY_BINS)
    density = np.bincount(cell, weights=weight, minlength=_DENSITY_BINS)
    return ReliabilityCurve(
        forecasts / mass,
        events / mass,
        (np.arange(_DENSITY_BINS) + 0.5) / _DENSITY_BINS,
        density * _DENSITY_BINS / density.sum(),
    )
