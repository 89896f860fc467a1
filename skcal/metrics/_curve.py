"""Reliability curves: observed frequency against predicted probability."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from skcal._core.binning import bin_sums, calibration_error, quantile_bins, uniform_bins
from skcal._core.smoothing import CHUNK, MomentGrid, n_cells_for
from skcal.metrics._binned import number_of_bins
from skcal.metrics._smooth import smooth_fixed_point

_FEWEST_NODES, _MOST_NODES = 400, 20_000
# A curve is drawn at a bandwidth of at least this, for samples with no error at all.
_SMALLEST_BANDWIDTH = 1e-4
_DENSITY_BINS = 40
_MAP_NODES = 400
_MEAN_NODES = 200


@dataclass(frozen=True, slots=True)
class ReliabilityCurve:
    """A reliability curve and the density of the forecasts below it.

    Attributes
    ----------
    prob_pred, prob_true : ndarray of shape (n_points,)
        Predicted probability and observed frequency there.
    rows : ndarray of shape (n_points,) or None
        Number of rows that a point averages. Weighted rows, of the kernel or of
        `sample_weight`, count as the number of equal ones with the same variance.
    density_at : ndarray of shape (n_nodes,)
        Probabilities at which the forecasts' density is given.
    density : ndarray of shape (n_nodes,)
        Density of the forecasts over [0, 1].
    outcome_density : ndarray of shape (2, n_nodes)
        Its parts, of rows without and with the event; they add up to `density`.
    error : float or None
        The error that the curve shows.
    bandwidth : float or None
        Standard deviation of the Gaussian of a smooth curve.
    split : dict of str to ScoreSplit or None
        What an isotonic curve says of the Brier and the log score.
    """

    prob_pred: np.ndarray
    prob_true: np.ndarray
    rows: np.ndarray | None
    density_at: np.ndarray
    density: np.ndarray
    outcome_density: np.ndarray
    error: float | None = None
    bandwidth: float | None = None
    split: dict | None = None


def smooth_curve(problem, n_nodes=None, most_bandwidth=np.inf):
    """Kernel regression of the outcome at the bandwidth of smECE, which is its error.

    The curve has no points beyond the forecasts, and none where the kernel covers less
    than half a row's worth of them. `n_nodes` intervals of [0, 1] are used, by default
    a few per bandwidth. A `most_bandwidth` limits the bandwidth and leaves the error.
    """
    error = smooth_fixed_point(problem, "linear")
    bandwidth = max(min(error, most_bandwidth), _SMALLEST_BANDWIDTH)
    n_cells = n_cells_for(bandwidth, 1.0)
    events, rows = MomentGrid(n_cells), MomentGrid(n_cells)
    squares = total = 0.0
    low, high = problem.forecast.min(), problem.forecast.max()
    for outcome, forecast, weight in problem.chunks(CHUNK):
        if weight is None:
            weight = np.ones_like(forecast)
        rows.add(forecast, weight)
        events.add(forecast, weight * outcome)
        total += weight.sum()
        squares += weight @ weight
    if n_nodes is None:
        n_nodes = n_nodes_for(bandwidth)
    nodes = np.arange(n_nodes + 1) / n_nodes
    spectrum = rows.spectrum()
    density = spectrum.values(bandwidth, n_nodes) / total
    event_density = events.spectrum().values(bandwidth, n_nodes) / total
    n_effective = total * total / squares
    # The kernel's mass at a node in rows: its density there over its peak density.
    covered = (nodes > low - 1.0 / n_nodes) & (nodes < high + 1.0 / n_nodes)
    covered &= density * n_effective * bandwidth * np.sqrt(2.0 * np.pi) >= 0.5
    rate = np.clip(event_density[covered] / density[covered], 0.0, 1.0)
    squared = _squared_kernel(spectrum, bandwidth, nodes)[covered] / total
    n_rows = n_effective * density[covered] ** 2 / squared
    density = np.maximum(density, 0.0)
    event_density = np.clip(event_density, 0.0, density)
    return ReliabilityCurve(
        nodes[covered],
        rate,
        np.minimum(n_rows, n_effective),
        nodes,
        density,
        np.stack([density - event_density, event_density]),
        error=error,
        bandwidth=bandwidth,
    )


def n_nodes_for(bandwidth):
    """Number of intervals of [0, 1] that show a curve of this bandwidth."""
    return int(np.clip(4.0 / bandwidth, _FEWEST_NODES, _MOST_NODES))


def _squared_kernel(spectrum, bandwidth, nodes):
    """Sum of the masses times the squared kernel at the nodes.

    The square of a Gaussian is one of 1 / sqrt(2) times the bandwidth. Next to a wall
    it is the product with the image as well that counts.
    """
    narrow = spectrum.values(bandwidth / np.sqrt(2.0), nodes.size - 1)
    squares = narrow + narrow[0] * np.exp(-((nodes / bandwidth) ** 2))
    squares += narrow[-1] * np.exp(-(((1.0 - nodes) / bandwidth) ** 2))
    return np.maximum(squares, 1e-300) / (2.0 * bandwidth * np.sqrt(np.pi))


class Bins:
    """Bins of forecasts, from all rows at once or to be shared by groups of them.

    Parameters
    ----------
    problem : BinaryProblem
    n_bins : int, {"sqrt", "cbrt"} or callable
    strategy : {"uniform", "quantile"}

    Attributes
    ----------
    n_bins : int
    index : ndarray of shape (n_samples,)
        Bin of each row.
    kept : ndarray of shape (n_bins,)
        Whether a bin has edges: quantiles that hold no row have none.
    edges : ndarray
        Uniform edges; for quantiles the middles between the bins' outermost forecasts.
    """

    def __init__(self, problem, n_bins, strategy):
        self.n_bins = number_of_bins(n_bins, problem)
        _, forecast, weight = problem.as_float64()
        if strategy == "uniform":
            self.index = uniform_bins(forecast, self.n_bins)
            self.kept = np.ones(self.n_bins, dtype=bool)
            self.edges = np.arange(self.n_bins + 1) / self.n_bins
            return
        self.index = quantile_bins(forecast, weight, self.n_bins)
        low = np.full(self.n_bins, np.inf)
        high = np.full(self.n_bins, -np.inf)
        np.minimum.at(low, self.index, forecast)
        np.maximum.at(high, self.index, forecast)
        self.kept = low <= high
        between = 0.5 * (high[self.kept][:-1] + low[self.kept][1:])
        self.edges = np.concatenate([[0.0], between, [1.0]])


def binned_curve(problem, bins, index=None):
    """Mean outcome against mean forecast of each bin that holds rows.

    `index` gives the rows' bins where the problem is a part of the bins' rows.
    """
    outcome, forecast, weight = problem.as_float64()
    index = bins.index if index is None else index
    sums = bin_sums(index, outcome, forecast, weight, bins.n_bins)
    rows = sums[0]
    if weight is not None:
        squares = np.bincount(index, weight * weight, bins.n_bins)
        rows = sums[0] ** 2 / np.where(squares > 0, squares, 1.0)
    held = sums[0] > 0
    mass, events, forecasts = sums[:, held]
    total, of_events = sums[:2, bins.kept]
    width = np.diff(bins.edges) * total.sum()
    return ReliabilityCurve(
        forecasts / mass,
        events / mass,
        rows[held],
        0.5 * (bins.edges[1:] + bins.edges[:-1]),
        total / width,
        np.stack([total - of_events, of_events]) / width,
        error=calibration_error(sums, "l1", False),
    )


def mean_curve(points, nodes=None):
    """Mean of several curves and the standard deviation around it.

    Parameters
    ----------
    points : list of (prob_pred, prob_true)
    nodes : ndarray of shape (n_nodes,), default=None
        Equally spaced nodes of [0, 1] that every `prob_pred` is taken from; None
        interpolates the curves, each within its range.

    Returns
    -------
    at, mean, deviation : ndarray
        Where half of the curves are, and two at least.
    """
    shared = nodes is not None
    nodes = np.linspace(0.0, 1.0, _MEAN_NODES + 1) if nodes is None else nodes
    values = np.full((len(points), nodes.size), np.nan)
    for line, (prob_pred, prob_true) in zip(values, points, strict=True):
        if shared:
            line[np.rint(prob_pred * (nodes.size - 1)).astype(np.intp)] = prob_true
        else:
            inside = (nodes >= prob_pred[0]) & (nodes <= prob_pred[-1])
            line[inside] = np.interp(nodes[inside], prob_pred, prob_true)
    known = np.isfinite(values).sum(axis=0)
    kept = known >= max(2.0, 0.5 * len(points))
    values = values[:, kept]
    return nodes[kept], np.nanmean(values, axis=0), np.nanstd(values, axis=0)


def recalibrated_curve(problem, recalibrator):
    """The map that a recalibrator learns, over the range of the forecasts."""
    outcome, forecast, weight = problem.as_float64()
    low, high = forecast.min(), forecast.max()
    n_nodes = _MAP_NODES if high > low else 0
    nodes = low + (high - low) * np.arange(n_nodes + 1) / max(n_nodes, 1)
    return ReliabilityCurve(
        nodes,
        learned_map(recalibrator, outcome, forecast, weight, nodes),
        None,
        *forecast_histogram(problem),
    )


def learned_map(recalibrator, outcome, forecast, weight, nodes):
    """Probabilities of the event at nodes, by a recalibrator fitted on these rows."""
    fresh = clone(recalibrator)
    # Whatever the labels and input of the caller's own: here they are an event's.
    own = fresh.get_params(deep=False)
    fresh.set_params(
        **{k: v for k, v in (("labels", [0, 1]), ("input", "proba")) if k in own}
    )
    keywords = {} if weight is None else {"sample_weight": weight}
    fresh.fit(forecast, np.asarray(outcome, dtype=np.intp), **keywords)
    repaired = np.asarray(fresh.transform(nodes))
    return repaired if repaired.ndim == 1 else repaired[:, 1]


def forecast_histogram(problem):
    """Where and how dense the forecasts are, and the same by outcome."""
    outcome, forecast, weight = problem.as_float64()
    cell = uniform_bins(forecast, _DENSITY_BINS)
    weight = np.ones_like(forecast) if weight is None else weight
    total = np.bincount(cell, weight, _DENSITY_BINS)
    events = np.bincount(cell, weight * outcome, _DENSITY_BINS)
    scale = _DENSITY_BINS / total.sum()
    return (
        (np.arange(_DENSITY_BINS) + 0.5) / _DENSITY_BINS,
        total * scale,
        np.stack([total - events, events]) * scale,
    )
