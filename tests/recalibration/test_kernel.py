"""Kernel calibration against double loops, refits and the exact sums of its grid."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import expit, logit, softmax
from sklearn.metrics import log_loss

import skcal.recalibration._kernel_grid as grid
import skcal.recalibration._kernel_rows as by_row
from skcal.recalibration._kernel import KernelCalibration


def draw(n=200, seed=0, decimals=None):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.6, 0.8, n)
    y = (rng.uniform(size=n) < p**1.5).astype(int)
    return (p if decimals is None else p.round(decimals)), y


def draw_classes(n=80, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(n_classes), n)
    y = (rng.uniform(size=(n, 1)) > proba.cumsum(axis=1)[:, :-1]).sum(axis=1)
    y[:n_classes] = np.arange(n_classes)
    return proba, y


@pytest.mark.parametrize("bandwidth", [0.01, 0.1, 2.0])
def test_beta_kernels_by_double_loop(bandwidth):
    p, y = draw(60)
    weight = np.random.default_rng(1).exponential(size=60)
    ours = KernelCalibration(bandwidth=bandwidth).fit(p, y, sample_weight=weight)
    for at in (0.01, 0.2, 0.5, 0.93):
        above = below = 0.0
        for i in range(60):
            kernel = stats.beta(p[i] / bandwidth + 1, (1 - p[i]) / bandwidth + 1)
            density = weight[i] * kernel.pdf(at)
            above += y[i] * density
            below += density
        assert ours.transform([at])[0, 1] == pytest.approx(above / below, rel=1e-10)


@pytest.mark.parametrize("n_classes", [3, 5])
def test_dirichlet_kernels_by_double_loop(n_classes):
    proba, y = draw_classes(n_classes=n_classes)
    ours = KernelCalibration(bandwidth=0.05).fit(proba, y)
    new = draw_classes(10, n_classes, seed=1)[0]
    for row, repaired in zip(new, ours.transform(new), strict=True):
        density = [stats.dirichlet(p / 0.05 + 1).pdf(row) for p in proba]
        expected = np.bincount(y, density) / np.sum(density)
        assert_allclose(repaired, expected, rtol=1e-10)


def test_blocks_make_no_difference(monkeypatch):
    proba, y = draw_classes(150)
    whole = KernelCalibration(bandwidth=0.05).fit(proba, y)
    expected, left_out = whole.transform(proba), whole.leave_one_out()
    monkeypatch.setattr(by_row, "_BLOCK", 1000)
    assert_allclose(whole.transform(proba), expected, rtol=1e-12)
    assert_allclose(whole.leave_one_out(), left_out, rtol=1e-12)


# -- leaving one out --------------------------------------------------------------


def refits(recalibrator, proba, y):
    rows = np.arange(len(y))
    for i in rows:
        rest = rows != i
        recalibrator.fit(proba[rest], y[rest])
        yield recalibrator.transform(proba[i : i + 1])[0]


@pytest.mark.parametrize("decimals", [None, 1])
@pytest.mark.parametrize("bandwidth", [0.001, 0.05, 1.0])
def test_leave_one_out_is_a_refit_without_the_row(bandwidth, decimals):
    p, y = draw(50, decimals=decimals)
    ours = KernelCalibration(bandwidth=bandwidth).fit(p, y).leave_one_out()
    expected = list(refits(KernelCalibration(bandwidth=bandwidth), p, y))
    assert_allclose(ours, expected, rtol=1e-9, atol=1e-300)


def test_leave_one_out_of_classes_is_a_refit():
    proba, y = draw_classes(60)
    options = {"bandwidth": 0.1, "labels": [0, 1, 2]}
    ours = KernelCalibration(**options).fit(proba, y).leave_one_out()
    assert_allclose(ours, list(refits(KernelCalibration(**options), proba, y)))


def test_leave_one_out_takes_one_of_the_repetitions():
    p, y = draw(40)
    weight = np.random.default_rng(0).integers(0, 4, 40)
    rows = np.repeat(np.arange(40), weight)
    expected = KernelCalibration(bandwidth=0.1).fit(p[rows], y[rows]).leave_one_out()
    ours = KernelCalibration(bandwidth=0.1).fit(p, y, sample_weight=weight)
    counted = np.cumsum(weight > 0)[rows] - 1
    assert_allclose(ours.leave_one_out()[counted], expected, rtol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("times", [20_000, 1e100, 1e-100])
def test_leave_one_out_of_many_equal_rows(n_classes, times):
    """Certain rows: what else has their score counts, and what is far away does not."""
    proba = np.repeat(np.eye(n_classes), 2, axis=0)
    y = np.repeat(np.arange(n_classes), 2)
    y[0] = 1
    ours = KernelCalibration(bandwidth=0.001)
    ours.fit(proba, y, sample_weight=np.full(len(y), times))
    expected = np.eye(n_classes)
    expected[0, :2] = 0.5
    assert_allclose(ours.transform(np.eye(n_classes)), expected, atol=1e-12)
    expected = np.repeat(expected, 2, axis=0)
    if times < 1:
        # All of a row is left out, and what has its score is of the other class.
        expected[:2, :2] = [[1, 0], [0, 1]]
    assert_allclose(ours.leave_one_out(), expected, atol=1e-4)
    assert np.isfinite(KernelCalibration().fit(proba, y, [times] * len(y)).bandwidth_)


def test_leave_one_out_of_isolated_rows():
    p, y = np.array([0.01, 0.02, 0.98, 0.99]), [0, 1, 1, 0]
    ours = KernelCalibration(bandwidth=1e-6).fit(p, y).leave_one_out()[:, 1]
    assert_allclose(ours, [1, 0, 0, 1], atol=1e-300)
    alone = KernelCalibration().fit([0.3], [1]).leave_one_out()
    assert_allclose(alone, [[0.7, 0.3]])


def test_bandwidth_has_the_least_left_out_loss():
    p, y = draw(400)
    found = KernelCalibration().fit(p, y)

    def loss(bandwidth):
        left_out = KernelCalibration(bandwidth=bandwidth).fit(p, y).leave_one_out()
        return log_loss(y, left_out)

    best = loss(found.bandwidth_)
    assert all(best <= loss(h) + 1e-5 for h in np.geomspace(1e-3, 10, 17))


def test_bandwidth_of_classes_and_of_a_part_of_the_rows(monkeypatch):
    proba, y = draw_classes(400)
    whole = KernelCalibration().fit(proba, y).bandwidth_
    assert 0.01 < whole < 1
    monkeypatch.setattr(by_row, "_MOST_PAIRS", 400 * 130)
    assert 0.2 * whole < KernelCalibration().fit(proba, y).bandwidth_ < 5 * whole


def test_useless_scores_get_the_base_rate():
    rng = np.random.default_rng(0)
    ours = KernelCalibration().fit(rng.uniform(size=500), rng.uniform(size=500) < 0.3)
    assert ours.bandwidth_ > 1
    assert_allclose(ours.transform([0.1, 0.5, 0.9])[:, 1], 0.3, atol=0.1)


# -- the grid ---------------------------------------------------------------------


@pytest.mark.parametrize("bandwidth", [1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0])
def test_grid_equals_the_sums_row_by_row(bandwidth, monkeypatch):
    p, y = draw(3000)
    p[:5] = [0, 1, 1e-9, 1e-5, 1 - 1e-9]
    gridded = KernelCalibration(bandwidth=bandwidth).fit(p, y)
    monkeypatch.setattr(grid, "_MANY_SCORES", np.inf)
    exact = KernelCalibration(bandwidth=bandwidth).fit(p, y)
    assert gridded._grid is not None
    assert exact._grid is None
    new = np.concatenate([np.linspace(0, 1, 201), [1e-12, 1e-7, 1e-4, 1 - 1e-6]])
    assert_allclose(gridded.transform(new), exact.transform(new), atol=5e-6)
    assert_allclose(gridded.leave_one_out(), exact.leave_one_out(), atol=5e-6)


def test_grid_finds_the_same_bandwidth(monkeypatch):
    p, y = draw(2000, seed=3)
    gridded = KernelCalibration().fit(p, y)
    monkeypatch.setattr(grid, "_MANY_SCORES", np.inf)
    exact = KernelCalibration().fit(p, y)
    assert gridded.bandwidth_ == pytest.approx(exact.bandwidth_, rel=1e-3)


def test_grid_beyond_its_reach(monkeypatch):
    z = np.random.default_rng(0).normal(0, 30, 2000)
    y = (np.random.default_rng(1).uniform(size=2000) < expit(z / 20)).astype(int)
    new = np.linspace(-120, 120, 97)
    gridded = KernelCalibration(bandwidth=0.1, input="logits").fit(z, y)
    monkeypatch.setattr(grid, "_MANY_SCORES", np.inf)
    exact = KernelCalibration(bandwidth=0.1, input="logits").fit(z, y)
    assert_allclose(gridded.transform(new), exact.transform(new), atol=1e-5)


@pytest.mark.parametrize("size", [0.01, 1.0])
def test_grid_leaves_out_weights_below_one(size, monkeypatch):
    """A kernel at its own centre may be higher than a sum of faint ones."""
    p, y = draw(2000, seed=3)
    weight = size * np.random.default_rng(1).exponential(size=2000)
    gridded = KernelCalibration(bandwidth=3e-4).fit(p, y, sample_weight=weight)
    chosen = KernelCalibration().fit(p, y, sample_weight=np.full(2000, size / 2000))
    assert gridded._grid is not None
    monkeypatch.setattr(grid, "_MANY_SCORES", np.inf)
    exact = KernelCalibration(bandwidth=3e-4).fit(p, y, sample_weight=weight)
    assert_allclose(gridded.leave_one_out(), exact.leave_one_out(), atol=5e-6)
    assert chosen.bandwidth_ == pytest.approx(
        KernelCalibration().fit(p, y).bandwidth_, rel=1e-3
    )


def test_grid_with_weights_is_repetition():
    p, y = draw(2500, decimals=4)
    weight = np.random.default_rng(0).integers(0, 4, 2500)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(2500), weight))
    expected = KernelCalibration().fit(p[rows], y[rows])
    ours = KernelCalibration().fit(p, y, sample_weight=weight)
    assert ours._grid is not None
    assert_allclose(ours.transform(p), expected.transform(p), rtol=1e-6)


# -- what all share ---------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_order_and_repetition(n_classes):
    proba, y = draw_classes(80, n_classes)
    proba = proba.round(1)
    proba /= proba.sum(axis=1, keepdims=True)
    weight = np.random.default_rng(0).integers(1, 4, 80)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(80), weight))
    expected = KernelCalibration().fit(proba, y, sample_weight=weight)
    ours = KernelCalibration().fit(proba[rows], y[rows])
    assert ours.bandwidth_ == pytest.approx(expected.bandwidth_)
    assert_allclose(ours.transform(proba), expected.transform(proba), rtol=1e-8)


def test_weights_that_sum_to_one_choose_the_same_bandwidth():
    p, y = draw(300)
    expected = KernelCalibration().fit(p, y).bandwidth_
    ours = KernelCalibration().fit(p, y, sample_weight=np.full(300, 1 / 300))
    assert ours.bandwidth_ == pytest.approx(expected)


def test_two_rows_perfect_and_reversed_scores_c3():
    ours = KernelCalibration().fit([0, 1], [0, 1])
    assert_allclose(ours.transform([0.0, 1.0]).sum(axis=1), 1)
    p, _ = draw(100)
    perfect = KernelCalibration().fit(p, p > 0.5).transform(p)[:, 1]
    assert log_loss(p > 0.5, perfect) < 0.1
    turned = KernelCalibration().fit(p, p < 0.5).transform(p)[:, 1]
    assert log_loss(p < 0.5, turned) < 0.1
    constant = KernelCalibration().fit(np.full(100, 0.3), np.arange(100) < 40)
    assert_allclose(constant.transform([0.3, 0.0, 1.0])[:, 1], 0.4)


def test_absent_classes_keep_their_share_c2():
    proba, y = draw_classes(100)
    y = y % 2
    ours = KernelCalibration(labels=[0, 1, 2], bandwidth=0.1).fit(proba, y)
    for repaired in (ours.transform(proba), ours.leave_one_out()):
        assert_allclose(repaired[:, 2], proba[:, 2], rtol=1e-12)
        assert_allclose(repaired.sum(axis=1), 1)
    one = KernelCalibration(labels=[0, 1, 2]).fit(proba, np.ones(100, dtype=int))
    assert_allclose(one.transform(proba), proba, rtol=1e-12)
    assert_allclose(one.leave_one_out(), proba, rtol=1e-12)


def test_float32_and_logits():
    proba, y = draw_classes(100)
    repaired = KernelCalibration().fit(proba.astype(np.float32), y)
    expected = KernelCalibration().fit(proba, y).transform(proba)
    single = repaired.transform(proba.astype(np.float32))
    assert single.dtype == np.float32
    assert_allclose(single, expected, atol=1e-4)
    ours = KernelCalibration(input="logits").fit(3 + np.log(proba), y)
    assert_allclose(ours.transform(3 + np.log(proba)), expected, rtol=1e-8)


def test_extreme_logits_stay_finite():
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 60, (200, 3))
    y = (softmax(logits / 40, axis=1).cumsum(axis=1)[:, :2] < 0.5).sum(axis=1)
    for bandwidth in (None, 1e-8, 1e4):
        ours = KernelCalibration(bandwidth=bandwidth, input="logits").fit(logits, y)
        for repaired in (ours.transform(10 * logits), ours.leave_one_out()):
            assert np.isfinite(repaired).all()
            assert_allclose(repaired.sum(axis=1), 1)


def test_pickle_holds_the_training_rows():
    p, y = draw(2000)
    ours = KernelCalibration().fit(p, y)
    restored = pickle.loads(pickle.dumps(ours))
    assert_array_equal(restored.transform(p), ours.transform(p))
    assert_array_equal(restored.leave_one_out(), ours.leave_one_out())


def test_repairs():
    p, y = draw(20_000)
    grid = np.linspace(0.05, 0.95, 19)
    repaired = KernelCalibration().fit(p, y).transform(grid)[:, 1]
    assert_allclose(repaired, grid**1.5, atol=0.05)
    assert logit(repaired[9]) < logit(grid[9])
