"""Resampled cell sums: the bootstrap and the calibrated world at a cost without n.

Rows of one cell, outcome and weight are alike to a measure that works on cells, so they
form a category. How often each category is drawn is all that a replicate needs, and the
number of categories does not grow with the number of rows.
"""

from dataclasses import dataclass

import numpy as np

from skcal._core.replicates import N_MOMENTS, chebyshev_moments

# Weights in one class differ by at most this ratio, unless there are few distinct ones;
# weights so small that their squares add nothing share the last class.
_WEIGHT_RATIO = 1.25
_FEW_WEIGHTS = 32
_WEIGHT_CLASSES = 42
_MANY_ROWS = 16


@dataclass(frozen=True, slots=True)
class Categories:
    """Rows of one binary problem, summed over categories.

    Attributes
    ----------
    of_row : ndarray of shape (n_samples,)
        Category of each row.
    cell : ndarray of shape (n_categories,)
        Cell of each category, in rising order.
    outcome : ndarray of shape (n_categories,) or None
        Outcome of each category's rows; None where the categories are made without.
    stratum : ndarray of shape (n_categories,)
    n_rows : ndarray of shape (n_categories,)
        Number of rows.
    forecast : ndarray of shape (n_categories,)
        Mean forecast.
    mass : ndarray of shape (n_moments, n_categories)
        Means over the rows of the weight times T_q(2 x), the Chebyshev polynomials of
        the place x within the cell, which runs from -1/2 to 1/2.
    forecast_mass : ndarray of shape (n_moments, n_categories)
        The same of the weight times the forecast.
    n_cells : int
    """

    of_row: np.ndarray
    cell: np.ndarray
    outcome: np.ndarray | None
    stratum: np.ndarray
    n_rows: np.ndarray
    forecast: np.ndarray
    mass: np.ndarray
    forecast_mass: np.ndarray
    n_cells: int

    @property
    def event_mass(self):
        """Means of the weight times the outcome, of shape (n_moments, n_categories).

        Where the categories are made without outcomes: of one event, if outcomes are
        draws with the forecast probabilities.
        """
        if self.outcome is not None:
            return self.mass * self.outcome
        filled = np.where(self.forecast > 0.0, self.forecast, 1.0)
        return self.forecast_mass / filled

    @property
    def residual_mass(self):
        """Means of the weight times outcome less forecast."""
        return self.event_mass - self.forecast_mass

    def bootstrap_counts(self, n_resamples, rng):
        """Draw with replacement: how often each category comes in each replicate.

        Multinomial over the categories, within strata.

        Returns
        -------
        counts : ndarray of shape (n_resamples, n_categories)
        """
        counts = np.zeros((n_resamples, self.n_rows.size))
        for stratum in np.unique(self.stratum):
            inside = np.flatnonzero(self.stratum == stratum)
            n_rows = self.n_rows[inside]
            total = int(n_rows.sum())
            if total > _MANY_ROWS * inside.size:
                counts[:, inside] = rng.multinomial(total, n_rows / total, n_resamples)
                continue
            # Few rows a category: faster to draw each of them.
            category = np.repeat(inside, n_rows)
            for replicate in counts:
                drawn = category[rng.integers(total, size=total)]
                replicate += np.bincount(drawn, minlength=replicate.size)
        return counts

    def calibrated_counts(self, n_resamples, rng):
        """Draw outcomes with the forecast probabilities: events of each category.

        Binomial with the mean forecast of the category, made without outcomes. The sum
        of the rows' own Bernoulli draws differs from it by at most the cell's width h
        in total variation (Ehm 1991), and has a variance that is smaller by a factor
        of at least 1 - h.

        Returns
        -------
        events : ndarray of shape (n_resamples, n_categories)
        """
        shape = (n_resamples, self.n_rows.size)
        return rng.binomial(self.n_rows, self.forecast, size=shape).astype(np.float64)

    def cell_sums(self, counts, means):
        """Sums over the categories of each cell.

        Parameters
        ----------
        counts : ndarray of shape (n_resamples, n_categories)
        means : ndarray of shape (n_categories,)
            What one row of each category adds, such as one order of `mass`.

        Returns
        -------
        sums : ndarray of shape (n_resamples, n_cells)
        """
        start = np.flatnonzero(np.diff(self.cell, prepend=-1))
        sums = np.zeros((counts.shape[0], self.n_cells))
        sums[:, self.cell[start]] = np.add.reduceat(counts * means, start, axis=1)
        return sums


def categorize(
    problem,
    cell,
    place,
    n_cells,
    *,
    by_outcome=True,
    stratum=None,
    n_moments=N_MOMENTS,
):
    """Sum the rows of a problem over categories.

    Parameters
    ----------
    problem : BinaryProblem
    cell : ndarray of shape (n_samples,)
        Cell of each row.
    place : ndarray of shape (n_samples,) or None
        Place within the cell, from -1/2 to 1/2; None where `n_moments` is 1.
    n_cells : int
    by_outcome : bool, default=True
        Whether rows of different outcomes are of different categories.
    stratum : ndarray of shape (n_samples,), default=None
        Rows of different strata are of different categories.
    n_moments : int, default=N_MOMENTS
        Number of moments to keep.

    Returns
    -------
    categories : Categories
    """
    outcome, forecast, weight = problem.as_float64()
    key = np.asarray(cell, dtype=np.int64)
    n_keys = n_cells
    parts = []
    if by_outcome:
        parts.append((outcome > 0.5, 2))
    if weight is not None:
        parts.append((_weight_classes(weight), max(_FEW_WEIGHTS, _WEIGHT_CLASSES) + 1))
    if stratum is not None:
        parts.append((stratum, int(stratum.max()) + 1))
    for part, size in parts:
        key = key * size + part
        n_keys *= size
    found, of_row = _compress(key, n_keys)
    n_rows = np.bincount(of_row, minlength=found.size)

    def mean(values):
        return np.bincount(of_row, weights=values, minlength=found.size) / n_rows

    first = np.empty(found.size, dtype=np.intp)
    first[of_row] = np.arange(of_row.size)
    powers = np.empty((2, n_moments, found.size))
    mass = np.ones_like(forecast) if weight is None else weight.copy()
    forecast_mass = forecast * mass
    for order in range(n_moments):
        if order:
            mass *= place
            forecast_mass *= place
        powers[0, order], powers[1, order] = mean(mass), mean(forecast_mass)
    if n_moments > 1:
        powers = np.stack([chebyshev_moments(moments) for moments in powers])
    return Categories(
        of_row=of_row,
        cell=np.asarray(cell)[first],
        outcome=outcome[first] if by_outcome else None,
        stratum=np.zeros(found.size, int) if stratum is None else stratum[first],
        n_rows=n_rows,
        forecast=np.clip(mean(forecast), 0.0, 1.0),
        mass=powers[0],
        forecast_mass=powers[1],
        n_cells=n_cells,
    )


def uniform_cells(position, n_cells, low=0.0, high=1.0):
    """Cell of each position among equal ones of [low, high], and place within it."""
    place = (position - low) * (n_cells / (high - low))
    cell = place.astype(np.intp)
    np.clip(cell, 0, n_cells - 1, out=cell)
    place -= cell
    place -= 0.5
    return cell, place


def _compress(key, n_keys):
    """Distinct keys in rising order, and the index of each row's among them."""
    if n_keys > max(4 * key.size, 1 << 20):
        found, of_row = np.unique(key, return_inverse=True)
        return found, of_row.ravel()
    occupied = np.bincount(key, minlength=n_keys) > 0
    rank = np.cumsum(occupied) - 1
    return np.flatnonzero(occupied), rank[key]


def _weight_classes(weight):
    distinct = np.unique(weight)
    if distinct.size <= _FEW_WEIGHTS:
        return np.searchsorted(distinct, weight)
    with np.errstate(divide="ignore"):
        ratio = np.log(distinct[-1] / weight) / np.log(_WEIGHT_RATIO)
    return np.minimum(ratio, _WEIGHT_CLASSES).astype(np.int64)
