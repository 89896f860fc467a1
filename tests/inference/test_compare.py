"""Paired comparisons: their level, their power, and what they must not depend on."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.metrics import brier_score_loss

from skcal import (
    binned_ece,
    compare_calibration,
    rank_ece,
    smooth_ece,
    variational_ece,
)


def pair(n, seed, by=0.15):
    """Two forecasts that are off alike, in opposite directions."""
    rng = np.random.default_rng(seed)
    chance = 0.2 + 0.6 * rng.uniform(size=n)
    y = (rng.uniform(size=n) < chance).astype(int)
    return y, chance + by, chance - by


def mild_pair(n, seed):
    return pair(n, seed, by=0.04)


def calibrated_pair(n, seed):
    """Two calibrated forecasts: one knows more."""
    rng = np.random.default_rng(seed)
    one, other = rng.uniform(size=(2, n))
    y = (rng.uniform(size=n) < 0.5 * (one + other)).astype(int)
    return y, 0.5 * (one + other), 0.25 + 0.5 * one


@pytest.mark.parametrize("draw", [pair, mild_pair, calibrated_pair])
@pytest.mark.parametrize("metric", [smooth_ece, binned_ece, rank_ece])
@pytest.mark.simulation
def test_level(metric, draw):
    """Equal errors: 5 of 100 are rejected at 5 %, more than 12 once in 500."""
    assert binom.sf(12, 100, 0.05) < 1 / 500
    rejected = outside = 0
    n_samples = 40 if metric is rank_ece else 100
    for seed in range(n_samples):
        result = compare_calibration(
            metric, *draw(300, seed), n_resamples=100, random_state=seed
        )
        rejected += result.pvalue <= 0.05
        outside += not result.low <= 0.0 <= result.high
    # More than 7 of 40 come once in 700.
    assert max(rejected, outside) <= (7 if metric is rank_ece else 12)


@pytest.mark.parametrize("metric", [smooth_ece, binned_ece, rank_ece, brier_score_loss])
def test_a_clear_difference(metric):
    y, far, _ = pair(500, 0)
    near = far - 0.15
    result = compare_calibration(metric, y, far, near, n_resamples=200, random_state=0)
    assert result.difference == result.value_a - result.value_b
    assert (result.value_a, result.value_b) == (metric(y, far), metric(y, near))
    assert 0 < result.low < result.difference < result.high
    assert result.pvalue <= 0.02
    back = compare_calibration(metric, y, near, far, n_resamples=200, random_state=0)
    assert back.high < 0
    assert back.pvalue <= 0.02
    assert repr(result).startswith("CalibrationComparison(difference=0.")


def test_the_same_forecast_twice():
    y, far, _ = pair(200, 0)
    result = compare_calibration(
        smooth_ece, y, far, far, n_resamples=50, random_state=0
    )
    assert result.difference == 0.0
    assert result.low <= 0.0 <= result.high
    assert result.pvalue == 1.0


def test_interval_and_pvalue_agree():
    for seed in range(20):
        y, far, other = pair(200, seed, by=0.1)
        result = compare_calibration(
            smooth_ece, y, far, other * 0.5, n_resamples=400, random_state=0
        )
        excludes = result.low > 0 or result.high < 0
        assert excludes == (result.pvalue <= 0.05) or 0.03 < result.pvalue < 0.07


@pytest.mark.parametrize("metric", [smooth_ece, rank_ece])
def test_order_of_the_rows_and_number_of_jobs(metric):
    y, a, b = pair(150, 0)
    shuffled = np.random.default_rng(1).permutation(150)
    options = {"n_resamples": 30, "random_state": 0}
    one = compare_calibration(metric, y, a, b, **options)
    other = compare_calibration(
        metric, y[shuffled], a[shuffled], b[shuffled], n_jobs=2, **options
    )
    assert one.distribution == pytest.approx(other.distribution, rel=1e-8)


def test_pairs_share_their_rows():
    """A forecast and nearly the same one: the difference hardly varies."""
    y, a, _ = pair(400, 0)
    result = compare_calibration(smooth_ece, y, a, a + 0.01, random_state=0)
    single = compare_calibration(smooth_ece, y, a, 0.5 + 0 * a, random_state=0)
    assert result.standard_error < 0.1 * single.standard_error
    assert result.high < 0


def test_groups_weights_classes():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1, 1, 1], size=120)
    y = rng.integers(3, size=120)
    result = compare_calibration(
        smooth_ece,
        y,
        proba,
        proba[:, ::-1],
        multiclass="classwise",
        sample_weight=rng.uniform(size=120),
        groups=np.arange(120) // 2,
        n_resamples=30,
        random_state=0,
    )
    assert result.low <= result.difference <= result.high


def test_arguments():
    y, a, b = pair(50, 0)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        compare_calibration(smooth_ece, y, a, b[:-1])
    with pytest.raises(ValueError, match="confidence_level"):
        compare_calibration(smooth_ece, y, a, b, confidence_level=1.5)
    with pytest.raises(ValueError, match="cross-fits"):
        compare_calibration(variational_ece, y, a, b)
