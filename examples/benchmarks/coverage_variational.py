"""How often V-ECE's lower confidence bound holds, and how right its standard error is.

    python examples/benchmarks/coverage_variational.py          # print
    python examples/benchmarks/coverage_variational.py --full   # ten times the samples
    python examples/benchmarks/coverage_variational.py --save   # and keep in results/

Forecasts of known truth, uniform in log odds, and the bound at 95 % of the L1 error and
of the Brier score's. A bound that is above the true error fails; at most 5 % may. The
last columns are the mean squared standard error over the variance of the estimates: 1
is right, more is cautious. Takes a minute on one core, with --full
ten.
"""

import numpy as np
from _output import publish
from scipy.special import expit, logit

from skcal import VariationalECE
from skcal.recalibration import (
    BetaCalibration,
    BoostedTemperatureScaling,
    IsotonicCalibration,
)

DIVERGENCES = ("l1", "brier")
# The true frequency at each forecast.
WORLDS = {
    "calibrated": lambda f: f,
    "mild: 0.9 logit f": lambda f: expit(0.9 * logit(f)),
    "bad: 0.5 logit f": lambda f: expit(0.5 * logit(f)),
    "wavy": lambda f: expit(logit(f) + 0.5 * np.sin(3 * logit(f))),
    "steps": lambda f: (np.floor(5 * f) + 0.5) / 5,
}
RECALIBRATORS = {
    "beta": BetaCalibration(),
    "isotonic": IsotonicCalibration(),
    "default": BoostedTemperatureScaling(),
}
SAMPLES = {
    "beta": {200: 1_000, 1_000: 1_000, 10_000: 300},
    "isotonic": {200: 1_000, 1_000: 1_000, 10_000: 300},
    "default": {1_000: 200},
}


def draw(rng, size):
    return expit(rng.uniform(-4, 4, size))


def true_errors(truth):
    f = expit(np.linspace(-4, 4, 200_001))
    gap = truth(f) - f
    return {"l1": np.mean(np.abs(gap)), "brier": np.mean(gap**2)}


def measure(truth, recalibrator, size, n_samples):
    """Share of bounds above the truth, mean estimate, and ratio of variances."""
    values = {name: [] for name in DIVERGENCES}
    errors = {name: [] for name in DIVERGENCES}
    fails = dict.fromkeys(DIVERGENCES, 0)
    expected = true_errors(truth)
    variational = VariationalECE(
        divergence=list(DIVERGENCES), recalibrator=recalibrator
    )
    for seed in range(n_samples):
        rng = np.random.default_rng([size, seed])
        f = draw(rng, size)
        y = rng.uniform(size=size) < truth(f)
        result = variational.evaluate(y, f)
        bounds = result.lower_bound(0.95)
        for name in DIVERGENCES:
            values[name].append(result.value[name])
            errors[name].append(result.standard_error[name])
            fails[name] += bounds[name] > expected[name] + 1e-12
    return {
        name: (
            fails[name] / n_samples,
            np.mean(values[name]),
            expected[name],
            np.mean(np.square(errors[name])) / np.var(values[name], ddof=1),
        )
        for name in DIVERGENCES
    }


def report(full):
    yield (
        "                                    bound fails   mean V-ECE (truth)"
        "                    variance ratio"
    )
    yield (
        "recalibrator  truth                   n     L1  Brier   L1"
        "              Brier               L1  Brier"
    )
    for name, recalibrator in RECALIBRATORS.items():
        for world, truth in WORLDS.items():
            for size, n_samples in samples(name, full).items():
                found = measure(truth, recalibrator, size, n_samples)
                l1, brier = found["l1"], found["brier"]
                yield (
                    f"{name:<13} {world:<18} {size:>6,} {100 * l1[0]:>5.1f}%"
                    f" {100 * brier[0]:>5.1f}%  {l1[1]:>7.4f} ({l1[2]:.4f})"
                    f"  {brier[1]:>8.5f} ({brier[2]:.5f})"
                    f"  {l1[3]:>5.2f} {brier[3]:>6.2f}"
                )
    taken = "; ".join(
        f"{name}: "
        + ", ".join(f"{m:,} of {n:,} rows" for n, m in samples(name, full).items())
        for name in SAMPLES
    )
    yield f"\nSamples: {taken}."


def samples(name, full):
    """Number of samples by their number of rows."""
    return {n: m if full else m // 10 for n, m in SAMPLES[name].items()}


if __name__ == "__main__":
    publish("coverage_variational", __doc__, report, full="ten times the samples")
