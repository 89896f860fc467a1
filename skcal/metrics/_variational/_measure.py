"""The measure: as a function with one number, and as an object with all of them."""

import numpy as np
from sklearn.base import BaseEstimator

from skcal._predictions import (
    MULTICLASS_REDUCTIONS,
    check_groups,
    check_option,
    check_predictions,
)
from skcal.divergences._names import check_divergence
from skcal.metrics._variational._estimation import (
    DIRECTIONS,
    MeansOverRows,
    RowValues,
    _estimates,
)
from skcal.metrics._variational._held_out import (
    checked_recalibrator,
    compared_rows,
    folds_of,
    recalibrate_held_out,
)
from skcal.metrics._variational._problems import problems_of
from skcal.metrics._variational._result import VariationalECEResult

MULTICLASS = ("canonical", *MULTICLASS_REDUCTIONS)
ESTIMATES = ("variational", "plugin", "midpoint")


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
    return single_value(
        {
            "variational": result.value,
            "plugin": result.plugin,
            "midpoint": result.midpoint,
        }[estimate],
        divergence,
    )


def single_value(value, divergence):
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
        problems = problems_of(predictions, self.multiclass)
        anchor = problems[0].anchor if len(problems) == 1 else None
        if self.direction is not None and anchor is None:
            raise ValueError(
                f"direction={self.direction!r} is defined for two classes and for "
                "multiclass='confidence'. Got three or more classes and "
                f"multiclass={self.multiclass!r}."
            )
        recalibrator = checked_recalibrator(self.recalibrator, self.cv)
        folds = folds_of(self.cv, predictions, groups, self.random_state)
        rows = np.concatenate([test for _, test in folds])
        compared = rows[:0]
        if len(folds) > 1 and any(divergence.has_kink for divergence in divergences):
            compared = compared_rows(rows)
        recalibrated = recalibrate_held_out(
            recalibrator,
            problems,
            folds,
            compared,
            leave_one_out=isinstance(self.cv, str),
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        sizes = [test.shape[0] for _, test in folds]
        sums = MeansOverRows(rows, sizes, problems[0].weight, groups)
        parts = {
            divergence.name: _estimates(
                RowValues(divergence, anchor, self.direction),
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

    def _divergences(self):
        given = self.divergence
        several = isinstance(given, (list, tuple))
        divergences = [check_divergence(d) for d in (given if several else [given])]
        names = [divergence.name for divergence in divergences]
        if not names or len(set(names)) < len(names):
            raise ValueError(
                f"divergence must be one or more, with different names. Got {given!r}. "
                "Two of one class need a `name` each, the key of their results."
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
