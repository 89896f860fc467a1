"""How often intervals of calibration errors hold the truth.

    python examples/benchmarks/coverage_intervals.py          # 20 samples, print
    python examples/benchmarks/coverage_intervals.py --full   # 200 samples
    python examples/benchmarks/coverage_intervals.py --save   # and keep in results/

Forecasts of known truth, from perfectly to badly calibrated, and all the interval types
on the same bootstrap replicates. The truth is the measure of the population: smECE at
the population's own fixed point, the binned error of its bins, the mean squared
calibration error for rankECE. The nominal level is 95 %. Takes about ten minutes.
"""

import functools

import numpy as np
from _output import publish
from scipy.special import ndtr, ndtri

from skcal import binned_ece, bootstrap_interval, rank_ece, smooth_ece
from skcal._predictions import BinaryProblem
from skcal.metrics._smooth import smooth_fixed_point

LEVEL = 0.95
N_RESAMPLES = 200
SIZES = (200, 1_000, 10_000)
POPULATION = 1_000_000
# Forecasts by their quantile function, and the true frequency at each.
WORLDS = {
    "calibrated": (lambda u: u, lambda f: f),
    "calibrated, mostly low": (lambda u: u**4, lambda f: f),
    "mild: 0.05 + 0.9 f": (lambda u: u, lambda f: 0.05 + 0.9 * f),
    "half right, half off": (
        lambda u: u,
        lambda f: np.where(f > 0.5, f - 0.1 * np.sin(2 * np.pi * (f - 0.5)) ** 2, f),
    ),
    "bad: 0.25 + 0.5 f": (lambda u: u, lambda f: 0.25 + 0.5 * f),
    "bad: f^2, mostly extreme": (lambda u: np.sin(np.pi * u / 2) ** 2, lambda f: f**2),
}


def population(world):
    quantile, frequency = WORLDS[world]
    f = quantile((np.arange(POPULATION) + 0.5) / POPULATION)
    return frequency(f), f


@functools.cache
def truth(metric, world):
    frequency, f = population(world)
    if metric is smooth_ece:
        if world.startswith("calibrated"):
            return 0.0
        return smooth_fixed_point(BinaryProblem(frequency, f, None), "linear")
    if metric is rank_ece:
        return float(np.mean((frequency - f) ** 2))
    bins = np.minimum((f * 15).astype(int), 14)
    gaps = np.bincount(bins, weights=frequency - f, minlength=15)
    return float(np.abs(gaps).sum() / POPULATION)


def bias_corrected(replicates, value):
    """The bias-corrected percentile interval (BCa without acceleration)."""
    below = np.mean(replicates < value)
    z = ndtri(np.clip(below, 1 / replicates.size, 1 - 1 / replicates.size))
    tail = ndtri(0.5 - 0.5 * LEVEL)
    return np.quantile(replicates, ndtr(2 * z + np.array([tail, -tail])))


def centred(replicates, value):
    """Centred at twice the estimate less the mean of the replicates."""
    ends = np.quantile(replicates, (0.5 - 0.5 * LEVEL, 0.5 + 0.5 * LEVEL))
    return np.maximum(ends + 2 * (value - replicates.mean()), 0.0)


def intervals(metric, y, f, n_resamples, seed):
    result = bootstrap_interval(
        metric, y, f, n_resamples=n_resamples, random_state=seed
    )
    ours = {result.method: (result.low, result.high)}
    replicates = result.distribution
    if replicates is None:
        return ours
    tail = 0.5 - 0.5 * LEVEL
    below, above = np.quantile(replicates, (tail, 1 - tail))
    twice = 2 * result.value
    return ours | {
        "basic": (max(twice - above, 0.0), twice - below),
        "centred": centred(replicates, result.value),
        "percentile": (below, above),
        "BC": bias_corrected(replicates, result.value),
    }


def simulate(metric, world, n, n_samples, n_resamples):
    """Coverage, misses below and above, and mean width of each type."""
    quantile, frequency = WORLDS[world]
    rng = np.random.default_rng(0)
    ends = {}
    for seed in range(n_samples):
        f = quantile(rng.uniform(size=n))
        y = (rng.uniform(size=n) < frequency(f)).astype(int)
        for name, pair in intervals(metric, y, f, n_resamples, seed).items():
            ends.setdefault(name, []).append(pair)
    target = truth(metric, world)
    for name, pairs in ends.items():
        low, high = np.array(pairs).T
        too_high, too_low = np.mean(low > target + 1e-9), np.mean(high < target)
        yield name, 1 - too_high - too_low, too_high, too_low, np.mean(high - low)


def report(full):
    n_samples = 200 if full else 20
    yield (
        f"{n_samples} samples of each kind, {N_RESAMPLES} replicates of each; "
        f"nominal level {LEVEL:.0%}.\n"
        "The error of a coverage near the level is about "
        f"{100 * np.sqrt(LEVEL * (1 - LEVEL) / n_samples):.1f} percentage points.\n"
    )
    for metric in (smooth_ece, binned_ece, rank_ece):
        yield f"{metric.__name__}\n"
        yield (
            f"{'':<26}{'rows':>7}{'truth':>8}  {'interval':<12}{'covers':>7}"
            f"{'all above':>11}{'all below':>11}{'width':>8}"
        )
        for world in WORLDS:
            for n in SIZES:
                head = f"{world:<26}{n:>7,}{truth(metric, world):>8.4f}"
                for name, covers, above, below, width in simulate(
                    metric, world, n, n_samples, N_RESAMPLES
                ):
                    yield (
                        f"{head:<41}  {name:<12}{covers:>7.1%}{above:>11.1%}"
                        f"{below:>11.1%}{width:>8.4f}"
                    )
                    head = ""
        yield ""


if __name__ == "__main__":
    publish("coverage_intervals", __doc__, report, full="200 samples of each kind")
