"""The one door for input: labels, probabilities and weights, checked and encoded.

Every metric, test and display takes its input through `check_predictions`, and every
input error is worded here.
"""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np

# Probabilities may leave [0, 1] by rounding, as float32 softmax outputs do.
_ROUNDING = 1e-6
_ROW_SUM_TOLERANCE = 1e-4
_CHUNK = 1 << 16
_MANY = 8
_ORDER = "The order of arguments is (y_true, y_proba)."

MULTICLASS_REDUCTIONS = ("confidence", "classwise")


class BinaryProblem(NamedTuple):
    """Outcomes against forecasts of one event.

    Attributes
    ----------
    outcome : ndarray of shape (n_samples,)
        1 where the event happened, 0 elsewhere, of any integer, float or bool dtype.
    forecast : ndarray of shape (n_samples,)
        Its predicted probability in [0, 1], of any real dtype, not copied.
    weight : ndarray of shape (n_samples,) or None
    """

    outcome: np.ndarray
    forecast: np.ndarray
    weight: np.ndarray | None

    def chunks(self, size):
        """Yield outcome, forecast and weight as float64, at most `size` rows each."""
        for start in range(0, self.forecast.shape[0], size):
            piece = slice(start, start + size)
            weight = None
            if self.weight is not None:
                weight = np.asarray(self.weight[piece], dtype=np.float64)
            yield (
                np.asarray(self.outcome[piece], dtype=np.float64),
                np.asarray(self.forecast[piece], dtype=np.float64),
                weight,
            )

    def as_float64(self):
        """Outcome, forecast and weight whole, as float64."""
        return next(self.chunks(self.forecast.shape[0]))


@dataclass(frozen=True, slots=True)
class Predictions:
    """Checked and encoded predictions.

    Attributes
    ----------
    proba : ndarray of shape (n_samples,) or (n_samples, n_classes)
        One column, the positive class's, for two classes.
    codes : ndarray of shape (n_samples,)
        1 for the positive class and 0 for the other; with three classes or more the
        index of the true class's column.
    sample_weight : ndarray of shape (n_samples,) or None
    classes : ndarray of shape (n_classes,)
        The labels in sorted order; for two classes both may not be known, then it
        holds those that are.
    pos_label : object
        Label of the positive class, None with three classes or more.
    """

    proba: np.ndarray
    codes: np.ndarray
    sample_weight: np.ndarray | None
    classes: np.ndarray
    pos_label: object = None

    @property
    def is_binary(self):
        return self.proba.ndim == 1

    @property
    def n_samples(self):
        return self.proba.shape[0]

    def binary_problems(self, multiclass="confidence"):
        """Reduce to binary problems: one, or one per class for ``"classwise"``.

        Two-class predictions are one problem whatever `multiclass` says.
        """
        check_option("multiclass", multiclass, MULTICLASS_REDUCTIONS)
        if self.is_binary:
            return [BinaryProblem(self.codes, self.proba, self.sample_weight)]
        if multiclass == "confidence":
            top = self.proba.argmax(axis=1)
            forecast = np.take_along_axis(self.proba, top[:, np.newaxis], axis=1)
            return [
                BinaryProblem(top == self.codes, forecast[:, 0], self.sample_weight)
            ]
        return [
            BinaryProblem(self.codes == k, self.proba[:, k], self.sample_weight)
            for k in range(self.proba.shape[1])
        ]


def check_option(name, value, options):
    """Refuse a value that is none of the options."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(
            f"{name} must be one of {list(options)}. Got {value!r} instead."
        )


def check_positive(name, value, kind=Real):
    """Refuse what is no positive, finite number of a kind."""
    valid = isinstance(value, kind) and not isinstance(value, (bool, np.bool_))
    if not (valid and 0 < value < np.inf):
        noun = "integer" if kind is Integral else "number"
        raise ValueError(f"{name} must be a positive {noun}. Got {name}={value!r}.")


def check_fraction(name, value):
    """Refuse what is no number strictly between 0 and 1."""
    valid = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
    if not (valid and 0 < value < 1):
        raise ValueError(
            f"{name} must be a number between 0 and 1. Got {name}={value!r}."
        )


def check_predictions(
    y_true,
    y_proba,
    *,
    sample_weight=None,
    pos_label=None,
    labels=None,
    allow_zero_weight=False,
    logits=False,
):
    """Check and encode labels, probabilities and weights.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels of any sortable type.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or \
            (n_samples, n_classes)
        Predicted probabilities in [0, 1]. One column is the positive class's; two or
        more columns are the classes' in sorted order, and rows sum to one.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.
    pos_label : int, float, bool or str, default=None
        The positive class of two. By default 1 for labels within {0, 1} or {-1, 1},
        else the second of the sorted labels, where the columns or `labels` say that
        there are two.
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order, needed where `y_true` lacks a class.
    allow_zero_weight : bool, default=False
        Accept weights that are all zero, as a stream's batch may have.
    logits : bool, default=False
        `y_proba` holds logits: any finite numbers.

    Returns
    -------
    predictions : Predictions

    Raises
    ------
    ValueError
        If anything is missing, non-finite, out of range, inconsistent or ambiguous.
    """
    y = _check_labels_array(y_true)
    proba = check_scores(y_proba, logits=logits)
    if y.shape[0] != proba.shape[0]:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"y_true has {y.shape[0]} and y_proba {proba.shape[0]}."
        )
    weight = check_weight(sample_weight, y.shape[0], allow_zero_weight)
    if labels is not None:
        labels = _check_known_labels(labels, proba)
    if proba.ndim == 2 and proba.shape[1] > 2:
        codes, classes = _encode_multiclass(y, proba.shape[1], labels)
        return Predictions(proba, codes, weight, classes)
    codes, classes, pos_label, column = _encode_binary(y, proba, pos_label, labels)
    if proba.ndim == 2:
        proba = proba[:, column]
    return Predictions(proba, codes, weight, classes, pos_label)


# Probabilities ------------------------------------------------------------------------


def check_scores(y_proba, *, logits=False, name="y_proba"):
    """Checked probabilities or logits, of shape (n_samples,) or (n_samples, k >= 2)."""
    scores = _as_real_array(y_proba, name)
    if scores.ndim not in (1, 2) or (scores.ndim == 2 and scores.shape[1] == 0):
        raise ValueError(
            f"{name} must have shape (n_samples,), (n_samples, 1) or "
            f"(n_samples, n_classes). Got shape {scores.shape} instead."
        )
    if scores.shape[0] == 0:
        raise ValueError(
            f"{name} is empty: found array with 0 sample(s) while a minimum of 1 is "
            "required."
        )
    if scores.ndim == 2 and scores.shape[1] == 1:
        scores = scores[:, 0]
    low, high = scores.min(), scores.max()
    if logits:
        if not (low > -np.inf and high < np.inf):
            _raise_not_finite(scores, name)
        return scores
    # A NaN anywhere makes both comparisons false.
    if not (low >= 0 and high <= 1):
        rounding = _ROUNDING
        if scores.dtype.kind == "f":
            rounding = max(rounding, float(np.finfo(scores.dtype).eps))
        if not (low >= -rounding and high <= 1 + rounding):
            _raise_not_finite(scores, name)
            _raise_out_of_range(scores, name, rounding)
        scores = np.clip(scores, 0, 1)
    if scores.ndim == 2:
        _check_row_sums(scores)
    return scores


def check_values(name, function, at):
    """Checked probabilities, float64, from a user's function: one for each point."""
    at = np.asarray(at, dtype=np.float64)
    values = function(at)
    if np.shape(values) != at.shape:
        raise ValueError(
            f"{name} must return a probability for each of the numbers in its argument "
            f"of shape {at.shape}. Got shape {np.shape(values)} instead."
        )
    values = check_scores(values, name=f"the output of {name}")
    return np.asarray(values, dtype=np.float64)


def _check_row_sums(proba):
    tolerance = 1e-2 if proba.dtype == np.float16 else _ROW_SUM_TOLERANCE
    for start in range(0, proba.shape[0], _CHUNK):
        piece = proba[start : start + _CHUNK]
        # np.add on columns beats a short reduction along rows.
        total = piece[:, 0].astype(np.float64)
        for k in range(1, min(piece.shape[1], _MANY)):
            total += piece[:, k]
        if piece.shape[1] > _MANY:
            total += piece[:, _MANY:].sum(axis=1, dtype=np.float64)
        total -= 1.0
        if total.max() > tolerance or total.min() < -tolerance:
            bad = np.flatnonzero(np.abs(total) > tolerance)
            row = start + int(bad[0])
            raise ValueError(
                "The rows of y_proba must sum to one: row "
                f"{row} sums to {1.0 + total[bad[0]]:.6g}. Divide each row by its sum, "
                "apply softmax if these are logits, or pass one column if the classes "
                "are not exclusive."
            )


def _raise_not_finite(values, name):
    if values.dtype.kind != "f":
        return
    nan = np.isnan(values)
    if nan.any():
        raise ValueError(
            f"Input {name} contains NaN: {int(nan.sum())} of {values.size} values, "
            f"the first at {_place(nan)}. Drop or impute these rows first."
        )
    infinite = np.isinf(values)
    if infinite.any():
        raise ValueError(
            f"Input {name} contains infinity: {int(infinite.sum())} of {values.size} "
            f"values, the first at {_place(infinite)}. Replace them first, or drop the "
            "rows."
        )


def _raise_out_of_range(values, name, rounding):
    outside = (values < -rounding) | (values > 1 + rounding)
    where = _place(outside)
    first = values[np.nonzero(outside)][0]
    low, high = float(values.min()), float(values.max())
    first = float(first)
    bound = "less than 0" if first < 0 else "greater than 1"
    advice = "Pass probabilities, not scores: apply expit or softmax to logits"
    if low >= 0 and 20 < high <= 100:
        advice = "If these are percentages, divide by 100"
    elif (values == np.floor(values)).all():
        advice = _ORDER.rstrip(".")
    raise ValueError(
        f"{name} must lie in [0, 1] and contains values {bound}: {first:.9g} at "
        f"{where}; {int(outside.sum())} of {values.size} values are outside, the range "
        f"is [{low:.6g}, {high:.6g}]. {advice}."
    )


def _place(mask):
    index = [int(i[0]) for i in np.nonzero(mask)]
    if len(index) == 1:
        return f"row {index[0]}"
    return f"row {index[0]}, column {index[1]}"


def _as_real_array(values, name):
    """Values as an array of a real number dtype, without a copy where it is one."""
    array = values if type(values) is np.ndarray else _to_numpy(values, name)
    if array.dtype.kind == "O":
        array = _numbers_from_objects(values, array, name)
    if array.dtype.kind not in "fiub":
        order = f" {_ORDER}" if name == "y_proba" else ""
        raise ValueError(
            f"{name} must hold real numbers. Got dtype {array.dtype} instead.{order}"
        )
    return array


def _to_numpy(values, name):
    if values is None or isinstance(values, (str, bytes)) or np.isscalar(values):
        raise ValueError(f"{name} must be array-like. Got {values!r} instead.")
    if hasattr(values, "toarray") and not hasattr(values, "to_numpy"):
        raise ValueError(
            f"{name} must be dense. Got {type(values).__name__}; call .toarray()."
        )
    if np.ma.is_masked(values):
        raise ValueError(
            f"{name} is a masked array with {int(np.ma.getmaskarray(values).sum())} "
            "masked values. Drop these rows first, or pass its data to use them."
        )
    try:
        if hasattr(values, "to_numpy"):
            values = values.to_numpy()
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(
            f"{name} must be a rectangular array; its rows have different lengths."
        ) from error


def _numbers_from_objects(values, array, name):
    """Object arrays: nullable pandas dtypes, or numbers boxed one by one."""
    kinds = {kind.__name__ for kind in set(map(type, array.ravel().tolist()))}
    if kinds & {"str", "bytes", "complex"}:
        raise ValueError(
            f"{name} must hold real numbers. Got values of type {sorted(kinds)}."
        )
    try:
        if hasattr(values, "to_numpy") and hasattr(values, "isna"):
            # pandas' nullable dtypes hold NA, which only pandas turns into NaN.
            return values.to_numpy(dtype=np.float64, na_value=np.nan)
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must hold real numbers. Got values of type {sorted(kinds)}."
        ) from error


# Weights ------------------------------------------------------------------------------


def check_weight(sample_weight, n_samples, allow_zero_weight=False):
    """Checked weights, or None."""
    if sample_weight is None:
        return None
    weight = _as_real_array(sample_weight, "sample_weight")
    if weight.ndim == 2 and weight.shape[1] == 1:
        weight = weight[:, 0]
    if weight.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have shape ({n_samples},), one weight per row. Got "
            f"shape {weight.shape} instead."
        )
    low, high = weight.min(), weight.max()
    if not (low >= 0 and high < np.inf):
        for mask, found in (
            (np.isnan(weight), "NaN"),
            (np.isinf(weight), "infinity"),
            (weight < 0, "negative values"),
        ):
            if mask.any():
                raise ValueError(
                    f"Input sample_weight contains {found}: {int(mask.sum())} of "
                    f"{n_samples} weights, the first at {_place(mask)}. Weights must "
                    "be finite and not negative."
                )
    if high > np.finfo(np.float64).max / n_samples:
        raise ValueError(
            f"The sum of sample_weight overflows: the largest of {n_samples} weights "
            f"is {float(high):.3g}. Divide all weights by it."
        )
    if 0 < high < 1e-150:
        # Products with residuals would lose their digits.
        return weight / high
    if high == 0 and not allow_zero_weight:
        raise ValueError(
            "Sample weights must contain at least one non-zero number. Got "
            f"{n_samples} zeros in sample_weight."
        )
    return weight


# Groups -------------------------------------------------------------------------------


def check_groups(groups, n_samples, name="groups"):
    """Groups of the rows, as an array of sortable values."""
    groups = _check_labels_array(groups, name)
    if groups.shape[0] != n_samples:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {name} has "
            f"{groups.shape[0]} and y_proba {n_samples}."
        )
    if groups.dtype.kind == "f" and np.isnan(groups).any():
        missing = np.flatnonzero(np.isnan(groups))
        raise ValueError(_missing_labels(name, missing, n_samples))
    return groups


# Labels -------------------------------------------------------------------------------


def _check_labels_array(y_true, name="y_true"):
    y = y_true if type(y_true) is np.ndarray else _to_numpy(y_true, name)
    if y.dtype.kind in "US" and isinstance(y_true, (list, tuple)):
        # numpy has turned numbers and None among the strings into strings.
        y = np.asarray(y_true, dtype=object)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        advice = ""
        if name == "y_true":
            advice = f" For one-hot rows pass y_true.argmax(axis=1). {_ORDER}"
        raise ValueError(
            f"{name} must be one-dimensional. Got shape {y.shape} instead.{advice}"
        )
    if y.shape[0] == 0:
        raise ValueError(
            f"{name} is empty: found array with 0 sample(s) while a minimum of 1 is "
            "required. One row at least is needed in y_true and y_proba."
        )
    if y.dtype.kind == "O":
        y = _labels_from_objects(y, name)
    if y.dtype.kind not in "biufUSOT":
        raise ValueError(
            f"{name} must hold class labels: booleans, integers or strings. Got dtype "
            f"{y.dtype} instead."
        )
    return y


def check_no_missing_labels(y, name="y"):
    """Raise ValueError where some of `y`, which need not be an array, is missing."""
    y = np.asarray(y)
    if y.ndim == 1 and y.dtype.kind == "O":
        _labels_from_objects(y, name)


def _labels_from_objects(y, name):
    values = y.tolist()
    types = set(map(type, values))
    names = sorted(t.__name__ for t in types)
    missing = []
    if types - {str, int, bool}:
        missing = [row for row, value in enumerate(values) if _is_missing(value)]
    if missing:
        raise ValueError(_missing_labels(name, missing, y.size))
    if types <= {str, np.str_}:
        return y
    if all(issubclass(t, (bool, np.bool_, int, float, np.number)) for t in types):
        return np.asarray(values)
    if len(types) > 1:
        raise ValueError(
            f"{name} mixes labels of types {names}; give all labels one type."
        )
    return y


def _missing_labels(name, missing, n_samples):
    return (
        f"Input {name} contains NaN or missing labels: {len(missing)} of {n_samples}, "
        f"the first at row {missing[0]}. Drop these rows first."
    )


def _is_missing(value):
    """None, pandas.NA, pandas.NaT and float NaN all mean a missing label."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and value != value


def check_labels(y_true):
    """Distinct labels in sorted order."""
    return _unique(_check_labels_array(y_true))


def _check_known_labels(labels, proba):
    known = _check_labels_array(labels, "labels") if np.ndim(labels) == 1 else None
    n_columns = 2 if proba.ndim == 1 else proba.shape[1]
    if known is None or known.shape[0] != n_columns:
        given = repr(labels) if known is None else f"{known.shape[0]} labels"
        raise ValueError(
            f"labels must name all {n_columns} classes, as y_proba has "
            f"{1 if proba.ndim == 1 else n_columns} column(s). Got {given} instead."
        )
    ordered = _unique(known, "labels")
    if ordered.shape[0] != known.shape[0]:
        raise ValueError(f"labels must be unique. Got {_shown(known)} instead.")
    if not np.array_equal(ordered, known):
        raise ValueError(
            f"labels must be in sorted order, which is the order of the columns of "
            f"y_proba. Got {_shown(known)}; sort them and reorder the columns to "
            f"{_shown(ordered)}."
        )
    return ordered


def _encode_binary(y, proba, pos_label, labels):
    """Outcome, classes, positive label and its column."""
    if np.ndim(pos_label) > 0:
        raise ValueError(f"pos_label must be one label. Got {pos_label!r} instead.")
    if labels is None:
        labels, positive = _infer_binary_labels(y, proba, pos_label)
    else:
        y = _comparable(y, labels)
        _check_labels_known(y, labels)
        positive = labels[1] if pos_label is None else pos_label
        if pos_label is not None and pos_label not in labels.tolist():
            raise ValueError(
                f"pos_label={pos_label!r} is not a valid label: it must be one of "
                f"{_shown(labels)}."
            )
    column = 1 if labels.shape[0] < 2 or labels[1] == positive else 0
    if positive == 1 and _is_zero_one(y):
        return y, labels, _plain(positive), column
    return np.asarray(y == positive), labels, _plain(positive), column


def _infer_binary_labels(y, proba, pos_label):
    if _is_zero_one(y):
        known = np.array([False, True] if y.dtype.kind == "b" else [0, 1])
    elif _is_sign(y):
        known = np.array([-1, 1])
    else:
        known = None
    if known is not None and (pos_label is None or pos_label in known.tolist()):
        return known, (known[1] if pos_label is None else pos_label)

    found = _unique(y)
    if found.shape[0] > 2:
        n_columns = 1 if proba.ndim == 1 else 2
        raise ValueError(
            f"y_true has {found.shape[0]} classes, {_shown(found)}, and y_proba "
            f"{n_columns} column(s), which is a forecast of two classes. Pass one "
            "column per class."
        )
    if pos_label is not None:
        if found.shape[0] == 2:
            if pos_label not in found.tolist():
                raise ValueError(
                    f"pos_label={pos_label!r} is not a valid label: it must be one of "
                    f"{_shown(found)}."
                )
            return found, pos_label
        if found[0] != pos_label:
            return _with_absent_class(found, pos_label), pos_label
        if proba.ndim == 1:
            return found, pos_label
    elif proba.ndim == 1:
        raise ValueError(
            f"y_true takes value in {_shown(found)} and pos_label is not specified: "
            "either make y_true take value in {0, 1} or {-1, 1} or pass pos_label "
            "explicitly."
        )
    elif found.shape[0] == 2:
        return found, found[1]
    raise ValueError(
        f"y_true holds one class only, {_shown(found)}, so the columns of y_proba are "
        "not known. Pass labels=[...], all classes in sorted order."
    )


def _with_absent_class(found, pos_label):
    """Both classes, where only the negative one is there."""
    kind, given = found.dtype.kind, np.asarray(pos_label).dtype.kind
    alike = (kind in "biuf" and given in "biuf") or (kind == given and kind != "O")
    alike = alike or type(pos_label) is type(found[0])
    if not alike or pos_label != pos_label:
        raise ValueError(
            f"pos_label={pos_label!r} is not a valid label: no label of y_true's type, "
            f"as {_shown(found)} is, can equal it."
        )
    return np.unique(np.array([found[0], pos_label]))


def _encode_multiclass(y, n_columns, labels):
    if labels is None:
        labels = _unique(y)
        if labels.shape[0] > n_columns:
            raise ValueError(
                f"y_true has {labels.shape[0]} classes, {_shown(labels)}, and y_proba "
                f"{n_columns} columns. Pass one column per class."
            )
        if labels.shape[0] < n_columns:
            raise ValueError(
                f"y_true has {labels.shape[0]} of the {n_columns} classes that y_proba "
                f"has columns for: {_shown(labels)}. Pass labels=[...], all classes in "
                "sorted order (estimator.classes_)."
            )
    else:
        y = _comparable(y, labels)
    if y.dtype.kind == "O" and labels.dtype.kind == "U":
        y = np.asarray(y.tolist())
    codes = np.searchsorted(labels, y)
    np.minimum(codes, n_columns - 1, out=codes)
    unknown = labels[codes] != y
    if unknown.any():
        _raise_unknown_labels(y[unknown], labels)
    return codes, labels


def _check_labels_known(y, labels):
    if labels.tolist() in ([0, 1], [False, True]) and _is_zero_one(y):
        return
    unknown = (y != labels[0]) & (y != labels[1])
    if unknown.any():
        _raise_unknown_labels(y[unknown], labels)


def _comparable(y, labels):
    """The true labels, once they are of a kind that can equal the given ones."""
    numbers = "biuf"
    if (y.dtype.kind in numbers) != (labels.dtype.kind in numbers):
        _raise_unknown_labels(y, labels)
    if y.dtype.kind == "f":
        _unique(y)
    return y


def _raise_unknown_labels(unknown, labels):
    raise ValueError(
        f"y_true contains labels that are not in labels={_shown(labels)}: "
        f"{_shown(_unique(unknown))}."
    )


def _unique(y, name="y_true"):
    """Distinct labels, refusing numbers that cannot be labels."""
    try:
        if y.dtype.kind in "OU":
            # A set of strings is several times faster than sorting them all.
            found = np.array(sorted(set(y.tolist())))
        elif y.dtype.kind in "biu":
            found = _unique_integers(y)
        else:
            found = np.unique(y)
    except TypeError as error:
        raise ValueError(
            f"{name} must hold labels that can be sorted. Got values of type "
            f"{sorted({type(v).__name__ for v in y.tolist()})}."
        ) from error
    if found.dtype.kind == "f":
        if not np.isfinite(found).all():
            bad = ~np.isfinite(y)
            raise ValueError(
                f"Input {name} contains NaN or infinity: {int(bad.sum())} of {y.size} "
                f"labels, the first at {_place(bad)}. Drop these rows first."
            )
        if (found != np.floor(found)).any():
            raise ValueError(
                f"{name} must hold class labels, and continuous values were found, "
                f"such as {found[found != np.floor(found)][0]:.6g}. {_ORDER}"
            )
    return found


def _unique_integers(y):
    """The same as ``np.unique``, several times faster for the labels that are usual."""
    low, high = int(y.min()), int(y.max())
    if high - low > max(100, y.size // 10) or max(-low, high) >= 2**31:
        return np.unique(y)
    counts = np.bincount(y.astype(np.intp, copy=False) - low)
    return (np.flatnonzero(counts) + low).astype(y.dtype)


def _is_zero_one(y):
    if y.dtype.kind == "b":
        return True
    if y.dtype.kind not in "iuf":
        return False
    if not (y.min() >= 0 and y.max() <= 1):
        return False
    return y.dtype.kind != "f" or _all_in_chunks(y, lambda v: (v == 0) | (v == 1))


def _is_sign(y):
    if y.dtype.kind not in "if" or not (y.min() >= -1 and y.max() <= 1):
        return False
    return _all_in_chunks(y, lambda v: (v == 1) | (v == -1))


def _all_in_chunks(y, test):
    return all(
        test(y[start : start + _CHUNK]).all() for start in range(0, y.size, _CHUNK)
    )


def _plain(label):
    return label.item() if isinstance(label, np.generic) else label


def _shown(labels):
    shown = [_plain(label) for label in labels[:_MANY].tolist()]
    more = f", ... ({labels.shape[0]} in all)" if labels.shape[0] > _MANY else ""
    return "{" + ", ".join(repr(label) for label in shown) + more + "}"
