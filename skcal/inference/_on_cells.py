"""Measures of resampled cell sums: smooth and binned errors of many replicates."""

from typing import NamedTuple

import numpy as np

from skcal._core.binning import quantile_bins, uniform_bins
from skcal._core.replicates import (
    binned_errors,
    fixed_points,
    l1_norms,
    spectra,
)
from skcal._core.smoothing import resolution
from skcal.accumulators._smooth import logit, scale_range
from skcal.inference._grid import categorize, uniform_cells
from skcal.metrics._binned import number_of_bins
from skcal.metrics._smooth import smooth_fixed_point

# Rows are taken to be at their category's mean, up to four moments of their own place:
# with six cells per bandwidth this leaves out 0.2 % of a replicate's variance.
_CELLS_PER_BANDWIDTH = 6
_FEWEST_CELLS, _MANY_CELLS, _MOST_CELLS = 1 << 9, 1 << 12, 1 << 16
_SMALLEST_BANDWIDTH = {"linear": 1e-6, "logit": 1e-3}
# Forecasts in one of this many parts of [0, 1] or of the rows are alike to a bin.
_FINE_CELLS = 1 << 10
# Draws that tell the level of smECE by chance, and grids on which they are tried.
_FEW_DRAWS = 15
_MOST_REFINEMENTS = 6
# Forecasts of 0 and 1 only leave nothing to chance.
_NO_ERROR = 1e-12


class SmoothSums(NamedTuple):
    """Replicates' weights, cosine coefficients and sums at infinity."""

    weight: np.ndarray
    coefficients: np.ndarray
    atoms: np.ndarray


class SmoothOnCells:
    """smECE of replicates of one binary problem.

    Parameters
    ----------
    problem : BinaryProblem
    scale : {"linear", "logit"}
    bandwidth : float or None
        None takes each replicate's fixed point.
    near : float
        A value that the fixed points are near.
    by_outcome : bool
    stratum : ndarray of shape (n_samples,) or None
    """

    def __init__(self, problem, scale, bandwidth, near, by_outcome, stratum):
        smallest = _SMALLEST_BANDWIDTH[scale]
        self.bandwidth = None if bandwidth is None else min(bandwidth, 1e8)
        self.near = max(near if bandwidth is None else self.bandwidth, smallest)
        position = problem.as_float64()[1]
        low, high = scale_range(scale, self.bandwidth)
        if scale == "logit":
            position = logit(position)
        far_low, far_high = position < low, position > high
        n_cells = self._n_cells(high - low)
        if n_cells > _MANY_CELLS:
            # Walls beyond the kernel's reach change nothing.
            reach = 20.0 * self.near
            inside = position[~(far_low | far_high)]
            if inside.size:
                low = max(low, inside.min() - reach)
                high = min(high, inside.max() + reach)
            n_cells = self._n_cells(high - low)
        self.width = high - low
        self.n_cells = n_cells
        cell, place = uniform_cells(np.clip(position, low, high), n_cells, low, high)
        # Infinite log odds: two cells of their own, which no smoothing reaches.
        for atom, far in enumerate((far_low, far_high)):
            cell[far], place[far] = n_cells + atom, 0.0
        self.categories = categorize(
            problem, cell, place, n_cells + 2, by_outcome=by_outcome, stratum=stratum
        )

    def _n_cells(self, width):
        wanted = max(_CELLS_PER_BANDWIDTH * width / self.near, _FEWEST_CELLS)
        return min(1 << int(np.ceil(np.log2(wanted))), _MOST_CELLS)

    def resampled(self, counts):
        """Sums of counts of categories."""
        categories = self.categories
        weight = counts @ categories.mass[0]
        return self._transformed(weight, counts, categories.residual_mass)

    def calibrated(self, events):
        """Sums of counts of events."""
        categories = self.categories
        weight = np.full(events.shape[0], categories.n_rows @ categories.mass[0])
        none = np.zeros((1, events.shape[1]))
        expected = self._transformed(
            weight[:1], none + categories.n_rows, categories.forecast_mass
        )
        drawn = self._transformed(weight, events, categories.event_mass)
        return SmoothSums(
            weight,
            drawn.coefficients - expected.coefficients,
            drawn.atoms - expected.atoms,
        )

    def _transformed(self, weight, counts, means):
        n_cells, atoms = self.n_cells, None

        def moments():
            nonlocal atoms
            for order in means:
                sums = self.categories.cell_sums(counts, order)
                if atoms is None:
                    atoms = sums[:, n_cells:].copy()
                yield np.ascontiguousarray(sums[:, :n_cells])

        coefficients = spectra(moments())
        return SmoothSums(weight, coefficients, atoms)

    def errors(self, sums):
        """smECE of each replicate."""
        weight, coefficients, atoms = sums
        atoms = np.abs(atoms).sum(axis=1)
        floor = resolution(self.width, self.n_cells)
        if self.bandwidth is None:
            return fixed_points(
                coefficients, atoms, weight, self.width, floor, self.near
            )
        sigma = np.full(weight.size, max(self.bandwidth, floor) / self.width)
        return (l1_norms(coefficients, sigma)[0] + atoms) / weight

    def truth(self):
        """What the replicates' errors estimate: that of the sample."""
        counts = self.categories.n_rows[np.newaxis] * 1.0
        return float(self.errors(self.resampled(counts))[0])

    @property
    def power(self):
        """Power of the error that is proportional to the noise's variance by chance.

        At a bandwidth s the smoothed noise is of the size of sqrt(variance / s); the
        fixed point, where that is s, goes with the variance's cube root.
        """
        return 3.0 if self.bandwidth is None else 2.0


class BinnedSums(NamedTuple):
    """Replicates' sums of weights, outcomes and residuals per cell."""

    mass: np.ndarray
    outcome: np.ndarray
    residual: np.ndarray


class BinnedOnCells:
    """Binned calibration error of replicates of one binary problem.

    Cells are parts of bins, as rows of one bin may differ in their forecasts, and as
    the bins of a replicate of "quantile" are its own.
    """

    def __init__(self, problem, n_bins, strategy, norm, debias, by_outcome, stratum):
        self.n_bins = number_of_bins(n_bins, problem)
        self.strategy, self.norm, self.debias = strategy, norm, bool(debias)
        _, forecast, weight = problem.as_float64()
        parts = max(1, -(-_FINE_CELLS // self.n_bins))
        self.n_cells = parts * self.n_bins
        if strategy == "uniform":
            cell = uniform_bins(forecast, self.n_cells)
            # Edges of bins and of cells round alike only if the bins come first.
            bins = uniform_bins(forecast, self.n_bins)
            np.clip(cell, bins * parts, bins * parts + parts - 1, out=cell)
            self.bin_of_cell = np.arange(self.n_cells) // parts
        else:
            cell = quantile_bins(forecast, weight, self.n_cells)
            self.bin_of_cell = None
        self.categories = categorize(
            problem,
            cell,
            None,
            self.n_cells,
            by_outcome=by_outcome,
            stratum=stratum,
            n_moments=1,
        )

    def resampled(self, counts):
        categories = self.categories
        return BinnedSums(
            categories.cell_sums(counts, categories.mass[0]),
            categories.cell_sums(counts, categories.event_mass[0]),
            categories.cell_sums(counts, categories.residual_mass[0]),
        )

    def calibrated(self, events):
        categories = self.categories
        counts = categories.n_rows[np.newaxis] * 1.0
        mass = categories.cell_sums(counts, categories.mass[0])
        expected = categories.cell_sums(counts, categories.forecast_mass[0])
        outcome = categories.cell_sums(events, categories.event_mass[0])
        return BinnedSums(
            np.broadcast_to(mass, outcome.shape), outcome, outcome - expected
        )

    def errors(self, sums):
        return self._errors(sums, self.debias)

    def truth(self):
        counts = self.categories.n_rows[np.newaxis] * 1.0
        return float(self._errors(self.resampled(counts), False)[0])

    @property
    def power(self):
        return 1.0 if self.norm == "l2" else 2.0

    def _errors(self, sums, debias):
        bins = self._bins(sums.mass)
        in_bins = (self._in_bins(values, bins) for values in sums)
        return binned_errors(*in_bins, self.norm, debias)

    def _bins(self, mass):
        """Bin of each cell, of shape (1, n_cells) where replicates share them."""
        if self.bin_of_cell is not None:
            return self.bin_of_cell[np.newaxis]
        upper = np.cumsum(mass, axis=1)
        share = (upper - 0.5 * mass) * (self.n_bins / upper[:, -1:])
        return np.minimum((share + 1e-9).astype(np.intp), self.n_bins - 1)

    def _in_bins(self, values, bins):
        if bins.shape[0] == 1:
            start = np.flatnonzero(np.diff(bins[0], prepend=-1))
            sums = np.zeros((values.shape[0], self.n_bins))
            sums[:, bins[0, start]] = np.add.reduceat(values, start, axis=1)
            return sums
        n_resamples = values.shape[0]
        flat = (bins + self.n_bins * np.arange(n_resamples)[:, np.newaxis]).ravel()
        sums = np.bincount(flat, values.ravel(), n_resamples * self.n_bins)
        return sums.reshape(n_resamples, self.n_bins)


def on_cells(name, problem, params, *, by_outcome=True, stratum=None, rng=None):
    """The measure of a problem's replicates, ``"smooth_ece"`` or ``"binned_ece"``.

    Without outcomes those of the problem are not looked at.
    """
    if name == "binned_ece":
        return BinnedOnCells(
            problem,
            params.get("n_bins", 15),
            params.get("strategy", "uniform"),
            params.get("norm", "l1"),
            params.get("debias", False),
            by_outcome,
            stratum,
        )
    scale, bandwidth = params.get("scale", "linear"), params.get("bandwidth")
    near = bandwidth
    if bandwidth is None and by_outcome:
        near = smooth_fixed_point(problem, scale)
    elif bandwidth is None:
        near = _calibrated_level(problem, scale, rng)
    return SmoothOnCells(problem, scale, bandwidth, near, by_outcome, stratum)


def _calibrated_level(problem, scale, rng):
    """About the smECE of the forecasts, were they calibrated."""
    low, high = scale_range(scale)
    near = _CELLS_PER_BANDWIDTH * (high - low) / _MANY_CELLS
    for _ in range(_MOST_REFINEMENTS):
        cells = SmoothOnCells(problem, scale, None, near, False, None)
        draws = cells.categories.calibrated_counts(_FEW_DRAWS, rng)
        level = float(np.median(cells.errors(cells.calibrated(draws))))
        if level >= near:
            return level
        if level < _NO_ERROR:
            return near
        near = max(0.5 * level, _SMALLEST_BANDWIDTH[scale])
    return near
