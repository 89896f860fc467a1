"""Estimates: means over the tested rows, with standard errors."""

from dataclasses import dataclass

import numpy as np

from skcal.divergences import Divergence
from skcal.divergences._names import is_own

DIRECTIONS = ("over", "under")
_CHUNK = 1 << 15


def _estimates(valued, recalibrated, rows, compared, sums):
    """The fields of a result that are a divergence's own."""
    per_row = {}
    for problem, proba, _ in recalibrated:
        for start in range(0, rows.shape[0], _CHUNK):
            piece = rows[start : start + _CHUNK]
            for key, values in valued(problem, piece, proba[piece]).items():
                total = per_row.setdefault(key, np.zeros(rows.shape[0]))
                total[start : start + _CHUNK] += values / len(recalibrated)
    mean = {key: sums.mean(values) for key, values in per_row.items()}
    agreement = _fold_covariance(valued, recalibrated, compared)
    spread = {
        key: sums.standard_error(per_row[key], agreement.get(key, 0.0))
        for key in ("value", *DIRECTIONS)
        if key in per_row
    }
    return dict(
        value=mean["value"],
        plugin=mean["plugin"],
        midpoint=0.5 * (mean["value"] + mean["plugin"]),
        standard_error=spread["value"],
        over=mean.get("over"),
        under=mean.get("under"),
        over_standard_error=spread.get("over"),
        under_standard_error=spread.get("under"),
        risk=mean.get("risk"),
        refinement=mean.get("refinement"),
        has_kink=valued.divergence.has_kink,
        fold_values=sums.fold_means(per_row["value"]),
    )


def _fold_covariance(valued, recalibrated, compared):
    """Covariance of two folds' means as a share of their variance, by part.

    Where a norm is measured, only the direction of a change counts, and near the
    forecast chance decides it. A fold's outcomes tip the directions of all other folds
    to their own side, and so the folds' means go together. If the directions of two
    folds' recalibrators differ for a share q of the rows, the covariance is q times the
    variance: with S the sums of residuals of two folds and A that of the others it is
    E[S S' sign(A + S') sign(A + S)] = 4 E[phi(A)^2], phi the normal density, and q is
    2 E[Phi(A) Phi(-A)]; the integrals of both over A are the same.

    Directions of vectors turn little by little, which moves the means twice as much for
    the same difference.
    """
    if compared.shape[0] == 0 or not valued.divergence.has_kink:
        return {}
    by_fold = {}
    for problem, _, probas in recalibrated:
        for j, proba in enumerate(probas):
            for key, values in valued(problem, compared, proba).items():
                shape = (len(probas), compared.shape[0])
                total = by_fold.setdefault(key, np.zeros(shape))
                total[j] += values / len(recalibrated)
    problem = recalibrated[0].problem
    weight = np.ones(compared.shape[0])
    if problem.weight is not None:
        weight = problem.weight[compared]
    signs_only = len(recalibrated) == 1 and problem.proba.shape[1] == 1
    covariance = {}
    for key, values in by_fold.items():
        size = weight @ np.mean(values**2, axis=0)
        if size > 0.0:
            # Half the mean square of the differences between pairs.
            differing = weight @ values.var(axis=0, ddof=1) / size
            covariance[key] = min(1.0, differing * (0.5 if signs_only else 1.0))
    return covariance


@dataclass(frozen=True)
class RowValues:
    """What the means are taken of, for each row."""

    divergence: Divergence
    anchor: float | None
    direction: str | None

    def __call__(self, problem, rows, proba):
        divergence, direction = self.divergence, self.direction
        forecast = np.asarray(problem.proba[rows], dtype=np.float64)
        outcome = problem.outcome(rows)
        if not is_own(divergence):
            divergence.check(forecast, proba)
        found = {}
        if self.anchor is not None:
            sides = {
                "over": _towards(forecast, proba, self.anchor),
                "under": _away(forecast, proba, self.anchor),
            }
            for side, projected in sides.items():
                found[side] = divergence.variational_value(forecast, projected, outcome)
            proba = sides.get(direction, proba)
        if direction is not None:
            found["value"] = found[direction]
        else:
            found["value"] = divergence.variational_value(forecast, proba, outcome)
        found["plugin"] = divergence.value(forecast, proba)
        if hasattr(divergence, "loss"):
            found["risk"] = divergence.loss(forecast, outcome)
            found["refinement"] = divergence.loss(proba, outcome)
        return found


def _towards(forecast, proba, anchor):
    """The probabilities where they are on the anchor's side of the forecast."""
    inwards = np.where(
        forecast > anchor, np.minimum(proba, forecast), np.maximum(proba, forecast)
    )
    return np.where(forecast == anchor, forecast, inwards)


def _away(forecast, proba, anchor):
    """The probabilities where they are on the other side of the forecast."""
    outwards = np.where(
        forecast > anchor, np.maximum(proba, forecast), np.minimum(proba, forecast)
    )
    return np.where(forecast == anchor, proba, outwards)


class MeansOverRows:
    """Means over the tested rows, and their standard errors.

    Parameters
    ----------
    rows : ndarray of shape (n_tested,)
        The tested rows, fold after fold.
    sizes : list of int
        Number of rows of each fold.
    weight : ndarray of shape (n_samples,) or None
        Weights of all rows.
    groups : ndarray of shape (n_samples,) or None
        Groups of all rows.
    """

    def __init__(self, rows, sizes, weight, groups):
        self.weight = np.ones(rows.shape[0]) if weight is None else weight[rows]
        self.fold = np.repeat(np.arange(len(sizes)), sizes)
        self.n_folds = len(sizes)
        self.fold_weight = np.bincount(self.fold, self.weight, self.n_folds)
        self.total = self.weight.sum()
        if not self.total > 0.0:
            raise ValueError(
                "Sample weights must contain at least one non-zero number among the "
                "rows that cv tests."
            )
        # Rows of a group depend on each other; those of a fold share a recalibrator.
        cluster = np.flatnonzero(self.weight > 0.0)
        self._counted = cluster
        if groups is None:
            self._cluster, self._cluster_fold = None, self.fold[cluster]
        else:
            _, index = np.unique(groups[rows[cluster]], return_inverse=True)
            pairs = self.fold[cluster] * (index.max() + 1) + index
            names, self._cluster = np.unique(pairs, return_inverse=True)
            self._cluster_fold = names // (index.max() + 1)

        self._counts = np.bincount(self._cluster_fold, minlength=self.n_folds)

    @property
    def degrees_of_freedom(self):
        # A fold of one row has no spread of its own.
        centres = self.n_folds if self._counts.min() >= 2 else 1
        return int(self._counts.sum()) - centres

    def mean(self, values):
        return float(self.weight @ values / self.total)

    def fold_means(self, values):
        sums = np.bincount(self.fold, self.weight * values, self.n_folds)
        with np.errstate(invalid="ignore"):
            return sums / self.fold_weight

    def standard_error(self, values, covariance):
        """Standard error of the mean.

        Parameters
        ----------
        values : ndarray of shape (n_tested,)
            Values of the rows.
        covariance : float
            Covariance of two folds' means as a share of their variance.

        Returns
        -------
        error : float
            NaN for a single row.
        """
        counts = self._counts
        if counts.sum() < 2:
            return np.nan
        if counts.min() >= 2:
            centre = self.fold_means(values)[self.fold]
            stretch = counts / (counts - 1.0)
        else:
            centre = self.mean(values)
            stretch = np.full(self.n_folds, counts.sum() / (counts.sum() - 1.0))
        deviation = (self.weight * (values - centre))[self._counted]
        if self._cluster is not None:
            deviation = np.bincount(self._cluster, deviation)
        variance = deviation**2 @ stretch[self._cluster_fold]
        # Of K folds of equal weight each goes together with K - 1 others.
        others = self.total**2 / (self.fold_weight @ self.fold_weight) - 1.0
        return float(np.sqrt(variance * (1.0 + others * covariance)) / self.total)
