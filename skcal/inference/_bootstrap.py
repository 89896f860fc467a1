"""Bootstrap intervals of calibration measures."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from scipy.special import ndtri

from skcal._core.ordering import canonical_order
from skcal._core.rank_variance import lagged_variance
from skcal._predictions import (
    check_fraction,
    check_option,
    check_positive,
    check_predictions,
)
from skcal.inference._on_cells import on_cells
from skcal.inference._resampling import (
    Units,
    checked_columns,
    drop_weightless,
    known_measure,
    of_rows,
    one_by_one,
    refuse_cross_fitted,
    replicates_on_cells,
    seeds,
)
from skcal.inference._results import Readable
from skcal.metrics import rank_ece

METHODS = ("auto", "debiased", "basic", "percentile")
# Random orders of tied forecasts over which a variance is averaged.
_TIE_BREAKS = 16


@dataclass(frozen=True, repr=False, eq=False)
class BootstrapInterval(Readable):
    """Result of `bootstrap_interval`.

    Attributes
    ----------
    value : float
        The measure itself.
    low, high : float
        Ends of the interval.
    standard_error : float
        Standard deviation of the replicates.
    bias : float
        Mean of the replicates less the value.
    confidence_level : float
    method : str
        Type of the interval: "debiased", "basic", "percentile" or "analytic".
    distribution : ndarray of shape (n_resamples,) or None
        The replicates; None for "analytic", which needs none.
    """

    value: float
    low: float
    high: float
    standard_error: float
    bias: float
    confidence_level: float
    method: str
    distribution: np.ndarray | None


def bootstrap_interval(
    metric,
    y_true,
    y_proba,
    *,
    confidence_level=0.95,
    n_resamples=1000,
    method="auto",
    sample_weight=None,
    groups=None,
    stratify=None,
    random_state=None,
    n_jobs=None,
    **metric_params,
):
    """Confidence interval of a calibration measure.

    `smooth_ece` and `binned_ece` are resampled by what they add up over: the counts of
    the rows of each small cell of forecasts and outcome are drawn at once, so that the
    cost of a replicate does not depend on the number of rows. Other measures are
    computed of resampled rows. `rank_ece` has an interval in closed form, as copies of
    a row would become its neighbours.

    Read more in the :ref:`User Guide <intervals>`.

    Parameters
    ----------
    metric : callable
        A measure ``metric(y_true, y_proba, **metric_params)``, or a
        :class:`functools.partial` of one.
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or \
            (n_samples, n_classes)
        Predicted probabilities in [0, 1], see `metric`.
    confidence_level : float, default=0.95
        Confidence level of the two-sided interval.
    n_resamples : int, default=1000
        Number of replicates.
    method : {"auto", "debiased", "basic", "percentile"}, default="auto"
        Type of the interval. ``"debiased"``, for `smooth_ece` and `binned_ece`, takes
        off at its lower end what chance may have added, a known multiple of the
        bootstrap's bias; ``"basic"`` and ``"percentile"`` are the textbook ones, which
        miss the truth where little is wrong, see the User Guide. ``"auto"`` is
        "debiased" for these two, the closed form for `rank_ece`, and "percentile" for
        other measures.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights, which go with their rows.
    groups : array-like of shape (n_samples,), default=None
        Rows that belong together, such as those of one patient: whole groups are drawn.
    stratify : array-like of shape (n_samples,), default=None
        Draw within these strata, so that each keeps its number of rows (of groups).
    random_state : int, RandomState instance or None, default=None
        Seed of the draws. With an int the result does not depend on `n_jobs` or the
        order of the rows.
    n_jobs : int, default=None
        Number of threads, or of processes for measures of rows.
    **metric_params : dict
        Keywords of the metric, such as `pos_label`, `labels`, `multiclass` or `n_bins`.

    Returns
    -------
    result : BootstrapInterval
        Its fields are `value`, `low`, `high`, `standard_error`, `bias`,
        `confidence_level`, `method` and `distribution`.

    Raises
    ------
    ValueError
        If an argument is invalid, if resampling would bias the measure, or if the
        measure of the rows or of a replicate raises one.

    See Also
    --------
    calibrated_reference : What the measure would be by chance.
    compare_calibration : Interval and p-value of a difference.

    Notes
    -----
    The target is the measure of the population, for `smooth_ece` with the bandwidth
    that is the population's own fixed point, which is 0 for calibrated forecasts; for
    `rank_ece` its expectation. The classwise variants of `smooth_ece` and `binned_ece`
    draw rows, at a cost that grows with their number.

    References
    ----------
    .. [1] A. C. Davison and D. V. Hinkley, "Bootstrap Methods and their Application",
       Cambridge University Press 1997, section 5.2 (basic and percentile intervals).
    .. [2] J. Błasiok and P. Nakkiran, "Smooth ECE: Principled Reliability Diagrams via
       Kernel Smoothing", 2023. `arXiv:2309.12236 <https://arxiv.org/abs/2309.12236>`_

    Examples
    --------
    >>> import numpy as np
    >>> from skcal import bootstrap_interval, smooth_ece
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.uniform(size=5_000)
    >>> y_true = rng.uniform(size=5_000) < 0.25 + 0.5 * y_proba
    >>> result = bootstrap_interval(smooth_ece, y_true, y_proba, random_state=0)
    >>> print(f"{result.value:.2f} [{result.low:.2f}, {result.high:.2f}]")
    0.11 [0.10, 0.12]
    """
    metric, params, name = known_measure(metric, metric_params)
    check_fraction("confidence_level", confidence_level)
    check_positive("n_resamples", n_resamples, Integral)
    check_option("method", method, METHODS)
    refuse_cross_fitted(metric, params)
    if method == "debiased" and name is None:
        raise ValueError(
            "method='debiased' is known for smooth_ece and binned_ece only. Use 'auto'."
        )
    if metric is rank_ece:
        if sample_weight is not None:
            raise ValueError("rank_ece takes no sample_weight.")
        if method != "auto" or groups is not None or stratify is not None:
            raise ValueError(
                "rank_ece cannot be resampled: copies of a row, and rows of one group, "
                "become neighbours and bias it. Leave method, groups and stratify out; "
                "keep one row of each group."
            )
        return _rank_interval(y_true, y_proba, params, confidence_level, random_state)

    whole = (
        params if sample_weight is None else {**params, "sample_weight": sample_weight}
    )
    value = float(metric(y_true, y_proba, **whole))
    sample_weight, y_true, y_proba, groups, stratify = drop_weightless(
        sample_weight, y_true, y_proba, groups, stratify
    )
    if name is None:
        columns = checked_columns(y_true, [y_proba], sample_weight)
        order = None if groups is not None else canonical_order(*columns)
        units = Units(columns[0].shape[0], groups, stratify, order)

        def replicate(rng):
            rows = units.rows(units.draw(rng))
            return of_rows(metric, params, rows, y_true, y_proba, sample_weight)

        distribution = one_by_one(replicate, n_resamples, random_state, n_jobs)
        power, truth = 1.0, value
    else:
        predictions, problems = problems_of(y_true, y_proba, sample_weight, params)
        units = units_of(predictions, problems, groups, stratify)
        measures = [
            on_cells(name, problem, params, stratum=units.stratum_of_row)
            for problem in problems
        ]
        distribution = replicates_on_cells(
            measures, units, n_resamples, random_state, n_jobs
        ).mean(axis=1)
        power, truth = measures[0].power, value
        if params.get("debias", False):
            # Its replicates estimate the plain error of the sample.
            truth = float(np.mean([measure.truth() for measure in measures]))
    if method == "auto":
        method = "percentile" if name is None else "debiased"
    low, high = interval(distribution, value, truth, confidence_level, method, power)
    if name is not None and not params.get("debias", False):
        low, high = max(low, 0.0), min(high, 1.0)
    return BootstrapInterval(
        value=value,
        low=low,
        high=high,
        standard_error=float(np.std(distribution, ddof=min(1, n_resamples - 1))),
        bias=float(np.mean(distribution) - truth),
        confidence_level=float(confidence_level),
        method=method,
        distribution=distribution,
    )


def interval(distribution, value, truth, confidence_level, method, power):
    """Ends of a bootstrap interval.

    `truth` is what the replicates estimate: `value` itself unless that is debiased.
    """
    tail = 0.5 * (1.0 - confidence_level)
    below, above = np.quantile(distribution, (tail, 1.0 - tail))
    if method == "percentile":
        return float(below), float(above)
    if method == "basic":
        return float(value + truth - above), float(value + truth - below)
    mean = np.mean(distribution)
    bias, inflation = chance_bias(value, mean - truth, power)
    spread = max(above - mean, 0.0)
    return float(value - bias - inflation * spread), float(value + spread)


def chance_bias(value, bootstrap_bias, power):
    """How much chance may have lifted a value, and how that widens its lower side.

    Resampling doubles the variance of the noise. Of calibrated forecasts the error
    raised to `power` goes with that variance, so the bootstrap adds a share of
    ``2**(1 / power) - 1`` to an error that is all noise: the bias is a multiple of the
    bootstrap's. The multiple is exact for calibrated forecasts, and for parts of
    forecasts that are right it is on the safe side. It multiplies errors of the value,
    too, by one plus itself where all is noise.
    """
    multiple = 1.0 / (2.0 ** (1.0 / power) - 1.0)
    bias = float(np.clip(multiple * bootstrap_bias, 0.0, max(value, 0.0)))
    return bias, 1.0 + (multiple * bias / value if bias > 0.0 else 0.0)


def problems_of(y_true, y_proba, sample_weight, params):
    """Checked predictions and their binary problems."""
    predictions = check_predictions(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=params.get("pos_label"),
        labels=params.get("labels"),
    )
    return predictions, predictions.binary_problems(
        params.get("multiclass", "confidence")
    )


def units_of(predictions, problems, groups, stratify):
    """What is drawn; rows of several problems are numbered in canonical order."""
    order = None
    if len(problems) > 1 and groups is None:
        order = canonical_order(
            predictions.proba, predictions.codes, predictions.sample_weight
        )
    return Units(predictions.n_samples, groups, stratify, order)


def _rank_interval(y_true, y_proba, params, confidence_level, random_state):
    value = rank_ece(y_true, y_proba, **params)
    _, problems = problems_of(y_true, y_proba, None, params)
    n_neighbors = params.get("n_neighbors", 1)
    (seed,) = seeds(random_state, 1)
    nulls = [_null_variance(problem, n_neighbors) for problem in problems]
    deviations = [
        # What chance alone has is known, and steadies the estimate from below.
        max(_rank_variance(problem, n_neighbors, np.random.default_rng(seed)), null)
        ** 0.5
        for problem, null in zip(problems, nulls, strict=True)
    ]
    # Of the mean over classes at most this, however they depend on each other.
    standard_error = float(np.mean(deviations))
    # The variance grows with the error itself, from what chance alone has. Solved for
    # the errors that are a quantile away, so that low values are no surer than others.
    variance = standard_error**2
    null = float(np.mean(np.sqrt(nulls))) ** 2
    growth = max(variance - null, 0.0) / max(value, standard_error, 1e-300)
    quantile = float(ndtri(0.5 + 0.5 * confidence_level))
    shift = 0.5 * quantile**2 * growth
    margin = float(np.sqrt(quantile**2 * variance + shift**2))
    centre = value + shift
    return BootstrapInterval(
        value=value,
        low=centre - margin,
        high=centre + margin,
        standard_error=standard_error,
        bias=0.0,
        confidence_level=float(confidence_level),
        method="analytic",
        distribution=None,
    )


def _rank_variance(problem, n_neighbors, rng):
    """Variance of rankECE; of tied forecasts that in a random order, which is more."""
    outcome, forecast, _ = problem.as_float64()
    order = canonical_order(forecast, outcome)
    outcome, forecast = outcome[order], forecast[order]
    residual = outcome - forecast
    if not (forecast[1:] == forecast[:-1]).any():
        return lagged_variance(residual, n_neighbors)
    orders = (
        np.lexsort((rng.uniform(size=forecast.size), forecast))
        for _ in range(_TIE_BREAKS)
    )
    return float(np.mean([lagged_variance(residual[o], n_neighbors) for o in orders]))


def _null_variance(problem, n_neighbors):
    """Variance of rankECE of calibrated forecasts."""
    forecast = np.sort(problem.as_float64()[1])
    variance = forecast * (1.0 - forecast)
    products = sum(
        float(variance[lag:] @ variance[:-lag]) for lag in range(1, n_neighbors + 1)
    )
    return products / (forecast.size * n_neighbors) ** 2
