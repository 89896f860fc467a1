"""Weights: which are refused and why, and in which containers they come."""

import re

import numpy as np
import pandas as pd
import pytest

from skcal import rank_ece
from tests._predictions.samples import ONE_DIMENSIONAL, ONES, N, P, Y, with_value


@pytest.mark.parametrize(
    ("weight", "patterns"),
    [
        (with_value(ONES, 3, -1.0), ["negative", f"1 of {N}", "row 3", "not negative"]),
        (with_value(ONES, 3, np.nan), ["NaN", f"1 of {N}", "row 3", "finite"]),
        (with_value(ONES, 3, np.inf), ["infinity", f"1 of {N}", "row 3", "finite"]),
        ([None, *ONES[1:]], ["NaN", "row 0"]),
        (pd.Series([pd.NA, *ONES[1:]], dtype="Float64"), ["NaN", "row 0"]),
        (0 * ONES, ["[Ss]ample.weight", "at least one non-zero", "60 zeros"]),
        (ONES[1:], [r"shape \(60,\)", "one weight per row", r"\(59,\)"]),
        (np.ones((N, 2)), [r"shape \(60,\)", r"\(60, 2\)"]),
        ([], [r"shape \(60,\)", r"\(0,\)"]),
        (1.0, ["array-like", "1.0"]),
        (ONES.astype(str), ["real numbers", "<U"]),
        (ONES + 0j, ["real numbers", "complex"]),
        ([[1], [1, 1]] * (N // 2), ["different lengths"]),
    ],
    ids=[
        "negative",
        "NaN",
        "infinity",
        "None",
        "NA",
        "all-zero",
        "too-short",
        "two-dimensional",
        "empty",
        "scalar",
        "strings",
        "complex",
        "ragged",
    ],
)
def test_refused_weights(weighted, weight, patterns):
    with pytest.raises(ValueError, match=r"sample_weight|Sample weights") as caught:
        weighted(Y, P, sample_weight=weight)
    for pattern in patterns:
        assert re.search(pattern, str(caught.value)), str(caught.value)


def test_weights_whose_sum_overflows(weighted):
    with pytest.raises(ValueError, match="sample_weight"):
        weighted(Y, P, sample_weight=np.full(N, 1e308))


@pytest.mark.parametrize(
    "container",
    ["list", "float16", "object", "strided", "pandas-Float64", "polars", "column"],
)
def test_weights_in_any_container(weighted, container):
    weight = np.arange(N) % 4
    assert weighted(
        Y, P, sample_weight=ONE_DIMENSIONAL[container](weight.astype(float))
    ) == pytest.approx(weighted(Y, P, sample_weight=weight), abs=1e-12)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64])
def test_weights_of_integer_dtypes(weighted, dtype):
    weight = (np.arange(N) % 2).astype(dtype)
    assert weighted(Y, P, sample_weight=weight) == pytest.approx(
        weighted(Y[1::2], P[1::2]), abs=1e-10
    )


def test_rank_ece_takes_no_weights():
    with pytest.raises(TypeError, match="sample_weight"):
        rank_ece(Y, P, sample_weight=ONES)
