"""What the bootstrap, the calibrated reference and the comparison share."""

from functools import partial

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from skcal._predictions import check_groups, check_scores, check_weight
from skcal._sklearn import _safe_indexing
from skcal.metrics import binned_ece, plugin_ece, smooth_ece, variational_ece

_ON_CELLS = ((smooth_ece, "smooth_ece"), (binned_ece, "binned_ece"))
# Counts of one chunk of replicates, and its fewest and most replicates.
_CHUNK_SIZE, _SMALLEST_CHUNK, _LARGEST_CHUNK = 1 << 18, 4, 128
_LARGEST_SEED = np.iinfo(np.int32).max


def known_measure(metric, params):
    """Function below partials, its keywords, and its name where it works on cells."""
    params = dict(params)
    while isinstance(metric, partial) and not metric.args:
        params = {**metric.keywords, **params}
        metric = metric.func
    if not callable(metric):
        raise ValueError(
            f"metric must be a function of (y_true, y_proba). Got {metric!r} instead."
        )
    name = next((name for known, name in _ON_CELLS if known is metric), None)
    return metric, params, name


def refuse_cross_fitted(metric, params):
    """Copies of a row must not be on both sides of a split."""
    if metric is variational_ece or (
        metric is plugin_ece and params.get("cv") is not None
    ):
        raise ValueError(
            f"{metric.__name__} cross-fits, and copies of a row on both sides of a "
            "split bias it. VariationalECE(...).evaluate(y_true, y_proba) has a "
            "standard error and a lower bound of its own."
        )


def checked_columns(y_true, y_probas, sample_weight):
    """Probabilities, labels as codes, and weights, for any measure of rows."""
    probas = [check_scores(proba) for proba in y_probas]
    n_samples = probas[0].shape[0]
    labels = check_groups(y_true, n_samples, "y_true")
    codes = np.unique(labels, return_inverse=True)[1].ravel()
    for proba in probas[1:]:
        if proba.shape[0] != n_samples:
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: "
                f"{n_samples} and {proba.shape[0]} rows of probabilities."
            )
    if sample_weight is not None:
        sample_weight = check_weight(sample_weight, n_samples)
    return (*probas, codes, sample_weight)


def take(values, rows):
    """Rows of a list, array or data frame, of the kind that was given."""
    return None if values is None else _safe_indexing(values, rows)


def drop_weightless(sample_weight, *columns):
    """Weights and columns without the rows of weight zero, which are no rows at all."""
    if sample_weight is None or columns[0] is None:
        return sample_weight, *columns
    weight = check_weight(sample_weight, len(np.asarray(columns[0])))
    rows = np.flatnonzero(weight > 0)
    if rows.size == weight.size:
        return sample_weight, *columns
    # Columns of another length are refused where they are used.
    return weight[rows], *(
        column if column is None or len(column) != weight.size else take(column, rows)
        for column in columns
    )


def of_rows(metric, params, rows, y_true, y_proba, sample_weight):
    """Any metric of some rows."""
    if sample_weight is not None:
        params = {**params, "sample_weight": take(sample_weight, rows)}
    return metric(take(y_true, rows), take(y_proba, rows), **params)


class Units:
    """What is drawn: rows or whole groups of them, within strata.

    Parameters
    ----------
    n_samples : int
    groups, stratify : array-like of shape (n_samples,) or None
    order : ndarray of shape (n_samples,) or None
        The order in which single rows are numbered, so that a draw means the same in
        any order of the rows.

    Attributes
    ----------
    of_row : ndarray of shape (n_samples,)
    stratum_of_row : ndarray of shape (n_samples,) or None
    n_units : int
    """

    def __init__(self, n_samples, groups, stratify, order=None):
        self.grouped = groups is not None
        self.stratum_of_row = None
        if stratify is not None:
            stratify = check_groups(stratify, n_samples, "stratify")
            self.stratum_of_row = np.unique(stratify, return_inverse=True)[1].ravel()
        if self.grouped:
            groups = check_groups(groups, n_samples)
            self.of_row = np.unique(groups, return_inverse=True)[1].ravel()
        else:
            self.of_row = np.empty(n_samples, dtype=np.intp)
            self.of_row[slice(None) if order is None else order] = np.arange(n_samples)
        self.n_units = int(self.of_row.max()) + 1
        self._rows = np.argsort(self.of_row, kind="stable")
        self._size = np.bincount(self.of_row)
        self._start = np.cumsum(self._size) - self._size
        stratum = np.zeros(self.n_units, dtype=np.intp)
        if self.stratum_of_row is not None:
            stratum[self.of_row] = self.stratum_of_row
            apart = np.flatnonzero(stratum[self.of_row] != self.stratum_of_row)
            if apart.size:
                raise ValueError(
                    "A group must lie within one stratum: the group of row "
                    f"{int(apart[0])} has rows in several. Leave stratify out, or "
                    "stratify by what is constant in a group."
                )
        self._strata = [np.flatnonzero(stratum == s) for s in np.unique(stratum)]
        if self.grouped and self.n_units < 2:
            raise ValueError("groups must hold two groups at least. Got one.")

    def draw(self, rng):
        """Units of one replicate, with replacement."""
        return np.concatenate(
            [units[rng.integers(units.size, size=units.size)] for units in self._strata]
        )

    def draw_half(self, rng):
        """Half of the units, without replacement."""
        return np.concatenate(
            [
                units[rng.permutation(units.size)[: (units.size + 1) // 2]]
                for units in self._strata
            ]
        )

    def row_counts(self, rng):
        """How often each row comes in one replicate."""
        counts = np.bincount(self.draw(rng), minlength=self.n_units)
        return counts[self.of_row].astype(np.float64)

    def rows(self, units):
        """Rows of drawn units."""
        if not self.grouped:
            return self._rows[units]
        size = self._size[units]
        step = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        return self._rows[np.repeat(self._start[units], size) + step]


def replicates_on_cells(measures, units, n_resamples, random_state, n_jobs):
    """Errors of bootstrap replicates, of shape (n_resamples, n_measures).

    One measure of single rows has its counts drawn by category; several measures share
    rows, which are then drawn themselves.
    """
    by_category = len(measures) == 1 and not units.grouped

    def chunk(size, seed):
        rng = np.random.default_rng(seed)
        if by_category:
            counts = [measures[0].categories.bootstrap_counts(size, rng)]
        else:
            counts = [
                np.empty((size, measure.categories.n_rows.size)) for measure in measures
            ]
            for replicate in range(size):
                rows = units.row_counts(rng)
                for measure, drawn in zip(measures, counts, strict=True):
                    drawn[replicate] = np.bincount(
                        measure.categories.of_row, rows, drawn.shape[1]
                    )
        return np.column_stack(
            [
                measure.errors(measure.resampled(drawn))
                for measure, drawn in zip(measures, counts, strict=True)
            ]
        )

    return in_chunks(chunk, measures, n_resamples, random_state, n_jobs)


def in_chunks(chunk, measures, n_resamples, random_state, n_jobs):
    """Rows of ``chunk(size, seed)``, each chunk of bounded memory and its own seed."""
    n_sums = sum(
        max(measure.categories.n_rows.size, measure.n_cells) for measure in measures
    )
    size = int(np.clip(_CHUNK_SIZE // n_sums, _SMALLEST_CHUNK, _LARGEST_CHUNK))
    sizes = [min(size, n_resamples - start) for start in range(0, n_resamples, size)]
    parts = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(chunk)(*job)
        for job in zip(sizes, seeds(random_state, len(sizes)), strict=True)
    )
    return np.concatenate(parts)


def seeds(random_state, n_seeds):
    """Independent seeds from anything that scikit-learn takes as a random state."""
    entropy = check_random_state(random_state).randint(_LARGEST_SEED)
    return np.random.SeedSequence(entropy).spawn(n_seeds)


def one_by_one(function, n_resamples, random_state, n_jobs):
    """Values of ``function(rng)``, each with a seed of its own."""

    def call(seed):
        return function(np.random.default_rng(seed))

    values = Parallel(n_jobs=n_jobs)(
        delayed(call)(seed) for seed in seeds(random_state, n_resamples)
    )
    return np.asarray(values, dtype=np.float64)
