"""
The same scores, repaired by each recalibrator
==============================================

A recalibrator is a guess at the shape of a model's miscalibration. Here each of them
repairs one and the same model, whose true calibration is known because we make it up.
Two things count: which shapes a recalibrator can follow, and how much it depends on the
luck of the sample.
"""

# %%
# The model is too sure of itself at both ends: of the cases it gives no chance one in
# twenty happens all the same, and of those it calls certain one in eight does not. In
# between its scores are too high. Whoever repairs it has 1,000 rows. To see the luck of
# the sample, we give every recalibrator a dozen samples.

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit, logit

from skcal.recalibration import (
    BetaCalibration,
    BoostedTemperatureScaling,
    DirichletCalibration,
    EnsembleTemperatureScaling,
    HistogramBinning,
    IsotonicCalibration,
    KernelCalibration,
    MatrixScaling,
    PlattScaling,
    QuadraticScaling,
    SplineCalibration,
    StackedRecalibrator,
    TemperatureScaling,
    VectorScaling,
)

rng = np.random.default_rng(0)


def truth(score):
    """How often the event happens where the model says `score`."""
    return 0.05 + 0.82 * expit(1.5 * logit(score) - 1.0)


def draw_scores(n_rows):
    return rng.beta(0.5, 0.7, n_rows).clip(1e-6, 1 - 1e-6)


samples = []
for _ in range(12):
    score = draw_scores(1_000)
    samples.append((score, rng.uniform(size=score.size) < truth(score)))

# %%
# From the most rigid to the most flexible. Each thin line is a map learned from one
# sample, the black line is the truth, and the number is the mean distance between the
# two over the model's scores, in percentage points.

recalibrators = {
    "Temperature": TemperatureScaling(),
    "Ensemble temperature": EnsembleTemperatureScaling(),
    "Platt": PlattScaling(),
    "Vector": VectorScaling(),
    "Matrix": MatrixScaling(),
    "Dirichlet": DirichletCalibration(),
    "Beta": BetaCalibration(),
    "Quadratic": QuadraticScaling(),
    "Spline": SplineCalibration(),
    "Kernel": KernelCalibration(),
    "Histogram binning": HistogramBinning(),
    "Isotonic": IsotonicCalibration(),
    "Isotonic, centred": IsotonicCalibration(centered=True),
    "Boosted temperature": BoostedTemperatureScaling(),
    "Stacked": StackedRecalibrator(),
}

grid = np.linspace(0.001, 0.999, 500)
scores = draw_scores(20_000)

fig, axes = plt.subplots(
    4, 4, figsize=(8.4, 9.0), sharex=True, sharey=True, layout="constrained"
)


def finish(ax, title, error):
    ax.plot(grid, truth(grid), color="black", linewidth=1.3)
    ax.text(0.95, 0.06, f"{100 * error:.1f}", ha="right", transform=ax.transAxes)
    ax.set_title(title, fontsize="medium")
    ax.set(xlim=(0, 1), ylim=(0, 1), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1], aspect=1)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_major_formatter("{x:g}")


before, *panels = axes.flat
before.plot([0, 1], [0, 1], color="tab:blue")
before.annotate("truth", (0.66, truth(0.66)), (6, -8), textcoords="offset points")
finish(before, "No repair", np.abs(scores - truth(scores)).mean())

for ax, (name, recalibrator) in zip(panels, recalibrators.items(), strict=True):
    errors = []
    for score, y in samples:
        recalibrator.fit(score, y)
        repaired = recalibrator.transform(grid)[:, 1]
        ax.plot(grid, repaired, color="tab:orange", linewidth=0.7, alpha=0.6)
        gap = recalibrator.transform(scores)[:, 1] - truth(scores)
        errors.append(np.abs(gap).mean())
    finish(ax, name, np.mean(errors))

for ax in axes[:, 0]:
    ax.set_ylabel("Probability")
for ax in axes[-1]:
    ax.set_xlabel("Score")
plt.show()

# %%
# Temperatures make all scores bolder or shier but none lower, so they repair little
# here. Platt, beta and quadratic scaling lower them, with shapes that do not fit, which
# more rows would not mend. With two classes vector and matrix scaling are Platt scaling
# and Dirichlet calibration is beta calibration, but for their penalties: they are made
# for more classes. What follows any shape pays for it in luck, a staircase most of all;
# isotonic regression even says 0 or 1 at the ends. The smooth ones, spline and kernel,
# pay least. Where the truth has one of the simple shapes, the order is another.
