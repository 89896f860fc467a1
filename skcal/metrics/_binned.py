"""Binned calibration error."""

from numbers import Integral

import numpy as np

from skcal._core.binning import bin_sums, calibration_error, quantile_bins
from skcal._predictions import check_option
from skcal.accumulators._binned import BinSums, check_norm
from skcal.metrics._reduction import mean_over_problems

STRATEGIES = ("uniform", "quantile")
BIN_RULES = ("sqrt", "cbrt")


def binned_ece(
    y_true,
    y_proba,
    *,
    n_bins=15,
    strategy="uniform",
    norm="l1",
    debias=False,
    sample_weight=None,
    pos_label=None,
    labels=None,
    multiclass="confidence",
):
    """Binned calibration error (ECE).

    The forecasts are put into bins, and each bin's mean outcome is compared with its
    mean forecast. The value depends on the number and placement of the bins;
    `smooth_ece` and `rank_ece` do not need any.

    Read more in the :ref:`User Guide <binned_ece>`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or \
            (n_samples, n_classes)
        Predicted probabilities in [0, 1]. One column is the positive class's; more are
        the classes' in sorted order, and their rows sum to one.
    n_bins : int, {"sqrt", "cbrt"} or callable, default=15
        Number of bins, or its rule: the square or cube root of the number of rows n
        (the sum of the weights), rounded up, or a function of n.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, closed on the left and the last one on both sides, or of
        about equal numbers of rows. Equal forecasts always share a bin, the one that
        holds the middle of their block.
    norm : {"l1", "l2", "max"}, default="l1"
        Mean absolute gap over the rows, mean squared gap (not its root), or the largest
        absolute gap.
    debias : bool, default=False
        Take off each squared gap's sampling variance; needs ``norm="l2"``. Bins with
        one row count as 0, and the result may be negative. Weights count as
        repetitions, so they should not be scaled to sum to one.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights; a weight of k counts as k repetitions of the row.
    pos_label : int, float, bool or str, default=None
        Label of the positive class. By default 1 where the labels are within {0, 1} or
        {-1, 1}, and the second label in sorted order where `y_proba` has two columns or
        `labels` is given. Has no effect with three or more classes.
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order. Give them where `y_true` may lack a class.
    multiclass : {"confidence", "classwise"}, default="confidence"
        With three or more classes, measure the top class's probability against its
        being right, or take the mean of the one-vs-rest errors. Two classes are always
        measured by the positive class's probability.

    Returns
    -------
    error : float
        0 is perfect. At most 1.

    Raises
    ------
    ValueError
        If the input is invalid, or `debias` is asked of another norm than "l2" or
        without two rows in any bin.

    See Also
    --------
    smooth_ece : Smooth calibration error.
    rank_ece : Squared calibration error from neighbours in rank.
    BinnedECEAccumulator : The same of a stream, with uniform bins.

    References
    ----------
    .. [1] M. P. Naeini, G. F. Cooper and M. Hauskrecht, "Obtaining Well Calibrated
       Probabilities Using Bayesian Binning", AAAI 2015.
    .. [2] A. Kumar, P. Liang and T. Ma, "Verified Uncertainty Calibration", NeurIPS
       2019, section 4 (the debiased estimator).
       `arXiv:1909.10155 <https://arxiv.org/abs/1909.10155>`_

    Examples
    --------
    >>> from skcal import binned_ece
    >>> y_true = [0, 0, 1, 1, 1]
    >>> y_proba = [0.25, 0.25, 0.55, 0.75, 0.75]
    >>> round(binned_ece(y_true, y_proba, n_bins=2), 2)
    0.29
    """
    check_option("strategy", strategy, STRATEGIES)
    check_norm(norm, debias)

    return mean_over_problems(
        lambda problem: binned_ece_of(problem, n_bins, strategy, norm, debias),
        multiclass,
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
    )


def binned_ece_of(problem, n_bins, strategy, norm="l1", debias=False):
    """Binned calibration error of one `BinaryProblem`."""
    bins = number_of_bins(n_bins, problem)
    if strategy == "uniform":
        state = BinSums(bins)
        state.update(problem)
        return calibration_error(state.sums, norm, debias)
    outcome, forecast, weight = problem.as_float64()
    index = quantile_bins(forecast, weight, bins)
    sums = bin_sums(index, outcome, forecast, weight, bins)
    return calibration_error(sums, norm, debias)


def number_of_bins(n_bins, problem):
    """Number of bins for a problem, from any `n_bins` that `binned_ece` takes."""
    if isinstance(n_bins, Integral) and n_bins >= 1:
        return int(n_bins)
    if not callable(n_bins) and n_bins not in BIN_RULES:
        raise ValueError(
            f"n_bins must be a positive integer, one of {list(BIN_RULES)} or callable. "
            f"Got {n_bins!r} instead."
        )
    n = problem.forecast.shape[0]
    if problem.weight is not None:
        total = float(np.sum(problem.weight, dtype=np.float64))
        n = int(total) if total.is_integer() else total
    if callable(n_bins):
        bins = n_bins(n)
        if not isinstance(bins, Integral) or bins < 1:
            raise ValueError(
                "n_bins must return a positive integer number of bins. Got "
                f"{bins!r} for n={n}."
            )
        return int(bins)
    root = np.sqrt(n) if n_bins == "sqrt" else np.cbrt(n)
    # Roots of perfect powers must not round up to the next integer.
    nearest = np.rint(root)
    exact = np.isclose(root, nearest, rtol=1e-12, atol=0.0)
    return max(1, int(nearest if exact else np.ceil(root)))
