"""
What chance alone shows
=======================

A perfectly calibrated model does not have a smECE of zero in a sample: the outcomes
scatter, and a measure that cannot be negative counts the scatter as error. Small values
therefore mean nothing until they are held against what chance alone gives. It takes
a few lines to find that out.
"""

# %%
# If the model were right, each outcome would be a draw with the forecast probability.
# So draw them, and measure.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcal import rank_ece, smooth_ece

rng = np.random.default_rng(0)


def by_chance(measure, p, n_draws=500):
    return np.array([measure(rng.uniform(size=p.size) < p, p) for _ in range(n_draws)])


# %%
# Two classifiers of breast tumours, with out-of-fold probabilities for 569 patients.
# The histograms are the smECE that their own forecasts would show if they were
# calibrated, the line is what they do show.

X, y = load_breast_cancer(return_X_y=True)
models = {
    "Logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
    "Gaussian naive Bayes": GaussianNB(),
}
fig, axes = plt.subplots(2, 1, figsize=(6, 4.6), sharex=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    p = cross_val_predict(model, X, y, cv=10, method="predict_proba")[:, 1]
    null, seen = by_chance(smooth_ece, p), smooth_ece(y, p)
    ax.hist(null, bins=40, range=(0, 0.07), color="0.75", label="Chance alone")
    ax.axvline(seen, color="tab:red", label=f"Seen: {seen:.3f}")
    ax.set(title=name, yticks=[])
    ax.legend(loc="upper center")
    ax.spines[["top", "right", "left"]].set_visible(False)
    above = 100 * np.mean(null >= seen)
    print(f"{name}: smECE {seen:.3f}, by chance as much {above:.0f} % of the time")
axes[-1].set_xlabel("smECE")
plt.show()

# %%
# How much room chance takes depends on the number of rows, about as its cube root,
# and on the forecasts: near 0 and 1 the outcomes scatter less. rankECE is unbiased
# instead, its values scatter around zero and fall below it half of the time.

sizes = [30, 100, 300, 1_000, 3_000, 10_000, 30_000]
spread = {
    "even over [0, 1]": lambda n: rng.uniform(size=n),
    "mostly near 0 and 1": lambda n: rng.beta(0.2, 0.2, size=n),
    "mostly near 0": lambda n: rng.beta(0.2, 1.8, size=n),
}
fig, (left, right) = plt.subplots(1, 2, figsize=(8.6, 4), layout="constrained")
for name, draw in spread.items():
    smooth = [by_chance(smooth_ece, draw(n), 60).mean() for n in sizes]
    left.plot(sizes, smooth, marker="o", markersize=4, label=f"Forecasts {name}")
    if name == "even over [0, 1]":
        print("smECE of calibrated forecasts even over [0, 1]:")
        for n, value in zip(sizes, smooth, strict=True):
            print(f"{n:>8,} rows: {value:.3f}")
left.set(xscale="log", yscale="log", xlabel="Rows", title="smECE, mean")
left.set_yticks(
    [0.005, 0.01, 0.02, 0.05, 0.1], ["0.005", "0.01", "0.02", "0.05", "0.1"]
)
left.minorticks_off()
left.legend(fontsize="small")

rank = [by_chance(rank_ece, rng.uniform(size=n), 100) for n in sizes]
right.boxplot(rank, tick_labels=[f"{n:,}" for n in sizes], whis=(5, 95), sym="")
right.axhline(0, color="0.5", linestyle=":")
right.set(xlabel="Rows", title="rankECE, forecasts even over [0, 1]")
right.tick_params(axis="x", rotation=45)
plt.show()
