"""Comparison of two forecasts of the same outcomes."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np

from skcal._core.ordering import canonical_order
from skcal._predictions import check_fraction, check_positive
from skcal.inference._bootstrap import chance_bias, problems_of
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
)
from skcal.inference._results import Readable
from skcal.metrics import rank_ece


@dataclass(frozen=True, repr=False, eq=False)
class CalibrationComparison(Readable):
    """Result of `compare_calibration`.

    Attributes
    ----------
    difference : float
        `value_a` less `value_b`: negative where the first is better calibrated.
    low, high : float
        Ends of the interval of the difference.
    pvalue : float
        Of equal measures in the population, two-sided.
    standard_error : float
        Standard deviation of the replicates of the difference.
    value_a, value_b : float
        The two measures.
    confidence_level : float
    distribution : ndarray of shape (n_resamples,)
        The replicates of the difference.
    """

    difference: float
    low: float
    high: float
    pvalue: float
    standard_error: float
    value_a: float
    value_b: float
    confidence_level: float
    distribution: np.ndarray


def compare_calibration(
    metric,
    y_true,
    proba_a,
    proba_b,
    *,
    confidence_level=0.95,
    n_resamples=1000,
    sample_weight=None,
    groups=None,
    stratify=None,
    random_state=None,
    n_jobs=None,
    **metric_params,
):
    """Compare the calibration of two forecasts of the same outcomes.

    Both are measured on the same resampled rows, so that what is hard about the rows
    drops out of the difference. The null hypothesis of the p-value is that both have
    the same measure in the population, neither of them need be calibrated for it.

    Read more in the :ref:`User Guide <intervals>`.

    Parameters
    ----------
    metric : callable
        A measure ``metric(y_true, y_proba, **metric_params)``, or a
        :class:`functools.partial` of one.
    y_true : array-like of shape (n_samples,)
        True labels.
    proba_a, proba_b : array-like of shape (n_samples,), (n_samples, 1) or \
            (n_samples, n_classes)
        Predicted probabilities of the two, see `metric`.
    confidence_level : float, default=0.95
        Confidence level of the two-sided interval.
    n_resamples : int, default=1000
        Number of replicates.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights, which go with their rows.
    groups : array-like of shape (n_samples,), default=None
        Rows that belong together: whole groups are drawn.
    stratify : array-like of shape (n_samples,), default=None
        Draw within these strata.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws. With an int the result does not depend on `n_jobs` or the
        order of the rows.
    n_jobs : int, default=None
        Number of threads, or of processes for measures of rows.
    **metric_params : dict
        Keywords of the metric, such as `pos_label`, `labels`, `multiclass` or `n_bins`.

    Returns
    -------
    result : CalibrationComparison
        Its fields are `difference`, `low`, `high`, `pvalue`, `standard_error`,
        `value_a`, `value_b`, `confidence_level` and `distribution`.

    Raises
    ------
    ValueError
        If an argument is invalid, or resampling would bias the measure.

    See Also
    --------
    bootstrap_interval : Interval of one measure.

    Notes
    -----
    Chance lifts smooth and binned errors, and not those of both forecasts alike. How
    much is only known to lie between nothing and what the debiased interval of
    :func:`bootstrap_interval` takes off; the interval allows for both ends, and is wide
    where both errors are near what chance gives.

    `rank_ece` cannot be resampled with replacement, as copies of a row would become its
    neighbours. It is computed of random halves of the rows instead, whose spread
    around the whole is that of the whole around its expectation, and somewhat more for
    forecasts that are nearly calibrated.

    Draws of rows cost time in proportion to their number, also for `smooth_ece`.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal import compare_calibration, smooth_ece
    >>> rng = np.random.default_rng(0)
    >>> chance = rng.uniform(size=2_000)
    >>> y_true = rng.uniform(size=2_000) < chance
    >>> too_extreme = np.clip(1.6 * chance - 0.3, 0, 1)
    >>> result = compare_calibration(
    ...     smooth_ece, y_true, too_extreme, chance, n_resamples=200, random_state=0
    ... )
    >>> result.low > 0, result.pvalue < 0.05  # the second is better calibrated
    (True, True)
    """
    metric, params, name = known_measure(metric, metric_params)
    check_fraction("confidence_level", confidence_level)
    check_positive("n_resamples", n_resamples, Integral)
    refuse_cross_fitted(metric, params)
    probas = (proba_a, proba_b)
    weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
    unbiased = params.get("debias", False)
    values = [float(metric(y_true, proba, **params, **weighted)) for proba in probas]
    sample_weight, y_true, *probas, groups, stratify = drop_weightless(
        sample_weight, y_true, *probas, groups, stratify
    )
    if name is None:
        draws = _replicates_of_rows(
            metric,
            params,
            y_true,
            probas,
            sample_weight,
            (groups, stratify),
            n_resamples,
            random_state,
            n_jobs,
        )
        biases = (0.0, 0.0)
        # Half samples are nearly unbiased for what whole ones estimate; replicates of
        # another measure are as far from it as it is from the population's.
        centre = None if metric is rank_ece else values
    else:
        draws, powers = _replicates_on_cells(
            name,
            params,
            y_true,
            probas,
            sample_weight,
            (groups, stratify),
            n_resamples,
            random_state,
            n_jobs,
        )
        biases = [
            chance_bias(value, 0.0 if unbiased else drawn.mean() - value, power)[0]
            for value, drawn, power in zip(values, draws.T, powers, strict=True)
        ]
        centre = None
    replicates = draws[:, 0] - draws[:, 1]
    difference = values[0] - values[1]
    expected = replicates.mean() if centre is None else centre[0] - centre[1]
    noise = replicates - expected
    tail = 0.5 * (1.0 - confidence_level)
    below, above = np.quantile(noise, (tail, 1.0 - tail))
    # The lower end grants the first the doubt, the upper end the second.
    lowest, highest = difference - biases[0], difference + biases[1]
    beyond = min(np.sum(noise >= lowest), np.sum(noise <= highest))
    return CalibrationComparison(
        difference=difference,
        low=float(lowest - above),
        high=float(highest - below),
        pvalue=float(min(1.0, 2.0 * (1 + beyond) / (1 + n_resamples))),
        standard_error=float(noise.std(ddof=min(1, n_resamples - 1))),
        value_a=values[0],
        value_b=values[1],
        confidence_level=float(confidence_level),
        distribution=replicates,
    )


def _replicates_on_cells(
    name, params, y_true, probas, weight, drawn, n_resamples, random_state, n_jobs
):
    sides = [problems_of(y_true, proba, weight, params) for proba in probas]
    (first, _), (second, _) = sides
    order = canonical_order(first.proba, second.proba, first.codes, first.sample_weight)
    units = Units(first.n_samples, *drawn, order)
    measures = [
        [on_cells(name, problem, params) for problem in problems]
        for _, problems in sides
    ]
    errors = replicates_on_cells(
        measures[0] + measures[1], units, n_resamples, random_state, n_jobs
    )
    split = len(measures[0])
    means = [errors[:, :split].mean(axis=1), errors[:, split:].mean(axis=1)]
    return np.column_stack(means), [side[0].power for side in measures]


def _replicates_of_rows(
    metric, params, y_true, probas, weight, drawn, n_resamples, random_state, n_jobs
):
    columns = checked_columns(y_true, probas, weight)
    units = Units(columns[0].shape[0], *drawn, canonical_order(*columns))
    draw = units.draw_half if metric is rank_ece else units.draw

    def replicate(rng):
        rows = units.rows(draw(rng))
        return [
            of_rows(metric, params, rows, y_true, proba, weight) for proba in probas
        ]

    return one_by_one(replicate, n_resamples, random_state, n_jobs)
