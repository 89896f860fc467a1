"""The rankECE test against enumeration of every outcome, its level and its power."""

import itertools
import math
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from scipy.stats import norm

from skcal import rank_ece, rank_ece_test
from skcal.inference import _rank_test
from skcal.inference._rank_test import holm
from tests.references import rank_ece_enumerated, rank_ece_of_every_order

METHODS = ["auto", "asymptotic", "finite-sample", "monte-carlo"]
every_method = pytest.mark.parametrize("method", METHODS)
FORECASTS = {
    "no ties": [0.1, 0.25, 0.4, 0.65, 0.7, 0.95],
    "ties": [0.2, 0.2, 0.2, 0.5, 0.8, 0.8, 0.9],
    "all equal": [0.3] * 5,
    "rare": [0.01, 0.02, 0.02, 0.03, 0.1, 0.1],
    "ends": [0.0, 0.0, 0.4, 0.6, 1.0, 1.0],
}
every_forecast = pytest.mark.parametrize("f", FORECASTS.values(), ids=FORECASTS)


def draw(seed, n, digits=None):
    rng = np.random.default_rng(seed)
    f = rng.random(n)
    if digits is not None:
        f = f.round(digits)
    return (rng.random(n) < f).astype(int), f


def outcomes(f):
    """Every vector of outcomes with its probability under calibration."""
    for y in itertools.product((0, 1), repeat=len(f)):
        chances = (p if o else 1 - p for p, o in zip(f, y, strict=True))
        yield np.array(y), math.prod(chances)


# -- Monte Carlo ------------------------------------------------------------------


@every_forecast
def test_monte_carlo_pvalue_is_that_of_enumeration(f):
    f = np.array(f)
    every = [(rank_ece_enumerated(f, y), chance) for y, chance in outcomes(f)]
    likely = [y for y, chance in outcomes(f) if chance > 0]
    for y in likely[:: max(1, len(likely) // 6)]:
        value = rank_ece_enumerated(f, y)
        exact = math.fsum(chance for v, chance in every if v >= value - 1e-12)
        result = rank_ece_test(y, f, method="monte-carlo")
        assert result.rank_ece == pytest.approx(value, abs=1e-14)
        # 5 standard errors of 9,999 draws: wrongly fails with probability 6e-7
        error = math.sqrt(exact * (1 - exact) / 9999)
        assert result.pvalue == pytest.approx(exact, abs=5 * error + 2e-4)


def test_statistic_is_in_standard_deviations_of_the_null():
    f = np.array(FORECASTS["ties"])
    every = [(rank_ece_enumerated(f, y), chance) for y, chance in outcomes(f)]
    deviation = math.sqrt(math.fsum(v * v * chance for v, chance in every))
    y = np.array([1, 1, 0, 1, 0, 0, 1])
    result = rank_ece_test(y, f, method="monte-carlo")
    assert result.statistic == pytest.approx(result.rank_ece / deviation, rel=1e-10)


@pytest.mark.parametrize("digits", [None, 1])
def test_chunks_and_threads_leave_no_trace(monkeypatch, digits):
    monkeypatch.setattr(_rank_test, "_STREAM", 100)
    y, f = draw(0, 50, digits)
    options = {"method": "monte-carlo", "n_resamples": 510}
    expected = rank_ece_test(y, f, **options)
    assert rank_ece_test(y, f, n_jobs=2, **options) == expected
    for chunk in (1, 50, 170, 10_000):
        monkeypatch.setattr(_rank_test, "_CHUNK", chunk)
        assert rank_ece_test(y, f, **options) == expected


@pytest.mark.parametrize("n_resamples", [1, 7, 9, 100])
def test_every_resample_is_drawn(n_resamples):
    # No outcome beats two events at 1e-9, so p is 1 / (1 + n_resamples).
    result = rank_ece_test(
        [1, 1], [1e-9, 2e-9], method="monte-carlo", n_resamples=n_resamples
    )
    assert result.pvalue == 1 / (1 + n_resamples)


# -- normal limit -----------------------------------------------------------------


def sums(y, f):
    """Sum of products and its two variances, with loops."""
    rows = sorted(zip(f, y, strict=True))
    w = [o - p for p, o in rows]
    s = [p * (1 - p) for p, o in rows]
    pairs = range(len(rows) - 1)
    return (
        math.fsum(w[i] * w[i + 1] for i in pairs),
        math.fsum(s[i] * s[i + 1] for i in pairs),
        math.fsum(v * v for v in s),
    )


def test_asymptotic_formula():
    y, f = draw(1, 80)
    total, exact, plug_in = sums(y, f)
    for variance, expected in (("exact", exact), ("plug-in", plug_in)):
        result = rank_ece_test(y, f, method="asymptotic", variance=variance)
        assert result.statistic == pytest.approx(total / math.sqrt(expected), rel=1e-12)
        assert result.pvalue == pytest.approx(norm.sf(result.statistic), rel=1e-12)
    assert exact < plug_in


def test_asymptotic_breaks_ties_at_random():
    y, f = np.array([1, 0, 0, 1, 0, 1]), np.array([0.2, 0.2, 0.2, 0.5, 0.5, 0.9])
    values = {
        rank_ece_test(y, f, method="asymptotic", random_state=seed).rank_ece
        for seed in range(50)
    }
    possible = rank_ece_of_every_order(f, y)
    assert len(values) > 1
    for value in values:
        assert np.abs(np.array(possible) - value).min() < 1e-14


@pytest.mark.parametrize("digits", [None, 1])
def test_reported_error_is_the_measure(digits):
    y, f = draw(2, 300, digits)
    averaged = rank_ece_test(y, f, method="monte-carlo", n_resamples=9)
    assert averaged.rank_ece == pytest.approx(rank_ece(y, f), rel=1e-10)
    for method in ("asymptotic", "finite-sample"):
        ordered = rank_ece_test(y, f, method=method, random_state=3)
        expected = rank_ece(y, f, ties="random", random_state=3)
        assert ordered.rank_ece == pytest.approx(expected, rel=1e-10)


# -- finite sample ----------------------------------------------------------------


def test_finite_sample_inverts_the_bound():
    y, f = draw(3, 200)
    y[f > 0.4] = 1
    result = rank_ece_test(y, f, method="finite-sample")
    assert 0 < result.pvalue < 1
    rows = np.sort(f)
    variance = (rows * (1 - rows))[:-1] * (rows * (1 - rows))[1:]
    log = math.log(2 / result.pvalue)
    threshold = sum(
        math.sqrt(2 * variance[part::2].sum() * log) + log / 3 for part in (0, 1)
    )
    assert 200 * result.rank_ece == pytest.approx(threshold, rel=1e-10)


@every_forecast
def test_finite_sample_level_holds_for_every_small_sample(f):
    pvalues = [
        (rank_ece_test(y, f, method="finite-sample").pvalue, chance)
        for y, chance in outcomes(f)
        if chance > 0
    ]
    for alpha, _ in pvalues:
        size = math.fsum(chance for p, chance in pvalues if p <= alpha)
        assert size <= alpha + 1e-12


# -- level and power --------------------------------------------------------------

N_DRAWS = 2000


def rejection_rate(forecasts, truth, n, n_draws=N_DRAWS, **options):
    rng = np.random.default_rng(0)
    count = 0
    for seed in range(n_draws):
        f = forecasts(rng, n)
        y = rng.random(n) < truth(f)
        count += rank_ece_test(y, f, random_state=seed, **options).pvalue <= 0.05
    return count / n_draws


def standard_error(rate, n_draws=N_DRAWS):
    return math.sqrt(rate * (1 - rate) / n_draws)


@pytest.mark.parametrize("n", [50, 100, 200, 500])
@pytest.mark.parametrize("variance", ["exact", "plug-in"])
@pytest.mark.simulation
def test_asymptotic_level(n, variance):
    rate = rejection_rate(
        lambda rng, n: rng.beta(0.3, 0.7, n),
        lambda f: f,
        n,
        method="asymptotic",
        variance=variance,
    )
    # 3 standard errors: a size of exactly 5 % fails with probability 0.003
    assert abs(rate - 0.05) < 3 * standard_error(0.05)


@pytest.mark.parametrize(
    ("n", "power"), [(50, 0.35), (100, 0.60), (200, 0.78), (500, 0.98)]
)
@pytest.mark.simulation
def test_asymptotic_power(n, power):
    rate = rejection_rate(
        lambda rng, n: rng.beta(0.15, 0.85, n),
        lambda f: f - f**4,
        n,
        method="asymptotic",
    )
    # Known to two digits from a check of its own; 3 standard errors on either side
    # fail a right implementation with probability 0.003.
    assert abs(rate - power) < 3 * standard_error(power) + 0.02


SPARSE = {
    "rounded": lambda rng, n: rng.random(n).round(1),
    "rare": lambda rng, n: rng.beta(0.2, 9.8, n),
    "constant and rare": lambda rng, n: np.full(n, 0.02),
    "all near one half": lambda rng, n: rng.uniform(0.45, 0.55, n),
}


@pytest.mark.parametrize("n", [30, 100, 1000])
@pytest.mark.parametrize("forecasts", SPARSE.values(), ids=SPARSE)
@pytest.mark.simulation
def test_default_never_exceeds_its_level(forecasts, n):
    rate = rejection_rate(forecasts, lambda f: f, n, n_draws=200, n_resamples=99)
    # 3 standard errors: fails with probability 0.004 (binomial) at a size of 5 %;
    # with few possible values the size is below.
    assert rate <= 0.05 + 3 * standard_error(0.05, 200)


@pytest.mark.parametrize("n", [30, 100, 1000])
@pytest.mark.simulation
def test_ties_keep_the_asymptotic_level(n):
    rate = rejection_rate(
        SPARSE["rounded"], lambda f: f, n, n_draws=1000, method="asymptotic"
    )
    # 3 standard errors: fails with probability 0.0013 at a size of 5 %
    assert rate < 0.05 + 3 * standard_error(0.05, 1000)


def test_normal_limit_fails_for_rare_events_as_documented():
    # n f^2 = 0.15 pairs of neighbours are both events, and one such pair is enough:
    # 1 - exp(-0.15) = 14 % of the samples have one.
    rate = rejection_rate(
        lambda rng, n: 0.01 + 1e-6 * rng.random(n),
        lambda f: f,
        1500,
        method="asymptotic",
    )
    # 3 standard errors: wrongly fails with probability 0.003
    assert abs(rate - 0.14) < 3 * standard_error(0.14)


# -- no chance left, constant forecasts -------------------------------------------


@every_method
@pytest.mark.parametrize("p", [[0, 1, 1, 0], [0, 0], [1], [0, 1] * 50])
def test_c5_forecasts_of_zero_and_one(method, p):
    p = np.array(p)
    right = rank_ece_test(p, p, method=method)
    assert (right.statistic, right.pvalue) == (0.0, 1.0)
    wrong = p.copy()
    wrong[0] = 1 - wrong[0]
    result = rank_ece_test(wrong, p, method=method)
    assert (result.statistic, result.pvalue) == (np.inf, 0.0)


def test_rounding_to_zero_is_no_proof_of_miscalibration():
    rng = np.random.default_rng(4)
    f = rng.random(2000)
    y = rng.random(2000) < f
    rounded = f.round(1)
    assert y[rounded == 0].any()
    assert rank_ece_test(y, rounded).pvalue > 0.05


@every_method
def test_single_row_says_nothing(method):
    assert rank_ece_test([1], [0.3], method=method).pvalue == 1.0


@pytest.mark.parametrize(("p", "n_events"), [(0.5, 90), (0.3, 50)])
def test_constant_forecast_off_the_rate_is_rejected(p, n_events):
    y = np.repeat([1, 0], [n_events, 100 - n_events])
    result = rank_ece_test(y, np.full(100, p))
    assert result.method == "monte-carlo"
    assert result.pvalue <= 0.001


# -- properties -------------------------------------------------------------------


@every_method
@pytest.mark.parametrize("digits", [None, 1])
def test_w13_row_order_is_immaterial(method, digits):
    y, f = draw(5, 120, digits)
    expected = rank_ece_test(y, f, method=method, n_resamples=99)
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(f))
        result = rank_ece_test(y[order], f[order], method=method, n_resamples=99)
        assert result == expected


@every_method
def test_seeds(method):
    y, f = draw(6, 60, 1)

    def pvalue(seed):
        return rank_ece_test(
            y, f, method=method, n_resamples=199, random_state=seed
        ).pvalue

    assert pvalue(3) == pvalue(3)
    assert pvalue(np.random.RandomState(3)) == pvalue(np.random.RandomState(3))
    if method != "finite-sample":  # there it is 1
        assert len({pvalue(seed) for seed in range(10)}) > 1


def test_auto_simulates_where_the_limit_is_far():
    assert rank_ece_test(*draw(7, 2000)).method == "asymptotic"
    assert rank_ece_test(*draw(7, 500), n_resamples=9).method == "monte-carlo"
    assert rank_ece_test(*draw(7, 2000, 2), n_resamples=9).method == "monte-carlo"
    y, f = draw(7, 2000)
    rare = rank_ece_test(y * 0, f / 100, n_resamples=9)
    assert rare.method == "monte-carlo"


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_number_types(dtype):
    y, f = draw(8, 50)
    f = f.astype(dtype)
    assert rank_ece_test(y, f) == rank_ece_test(y, f.astype(float))


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"method": "exact"}, "method"),
        ({"variance": "paper"}, "variance"),
        ({"n_resamples": 0}, "n_resamples"),
        ({"n_resamples": 9.5}, "n_resamples"),
        ({"multiclass": "canonical"}, "multiclass"),
    ],
)
def test_options_are_checked(options, name):
    with pytest.raises(ValueError, match=name):
        rank_ece_test([0, 1], [0.2, 0.7], **options)


def test_input_is_checked():
    with pytest.raises(ValueError, match="NaN"):
        rank_ece_test([0, 1], [0.2, np.nan])


# -- several classes, the result --------------------------------------------------


def draw_classes(seed=9, n=150):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(3), n)
    return np.array(list("abc"))[rng.integers(0, 3, n)], proba


def test_confidence():
    y, proba = draw_classes()
    right = np.array(list("abc"))[proba.argmax(axis=1)] == y
    assert rank_ece_test(y, proba) == rank_ece_test(right, proba.max(axis=1))


def test_classwise():
    y, proba = draw_classes()
    result = rank_ece_test(y, proba, multiclass="classwise")
    single = [rank_ece_test(y == k, proba[:, j]) for j, k in enumerate("abc")]
    raw = [r.pvalue for r in single]
    assert list(result.by_class) == ["a", "b", "c"]
    assert [r.pvalue for r in result.by_class.values()] == holm(raw)
    assert result.pvalue == min(1, 3 * min(raw))
    assert result.statistic == max(r.statistic for r in single)
    expected = rank_ece(y, proba, multiclass="classwise")
    assert result.rank_ece == pytest.approx(expected, rel=1e-10)
    assert result.method == "monte-carlo"
    for one, adjusted in zip(single, result.by_class.values(), strict=True):
        assert adjusted.statistic == one.statistic


def test_two_columns_are_one_test():
    y, f = draw(10, 60)
    both = np.column_stack([1 - f, f])
    result = rank_ece_test(y, both, multiclass="classwise")
    assert result == rank_ece_test(y, f)
    assert result.by_class is None


def test_holm():
    # Sorted: 4 * 0.005, 3 * 0.01, 2 * 0.03, 1 * 0.04, made non-decreasing.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]


def test_result_is_frozen_and_prints():
    result = rank_ece_test([1, 1], [1e-9, 2e-9], n_resamples=3)
    with pytest.raises(FrozenInstanceError):
        result.pvalue = 0.5
    text = repr(result)
    assert text.startswith("RankECETestResult(statistic=")
    assert "pvalue=0.25, method='monte-carlo', rank_ece=0.5, n_samples=2)" in text
    assert pickle.loads(pickle.dumps(result)) == result
