"""Binned errors against hand-made values, loops, peers and their expectations."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import skcal
from skcal.metrics import binned_ece
from tests.references import binned_ece_reference

NORMS = ["l1", "l2", "max"]
STRATEGIES = ["uniform", "quantile"]


def draw(seed=0, n=120, power=2.0):
    rng = np.random.default_rng(seed)
    f = rng.beta(0.8, 0.6, n)
    return f, (rng.random(n) < f**power).astype(int)


# -- by hand ----------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        # two bins: forecasts 0.15 and 0.85, frequencies 1/2 and 1, gaps 0.35 and 0.15
        ({"norm": "l1"}, (0.35 + 0.15) / 2),
        ({"norm": "l2"}, (0.35**2 + 0.15**2) / 2),
        ({"norm": "max"}, 0.35),
        # only the first bin is noisy: 1/2 * 1/2 / (2 - 1)
        ({"norm": "l2", "debias": True}, (0.35**2 - 0.25 + 0.15**2) / 2),
    ],
)
def test_two_bins_by_hand(strategy, options, expected):
    f, y = [0.1, 0.2, 0.8, 0.9], [0, 1, 1, 1]
    value = binned_ece(y, f, n_bins=2, strategy=strategy, **options)
    assert value == pytest.approx(expected, rel=1e-12)
    assert type(value) is float


def test_bins_count_by_their_rows():
    # 1 row with gap 0.9, 3 rows with gap 0.2
    value = binned_ece([1, 1, 1, 1], [0.1, 0.8, 0.8, 0.8], n_bins=2)
    assert value == pytest.approx((0.9 + 3 * 0.2) / 4, rel=1e-12)


def test_default_has_15_uniform_bins_and_no_root():
    f, y = draw()
    expected = binned_ece_reference(f, y, n_bins=15, strategy="uniform", norm="l1")
    assert binned_ece(y, f) == pytest.approx(expected, rel=1e-12)


def test_an_edge_belongs_to_the_bin_on_its_right():
    # 0.3 sits with 0.35, though 3 * 0.1 > 0.3 in floating point
    value = binned_ece([1, 0, 1], [0.25, 0.3, 0.35], n_bins=10)
    assert value == pytest.approx((0.75 + 2 * (0.5 - 0.325)) / 3, rel=1e-12)


def test_every_edge_belongs_to_the_bin_on_its_right():
    for n_bins in range(2, 41):
        for k in range(1, n_bins):
            f = np.array([k - 0.5, k, k + 0.5]) / n_bins
            expected = binned_ece_reference(f, [0, 1, 1], n_bins=n_bins)
            value = binned_ece([0, 1, 1], f, n_bins=n_bins)
            assert value == pytest.approx(expected, rel=1e-12), (k, n_bins)


def test_one_belongs_to_the_last_bin():
    # torchmetrics 1.9.0 gives 1.0 a bin of its own, and 0.525 here
    value = binned_ece([0, 1], [1.0, 0.95], n_bins=10)
    assert value == pytest.approx(0.975 - 0.5, rel=1e-12)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("norm", NORMS)
def test_perfect_forecast_is_zero(norm, strategy):
    y = [0, 1, 1, 0, 1]
    value = binned_ece(y, np.array(y, dtype=float), norm=norm, strategy=strategy)
    assert value == 0.0


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("n_bins", [1, 2, 15, 1000])
def test_constant_forecast(n_bins, strategy, p):
    # all quantile edges coincide, still |q - p|
    value = binned_ece([0, 1, 0, 1], np.full(4, p), n_bins=n_bins, strategy=strategy)
    assert value == pytest.approx(abs(0.5 - p), rel=1e-12)


# -- quantile bins ----------------------------------------------------------------


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n_bins", [1, 2, 5, 8, 40, 120])
def test_quantile_bins_have_equal_counts(n_bins, norm):
    f, y = draw()
    order = np.argsort(f)
    chunks = np.array_split(order, n_bins)  # 120 rows split evenly
    gaps = np.array([abs(np.mean(y[c]) - np.mean(f[c])) for c in chunks])
    expected = {"l1": gaps.mean(), "l2": np.mean(gaps**2), "max": gaps.max()}[norm]
    value = binned_ece(y, f, n_bins=n_bins, strategy="quantile", norm=norm)
    assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n_bins", [3, 15, 50])
def test_few_distinct_values_get_a_quantile_bin_each(n_bins, norm):
    # a third of the rows at each value, so 2 edges of 3 bins separate them; more bins
    # collapse
    f = np.repeat([0.2, 0.5, 0.8], 10)
    y = np.r_[np.arange(10) < 1, np.arange(10) < 6, np.arange(10) < 6].astype(int)
    gaps = np.array([0.1, 0.1, 0.2])
    expected = {"l1": gaps.mean(), "l2": np.mean(gaps**2), "max": 0.2}[norm]
    value = binned_ece(y, f, n_bins=n_bins, strategy="quantile", norm=norm)
    assert value == pytest.approx(expected, rel=1e-12)


def test_quantile_bins_never_split_equal_values():
    # 0.5 covers the middle of the sample; wherever the one edge falls, the 0.5s stay
    # together, and so the labels among them can be dealt out in any order
    f = np.repeat([0.1, 0.5, 0.9], [3, 6, 3])
    y = np.array([0, 0, 1, 0, 0, 0, 1, 1, 1, 1, 1, 0])
    values = set()
    for middle in itertools.permutations(y[3:9]):
        y[3:9] = middle
        values.add(round(binned_ece(y, f, n_bins=2, strategy="quantile"), 12))
    assert len(values) == 1


@pytest.mark.parametrize("copies", [1, 2, 3, 7])
@pytest.mark.parametrize("n", [47, 49, 55])
def test_a_row_in_the_middle_goes_to_the_right_quantile_bin(n, copies):
    # The middle row's share is exactly 1/2, an edge. As 24.5 * (2 / 49) < 1 in floating
    # point, it could go either way with the number of rows or copies of each.
    f = np.repeat((np.arange(n) + 0.5) / n, copies)
    y = np.repeat(np.arange(n) % 3 == 0, copies).astype(int)
    halves = f < 0.499, f >= 0.499
    expected = sum(np.mean(h) * abs(np.mean((y - f)[h])) for h in halves)
    value = binned_ece(y, f, n_bins=2, strategy="quantile")
    assert value == pytest.approx(expected, rel=1e-12)


# -- against the loops ------------------------------------------------------------


MEASURES = [*({"norm": norm} for norm in NORMS), {"norm": "l2", "debias": True}]


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("n_bins", [1, 7, 15, 300])
@pytest.mark.parametrize("weighted", [False, True])
def test_loops(weighted, n_bins, strategy, measure):
    f, y = draw(1)
    f[:6] = [0.0, 0.0, 1.0, 1.0, 0.5, 0.2]
    f[30:] = f[30:].round(1)  # with ties
    w = np.random.default_rng(2).exponential(2, len(f)) if weighted else None
    options = {"n_bins": n_bins, "strategy": strategy, **measure}
    expected = binned_ece_reference(f, y, w=w, **options)
    value = binned_ece(y, f, sample_weight=w, **options)
    assert value == pytest.approx(expected, rel=1e-12)


decimals = st.integers(0, 60).map(lambda k: k / 60)
samples = st.lists(st.tuples(decimals, st.booleans()), min_size=1, max_size=30)


@settings(deadline=None, max_examples=100)
@given(
    rows=samples,
    n_bins=st.integers(1, 60),
    strategy=st.sampled_from(STRATEGIES),
    norm=st.sampled_from(NORMS),
)
def test_any_sample(rows, n_bins, strategy, norm):
    f, y = map(np.array, zip(*rows, strict=True))
    options = {"n_bins": n_bins, "strategy": strategy, "norm": norm}
    value = binned_ece(y.astype(int), f, **options)
    expected = binned_ece_reference(f, y, **options)
    assert value == pytest.approx(expected, rel=1e-12, abs=1e-15)


# -- against other packages -------------------------------------------------------


def golden_sample():
    """200 rows that any package can be given: no random generator, no edge hit."""
    i = np.arange(1, 201)
    f = (i * (math.sqrt(5) - 1) / 2) % 1
    return f, ((i * math.sqrt(2)) % 1 < f**1.5).astype(int)


@pytest.mark.parametrize(
    ("n_bins", "norm", "expected"),
    [
        # netcal 1.4.0: ECE(bins=n_bins).measure(f, y), MCE(...) for "max"; and
        # torchmetrics 1.9.0: binary_calibration_error(f, y, n_bins, norm) in float64,
        # the same to the last digit. Its "l2" takes a root, squared here.
        (10, "l1", 0.10241586936443772),
        (10, "l2", 0.12545815597454704**2),
        (10, "max", 0.19954815867683828),
        (15, "l1", 0.12156615061706504),
        (15, "l2", 0.14620688686221064**2),
        (15, "max", 0.2596385897973926),
    ],
)
def test_binary_peers(n_bins, norm, expected):
    f, y = golden_sample()
    value = binned_ece(y, f, n_bins=n_bins, norm=norm)
    assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("norm", "expected", "rel"),
    [
        # netcal 1.4.0: ECE(bins=15).measure(proba, y)
        ("l1", 0.19816063338808443, 1e-12),
        # torchmetrics 1.9.0: multiclass_calibration_error(proba, y, num_classes=3,
        # n_bins=15, norm=norm), which computes in float32; "l2" squared here
        ("l1", 0.1981605440378189, 1e-6),
        ("l2", 0.22664134204387665**2, 1e-6),
        ("max", 0.4768366515636444, 1e-6),
    ],
)
def test_multiclass_peers(norm, expected, rel):
    i = np.arange(1, 201)
    logits = 3 * np.sin(np.outer(i, np.sqrt([1, 2, 3])))
    proba = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    right = (i * math.sqrt(2)) % 1 < 0.6
    y = np.where(right, proba.argmax(axis=1), (i * 7919) % 3)
    assert binned_ece(y, proba, norm=norm) == pytest.approx(expected, rel=rel)


# -- the number of bins -----------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    ("rule", "n", "n_bins"),
    [
        ("sqrt", 1, 1),
        ("sqrt", 99, 10),
        ("sqrt", 100, 10),
        ("sqrt", 101, 11),
        ("cbrt", 1, 1),
        ("cbrt", 27, 3),
        ("cbrt", 28, 4),
        # 64 ** (1 / 3) and 1000 ** (1 / 3) fall just short of 4 and 10
        ("cbrt", 64, 4),
        ("cbrt", 125, 5),
        ("cbrt", 999, 10),
        ("cbrt", 1000, 10),
        ("cbrt", 1001, 11),
        (lambda n: n // 20, 400, 20),
    ],
)
def test_number_of_bins_from_the_number_of_rows(rule, n, n_bins, strategy):
    f, y = draw(4, n)
    options = {"norm": "l2", "strategy": strategy}
    value = binned_ece(y, f, n_bins=rule, **options)
    assert value == binned_ece(y, f, n_bins=n_bins, **options)
    if n > 1:  # else one bin more makes no difference
        other = binned_ece(y, f, n_bins=n_bins + 1, **options)
        assert value != pytest.approx(other, rel=1e-6)


@pytest.mark.parametrize("n_bins", [0, -1, 2.5, "fourth root", lambda n: 0])
def test_senseless_number_of_bins(n_bins):
    with pytest.raises((ValueError, TypeError), match="n_bins"):
        binned_ece([0, 1], [0.2, 0.7], n_bins=n_bins)


# -- bias -------------------------------------------------------------------------


def expectation_under_calibration(f, **options):
    """Exact mean of the measure over all outcomes y_i ~ Bernoulli(f_i)."""
    total = 0.0
    for y in itertools.product([0, 1], repeat=len(f)):
        probability = math.prod(p if o else 1 - p for p, o in zip(f, y, strict=True))
        total += probability * binned_ece(y, f, **options)
    return total


def test_debiased_is_unbiased():
    # equal forecasts in each bin, one bin with a single row
    f = [0.3, 0.3, 0.3, 0.55, 0.8, 0.8]
    mean = expectation_under_calibration(f, n_bins=5, norm="l2", debias=True)
    assert mean == pytest.approx(0, abs=1e-15)
    # not so the plain one: sum_b (n_b / n) f_b (1 - f_b) / n_b
    mean = expectation_under_calibration(f, n_bins=5, norm="l2")
    assert mean == pytest.approx((0.21 + 0.2475 + 0.16) / 6, rel=1e-12)


def draws_of_calibrated_uniforms(n, n_draws):
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        f = rng.random(n)
        yield f, (rng.random(n) < f).astype(int)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_debiased_mean_under_calibration(strategy):
    # Forecasts that differ within a bin leave -1 / (12 K n) = -3e-5 (their variance
    # passes for noise), far below the standard error. 4 of those: a right
    # implementation fails with probability 6e-5.
    values = [
        binned_ece(y, f, norm="l2", debias=True, strategy=strategy)
        for f, y in draws_of_calibrated_uniforms(200, 1000)
    ]
    assert abs(np.mean(values)) < 4 * np.std(values) / np.sqrt(len(values))


@pytest.mark.parametrize("n", [40, 150])
def test_plain_mean_under_calibration(n):
    # Lemma 4.1 of the rankECE paper, K = 10, within 4 standard errors (wrongly fails
    # with probability 6e-5)
    values = [
        binned_ece(y, f, norm="l2", n_bins=10)
        for f, y in draws_of_calibrated_uniforms(n, 1500)
    ]
    expected = 10 / (6 * n) * (1 - (1 - 1 / 10) ** n)
    standard_error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - expected) < 4 * standard_error


@pytest.mark.parametrize("norm", ["l1", "max"])
def test_only_the_squared_error_is_debiased(norm):
    with pytest.raises(ValueError, match="debias"):
        binned_ece([0, 1], [0.2, 0.7], norm=norm, debias=True)


# -- properties -------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("n_bins", [1, 15])
def test_norms_are_ordered(n_bins, strategy):
    f, y = draw(5)
    l1, l2, worst = (
        binned_ece(y, f, n_bins=n_bins, strategy=strategy, norm=norm) for norm in NORMS
    )
    if n_bins == 1:
        assert l2 == pytest.approx(l1**2, rel=1e-12)
        assert worst == pytest.approx(l1, rel=1e-12)
    else:
        # the triangle inequality; Jensen, strict as the gaps differ
        assert abs(np.mean(y - f)) <= l1 + 1e-12
        assert l1 < math.sqrt(l2) < worst <= 1


@pytest.mark.parametrize("debias", [False, True])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_order_of_rows_is_immaterial(strategy, debias):
    f, y = draw(6)
    f = f.round(2)  # with ties
    options = {"norm": "l2", "strategy": strategy, "debias": debias}
    value = binned_ece(y, f, **options)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(f))
        shuffled = binned_ece(y[order], f[order], **options)
        assert shuffled == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("n_bins", [8, "sqrt", "cbrt"])
@pytest.mark.parametrize("digits", [None, 1])
def test_weight_is_repetition_and_zero_is_absence(digits, n_bins, strategy, measure):
    f, y = draw(7)
    f = f if digits is None else f.round(digits)
    w = np.random.default_rng(8).integers(0, 4, len(f))
    options = {"n_bins": n_bins, "strategy": strategy, **measure}
    weighted = binned_ece(y, f, sample_weight=w, **options)
    repeated = binned_ece(np.repeat(y, w), np.repeat(f, w), **options)
    assert weighted == pytest.approx(repeated, rel=1e-12)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_unit_of_weight_is_immaterial(strategy, norm):
    f, y = draw(9)
    w = np.random.default_rng(10).integers(1, 4, len(f))
    options = {"strategy": strategy, "norm": norm, "n_bins": 8}
    value = binned_ece(y, f, sample_weight=w, **options)
    scaled = binned_ece(y, f, sample_weight=0.125 * w, **options)
    assert scaled == pytest.approx(value, rel=1e-12)


# -- input forms ------------------------------------------------------------------


def draw_multiclass(seed=11, n=150, n_classes=3):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(n_classes), n)
    return rng.integers(0, n_classes, n), proba


@pytest.mark.parametrize("norm", NORMS)
def test_multiclass_confidence(norm):
    y, proba = draw_multiclass()
    correct = (proba.argmax(axis=1) == y).astype(int)
    expected = binned_ece(correct, proba.max(axis=1), norm=norm)
    assert binned_ece(y, proba, norm=norm) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("norm", NORMS)
def test_multiclass_classwise(norm):
    y, proba = draw_multiclass()
    one_vs_rest = [
        binned_ece((y == k).astype(int), proba[:, k], norm=norm) for k in range(3)
    ]
    value = binned_ece(y, proba, norm=norm, multiclass="classwise")
    assert value == pytest.approx(np.mean(one_vs_rest), rel=1e-12)


def test_binary_forms_agree():
    f, y = draw(12)
    value = binned_ece(y, f)
    both = np.column_stack([1 - f, f])
    assert binned_ece(y, both) == pytest.approx(value, rel=1e-12)
    words = np.where(y == 1, "spam", "ham")
    assert binned_ece(words, f, pos_label="spam") == value


def test_importable_from_the_top():
    assert skcal.binned_ece is binned_ece
