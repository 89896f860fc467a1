"""Histogram binning against loops and hand-made values."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit

from skcal._core.binning import uniform_bins
from skcal.recalibration._histogram import HistogramBinning

STRATEGIES = ["uniform", "quantile"]


def draw(n=300, seed=0, decimals=None):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.7, 0.9, n)
    y = (rng.uniform(size=n) < p**1.5).astype(int)
    return (p if decimals is None else p.round(decimals)), y


def event(recalibrator, p):
    return recalibrator.transform(p)[:, 1]


@pytest.mark.parametrize("n_bins", [1, 7, 10, 15])
@pytest.mark.parametrize("decimals", [None, 1, 2])
def test_uniform_bins_by_loop(n_bins, decimals):
    p, y = draw(decimals=decimals)
    weight = np.random.default_rng(1).exponential(size=len(y))
    ours = HistogramBinning(n_bins=n_bins).fit(p, y, sample_weight=weight)
    index = uniform_bins(p, n_bins)
    expected = np.empty(len(p))
    for b in range(n_bins):
        inside = index == b
        if inside.any():
            expected[inside] = np.average(y[inside], weights=weight[inside])
    assert_allclose(event(ours, p), expected, atol=1e-12)


@pytest.mark.parametrize("n_bins", [3, 5, 10, 15, 30, 49])
def test_an_edge_belongs_to_the_bin_above(n_bins):
    edges = np.arange(1, n_bins) / n_bins
    below = np.nextafter(edges, 0) - 1e-14
    middles = (np.arange(n_bins) + 0.5) / n_bins
    ours = HistogramBinning(n_bins=n_bins, pseudo_count=1).fit(
        middles, np.arange(n_bins) % 2
    )
    in_bins = event(ours, middles)
    assert_array_equal(event(ours, edges), in_bins[1:])
    assert_array_equal(event(ours, below), in_bins[:-1])
    assert_array_equal(event(ours, [0.0, 1.0]), in_bins[[0, -1]])


@pytest.mark.parametrize("n_bins", [1, 4, 15])
def test_quantile_bins_have_equal_numbers_of_rows(n_bins):
    p, y = draw(600)
    ours = HistogramBinning(n_bins=n_bins, strategy="quantile").fit(p, y)
    edges = ours.calibrators_[0].edges
    counts = np.bincount(np.searchsorted(edges, logit(p), side="right"))
    assert_array_equal(counts, 600 // n_bins)
    order = np.argsort(p)
    expected = y[order].reshape(n_bins, -1).mean(axis=1)
    assert_allclose(ours.calibrators_[0].proba, expected)
    # An edge is half way between its neighbours.
    z = np.sort(logit(p)).reshape(n_bins, -1)
    assert_allclose(edges, 0.5 * (z[:-1, -1] + z[1:, 0]))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_equal_scores_share_a_bin(strategy):
    p, y = draw(400, decimals=1)
    ours = HistogramBinning(n_bins=40, strategy=strategy).fit(p, y)
    for value in np.unique(p):
        assert event(ours, [value])[0] == pytest.approx(y[p == value].mean())


def test_empty_bins_leave_scores_as_they_are():
    ours = HistogramBinning(n_bins=4).fit([0.1, 0.2, 0.9, 0.95], [0, 1, 1, 1])
    assert_allclose(event(ours, [0.15, 0.3, 0.45, 0.7, 0.8]), [0.5, 0.3, 0.45, 0.7, 1])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_pseudo_count_shrinks_to_the_mean_score(strategy):
    p, y = [0.1, 0.3, 0.8, 0.9], [0, 0, 1, 1]
    ours = HistogramBinning(n_bins=2, strategy=strategy, pseudo_count=0.5).fit(p, y)
    expected = [0.5 * 0.2 / 2.5, (2 + 0.5 * 0.85) / 2.5]
    assert_allclose(ours.calibrators_[0].proba, expected)
    sharp, _ = draw()
    kept = HistogramBinning(strategy=strategy, pseudo_count=1).fit(sharp, sharp > 0.5)
    assert 0 < event(kept, sharp).min() < event(kept, sharp).max() < 1


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_order_and_repetition(strategy):
    p, y = draw(200, decimals=2)
    weight = np.random.default_rng(0).integers(0, 4, 200)
    expected = HistogramBinning(strategy=strategy).fit(p, y, sample_weight=weight)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(200), weight))
    ours = HistogramBinning(strategy=strategy).fit(p[rows], y[rows])
    assert_allclose(event(ours, p), event(expected, p), rtol=1e-12)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_few_perfect_reversed_and_constant_scores(strategy):
    ours = HistogramBinning(strategy=strategy).fit([0, 1], [0, 1])
    assert_array_equal(ours.transform([0.0, 1.0]), np.eye(2))
    ours = HistogramBinning(strategy=strategy).fit([0, 1], [1, 0])
    assert_array_equal(ours.transform([0.0, 1.0]), np.eye(2)[::-1])
    ours = HistogramBinning(strategy=strategy).fit(
        np.full(100, 0.3), np.arange(100) < 40
    )
    assert event(ours, [0.3])[0] == pytest.approx(0.4)
    ours = HistogramBinning(strategy=strategy).fit([0.3], [1])
    assert_allclose(event(ours, [0.3, 0.7]), [0.3, 0.7])


def test_three_classes_and_an_absent_one():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1, 1, 2], 400)
    y = (rng.uniform(size=(400, 1)) > proba.cumsum(axis=1)[:, :2]).sum(axis=1)
    ours = HistogramBinning(n_bins=5).fit(proba, y)
    columns = np.empty((400, 3))
    for k in range(3):
        index = uniform_bins(proba[:, k], 5)
        mean = np.bincount(index, y == k, 5) / np.maximum(
            np.bincount(index, minlength=5), 1
        )
        columns[:, k] = mean[index]
    expected = columns / columns.sum(axis=1, keepdims=True)
    assert_allclose(ours.transform(proba), expected, atol=1e-12)
    ours = HistogramBinning(labels=[0, 1, 2]).fit(proba[y > 0], y[y > 0])
    assert ours.calibrators_[0] is None
    assert (ours.transform(proba)[:, 0] > 0).all()


def test_float32_falls_into_the_same_bins():
    p = (np.arange(1000) / 1000).astype(np.float32)
    y = np.random.default_rng(0).uniform(size=1000) < p
    repaired = HistogramBinning(n_bins=10).fit(p, y).transform(p)
    assert repaired.dtype == np.float32
    expected = HistogramBinning(n_bins=10).fit(p.astype(float), y)
    assert_allclose(repaired, expected.transform(p.astype(float)), rtol=1e-6)


def test_logits_are_the_same():
    p, y = draw()
    for strategy in STRATEGIES:
        expected = event(HistogramBinning(strategy=strategy).fit(p, y), p)
        ours = HistogramBinning(strategy=strategy, input="logits").fit(logit(p), y)
        assert_allclose(event(ours, logit(p)), expected)
    far = HistogramBinning(strategy="quantile", n_bins=2, input="logits")
    far.fit([-100.0, -90.0, 90.0, 100.0], [0, 0, 1, 1])
    assert_array_equal(event(far, [-1.0, 1.0]), [0, 1])
    empty = HistogramBinning(n_bins=10, input="logits").fit([-9.0, 9.0], [0, 1])
    assert_allclose(event(empty, [0.5]), expit(0.5))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_stores_bins_only(strategy):
    sizes = [
        len(pickle.dumps(HistogramBinning(strategy=strategy).fit(*draw(n))))
        for n in (1000, 100_000)
    ]
    assert sizes[0] == sizes[1]


def test_rows_that_every_map_excludes_are_uniform():
    # Each class happened only where its probability was above one half.
    proba = np.repeat([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]], 5, axis=0)
    fitted = HistogramBinning(n_bins=2).fit(proba, np.repeat([0, 1, 2], 5))
    assert_allclose(fitted.transform([[0.3, 0.3, 0.4]]), np.full((1, 3), 1 / 3))
