"""Labels of any sortable type: one column, none missing, and which there are."""

import numpy as np

from skcal._predictions._arrays import order_of, place, to_numpy

_MOST_SHOWN = 8


def check_groups(groups, n_samples, name="groups"):
    """Groups of the rows, as an array of sortable values."""
    groups = check_labels_array(groups, name)
    if groups.shape[0] != n_samples:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {name} has "
            f"{groups.shape[0]} and y_proba {n_samples}."
        )
    if groups.dtype.kind == "f" and np.isnan(groups).any():
        missing = np.flatnonzero(np.isnan(groups))
        raise ValueError(_missing_labels(name, missing, n_samples))
    return groups


def check_labels_array(y_true, name="y_true"):
    y = y_true if type(y_true) is np.ndarray else to_numpy(y_true, name)
    if y.dtype.kind in "US" and isinstance(y_true, (list, tuple)):
        # numpy has turned numbers and None among the strings into strings.
        y = np.asarray(y_true, dtype=object)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim == 0:
        raise ValueError(
            f"{name} must be array-like. Got {type(y_true).__name__} instead."
        )
    if y.ndim != 1:
        advice = ""
        if order_of(name):
            advice = f" For one-hot rows pass {name}.argmax(axis=1). {order_of(name)}"
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


def check_labels(y_true, name="y_true"):
    """Distinct labels in sorted order."""
    return unique(check_labels_array(y_true, name), name)


def unique(y, name="y_true"):
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
                f"labels, the first at {place(bad)}. Drop these rows first."
            )
        if (found != np.floor(found)).any():
            raise ValueError(
                f"{name} must hold class labels, and continuous values were found, "
                f"such as {found[found != np.floor(found)][0]:.6g}. {order_of(name)}"
            )
    return found


def _unique_integers(y):
    """The same as ``np.unique``, several times faster for the labels that are usual."""
    low, high = int(y.min()), int(y.max())
    if high - low > max(100, y.size // 10) or max(-low, high) >= 2**31:
        return np.unique(y)
    counts = np.bincount(y.astype(np.intp, copy=False) - low)
    return (np.flatnonzero(counts) + low).astype(y.dtype)


def plain(label):
    return label.item() if isinstance(label, np.generic) else label


def shown(labels):
    shown = [plain(label) for label in labels[:_MOST_SHOWN].tolist()]
    more = f", ... ({labels.shape[0]} in all)" if labels.shape[0] > _MOST_SHOWN else ""
    return "{" + ", ".join(repr(label) for label in shown) + more + "}"
