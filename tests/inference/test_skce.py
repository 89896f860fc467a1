"""The SKCE test against loops, enumeration of every outcome, and its level."""

import itertools
import math

import numpy as np
import pytest

from skcal import skce_test
from skcal._core import kernels
from skcal.inference import _skce

KERNELS = {
    "gaussian": lambda d, h: math.exp(-(d**2) / (2 * h**2)),
    "laplacian": lambda d, h: math.exp(-d / h),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS)


def draw(n_classes, n=40, seed=0, digits=None):
    """Labels 0 to k - 1 and probabilities, of the second class for two."""
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(n_classes, 0.6), n)
    if digits is not None:
        proba = proba.round(digits) + 1e-3
        proba /= proba.sum(axis=1, keepdims=True)
    y = np.array([rng.choice(n_classes, p=p) for p in proba])
    return y, proba[:, 1] if n_classes == 2 else proba


def rows(y, proba):
    """Forecast and residual of every row as vectors."""
    proba = np.asarray(proba, dtype=float)
    if proba.ndim == 1:
        return proba[:, None], (np.asarray(y) - proba)[:, None]
    return proba, np.eye(proba.shape[1])[y] - proba


def term(f, r, i, j, kernel, width):
    distance = math.sqrt(sum((f[i] - f[j]) ** 2))
    return KERNELS[kernel](distance, width) * sum(r[i] * r[j])


def brute_force(y, proba, kernel, width):
    f, r = rows(y, proba)
    pairs = itertools.combinations(range(len(f)), 2)
    return np.mean([term(f, r, i, j, kernel, width) for i, j in pairs])


@every_kernel
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("method", ["monte-carlo", "multiplier"])
def test_unbiased_estimator_is_that_of_loops(monkeypatch, kernel, n_classes, method):
    y, proba = draw(n_classes)
    options = {"kernel": kernel, "method": method, "n_resamples": 20}
    result = skce_test(y, proba, **options)
    expected = brute_force(y, proba, kernel, result.bandwidth)
    assert result.statistic == pytest.approx(expected, rel=1e-11)
    for tile in (1, 7, 39):
        monkeypatch.setattr(kernels, "TILE", tile)
        monkeypatch.setattr(_skce, "TILE", tile)
        blockwise = skce_test(y, proba, **options)
        assert blockwise.statistic == pytest.approx(expected, rel=1e-11)
        assert blockwise.pvalue == result.pvalue


@every_kernel
def test_default_bandwidth_is_the_median_distance(kernel):
    y, proba = draw(3)
    distances = [math.dist(a, b) for a, b in itertools.combinations(proba, 2)]
    result = skce_test(y, proba, kernel=kernel, n_resamples=1)
    assert result.bandwidth == pytest.approx(np.median(distances), rel=1e-12)
    given = skce_test(y, proba, kernel=kernel, bandwidth=0.07, n_resamples=1)
    assert given.bandwidth == 0.07
    assert given.statistic == pytest.approx(brute_force(y, proba, kernel, 0.07))


def test_bandwidth_with_ties_and_many_rows():
    assert skce_test([0, 1, 0], [0.3, 0.3, 0.3]).bandwidth == 1.0
    tied = skce_test([0, 1, 0, 1], [0.3, 0.3, 0.3, 0.5])
    assert tied.bandwidth == pytest.approx(0.2)
    rng = np.random.default_rng(1)
    f = rng.random(3000)
    many = skce_test(rng.random(3000) < f, f, estimator="linear")
    # The median distance of two uniform numbers is 1 - 1 / sqrt(2).
    assert many.bandwidth == pytest.approx(1 - math.sqrt(0.5), abs=0.01)


@every_kernel
@pytest.mark.parametrize("n_classes", [2, 3])
def test_monte_carlo_pvalue_is_that_of_enumeration(kernel, n_classes):
    y, proba = draw(n_classes, n=8 if n_classes == 2 else 5, seed=3)
    result = skce_test(y, proba, kernel=kernel, n_resamples=4999)
    columns = np.column_stack([1 - proba, proba]) if n_classes == 2 else proba
    exact = 0.0
    for other in itertools.product(range(n_classes), repeat=len(y)):
        value = brute_force(np.array(other), proba, kernel, result.bandwidth)
        if value >= result.statistic - 1e-12:
            exact += math.prod(p[k] for p, k in zip(columns, other, strict=True))
    # 5 standard errors of 4,999 draws: wrongly fails with probability 6e-7
    error = math.sqrt(exact * (1 - exact) / 4999)
    assert result.pvalue == pytest.approx(exact, abs=5 * error + 4e-4)


def test_multiplier_pvalue_is_that_of_every_sign():
    y, proba = draw(3, n=8, seed=4)
    result = skce_test(y, proba, method="multiplier", n_resamples=4999)
    f, r = rows(y, proba)
    values = [
        np.mean(
            [
                s[i] * s[j] * term(f, r, i, j, "gaussian", result.bandwidth)
                for i, j in itertools.combinations(range(8), 2)
            ]
        )
        for s in itertools.product((-1, 1), repeat=8)
    ]
    exact = np.mean(np.array(values) >= result.statistic - 1e-12)
    # 5 standard errors of 4,999 draws: wrongly fails with probability 6e-7
    error = math.sqrt(exact * (1 - exact) / 4999)
    assert result.pvalue == pytest.approx(exact, abs=5 * error + 4e-4)


# -- disjoint pairs ---------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_estimates_the_same(n_classes):
    y, proba = draw(n_classes, n=41)
    expected = skce_test(y, proba, n_resamples=1).statistic
    values = [
        skce_test(y, proba, estimator="linear", random_state=seed).statistic
        for seed in range(1000)
    ]
    # 5 standard errors: a right implementation fails with probability 6e-7
    assert abs(np.mean(values) - expected) < 5 * np.std(values) / math.sqrt(1000)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_with_one_pair(n_classes):
    y, proba = draw(n_classes, n=2, seed=5)
    labels = range(n_classes)
    result = skce_test(y, proba, labels=labels, estimator="linear", bandwidth=0.3)
    f, r = rows(y, proba)
    assert result.statistic == pytest.approx(term(f, r, 0, 1, "gaussian", 0.3))
    columns = np.column_stack([1 - proba, proba]) if n_classes == 2 else proba
    variance = 0.0
    for other in itertools.product(range(n_classes), repeat=2):
        chance = math.prod(p[k] for p, k in zip(columns, other, strict=True))
        f, r = rows(np.array(other), proba)
        variance += chance * term(f, r, 0, 1, "gaussian", 0.3) ** 2
    z = result.statistic / math.sqrt(variance)
    assert result.pvalue == pytest.approx(math.erfc(z / math.sqrt(2)) / 2, rel=1e-9)


# -- level ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "n_classes", "n_draws"),
    [
        ("unbiased", 2, 500),
        ("unbiased", 3, 300),
        ("linear", 2, 1000),
        ("linear", 3, 500),
    ],
)
@pytest.mark.simulation
def test_level(estimator, n_classes, n_draws):
    rng = np.random.default_rng(6)
    count = 0
    for seed in range(n_draws):
        proba = rng.dirichlet(np.ones(n_classes), 100)
        y = (rng.random((100, 1)) > proba.cumsum(axis=1)).sum(axis=1)
        result = skce_test(
            y,
            proba if n_classes > 2 else proba[:, 1],
            labels=range(n_classes),
            estimator=estimator,
            n_resamples=99,
            random_state=seed,
        )
        count += result.pvalue <= 0.05
    # 3 standard errors: a size of exactly 5 % fails with probability 0.003
    assert abs(count / n_draws - 0.05) < 3 * math.sqrt(0.05 * 0.95 / n_draws)


def test_rare_events_break_the_multipliers_and_not_monte_carlo():
    rng = np.random.default_rng(7)
    rejected = np.zeros(2)
    for seed in range(200):
        f = rng.beta(0.2, 9.8, 30)
        y = (rng.random(30) < f).astype(int)
        rejected += [
            skce_test(y, f, method=m, n_resamples=99, random_state=seed).pvalue <= 0.05
            for m in ("monte-carlo", "multiplier")
        ]
    # 3 standard errors: a size of 5 % fails with probability 0.004
    assert rejected[0] / 200 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 200)
    assert rejected[1] / 200 > 0.5


# -- properties -------------------------------------------------------------------

VARIANTS = [
    {"method": "monte-carlo", "n_resamples": 99},
    {"method": "multiplier", "n_resamples": 99},
    {"estimator": "linear"},
]
every_variant = pytest.mark.parametrize(
    "options", VARIANTS, ids=["monte-carlo", "multiplier", "linear"]
)


@every_variant
@pytest.mark.parametrize("digits", [None, 1])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_w13_row_order_is_immaterial(options, digits, n_classes):
    y, proba = draw(n_classes, n=61, seed=8, digits=digits)
    expected = skce_test(y, proba, **options)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(y))
        assert skce_test(y[order], proba[order], **options) == expected


@every_variant
def test_seeds(options):
    y, proba = draw(2, seed=9)

    def result(seed):
        return skce_test(y, proba, random_state=seed, **options)

    assert result(1) == result(1)
    assert result(np.random.RandomState(1)) == result(np.random.RandomState(1))
    assert len({result(seed).pvalue for seed in range(10)}) > 1


@every_variant
def test_c5_forecasts_of_zero_and_one(options):
    p = np.array([0, 1, 1, 0])
    assert skce_test(p, p, **options).pvalue == 1.0
    assert skce_test([1, 1, 1, 0], p, **options).pvalue == 0.0
    certain = np.eye(3)[[0, 1, 2, 0]]
    assert skce_test([0, 1, 2, 0], certain, **options).pvalue == 1.0
    wrong = skce_test([0, 1, 1, 0], certain, labels=[0, 1, 2], **options)
    assert wrong.pvalue == 0.0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_without_a_chance_are_not_drawn(n_classes):
    # Every outcome drawn from these forecasts is the same.
    proba = np.tile(np.eye(n_classes)[0], (6, 1))
    drawn = _skce._draw_outcomes(proba, 50, np.random.default_rng(0))
    assert (drawn == 0).all()


def test_drawn_classes_have_their_probabilities():
    proba = np.array([[0.2, 0.5, 0.3], [0.0, 0.1, 0.9]])
    drawn = _skce._draw_outcomes(proba, 20_000, np.random.default_rng(0))
    share = (drawn[:, :, None] == np.arange(3)).mean(axis=1)
    # 5 standard errors of 20,000 draws at most: fails with probability 4e-6
    assert np.abs(share - proba).max() < 5 * math.sqrt(0.25 / 20_000)


def test_miscalibration_is_found():
    rng = np.random.default_rng(10)
    proba = rng.dirichlet(np.ones(3), 300)
    y = (rng.random((300, 1)) > proba.cumsum(axis=1)).sum(axis=1)
    bold = proba**3 / np.sum(proba**3, axis=1, keepdims=True)
    assert skce_test(y, bold, n_resamples=199).pvalue == 1 / 200
    assert skce_test(y, bold, n_resamples=199, multiclass="confidence").pvalue < 0.05
    assert skce_test(y, bold, estimator="linear").pvalue < 0.05


def test_confidence():
    y, proba = draw(3)
    right = proba.argmax(axis=1) == y
    result = skce_test(y, proba, multiclass="confidence", n_resamples=99)
    assert result == skce_test(right, proba.max(axis=1), n_resamples=99)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"estimator": "biased"}, "estimator"),
        ({"kernel": "rbf"}, "kernel"),
        ({"method": "bootstrap"}, "method"),
        ({"bandwidth": 0}, "bandwidth"),
        ({"n_resamples": 0}, "n_resamples"),
        ({"multiclass": "classwise"}, "multiclass"),
    ],
)
def test_options_are_checked(options, name):
    with pytest.raises(ValueError, match=name):
        skce_test([0, 1], [0.2, 0.7], **options)


def test_one_row_is_refused():
    with pytest.raises(ValueError, match="at least 2"):
        skce_test([1], [0.3])
