"""The isotonic reliability curve (CORP) and the split of a score that comes with it.

Dimitriadis, Gneiting and Jordan (2021): pool-adjacent-violators recalibration needs no
bins, and the mean scores of the forecast, of its recalibrated version and of the base
rate give miscalibration, discrimination and uncertainty.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import xlog1py, xlogy
from sklearn.isotonic import isotonic_regression

from skcal._core.pooling import pool_ties
from skcal.metrics._curve import ReliabilityCurve, forecast_histogram

# Neighbouring blocks whose means differ by less than rounding are one block.
_SAME = 1e-12


class ScoreSplit(NamedTuple):
    """A mean score as miscalibration - discrimination + uncertainty.

    Attributes
    ----------
    score : float
        Mean score of the forecasts.
    miscalibration : float
        What isotonic recalibration takes off it, at least 0.
    discrimination : float
        By how much the recalibrated forecasts beat the base rate, at least 0.
    uncertainty : float
        Score of the base rate.
    """

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float


def isotonic_curve(problem):
    """The isotonic regression of the outcome, at the ends of its steps.

    Its error is the miscalibration part of the Brier score.
    """
    outcome, forecast, weight = problem.as_float64()
    weighted = weight is not None
    weight = weight if weighted else np.ones_like(forecast)
    if not weight.all():
        counted = weight > 0
        outcome, forecast, weight = outcome[counted], forecast[counted], weight[counted]
    value, mass, events = pool_ties(forecast, outcome, weight)
    squares = pool_ties(forecast, outcome, weight * weight)[1] if weighted else mass
    first, last, rate = isotonic_blocks(mass, events)
    of_value = np.repeat(rate, last - first + 1)
    split = {
        "brier": _split(_brier, value, of_value, mass, events),
        "log": _split(_log_loss, value, of_value, mass, events),
    }
    at = np.column_stack([value[first], value[last]]).ravel()
    block = np.repeat(np.arange(rate.size), 2)
    # A block of one value has one point.
    kept = np.append(True, np.diff(at) > 0)
    rows = np.add.reduceat(mass, first) ** 2 / np.add.reduceat(squares, first)
    return ReliabilityCurve(
        at[kept],
        rate[block[kept]],
        rows[block[kept]],
        *forecast_histogram(problem),
        error=split["brier"].miscalibration,
        split=split,
    )


def isotonic_blocks(mass, events):
    """First and last index of the steps of isotonic regression, and their rates."""
    fitted = isotonic_regression(events / mass, sample_weight=mass)
    first = np.flatnonzero(np.append(True, np.diff(fitted) > _SAME * fitted[1:]))
    rate = np.add.reduceat(events, first) / np.add.reduceat(mass, first)
    last = np.append(first[1:], mass.size) - 1
    return first, last, np.clip(np.maximum.accumulate(rate), 0.0, 1.0)


def _split(score, value, recalibrated, mass, events):
    total = mass.sum()
    base_rate = np.full_like(value, min(events.sum() / total, 1.0))
    raw, best, base = (
        float(np.sum(score(p, mass, events)) / total)
        for p in (value, recalibrated, base_rate)
    )
    return ScoreSplit(raw, raw - best, base - best, base)


def _brier(proba, mass, events):
    return events * (1.0 - proba) ** 2 + (mass - events) * proba**2


def _log_loss(proba, mass, events):
    return -xlogy(events, proba) - xlog1py(mass - events, -proba)
