"""The checked form of what users pass, and its reduction to binary problems."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skcal._predictions._options import check_option

MULTICLASS_REDUCTIONS = ("confidence", "classwise")


def check_reduction(multiclass):
    """Refuse what is no way from more classes to two."""
    if isinstance(multiclass, str) and multiclass == "canonical":
        raise ValueError(
            "multiclass='canonical' measures whole vectors, which variational_ece and "
            f"VariationalECE do. Here it must be one of {list(MULTICLASS_REDUCTIONS)}."
        )
    check_option("multiclass", multiclass, MULTICLASS_REDUCTIONS)


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
        check_reduction(multiclass)
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
