"""Held-out recalibration: the one place where metrics meet recalibration.

A recalibrator is fitted on the training rows of each fold and applied to the others.
"""

import warnings
from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from skcal._predictions import check_option
from skcal.metrics._variational._given_folds import given_folds
from skcal.metrics._variational._problems import Problem
from skcal.recalibration import BoostedTemperatureScaling
from skcal.recalibration._crossfit import (
    apply_recalibrator,
    canonical_folds,
    dealt_folds,
    fit_recalibrator,
    row_order,
)

LEAVE_ONE_OUT = "leave-one-out"
# Recalibrators may compute in float32, or round.
_ROW_SUM_TOLERANCE = 1e-3
# Rows and folds that suffice to tell how much the folds' recalibrators differ.
_COMPARED_ROWS, _COMPARED_FOLDS = 1000, 10


def checked_recalibrator(recalibrator, cv):
    """The recalibrator, or the default one, if it can do what `cv` asks of it."""
    if recalibrator is None:
        recalibrator = BoostedTemperatureScaling()
    if isinstance(cv, str):
        check_option("cv", cv, (LEAVE_ONE_OUT,))
        if not hasattr(recalibrator, "leave_one_out"):
            raise ValueError(
                f"cv={cv!r} needs a recalibrator with a leave_one_out method, "
                f"such as KernelCalibration. Got {recalibrator!r}; pass "
                "sklearn.model_selection.LeaveOneOut() for one fit per row."
            )
        return recalibrator
    if not (hasattr(recalibrator, "fit") and hasattr(recalibrator, "predict_proba")):
        raise ValueError(
            "recalibrator must be an object with fit and predict_proba. Got "
            f"{recalibrator!r}."
        )
    return recalibrator


# Folds --------------------------------------------------------------------------------


def folds_of(cv, predictions, groups, random_state):
    """Training and test rows of each fold."""
    n_samples = predictions.n_samples
    weight = predictions.sample_weight
    codes = np.asarray(predictions.codes, dtype=np.intp)
    scores = predictions.proba.astype(np.float64, copy=False)
    if scores.ndim == 1:
        scores = scores[:, np.newaxis]
    if weight is None:
        counted, ignored = np.arange(n_samples), np.empty(0, dtype=np.intp)
        weight = np.ones(n_samples)
    else:
        # Rows that weigh nothing are told their probabilities, and that is all.
        counted, ignored = np.flatnonzero(weight > 0), np.flatnonzero(weight == 0)
    values = scores[counted], codes[counted], np.asarray(weight[counted], np.float64)
    if isinstance(cv, str) and groups is not None:
        raise ValueError(
            f"cv={cv!r} leaves out rows and not groups: the other rows of a group "
            "would tell of them. Pass a number of folds with groups."
        )
    if cv is None or isinstance(cv, str):
        order = counted[row_order(*values)]
        return [(order, np.concatenate([order, ignored]))]
    if not isinstance(cv, Integral) or isinstance(cv, bool):
        return given_folds(cv, predictions, groups, n_samples)
    if cv < 2:
        raise ValueError(f"cv must be at least 2, or None for in sample. Got cv={cv}.")
    if groups is None:
        # A row alone has nobody to learn from, and keeps its probability.
        folds = canonical_folds(*values, n_splits=int(cv), random_state=random_state)
    else:
        folds = _group_folds(values, groups[counted], int(cv), random_state)
    folds = [(counted[train], counted[test]) for train, test in folds]
    (train, test), *rest = folds
    return [(train, np.concatenate([test, ignored])), *rest]


def _group_folds(values, groups, n_splits, random_state):
    """Whole groups, dealt at random in an order that rows do not change."""
    names, index = np.unique(groups, return_inverse=True)
    if names.shape[0] < 2:
        raise ValueError(
            f"cv={n_splits} with groups needs at least 2 groups. Got only "
            f"{names.tolist()}."
        )
    n_splits = min(n_splits, names.shape[0])
    order = row_order(*values)
    fold = dealt_folds(names.shape[0], n_splits, random_state)[index[order]]
    return [(order[fold != j], order[fold == j]) for j in range(n_splits)]


# Recalibration ------------------------------------------------------------------------


class Recalibrated(NamedTuple):
    """What the recalibrators of all folds make of a problem."""

    problem: Problem
    proba: np.ndarray  # held out, like the problem's; NaN for rows in no test
    by_fold: np.ndarray  # of some rows, whatever their fold, by a few folds


def compared_rows(rows):
    """Some rows, evenly spaced, to compare the folds' recalibrators on."""
    n_compared = min(_COMPARED_ROWS, rows.shape[0])
    places = np.linspace(0, rows.shape[0] - 1, n_compared)
    return rows[places.astype(np.intp)]


def recalibrate_held_out(
    recalibrator, problems, folds, compared, *, leave_one_out, n_jobs, verbose
):
    parallel = Parallel(n_jobs=n_jobs, prefer="threads", verbose=verbose)
    none = compared[:0]
    with warnings.catch_warnings():
        # A recalibrator that gave up leaves a lower bound that is as valid as any.
        warnings.simplefilter("ignore")
        held_out = parallel(
            delayed(_fit_and_apply)(
                recalibrator,
                problem,
                train,
                test,
                compared if j < _COMPARED_FOLDS else none,
                leave_one_out,
            )
            for problem in problems
            for j, (train, test) in enumerate(folds)
        )
    recalibrated = []
    for j, problem in enumerate(problems):
        proba = np.full(problem.proba.shape, np.nan)
        pieces = held_out[j * len(folds) : (j + 1) * len(folds)]
        for (_, test), (piece, _) in zip(folds, pieces, strict=True):
            proba[test] = piece
        by_fold = np.stack([other for _, other in pieces[:_COMPARED_FOLDS]])
        recalibrated.append(Recalibrated(problem, proba, by_fold))
    return recalibrated


def _fit_and_apply(recalibrator, problem, train, test, compared, leave_one_out):
    """Recalibrated probabilities of the test's rows, and of those that are compared."""
    weight = None
    if problem.weight is not None:
        train = train[problem.weight[train] > 0.0]
        weight = problem.weight[train]
        if np.all(weight == 1.0):
            # Recalibrators from elsewhere need not take weights.
            weight = None
    scores = problem.scores(np.concatenate([test, compared]))
    codes = problem.codes[train]
    if not _can_learn(recalibrator, codes):
        proba = scores
    else:
        fitted = fit_recalibrator(
            recalibrator,
            problem.classes,
            False,
            problem.scores(train),
            problem.classes[codes],
            weight,
        )
        if leave_one_out:
            # The rows of the test after those of the training weigh nothing.
            scores[: train.shape[0]] = fitted.leave_one_out()
            proba = scores
        else:
            proba = apply_recalibrator(fitted, problem.classes, False, scores)
        _check_recalibrated(proba, recalibrator)
    if problem.proba.shape[1] == 1:
        proba = proba[:, 1:]
    return proba[: test.shape[0]], proba[test.shape[0] :]


def _can_learn(recalibrator, codes):
    """Whether there are two classes, or the recalibrator can be told of those."""
    if codes.size and codes.min() < codes.max():
        return True
    parameters = getattr(recalibrator, "get_params", lambda deep: {})(deep=False)
    return codes.size > 0 and "labels" in parameters


def _check_recalibrated(proba, recalibrator):
    low, high = proba.min(), proba.max()
    if not (low >= -1e-6 and high <= 1.0 + 1e-6):
        found = "NaN" if np.isnan(proba).any() else f"values in [{low:.6g}, {high:.6g}]"
        raise ValueError(
            f"{type(recalibrator).__name__}.predict_proba must give probabilities in "
            f"[0, 1]. It gave {found}."
        )
    if proba.shape[1] > 2:
        # Of two classes one is measured; of more, tangents need whole vectors: those of
        # the Kullback-Leibler divergence are no bound elsewhere.
        total = proba.sum(axis=1, dtype=np.float64)
        worst = total[np.argmax(np.abs(total - 1.0))]
        if abs(worst - 1.0) > _ROW_SUM_TOLERANCE:
            raise ValueError(
                f"The rows of {type(recalibrator).__name__}.predict_proba must sum to "
                f"one. One sums to {worst:.6g}."
            )
