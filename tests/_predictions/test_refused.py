"""What the door refuses: what was found, where, and what to do about it."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from skcal import BinnedECEAccumulator, ReliabilityDisplay, SmoothECEAccumulator
from tests._predictions.samples import (
    ONES,
    P3,
    TWO_COLUMNS,
    Y3,
    YES,
    N,
    P,
    Y,
    with_value,
)

# Each with what the message must say: what was found, where, and what to do about it.
REFUSED = {
    "NaN": (
        Y,
        with_value(P, 3, np.nan),
        {},
        ["y_proba", "NaN", f"1 of {N}", "row 3", "Dro"],
    ),
    "NaN-in-columns": (
        Y3,
        with_value(P3, (7, 1), np.nan),
        {},
        ["NaN", f"1 of {3 * N}", "row 7, column 1", "Drop"],
    ),
    "NaN-pandas": (
        Y,
        pd.Series(with_value(P, 3, np.nan)).astype("Float64"),
        {},
        ["y_proba", "NaN", "row 3"],
    ),
    "None-in-list": (Y, [None, *P[1:]], {}, ["y_proba", "NaN", "row 0"]),
    "null-polars": (Y, pl.Series([None, *P[1:]]), {}, ["y_proba", "NaN", "row 0"]),
    "NA-in-DataFrame": (
        Y,
        pd.DataFrame(with_value(TWO_COLUMNS, (5, 0), np.nan)).astype("Float64"),
        {},
        ["y_proba", "NaN", "row 5, column 0"],
    ),
    "infinity": (
        Y,
        with_value(P, 3, np.inf),
        {},
        ["y_proba", "infinity", f"1 of {N}", "row 3", "Drop|Replace|Clip|Pass"],
    ),
    "minus-infinity": (
        Y,
        with_value(P, 3, -np.inf),
        {},
        ["y_proba", "infinity", "row 3"],
    ),
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
        with_value(8 * P - 4, 0, -3.5),
        {},
        [r"\[0, 1\]", "less than 0: -3.5 at row 0", "range is", "expit|softmax"],
    ),
    "logits-in-columns": (Y3, np.log(P3 + 0.1), {}, [r"row \d+, column \d", "softmax"]),
    # Six digits would print "greater than 1: 1".
    "just-above": (Y, with_value(P, 3, 1.0000011), {}, ["greater than 1: 1.0000011"]),
    "just-below": (Y, with_value(P, 3, -1.1e-6), {}, ["less than 0: -1.1e-06"]),
    "rows-do-not-sum-to-one": (
        Y3,
        with_value(P3, 4, 1.0),
        {},
        ["sum to one", "row 4 sums to 3", "Divide each row", "softmax", "one column"],
    ),
    "rows-of-two-do-not-sum-to-one": (
        Y,
        with_value(TWO_COLUMNS, 4, 0.75),
        {},
        ["sum to one", "row 4 sums to 1.5"],
    ),
    "columns-as-rows": (Y3, P3.T, {}, ["sum to one", r"shape is \(3, 60\)", "one row"]),
    "columns-in-another-order": (
        YES,
        pd.DataFrame(TWO_COLUMNS, columns=["yes", "no"]),
        {},
        [r"called \['yes', 'no'\]", r"sorted order.*\['no', 'yes'\]", "Reorder"],
    ),
    "polars-columns-in-another-order": (
        Y3,
        pl.DataFrame(P3, schema=["0", "2", "1"]),
        {},
        [r"called \['0', '2', '1'\]", "sorted order"],
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
        ["y_true", r"not in labels=\{0, 1, 2\}", r"\{3\}", "classes_"],
    ),
    "unknown-labels-of-two": (
        with_value(Y, 5, 7),
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
        with_value(Y3, 0, 3),
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
    "strings": (Y, P.astype(str), {}, ["y_proba", "real numbers", "<U", "such as 0"]),
    "string-objects": (Y, P.astype(str).astype(object), {}, ["y_proba", "'str'"]),
    "one-string": (
        Y,
        with_value(P.astype(object), 7, "35 %"),
        {},
        ["y_proba", "real numbers", "'35 %' at row 7"],
    ),
    "one-string-in-columns": (
        Y3,
        pd.DataFrame(with_value(P3.astype(object), (4, 1), "none")),
        {},
        ["'none' at row 4, column 1"],
    ),
    "strings-pandas": (Y, pd.Series(P.astype(str)), {}, ["y_proba", "'str'"]),
    "strings-polars": (Y, pl.Series(P.astype(str)), {}, ["y_proba", "'str'"]),
    "dates": (Y, pd.Series(pd.date_range("2024", periods=N)), {}, ["y_proba", "datet"]),
    "a-generator": (Y, (v for v in P), {}, ["y_proba", "generator"]),
    "a-dict": (Y, dict(enumerate(P)), {}, ["y_proba", "dict"]),
    "a-dict-of-labels": (dict(enumerate(Y)), P, {}, ["y_true", "array-like", "dict"]),
    "a-generator-of-labels": ((v for v in Y), P, {}, ["y_true", "generator"]),
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
    "NaN-label": (with_value(Y, 2, np.nan), P, {}, ["y_true", "NaN", "row 2", "Drop"]),
    "NaN-label-with-labels": (
        with_value(Y, 2, np.nan),
        P,
        {"labels": [0, 1]},
        ["y_true", "NaN", "row 2"],
    ),
    "NaN-label-of-three": (
        with_value(Y3, 2, np.nan),
        P3,
        {"labels": [0, 1, 2]},
        ["y_true", "NaN", "row 2"],
    ),
    "infinite-label": (
        with_value(Y, 2, np.inf),
        P,
        {},
        ["y_true", "infinity", "row 2"],
    ),
    "NA-Int64": (pd.Series([pd.NA, *Y[1:]], dtype="Int64"), P, {}, ["y_true", "row 0"]),
    "NA-Int64-array": (pd.array([*Y[:-1], pd.NA], dtype="Int64"), P, {}, ["row 59"]),
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
    "canonical": (
        Y3,
        P3,
        {"multiclass": "canonical"},
        ["multiclass", "confidence", "classwise", "variational_ece"],
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


@pytest.mark.parametrize("which", ["y_true", "y_proba", "sample_weight"])
def test_masked_rows_are_not_used_in_silence(weighted, which):
    mask = np.arange(N) < 5
    arguments = {"y_true": Y, "y_proba": P, "sample_weight": ONES}
    arguments[which] = np.ma.array(arguments[which], mask=mask)
    with pytest.raises(ValueError, match=rf"{which}.*mask"):
        weighted(**arguments)


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
