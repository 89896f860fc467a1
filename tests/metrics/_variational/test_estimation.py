"""Guarantees of V-ECE and its standard errors, at fixed seeds."""

import math

import numpy as np
import pytest
from scipy.stats import binom, t
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold

from skcal.metrics import VariationalECE
from skcal.recalibration import BetaCalibration, QuadraticScaling
from tests import references
from tests.metrics._variational.samples import NAMES, Map, OfEvent, binary, vectors


@pytest.mark.parametrize("name", NAMES)
def test_the_truth_as_recalibration_is_unbiased(name):
    """Within 4 standard errors, which one estimate in 16,000 is not."""
    f, y, truth = vectors(15, 4_000)
    rows = dict(zip(map(tuple, f), truth, strict=True))
    oracle = Map(lambda proba: np.array([rows[tuple(row)] for row in proba]))
    result = VariationalECE(divergence=name, recalibrator=oracle).evaluate(y, f)
    error = np.mean(
        [references.divergence(name, *row) for row in zip(f, truth, strict=True)]
    )
    assert abs(result.value - error) < 4 * result.standard_error
    # Any other map finds less.
    halfway = Map(lambda proba: 0.5 * (oracle.function(proba) + proba))
    less = VariationalECE(divergence="brier", recalibrator=halfway).evaluate(y, f)
    more = VariationalECE(divergence="brier", recalibrator=oracle).evaluate(y, f)
    assert less.value < more.value


@pytest.mark.simulation
def test_calibrated_forecasts_average_zero_or_less():
    """Mean of 225 samples: above 3 of its standard errors in one run of 700; and above
    zero in at most half of them, plus 4 standard deviations of such a share."""
    values = []
    for seed in range(225):
        f, y = binary(seed, 250, power=1.0)
        result = VariationalECE(
            divergence=["l1", "brier"], recalibrator=BetaCalibration()
        ).evaluate(y, f)
        values.append(list(result.value.values()))
    values = np.array(values)
    spread = values.std(axis=0, ddof=1) / 15
    assert np.all(values.mean(axis=0) < 3 * spread)
    assert np.all((values > 0).mean(axis=0) < 0.5 + 4 * 0.5 / 15)


@pytest.mark.parametrize("power", [1.0, 1.3])
@pytest.mark.simulation
def test_lower_bound_holds(power):
    """Over 200 samples the bound at 90 % exceeds the true error in at most 10 % of
    them, up to a count that has probability 1e-4 under just 10 %."""
    truth = 1 / 2 - 1 / (1 + power)  # the integral of f - f**power
    misses = 0
    for seed in range(200):
        f, y = binary(seed, 250, power=power)
        result = VariationalECE(recalibrator=BetaCalibration()).evaluate(y, f)
        misses += result.lower_bound(0.9) > truth
    assert misses <= binom.ppf(1 - 1e-4, 200, 0.1)


@pytest.mark.simulation
def test_standard_error_is_the_spread_over_samples():
    """Its mean square is within 40 % of the variance over 200 samples, whose own
    standard error is 10 %."""
    values, errors = [], []
    for seed in range(200):
        f, y = binary(seed, 250, power=1.6)
        result = VariationalECE(recalibrator=QuadraticScaling()).evaluate(y, f)
        values.append(result.value)
        errors.append(result.standard_error)
    ratio = np.mean(np.square(errors)) / np.var(values, ddof=1)
    assert 0.6 < ratio < 1.4


def test_bounds_above_zero_are_significant_in_both_directions():
    f, y = binary(37, 400, power=1.25)
    measure = VariationalECE(divergence=["l1", "brier"], recalibrator=BetaCalibration())
    result = measure.evaluate(y, f)
    z = result.value["l1"] / result.standard_error["l1"]
    assert z > 0.5
    for level in (0.6, 0.8, 0.95, 0.999):
        freedom = result.degrees_of_freedom
        bound = {
            name: value - t.ppf(level, freedom) * result.standard_error[name]
            for name, value in result.value.items()
        }
        found = result.lower_bound(level)
        assert found["brier"] == pytest.approx(bound["brier"])
        if z <= t.ppf(0.5 + 0.5 * level, freedom):
            assert found["l1"] == pytest.approx(min(bound["l1"], 0.0))
        else:
            assert found["l1"] == pytest.approx(bound["l1"])


class Shift(BaseEstimator):
    """Moves all forecasts a bit, to where the training rows' mean outcome is."""

    def fit(self, proba, y):
        self.classes_ = np.unique(y)
        self.step_ = np.sign(np.mean(y) - np.mean(proba[:, 1]))
        return self

    def predict_proba(self, proba):
        z = proba[:, 1] + 1e-3 * self.step_
        return np.column_stack([1 - z, z])


@pytest.mark.parametrize("n_folds", [2, 5])
@pytest.mark.simulation
def test_standard_error_where_folds_depend_on_each_other(n_folds):
    """Calibrated forecasts and one direction for all rows: the estimate's variance is
    1 + (K - 1) 4 E[phi(A)^2] times that of its rows, A of variance K - 2. Over 1,000
    samples the variance is known to 5 %, and the standard error must account for it."""
    values, squares = [], []
    rng = np.random.default_rng(0)
    for _ in range(1_000):
        f = rng.uniform(0.2, 0.8, 60)
        y = rng.uniform(size=60) < f
        folds = list(KFold(n_folds).split(f))
        result = VariationalECE(recalibrator=Shift(), cv=folds).evaluate(y, f)
        values.append(result.value)
        squares.append(result.standard_error**2)
    of_rows = (0.25 - 0.03) / 60  # the mean of f (1 - f) is 1/4 less the variance of f
    factor = 1 + (n_folds - 1) * 2 / np.pi / math.sqrt(2 * n_folds - 3)
    assert np.var(values) == pytest.approx(factor * of_rows, rel=0.2)
    assert np.mean(squares) == pytest.approx(factor * of_rows, rel=0.2)


def test_standard_error_by_hand():
    f, y = binary(16, 90)
    splits = list(KFold(3).split(f))
    identity_but_lower = OfEvent(lambda p: 0.9 * p)
    measure = VariationalECE(recalibrator=identity_but_lower, cv=splits)
    result = measure.evaluate(y, f)
    values = -np.sign(f) * (y - f)
    variance = sum(30 * np.var(values[test], ddof=1) for _, test in splits)
    assert result.standard_error == pytest.approx(math.sqrt(variance) / 90)
    bound = result.value - t.ppf(0.99, 87) * result.standard_error
    assert result.lower_bound(0.99) == pytest.approx(bound)
    # Groups: the sums of groups take the rows' place.
    groups = np.repeat(np.arange(18), 5)
    result = measure.evaluate(y, f, groups=groups)
    variance = 0.0
    for _, test in splits:
        deviation = (values[test] - values[test].mean()).reshape(6, 5).sum(axis=1)
        variance += 6 / 5 * np.sum(deviation**2)
    assert result.standard_error == pytest.approx(math.sqrt(variance) / 90)


def test_few_groups_have_few_degrees_of_freedom():
    f, y = binary(33, 120)
    groups = np.repeat(np.arange(6), 20)
    for n_folds, freedom in ((3, 3), (5, 5), (6, 5)):
        measure = VariationalECE(recalibrator=BetaCalibration(), cv=n_folds)
        result = measure.evaluate(y, f, groups=groups)
        assert result.degrees_of_freedom == freedom
        bound = result.value - t.ppf(0.95, freedom) * result.standard_error
        assert result.lower_bound(0.95) == pytest.approx(bound)
    weight = np.repeat([1.0, 0.0], 60)
    result = measure.evaluate(y, f, sample_weight=weight)
    assert result.degrees_of_freedom == 60 - 6
