"""Mean estimates of the calibration error for truths of several shapes.

    python examples/benchmarks/bias_variational.py          # a tenth of the samples
    python examples/benchmarks/bias_variational.py --full   # all of them
    python examples/benchmarks/bias_variational.py --save   # and keep in results/

Forecasts of two classes are uniform, those of four are the softmax of normal logits.
The columns are means over samples of the variational, plug-in and midpoint readings
with their standard errors, and the share of samples with a V-ECE above the true error.
"""

import numpy as np
from _output import publish
from scipy.special import expit, logit, softmax

from skcal import (
    BetaCalibration,
    BoostedTemperatureScaling,
    IsotonicCalibration,
    MatrixScaling,
    TemperatureScaling,
    VariationalECE,
)

# Truths given the forecast of the positive class.
BINARY = {
    "calibrated": lambda f: f,
    "smooth": lambda f: expit(logit(f) / 1.5),
    "asymmetric": lambda f: f - f**4 / 2,
    "wavy": lambda f: f + 0.4 * f * (1 - f) * np.sin(6 * np.pi * f),
    "steps": lambda f: (np.floor(5 * f) + 0.5) / 5,
}
# Truths given the logits of four classes.
MULTICLASS = {
    "calibrated": lambda z: softmax(z, axis=1),
    "smooth": lambda z: softmax(z / 1.5, axis=1),
    "wavy": lambda z: softmax(z + 0.7 * np.sin(2 * z), axis=1),
}
RECALIBRATORS = {
    "Default": BoostedTemperatureScaling(),
    "Beta": BetaCalibration(),
    "Isotonic": IsotonicCalibration(),
    "TS": TemperatureScaling(),
}
RECALIBRATORS_MULTICLASS = {
    "Default": BoostedTemperatureScaling(),
    "SMS": MatrixScaling(),
    "TS": TemperatureScaling(),
}


def sample(truth, n, rng, n_classes):
    """Outcomes, forecasts and probabilities of n rows."""
    if n_classes == 2:
        f = rng.uniform(size=n)
        true = truth(f)
        return (rng.uniform(size=n) < true).astype(int), f, true
    z = 1.5 * rng.normal(size=(n, n_classes))
    true = truth(z)
    below = true.cumsum(axis=1)[:, :-1]
    return (rng.uniform(size=(n, 1)) > below).sum(axis=1), softmax(z, axis=1), true


def readings(truth, recalibrators, divergences, n, repeats, n_classes):
    """Recalibrators by divergences by three readings and the truth, by samples."""
    rng = np.random.default_rng(n)
    values = np.empty((repeats, len(recalibrators), len(divergences), 4))
    for r in range(repeats):
        y, f, true = sample(truth, n, rng, n_classes)
        gap = np.abs(true - f).reshape(n, -1).sum(axis=1)
        square = ((true - f) ** 2).reshape(n, -1).sum(axis=1)
        known = {"l1": gap.mean(), "brier": square.mean()}
        for i, recalibrator in enumerate(recalibrators.values()):
            result = VariationalECE(
                divergence=list(divergences),
                recalibrator=recalibrator,
                labels=np.arange(n_classes),
            ).evaluate(y, f)
            for j, name in enumerate(divergences):
                parts = (result.value, result.plugin, result.midpoint, known)
                values[r, i, j] = [part[name] for part in parts]
    return values


HEAD = """\
Mean estimates for truths of several shapes, in thousandths, (standard errors)

The first number of either block is the true calibration error; over: share of samples
whose V-ECE is above it, in %. With --full there are 200 samples of 1,000 rows and 40 of
10,000 for two classes, 50 of 500 and 10 of 5,000 for four, a third of these where the
truth is not calibrated; without, a tenth, and three at least.
"""


def report(full):
    yield HEAD.rstrip()
    scale = 1 if full else 10
    titles = ("V-ECE", "plug-in", "midpoint")
    for n_classes, truths, recalibrators in (
        (2, BINARY, RECALIBRATORS),
        (4, MULTICLASS, RECALIBRATORS_MULTICLASS),
    ):
        for n, repeats in ((1_000, 200), (10_000, 40)):
            if n_classes > 2:
                n, repeats = n // 2, repeats // 4
            yield f"\n{n_classes} classes, {n:,} rows"
            head = "".join(f"{title:>14}" for title in titles)
            head += f"{'over':>6}"
            yield f"{'':<23}{'L1:':>6}{head}{'squared:':>11}{head}"
            for name, truth in truths.items():
                # The sign of a mean of nearly zero takes more samples than a distance.
                drawn = repeats if name == "calibrated" else repeats // 3
                drawn = max(3, drawn // scale)
                values = readings(
                    truth, recalibrators, ("l1", "brier"), n, drawn, n_classes
                )
                for i, recalibrator in enumerate(recalibrators):
                    line = f"{name:<13}{recalibrator:<10}"
                    for j, width in enumerate((6, 11)):
                        found = values[:, i, j]
                        line += f"{1e3 * found[:, 3].mean():{width}.1f}"
                        mean = 1e3 * found.mean(axis=0)
                        error = 1e3 * found.std(axis=0, ddof=1) / np.sqrt(drawn)
                        for k in range(3):
                            line += f"{mean[k]:8.2f} ({error[k]:.2f})"
                        line += f"{100 * np.mean(found[:, 0] > found[:, 3]):6.0f}"
                    yield line


if __name__ == "__main__":
    publish("bias_variational", __doc__, report, full="ten times the samples")
