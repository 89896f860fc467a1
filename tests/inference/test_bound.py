"""The upper bound of rankECE: its formula, and the differences that it rests on."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skcal import rank_ece, rank_ece_upper_bound


def draw(n=200, seed=0, digits=None):
    rng = np.random.default_rng(seed)
    f = rng.random(n)
    if digits is not None:
        f = f.round(digits)
    return (rng.random(n) < f).astype(int), f


@pytest.mark.parametrize("confidence_level", [0.5, 0.95, 0.999])
def test_formula(confidence_level):
    y, f = draw()
    bound = rank_ece_upper_bound(y, f, confidence_level=confidence_level)
    margin = math.sqrt(81 / 32 * math.log(1 / (1 - confidence_level)) / 200)
    assert bound == pytest.approx(rank_ece(y, f) + margin, rel=1e-12)
    assert type(bound) is float


some_value = st.one_of(
    st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), st.floats(0, 1, width=32)
)
rows = st.lists(st.tuples(some_value, st.booleans()), min_size=2, max_size=8)


@settings(deadline=None, max_examples=100)
@given(rows=rows, other=st.tuples(some_value, st.booleans()))
def test_one_row_changes_the_sum_by_less_than_the_bound_assumes(rows, other):
    def total(rows):
        f, y = zip(*rows, strict=True)
        return len(rows) * rank_ece(np.array(y, dtype=int), np.array(f))

    assert abs(total(rows) - total([other, *rows[1:]])) <= 2.25 + 1e-9


def test_multiclass():
    rng = np.random.default_rng(1)
    proba = rng.dirichlet(np.ones(3), 100)
    y = rng.integers(0, 3, 100)
    margin = math.sqrt(81 / 32 * math.log(20) / 100)
    for multiclass in ("confidence", "classwise"):
        bound = rank_ece_upper_bound(y, proba, multiclass=multiclass)
        expected = rank_ece(y, proba, multiclass=multiclass) + margin
        assert bound == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("confidence_level", [0, 1, 95, "high", None])
def test_confidence_level_is_checked(confidence_level):
    with pytest.raises(ValueError, match="confidence_level"):
        rank_ece_upper_bound([0, 1], [0.2, 0.7], confidence_level=confidence_level)
