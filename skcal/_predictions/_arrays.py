"""Containers of any library as numpy arrays."""

import numpy as np

_ORDERS = {
    ("y_true", "y_proba"): "The order of arguments is (y_true, y_proba).",
    ("proba", "y"): "The order of arguments is (proba, y).",
}


def order_of(name):
    """The order of arguments, where `name` may have been swapped with another."""
    return next((text for pair, text in _ORDERS.items() if name in pair), "")


def place(mask):
    index = [int(i[0]) for i in np.nonzero(mask)]
    if len(index) == 1:
        return f"row {index[0]}"
    return f"row {index[0]}, column {index[1]}"


def as_real_array(values, name):
    """Values as an array of a real number dtype, without a copy where it is one."""
    array = values if type(values) is np.ndarray else to_numpy(values, name)
    if array.dtype.kind == "O":
        array = _numbers_from_objects(values, array, name)
    if array.dtype.kind not in "fiub":
        such = f", such as {array.flat[0]!s}" if array.size else ""
        raise ValueError(
            f"{name} must hold real numbers. Got dtype {array.dtype} instead{such}. "
            f"{order_of(name)}".rstrip()
        )
    return array


def to_numpy(values, name):
    if values is None or isinstance(values, (str, bytes)) or np.isscalar(values):
        raise ValueError(f"{name} must be array-like. Got {values!r} instead.")
    if hasattr(values, "toarray") and not hasattr(values, "to_numpy"):
        raise ValueError(
            f"{name} must be dense. Got {type(values).__name__}; call .toarray()."
        )
    # pandas' arrays have a mask as well; their NA is found and placed later.
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
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
        odd = (str, bytes, complex)
        is_odd = np.reshape([isinstance(v, odd) for v in array.ravel()], array.shape)
        raise ValueError(
            f"{name} must hold real numbers. Got values of type {sorted(kinds)}, the "
            f"first that is no real number being {array[is_odd][0]!r} at "
            f"{place(is_odd)}. {order_of(name)}".rstrip()
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
