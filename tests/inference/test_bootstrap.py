"""Bootstrap intervals: what they cover, and what they must not depend on."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.metrics import brier_score_loss

from skcal import (
    binned_ece,
    bootstrap_interval,
    plugin_ece,
    rank_ece,
    smooth_ece,
    variational_ece,
)
from skcal._core.rank_variance import lagged_variance
from skcal._predictions import BinaryProblem
from skcal.metrics._smooth import smooth_fixed_point
from skcal.recalibration import IsotonicCalibration


def sample(n, seed=0, frequency=lambda f: 0.2 + 0.6 * f):
    rng = np.random.default_rng(seed)
    f = rng.uniform(size=n)
    return (rng.uniform(size=n) < frequency(f)).astype(int), f


def multiclass_sample(n, seed=0):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet([1.0, 0.7, 0.5], size=n)
    y = (rng.uniform(size=(n, 1)) > np.cumsum(proba**1.5, axis=1)).sum(axis=1)
    return np.minimum(y, 2), proba


def ends(result):
    return result.low, result.high


# The truth ----------------------------------------------------------------------------

N_SAMPLES = 120
# Of an interval that covers 95 %, more misses come by chance once in 1,000.
MOST_MISSES = 14


def test_the_number_of_misses_says_what_it_says():
    assert binom.sf(MOST_MISSES, N_SAMPLES, 0.05) < 1 / 1_000


def misses(metric, frequency, truth, n, **options):
    count = 0
    for seed in range(N_SAMPLES):
        y, f = sample(n, seed, frequency)
        result = bootstrap_interval(
            metric, y, f, n_resamples=200, random_state=seed, **options
        )
        count += not result.low <= truth <= result.high
    return count


def population_smooth_ece(frequency):
    f = (np.arange(200_000) + 0.5) / 200_000
    return smooth_fixed_point(BinaryProblem(frequency(f), f, None), "linear")


FREQUENCIES = {
    "calibrated": lambda f: f,
    "mild": lambda f: 0.04 + 0.92 * f,
    "bad": lambda f: f**2,
}


@pytest.mark.parametrize("n", [200, 1_000])
@pytest.mark.parametrize("kind", FREQUENCIES)
@pytest.mark.simulation
def test_coverage_of_smooth_ece(kind, n):
    frequency = FREQUENCIES[kind]
    truth = 0.0 if kind == "calibrated" else population_smooth_ece(frequency)
    assert misses(smooth_ece, frequency, truth, n) <= MOST_MISSES


@pytest.mark.parametrize("kind", FREQUENCIES)
@pytest.mark.simulation
def test_coverage_of_binned_ece(kind):
    frequency = FREQUENCIES[kind]
    f = (np.arange(150_000) + 0.5) / 150_000
    gaps = (frequency(f) - f).reshape(15, -1).mean(axis=1)
    assert misses(binned_ece, frequency, np.abs(gaps).mean(), 600) <= MOST_MISSES


@pytest.mark.parametrize("kind", FREQUENCIES)
@pytest.mark.simulation
def test_coverage_of_the_debiased_squared_error(kind):
    frequency = FREQUENCIES[kind]
    f = (np.arange(150_000) + 0.5) / 150_000
    gaps = (frequency(f) - f).reshape(15, -1).mean(axis=1)
    options = {"norm": "l2", "debias": True}
    assert (
        misses(binned_ece, frequency, np.mean(gaps**2), 600, **options) <= MOST_MISSES
    )


@pytest.mark.parametrize("n_neighbors", [1, 4])
@pytest.mark.parametrize("kind", FREQUENCIES)
@pytest.mark.simulation
def test_coverage_of_rank_ece(kind, n_neighbors):
    frequency = FREQUENCIES[kind]
    f = (np.arange(150_000) + 0.5) / 150_000
    truth = np.mean((frequency(f) - f) ** 2)
    count = misses(rank_ece, frequency, truth, 500, n_neighbors=n_neighbors)
    assert count <= MOST_MISSES


def test_percentile_intervals_of_smooth_ece_miss_calibrated_forecasts():
    """Why there is another default: not one in forty holds the truth."""
    missed = 0
    for seed in range(40):
        y, f = sample(300, seed, FREQUENCIES["calibrated"])
        result = bootstrap_interval(
            smooth_ece, y, f, method="percentile", n_resamples=100, random_state=0
        )
        missed += result.low > 0
    assert missed == 40


@pytest.mark.parametrize("frequency", [lambda f: f, lambda f: 0.3 + 0.4 * f, np.square])
@pytest.mark.parametrize("n_neighbors", [1, 3])
def test_variance_of_rank_ece(frequency, n_neighbors):
    """2,000 samples give the true one to 3 % (one deviation); 12 % is four of them."""
    rng = np.random.default_rng(0)
    f = np.sort(rng.uniform(size=(2_000, 300)), axis=1)
    residual = (rng.uniform(size=f.shape) < frequency(f)) - f
    values = sum(
        (residual[:, lag:] * residual[:, :-lag]).sum(axis=1)
        for lag in range(1, n_neighbors + 1)
    ) / (300 * n_neighbors)
    estimates = [lagged_variance(row, n_neighbors) for row in residual]
    assert np.mean(estimates) == pytest.approx(values.var(), rel=0.12)


# The parts of a result ----------------------------------------------------------------


@pytest.mark.parametrize("metric", [smooth_ece, binned_ece, rank_ece, brier_score_loss])
def test_result(metric):
    y, f = sample(300)
    result = bootstrap_interval(metric, y, f, n_resamples=50, random_state=0)
    assert result.value == metric(y, f)
    assert type(result.low) is type(result.high) is type(result.value) is float
    assert result.low <= result.value <= result.high
    assert result.confidence_level == 0.95
    assert result.standard_error > 0
    assert repr(result).startswith("BootstrapInterval(value=0.")
    assert "\n" not in repr(result)
    with pytest.raises(AttributeError):
        result.low = 0.0
    if metric is rank_ece:
        assert result.method == "analytic"
        assert result.distribution is None
    else:
        assert result.distribution.shape == (50,)
        assert result.standard_error == pytest.approx(result.distribution.std(ddof=1))
        assert result.bias == pytest.approx(result.distribution.mean() - result.value)
    wide = bootstrap_interval(
        metric, y, f, n_resamples=50, random_state=0, confidence_level=0.99
    )
    assert wide.high - wide.low > result.high - result.low


def test_types_of_intervals():
    y, f = sample(400)
    options = {"n_resamples": 400, "random_state": 0}
    percentile = bootstrap_interval(smooth_ece, y, f, method="percentile", **options)
    basic = bootstrap_interval(smooth_ece, y, f, method="basic", **options)
    debiased = bootstrap_interval(smooth_ece, y, f, **options)
    assert debiased.method == "debiased"
    below, above = np.quantile(percentile.distribution, [0.025, 0.975])
    value = smooth_ece(y, f)
    assert ends(percentile) == pytest.approx((below, above))
    assert ends(basic) == pytest.approx((2 * value - above, 2 * value - below))
    # Cubes of noise go with its variance, which resampling doubles.
    for result, power in (
        (debiased, 3),
        (bootstrap_interval(smooth_ece, y, f, bandwidth=0.1, **options), 2),
        (bootstrap_interval(binned_ece, y, f, norm="l2", **options), 1),
    ):
        spread = np.quantile(result.distribution, 0.975) - result.distribution.mean()
        multiple = 1 / (2 ** (1 / power) - 1)
        bias = np.clip(multiple * result.bias, 0, result.value)
        low = result.value - bias - spread * (1 + multiple * bias / result.value)
        assert result.low == pytest.approx(max(low, 0))
        assert result.high == pytest.approx(min(result.value + spread, 1))


def test_other_measures_vary_as_their_rows_do():
    """The Brier loss is a mean: its standard error is known; 1,000 replicates give it
    to 2.2 % (one deviation)."""
    y, f = sample(500)
    result = bootstrap_interval(brier_score_loss, y, f, random_state=0)
    terms = (y - f) ** 2
    assert result.standard_error == pytest.approx(terms.std() / 500**0.5, rel=0.09)
    assert result.method == "percentile"


def test_cells_and_rows_agree():
    """Standard errors of 1,500 replicates each are 1.8 % off (one deviation)."""
    y, f = sample(800)
    for metric in (smooth_ece, partial(binned_ece, n_bins=5)):
        cells = bootstrap_interval(metric, y, f, n_resamples=1_500, random_state=0)
        rows = bootstrap_interval(
            lambda a, b, m=metric: m(a, b), y, f, n_resamples=1_500, random_state=1
        )
        assert cells.standard_error == pytest.approx(rows.standard_error, rel=0.1)
        assert cells.bias == pytest.approx(
            rows.bias, abs=4 * cells.standard_error / 1_500**0.5 * 2**0.5
        )


# What it must not depend on -----------------------------------------------------------

SEVERAL = [
    (smooth_ece, {}),
    (smooth_ece, {"scale": "logit"}),
    (binned_ece, {"strategy": "quantile", "n_bins": 5}),
    (rank_ece, {}),
    (brier_score_loss, {}),
]


@pytest.mark.parametrize(("metric", "params"), SEVERAL)
def test_order_of_the_rows(metric, params):
    y, f = sample(200)
    f = np.round(f, 2)
    shuffled = np.random.default_rng(1).permutation(200)
    options = {"n_resamples": 30, "random_state": 0, **params}
    one = bootstrap_interval(metric, y, f, **options)
    other = bootstrap_interval(metric, y[shuffled], f[shuffled], **options)
    assert ends(one) == pytest.approx(ends(other), rel=1e-9)


@pytest.mark.parametrize("multiclass", ["confidence", "classwise"])
@pytest.mark.parametrize("metric", [smooth_ece, binned_ece, rank_ece])
def test_three_classes(metric, multiclass):
    y, proba = multiclass_sample(300)
    names = np.array(["a", "b", "c"])[y]
    options = {"multiclass": multiclass, "n_resamples": 40, "random_state": 0}
    result = bootstrap_interval(metric, names, proba, **options)
    assert result.value == metric(y, proba, multiclass=multiclass)
    assert result.low <= result.value <= result.high
    shuffled = np.random.default_rng(1).permutation(300)
    other = bootstrap_interval(metric, names[shuffled], proba[shuffled], **options)
    assert ends(other) == pytest.approx(ends(result), rel=1e-9)


def test_classwise_replicates_are_those_of_rows():
    """Classes share rows, and their errors vary together."""
    y, proba = multiclass_sample(500)
    options = {"n_resamples": 800, "random_state": 0}
    cells = bootstrap_interval(
        binned_ece, y, proba, multiclass="classwise", n_bins=4, **options
    )
    rows = bootstrap_interval(
        lambda a, b: binned_ece(a, b, multiclass="classwise", n_bins=4),
        y,
        proba,
        **options,
    )
    assert cells.standard_error == pytest.approx(rows.standard_error, rel=0.12)


@pytest.mark.parametrize("metric", [smooth_ece, brier_score_loss])
def test_number_of_jobs(metric):
    y, f = sample(150)
    results = [
        bootstrap_interval(metric, y, f, n_resamples=140, random_state=3, n_jobs=n_jobs)
        for n_jobs in (None, 2)
    ]
    assert np.array_equal(results[0].distribution, results[1].distribution)


def test_partials_and_keywords_are_one():
    y, f = sample(150)
    options = {"n_resamples": 20, "random_state": 0}
    one = bootstrap_interval(partial(binned_ece, n_bins=5), y, f, **options)
    other = bootstrap_interval(binned_ece, y, f, n_bins=5, **options)
    assert one.method == "debiased"
    assert ends(one) == ends(other)


def test_containers_and_labels():
    y, f = sample(150)
    options = {"n_resamples": 20, "random_state": 0}
    plain = bootstrap_interval(smooth_ece, y, f, **options)
    words = np.where(y == 1, "yes", "no")
    two = np.column_stack([1 - f, f])
    for given in (
        bootstrap_interval(
            smooth_ece, list(words), f.tolist(), pos_label="yes", **options
        ),
        bootstrap_interval(smooth_ece, pd.Series(words), pd.DataFrame(two), **options),
    ):
        assert ends(given) == pytest.approx(ends(plain))

    def share(y_true, y_proba):
        assert isinstance(y_true, pd.Series)
        assert isinstance(y_proba, pd.DataFrame)
        return float((y_true == "yes").mean())

    result = bootstrap_interval(share, pd.Series(words), pd.DataFrame(two), **options)
    assert result.value == y.mean()


# Weights, groups, strata --------------------------------------------------------------


@pytest.mark.parametrize("metric", [smooth_ece, binned_ece])
def test_weights_go_with_their_rows(metric):
    """Equal weights change nothing; others give the spread of weighted rows."""
    y, f = sample(400)
    options = {"n_resamples": 800, "random_state": 0}
    plain = bootstrap_interval(metric, y, f, **options)
    equal = bootstrap_interval(metric, y, f, sample_weight=np.full(400, 2.5), **options)
    assert ends(equal) == pytest.approx(ends(plain))
    weight = np.random.default_rng(0).lognormal(sigma=1.0, size=400)
    cells = bootstrap_interval(metric, y, f, sample_weight=weight, **options)
    rows = bootstrap_interval(
        lambda a, b, sample_weight: metric(a, b, sample_weight=sample_weight),
        y,
        f,
        sample_weight=weight,
        **options,
    )
    assert cells.value == metric(y, f, sample_weight=weight)
    assert cells.standard_error == pytest.approx(rows.standard_error, rel=0.12)
    assert cells.standard_error > 1.2 * plain.standard_error


def test_rows_of_weight_zero_are_no_rows():
    y, f = sample(60)
    weight = np.r_[np.zeros(40), np.ones(20)]
    options = {"n_resamples": 40, "random_state": 0}
    for metric in (smooth_ece, binned_ece, brier_score_loss):
        with_zeros = bootstrap_interval(metric, y, f, sample_weight=weight, **options)
        without = bootstrap_interval(metric, y[40:], f[40:], **options)
        assert ends(with_zeros) == pytest.approx(ends(without))


@pytest.mark.parametrize("metric", [smooth_ece, binned_ece, brier_score_loss])
def test_whole_groups_are_drawn(metric):
    """Four copies of each row are one observation: the spread is that of the rows."""
    y, f = sample(150)
    options = {"n_resamples": 800, "random_state": 0}
    rows = bootstrap_interval(metric, y, f, **options)
    groups = np.repeat([f"patient {i}" for i in range(150)], 4)
    copies = np.repeat(y, 4), np.repeat(f, 4)
    grouped = bootstrap_interval(metric, *copies, groups=groups, **options)
    assert grouped.standard_error == pytest.approx(rows.standard_error, rel=0.12)
    blind = bootstrap_interval(metric, *copies, **options)
    assert blind.standard_error < 0.75 * rows.standard_error


def test_strata_keep_their_size():
    y, f = sample(90)

    def share(y_true, y_proba):
        return float(np.mean(y_true))

    free = bootstrap_interval(share, y, f, n_resamples=50, random_state=0)
    assert free.standard_error > 0
    held = bootstrap_interval(share, y, f, stratify=y, n_resamples=50, random_state=0)
    assert held.standard_error == pytest.approx(0, abs=1e-12)
    groups = np.arange(90) // 3 * 2 + y
    both = bootstrap_interval(
        smooth_ece, y, f, stratify=y, groups=groups, n_resamples=50, random_state=0
    )
    assert both.standard_error > 0


def test_replicates_may_lack_a_class():
    f = np.array([0.2, 0.3, 0.6])
    result = bootstrap_interval(smooth_ece, [0, 0, 1], f, random_state=0)
    assert result.low <= result.value <= result.high


# Errors -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence_level": 95}, "confidence_level must be a number between 0 and 1"),
        ({"n_resamples": 0}, "n_resamples must be a positive integer"),
        ({"method": "bca"}, "method must be one of"),
        ({"groups": [1, 2]}, "groups has 2"),
        ({"groups": np.zeros(60, int)}, "two groups at least"),
        ({"stratify": [0, 1]}, "stratify has 2"),
        (
            {"groups": np.repeat(range(30), 2), "stratify": np.tile([0, 1], 30)},
            "within one stratum: the group of row",
        ),
        ({"sample_weight": -np.ones(60)}, "negative"),
        ({"scale": "log"}, "scale must be one of"),
    ],
)
def test_arguments(options, message):
    y, f = sample(60)
    with pytest.raises(ValueError, match=message):
        bootstrap_interval(smooth_ece, y, f, **options)


def test_measures_that_cannot_be_resampled():
    y, f = sample(60)
    with pytest.raises(ValueError, match="copies of a row"):
        bootstrap_interval(rank_ece, y, f, method="percentile")
    with pytest.raises(ValueError, match="one row of each group"):
        bootstrap_interval(rank_ece, y, f, groups=np.arange(60))
    with pytest.raises(ValueError, match="standard error"):
        bootstrap_interval(variational_ece, y, f)
    with pytest.raises(ValueError, match="cross-fits"):
        bootstrap_interval(plugin_ece, y, f, recalibrator=IsotonicCalibration(), cv=5)
    with pytest.raises(ValueError, match="smooth_ece and binned_ece only"):
        bootstrap_interval(brier_score_loss, y, f, method="debiased")
    with pytest.raises(ValueError, match="metric must be a function"):
        bootstrap_interval("smooth_ece", y, f)
