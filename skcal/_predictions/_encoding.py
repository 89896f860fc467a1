"""Labels as outcomes: which class is the positive one, which column is whose."""

import numpy as np

from skcal._predictions._labels import check_labels_array, plain, shown, unique

_CHUNK = 1 << 16


def check_known_labels(labels, proba):
    known = check_labels_array(labels, "labels") if np.ndim(labels) == 1 else None
    n_columns = 2 if proba.ndim == 1 else proba.shape[1]
    if known is None or known.shape[0] != n_columns:
        given = repr(labels) if known is None else f"{known.shape[0]} labels"
        raise ValueError(
            f"labels must name all {n_columns} classes, as y_proba has "
            f"{1 if proba.ndim == 1 else n_columns} column(s). Got {given} instead."
        )
    ordered = unique(known, "labels")
    if ordered.shape[0] != known.shape[0]:
        raise ValueError(f"labels must be unique. Got {shown(known)} instead.")
    if not np.array_equal(ordered, known):
        raise ValueError(
            f"labels must be in sorted order, which is the order of the columns of "
            f"y_proba. Got {shown(known)}; sort them and reorder the columns to "
            f"{shown(ordered)}."
        )
    return ordered


def check_column_order(y_proba, classes, name="y_proba"):
    """Refuse a data frame whose columns are called as the classes in another order."""
    columns = getattr(y_proba, "columns", None)
    if columns is None:
        return
    names, labels = (list(map(str, values)) for values in (columns, classes.tolist()))
    if names != labels and sorted(names) == sorted(labels):
        raise ValueError(
            f"The columns of {name} are called {names}, and must be in the sorted "
            f"order of the labels, {labels}. Reorder them, {name}[{labels}], or pass "
            "an array if the names mean something else."
        )


def encode_binary(y, proba, pos_label, labels):
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
                f"{shown(labels)}."
            )
    column = 1 if labels.shape[0] < 2 or labels[1] == positive else 0
    if positive == 1 and _is_zero_one(y):
        return y, labels, plain(positive), column
    return np.asarray(y == positive), labels, plain(positive), column


def _infer_binary_labels(y, proba, pos_label):
    if _is_zero_one(y):
        known = np.array([False, True] if y.dtype.kind == "b" else [0, 1])
    elif _is_sign(y):
        known = np.array([-1, 1])
    else:
        known = None
    if known is not None and (pos_label is None or pos_label in known.tolist()):
        return known, (known[1] if pos_label is None else pos_label)

    found = unique(y)
    if found.shape[0] > 2:
        n_columns = 1 if proba.ndim == 1 else 2
        raise ValueError(
            f"y_true has {found.shape[0]} classes, {shown(found)}, and y_proba "
            f"{n_columns} column(s), which is a forecast of two classes. Pass one "
            "column per class."
        )
    if pos_label is not None:
        if found.shape[0] == 2:
            if pos_label not in found.tolist():
                raise ValueError(
                    f"pos_label={pos_label!r} is not a valid label: it must be one of "
                    f"{shown(found)}."
                )
            return found, pos_label
        if found[0] != pos_label:
            return _with_absent_class(found, pos_label), pos_label
        if proba.ndim == 1:
            return found, pos_label
    elif proba.ndim == 1:
        raise ValueError(
            f"y_true takes value in {shown(found)} and pos_label is not specified: "
            "either make y_true take value in {0, 1} or {-1, 1} or pass pos_label "
            "explicitly."
        )
    elif found.shape[0] == 2:
        return found, found[1]
    raise ValueError(
        f"y_true holds one class only, {shown(found)}, so the columns of y_proba are "
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
            f"as {shown(found)} is, can equal it."
        )
    return np.unique(np.array([found[0], pos_label]))


def encode_multiclass(y, n_columns, labels):
    if labels is None:
        labels = unique(y)
        if labels.shape[0] > n_columns:
            raise ValueError(
                f"y_true has {labels.shape[0]} classes, {shown(labels)}, and y_proba "
                f"{n_columns} columns. Pass one column per class."
            )
        if labels.shape[0] < n_columns:
            raise ValueError(
                f"y_true has {labels.shape[0]} of the {n_columns} classes that y_proba "
                f"has columns for: {shown(labels)}. Pass labels=[...], all classes in "
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
        unique(y)
    return y


def _raise_unknown_labels(unknown, labels):
    raise ValueError(
        f"y_true contains labels that are not in labels={shown(labels)}: "
        f"{shown(unique(unknown))}. If these are an estimator's classes_, its training "
        "rows lacked a class, as those of a fold may that is not stratified."
    )


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
