"""Variational calibration error (V-ECE): the risk that recalibration would remove."""

import warnings
from dataclasses import dataclass, field
from numbers import Integral
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit
from sklearn.base import BaseEstimator
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from skcal._predictions import (
    MULTICLASS_REDUCTIONS,
    check_groups,
    check_option,
    check_predictions,
)
from skcal.divergences import Divergence
from skcal.divergences._names import check_divergence, is_own
from skcal.recalibration import BoostedTemperatureScaling
from skcal.recalibration._crossfit import (
    apply_recalibrator,
    canonical_folds,
    fit_recalibrator,
    row_order,
)

MULTICLASS = ("canonical", *MULTICLASS_REDUCTIONS)
DIRECTIONS = ("over", "under")
ESTIMATES = ("variational", "plugin", "midpoint")
LEAVE_ONE_OUT = "leave-one-out"
_CHUNK = 1 << 15
# Recalibrators may compute in float32, or round.
_ROW_SUM_TOLERANCE = 1e-3
# Rows and folds that suffice to tell how much the folds' recalibrators differ.
_COMPARED_ROWS, _COMPARED_FOLDS = 1000, 10


def variational_ece(
    y_true,
    y_proba,
    *,
    divergence="l1",
    recalibrator=None,
    cv=5,
    direction=None,
    estimate="variational",
    sample_weight=None,
    pos_label=None,
    labels=None,
    multiclass="canonical",
    n_jobs=None,
    random_state=0,
    groups=None,
):
    """Variational calibration error (V-ECE).

    The calibration error is how far forecasts f are from the true probabilities given
    the forecast, ``C = P(Y | f)``: the mean of a divergence ``D_f(C)``. It equals
    the risk that the best recalibration would remove. A recalibrator is fitted
    on other folds than it is applied to, and the risk that it removes is the estimate:
    in expectation it never exceeds the calibration error, whatever the recalibrator.

    Read more in the :ref:`User Guide <variational_ece>`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or \
            (n_samples, n_classes)
        Predicted probabilities in [0, 1]. One column is the positive class's; more are
        the classes' in sorted order, and their rows sum to one.
    divergence : {"l1", "l2", "linf", "brier", "kl"} or Divergence, default="l1"
        How a distance is measured: by a norm, by its square (the Brier score's) or by
        the Kullback-Leibler divergence (the log loss's, in nats). For two classes it is
        that of the positive class's probability, so that the norms are all the absolute
        difference; otherwise that of the whole vector.
    recalibrator : object, default=None
        Anything with ``fit(proba, y)`` and ``predict_proba(proba)``; it is cloned. None
        is :class:`~skcal.recalibration.BoostedTemperatureScaling`. The better it is,
        the more of the error is found.
    cv : int, splitter, iterable, "leave-one-out" or None, default=5
        The folds. An integer deals the rows at random, in a way that does not depend on
        their order, and whole groups where `groups` are given. ``"leave-one-out"`` is
        for recalibrators that have it in closed form:
        :class:`~skcal.recalibration.KernelCalibration`. None fits and applies the
        recalibrator on the same rows: no lower bound then.
    direction : {"over", "under"}, default=None
        Count errors of one direction only. Over-confident is a forecast that is farther
        from 1/2 than the truth; with ``multiclass="confidence"`` one above it.
    estimate : {"variational", "plugin", "midpoint"}, default="variational"
        The risk that is removed; the mean divergence of forecasts from the recalibrated
        probabilities, which chance lifts; or the mean of both, closer to the error for
        most recalibrators and no bound.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.
    pos_label : int, float, bool or str, default=None
        Label of the positive class. By default 1 where the labels are within {0, 1} or
        {-1, 1}, and the second label in sorted order where `y_proba` has two columns or
        `labels` is given. Has no effect with three or more classes.
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order. Give them where `y_true` may lack a class.
    multiclass : {"canonical", "confidence", "classwise"}, default="canonical"
        With three or more classes, measure the whole vector, or the top class's
        probability against its being right, or take the mean of the one-vs-rest errors.
        Two classes are always measured by the positive class's probability.
    n_jobs : int, default=None
        Number of folds in parallel, in threads. The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds.
    groups : array-like of shape (n_samples,), default=None
        Groups of rows that depend on each other, for `cv`.

    Returns
    -------
    error : float
        0 is perfect. The variational estimate may be negative, and averages at most
        zero under perfect calibration.

    Raises
    ------
    ValueError
        If the input is invalid, or `direction` is asked of whole vectors or classwise.

    See Also
    --------
    VariationalECE : The same with standard errors and several divergences at once.
    plugin_ece : Mean distance from the recalibrated probabilities.
    smooth_ece : Smooth calibration error.

    Notes
    -----
    With z the recalibrated probabilities of a held-out row, the estimate is the mean of
    ``D_f(z) + <Y - z, gradient of D_f at z>`` over the rows, which has the expectation
    ``E[D_f(C)]`` for z = C and a smaller one for every other z.

    References
    ----------
    .. [1] E. Berta, S. Braun, F. Bach, M. I. Jordan and D. Holzmüller, "V-ECE:
       Estimating General Expected Calibration Errors", 2026, theorem 1, table 1 and
       algorithm 1; appendix G for the directions.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal import variational_ece
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.uniform(size=4_000)
    >>> y_true = rng.uniform(size=4_000) < 0.25 + 0.5 * y_proba  # E|f - C| = 0.125
    >>> round(variational_ece(y_true, y_proba), 2)
    0.13
    >>> abs(variational_ece(y_true, y_proba, direction="under")) < 0.005
    True
    """
    check_option("estimate", estimate, ESTIMATES)
    result = VariationalECE(
        divergence=divergence,
        recalibrator=recalibrator,
        cv=cv,
        direction=direction,
        pos_label=pos_label,
        labels=labels,
        multiclass=multiclass,
        n_jobs=n_jobs,
        random_state=random_state,
    ).evaluate(y_true, y_proba, sample_weight=sample_weight, groups=groups)
    return single(
        {
            "variational": result.value,
            "plugin": result.plugin,
            "midpoint": result.midpoint,
        }[estimate],
        divergence,
    )


def single(value, divergence):
    """The one value, and not a dictionary of several divergences' values."""
    if isinstance(value, dict):
        raise ValueError(
            f"divergence must be a single one. Got {divergence!r}; VariationalECE "
            "takes several."
        )
    return value


class VariationalECE(BaseEstimator):
    r"""Variational calibration error (V-ECE) with all that comes with it.

    One cross-fit of the recalibrator gives the estimates of several divergences, their
    standard errors and lower bounds, the parts of either direction, and the
    recalibrated probabilities.

    Read more in the :ref:`User Guide <variational_ece>`.

    Parameters
    ----------
    divergence : str, Divergence or list of these, default="l1"
        ``"l1"``, ``"l2"``, ``"linf"``, ``"brier"``, ``"kl"`` or a
        :class:`~skcal.divergences.Divergence`. With a list the results are
        dictionaries, by the divergences' names.
    recalibrator : object, default=None
        Anything with ``fit(proba, y)`` and ``predict_proba(proba)``; it is cloned. None
        is :class:`~skcal.recalibration.BoostedTemperatureScaling`.
    cv : int, splitter, iterable, "leave-one-out" or None, default=5
        The folds. An integer deals the rows at random, in a way that does not depend on
        their order, and whole groups where `groups` are given. A splitter or iterable
        sees the rows as they are given; rows that it never tests do not count.
        ``"leave-one-out"`` is for recalibrators that have it in closed form:
        :class:`~skcal.recalibration.KernelCalibration`. None fits and applies the
        recalibrator on the same rows.
    direction : {"over", "under"}, default=None
        Count errors of one direction only.
    pos_label : int, float, bool or str, default=None
        Label of the positive class of two.
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order. Give them where `y_true` may lack a class.
    multiclass : {"canonical", "confidence", "classwise"}, default="canonical"
        What is measured with three or more classes.
    n_jobs : int, default=None
        Number of folds in parallel, in threads. The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds.
    verbose : int, default=0
        How much joblib prints about the progress of the folds; 0 is nothing.

    See Also
    --------
    variational_ece : The same as a function that returns one number.

    Notes
    -----
    Folds are not stratified: balancing them by the outcome biases the estimate upwards.
    Classes that a fold's training rows lack keep their probabilities in it.

    The standard error is that of the rows within their folds [2]_. For norms it is
    larger where the folds' recalibrators disagree about directions, as they do for
    calibrated forecasts: the folds' means depend on each other then.

    References
    ----------
    .. [1] E. Berta, S. Braun, F. Bach, M. I. Jordan and D. Holzmüller, "V-ECE:
       Estimating General Expected Calibration Errors", 2026.
    .. [2] P. Bayle, A. Bayle, L. Janson and L. Mackey, "Cross-Validation Confidence
       Intervals for Test Error", NeurIPS 2020 (the standard error).
       `arXiv:2007.12671 <https://arxiv.org/abs/2007.12671>`_

    Examples
    --------
    >>> import numpy as np
    >>> from skcal import BetaCalibration, VariationalECE
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.uniform(size=4_000)
    >>> y_true = rng.uniform(size=4_000) < 0.25 + 0.5 * y_proba
    >>> measure = VariationalECE(divergence=["l1", "brier"])
    >>> result = measure.evaluate(y_true, y_proba)
    >>> result.lower_bound(0.95)["l1"] > 0.1  # the error is 0.125
    True
    >>> bool(np.isclose(result.risk["brier"], np.mean((y_true - y_proba) ** 2)))
    True
    """

    def __init__(
        self,
        *,
        divergence="l1",
        recalibrator=None,
        cv=5,
        direction=None,
        pos_label=None,
        labels=None,
        multiclass="canonical",
        n_jobs=None,
        random_state=0,
        verbose=0,
    ):
        self.divergence = divergence
        self.recalibrator = recalibrator
        self.cv = cv
        self.direction = direction
        self.pos_label = pos_label
        self.labels = labels
        self.multiclass = multiclass
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def evaluate(self, y_true, y_proba, *, sample_weight=None, groups=None):
        """Measure the calibration error of predictions.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels.
        y_proba : array-like of shape (n_samples,), (n_samples, 1) or \
                (n_samples, n_classes)
            Predicted probabilities in [0, 1].
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. They count in the fits and in the means; the standard
            error is that of as many independent rows as there are.
        groups : array-like of shape (n_samples,), default=None
            Groups of rows that depend on each other: for `cv`, and for the standard
            error.

        Returns
        -------
        result : VariationalECEResult
            The estimates.

        Raises
        ------
        ValueError
            If the input is invalid, or `direction` is asked of whole vectors or
            classwise.
        """
        divergences = self._divergences()
        check_option("multiclass", self.multiclass, MULTICLASS)
        if self.direction is not None:
            check_option("direction", self.direction, DIRECTIONS)
        predictions = check_predictions(
            y_true,
            y_proba,
            sample_weight=sample_weight,
            pos_label=self.pos_label,
            labels=self.labels,
        )
        if groups is not None:
            groups = check_groups(groups, predictions.n_samples)
        problems = _problems(predictions, self.multiclass)
        anchor = problems[0].anchor if len(problems) == 1 else None
        if self.direction is not None and anchor is None:
            raise ValueError(
                f"direction={self.direction!r} is defined for two classes and for "
                "multiclass='confidence'. Got three or more classes and "
                f"multiclass={self.multiclass!r}."
            )
        recalibrator = self._recalibrator()
        folds = _folds(self.cv, predictions, groups, self.random_state)
        rows = np.concatenate([test for _, test in folds])
        compared = rows[:0]
        if len(folds) > 1 and any(divergence.has_kink for divergence in divergences):
            compared = _evenly_spaced(rows, _COMPARED_ROWS)
        recalibrated = _recalibrated(
            recalibrator,
            problems,
            folds,
            compared,
            leave_one_out=isinstance(self.cv, str),
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        sizes = [test.shape[0] for _, test in folds]
        sums = _Sums(rows, sizes, problems[0].weight, groups)
        parts = {
            divergence.name: _estimates(
                _Valued(divergence, anchor, self.direction),
                recalibrated,
                rows,
                compared,
                sums,
            )
            for divergence in divergences
        }
        shown = [
            z[:, 0] if z.shape[1] == 1 else z for z in (r.proba for r in recalibrated)
        ]
        return VariationalECEResult(
            **self._by_name(parts),
            fold_sizes=np.array(sizes),
            recalibrated_proba=shown[0] if len(shown) == 1 else np.column_stack(shown),
            is_lower_bound=self.cv is not None,
            degrees_of_freedom=sums.degrees_of_freedom,
        )

    def _recalibrator(self):
        recalibrator = self.recalibrator
        if recalibrator is None:
            recalibrator = BoostedTemperatureScaling()
        if isinstance(self.cv, str):
            check_option("cv", self.cv, (LEAVE_ONE_OUT,))
            if not hasattr(recalibrator, "leave_one_out"):
                raise ValueError(
                    f"cv={self.cv!r} needs a recalibrator with a leave_one_out method, "
                    f"such as KernelCalibration. Got {recalibrator!r}; pass "
                    "sklearn.model_selection.LeaveOneOut() for one fit per row."
                )
            return recalibrator
        if not (
            hasattr(recalibrator, "fit") and hasattr(recalibrator, "predict_proba")
        ):
            raise ValueError(
                "recalibrator must be an object with fit and predict_proba. Got "
                f"{recalibrator!r}."
            )
        return recalibrator

    def _divergences(self):
        given = self.divergence
        several = isinstance(given, (list, tuple))
        divergences = [check_divergence(d) for d in (given if several else [given])]
        names = [divergence.name for divergence in divergences]
        if not names or len(set(names)) < len(names):
            raise ValueError(
                f"divergence must be one or more, with different names. Got {given!r}."
            )
        return divergences

    def _by_name(self, parts):
        """What differs by divergence: dictionaries where a list was asked for."""
        first = next(iter(parts.values()))
        if isinstance(self.divergence, (list, tuple)):
            return {
                key: {name: part[key] for name, part in parts.items()} for key in first
            }
        return first


@dataclass(frozen=True)
class VariationalECEResult:
    """Calibration error by recalibration.

    All fields from `value` to `fold_values` are dictionaries by the divergences' names,
    where a list of divergences was asked for.

    Attributes
    ----------
    value : float
        The variational estimate: the risk that held-out recalibration removes.
    plugin : float
        The mean divergence of the forecasts from the recalibrated probabilities.
    midpoint : float
        The mean of both.
    standard_error : float
        Standard error of `value`.
    over, under : float or None
        `value` with the errors of one direction only; they add up to the whole. None
        with three or more classes, unless ``multiclass="confidence"``.
    over_standard_error, under_standard_error : float or None
        Their standard errors.
    risk : float or None
        Mean loss of the forecasts, for divergences of a proper loss (Brier, log loss).
    refinement : float or None
        Mean loss of the recalibrated probabilities: ``risk - value``.
    has_kink : bool
        Whether the divergence is a norm or has a kink like one.
    fold_values : ndarray of shape (n_folds,)
        `value` by fold.
    fold_sizes : ndarray of shape (n_folds,)
        Number of rows of each fold.
    recalibrated_proba : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Recalibrated probabilities of the rows in the order they came, each by a
        recalibrator that was fitted without it: of the positive class, of the top
        class's being right, or of each class (one-vs-rest probabilities with
        ``multiclass="classwise"``, which need not sum to one). NaN for rows that `cv`
        never tests.
    is_lower_bound : bool
        Whether `value` is a lower bound in expectation: not with ``cv=None``.
    degrees_of_freedom : int
        Those of the standard errors: the number of rows that weigh something, or of
        groups, less that of folds.

    See Also
    --------
    VariationalECE : What returns this.

    Examples
    --------
    >>> from skcal import VariationalECE
    >>> from skcal.recalibration import TemperatureScaling
    >>> y_true, y_proba = [0, 1, 1, 0, 1, 0], [0.1, 0.8, 0.9, 0.3, 0.6, 0.5]
    >>> measure = VariationalECE(recalibrator=TemperatureScaling(), cv=2)
    >>> measure.evaluate(y_true, y_proba).fold_sizes
    array([3, 3])
    """

    value: float
    plugin: float
    midpoint: float
    standard_error: float
    over: float | None
    under: float | None
    over_standard_error: float | None
    under_standard_error: float | None
    risk: float | None
    refinement: float | None
    has_kink: bool = field(repr=False)
    fold_values: np.ndarray = field(repr=False)
    fold_sizes: np.ndarray = field(repr=False)
    recalibrated_proba: np.ndarray = field(repr=False)
    is_lower_bound: bool
    degrees_of_freedom: int

    def lower_bound(self, confidence_level=0.95):
        """Lower confidence bound of the true calibration error.

        Parameters
        ----------
        confidence_level : float, default=0.95
            Probability, in (0, 1), that the true error is above the bound.

        Returns
        -------
        bound : float or dict
            ``value`` less so many standard errors, by Student's t distribution. A
            bound of zero or less says nothing. For norms it is above zero only where
            the value is more than twice as improbable: chance in either direction looks
            like an error.

        Raises
        ------
        ValueError
            If the estimate is in sample or the level is not in (0, 1).
        """
        if not self.is_lower_bound:
            raise ValueError(
                "There is no lower bound with cv=None: the recalibrator has seen the "
                "rows it is applied to. Pass a number of folds."
            )
        if not 0.0 < confidence_level < 1.0:
            raise ValueError(
                f"confidence_level must be in (0, 1). Got {confidence_level!r}."
            )
        if isinstance(self.value, dict):
            spread, has_kink = self.standard_error, self.has_kink
            return {
                name: self._bound(value, spread[name], has_kink[name], confidence_level)
                for name, value in self.value.items()
            }
        return self._bound(
            self.value, self.standard_error, self.has_kink, confidence_level
        )

    def _bound(self, value, spread, has_kink, level):
        freedom = max(1, self.degrees_of_freedom)
        bound = value - float(stdtrit(freedom, level)) * spread
        if has_kink and value <= float(stdtrit(freedom, 0.5 + 0.5 * level)) * spread:
            # Where there is no error, all folds find the side that chance has chosen,
            # and the value is the size of a deviation of either sign.
            return min(bound, 0.0)
        return bound


# Problems: what is recalibrated -------------------------------------------------------


class _Problem(NamedTuple):
    """Forecasts to recalibrate and to compare with outcomes."""

    proba: np.ndarray  # (n_samples, n_columns), one column for a single event
    codes: np.ndarray  # of what happened: a column, or whether the event
    weight: np.ndarray | None
    classes: np.ndarray  # labels to fit on
    anchor: float | None  # where neither direction is, for a single event

    def scores(self, rows):
        """Probabilities of all classes, as recalibrators take them."""
        proba = np.asarray(self.proba[rows], dtype=np.float64)
        if proba.shape[1] == 1:
            proba = np.hstack([1.0 - proba, proba])
        return proba

    def outcome(self, rows):
        """Ones in the columns of what happened."""
        codes = self.codes[rows]
        if self.proba.shape[1] == 1:
            return codes.astype(np.float64)[:, np.newaxis]
        return np.eye(self.proba.shape[1])[codes]


def _problems(predictions, multiclass):
    codes, weight = predictions.codes, predictions.sample_weight
    if weight is not None:
        weight = np.asarray(weight, dtype=np.float64)
    if not predictions.is_binary and multiclass == "canonical":
        proba, classes = predictions.proba, predictions.classes
        return [_Problem(proba, codes.astype(np.intp), weight, classes, None)]
    classes, anchor = np.arange(2), 0.5
    if predictions.is_binary:
        known = predictions.classes
        if known.shape[0] == 2 and known[1] == predictions.pos_label:
            classes = known
    elif multiclass == "confidence":
        # The top class's probability is over-confident where it is too high.
        anchor = 0.0
    else:
        anchor = None
    return [
        _Problem(
            problem.forecast[:, np.newaxis],
            problem.outcome.astype(np.intp),
            weight,
            classes,
            anchor,
        )
        for problem in predictions.binary_problems(
            "confidence" if multiclass == "canonical" else multiclass
        )
    ]


# Folds --------------------------------------------------------------------------------


def _folds(cv, predictions, groups, random_state):
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
        return _given_folds(cv, predictions, groups, n_samples)
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
    fold = np.empty(names.shape[0], dtype=np.intp)
    shuffled = check_random_state(random_state).permutation(names.shape[0])
    fold[shuffled] = np.arange(names.shape[0]) % n_splits
    order = row_order(*values)
    fold = fold[index[order]]
    return [(order[fold != j], order[fold == j]) for j in range(n_splits)]


def _given_folds(cv, predictions, groups, n_samples):
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


# Held-out recalibration ---------------------------------------------------------------


class _Recalibrated(NamedTuple):
    """What the recalibrators of all folds make of a problem."""

    problem: _Problem
    proba: np.ndarray  # held out, like the problem's; NaN for rows in no test
    by_fold: np.ndarray  # of some rows, whatever their fold, by a few folds


def _evenly_spaced(rows, most):
    places = np.linspace(0, rows.shape[0] - 1, min(most, rows.shape[0]))
    return rows[places.astype(np.intp)]


def _recalibrated(
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
        recalibrated.append(_Recalibrated(problem, proba, by_fold))
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


# Estimates ----------------------------------------------------------------------------


def _estimates(valued, recalibrated, rows, compared, sums):
    """The fields of a result that are a divergence's own."""
    per_row = {}
    for problem, proba, _ in recalibrated:
        for start in range(0, rows.shape[0], _CHUNK):
            piece = rows[start : start + _CHUNK]
            for key, values in valued(problem, piece, proba[piece]).items():
                total = per_row.setdefault(key, np.zeros(rows.shape[0]))
                total[start : start + _CHUNK] += values / len(recalibrated)
    mean = {key: sums.mean(values) for key, values in per_row.items()}
    agreement = _fold_covariance(valued, recalibrated, compared)
    spread = {
        key: sums.standard_error(per_row[key], agreement.get(key, 0.0))
        for key in ("value", *DIRECTIONS)
        if key in per_row
    }
    return dict(
        value=mean["value"],
        plugin=mean["plugin"],
        midpoint=0.5 * (mean["value"] + mean["plugin"]),
        standard_error=spread["value"],
        over=mean.get("over"),
        under=mean.get("under"),
        over_standard_error=spread.get("over"),
        under_standard_error=spread.get("under"),
        risk=mean.get("risk"),
        refinement=mean.get("refinement"),
        has_kink=valued.divergence.has_kink,
        fold_values=sums.fold_means(per_row["value"]),
    )


def _fold_covariance(valued, recalibrated, compared):
    """Covariance of two folds' means as a share of their variance, by part.

    Where a norm is measured, only the direction of a change counts, and near the
    forecast chance decides it. A fold's outcomes tip the directions of all other folds
    to their own side, and so the folds' means go together. If the directions of two
    folds' recalibrators differ for a share q of the rows, the covariance is q times the
    variance: with S the sums of residuals of two folds and A that of the others it is
    E[S S' sign(A + S') sign(A + S)] = 4 E[phi(A)^2], phi the normal density, and q is
    2 E[Phi(A) Phi(-A)]; the integrals of both over A are the same.

    Directions of vectors turn little by little, which moves the means twice as much for
    the same difference.
    """
    if compared.shape[0] == 0 or not valued.divergence.has_kink:
        return {}
    by_fold = {}
    for problem, _, probas in recalibrated:
        for j, proba in enumerate(probas):
            for key, values in valued(problem, compared, proba).items():
                shape = (len(probas), compared.shape[0])
                total = by_fold.setdefault(key, np.zeros(shape))
                total[j] += values / len(recalibrated)
    problem = recalibrated[0].problem
    weight = np.ones(compared.shape[0])
    if problem.weight is not None:
        weight = problem.weight[compared]
    signs_only = len(recalibrated) == 1 and problem.proba.shape[1] == 1
    covariance = {}
    for key, values in by_fold.items():
        size = weight @ np.mean(values**2, axis=0)
        if size > 0.0:
            # Half the mean square of the differences between pairs.
            differing = weight @ values.var(axis=0, ddof=1) / size
            covariance[key] = min(1.0, differing * (0.5 if signs_only else 1.0))
    return covariance


@dataclass(frozen=True)
class _Valued:
    """What the means are taken of, for each row."""

    divergence: Divergence
    anchor: float | None
    direction: str | None

    def __call__(self, problem, rows, proba):
        divergence, direction = self.divergence, self.direction
        forecast = np.asarray(problem.proba[rows], dtype=np.float64)
        outcome = problem.outcome(rows)
        if not is_own(divergence):
            divergence.check(forecast, proba)
        found = {}
        if self.anchor is not None:
            sides = {
                "over": _towards(forecast, proba, self.anchor),
                "under": _away(forecast, proba, self.anchor),
            }
            for side, projected in sides.items():
                found[side] = divergence.variational_value(forecast, projected, outcome)
            proba = sides.get(direction, proba)
        if direction is not None:
            found["value"] = found[direction]
        else:
            found["value"] = divergence.variational_value(forecast, proba, outcome)
        found["plugin"] = divergence.value(forecast, proba)
        if hasattr(divergence, "loss"):
            found["risk"] = divergence.loss(forecast, outcome)
            found["refinement"] = divergence.loss(proba, outcome)
        return found


def _towards(forecast, proba, anchor):
    """The probabilities where they are on the anchor's side of the forecast."""
    inwards = np.where(
        forecast > anchor, np.minimum(proba, forecast), np.maximum(proba, forecast)
    )
    return np.where(forecast == anchor, forecast, inwards)


def _away(forecast, proba, anchor):
    """The probabilities where they are on the other side of the forecast."""
    outwards = np.where(
        forecast > anchor, np.maximum(proba, forecast), np.minimum(proba, forecast)
    )
    return np.where(forecast == anchor, proba, outwards)


class _Sums:
    """Means over the tested rows, and their standard errors.

    Parameters
    ----------
    rows : ndarray of shape (n_tested,)
        The tested rows, fold after fold.
    sizes : list of int
        Number of rows of each fold.
    weight : ndarray of shape (n_samples,) or None
        Weights of all rows.
    groups : ndarray of shape (n_samples,) or None
        Groups of all rows.
    """

    def __init__(self, rows, sizes, weight, groups):
        self.weight = np.ones(rows.shape[0]) if weight is None else weight[rows]
        self.fold = np.repeat(np.arange(len(sizes)), sizes)
        self.n_folds = len(sizes)
        self.fold_weight = np.bincount(self.fold, self.weight, self.n_folds)
        self.total = self.weight.sum()
        if not self.total > 0.0:
            raise ValueError(
                "Sample weights must contain at least one non-zero number among the "
                "rows that cv tests."
            )
        # Rows of a group depend on each other; those of a fold share a recalibrator.
        cluster = np.flatnonzero(self.weight > 0.0)
        self._counted = cluster
        if groups is None:
            self._cluster, self._cluster_fold = None, self.fold[cluster]
        else:
            _, index = np.unique(groups[rows[cluster]], return_inverse=True)
            pairs = self.fold[cluster] * (index.max() + 1) + index
            names, self._cluster = np.unique(pairs, return_inverse=True)
            self._cluster_fold = names // (index.max() + 1)

        self._counts = np.bincount(self._cluster_fold, minlength=self.n_folds)

    @property
    def degrees_of_freedom(self):
        # A fold of one row has no spread of its own.
        centres = self.n_folds if self._counts.min() >= 2 else 1
        return int(self._counts.sum()) - centres

    def mean(self, values):
        return float(self.weight @ values / self.total)

    def fold_means(self, values):
        sums = np.bincount(self.fold, self.weight * values, self.n_folds)
        with np.errstate(invalid="ignore"):
            return sums / self.fold_weight

    def standard_error(self, values, covariance):
        """Standard error of the mean.

        Parameters
        ----------
        values : ndarray of shape (n_tested,)
            Values of the rows.
        covariance : float
            Covariance of two folds' means as a share of their variance.

        Returns
        -------
        error : float
            NaN for a single row.
        """
        counts = self._counts
        if counts.sum() < 2:
            return np.nan
        if counts.min() >= 2:
            centre = self.fold_means(values)[self.fold]
            stretch = counts / (counts - 1.0)
        else:
            centre = self.mean(values)
            stretch = np.full(self.n_folds, counts.sum() / (counts.sum() - 1.0))
        deviation = (self.weight * (values - centre))[self._counted]
        if self._cluster is not None:
            deviation = np.bincount(self._cluster, deviation)
        variance = deviation**2 @ stretch[self._cluster_fold]
        # Of K folds of equal weight each goes together with K - 1 others.
        others = self.total**2 / (self.fold_weight @ self.fold_weight) - 1.0
        return float(np.sqrt(variance * (1.0 + others * covariance)) / self.total)
