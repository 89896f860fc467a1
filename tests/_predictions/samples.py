"""Samples and the containers that users keep them in.

Forecasts are multiples of 1/64, which every float type holds exactly, so that all
spellings of one sample must give one number.
"""

import decimal

import numpy as np
import pandas as pd
import polars as pl

N = 60


def binary_sample():
    rng = np.random.default_rng(0)
    p = rng.integers(0, 65, size=N) / 64
    y = (rng.uniform(size=N) < p**2).astype(int)
    return y, p


def multiclass_sample():
    rng = np.random.default_rng(1)
    proba = np.array([rng.multinomial(64, q) for q in rng.dirichlet([1, 1, 1], N)]) / 64
    y = np.array([rng.choice(3, p=q) for q in proba])
    return y, proba


Y, P = binary_sample()
TWO_COLUMNS = np.column_stack([1 - P, P])
YES = np.where(Y == 1, "yes", "no")
Y3, P3 = multiclass_sample()
ONES = np.ones(N)


def strided(array):
    room = np.full((2 * array.shape[0], *array.shape[1:]), np.nan)
    room[::2] = array
    return room[::2]


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


class ArrayLike:
    """What converts itself to numpy on request, as tensors of other libraries do."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array, dtype=dtype)


ANY_CONTAINER = {
    "list": lambda a: a.tolist(),
    "tuple": lambda a: tuple(a.tolist()),
    "numpy-scalars": list,
    "float16": lambda a: a.astype(np.float16),
    "float32": lambda a: a.astype(np.float32),
    "longdouble": lambda a: a.astype(np.longdouble),
    "big-endian": lambda a: a.astype(">f8"),
    "object": lambda a: a.astype(object),
    "strided": strided,
    "reversed-view": lambda a: a[::-1].copy()[::-1],
    "read-only": read_only,
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


def with_value(array, row, value):
    array = np.array(array, dtype=np.result_type(array, type(value)))
    array[row] = value
    return array
