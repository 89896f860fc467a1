"""The curves of a reliability diagram, each with what belongs to it.

Nothing is computed here: numbers come from metrics and inference.
"""

from dataclasses import dataclass, fields
from functools import partial
from numbers import Integral
from typing import NamedTuple

import numpy as np

from skcal._predictions import (
    BinaryProblem,
    check_fraction,
    check_groups,
    check_option,
    check_positive,
    check_predictions,
    check_reduction,
)
from skcal._sklearn import _safe_indexing
from skcal.displays._cv_results import check_cv_results, held_out_proba
from skcal.inference._bands import (
    BANDS,
    Resampling,
    binned_band,
    isotonic_band,
    map_band,
    smooth_band,
)
from skcal.inference._bootstrap import bootstrap_interval
from skcal.metrics._binned import STRATEGIES, binned_ece, number_of_bins
from skcal.metrics._corp import isotonic_curve
from skcal.metrics._curve import (
    Bins,
    binned_curve,
    mean_curve,
    recalibrated_curve,
    smooth_curve,
)
from skcal.metrics._smooth import smooth_ece

KINDS = ("smooth", "binned", "isotonic")


@dataclass(frozen=True)
class Curve:
    """One curve of a display, under the names of the display's attributes."""

    prob_true: np.ndarray
    prob_pred: np.ndarray
    y_prob: np.ndarray = None
    rows: np.ndarray = None
    bin_edges: np.ndarray = None
    density_at: np.ndarray = None
    density: np.ndarray = None
    outcome_density: np.ndarray = None
    calibration_error: float = None
    error_interval: tuple = None
    confidence_band: tuple = None
    consistency_band: tuple = None
    decomposition: dict = None


_FIELDS = [field.name for field in fields(Curve)]


class CurveRecipe(NamedTuple):
    """Choices of a computation."""

    kind: object
    n_bins: object
    strategy: str
    bands: tuple
    resampling: Resampling

    @classmethod
    def checked(cls, kind, n_bins, strategy, band, **resampling):
        """The choices of a user."""
        bands = _bands(band, kind)
        check_kind(kind)
        check_option("strategy", strategy, STRATEGIES)
        check_fraction("confidence_level", resampling["confidence_level"])
        check_positive("n_resamples", resampling["n_resamples"], Integral)
        return cls(kind, n_bins, strategy, bands, Resampling(**resampling))

    def curves_of_parts(self, problem, members):
        """A curve of each part of the rows, on the same bins or nodes."""
        parts = [_part(problem, rows) for rows in members]
        if self.kind == "binned":
            bins = Bins(problem, self.n_bins, self.strategy)
            return [
                self.curve(part, bins, bins.index[rows])
                for part, rows in zip(parts, members, strict=True)
            ]
        n_nodes = None
        if self.kind == "smooth":
            n_nodes = max(smooth_curve(part).density_at.size - 1 for part in parts)
        return [self.curve(part, n_nodes=n_nodes) for part in parts]

    def curve(self, problem, bins=None, index=None, n_nodes=None):
        """Everything that is drawn of one problem."""
        # An invalid number of bins is refused whatever the kind.
        n_bins = number_of_bins(self.n_bins, problem)
        shared = bins is not None
        kind, resampling, edges = self.kind, self.resampling, None
        if kind == "smooth":
            curve, band_of = smooth_curve(problem, n_nodes), smooth_band
        elif kind == "isotonic":
            curve, band_of = isotonic_curve(problem), isotonic_band
        elif kind == "binned":
            if bins is None:
                bins = Bins(problem, n_bins, self.strategy)
                index = bins.index
            curve, edges = binned_curve(problem, bins, index), bins.edges
            band_of = partial(binned_band, index=index)
        else:
            curve = recalibrated_curve(problem, kind)
            band_of = partial(map_band, recalibrator=kind)
        bands = {
            f"{band}_band": band_of(problem, curve, band=band, resampling=resampling)
            for band in self.bands
        }
        return Curve(
            error_interval=self._interval(problem, n_bins, shared),
            prob_true=curve.prob_true,
            prob_pred=curve.prob_pred,
            y_prob=problem.forecast,
            rows=curve.rows,
            bin_edges=edges,
            density_at=curve.density_at,
            density=curve.density,
            outcome_density=curve.outcome_density,
            calibration_error=curve.error,
            decomposition=curve.split,
            **bands,
        )

    def _interval(self, problem, n_bins, shared):
        """Interval of the error in the legend, where there is one."""
        if "confidence" not in self.bands or shared:
            return None
        if self.kind == "smooth":
            measure, params = smooth_ece, {}
        elif self.kind == "binned":
            measure, params = (
                binned_ece,
                {"n_bins": n_bins, "strategy": self.strategy},
            )
        else:
            return None
        result = bootstrap_interval(
            measure,
            np.asarray(problem.outcome, dtype=np.intp),
            problem.forecast,
            sample_weight=problem.weight,
            **self.resampling._asdict(),
            **params,
        )
        return result.low, result.high


def check_kind(kind):
    if isinstance(kind, str) and kind in KINDS:
        return
    if hasattr(kind, "fit") and hasattr(kind, "transform"):
        if not isinstance(kind, type):
            return
        raise ValueError(
            f"kind must be one of {list(KINDS)} or a recalibrator, an instance of it. "
            f"Got the class {kind.__name__} instead; write {kind.__name__}()."
        )
    raise ValueError(
        f"kind must be one of {list(KINDS)} or a recalibrator. Got {kind!r} instead."
    )


def _bands(band, kind):
    """Names of the bands that are asked for."""
    if band is None:
        return ()
    check_option("band", band, ("auto", *BANDS, "both"))
    if band == "auto":
        return BANDS[:1] if isinstance(kind, str) else ()
    return BANDS if band == "both" else (band,)


def _part(problem, rows):
    """The problem of some of the rows."""
    weight = None if problem.weight is None else problem.weight[rows]
    if weight is not None and not np.any(weight > 0):
        raise ValueError(
            "sample_weight must not be zero throughout a group or fold. Found one of "
            f"{rows.size} rows; leave these out."
        )
    return BinaryProblem(problem.outcome[rows], problem.forecast[rows], weight)


def _joined(problems):
    """One problem of the rows of all."""
    weighted = problems[0].weight is not None
    return BinaryProblem(
        np.concatenate([problem.outcome for problem in problems]),
        np.concatenate([problem.forecast for problem in problems]),
        np.concatenate([problem.weight for problem in problems]) if weighted else None,
    )


def _attributes(curves, several):
    """Arguments of the display: those of its one curve, or lists of them."""
    if not several:
        return {field: getattr(curves[0], field) for field in _FIELDS}
    lists = {field: [getattr(c, field) for c in curves] for field in _FIELDS}
    return {
        field: None if all(value is None for value in values) else values
        for field, values in lists.items()
    }


def attributes_of_predictions(
    recipe, y_true, y_prob, sample_weight, pos_label, labels, multiclass, groups
):
    """Arguments of the display of one curve, or of one for each group or class."""
    check_reduction(multiclass)
    predictions = check_predictions(
        y_true,
        y_prob,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
    )
    problems = predictions.binary_problems(multiclass)
    several, names = None, None
    if groups is not None:
        groups = check_groups(groups, predictions.n_samples)
        if len(problems) > 1:
            raise ValueError(
                'groups need multiclass="confidence" with three or more classes: '
                "one axes cannot show each class of each group. For one class "
                "against the rest pass its column of y_prob."
            )
        several = "groups"
        names, member = np.unique(groups, return_inverse=True)
        members = [np.flatnonzero(member == k) for k in range(names.size)]
        curves = recipe.curves_of_parts(problems[0], members)
    elif len(problems) > 1:
        several, names = "classes", predictions.classes
        curves = [recipe.curve(problem) for problem in problems]
    else:
        curves = [recipe.curve(problems[0])]
    return dict(
        **_attributes(curves, several is not None),
        pos_label=predictions.pos_label,
        multiclass=None if predictions.is_binary else multiclass,
        several=several,
        curve_names=None if names is None else [str(label) for label in names],
    )


def attributes_of_folds(recipe, cv_results, X, y, sample_weight, pos_label):
    """Arguments of the display of a curve for each fold of a cross-validation."""
    check_cv_results(cv_results, X)
    problems = []
    for estimator, rows, y_proba, positive in held_out_proba(cv_results, X, pos_label):
        weight = sample_weight
        predictions = check_predictions(
            _safe_indexing(y, rows),
            y_proba,
            sample_weight=None if weight is None else _safe_indexing(weight, rows),
            pos_label=positive,
            labels=estimator.classes_,
        )
        problems.extend(predictions.binary_problems("confidence"))
    sizes = [problem.forecast.size for problem in problems]
    ends = np.cumsum(sizes)
    members = [
        np.arange(end - size, end) for size, end in zip(sizes, ends, strict=True)
    ]
    curves = recipe.curves_of_parts(_joined(problems), members)
    return dict(
        **_attributes(curves, True),
        pos_label=predictions.pos_label,
        multiclass=None if predictions.is_binary else "confidence",
        several="folds",
        curve_names=[f"Fold {k + 1}" for k in range(len(curves))],
        mean_curve=mean_curve(
            [(c.prob_pred, c.prob_true) for c in curves],
            curves[0].density_at if recipe.kind == "smooth" else None,
        ),
    )


def curves_of_display(display):
    """The curves that a display holds."""
    values = {field: getattr(display, field) for field in _FIELDS}
    if display.several is None:
        return [Curve(**values)]
    return [
        Curve(**{f: None if v is None else v[k] for f, v in values.items()})
        for k in range(len(display.prob_true))
    ]


def mean_density(curves):
    """The folds' mean density, as a curve without points."""
    if curves[0].density is None:
        return None
    return Curve(
        prob_true=None,
        prob_pred=None,
        bin_edges=curves[0].bin_edges,
        density_at=curves[0].density_at,
        density=np.mean([curve.density for curve in curves], axis=0),
        outcome_density=np.mean([curve.outcome_density for curve in curves], axis=0),
    )
