"""Measure, recalibrate and draw a real classifier: the tour of skcal in one script.

Naive Bayes tells odd from even handwritten digits. It takes neighbouring pixels for
independent evidence, so its probabilities are too extreme. The script measures that,
repairs it, measures again, and draws both in ``reliability.png``.
"""

import matplotlib

matplotlib.use("Agg")  # draw into a file, no screen needed

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import BernoulliNB

from skcal import ReliabilityDisplay, binned_ece, rank_ece, smooth_ece

X, y = load_digits(return_X_y=True)
parity = np.where(y % 2, "odd", "even")

# Every probability comes from a model that has not seen its row.
naive_bayes = BernoulliNB(binarize=8)
repaired = CalibratedClassifierCV(naive_bayes, method="isotonic")
folds = StratifiedKFold(5, shuffle=True, random_state=0)
before, after = (
    cross_val_predict(model, X, parity, cv=folds, method="predict_proba")
    for model in (naive_bayes, repaired)
)

# What would perfect calibration show? Draw outcomes from the repaired probabilities.
rng = np.random.default_rng(0)
p_odd = after[:, 1]
outcomes = [rng.uniform(size=p_odd.size) < p_odd for _ in range(100)]

measures = (smooth_ece, rank_ece, binned_ece)
rows = {
    "naive Bayes": [measure(parity, before) for measure in measures],
    "recalibrated": [measure(parity, after) for measure in measures],
    "perfect calibration": [
        np.mean([measure(outcome, p_odd) for outcome in outcomes])
        for measure in measures
    ],
}

print(f"Odd or even? {y.size:,} handwritten digits, out-of-fold probabilities\n")
print(f"{'':<20}{'smECE':>8}{'rankECE':>10}{'binned ECE':>12}")
for name, (smooth, rank, binned) in rows.items():
    print(f"{name:<20}{smooth:8.3f}{rank:10.4f}{binned:12.3f}")
print("\n(rankECE is a squared error; the last row is the mean over 100 simulations.)")

sure = before[:, 1] > 0.99
smooth = [row[0] for row in rows.values()]
print(
    "\nWhere naive Bayes is more than 99 % sure of an odd digit, only "
    f"{100 * np.mean(parity[sure] == 'odd'):.0f} % of the digits\nare odd; "
    f"recalibration brings smECE from {smooth[0]:.3f} down to {smooth[1]:.3f}, and "
    f"{smooth[2]:.3f} is what chance\nalone gives."
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
