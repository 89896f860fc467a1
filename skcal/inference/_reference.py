"""What a measure would be by chance, were the forecasts calibrated."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np

from skcal._core.ordering import canonical_order
from skcal._predictions import (
    BinaryProblem,
    check_fraction,
    check_positive,
    check_scores,
    check_weight,
)
from skcal.inference._on_cells import on_cells
from skcal.inference._resampling import (
    in_chunks,
    known_measure,
    one_by_one,
    seeds,
    take,
)
from skcal.inference._results import Readable
from skcal.metrics import plugin_ece, rank_ece, variational_ece

_QUANTILES = (0.5, 0.95)
_TAKE_LABELS = (rank_ece, plugin_ece, variational_ece)


@dataclass(frozen=True, repr=False, eq=False)
class CalibratedReference(Readable):
    """Result of `calibrated_reference`.

    Attributes
    ----------
    mean, standard_deviation : float
        Of the measure by chance.
    quantiles : dict
        From each asked level to the measure's quantile.
    distribution : ndarray of shape (n_resamples,)
        The simulated values, in rising order.
    """

    mean: float
    standard_deviation: float
    quantiles: dict
    distribution: np.ndarray

    def pvalue(self, value):
        """How often chance alone gives as large a value.

        Parameters
        ----------
        value : float
            The measure of the true outcomes.

        Returns
        -------
        pvalue : float
            One-sided Monte Carlo p-value of perfect calibration, valid at every number
            of rows: the true value counts as one of the simulated ones.
        """
        below = np.searchsorted(self.distribution, value, side="left")
        return float(1 + self.distribution.size - below) / (1 + self.distribution.size)


def calibrated_reference(
    metric,
    y_proba,
    *,
    quantiles=None,
    n_resamples=1000,
    sample_weight=None,
    labels=None,
    random_state=None,
    n_jobs=None,
    **metric_params,
):
    """Distribution of a measure if the same forecasts were perfectly calibrated.

    The outcomes are drawn with the forecast probabilities, again and again, and
    measured. A calibration error that cannot be negative is positive by chance; this
    is what to hold a small value against. For `smooth_ece` and `binned_ece` the number
    of events in each small cell of forecasts is drawn at once, so that the cost of a
    draw does not depend on the number of rows.

    Read more in the :ref:`User Guide <intervals>`.

    Parameters
    ----------
    metric : callable
        A measure ``metric(y_true, y_proba, **metric_params)``, or a
        :class:`functools.partial` of one.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or \
            (n_samples, n_classes)
        Predicted probabilities in [0, 1]; of two columns the second is the positive
        class's.
    quantiles : sequence of float, default=None
        Levels of the quantiles to report; None is the median and 0.95.
    n_resamples : int, default=1000
        Number of draws of all outcomes.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.
    labels : array-like of shape (n_classes,), default=None
        Labels that the outcomes are drawn from, in sorted order, for a metric that
        wants to see them; by default 0, 1, ...
    random_state : int, RandomState instance or None, default=None
        Seed of the draws. With an int the result does not depend on `n_jobs` or the
        order of the rows.
    n_jobs : int, default=None
        Number of threads, or of processes for measures of rows.
    **metric_params : dict
        Keywords of the metric, such as `multiclass` or `n_bins`.

    Returns
    -------
    reference : CalibratedReference
        Its fields are `mean`, `standard_deviation`, `quantiles` (a dictionary) and
        `distribution`; its method `pvalue(value)` tells how often chance gives as much.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    bootstrap_interval : Interval of the measure of the true outcomes.
    rank_ece_test : Test of calibration.

    Notes
    -----
    On cells the number of events is binomial with the cell's mean forecast instead of
    the sum of Bernoulli draws with the rows' own: in each cell the two differ by at
    most the cell's width, 1/512 or less, in total variation [1]_. The classwise
    variants draw the class of each row, at a cost that grows with their number.

    References
    ----------
    .. [1] W. Ehm, "Binomial approximation to the Poisson binomial distribution",
       Statistics & Probability Letters 11, 1991.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal import calibrated_reference, smooth_ece
    >>> y_proba = np.random.default_rng(0).uniform(size=100)
    >>> reference = calibrated_reference(smooth_ece, y_proba, random_state=0)
    >>> round(reference.mean, 2)  # a perfect model's smECE at 100 rows
    0.07
    >>> round(reference.pvalue(0.15), 2) < 0.05
    True
    """
    metric, params, name = known_measure(metric, metric_params)
    check_positive("n_resamples", n_resamples, Integral)
    quantiles = _QUANTILES if quantiles is None else quantiles
    levels = [quantiles] if np.ndim(quantiles) == 0 else list(quantiles)
    for level in levels:
        check_fraction("quantiles", level)
    proba = check_scores(y_proba)
    weight = check_weight(sample_weight, proba.shape[0])
    _refuse_other_labels(params)
    if name is None:
        draws = _of_rows(
            metric,
            params,
            y_proba,
            proba,
            weight,
            labels,
            n_resamples,
            random_state,
            n_jobs,
        )
    else:
        _check_on_one_row(metric, params)
        draws = _on_cells(
            name, params, proba, weight, n_resamples, random_state, n_jobs
        )
    draws = np.sort(draws)
    return CalibratedReference(
        mean=float(draws.mean()),
        standard_deviation=float(draws.std(ddof=min(1, draws.size - 1))),
        quantiles={float(level): float(np.quantile(draws, level)) for level in levels},
        distribution=draws,
    )


def _refuse_other_labels(params):
    if params.get("pos_label") is not None:
        raise ValueError(
            "Outcomes are drawn here, so pos_label has no use: pass the positive "
            "class's probabilities, and labels=[...] if the metric wants to see them."
        )


def _check_on_one_row(metric, params):
    """The metric's own words for options that it does not know."""
    if "n_bins" in params or params.get("debias", False):
        # The number of bins is checked with the number of rows.
        params = {**params, "n_bins": 1}
    metric([0, 1], [0.5, 0.5], **params)


def _on_cells(name, params, proba, weight, n_resamples, random_state, n_jobs):
    pilot, seed = seeds(random_state, 2)
    seed = int(seed.generate_state(1)[0] >> 1)
    pilot = np.random.default_rng(pilot)
    classwise = params.get("multiclass", "confidence") == "classwise"
    if proba.ndim == 1 or proba.shape[1] == 2 or not classwise:
        forecasts = [_binary_forecast(proba)]
    else:
        forecasts = list(proba.T)
    unknown = np.zeros(proba.shape[0], dtype=np.int8)
    measures = [
        on_cells(
            name,
            BinaryProblem(unknown, forecast, weight),
            params,
            by_outcome=False,
            rng=pilot,
        )
        for forecast in forecasts
    ]
    if len(measures) > 1:
        order = canonical_order(proba, weight)
        cumulative = np.cumsum(proba[order], axis=1, dtype=np.float64)

    def chunk(size, seed):
        rng = np.random.default_rng(seed)
        if len(measures) == 1:
            events = [measures[0].categories.calibrated_counts(size, rng)]
        else:
            events = [
                np.empty((size, measure.categories.n_rows.size)) for measure in measures
            ]
            for replicate in range(size):
                drawn = _draw_classes(cumulative, rng)
                for k, (measure, counts) in enumerate(
                    zip(measures, events, strict=True)
                ):
                    of_row = measure.categories.of_row[order[drawn == k]]
                    counts[replicate] = np.bincount(of_row, minlength=counts.shape[1])
        return np.column_stack(
            [
                measure.errors(measure.calibrated(counts))
                for measure, counts in zip(measures, events, strict=True)
            ]
        )

    return in_chunks(chunk, measures, n_resamples, seed, n_jobs).mean(axis=1)


def _of_rows(
    metric, params, y_proba, proba, weight, labels, n_resamples, random_state, n_jobs
):
    two = proba.ndim == 1 or proba.shape[1] == 2
    n_classes = 2 if two else proba.shape[1]
    known = np.arange(n_classes) if labels is None else np.asarray(labels)
    if known.shape != (n_classes,):
        raise ValueError(
            f"labels must name all {n_classes} classes. Got {labels!r} instead."
        )
    if labels is not None or (metric in _TAKE_LABELS and not two):
        params = {**params, "labels": known}
    order = canonical_order(_binary_forecast(proba) if two else proba, weight)
    if two:
        positive = np.asarray(_binary_forecast(proba), dtype=np.float64)[order]
        cumulative = np.column_stack([1.0 - positive, np.ones_like(positive)])
    else:
        cumulative = np.cumsum(proba[order], axis=1, dtype=np.float64)
    y_proba = take(y_proba, order)
    if weight is not None:
        params = {**params, "sample_weight": weight[order]}

    def draw(rng):
        return metric(known[_draw_classes(cumulative, rng)], y_proba, **params)

    return one_by_one(draw, n_resamples, random_state, n_jobs)


def _binary_forecast(proba):
    """The positive class's forecast, or the top class's of three and more."""
    if proba.ndim == 1:
        return proba
    return proba[:, 1] if proba.shape[1] == 2 else proba.max(axis=1)


def _draw_classes(cumulative, rng):
    chance = rng.uniform(size=(cumulative.shape[0], 1)) * cumulative[:, -1:]
    return np.sum(chance >= cumulative[:, :-1], axis=1)
