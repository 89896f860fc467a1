"""Rows of numbers: a value, its interval, and what calibrated forecasts would show."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from skcal.inference import bootstrap_interval, calibrated_reference, rank_ece_test
from skcal.metrics import VariationalECE, smooth_ece

# The level of the report's decisions in words, and of the reference column.
LEVEL = 0.05
COLUMNS = ("value", "low", "high", "reference_mean", "reference_high", "pvalue")
# Proper losses: row, stem of the rows of its parts, divergence.
_LOSSES = (("brier_score", "brier", "brier"), ("log_loss", "log_loss", "kl"))


@dataclass(frozen=True)
class Settings:
    """How the numbers are estimated."""

    recalibrator: object
    confidence_level: float
    n_resamples: int
    n_jobs: int | None
    random_state: object

    @property
    def resampling(self):
        return {
            "n_resamples": self.n_resamples,
            "n_jobs": self.n_jobs,
            "random_state": self.random_state,
        }

    @property
    def deviations(self):
        """Half the width of a normal interval, in standard errors."""
        return float(ndtri(0.5 + 0.5 * self.confidence_level))

    def variational_ece(self, predictions, multiclass):
        return VariationalECE(
            divergence=["l1", "brier", "kl"],
            recalibrator=self.recalibrator,
            multiclass=multiclass,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            **codes_known(predictions),
        ).evaluate(
            predictions.codes,
            predictions.proba,
            sample_weight=predictions.sample_weight,
        )


def codes_known(predictions):
    """What the measures must be told where codes stand for more than two labels."""
    if predictions.is_binary:
        return {}
    return {"labels": np.arange(predictions.proba.shape[1])}


def make_row(
    value, low=np.nan, high=np.nan, mean=np.nan, reference=np.nan, *, pvalue=np.nan
):
    numbers = (value, low, high, mean, reference, pvalue)
    return dict(zip(COLUMNS, map(float, numbers), strict=True))


def bound_row(value, spread, settings):
    """A variational estimate, which averages zero at most for calibrated forecasts."""
    normal, chance = settings.deviations, float(ndtri(1.0 - LEVEL)) * spread
    return make_row(
        value, value - normal * spread, value + normal * spread, 0.0, chance
    )


def _weights(sample_weight, n_samples):
    if sample_weight is None:
        return np.ones(n_samples)
    return np.asarray(sample_weight, dtype=np.float64)


def _mean_and_error(values, weight):
    total = weight.sum()
    mean = float(weight @ values / total)
    counted = np.count_nonzero(weight)
    stretch = counted / (counted - 1.0) if counted > 1 else np.nan
    spread = np.sqrt(stretch * np.sum((weight * (values - mean)) ** 2)) / total
    return mean, float(spread)


def means(problem):
    """Mean forecast, mean outcome, and the standard error of their difference."""
    outcome, forecast, weight = problem.as_float64()
    weight = _weights(weight, outcome.shape[0])
    observed, _ = _mean_and_error(outcome, weight)
    excess, spread = _mean_and_error(forecast - outcome, weight)
    return observed + excess, observed, spread


def resampled_row(metric, y_true, y_proba, weight, options, settings):
    interval = bootstrap_interval(
        metric,
        y_true,
        y_proba,
        confidence_level=settings.confidence_level,
        sample_weight=weight,
        **options,
        **settings.resampling,
    )
    reference = calibrated_reference(
        metric,
        y_proba,
        quantiles=(1.0 - LEVEL,),
        sample_weight=weight,
        **options,
        **settings.resampling,
    )
    return make_row(
        interval.value,
        interval.low,
        interval.high,
        reference.mean,
        reference.quantiles[1.0 - LEVEL],
    )


def loss_rows(predictions, error, settings):
    """V-ECE of the Brier score, and proper losses with their parts."""
    normal = settings.deviations
    calibration = {
        name: bound_row(error.value[name], error.standard_error[name], settings)
        for name in ("brier", "kl")
    }
    rows = {"variational_ece_brier": calibration["brier"]}
    for row, stem, name in _LOSSES:
        value, spread, mean, chance = _loss(predictions, row)
        rows[row] = make_row(
            value,
            value - normal * spread,
            value + normal * spread,
            mean,
            mean + float(ndtri(1.0 - LEVEL)) * chance,
        )
        rows[f"{stem}_calibration"] = calibration[name]
        rows[f"{stem}_refinement"] = make_row(error.refinement[name])
    return rows


def _loss(predictions, name):
    """Mean loss, its standard error, and mean and spread for calibrated forecasts."""
    proba = np.asarray(predictions.proba, dtype=np.float64)
    if predictions.is_binary:
        proba = np.column_stack([1.0 - proba, proba])
    weight = _weights(predictions.sample_weight, proba.shape[0])
    # The loss of each row for each class that may happen.
    if name == "brier_score":
        happened = np.sum(proba**2, axis=1, keepdims=True) - 2.0 * proba + 1.0
        if predictions.is_binary:
            # That of one event, half of the sum over both classes.
            happened *= 0.5
    else:
        happened = -np.log(np.maximum(proba, np.finfo(np.float64).eps))
    codes = np.asarray(predictions.codes, dtype=np.intp)
    loss = np.take_along_axis(happened, codes[:, np.newaxis], axis=1)[:, 0]
    mean = np.einsum("ij,ij->i", proba, happened)
    variance = np.einsum("ij,ij->i", proba, (happened - mean[:, np.newaxis]) ** 2)
    value, spread = _mean_and_error(loss, weight)
    total = weight.sum()
    return (
        value,
        spread,
        float(weight @ mean / total),
        float(np.sqrt(weight**2 @ variance) / total),
    )


def class_rows(predictions, settings):
    """One class against the rest, for each."""
    tests = None
    if predictions.sample_weight is None:
        tests = rank_ece_test(
            predictions.codes,
            predictions.proba,
            multiclass="classwise",
            random_state=settings.random_state,
            n_jobs=settings.n_jobs,
            **codes_known(predictions),
        ).by_class
    classes = {}
    problems = predictions.binary_problems("classwise")
    for k, (label, problem) in enumerate(
        zip(predictions.classes.tolist(), problems, strict=True)
    ):
        forecast, observed, _ = means(problem)
        classes[label] = {
            "smooth_ece": resampled_row(
                smooth_ece,
                problem.outcome.astype(np.intp),
                problem.forecast,
                problem.weight,
                {},
                settings,
            ),
            "mean_forecast": make_row(forecast),
            "observed_rate": make_row(observed),
        }
        if tests is not None:
            classes[label]["rank_ece_test"] = make_row(
                tests[k].statistic, pvalue=tests[k].pvalue
            )
    return classes
