"""
Over- and under-confidence
==========================

A calibration error has a size and a direction. V-ECE splits into the part of forecasts
that are too extreme, farther from 1/2 than the truth, and the part of those that are too
timid.
"""

# %%
# Three models of which we know the truth: too extreme, too timid, and one that is too
# extreme for unlikely events and too timid for likely ones.

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit, logit

from skcal import VariationalECE
from skcal.recalibration import BetaCalibration

scenarios = {
    "over-confident": lambda f: expit(0.5 * logit(f)),
    "under-confident": lambda f: expit(2.0 * logit(f)),
    "a mix of both": lambda f: expit(np.where(f < 0.5, 0.5, 2.0) * logit(f)),
}
sizes = [100, 300, 1_000, 3_000]
n_draws = 20

rng = np.random.default_rng(0)
fig, axes = plt.subplots(
    2, 3, figsize=(9, 6), sharey="row", layout="constrained", height_ratios=(1.2, 1)
)
for column, (name, truth) in zip(axes.T, scenarios.items(), strict=True):
    many = rng.uniform(size=200_000)
    gap = np.abs(many - truth(many))
    over = np.abs(many - 0.5) > np.abs(truth(many) - 0.5)
    expected = {"over": np.mean(gap * over), "under": np.mean(gap * ~over)}

    found = {"over": np.zeros(len(sizes)), "under": np.zeros(len(sizes))}
    for j, size in enumerate(sizes):
        for _ in range(n_draws):
            f = rng.uniform(size=size)
            y = rng.uniform(size=size) < truth(f)
            result = VariationalECE(recalibrator=BetaCalibration()).evaluate(y, f)
            for part in found:
                found[part][j] += max(getattr(result, part), 0.0) / n_draws

    top, bottom = column
    shown = rng.uniform(size=150)
    top.plot([0, 1], [0, 1], ls="--", color="0.4", lw=1)
    top.plot(shown, truth(shown), "o", ms=3, color="0.3")
    top.set(title=name, xlabel="Forecast f", aspect="equal")
    for part, colour, marker in (("over", "C1", "o"), ("under", "C0", "s")):
        bottom.axhline(expected[part], color=colour, lw=1, ls=":")
        bottom.plot(
            sizes, found[part], marker=marker, color=colour, label=f"{part}-confidence"
        )
    bottom.set(xscale="log", xlabel="Rows", ylim=(-0.005, None))
axes[0, 0].set_ylabel("Truth C")
axes[1, 0].set_ylabel("V-ECE (L1), mean\nof values clipped at 0")
axes[1, 0].legend(loc="center right", frameon=False)
plt.show()

# %%
# Top: the truth against the forecast, with the diagonal of perfect calibration. Bottom:
# the two parts as estimated from samples of several sizes; the dotted lines are the true
# parts. Clipping at zero, which appendix G of the paper does, lifts the parts that are
# truly zero; the package does not clip.
