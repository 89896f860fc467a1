"""Folds of a splitter or of an iterable, checked."""

import numpy as np
from sklearn.model_selection import check_cv


def given_folds(cv, predictions, groups, n_samples):
    """Training and test rows of each fold, which test no row twice."""
    splits = []
    y = predictions.codes
    n_tests = np.zeros(n_samples, dtype=np.intp)
    splitter = check_cv(cv, y, classifier=True)
    for train, test in splitter.split(np.empty(n_samples), y, groups):
        train, test = (_as_rows(rows, n_samples) for rows in (train, test))
        if train.size == 0 or test.size == 0:
            raise ValueError(
                f"cv gives a fold with {train.size} training and {test.size} test rows."
            )
        seen = np.intersect1d(train, test).shape[0]
        if seen:
            raise ValueError(
                f"cv gives a fold that trains on {seen} of its test rows. Pass cv=None "
                "to recalibrate in sample."
            )
        n_tests += np.bincount(test, minlength=n_samples)
        splits.append((train, test))
    if not splits:
        raise ValueError(f"cv gives no folds. Got cv={cv!r}.")
    if n_tests.max() > 1:
        raise ValueError(
            "The test sets of cv must hold each row at most once: "
            f"{int(np.sum(n_tests > 1))} rows are in several. Pass a splitter such as "
            "KFold, GroupKFold or TimeSeriesSplit."
        )
    return splits


def _as_rows(rows, n_samples):
    rows = np.asarray(rows)
    if rows.dtype == bool and rows.shape == (n_samples,):
        return np.flatnonzero(rows)
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise ValueError(
            f"cv must give row numbers or a mask of all {n_samples} rows. Got "
            f"{rows.dtype} of shape {rows.shape}."
        )
    if rows.size and not (rows.min() >= 0 and rows.max() < n_samples):
        raise ValueError(
            f"cv names rows from {rows.min()} to {rows.max()}; there are {n_samples}."
        )
    return rows.astype(np.intp, copy=False)
