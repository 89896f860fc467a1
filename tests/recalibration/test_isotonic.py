"""Isotonic calibration against scikit-learn, quadratic programs and definitions."""

import itertools
import pickle
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss, roc_auc_score

from skcal.recalibration._isotonic import IsotonicCalibration


def draw(n=300, seed=0, decimals=None):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.7, 0.9, n)
    y = (rng.uniform(size=n) < expit(0.6 * logit(p) - 0.3)).astype(int)
    return (p if decimals is None else p.round(decimals)), y


def event(recalibrator, p):
    return recalibrator.transform(p)[:, 1]


# -- the plain map ----------------------------------------------------------------


@pytest.mark.parametrize("decimals", [None, 1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_scikit_learn_everywhere(decimals, weighted):
    p, y = draw(decimals=decimals)
    weight = np.random.default_rng(1).exponential(size=len(y)) if weighted else None
    peer = IsotonicRegression(out_of_bounds="clip").fit(p, y, sample_weight=weight)
    ours = IsotonicCalibration().fit(p, y, sample_weight=weight)
    grid = np.linspace(0, 1, 1001)
    assert_allclose(event(ours, p), peer.predict(p), atol=1e-12)
    assert_allclose(event(ours, grid), peer.predict(grid), atol=1e-12)


def test_pools_ties_first_w12():
    p = [0.0, 0.1, 0.1, 0.2, 0.3]
    y = [0, 0, 1, 0, 1]
    assert_allclose(
        event(IsotonicCalibration().fit(p, y), p), [0, 1 / 3, 1 / 3, 1 / 3, 1]
    )


def best_of_all_partitions(mass, events):
    """Least squares among all non-decreasing step functions, by trying each."""
    n = len(mass)
    best, values = np.inf, None
    for cuts in itertools.product([False, True], repeat=n - 1):
        block = np.concatenate([[0], np.cumsum(cuts)])
        mean = np.bincount(block, events) / np.bincount(block, mass)
        if (np.diff(mean) < 0).any():
            continue
        fitted = mean[block]
        loss = np.sum(mass * fitted**2 - 2 * events * fitted)
        if loss < best - 1e-12:
            best, values = loss, fitted
    return values


@pytest.mark.parametrize("seed", range(5))
def test_is_the_least_squares_fit(seed):
    rng = np.random.default_rng(seed)
    p = np.linspace(0.1, 0.9, 9)
    weight = rng.integers(1, 5, (2, 9)).astype(float)
    expected = best_of_all_partitions(weight.sum(axis=0), weight[1])
    ours = IsotonicCalibration().fit(
        np.tile(p, 2), np.repeat([0, 1], 9), sample_weight=weight.ravel()
    )
    assert_allclose(event(ours, p), expected, atol=1e-12)


def test_pseudo_count_is_two_more_rows():
    p, y = draw(80)
    ours = IsotonicCalibration(pseudo_count=0.7).fit(p, y)
    # An event just below all, a non-event just above.
    q = np.concatenate([[p.min() - 1e-9], p, [p.max() + 1e-9]])
    weight = np.concatenate([[0.7], np.ones(80), [0.7]])
    peer = IsotonicRegression().fit(q, np.concatenate([[1], y, [0]]), weight)
    assert_allclose(event(ours, p), peer.predict(p), atol=1e-12)


@pytest.mark.parametrize("centered", [False, True])
def test_pseudo_count_keeps_out_0_and_1(centered):
    p, y = draw()
    plain = event(IsotonicCalibration(centered=centered).fit(p, y), p)
    kept = event(IsotonicCalibration(centered=centered, pseudo_count=1).fit(p, y), p)
    assert plain.min() == 0
    assert plain.max() == 1
    assert 1 / 302 <= kept.min() < kept.max() <= 301 / 302
    fresh, truth = draw(2000, seed=1)
    ours = IsotonicCalibration(centered=centered, pseudo_count=1).fit(p, y)
    assert log_loss(truth, event(ours, fresh)) < log_loss(truth, fresh)


# -- the centred map --------------------------------------------------------------


def test_centered_by_hand():
    # Blocks {0.1}, {0.2, 0.4, 0.6}, {0.9} with frequencies 0, 1/3, 1.
    p, y = [0.1, 0.2, 0.4, 0.6, 0.9], [0, 1, 0, 0, 1]
    ours = IsotonicCalibration(centered=True).fit(p, y)
    at = [0.05, 0.1, 0.25, 0.4, 0.65, 0.9, 1.0]
    assert_allclose(event(ours, at), [0, 0, 1 / 6, 1 / 3, 2 / 3, 1, 1], atol=1e-12)


def test_centered_knots_are_the_blocks_means():
    p, y = draw()
    weight = np.random.default_rng(2).exponential(size=len(y))
    ours = IsotonicCalibration(centered=True).fit(p, y, sample_weight=weight)
    fitted = IsotonicRegression().fit(p, y, weight).predict(p)
    _, block = np.unique(fitted.round(9), return_inverse=True)
    total = np.bincount(block, weight)
    assert_allclose(
        expit(ours.calibrators_[0].log_odds), np.bincount(block, weight * p) / total
    )
    assert_allclose(
        ours.calibrators_[0].proba, np.bincount(block, weight * y) / total, atol=1e-12
    )


def test_centered_has_no_plateau_inside():
    p, y = draw()
    ours = IsotonicCalibration(centered=True).fit(p, y)
    ends = expit(ours.calibrators_[0].log_odds[[0, -1]])
    inside = np.linspace(*ends, 500)
    assert (np.diff(event(ours, inside)) > 0).all()


def test_equal_neighbours_are_one_block_whatever_the_rounding():
    # Means 1/3 and 1/3, from weights that round differently.
    p = np.repeat([0.2, 0.6], 2)
    for scale in (1.0, 0.1, 1 / 3, 0.7):
        weight = np.array([1.0, 2.0, 3.0, 6.0]) * scale
        ours = IsotonicCalibration(centered=True).fit(p, [1, 0, 1, 0], weight)
        assert len(ours.calibrators_[0].proba) == 1


# -- the strict map ---------------------------------------------------------------


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("pseudo_count", [0, 1])
def test_strict_keeps_the_order_f10(centered, pseudo_count):
    p, y = draw(600)
    options = {"centered": centered, "pseudo_count": pseudo_count}
    loose = IsotonicCalibration(**options).fit(p, y)
    ours = IsotonicCalibration(strict=True, **options).fit(p, y)
    repaired = event(ours, p)
    assert_array_equal(np.argsort(repaired), np.argsort(p))
    assert roc_auc_score(y, repaired) == roc_auc_score(y, p)
    assert np.abs(repaired - event(loose, p)).max() <= 1e-4
    assert 0 < repaired.min() < repaired.max() < 1


def test_strict_resolves_far_tails():
    z = np.concatenate([-np.geomspace(100, 1e-3, 300), np.geomspace(1e-3, 100, 300)])
    y = np.random.default_rng(0).uniform(size=600) < expit(z)
    ours = IsotonicCalibration(strict=True, input="logits").fit(z, y)
    assert (np.diff(event(ours, z)) > 0).all()


# -- what all maps share ----------------------------------------------------------

OPTIONS = [
    {},
    {"centered": True},
    {"centered": True, "strict": True, "pseudo_count": 1},
    {"pseudo_count": 0.5},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_monotone(options):
    p, y = draw(400, decimals=2)
    grid = np.linspace(0, 1, 20_001)
    assert (np.diff(event(IsotonicCalibration(**options).fit(p, y), grid)) >= 0).all()


@pytest.mark.parametrize("options", OPTIONS)
def test_order_and_repetition(options):
    p, y = draw(200, decimals=2)
    weight = np.random.default_rng(0).integers(0, 4, 200)
    expected = IsotonicCalibration(**options).fit(p, y, sample_weight=weight)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(200), weight))
    ours = IsotonicCalibration(**options).fit(p[rows], y[rows])
    assert_allclose(event(ours, p), event(expected, p), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("centered", [False, True])
def test_linear_in_probability_whatever_the_input(centered):
    p, y = draw()
    grid = np.linspace(0.001, 0.999, 999)
    expected = IsotonicCalibration(centered=centered).fit(p, y)
    ours = IsotonicCalibration(centered=centered, input="logits").fit(logit(p), y)
    assert_allclose(event(ours, logit(grid)), event(expected, grid), atol=1e-12)


def test_logits_beyond_where_probabilities_are_one():
    z = np.array([-100.0, -60, -50, 50, 60, 100])
    y = [0, 1, 0, 1, 0, 1]
    ours = IsotonicCalibration(input="logits").fit(z, y)
    assert_allclose(event(ours, z), [0, 0.5, 0.5, 0.5, 0.5, 1])
    # In probability 80 is all but as far from 60 as 100 is; -80 all but at -100.
    assert_allclose(event(ours, [80.0, -80.0]), [1, 0], atol=1e-8)
    assert_allclose(event(ours, [-60 - np.log(2)]), [0.25])


@pytest.mark.parametrize("options", OPTIONS)
def test_constant_and_reversed_scores(options):
    ours = IsotonicCalibration(**options).fit(np.full(100, 0.3), np.arange(100) < 40)
    assert event(ours, [0.3])[0] == pytest.approx(0.4, abs=5e-3)
    if "strict" not in options:
        assert np.ptp(event(ours, [0.0, 0.3, 1.0])) == 0
    p = np.linspace(0.1, 0.9, 100)
    repaired = event(IsotonicCalibration(**options).fit(p, p < 0.5), p)
    assert_allclose(repaired, 0.5, atol=1e-3)


def test_two_rows_and_perfect_scores_c3():
    ours = IsotonicCalibration().fit([0, 1], [0, 1])
    assert_array_equal(ours.transform([0.0, 1.0]), np.eye(2))
    kept = IsotonicCalibration(pseudo_count=1).fit([0, 1], [0, 1])
    assert_allclose(event(kept, [0.0, 1.0]), 0.5)
    p, _ = draw(100)
    y = p > 0.5
    repaired = event(IsotonicCalibration(pseudo_count=1).fit(p, y), p)
    assert roc_auc_score(y, repaired) == 1
    assert repaired.max() <= (y.sum() + 0.0) / (y.sum() + 1)


def test_one_row_keeps_its_probability():
    # The other class is one that the labels lack.
    ours = IsotonicCalibration().fit([0.3], [1])
    assert_allclose(event(ours, [0.3, 0.7]), [0.3, 0.7])


def test_three_classes_one_against_the_rest():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1, 1, 2], 400)
    y = (rng.uniform(size=(400, 1)) > proba.cumsum(axis=1)[:, :2]).sum(axis=1)
    ours = IsotonicCalibration().fit(proba, y)
    columns = [
        IsotonicRegression(out_of_bounds="clip").fit(proba[:, k], y == k)
        for k in range(3)
    ]
    expected = np.column_stack([c.predict(proba[:, k]) for k, c in enumerate(columns)])
    expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(ours.transform(proba), expected, atol=1e-12)


def test_absent_class_keeps_its_share_c2():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([2, 2, 2], 50)
    ours = IsotonicCalibration(labels=[0, 1, 2]).fit(proba, rng.integers(0, 2, 50))
    columns = ours.transform(proba)
    assert ours.calibrators_[2] is None
    assert (columns[:, 2] > 0).all()
    assert_allclose(columns.sum(axis=1), 1)


def test_float32():
    p, y = draw()
    ours = IsotonicCalibration(centered=True).fit(p.astype(np.float32), y)
    repaired = ours.transform(p.astype(np.float32))
    assert repaired.dtype == np.float32
    expected = IsotonicCalibration(centered=True).fit(p, y).transform(p)
    assert_allclose(repaired, expected, atol=1e-6)


def test_stores_knots_only():
    sizes = []
    for n in (20_000, 160_000):
        p, y = draw(n)
        sizes.append(len(pickle.dumps(IsotonicCalibration().fit(p, y))))
    # The number of steps grows like the cube root.
    assert sizes[1] < 3 * sizes[0]
    assert sizes[1] < 20_000


@pytest.mark.parametrize("pattern", ["alternating", "ramps", "falling"])
def test_adversarial_order_is_not_slow_s1(pattern):
    n = 100_000
    p = np.linspace(0, 1, n)
    rate = {
        "alternating": np.linspace(1, 0, n) * np.tile([1.0, 0.9], n // 2),
        "ramps": np.tile(np.linspace(0, 1, n // 5), 5),
        "falling": np.linspace(1, 0, n),
    }[pattern]
    start = time.perf_counter()
    IsotonicCalibration().fit(
        np.tile(p, 2),
        np.repeat([0, 1], n),
        sample_weight=np.concatenate([1.001 - rate, rate + 0.001]),
    )
    assert time.perf_counter() - start < 5.0


def test_ties_of_a_class_are_ties_whatever_the_other_classes():
    """Shares of votes tie in each class; their odds against the rest are sums."""
    rng = np.random.default_rng(0)
    votes = rng.multinomial(15, [0.4, 0.3, 0.2, 0.1], size=400)
    proba, y = votes / 15, rng.integers(4, size=400)
    expected = np.column_stack(
        [
            IsotonicRegression(out_of_bounds="clip")
            .fit(proba[:, k], y == k)
            .predict(proba[:, k])
            for k in range(4)
        ]
    )
    expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(IsotonicCalibration().fit(proba, y).transform(proba), expected)
