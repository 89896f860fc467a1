"""What is recalibrated: whole vectors, or single events with their directions."""

from typing import NamedTuple

import numpy as np


class Problem(NamedTuple):
    """Forecasts to recalibrate and to compare with outcomes."""

    proba: np.ndarray  # (n_samples, n_columns), one column for a single event
    codes: np.ndarray  # of what happened: a column, or whether the event
    weight: np.ndarray | None
    classes: np.ndarray  # labels to fit on
    anchor: float | None  # where neither direction is, for a single event

    def scores(self, rows):
        """Probabilities of all classes, as recalibrators take them."""
        proba = np.asarray(self.proba[rows], dtype=np.float64)
        if proba.shape[1] == 1:
            proba = np.hstack([1.0 - proba, proba])
        return proba

    def outcome(self, rows):
        """Ones in the columns of what happened."""
        codes = self.codes[rows]
        if self.proba.shape[1] == 1:
            return codes.astype(np.float64)[:, np.newaxis]
        return np.eye(self.proba.shape[1])[codes]


def problems_of(predictions, multiclass):
    """Whole vectors, one event, or each class against the rest."""
    codes, weight = predictions.codes, predictions.sample_weight
    if weight is not None:
        weight = np.asarray(weight, dtype=np.float64)
    if not predictions.is_binary and multiclass == "canonical":
        proba, classes = predictions.proba, predictions.classes
        return [Problem(proba, codes.astype(np.intp), weight, classes, None)]
    classes, anchor = np.arange(2), 0.5
    if predictions.is_binary:
        known = predictions.classes
        if known.shape[0] == 2 and known[1] == predictions.pos_label:
            classes = known
    elif multiclass == "confidence":
        # The top class's probability is over-confident where it is too high.
        anchor = 0.0
    else:
        anchor = None
    return [
        Problem(
            problem.forecast[:, np.newaxis],
            problem.outcome.astype(np.intp),
            weight,
            classes,
            anchor,
        )
        for problem in predictions.binary_problems(
            "confidence" if multiclass == "canonical" else multiclass
        )
    ]
