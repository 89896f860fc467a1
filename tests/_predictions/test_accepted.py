"""What the door takes and leaves alone, through the measures."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from skcal import rank_ece
from tests._predictions.samples import (
    ONE_DIMENSIONAL,
    P3,
    TWO_COLUMNS,
    TWO_DIMENSIONAL,
    Y3,
    YES,
    N,
    P,
    Y,
    read_only,
)


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
    "read-only": read_only,
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


def test_masked_arrays_without_a_masked_row(measure):
    assert measure(np.ma.array(Y), np.ma.array(P)) == measure(Y, P)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_numpy_matrix_is_an_array(measure):
    assert measure(Y3, np.asmatrix(P3)) == pytest.approx(measure(Y3, P3), abs=1e-12)


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


def test_column_names_that_are_not_the_labels_mean_nothing(measure):
    """Only the labels in another order are a mistake."""
    y = np.array(["a", "b", "c"] * 4)
    proba = np.random.default_rng(0).dirichlet([1, 1, 1], 12)
    expected = measure(y, proba)
    for names in (["a", "b", "c"], ["p_c", "p_b", "p_a"], ["c", "b", "z"], [2, 1, 0]):
        assert measure(y, pd.DataFrame(proba, columns=names)) == expected
