"""Probabilities and logits: in range, finite, rows that sum to one."""

import numpy as np

from skcal._predictions._arrays import as_real_array, order_of, place

# Probabilities may leave [0, 1] by rounding, as float32 softmax outputs do.
_ROUNDING = 1e-6
_ROW_SUM_TOLERANCE = 1e-4
_CHUNK = 1 << 16
_MANY_COLUMNS = 8


def check_scores(y_proba, *, logits=False, name="y_proba"):
    """Checked probabilities or logits, of shape (n_samples,) or (n_samples, k >= 2)."""
    scores = as_real_array(y_proba, name)
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
        _check_row_sums(scores, name)
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


def _check_row_sums(proba, name):
    tolerance = 1e-2 if proba.dtype == np.float16 else _ROW_SUM_TOLERANCE
    for start in range(0, proba.shape[0], _CHUNK):
        piece = proba[start : start + _CHUNK]
        # np.add on columns beats a short reduction along rows.
        total = piece[:, 0].astype(np.float64)
        for k in range(1, min(piece.shape[1], _MANY_COLUMNS)):
            total += piece[:, k]
        if piece.shape[1] > _MANY_COLUMNS:
            total += piece[:, _MANY_COLUMNS:].sum(axis=1, dtype=np.float64)
        total -= 1.0
        if total.max() > tolerance or total.min() < -tolerance:
            bad = np.flatnonzero(np.abs(total) > tolerance)
            row = start + int(bad[0])
            raise ValueError(
                f"The rows of {name} must sum to one: row "
                f"{row} sums to {1.0 + total[bad[0]]:.6g}. Divide each row by its sum, "
                "apply softmax if these are logits, or pass one column if the classes "
                f"are not exclusive. Its shape is {proba.shape}, one row a sample."
            )


def _raise_not_finite(values, name):
    if values.dtype.kind != "f":
        return
    nan = np.isnan(values)
    if nan.any():
        raise ValueError(
            f"Input {name} contains NaN: {int(nan.sum())} of {values.size} values, "
            f"the first at {place(nan)}. Drop or impute these rows first."
        )
    infinite = np.isinf(values)
    if infinite.any():
        raise ValueError(
            f"Input {name} contains infinity: {int(infinite.sum())} of {values.size} "
            f"values, the first at {place(infinite)}. Replace them first, or drop the "
            "rows."
        )


def _raise_out_of_range(values, name, rounding):
    outside = (values < -rounding) | (values > 1 + rounding)
    where = place(outside)
    first = values[np.nonzero(outside)][0]
    low, high = float(values.min()), float(values.max())
    first = float(first)
    bound = "less than 0" if first < 0 else "greater than 1"
    advice = "Pass probabilities, not scores: apply expit or softmax to logits"
    if low >= 0 and 20 < high <= 100:
        advice = "If these are percentages, divide by 100"
    elif (values == np.floor(values)).all() and order_of(name):
        advice = order_of(name).rstrip(".")
    elif name == "proba":
        advice += ', or give input="logits" to the recalibrator'
    raise ValueError(
        f"{name} must lie in [0, 1] and contains values {bound}: {first:.9g} at "
        f"{where}; {int(outside.sum())} of {values.size} values are outside, the range "
        f"is [{low:.6g}, {high:.6g}]. {advice}."
    )
