"""Measure, test, repair and draw a real classifier: the tour of skcal in one script.

Naive Bayes tells odd from even handwritten digits. It takes neighbouring pixels for
independent evidence, so its probabilities are too extreme. The script measures that,
repairs it, measures again, and draws both in ``reliability.png``.
"""

import matplotlib

matplotlib.use("Agg")  # draw into a file, no screen needed

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import BernoulliNB

from skcal import (
    RecalibratedClassifierCV,
    ReliabilityDisplay,
    binned_ece,
    calibrated_reference,
    rank_ece,
    rank_ece_test,
    smooth_ece,
)

X, y = load_digits(return_X_y=True)
parity = np.where(y % 2, "odd", "even")

# Every probability comes from a model that has not seen its row.
naive_bayes = BernoulliNB(binarize=8)
repaired = RecalibratedClassifierCV(naive_bayes)
folds = StratifiedKFold(5, shuffle=True, random_state=0)
before, after = (
    cross_val_predict(model, X, parity, cv=folds, method="predict_proba")
    for model in (naive_bayes, repaired)
)

print(f"Odd or even? {y.size:,} handwritten digits, out-of-fold probabilities\n")
print(
    f"{'':<20}{'smECE':>8}{'rankECE':>10}{'binned ECE':>12}{'p-value':>10}"
    f"{'log loss':>10}"
)
for name, proba in (("naive Bayes", before), ("recalibrated", after)):
    print(
        f"{name:<20}{smooth_ece(parity, proba):8.3f}{rank_ece(parity, proba):10.4f}"
        f"{binned_ece(parity, proba):12.3f}{rank_ece_test(parity, proba).pvalue:10.2g}"
        f"{log_loss(parity, proba):10.3f}"
    )
# What do these forecasts show if they are right, and only chance is at work?
smooth, rank, binned = (
    calibrated_reference(measure, after, random_state=0).mean
    for measure in (smooth_ece, rank_ece, binned_ece)
)
print(f"{'perfectly calibrated':<20}{smooth:8.3f}{rank:10.4f}{binned:12.3f}")

sure = before[:, 1] > 0.99
print(
    "\nWhere naive Bayes is more than 99 % sure of an odd digit, only "
    f"{100 * np.mean(parity[sure] == 'odd'):.0f} % of the digits\nare odd. rankECE is "
    "a squared error; the last row is the mean of what chance shows."
)

fig, ax = plt.subplots(figsize=(5.4, 5.6), layout="constrained")
for name, proba, color in (
    ("Naive Bayes", before, "tab:red"),
    ("Recalibrated", after, "tab:blue"),
):
    ReliabilityDisplay.from_predictions(parity, proba, name=name, ax=ax, color=color)
ax.set_title("Is the digit odd?")
fig.savefig("reliability.png", dpi=120)
print("\nThe reliability diagram is in reliability.png.")
