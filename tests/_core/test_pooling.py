"""Ties pooled, and rows condensed to points with the same moments."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skcal._core.pooling import cells_of, level_of, pool_ties, two_point_rule


def test_pool_ties_sums_weights_and_outcomes():
    distinct, mass, events = pool_ties(
        np.array([2.0, 1.0, 2.0, 0.5]),
        np.array([1.0, 0.0, 0.0, 1.0]),
        np.array([1.0, 2.0, 3.0, 0.5]),
    )
    assert_array_equal(distinct, [0.5, 1.0, 2.0])
    assert_array_equal(mass, [0.5, 2.0, 4.0])
    assert_array_equal(events, [0.5, 0.0, 1.0])


@pytest.mark.parametrize("scale", [1e-290, 1e-100, 1.0, 30.0, 1e15, 1e300])
def test_pool_ties_of_rows_of_weight_one_is_the_same(scale):
    rng = np.random.default_rng(0)
    score = scale * rng.uniform(-1, 1, size=400)[rng.integers(400, size=2_000)]
    score[:50], score[50:100] = 0.0, -0.0
    score[100:200] = score[100:200].round(3)
    outcome = rng.integers(2, size=score.size)
    found = pool_ties(score, outcome, np.ones(score.size))
    distinct, inverse = np.unique(score, return_inverse=True)
    assert_array_equal(found[0], distinct)
    assert_array_equal(found[1], np.bincount(inverse))
    assert_array_equal(found[2], np.bincount(inverse, outcome))
    # Weights that differ take the other way.
    weighted = pool_ties(score, outcome, np.where(score == distinct[0], 2.0, 1.0))
    assert_array_equal(weighted[0], distinct)
    assert_array_equal(weighted[1][1:], found[1][1:])
    assert_array_equal(weighted[2][1:], found[2][1:])


def moments(position, weight):
    return [np.sum(weight * position**k) for k in range(4)]


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_two_points_have_the_rows_first_four_moments(scale):
    rng = np.random.default_rng(0)
    position = scale * np.sort(rng.gamma(2.0, size=500))
    weight = rng.exponential(size=500)
    cell = np.minimum(np.arange(500) // 60, 7)
    points, weights = two_point_rule(position, weight, cell)
    assert len(points) == 16
    assert (weights > 0).all()
    assert points.min() >= position[0]
    assert points.max() <= position[-1]
    edges = [position[cell == k][0] for k in range(1, 8)]
    found = np.searchsorted(edges, points, side="right")
    for k in range(8):
        expected = moments(position[cell == k], weight[cell == k])
        assert_allclose(moments(points[found == k], weights[found == k]), expected)


def test_two_points_of_one_or_two_rows_are_these_rows():
    position, weight = np.array([1.0, 5.0, 5.0, 7.0]), np.array([1.0, 2.0, 3.0, 0.0])
    points, weights = two_point_rule(position, weight, np.array([0, 1, 1, 2]))
    assert_allclose(points, [1.0, 5.0])
    assert_allclose(weights, [1.0, 5.0])
    points, weights = two_point_rule(position[:2], weight[:2], np.array([0, 0]))
    assert_allclose(points, [1.0, 5.0])
    assert_allclose(weights, [1.0, 2.0])


def test_cells_are_small_in_range_and_in_mass():
    rng = np.random.default_rng(0)
    position = np.sort(np.append(rng.normal(0, 1e-3, 10_000), [-700.0, 36.0, 36.1]))
    cell = cells_of(position, np.ones(position.size), 64)
    assert_array_equal(np.unique(cell), np.arange(cell[-1] + 1))
    assert cell[-1] < 64
    # 64 cells are 32 of equal mass, and 32 through the range of arcsinh
    assert np.bincount(cell).max() <= position.size / 31
    spread = np.arcsinh(position / 2)
    widths = [np.ptp(spread[cell == k]) for k in range(cell[-1] + 1)]
    assert max(widths) <= np.ptp(spread) / 31


def test_level_of_one_position():
    assert_array_equal(level_of(np.array([3.0]), np.array([2.0])), [0.5])
