"""Test of perfect calibration by the squared kernel calibration error."""

from numbers import Integral

import numpy as np
from scipy.special import ndtr
from sklearn.utils import check_random_state

from skcal._core.kernels import (
    TILE,
    kernel_values,
    median_distance,
    paired_kernel_values,
    quadratic_forms,
)
from skcal._core.ordering import canonical_order
from skcal._predictions import check_option, check_positive, check_predictions
from skcal.inference._results import SKCETestResult


def skce_test(
    y_true,
    y_proba,
    *,
    estimator="unbiased",
    kernel="gaussian",
    bandwidth=None,
    method="monte-carlo",
    n_resamples=999,
    pos_label=None,
    labels=None,
    multiclass="canonical",
    random_state=0,
):
    """Test of perfect calibration by the squared kernel calibration error (SKCE).

    The SKCE averages ``k(f_i, f_j) <r_i, r_j>`` over pairs of rows, with the forecasts
    f, the residuals r (the one-hot outcome minus the forecast) and a kernel k: rows
    with similar forecasts should not err in the same direction. With three or more
    classes it tests the whole vector of probabilities.

    Read more in the :ref:`User Guide <tests>`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or \
            (n_samples, n_classes)
        Predicted probabilities in [0, 1]. One column is the positive class's; more are
        the classes' in sorted order, and their rows sum to one.
    estimator : {"unbiased", "linear"}, default="unbiased"
        All pairs of rows, at a quadratic cost; or disjoint pairs drawn at random, at a
        linear cost, with p-values from the normal limit and much less power.
    kernel : {"gaussian", "laplacian"}, default="gaussian"
        ``exp(-d**2 / (2 * bandwidth**2))`` or ``exp(-d / bandwidth)`` of the Euclidean
        distance d between forecasts.
    bandwidth : float, default=None
        By default the median distance of forecasts that differ, of at most 500 rows.
    method : {"monte-carlo", "multiplier"}, default="monte-carlo"
        Where the p-value of "unbiased" comes from.

        - "monte-carlo" draws outcomes with the forecast probabilities: valid for any
          number of rows and any forecasts.
        - "multiplier" is the multiplier bootstrap of [1]_, which gives the residuals
          random signs. It is an approximation for many rows, wrong for rare events,
          and cheaper than "monte-carlo" by a factor of the number of classes where
          there are more than two.

    n_resamples : int, default=999
        Number of draws for "unbiased"; the smallest possible p-value is
        ``1 / (n_resamples + 1)``.
    pos_label : int, float, bool or str, default=None
        Label of the positive class. By default 1 where the labels are within {0, 1} or
        {-1, 1}, and the second label in sorted order where `y_proba` has two columns or
        `labels` is given. Has no effect with three or more classes.
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order. Give them where `y_true` may lack a class.
    multiclass : {"canonical", "confidence"}, default="canonical"
        With three or more classes, test the whole vector with the kernel k times the
        identity matrix, or the top class's probability against its being right. Two
        classes are always tested by the positive class's probability.
    random_state : int, RandomState instance or None, default=0
        Seed of the draws or of the pairs. With None the p-value differs from call
        to call.

    Returns
    -------
    result : SKCETestResult
        Frozen, with the attributes

        - `statistic` : float, the estimated SKCE; it averages zero under perfect
          calibration and may be negative.
        - `pvalue` : float, one-sided.
        - `method` : str, "asymptotic" for "linear".
        - `estimator`, `kernel` : str
        - `bandwidth` : float, the one used.
        - `n_samples` : int

    Raises
    ------
    ValueError
        If the input or an option is invalid, or there are fewer than two rows.

    See Also
    --------
    rank_ece_test : Much faster, with nothing to choose, for one probability.

    Notes
    -----
    The result does not depend on the order of the rows. Forecasts that are all 0 or 1
    have a p-value of 1 if all are right and of 0 if any is wrong. There are no weights:
    k copies of a row are not k observations.

    The variance of "linear" is the exact one given the forecasts, as in
    `rank_ece_test`, and not the sample variance of [1]_.

    "unbiased" needs about ``n_samples ** 2 * n_resamples`` multiplications (with three
    or more classes and "monte-carlo", for each of them) and memory for the draws, a
    byte each, and for some blocks of 1,024 by 1,024 numbers.

    References
    ----------
    .. [1] D. Widmann, F. Lindsten and D. Zachariah, "Calibration tests in multi-class
       classification: A unifying framework", NeurIPS 2019.
       `arXiv:1910.11385 <https://arxiv.org/abs/1910.11385>`_

    Examples
    --------
    >>> import numpy as np
    >>> from skcal import skce_test
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.dirichlet(np.ones(3), size=300)
    >>> calibrated = [rng.choice(3, p=p) for p in y_proba]
    >>> skce_test(calibrated, y_proba)
    SKCETestResult(statistic=-2.7...e-05, pvalue=0.37..., method='monte-carlo', ...)
    >>> too_bold = y_proba**2 / np.sum(y_proba**2, axis=1, keepdims=True)
    >>> bool(skce_test(calibrated, too_bold).pvalue < 0.01)
    True
    """
    check_option("estimator", estimator, ("unbiased", "linear"))
    check_option("kernel", kernel, ("gaussian", "laplacian"))
    check_option("method", method, ("monte-carlo", "multiplier"))
    check_option("multiclass", multiclass, ("canonical", "confidence"))
    check_positive("n_resamples", n_resamples, Integral)
    if bandwidth is not None:
        check_positive("bandwidth", bandwidth)
    predictions = check_predictions(y_true, y_proba, pos_label=pos_label, labels=labels)
    n_samples = predictions.n_samples
    if n_samples < 2:
        raise ValueError(
            f"skce_test compares pairs of rows and needs at least 2. Got {n_samples}."
        )
    forecast, residual = _canonical_rows(predictions, multiclass)
    width = median_distance(forecast) if bandwidth is None else float(bandwidth)
    rng = np.random.default_rng(
        check_random_state(random_state).randint(2**31 - 1, size=4).tolist()
    )
    if estimator == "linear":
        method = "asymptotic"
        statistic, pvalue = _disjoint_pairs(forecast, residual, kernel, width, rng)
    else:
        p_value_of = _by_outcomes if method == "monte-carlo" else _by_signs
        statistic, pvalue = p_value_of(
            forecast, residual, kernel, width, n_resamples, rng
        )
    if (forecast % 1 == 0).all():
        # Nothing is left to chance: the outcomes are as forecast, or cannot be.
        pvalue = 0.0 if residual.any() else 1.0
    return SKCETestResult(
        float(statistic), float(pvalue), method, estimator, kernel, width, n_samples
    )


def _canonical_rows(predictions, multiclass):
    """Forecasts and residuals as columns, rows in an order that shuffling leaves."""
    if predictions.is_binary or multiclass == "confidence":
        outcome, forecast, _ = predictions.binary_problems()[0].as_float64()
        forecast, outcome = forecast[:, np.newaxis], outcome[:, np.newaxis]
    else:
        forecast = predictions.proba.astype(np.float64, copy=False)
        outcome = predictions.codes[:, np.newaxis] == np.arange(forecast.shape[1])
    order = canonical_order(forecast[:, ::-1], outcome[:, ::-1])
    forecast = forecast[order]
    return forecast, outcome[order] - forecast


# All pairs ----------------------------------------------------------------------------


def _by_signs(forecast, residual, kernel, bandwidth, n_resamples, rng):
    """U-statistic and its p-value where the residuals get random signs."""
    signs = 2 * rng.integers(0, 2, (len(forecast), n_resamples), dtype=np.int8) - 1

    def matrix(rows, columns):
        tile = kernel_values(kernel, forecast[rows], forecast[columns], bandwidth)
        return tile * (residual[rows] @ residual[columns].T)

    def vectors(rows):
        drawn = signs[rows]
        yield np.column_stack([np.ones(len(drawn)), drawn])

    return _ranked(quadratic_forms(matrix, vectors, len(forecast)), len(forecast))


def _by_outcomes(forecast, residual, kernel, bandwidth, n_resamples, rng):
    """U-statistic and its p-value where the outcomes are drawn by their forecasts."""
    drawn = _draw_outcomes(forecast, n_resamples, rng)
    n_columns = forecast.shape[1]

    def matrix(rows, columns):
        return kernel_values(kernel, forecast[rows], forecast[columns], bandwidth)

    def vectors(rows):
        for k in range(n_columns):
            happened = drawn[rows] == (1 if n_columns == 1 else k)
            yield np.column_stack(
                [residual[rows, k], happened - forecast[rows, k, None]]
            )

    return _ranked(quadratic_forms(matrix, vectors, len(forecast)), len(forecast))


def _draw_outcomes(forecast, n_resamples, rng):
    """Outcomes of shape (n_samples, n_resamples): 0 or 1, or the class drawn."""
    n_samples, n_columns = forecast.shape
    drawn = np.zeros((n_samples, n_resamples), dtype=np.min_scalar_type(n_columns))
    below = np.cumsum(forecast, axis=1)
    below[:, :-1] /= below[:, -1:]  # rows sum to one but for rounding
    for start in range(0, n_samples, TILE):
        rows = slice(start, start + TILE)
        chance = rng.random(drawn[rows].shape)
        if n_columns == 1:
            drawn[rows] = chance < forecast[rows]
        for k in range(n_columns - 1):
            drawn[rows] += chance >= below[rows, k, np.newaxis]
    return drawn


def _ranked(forms, n_samples):
    """The first value and its p-value among the others."""
    forms = forms / (n_samples * (n_samples - 1.0))
    # Draws that equal the value but for rounding are as extreme.
    slack = 1e-10 * np.abs(forms).max()
    n_extreme = np.sum(forms[1:] >= forms[0] - slack)
    return forms[0], (1 + n_extreme) / forms.size


# Disjoint pairs -----------------------------------------------------------------------


def _disjoint_pairs(forecast, residual, kernel, bandwidth, rng):
    """Mean over disjoint pairs and its p-value by the normal limit."""
    n_pairs = forecast.shape[0] // 2
    order = rng.permutation(forecast.shape[0])
    first, second = order[:n_pairs], order[n_pairs : 2 * n_pairs]
    f, g = forecast[first], forecast[second]
    weight = paired_kernel_values(kernel, f, g, bandwidth)
    value = np.sum(weight * np.sum(residual[first] * residual[second], axis=1))
    variance = np.sum(weight**2 * _product_variance(f, g))
    pvalue = ndtr(-value / np.sqrt(variance)) if variance > 0 else 1.0
    return value / n_pairs, pvalue


def _product_variance(f, g):
    """Variance of the inner product of two rows' residuals under calibration.

    The trace of the product of the covariances diag(f) - f f^T; for one column, of
    f (1 - f) times g (1 - g).
    """
    if f.shape[1] == 1:
        return (f * (1 - f) * g * (1 - g))[:, 0]
    inner = np.sum(f * g, axis=1)
    return np.maximum(
        inner - np.sum(f * f * g, axis=1) - np.sum(f * g * g, axis=1) + inner**2, 0.0
    )
