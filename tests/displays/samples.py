"""A classifier of two classes, one of three, and their forecasts."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate

KINDS = ["smooth", "binned", "isotonic"]
every_kind = pytest.mark.parametrize("kind", KINDS)
X, Y = make_blobs(200, centers=2, cluster_std=6, random_state=0)
WORDS = np.array(["ham", "spam"])
MODEL = LogisticRegression().fit(X, Y)
P = MODEL.predict_proba(X)[:, 1]
DIAGONAL = "Perfectly calibrated"
X3, Y3 = make_blobs(300, centers=3, cluster_std=5, random_state=1)
MODEL3 = LogisticRegression().fit(X3, Y3)
P3 = MODEL3.predict_proba(X3)
FEW = {"n_resamples": 20}
GROUPS = np.array(["b", "a"])[(X[:, 0] > 0).astype(int)]
CV_RESULTS = cross_validate(
    LogisticRegression(), X, Y, cv=4, return_estimator=True, return_indices=True
)


def legend_texts(display):
    legend = display.ax_.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]
