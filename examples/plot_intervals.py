"""
A value, its interval, and what chance would show
=================================================

A calibration error alone says little: how far may it be off, and would a perfect model
show as much on so many rows? The answers are an interval and a reference, and both are
a line of code.
"""

# %%
# Three classifiers of breast tumours, with out-of-fold probabilities of 569 patients.

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcal import (
    bootstrap_interval,
    calibrated_reference,
    compare_calibration,
    smooth_ece,
)

X, y = load_breast_cancer(return_X_y=True)
models = {
    "Logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
    "Random forest": RandomForestClassifier(200, random_state=0),
    "Gaussian naive Bayes": GaussianNB(),
}
proba = {
    name: cross_val_predict(model, X, y, cv=10, method="predict_proba")[:, 1]
    for name, model in models.items()
}

# %%
# The point is the smECE with its 95 % interval. The bar below it is what the same
# forecasts would show if they were right: 95 % of such values are within the bar. A
# point far to the right of its bar is no chance. One within its bar has an interval
# that starts at zero; the upper end says how much may still be wrong.

fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for place, (name, p) in enumerate(proba.items()):
    result = bootstrap_interval(smooth_ece, y, p, random_state=0)
    reference = calibrated_reference(
        smooth_ece, p, quantiles=(0.025, 0.975), random_state=0
    )
    print(
        f"{name}: smECE {result.value:.3f} [{result.low:.3f}, {result.high:.3f}], by "
        f"chance {reference.mean:.3f}, p = {reference.pvalue(result.value):.3f}"
    )
    low, high = reference.quantiles.values()
    ax.barh(
        place + 0.22,
        high - low,
        left=low,
        height=0.16,
        color="0.75",
        label="A perfect model would show" if place == 0 else None,
    )
    ax.errorbar(
        result.value,
        place,
        xerr=[[result.value - result.low], [result.high - result.value]],
        fmt="o",
        color="tab:blue",
        capsize=3,
        label="Seen, with 95 % interval" if place == 0 else None,
    )
ax.set_yticks(range(len(proba)), proba)
ax.set(xlabel="smECE", xlim=(-0.002, None), ylim=(len(proba) - 0.5, -0.5))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False)
plt.show()

# %%
# Whether one model is better calibrated than another is a question about the
# difference. Both are measured on the same resampled patients.

comparison = compare_calibration(
    smooth_ece,
    y,
    proba["Gaussian naive Bayes"],
    proba["Logistic regression"],
    random_state=0,
)
print(
    f"Naive Bayes less logistic regression: {comparison.difference:.3f} "
    f"[{comparison.low:.3f}, {comparison.high:.3f}], p = {comparison.pvalue:.3f}"
)
