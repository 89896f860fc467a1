"""Tie blocks against the rows themselves, null moments against enumeration."""

import itertools
import math

import numpy as np
import pytest

from skcal._core.ranks import (
    block_products,
    lagged_products,
    null_moments,
    tie_blocks,
)
from tests.references import rank_ece_enumerated

FORECASTS = {
    "one row": [0.3],
    "no ties": [0.9, 0.1, 0.4, 0.65, 0.2],
    "pair": [0.2, 0.2],
    "block first": [0.1, 0.1, 0.1, 0.4, 0.6],
    "block inside": [0.1, 0.4, 0.4, 0.4, 0.6, 1.0],
    "blocks side by side": [0.2, 0.2, 0.2, 0.7, 0.7, 0.8, 0.8],
    "all equal": [0.35] * 5,
    "zero and one": [0.0, 0.0, 0.3, 1.0],
}
every_forecast = pytest.mark.parametrize("f", FORECASTS.values(), ids=FORECASTS)


def outcomes(f):
    """Every vector of outcomes with its probability under calibration."""
    for y in itertools.product((0, 1), repeat=len(f)):
        chances = (p if o else 1 - p for p, o in zip(f, y, strict=True))
        yield np.array(y), math.prod(chances)


def test_blocks():
    blocks = tie_blocks(np.array([1, 0, 1, 1]), np.array([0.5, 0.2, 0.5, 0.9]))
    assert blocks.forecast.tolist() == [0.2, 0.5, 0.9]
    assert blocks.size.tolist() == [1, 2, 1]
    assert blocks.events.tolist() == [0, 2, 1]


@every_forecast
def test_products_of_blocks_are_the_mean_over_every_order(f):
    f = np.array(f)
    for y, _ in outcomes(f):
        blocks = tie_blocks(y, f)
        total = block_products(blocks.events, blocks.size, blocks.forecast)
        expected = len(f) * rank_ece_enumerated(f, y)
        assert total == pytest.approx(expected, abs=1e-13)


def test_products_of_blocks_are_the_lagged_products():
    rng = np.random.default_rng(0)
    f = rng.uniform(size=2000).round(2)
    y = rng.integers(0, 2, 2000)
    blocks = tie_blocks(y, f)
    total = block_products(blocks.events, blocks.size, blocks.forecast)
    assert total == pytest.approx(lagged_products(y, f, 1), rel=1e-10)
    several = block_products(
        np.stack([blocks.events, blocks.size]), blocks.size, blocks.forecast
    )
    assert several.shape == (2,)
    assert several[0] == pytest.approx(total, rel=1e-12)


@every_forecast
def test_null_moments_are_those_of_every_outcome(f):
    f = np.array(f)
    drawn = [(len(f) * rank_ece_enumerated(f, y), chance) for y, chance in outcomes(f)]
    assert math.fsum(v * c for v, c in drawn) == pytest.approx(0, abs=1e-14)
    blocks = tie_blocks(np.zeros(len(f), dtype=int), f)
    variance, third = null_moments(blocks.size, blocks.forecast)
    assert variance == pytest.approx(math.fsum(v**2 * c for v, c in drawn), abs=1e-14)
    assert third == pytest.approx(math.fsum(v**3 * c for v, c in drawn), abs=1e-14)
