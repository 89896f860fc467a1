"""The door for input, through the measures: what it takes, refuses and leaves alone.

Forecasts are multiples of 1/64, which every float type holds exactly, so that all
spellings of one sample must give one number.
"""

import datetime
import decimal
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from skcal import (
    BinnedECEAccumulator,
    ReliabilityDisplay,
    SmoothECEAccumulator,
    binned_ece,
    rank_ece,
    smooth_ece,
)
from skcal._predictions import check_labels

MEASURES = [smooth_ece, rank_ece, binned_ece]
WEIGHTED = [smooth_ece, binned_ece]
N = 60


@pytest.fixture(params=MEASURES, ids=lambda measure: measure.__name__)
def measure(request):
    return request.param


@pytest.fixture(params=WEIGHTED, ids=lambda measure: measure.__name__)
def weighted(request):
    return request.param


def _binary_sample():
    rng = np.random.default_rng(0)
    p = rng.integers(0, 65, size=N) / 64
    y = (rng.uniform(size=N) < p**2).astype(int)
    return y, p


def _multiclass_sample():
    rng = np.random.default_rng(1)
    proba = np.array([rng.multinomial(64, q) for q in rng.dirichlet([1, 1, 1], N)]) / 64
    y = np.array([rng.choice(3, p=q) for q in proba])
    return y, proba


Y, P = _binary_sample()
TWO_COLUMNS = np.column_stack([1 - P, P])
YES = np.where(Y == 1, "yes", "no")
Y3, P3 = _multiclass_sample()
ONES = np.ones(N)


def _strided(array):
    room = np.full((2 * array.shape[0], *array.shape[1:]), np.nan)
    room[::2] = array
    return room[::2]


def _read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


class ArrayLike:
    """What converts itself to numpy on request, as tensors of other libraries do."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array, dtype=dtype)


# Accepted -----------------------------------------------------------------------------

ANY_CONTAINER = {
    "list": lambda a: a.tolist(),
    "tuple": lambda a: tuple(a.tolist()),
    "numpy-scalars": list,
    "float16": lambda a: a.astype(np.float16),
    "float32": lambda a: a.astype(np.float32),
    "longdouble": lambda a: a.astype(np.longdouble),
    "big-endian": lambda a: a.astype(">f8"),
    "object": lambda a: a.astype(object),
    "strided": _strided,
    "reversed-view": lambda a: a[::-1].copy()[::-1],
    "read-only": _read_only,
    "Fortran": np.asfortranarray,
    "array-like": ArrayLike,
}
ONE_DIMENSIONAL = ANY_CONTAINER | {
    "Decimal": lambda a: [decimal.Decimal(str(v)) for v in a],
    "pandas": pd.Series,
    "pandas-other-index": lambda a: pd.Series(a, index=np.arange(N)[::-1]),
    "pandas-Index": pd.Index,
    "pandas-Float64": lambda a: pd.Series(a, dtype="Float64"),
    "pandas-Float32": lambda a: pd.Series(a, dtype="Float32"),
    "pandas-object": lambda a: pd.Series(a, dtype=object),
    "pandas-category": lambda a: pd.Series(a).astype("category"),
    "polars": lambda a: pl.Series(a),
    "polars-Float32": lambda a: pl.Series(a, dtype=pl.Float32),
    "column": lambda a: a[:, np.newaxis],
    "column-list": lambda a: a[:, np.newaxis].tolist(),
    "column-pandas": lambda a: pd.DataFrame({"p": a}),
    "column-pandas-Float64": lambda a: pd.DataFrame({"p": a}).astype("Float64"),
    "column-polars": lambda a: pl.DataFrame({"p": a}),
}
TWO_DIMENSIONAL = ANY_CONTAINER | {
    "pandas": pd.DataFrame,
    "pandas-Float64": lambda a: pd.DataFrame(a).astype("Float64"),
    "pandas-mixed": lambda a: pd.DataFrame(a).astype({0: "Float64", 1: object}),
    "polars": lambda a: pl.DataFrame(a),
    "polars-Float32": lambda a: pl.DataFrame(a.astype(np.float32)),
    "column-slice": lambda a: np.hstack([a, a])[:, : a.shape[1]],
}


@pytest.mark.parametrize("container", ONE_DIMENSIONAL)
def test_one_column_of_probabilities(measure, container):
    assert measure(Y, ONE_DIMENSIONAL[container](P)) == pytest.approx(
        measure(Y, P), abs=1e-12
    )


@pytest.mark.parametrize("container", TWO_DIMENSIONAL)
def test_two_columns_equal_one(measure, container):
    assert measure(Y, TWO_DIMENSIONAL[container](TWO_COLUMNS)) == pytest.approx(
        measure(Y, P), abs=1e-12
    )


@pytest.mark.parametrize("multiclass", ["confidence", "classwise"])
@pytest.mark.parametrize("container", TWO_DIMENSIONAL)
def test_many_columns(measure, container, multiclass):
    assert measure(
        Y3, TWO_DIMENSIONAL[container](P3), multiclass=multiclass
    ) == pytest.approx(measure(Y3, P3, multiclass=multiclass), abs=1e-12)


@pytest.mark.parametrize("dtype", [int, np.uint8, np.int8, bool, np.float16])
def test_probabilities_of_zero_and_one_in_any_dtype(measure, dtype):
    hard = (P > 0.5).astype(dtype)
    expected = measure(Y, hard.astype(float))
    assert measure(Y, hard) == pytest.approx(expected, abs=1e-12)
    both = np.column_stack([1 - hard.astype(float), hard]).astype(dtype)
    assert measure(Y, both) == pytest.approx(expected, abs=1e-12)


ZERO_ONE_LABELS = {
    "list": lambda y: y.tolist(),
    "tuple": lambda y: tuple(y.tolist()),
    "bool": lambda y: y.astype(bool),
    "list-of-bool": lambda y: y.astype(bool).tolist(),
    "uint8": lambda y: y.astype(np.uint8),
    "int8": lambda y: y.astype(np.int8),
    "uint64": lambda y: y.astype(np.uint64),
    "float": lambda y: y.astype(float),
    "float16": lambda y: y.astype(np.float16),
    "list-of-float": lambda y: y.astype(float).tolist(),
    "object": lambda y: y.astype(object),
    "object-bool": lambda y: y.astype(bool).astype(object),
    "minus-one-and-one": lambda y: 2 * y - 1,
    "minus-one-and-one-int8": lambda y: (2 * y - 1).astype(np.int8),
    "minus-one-and-one-float": lambda y: 2.0 * y - 1,
    "column": lambda y: y[:, np.newaxis],
    "column-pandas": lambda y: pd.DataFrame({"y": y}),
    "pandas": pd.Series,
    "pandas-other-index": lambda y: pd.Series(y, index=np.arange(N)[::-1]),
    "pandas-Int64": lambda y: pd.Series(y, dtype="Int64"),
    "pandas-boolean": lambda y: pd.Series(y, dtype="boolean"),
    "pandas-Float64": lambda y: pd.Series(y, dtype="Float64"),
    "pandas-category": lambda y: pd.Series(y, dtype="category"),
    "pandas-object": lambda y: pd.Series(y, dtype=object),
    "polars": lambda y: pl.Series(y),
    "polars-Boolean": lambda y: pl.Series(y.astype(bool)),
    "polars-column": lambda y: pl.DataFrame({"y": y}),
}


@pytest.mark.parametrize("labels", ZERO_ONE_LABELS)
def test_labels_with_an_obvious_positive_class(measure, labels):
    y = ZERO_ONE_LABELS[labels](Y)
    expected = pytest.approx(measure(Y, P), abs=1e-12)
    assert measure(y, P) == expected
    assert measure(y, TWO_COLUMNS) == expected


STRING_LABELS = {
    "list": lambda y: y.tolist(),
    "numpy": lambda y: y,
    "object": lambda y: y.astype(object),
    "read-only": _read_only,
    "pandas": pd.Series,
    "pandas-string": lambda y: pd.Series(y, dtype="string"),
    "pandas-object": lambda y: pd.Series(y, dtype=object),
    "pandas-category": lambda y: pd.Series(y, dtype="category"),
    # The order of the categories is not that of the columns, which is sorted.
    "pandas-other-category-order": lambda y: pd.Series(
        pd.Categorical(y, categories=["yes", "no", "unused"], ordered=True)
    ),
    "polars": lambda y: pl.Series(y.tolist()),
    "polars-Categorical": lambda y: pl.Series(y.tolist(), dtype=pl.Categorical),
    "polars-Enum": lambda y: pl.Series(y.tolist(), dtype=pl.Enum(["yes", "no"])),
}


@pytest.mark.parametrize("labels", STRING_LABELS)
def test_string_labels(measure, labels):
    y = STRING_LABELS[labels](YES)
    expected = pytest.approx(measure(Y, P), abs=1e-12)
    assert measure(y, P, pos_label="yes") == expected
    assert measure(y, P, labels=["no", "yes"]) == expected
    assert measure(y, TWO_COLUMNS) == expected
    assert measure(y, TWO_COLUMNS, pos_label="yes") == expected
    assert measure(y, 1 - P, labels=["no", "yes"], pos_label="no") == pytest.approx(
        measure(1 - Y, 1 - P), abs=1e-12
    )


@pytest.mark.parametrize(
    "classes",
    [
        [0, 1, 2],
        [-5, 3, 1000],
        [0.0, 1.0, 2.0],
        ["a", "bb", "c"],
        [b"a", b"b", b"c"],
        [datetime.date(2024, 1, day) for day in (1, 2, 3)],
        [2**70, 2**71, 2**72],
    ],
    ids=repr,
)
@pytest.mark.parametrize("known", [True, False])
def test_multiclass_labels_of_any_sortable_type(measure, classes, known):
    y = [classes[code] for code in Y3]
    labels = classes if known else None
    for multiclass in ("confidence", "classwise"):
        assert measure(y, P3, labels=labels, multiclass=multiclass) == pytest.approx(
            measure(Y3, P3, multiclass=multiclass), abs=1e-12
        )


@pytest.mark.parametrize(
    "labels",
    [(0, 1), np.array([0, 1]), pd.Index([0, 1]), pl.Series([0, 1]), [0.0, 1.0]],
    ids=lambda labels: type(labels).__name__,
)
def test_known_labels_of_any_container(measure, labels):
    assert measure(Y, P, labels=labels) == measure(Y, P)


def test_pos_label_chooses_the_column(measure):
    expected = pytest.approx(measure(1 - Y, 1 - P), abs=1e-12)
    assert measure(Y, TWO_COLUMNS, pos_label=0) == expected
    assert measure(Y, TWO_COLUMNS, pos_label=0, labels=[0, 1]) == expected
    assert measure(YES, TWO_COLUMNS, pos_label="no") == expected
    # One column is always that of the positive class.
    assert measure(Y, 1 - P, pos_label=0) == expected


def test_two_other_numbers_as_labels(measure):
    y = Y + 1
    expected = pytest.approx(measure(Y, P), abs=1e-12)
    assert measure(y, TWO_COLUMNS) == expected
    assert measure(y, P, pos_label=2) == expected
    assert measure(y, P, labels=[1, 2]) == expected


def test_two_classes_ignore_the_multiclass_choice(measure):
    assert measure(Y, TWO_COLUMNS, multiclass="classwise") == measure(Y, P)


def test_three_classes_ignore_pos_label(measure):
    assert measure(Y3, P3, pos_label=77) == measure(Y3, P3)


@pytest.mark.parametrize(
    "proba",
    [
        np.where(P == 1, 1.0000001, P),
        np.where(P == 0, -1e-7, P),
        np.where(P == 1, np.nextafter(np.float32(1), np.float32(2)), P.astype("f4")),
        np.where(P == 1, np.nextafter(np.float16(1), np.float16(2)), P.astype("f2")),
    ],
    ids=["above", "below", "float32", "float16"],
)
def test_rounding_beyond_the_interval_is_clipped(measure, proba):
    assert ((proba < 0) | (proba > 1)).any()
    assert measure(Y, proba) == pytest.approx(measure(Y, P), abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("n_classes", [3, 1000])
def test_rounded_softmax_rows_are_accepted(measure, dtype, n_classes):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(30, n_classes))
    proba = (np.exp(logits) / np.exp(logits).sum(1, keepdims=True)).astype(dtype)
    assert np.isfinite(measure(np.zeros(30, int), proba, labels=np.arange(n_classes)))


# A class may be missing ---------------------------------------------------------------


@pytest.mark.parametrize("only", [0, 1])
def test_one_class_in_zero_one_labels(measure, only):
    y = np.full(N, only)
    expected = measure(y, P)
    assert np.isfinite(expected)
    assert measure(y, TWO_COLUMNS) == pytest.approx(expected, abs=1e-12)
    assert measure(y, P, labels=[0, 1]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("only", ["no", "yes"])
def test_one_class_in_string_labels(measure, only):
    y = np.full(N, only)
    expected = pytest.approx(measure((y == "yes").astype(int), P), abs=1e-12)
    assert measure(y, P, pos_label="yes") == expected
    assert measure(y, P, labels=["no", "yes"]) == expected
    assert measure(y, TWO_COLUMNS, labels=["no", "yes"]) == expected


@pytest.mark.parametrize("multiclass", ["confidence", "classwise"])
@pytest.mark.parametrize("kept", [[0], [2], [0, 1], [1, 2]])
def test_rows_that_lack_a_class_of_three(measure, kept, multiclass):
    rows = np.isin(Y3, kept)
    names = np.array(["a", "b", "c"])
    by_code = measure(Y3[rows], P3[rows], labels=[0, 1, 2], multiclass=multiclass)
    by_name = measure(names[Y3[rows]], P3[rows], labels=names, multiclass=multiclass)
    assert by_name == pytest.approx(by_code, abs=1e-12)
    if multiclass == "confidence":
        top = P3[rows].argmax(axis=1)
        expected = measure(top == Y3[rows], P3[rows].max(axis=1))
        assert by_code == pytest.approx(expected, abs=1e-12)
    else:
        expected = [measure(Y3[rows] == k, P3[rows][:, k]) for k in range(3)]
        assert by_code == pytest.approx(np.mean(expected), abs=1e-12)


@pytest.mark.parametrize("n_samples", [1, 2])
def test_tiny_samples(measure, n_samples):
    assert np.isfinite(measure([1, 0][:n_samples], [0.25, 0.75][:n_samples]))
    proba = np.full((n_samples, 4), 0.25)
    assert np.isfinite(measure([3] * n_samples, proba, labels=[0, 1, 2, 3]))


# Refused, and why ---------------------------------------------------------------------


def _with(array, row, value):
    array = np.array(array, dtype=np.result_type(array, type(value)))
    array[row] = value
    return array


# Each with what the message must say: what was found, where, and what to do about it.
REFUSED = {
    "NaN": (
        Y,
        _with(P, 3, np.nan),
        {},
        ["y_proba", "NaN", f"1 of {N}", "row 3", "Dro"],
    ),
    "NaN-in-columns": (
        Y3,
        _with(P3, (7, 1), np.nan),
        {},
        ["NaN", f"1 of {3 * N}", "row 7, column 1", "Drop"],
    ),
    "NaN-pandas": (
        Y,
        pd.Series(_with(P, 3, np.nan)).astype("Float64"),
        {},
        ["y_proba", "NaN", "row 3"],
    ),
    "None-in-list": (Y, [None, *P[1:]], {}, ["y_proba", "NaN", "row 0"]),
    "null-polars": (Y, pl.Series([None, *P[1:]]), {}, ["y_proba", "NaN", "row 0"]),
    "NA-in-DataFrame": (
        Y,
        pd.DataFrame(_with(TWO_COLUMNS, (5, 0), np.nan)).astype("Float64"),
        {},
        ["y_proba", "NaN", "row 5, column 0"],
    ),
    "infinity": (
        Y,
        _with(P, 3, np.inf),
        {},
        ["y_proba", "infinity", f"1 of {N}", "row 3", "Drop|Replace|Clip|Pass"],
    ),
    "minus-infinity": (Y, _with(P, 3, -np.inf), {}, ["y_proba", "infinity", "row 3"]),
    "percent": (
        Y,
        100 * P,
        {},
        [
            "y_proba",
            r"\[0, 1\]",
            "greater than 1",
            "row 0",
            r"\b100\b",
            "divide by 100",
        ],
    ),
    "percent-int": (Y, (100 * P).astype(int), {}, ["divide by 100"]),
    "logits": (
        Y,
        _with(8 * P - 4, 0, -3.5),
        {},
        [r"\[0, 1\]", "less than 0: -3.5 at row 0", "range is", "expit|softmax"],
    ),
    "logits-in-columns": (Y3, np.log(P3 + 0.1), {}, [r"row \d+, column \d", "softmax"]),
    # Six digits would print "greater than 1: 1".
    "just-above": (Y, _with(P, 3, 1.0000011), {}, ["greater than 1: 1.0000011"]),
    "just-below": (Y, _with(P, 3, -1.1e-6), {}, ["less than 0: -1.1e-06"]),
    "rows-do-not-sum-to-one": (
        Y3,
        _with(P3, 4, 1.0),
        {},
        ["sum to one", "row 4 sums to 3", "Divide each row", "softmax", "one column"],
    ),
    "rows-of-two-do-not-sum-to-one": (
        Y,
        _with(TWO_COLUMNS, 4, 0.75),
        {},
        ["sum to one", "row 4 sums to 1.5"],
    ),
    "unequal-lengths": (Y[:-1], P, {}, ["inconsistent numbers of samples", "59", "60"]),
    "one-label": (Y[:1], P, {}, ["inconsistent numbers of samples", "1", "60"]),
    "unequal-lengths-in-columns": (Y, P3[:-1], {}, ["inconsistent", "60", "59"]),
    "empty": ([], [], {}, ["empty", "0 sample", "minimum of 1"]),
    "empty-columns": ([], np.empty((0, 3)), {}, ["y_proba", "empty"]),
    "no-columns": (Y, np.empty((N, 0)), {}, ["y_proba", r"\(60, 0\)", "n_classes"]),
    "empty-labels": ([], P, {}, ["y_true", "empty"]),
    "unknown-labels": (
        Y3 + 1,
        P3,
        {"labels": [0, 1, 2]},
        ["y_true", r"not in labels=\{0, 1, 2\}", r"\{3\}"],
    ),
    "unknown-labels-of-two": (
        _with(Y, 5, 7),
        P,
        {"labels": [0, 1]},
        [r"not in labels=\{0, 1\}", r"\{7\}"],
    ),
    "strings-against-numbers": (
        YES,
        TWO_COLUMNS,
        {"labels": [0, 1]},
        [r"not in labels=\{0, 1\}", "'no', 'yes'"],
    ),
    "numbers-against-strings": (
        Y3,
        P3,
        {"labels": ["0", "1", "2"]},
        [r"not in labels=\{'0', '1', '2'\}", r"\{0, 1, 2\}"],
    ),
    "wrapped-unsigned-label": (
        np.array([255, 1], dtype=np.uint8),
        [0.25, 0.75],
        {"labels": [-1, 1]},
        ["not in labels", r"\{255\}"],
    ),
    "more-classes-than-columns": (
        _with(Y3, 0, 3),
        P3,
        {},
        [
            "y_true has 4 classes",
            r"\{0, 1, 2, 3\}",
            "3 columns",
            "one column per class",
        ],
    ),
    "three-classes-one-column": (
        Y3,
        P,
        {},
        ["y_true has 3 classes", "1 column", "one column per class"],
    ),
    "three-classes-two-columns": (Y3, TWO_COLUMNS, {}, ["3 classes", "2 column"]),
    "fewer-classes-than-columns": (
        Y,
        P3,
        {},
        ["2 of the 3 classes", "labels=", "classes_"],
    ),
    "continuous-labels": (
        P,
        P,
        {},
        ["y_true", "continuous", "such as 0", "y_true, y_proba"],
    ),
    "continuous-labels-of-three": (Y3 + 0.5, P3, {}, ["y_true", "continuous", "0.5"]),
    "swapped": (P, Y, {}, ["continuous", r"\(y_true, y_proba\)"]),
    "swapped-with-labels": (P, Y, {"labels": [0, 1]}, [r"\(y_true, y_proba\)"]),
    "swapped-columns": (P3, Y3, {}, ["y_true|y_proba", r"\(y_true, y_proba\)"]),
    "swapped-strings": (P, YES, {}, ["y_proba", "real numbers", "y_true, y_proba"]),
    "one-hot-labels": (np.eye(3)[Y3], P3, {}, ["y_true", r"\(60, 3\)", "argmax"]),
    "one-row-of-labels": (Y[np.newaxis], P, {}, ["y_true", r"\(1, 60\)"]),
    "three-dimensions": (Y, P[:, None, None], {}, ["y_proba", r"\(60, 1, 1\)"]),
    "ragged": (Y[:2], [[0.5, 0.5], [1.0]], {}, ["y_proba", "different lengths"]),
    "ragged-labels": ([[0], [0, 1]], P[:2], {}, ["y_true", "different lengths"]),
    "sparse": (Y, sparse.csr_matrix(TWO_COLUMNS), {}, ["y_proba", "dense", "toarray"]),
    "sparse-array": (Y, sparse.csr_array(TWO_COLUMNS), {}, ["y_proba", "toarray"]),
    "sparse-labels": (sparse.csr_matrix(Y), P, {}, ["y_true", "dense", "toarray"]),
    "no-probabilities": (Y, None, {}, ["y_proba", "array-like", "None"]),
    "no-labels": (None, P, {}, ["y_true", "array-like", "None"]),
    "scalar": (Y, 0.5, {}, ["y_proba", "array-like", "0.5"]),
    "a-word": (Y, "model", {}, ["y_proba", "array-like", "'model'"]),
    "complex": (Y, P + 0j, {}, ["y_proba", "real numbers", "complex128"]),
    "complex-objects": (Y, (P + 0j).astype(object), {}, ["y_proba", "complex"]),
    "strings": (Y, P.astype(str), {}, ["y_proba", "real numbers", "<U"]),
    "string-objects": (Y, P.astype(str).astype(object), {}, ["y_proba", "'str'"]),
    "strings-pandas": (Y, pd.Series(P.astype(str)), {}, ["y_proba", "'str'"]),
    "strings-polars": (Y, pl.Series(P.astype(str)), {}, ["y_proba", "'str'"]),
    "dates": (Y, pd.Series(pd.date_range("2024", periods=N)), {}, ["y_proba", "datet"]),
    "a-generator": (Y, (v for v in P), {}, ["y_proba", "generator"]),
    "a-dict": (Y, dict(enumerate(P)), {}, ["y_proba", "dict"]),
    "datetime-labels": (
        np.array(["2024-01-01", "2024-01-02"], dtype="M8[D]")[Y],
        TWO_COLUMNS,
        {},
        ["y_true", "labels", "datetime64"],
    ),
    "complex-labels": (Y + 0j, P, {}, ["y_true", "labels", "complex128"]),
    "mixed-labels": (
        np.array([1, "a"] * (N // 2), dtype=object),
        P,
        {"pos_label": "a"},
        ["y_true", "mixes", "'int', 'str'", "one type"],
    ),
    # numpy would turn these into the strings "1", "nan" and so on without a word.
    "mixed-labels-in-list": ([1, "a"] * (N // 2), TWO_COLUMNS, {}, ["y_true", "mixes"]),
    "mixed-bool-labels-in-list": ([True, "a"] * 30, TWO_COLUMNS, {}, ["y_true", "mix"]),
    "NaN-among-strings-in-list": (
        [float("nan"), "yes"] * (N // 2),
        TWO_COLUMNS,
        {},
        ["y_true", "NaN", f"30 of {N}", "row 0", "Drop"],
    ),
    "None-label": ([None, *Y[1:]], P, {}, ["y_true", "missing", "row 0", "Drop"]),
    "None-among-strings": (
        [*YES[:3], None, *YES[4:]],
        TWO_COLUMNS,
        {},
        ["y_true", "missing", "row 3"],
    ),
    "NaN-label": (_with(Y, 2, np.nan), P, {}, ["y_true", "NaN", "row 2", "Drop"]),
    "NaN-label-with-labels": (
        _with(Y, 2, np.nan),
        P,
        {"labels": [0, 1]},
        ["y_true", "NaN", "row 2"],
    ),
    "NaN-label-of-three": (
        _with(Y3, 2, np.nan),
        P3,
        {"labels": [0, 1, 2]},
        ["y_true", "NaN", "row 2"],
    ),
    "infinite-label": (_with(Y, 2, np.inf), P, {}, ["y_true", "infinity", "row 2"]),
    "NA-Int64": (pd.Series([pd.NA, *Y[1:]], dtype="Int64"), P, {}, ["y_true", "row 0"]),
    "NA-boolean": (
        pd.Series([pd.NA, *Y[1:].astype(bool)], dtype="boolean"),
        P,
        {},
        ["y_true", "missing", "row 0"],
    ),
    "NA-string": (
        pd.Series([pd.NA, *YES[1:]], dtype="string"),
        P,
        {"pos_label": "yes"},
        ["y_true", "missing", "row 0"],
    ),
    "NaN-category": (
        pd.Series([None, *YES[1:]], dtype="category"),
        P,
        {"pos_label": "yes"},
        ["y_true", "missing", "row 0"],
    ),
    "null-polars-labels": (pl.Series([None, *Y[1:]]), P, {}, ["y_true", "row 0"]),
    "null-polars-strings": (
        pl.Series([None, *YES[1:]]),
        P,
        {"pos_label": "yes"},
        ["y_true", "missing", "row 0"],
    ),
    "unsorted-labels": (
        Y3,
        P3,
        {"labels": [2, 1, 0]},
        ["labels", "sorted order", r"\{2, 1, 0\}", r"columns to \{0, 1, 2\}"],
    ),
    "repeated-labels": (Y3, P3, {"labels": [0, 1, 1]}, ["labels must be unique"]),
    "too-many-labels": (
        Y,
        P,
        {"labels": [0, 1, 2]},
        ["labels must name all 2 classes", "1 column", "Got 3"],
    ),
    "too-few-labels": (Y3, P3, {"labels": [0, 1]}, ["all 3 classes", "3 column"]),
    "one-word-as-labels": (Y, P, {"labels": "no"}, ["labels must name", "'no'"]),
    # A message about y_true would send the reader to the wrong argument.
    "no-known-labels": (Y, P, {"labels": []}, ["^labels"]),
    "nested-labels": (Y, P, {"labels": [[0, 1]]}, ["^labels"]),
    "set-of-labels": (Y, P, {"labels": {0, 1}}, ["^labels"]),
    "NaN-in-known-labels": (Y, P, {"labels": [0, np.nan]}, ["labels", "NaN|missing"]),
    "None-in-known-labels": (Y, P, {"labels": [None, 1]}, [r"(?<!y_true )labels"]),
    "mixed-known-labels": (Y, P, {"labels": [0, "1"]}, ["^labels", "mix|type"]),
    "strings-without-pos_label": (
        YES,
        P,
        {},
        ["y_true", "'no', 'yes'", "pos_label is not specified", "pass pos_label"],
    ),
    "one-and-two-without-pos_label": (Y + 1, P, {}, [r"\{1, 2\}", "pos_label"]),
    "absent-pos_label": (Y, P, {"pos_label": 7}, ["pos_label=7", r"\{0, 1\}"]),
    "absent-string-pos_label": (
        YES,
        P,
        {"pos_label": "maybe"},
        ["pos_label='maybe'", "'no', 'yes'"],
    ),
    "pos_label-of-another-type": (
        Y,
        P,
        {"pos_label": "1"},
        ["pos_label='1'", "{0, 1}"],
    ),
    "pos_label-not-in-labels": (
        Y,
        P,
        {"labels": [0, 1], "pos_label": 2},
        ["pos_label=2", r"\{0, 1\}"],
    ),
    "one-string-class-two-columns": (
        np.full(N, "yes"),
        TWO_COLUMNS,
        {},
        ["one class only", "'yes'", "labels="],
    ),
    "unknown-reduction": (
        Y3,
        P3,
        {"multiclass": "top"},
        ["multiclass", "confidence", "classwise", "'top'"],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_a_message_that_helps(measure, case):
    y, proba, parameters, patterns = REFUSED[case]
    if case == "a-generator":
        proba = (v for v in P)  # the parametrised one would be used up
    with pytest.raises(ValueError, match=r"\w") as caught:
        measure(y, proba, **parameters)
    for pattern in patterns:
        assert re.search(pattern, str(caught.value)), str(caught.value)


@pytest.mark.parametrize(
    "pos_label", ["1", b"1", float("nan"), [1], {"a": 1}], ids=repr
)
def test_pos_label_that_no_label_of_this_type_can_equal(measure, pos_label):
    """With one class present it once made every row a negative, silently."""
    with pytest.raises(ValueError, match="pos_label"):
        measure(np.ones(5, dtype=int), np.full(5, 0.75), pos_label=pos_label)


@pytest.mark.parametrize("pos_label", [1, True, 0.0, [1], b"yes"], ids=repr)
def test_pos_label_of_another_type_than_one_string_class(measure, pos_label):
    with pytest.raises(ValueError, match="pos_label"):
        measure(np.full(5, "yes"), np.full(5, 0.75), pos_label=pos_label)


@pytest.mark.parametrize(
    ("only", "pos_label"),
    [
        (2, 1),
        ("no", "yes"),
        (b"no", b"yes"),
        (datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)),
    ],
    ids=["int", "str", "bytes", "date"],
)
def test_pos_label_of_the_class_that_is_absent(measure, only, pos_label):
    expected = measure(np.zeros(N, dtype=int), P)
    assert measure([only] * N, P, pos_label=pos_label) == expected


@pytest.mark.parametrize("which", ["y_true", "y_proba", "sample_weight"])
def test_masked_rows_are_not_used_in_silence(weighted, which):
    mask = np.arange(N) < 5
    arguments = {"y_true": Y, "y_proba": P, "sample_weight": ONES}
    arguments[which] = np.ma.array(arguments[which], mask=mask)
    with pytest.raises(ValueError, match=rf"{which}.*mask"):
        weighted(**arguments)


def test_masked_arrays_without_a_masked_row(measure):
    assert measure(np.ma.array(Y), np.ma.array(P)) == measure(Y, P)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_numpy_matrix_is_an_array(measure):
    assert measure(Y3, np.asmatrix(P3)) == pytest.approx(measure(Y3, P3), abs=1e-12)


@pytest.mark.parametrize(
    ("weight", "patterns"),
    [
        (_with(ONES, 3, -1.0), ["negative", f"1 of {N}", "row 3", "not negative"]),
        (_with(ONES, 3, np.nan), ["NaN", f"1 of {N}", "row 3", "finite"]),
        (_with(ONES, 3, np.inf), ["infinity", f"1 of {N}", "row 3", "finite"]),
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


def test_options_are_keyword_only(measure):
    with pytest.raises(TypeError, match="positional"):
        measure(Y, P, ONES)


@pytest.mark.parametrize(
    "enter",
    [
        SmoothECEAccumulator().update,
        BinnedECEAccumulator().update,
        ReliabilityDisplay.from_predictions,
    ],
    ids=["smooth-accumulator", "binned-accumulator", "display"],
)
@pytest.mark.parametrize(
    "case", ["NaN", "percent", "strings-without-pos_label", "unequal-lengths"]
)
def test_everything_goes_through_the_same_door(enter, case):
    y, proba, parameters, patterns = REFUSED[case]
    with pytest.raises(ValueError, match=r"\w") as caught:
        enter(y, proba, **parameters)
    for pattern in patterns:
        assert re.search(pattern, str(caught.value)), str(caught.value)


# Left alone ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "proba", "parameters"),
    [
        (Y, P, {}),
        (2 * Y - 1, np.where(P == 1, 1.0000001, P), {}),
        (Y.astype(float), TWO_COLUMNS.astype("f4"), {"pos_label": 0}),
        (YES.astype(object), TWO_COLUMNS.astype(object), {}),
        (Y3, P3, {"multiclass": "classwise"}),
        (Y3, np.asfortranarray(P3), {"labels": np.array([0, 1, 2])}),
    ],
    ids=["plain", "clipped", "float32", "object", "classwise", "Fortran"],
)
@pytest.mark.parametrize("weight", [None, np.arange(N) % 4 + 0.5])
def test_arguments_are_not_modified(measure, y, proba, parameters, weight):
    if measure is not rank_ece:
        parameters = parameters | {"sample_weight": weight}
    before = [a.copy() for a in (y, proba)]
    before_parameters = {
        k: v.copy() if hasattr(v, "copy") else v for k, v in parameters.items()
    }
    measure(y, proba, **parameters)
    assert_array_equal(y, before[0])
    assert_array_equal(proba, before[1])
    for name, value in before_parameters.items():
        assert_array_equal(parameters[name], value)


def test_result_is_a_python_float(measure):
    assert type(measure(Y, P.astype(np.float32))) is float
    assert type(measure(Y3, P3, multiclass="classwise")) is float


# Invariances --------------------------------------------------------------------------

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
    for function in MEASURES:
        expected = pytest.approx(function(y, proba, **options), abs=TOLERANCE)
        assert function(y[order], proba[order], **options) == expected
        assert function(pl.Series(y), pl.DataFrame(proba), **options) == expected
        names = np.array(["x", "y", "z"])
        named = options | {"labels": names}
        assert function(names[y], pd.DataFrame(proba), **named) == expected


@pytest.mark.parametrize(
    "y",
    [
        np.array([3, 1, 1, 7], dtype=np.uint8),
        np.array([-128, 127, 0], dtype=np.int8),
        np.array([True, False, True]),
        np.array([True]),
        np.array([5, -2, 5]),
        np.array([10**6, 10**6 + 3]),
        np.array([2**40, 2**40 + 1]),
        np.array([2**63 + 5, 2**63], dtype=np.uint64),
        np.array([-(2**63), 2**63 - 1]),
    ],
)
def test_distinct_integers(y):
    found, expected = check_labels(y), np.unique(y)
    assert found.dtype == expected.dtype
    assert_array_equal(found, expected)
