"""Bands of reliability curves: how uncertain a curve is, what a calibrated one shows.

Two different statements. A *confidence* band lies around the curve and covers, at each
forecast, what the curve estimates. A *consistency* band lies around the diagonal and
covers, at each forecast, the curves of outcomes drawn from the forecasts themselves.
All replicates are made of sums over cells of forecasts, never of single rows.
"""

from typing import NamedTuple

import numpy as np
from scipy import fft
from scipy.special import ndtri
from sklearn.isotonic import isotonic_regression
from sklearn.utils import check_random_state

from skcal._core.binning import uniform_bins
from skcal.inference._grid import categorize, uniform_cells
from skcal.metrics._curve import learned_map, smooth_curve

BANDS = ("confidence", "consistency")
# Cells per bandwidth of a smooth replicate: good to 1e-3 of a curve.
_CELLS_PER_BANDWIDTH = 4
_FEWEST_CELLS, _MOST_CELLS = 64, 8192
# Frequencies beyond exp(-4.5^2 / 2) = 4e-5 of the total mass are left out.
_CUTOFF = 4.5
# Bandwidths beyond the forecasts at which a wall changes nothing.
_REACH = 6.0
# Parts of [0, 1] and of the rows that isotonic and other maps are replicated on.
_PARTS = 512
_FINE, _MANY_ROWS = 1 << 16, 1 << 17
# smECE of calibrated forecasts that are spread over [0, 1] is 0.3 n^(-1/3).
_CHANCE = 0.3
# Parts of a bin.
_PARTS_OF_BIN = 64


class Band(NamedTuple):
    """A pointwise band.

    Attributes
    ----------
    at : ndarray of shape (n_nodes,)
        Predicted probabilities.
    low, high : ndarray of shape (n_nodes,)
        Ends of the intervals there.
    """

    at: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Resampling(NamedTuple):
    """How bands are made.

    Attributes
    ----------
    confidence_level : float
    n_resamples : int
    random_state : int, RandomState instance or None
    """

    confidence_level: float
    n_resamples: int
    random_state: object

    def generator(self):
        seed = check_random_state(self.random_state).randint(1 << 31, size=4)
        return np.random.default_rng(seed)

    def percentiles(self, replicates):
        """Equal-tailed interval of each column."""
        tail = 50.0 * (1.0 - self.confidence_level)
        return np.percentile(replicates, [tail, 100.0 - tail], axis=0)


def wilson_interval(rate, n, confidence_level):
    """Wilson's interval of an event's probability from its rate among n rows."""
    z2 = ndtri(0.5 + 0.5 * confidence_level) ** 2
    centre = (rate + 0.5 * z2 / n) / (1.0 + z2 / n)
    half = np.sqrt(z2 / n * (rate * (1.0 - rate) + 0.25 * z2 / n)) / (1.0 + z2 / n)
    # At rates of 0 and 1 the interval ends there, but for rounding.
    low = np.where(rate <= 0.0, 0.0, np.maximum(centre - half, 0.0))
    return low, np.where(rate >= 1.0, 1.0, np.minimum(centre + half, 1.0))


# Smooth -------------------------------------------------------------------------------


def smooth_band(problem, curve, band, resampling):
    """Band of a smooth curve, at the curve's bandwidth.

    The confidence band is the percentile interval of bootstrap replicates, joined with
    Wilson's interval for the number of rows behind each point: where all outcomes
    nearby agree, so would all replicates. It covers the smoothed frequency, and does
    not know of the smoothing's bias.
    """
    reach = _REACH * curve.bandwidth
    low = max(0.0, curve.prob_pred[0] - reach)
    high = min(1.0, curve.prob_pred[-1] + reach)
    width = high - low
    sigma = curve.bandwidth / width
    n_cells = int(np.clip(_CELLS_PER_BANDWIDTH / sigma, _FEWEST_CELLS, _MOST_CELLS))
    cell, _ = uniform_cells(problem.as_float64()[1], n_cells, low, high)
    events, mass = _replicates(problem, cell, n_cells, band, resampling)
    events, mass = _heat(events, sigma), _heat(mass, sigma)
    nodes = low + width * np.arange(events.shape[1]) / (events.shape[1] - 1)
    # A replicate without a row nearby says nothing; the curve stands in for it.
    missing = mass <= 1e-9 * mass.max()
    rate = np.clip(events / np.where(missing, 1.0, mass), 0.0, 1.0)
    if missing.any():
        on_curve = np.interp(nodes, curve.prob_pred, curve.prob_true)
        rate = np.where(missing, on_curve, rate)
    lower, upper = (
        np.interp(curve.prob_pred, nodes, end) for end in resampling.percentiles(rate)
    )
    if band == "confidence":
        wilson = wilson_interval(
            curve.prob_true, curve.rows, resampling.confidence_level
        )
        lower, upper = np.minimum(lower, wilson[0]), np.maximum(upper, wilson[1])
    return Band(curve.prob_pred, lower, upper)


def _replicates(problem, cell, n_cells, band, resampling):
    """Sums of events and of all rows per cell, one line per replicate.

    For a confidence band rows are drawn with replacement, for a consistency band the
    rows stay, which is one line, and their outcomes are drawn from the forecasts.
    """
    rng, n_resamples = resampling.generator(), resampling.n_resamples
    confidence = band == "confidence"
    categories = categorize(
        problem, cell, None, n_cells, by_outcome=confidence, n_moments=1
    )
    if confidence:
        drawn = rows = categories.bootstrap_counts(n_resamples, rng)
        event_mass = categories.event_mass[0]
    else:
        drawn = categories.calibrated_counts(n_resamples, rng)
        rows, event_mass = categories.n_rows[np.newaxis] * 1.0, categories.mass[0]
    return (
        categories.cell_sums(drawn, event_mass),
        categories.cell_sums(rows, categories.mass[0]),
    )


def _heat(sums, sigma):
    """Lines of masses at cell centres of [0, 1], smoothed, at equally spaced nodes."""
    n_cells = sums.shape[1]
    count = min(int(_CUTOFF / (np.pi * sigma)) + 2, n_cells)
    coefficients = fft.dct(sums, type=2)[:, :count]
    # The rows of a cell stand at its centre, which adds to their spread.
    variance = max(sigma**2 - 1.0 / (12.0 * n_cells**2), 0.0)
    frequency = np.pi * np.arange(count)
    coefficients *= 0.5 * np.exp(-0.5 * variance * frequency**2)
    padded = np.zeros((sums.shape[0], max(count, 2 * _FEWEST_CELLS) + 1))
    padded[:, :count] = coefficients
    return fft.dct(padded, type=1, overwrite_x=True)


# Bins ---------------------------------------------------------------------------------


def binned_band(problem, curve, index, band, resampling):
    """Wilson's intervals of the bins, or the range of calibrated forecasts' rates."""
    if band == "confidence":
        ends = wilson_interval(curve.prob_true, curve.rows, resampling.confidence_level)
        return Band(curve.prob_pred, *ends)
    # Rows of one bin differ in their forecasts, so they are drawn in finer cells.
    n_parts = _PARTS_OF_BIN * (int(index.max()) + 1)
    key = index * np.intp(n_parts) + uniform_bins(problem.as_float64()[1], n_parts)
    _, first, cell = np.unique(key, return_index=True, return_inverse=True)
    events, mass = _replicates(problem, cell.ravel(), first.size, band, resampling)
    starts = np.flatnonzero(np.append(True, np.diff(index[first]) > 0))
    events = np.add.reduceat(events, starts, axis=1)
    mass = np.add.reduceat(mass, starts, axis=1)
    held = mass[0] > 0
    rates = events[:, held] / mass[:, held]
    return Band(curve.prob_pred, *resampling.percentiles(rates))


# Isotonic and other maps --------------------------------------------------------------


def isotonic_band(problem, curve, band, resampling):
    """Band of an isotonic curve: isotonic fits of outcomes drawn anew.

    They are drawn from the forecasts, for a consistency band, or from a smooth and
    increasing curve: outcomes drawn from the isotonic fit itself, or rows with
    replacement, repeat its steps, and their band covers far too little.
    """
    cell = _few_cells(problem)
    n_cells = int(cell.max()) + 1
    categories = categorize(problem, cell, None, n_cells, by_outcome=False, n_moments=1)
    rng, n_resamples = resampling.generator(), resampling.n_resamples
    rows = categories.n_rows[np.newaxis] * 1.0
    mass = categories.cell_sums(rows, categories.mass[0])[0]
    held = mass > 0
    at = categories.cell_sums(rows, categories.forecast)[0]
    at /= categories.cell_sums(rows, np.ones(categories.n_rows.size))[0]
    if band == "consistency":
        drawn = categories.calibrated_counts(n_resamples, rng)
    else:
        proba = _smooth_and_increasing(problem, at, mass)
        shape = (n_resamples, categories.n_rows.size)
        drawn = rng.binomial(categories.n_rows, proba[categories.cell], shape)
    events = categories.cell_sums(drawn, categories.mass[0])[:, held]
    at, mass = at[held], mass[held]
    fits = [isotonic_regression(line / mass, sample_weight=mass) for line in events]
    low, high = resampling.percentiles(np.clip(fits, 0.0, 1.0))
    if band == "confidence":
        # The draws do not come from the curve, which may leave their range.
        fitted = np.interp(at, curve.prob_pred, curve.prob_true)
        low, high = np.minimum(low, fitted), np.maximum(high, fitted)
    return Band(at, low, high)


def _smooth_and_increasing(problem, at, mass):
    """Isotonic regression of the smooth curve, never quite 0 or 1.

    k events among n rows count as the rate (k + 1/2) / (n + 1).
    """
    # smECE itself smooths away what an isotonic curve shows of forecasts far off.
    finest = _CHANCE * problem.forecast.size ** (-1.0 / 3.0)
    smooth = smooth_curve(problem, most_bandwidth=finest)
    rate = (smooth.prob_true * smooth.rows + 0.5) / (smooth.rows + 1.0)
    rate = np.interp(at, smooth.prob_pred, rate)
    return isotonic_regression(rate, sample_weight=np.maximum(mass, 1e-12 * mass.max()))


def map_band(problem, curve, recalibrator, band, resampling):
    """Band of a recalibrator's map: fits to rows or to outcomes drawn anew."""
    cell = _few_cells(problem)
    n_cells = int(cell.max()) + 1
    events, mass = _replicates(problem, cell, n_cells, band, resampling)
    forecast = problem.as_float64()[1]
    at = np.bincount(cell, forecast) / np.bincount(cell)
    at = np.concatenate([at, at])
    outcome = np.repeat([1.0, 0.0], n_cells)
    weights = np.hstack([events, np.maximum(mass - events, 0.0)])
    maps = [
        learned_map(recalibrator, outcome, at, weight, curve.prob_pred)
        for weight in weights
    ]
    return Band(curve.prob_pred, *resampling.percentiles(maps))


def _few_cells(problem):
    """Cell of each row: its forecast's own, or shared by neighbours if there are many.

    Equal forecasts always share a cell, and cells are numbered in rising order.
    """
    forecast = problem.as_float64()[1]
    if forecast.size > _MANY_ROWS:
        # No need to sort them to tell a few hundred parts from each other.
        place = uniform_bins(forecast, _FINE)
        mass = np.bincount(place, minlength=_FINE)
        by_rank = (np.cumsum(mass) - mass) * _PARTS // forecast.size
        return _numbered(np.arange(_FINE) * _PARTS // _FINE, by_rank, mass)[place]
    value, place, mass = np.unique(forecast, return_inverse=True, return_counts=True)
    place = place.ravel()
    if value.size <= 2 * _PARTS:
        return place
    by_rank = (np.cumsum(mass) - mass) * _PARTS // forecast.size
    return _numbered(uniform_bins(value, _PARTS), by_rank, mass)[place]


def _numbered(by_value, by_rank, mass):
    """Number of each place's cell, where a cell is one part of both kinds."""
    held = mass > 0
    change = (np.diff(by_value[held]) > 0) | (np.diff(by_rank[held]) > 0)
    number = np.zeros(mass.size, dtype=np.intp)
    number[held] = np.cumsum(np.append(False, change))
    return number
