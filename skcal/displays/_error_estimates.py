"""Estimates of calibration errors, with what belongs to each."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from skcal._predictions import check_option
from skcal.inference import bootstrap_interval, calibrated_reference
from skcal.metrics import VariationalECE, binned_ece, rank_ece, smooth_ece

_MEASURES = {
    "smooth_ece": "smECE",
    "rank_ece": "rankECE (squared)",
    "variational_ece": "V-ECE, L1",
    "binned_ece": "ECE, 15 bins",
}
_FUNCTIONS = {
    "smooth_ece": smooth_ece,
    "rank_ece": rank_ece,
    "binned_ece": binned_ece,
}
_LOSSES = {
    "brier_score": ("Brier score", "brier"),
    "log_loss": ("Log loss", "kl"),
}
_QUANTILE = 0.95


@dataclass(frozen=True)
class CalibrationErrorEstimate:
    """An error of a model, with what comes with it; None is what does not.

    Attributes
    ----------
    name : str
        Name of the model.
    measure : str
    value, low, high : float
        The error and its interval.
    reference : float or None
        95 % quantile of the error of perfectly calibrated forecasts.
    over, under : float or None
        Parts of over- and under-confidence, of V-ECE.
    refinement : float or None
        What recalibration leaves of a proper loss.
    """

    name: str
    measure: str
    value: float
    low: float
    high: float
    reference: float | None = None
    over: float | None = None
    under: float | None = None
    refinement: float | None = None


@dataclass(frozen=True)
class ErrorRecipe:
    """How errors are estimated."""

    measures: list
    known: dict
    multiclass: str
    recalibrator: object
    confidence_level: float
    resampling: dict

    def estimate(self, name, measure, y_true, y_proba, sample_weight):
        if measure in _LOSSES or measure == "variational_ece":
            return self._by_recalibration(name, measure, y_true, y_proba, sample_weight)
        options = dict(self.known, multiclass=self.multiclass)
        if measure != "rank_ece" or sample_weight is not None:
            # rank_ece itself says that it takes no weights.
            options["sample_weight"] = sample_weight
        interval = bootstrap_interval(
            _FUNCTIONS[measure],
            y_true,
            y_proba,
            confidence_level=self.confidence_level,
            **options,
            **self.resampling,
        )
        reference = None
        if measure != "rank_ece":
            reference = calibrated_reference(
                _FUNCTIONS[measure],
                y_proba,
                quantiles=(_QUANTILE,),
                sample_weight=sample_weight,
                labels=self.known["labels"] if np.ndim(y_proba) == 2 else None,
                multiclass=self.multiclass,
                **self.resampling,
            ).quantiles[_QUANTILE]
        return CalibrationErrorEstimate(
            name, measure, interval.value, interval.low, interval.high, reference
        )

    def _by_recalibration(self, name, measure, y_true, y_proba, sample_weight):
        is_loss = measure in _LOSSES
        result = VariationalECE(
            divergence=_LOSSES[measure][1] if is_loss else "l1",
            multiclass="canonical" if is_loss else self.multiclass,
            recalibrator=self.recalibrator,
            n_jobs=self.resampling["n_jobs"],
            random_state=self.resampling["random_state"],
            **self.known,
        ).evaluate(y_true, y_proba, sample_weight=sample_weight)
        margin = ndtri(0.5 + 0.5 * self.confidence_level) * result.standard_error
        return CalibrationErrorEstimate(
            name,
            measure,
            result.value,
            result.value - margin,
            result.value + margin,
            over=None if is_loss else result.over,
            under=None if is_loss else result.under,
            refinement=result.refinement if is_loss else None,
        )


def checked_measures(measures, loss):
    """Names of what is measured, as a list."""
    if loss is not None:
        check_option("loss", loss, tuple(_LOSSES))
        return [loss]
    measures = [measures] if isinstance(measures, str) else list(measures)
    for measure in measures:
        check_option("measures", measure, tuple(_MEASURES))
    if not measures or len(set(measures)) < len(measures):
        raise ValueError(
            f"measures must name one or more, each once. Got {measures!r}."
        )
    return measures


def measure_title(measure):
    """What a measure or loss is called in a figure."""
    return _LOSSES[measure][0] if measure in _LOSSES else _MEASURES[measure]
