"""Bins: edges, ties and sums."""

import numpy as np
import pytest

import skcal._core.binning as module
from skcal._core.binning import bin_sums, quantile_bins, uniform_bins


@pytest.mark.parametrize("n_bins", [1, 2, 3, 7, 10, 15, 49, 100, 1000])
def test_every_edge_opens_its_own_bin(n_bins):
    edges = np.arange(n_bins) / n_bins
    np.testing.assert_array_equal(uniform_bins(edges, n_bins), np.arange(n_bins))
    below = np.nextafter(edges[1:], 0.0)
    np.testing.assert_array_equal(uniform_bins(below, n_bins), np.arange(n_bins - 1))
    assert uniform_bins(np.array([1.0]), n_bins) == n_bins - 1


def test_quantile_bins_are_even_without_ties():
    forecast = np.random.default_rng(0).permutation(np.linspace(0.1, 0.9, 60))
    index = quantile_bins(forecast, None, 6)
    np.testing.assert_array_equal(np.bincount(index), np.full(6, 10))
    assert np.all(np.diff(index[np.argsort(forecast)]) >= 0)


def test_equal_forecasts_share_a_bin_and_weights_are_repetitions():
    forecast = np.array([0.2, 0.2, 0.2, 0.5, 0.7, 0.7, 0.9])
    index = quantile_bins(forecast, None, 4)
    values, first, count = np.unique(forecast, return_index=True, return_counts=True)
    weighted = quantile_bins(values, count.astype(float), 4)
    np.testing.assert_array_equal(weighted, index[first])
    assert len(set(index[:3])) == 1


@pytest.mark.parametrize("kind", ["distinct", "tenths", "three values", "float32"])
def test_many_rows_get_the_bins_of_few(kind, monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(module, "_ROWS_PER_BIN", 1)
    for _ in range(100):
        n_rows, n_bins = rng.integers(1, 200), rng.integers(1, 30)
        forecast = {
            "distinct": lambda n: rng.uniform(size=n),
            "tenths": lambda n: np.round(rng.uniform(size=n), 1),
            "three values": lambda n: rng.choice([0.0, 0.3, 1.0], size=n),
            "float32": lambda n: np.round(rng.uniform(size=n), 2).astype(np.float32),
        }[kind](n_rows)
        monkeypatch.setattr(module, "_MANY_ROWS", np.inf)
        by_rank = quantile_bins(forecast, None, n_bins)
        monkeypatch.setattr(module, "_MANY_ROWS", n_bins)
        by_edges = quantile_bins(forecast, None, n_bins)
        np.testing.assert_array_equal(by_edges, by_rank)
        # Neither is the definition: the middle of a block's places, in n_bins parts.
        below = (forecast < forecast[:, np.newaxis]).sum(axis=1)
        upto = (forecast <= forecast[:, np.newaxis]).sum(axis=1)
        place = (below + upto) * n_bins // (2 * n_rows)
        np.testing.assert_array_equal(by_rank, np.minimum(place, n_bins - 1))


def test_sums():
    index = np.array([0, 2, 2])
    outcome, forecast = np.array([1.0, 0.0, 1.0]), np.array([0.1, 0.8, 0.9])
    sums = bin_sums(index, outcome, forecast, None, 3)
    np.testing.assert_allclose(sums, [[1, 0, 2], [1, 0, 1], [0.1, 0, 1.7]])
    weighted = bin_sums(index, outcome, forecast, np.array([2.0, 0.0, 1.0]), 3)
    np.testing.assert_allclose(weighted, [[2, 0, 1], [2, 0, 1], [0.2, 0, 0.9]])
