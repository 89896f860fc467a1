"""Ways to write a sample that must not change a number."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from skcal import binned_ece, rank_ece, smooth_ece
from tests._predictions.samples import ONES, P, Y

# Half a step away from every multiple of 0.1, so that no rounding moves a forecast over
# the edge of a bin, and far enough apart that float32 ties none that were not tied.
forecast = st.integers(0, 999).map(lambda k: (k + 0.5) / 1000) | st.sampled_from(
    [0.0, 1.0, 0.5]
)
binary_row = st.tuples(st.integers(0, 1), forecast)
binary_rows = st.lists(binary_row, min_size=1, max_size=30)
INVARIANCE = settings(max_examples=25, deadline=None)
TOLERANCE = 1e-9

# Options under which a measure takes other paths through its code.
VARIANTS = {
    "smooth": (smooth_ece, {}),
    "smooth-logit": (smooth_ece, {"scale": "logit"}),
    "smooth-bandwidth": (smooth_ece, {"bandwidth": 0.05}),
    "binned": (binned_ece, {"n_bins": 10}),
    "binned-sqrt-max": (binned_ece, {"n_bins": "sqrt", "norm": "max"}),
    "binned-quantile": (binned_ece, {"n_bins": 4, "strategy": "quantile"}),
    "binned-quantile-l2": (
        binned_ece,
        {"n_bins": "cbrt", "strategy": "quantile", "norm": "l2"},
    ),
    "rank": (rank_ece, {}),
    "rank-random-ties": (rank_ece, {"ties": "random", "random_state": 0}),
}
WEIGHTED_VARIANTS = [name for name in VARIANTS if not name.startswith("rank")]


def _arrays(rows):
    y, p = zip(*rows, strict=True)
    return np.array(y), np.array(p)


@pytest.mark.parametrize("variant", VARIANTS)
@INVARIANCE
@given(rows=binary_rows, data=st.data())
def test_row_order_is_immaterial(variant, rows, data):
    function, options = VARIANTS[variant]
    shuffled = data.draw(st.permutations(rows))
    assert function(*_arrays(shuffled), **options) == pytest.approx(
        function(*_arrays(rows), **options), abs=TOLERANCE
    )


@pytest.mark.parametrize("variant", ["smooth", "binned", "binned-quantile", "rank"])
@INVARIANCE
@given(rows=binary_rows)
def test_containers_and_columns_are_immaterial(variant, rows):
    function, options = VARIANTS[variant]
    y, p = _arrays(rows)
    expected = pytest.approx(function(y, p, **options), abs=1e-12)
    assert function(y.tolist(), p.tolist(), **options) == expected
    assert function(pd.Series(y), pd.Series(p), **options) == expected
    assert function(pl.Series(y), pl.Series(p), **options) == expected
    assert function(y, np.column_stack([1 - p, p]), **options) == expected
    assert function(2 * y - 1, p[:, np.newaxis], **options) == expected


@pytest.mark.parametrize("variant", VARIANTS)
@INVARIANCE
@given(rows=binary_rows)
def test_float32_is_right_within_rounding(variant, rows):
    function, options = VARIANTS[variant]
    y, p = _arrays(rows)
    # On the logit scale 1 - p counts, which float32 rounds to 6e-8 near 1.
    tolerance = 1e-4 if options.get("scale") == "logit" else 1e-6
    assert function(y, p.astype(np.float32), **options) == pytest.approx(
        function(y, p, **options), abs=tolerance
    )


@pytest.mark.parametrize("variant", WEIGHTED_VARIANTS)
@INVARIANCE
@given(rows=st.lists(st.tuples(binary_row, st.integers(0, 4)), min_size=1, max_size=20))
def test_weight_k_is_k_repetitions_and_weight_0_absence(variant, rows):
    function, options = VARIANTS[variant]
    y, p = _arrays([row for row, _ in rows])
    k = np.array([times for _, times in rows])
    assume(k.any())
    assert function(y, p, sample_weight=k, **options) == pytest.approx(
        function(np.repeat(y, k), np.repeat(p, k), **options), abs=TOLERANCE
    )


@pytest.mark.parametrize(
    "variant",
    ["smooth", "smooth-logit", "smooth-bandwidth", "binned", "binned-quantile"],
)
@INVARIANCE
@given(rows=binary_rows, scale=st.sampled_from([0.1, 0.7, 3.0, 1e-9, 1e9, "1/n"]))
def test_equal_weights_are_no_weights(variant, rows, scale):
    function, options = VARIANTS[variant]
    y, p = _arrays(rows)
    scale = 1 / y.size if scale == "1/n" else scale
    assert function(
        y, p, sample_weight=np.full(y.size, scale), **options
    ) == pytest.approx(function(y, p, **options), abs=TOLERANCE)


@pytest.mark.parametrize("n_bins", [2, 3, 5, 7])
@pytest.mark.parametrize("scale", [0.1, 0.7, 1 / 15, 1e-3])
def test_equal_weights_leave_quantile_bins_alone(n_bins, scale):
    """Values that lie on a bin's edge must not change sides for rounding."""
    for n in range(2, 40):
        p = (np.arange(n) + 0.5) / n
        y = np.arange(n) % 3 == 0
        options = {"n_bins": n_bins, "strategy": "quantile"}
        assert binned_ece(
            y, p, sample_weight=np.full(n, scale), **options
        ) == pytest.approx(binned_ece(y, p, **options), abs=1e-12), n


def test_number_of_bins_from_a_function_of_n_with_weights():
    """Weights of one must not turn the n that the function gets into a float."""
    unweighted = binned_ece(Y, P, n_bins=lambda n: n // 10)
    assert binned_ece(Y, P, n_bins=lambda n: n // 10, sample_weight=ONES) == unweighted
    integers = ONES.astype(int)
    assert (
        binned_ece(Y, P, n_bins=lambda n: n // 10, sample_weight=integers) == unweighted
    )


@pytest.mark.parametrize("multiclass", ["confidence", "classwise"])
@INVARIANCE
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 2), st.tuples(*[st.integers(1, 20)] * 3)),
        min_size=1,
        max_size=15,
    ),
    data=st.data(),
)
def test_multiclass_invariances(multiclass, rows, data):
    order = data.draw(st.permutations(range(len(rows))))
    y = np.array([label for label, _ in rows])
    parts = np.array([row for _, row in rows], dtype=float)
    proba = parts / parts.sum(axis=1, keepdims=True)
    options = {"labels": [0, 1, 2], "multiclass": multiclass}
    for function in (smooth_ece, rank_ece, binned_ece):
        expected = pytest.approx(function(y, proba, **options), abs=TOLERANCE)
        assert function(y[order], proba[order], **options) == expected
        assert function(pl.Series(y), pl.DataFrame(proba), **options) == expected
        names = np.array(["x", "y", "z"])
        named = options | {"labels": names}
        assert function(names[y], pd.DataFrame(proba), **named) == expected
