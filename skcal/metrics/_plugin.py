"""Plug-in calibration error: mean distance from recalibrated probabilities."""

from skcal.metrics._variational import VariationalECE, single_value


def plugin_ece(
    y_true,
    y_proba,
    *,
    recalibrator,
    divergence="l1",
    cv=None,
    direction=None,
    sample_weight=None,
    pos_label=None,
    labels=None,
    multiclass="canonical",
    n_jobs=None,
    random_state=0,
    groups=None,
):
    """Plug-in calibration error: mean distance of forecasts from recalibrated ones.

    The recalibrated probabilities g(f) stand in for the true ones. With isotonic
    regression this is the Isotonic-ECE, with kernel regression the KDE-ECE. Chance
    lifts it: what the recalibrator learns of the noise counts as error, and most so in
    sample. :func:`variational_ece` has no such bias.

    Read more in the :ref:`User Guide <plugin_ece>`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or \
            (n_samples, n_classes)
        Predicted probabilities in [0, 1]. One column is the positive class's; more are
        the classes' in sorted order, and their rows sum to one.
    recalibrator : object
        Anything with ``fit(proba, y)`` and ``predict_proba(proba)``; it is cloned.
    divergence : {"l1", "l2", "linf", "brier", "kl"} or Divergence, default="l1"
        How a distance is measured, as in :func:`variational_ece`.
    cv : int, splitter, iterable, "leave-one-out" or None, default=None
        None fits and applies the recalibrator on the same rows. Else the folds, as in
        :func:`variational_ece`.
    direction : {"over", "under"}, default=None
        Count errors of one direction only, as in :func:`variational_ece`.
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
        0 is perfect; never negative.

    Raises
    ------
    ValueError
        If the input is invalid, or ``cv="leave-one-out"`` is asked of a recalibrator
        that has no such method.

    See Also
    --------
    variational_ece : A lower bound in expectation, from the same probabilities.
    binned_ece : The plug-in error of histogram binning, up to the bins' means.

    References
    ----------
    .. [1] E. Berta, S. Braun, F. Bach, M. I. Jordan and D. Holzmüller, "V-ECE:
       Estimating General Expected Calibration Errors", 2026, table E.2.
    .. [2] T. Popordanoska, R. Sayer and M. B. Blaschko, "A Consistent and
       Differentiable Lp Canonical Calibration Error Estimator", NeurIPS 2022 (KDE-ECE).
       `arXiv:2210.07810 <https://arxiv.org/abs/2210.07810>`_

    Examples
    --------
    >>> import numpy as np
    >>> from skcal import IsotonicCalibration, KernelCalibration, plugin_ece
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.uniform(size=4_000)
    >>> y_true = rng.uniform(size=4_000) < y_proba  # calibrated
    >>> error = plugin_ece(y_true, y_proba, recalibrator=IsotonicCalibration())
    >>> round(error, 2)
    0.02
    >>> error = plugin_ece(
    ...     y_true, y_proba, recalibrator=KernelCalibration(), cv="leave-one-out"
    ... )
    >>> round(error, 2)
    0.01
    """
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
    return single_value(result.plugin, divergence)
