"""Bands of reliability curves: against resampled rows, and by how often they cover."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.special import ndtri
from scipy.stats import binom

from skcal import BetaCalibration
from skcal._predictions import BinaryProblem
from skcal.inference._bands import (
    Resampling,
    binned_band,
    isotonic_band,
    map_band,
    smooth_band,
    wilson_interval,
)
from skcal.metrics._corp import isotonic_curve
from skcal.metrics._curve import Bins, binned_curve, recalibrated_curve, smooth_curve
from tests.references import reflected_kernel


def problem_of(n, seed=0, weighted=False, true_rate=lambda f: 0.1 + 0.8 * f):
    rng = np.random.default_rng(seed)
    f = rng.uniform(size=n)
    y = (rng.uniform(size=n) < true_rate(f)).astype(float)
    return BinaryProblem(y, f, rng.choice([0.5, 1.0, 3.0], n) if weighted else None)


# Wilson -------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "n"), [(0, 5), (1, 7), (5, 5), (40, 100), (2.5, 9.3)])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_wilson_interval_inverts_the_score_test(k, n, level):
    z, rate = ndtri(0.5 + level / 2), k / n

    def excess(q):
        return (rate - q) ** 2 - z * z * q * (1 - q) / n

    low, high = wilson_interval(rate, n, level)
    expected_low = 0.0 if k == 0 else brentq(excess, 0.0, rate - 1e-9)
    expected_high = 1.0 if k == n else brentq(excess, rate + 1e-9, 1.0)
    assert (low, high) == pytest.approx((expected_low, expected_high))


# Smooth -------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_effective_rows_of_a_smooth_curve(weighted):
    y, f, w = problem_of(150, weighted=weighted)
    curve = smooth_curve(BinaryProblem(y, f, w))
    kernel = reflected_kernel(curve.prob_pred, f, curve.bandwidth)
    if not weighted:
        rows = kernel.sum(axis=1) ** 2 / (kernel**2).sum(axis=1)
        assert_allclose(curve.rows, rows, rtol=1e-5)
    else:
        # Weights that do not depend on the forecast lose the same share everywhere.
        kernel *= w
        rows = kernel.sum(axis=1) ** 2 / (kernel**2).sum(axis=1)
        assert np.median(np.abs(curve.rows / rows - 1)) < 0.2


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("band", ["confidence", "consistency"])
def test_smooth_band_is_that_of_resampled_rows(band, weighted):
    """Ends of 2,000 replicates each: four standard errors are 0.2 half-widths."""
    problem = problem_of(250, weighted=weighted)
    y, f, w = problem
    curve = smooth_curve(problem)
    result = smooth_band(problem, curve, band, Resampling(0.9, 2000, 0))
    at = slice(20, None, 60)
    kernel = reflected_kernel(curve.prob_pred[at], f, curve.bandwidth)
    kernel *= 1.0 if w is None else w
    rng = np.random.default_rng(1)
    if band == "confidence":
        counts = rng.multinomial(f.size, np.full(f.size, 1 / f.size), 2000)
        rates = (counts * y) @ kernel.T / (counts @ kernel.T)
    else:
        outcomes = rng.uniform(size=(2000, f.size)) < f
        rates = outcomes @ kernel.T / kernel.sum(axis=1)
    low, high = np.percentile(rates, [5, 95], axis=0)
    if band == "confidence":
        wilson = wilson_interval(curve.prob_true[at], curve.rows[at], 0.9)
        low, high = np.minimum(low, wilson[0]), np.maximum(high, wilson[1])
    width = 0.5 * (high - low).max()
    assert_allclose(result.low[at], low, atol=0.2 * width)
    assert_allclose(result.high[at], high, atol=0.2 * width)


def test_smooth_band_does_not_collapse_where_all_outcomes_agree():
    f = np.linspace(0.0, 1.0, 200)
    y = (f > 0.5).astype(float)
    problem = BinaryProblem(y, f, None)
    curve = smooth_curve(problem)
    band = smooth_band(problem, curve, "confidence", Resampling(0.95, 100, 0))
    assert band.high[0] > 0.02
    assert band.low[-1] < 0.98


def test_band_of_a_single_row():
    problem = BinaryProblem(np.ones(1), np.array([0.4]), None)
    for band in ("confidence", "consistency"):
        curve = smooth_curve(problem)
        result = smooth_band(problem, curve, band, Resampling(0.95, 50, 0))
        assert np.isfinite(result.low).all()
        assert (result.low <= result.high).all()
        isotonic_band(problem, isotonic_curve(problem), band, Resampling(0.95, 9, 0))


# Coverage -----------------------------------------------------------------------------

# A band that covers a point with 95 % does so in fewer than `fewest(n)` of n samples
# with a probability of 1e-5; the tests below look at about twenty points in all.


def fewest(n):
    return binom.ppf(1e-5, n, 0.95)


AT = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


def covered(band, truth):
    low, high = np.interp(AT, band.at, band.low), np.interp(AT, band.at, band.high)
    return (low <= truth) & (truth <= high)


@pytest.mark.simulation
def test_smooth_confidence_band_covers_the_smoothed_frequency():
    fine = (np.arange(2000) + 0.5) / 2000
    hits = np.zeros(AT.size)
    for seed in range(150):
        problem = problem_of(300, seed)
        curve = smooth_curve(problem)
        band = smooth_band(problem, curve, "confidence", Resampling(0.95, 200, seed))
        kernel = reflected_kernel(AT, fine, curve.bandwidth)
        hits += covered(band, kernel @ (0.1 + 0.8 * fine) / kernel.sum(axis=1))
    assert (hits >= fewest(150)).all(), hits


@pytest.mark.simulation
def test_isotonic_confidence_band_covers_the_frequency():
    hits = np.zeros(AT.size)
    for seed in range(60):
        problem = problem_of(300, seed)
        band = isotonic_band(
            problem, isotonic_curve(problem), "confidence", Resampling(0.95, 100, seed)
        )
        hits += covered(band, 0.1 + 0.8 * AT)
    assert (hits >= fewest(60)).all(), hits


@pytest.mark.parametrize("kind", ["smooth", "binned", "isotonic"])
def test_consistency_bands_hold_the_curves_of_calibrated_forecasts(kind):
    """Ends of 1,000 simulations miss a point in 5 % of 200 more, within 4 sd."""
    problem = problem_of(250)
    rng = np.random.default_rng(1)
    resampling = Resampling(0.95, 1000, 0)

    def of(problem):
        if kind == "smooth":
            # At the bandwidth of the diagram that the band belongs to.
            at = first.prob_pred if first else smooth_curve(problem).prob_pred
            bandwidth = (first or smooth_curve(problem)).bandwidth
            kernel = reflected_kernel(at, problem.forecast, bandwidth)
            return at, kernel @ problem.outcome / kernel.sum(axis=1)
        curve = (
            isotonic_curve(problem)
            if kind == "isotonic"
            else binned_curve(problem, bins)
        )
        return curve.prob_pred, curve.prob_true

    bins, first = Bins(problem, 8, "quantile"), None
    if kind == "smooth":
        first = smooth_curve(problem)
        band = smooth_band(problem, first, "consistency", resampling)
    elif kind == "binned":
        curve = binned_curve(problem, bins)
        band = binned_band(problem, curve, bins.index, "consistency", resampling)
    else:
        curve = isotonic_curve(problem)
        band = isotonic_band(problem, curve, "consistency", resampling)
    hits = np.zeros(AT.size)
    for _ in range(200):
        outcome = (rng.uniform(size=250) < problem.forecast).astype(float)
        at, rate = of(problem._replace(outcome=outcome))
        x = np.clip(AT, band.at[0], band.at[-1])
        if kind == "binned":
            nearest = np.abs(band.at[:, np.newaxis] - AT).argmin(axis=0)
            x = band.at[nearest]
        low, high = np.interp(x, band.at, band.low), np.interp(x, band.at, band.high)
        value = np.interp(x, at, rate)
        hits += (value >= low - 1e-9) & (value <= high + 1e-9)
    # Simulated ends are off by chance as well: 0.6 % of coverage, one sd.
    assert (hits >= binom.ppf(1e-5, 200, 0.93)).all(), hits
    assert hits.min() < 200


def test_bins_are_drawn_with_their_rows_own_forecasts():
    """One bin of forecasts 0 and 1 has no chance in it, as one of 1/2 would."""
    f = np.repeat([0.0, 1.0], 50)
    problem = BinaryProblem(f, f, None)
    bins = Bins(problem, 1, "uniform")
    curve = binned_curve(problem, bins)
    band = binned_band(
        problem, curve, bins.index, "consistency", Resampling(0.9, 99, 0)
    )
    assert band.low == band.high == 0.5


def test_band_of_a_map_is_that_of_refits_to_resampled_rows():
    problem = problem_of(400)
    y, f, _ = problem
    curve = recalibrated_curve(problem, BetaCalibration())
    band = map_band(
        problem, curve, BetaCalibration(), "confidence", Resampling(0.9, 200, 0)
    )
    rng = np.random.default_rng(1)
    at = curve.prob_pred[40::80]
    fits = []
    for _ in range(200):
        rows = rng.integers(400, size=400)
        fits.append(BetaCalibration().fit(f[rows], y[rows]).transform(at)[:, 1])
    low, high = np.percentile(fits, [5, 95], axis=0)
    width = 0.5 * (high - low).max()
    assert_allclose(band.low[40::80], low, atol=0.5 * width)
    assert_allclose(band.high[40::80], high, atol=0.5 * width)


def test_many_rows_are_pooled():
    problem = problem_of(200_000)
    band = isotonic_band(
        problem, isotonic_curve(problem), "consistency", Resampling(0.95, 20, 0)
    )
    assert 500 < band.at.size < 1100
    assert np.all(np.diff(band.at) > 0)
