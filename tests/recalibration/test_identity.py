"""No recalibration: probabilities to the bit, and a candidate in a search."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from skcal import (
    BetaCalibration,
    IdentityCalibration,
    ProbabilityTransformer,
    RecalibratedClassifierCV,
)

Y = np.array([0, 1, 2, 1])
P3 = np.array([[1.0, 0.0, 0.0], [0.1, 0.2, 0.7], [1 / 3, 1 / 3, 1 / 3], [0, 1e-300, 1]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probabilities_to_the_bit(dtype):
    proba = P3.astype(dtype)
    repaired = IdentityCalibration().fit(proba, Y).predict_proba(proba)
    assert_array_equal(repaired, proba)
    assert repaired.dtype == dtype
    column = np.array([0.0, 1e-30, 0.3, 1.0], dtype=dtype)
    repaired = IdentityCalibration().fit(column, [0, 1, 0, 1]).predict_proba(column)
    assert_array_equal(repaired, np.column_stack([1 - column, column]))


def test_logits_become_probabilities():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(4, 3))
    identity = IdentityCalibration(input="logits")
    assert_allclose(identity.fit(logits, Y).transform(logits), softmax(logits, axis=1))
    found = identity.fit(logits[:, 0], [0, 1, 0, 1]).transform(logits[:, 0])
    assert_allclose(found[:, 1], expit(logits[:, 0]))


def test_in_a_pipeline_and_around_a_classifier_it_is_the_classifier():
    X, y = load_breast_cancer(return_X_y=True)
    plain = GaussianNB().fit(X, y).predict_proba(X)
    pipeline = make_pipeline(
        ProbabilityTransformer(GaussianNB()), IdentityCalibration()
    )
    assert_allclose(pipeline.fit(X, y).predict_proba(X), plain, atol=1e-12)
    model = RecalibratedClassifierCV(
        GaussianNB(), recalibrator=IdentityCalibration(), ensemble=False
    )
    assert_allclose(model.fit(X, y).predict_proba(X), plain, atol=1e-12)


def test_a_search_may_choose_it():
    rng = np.random.default_rng(0)
    proba = rng.uniform(size=60)
    y = rng.uniform(size=60) < proba
    pipeline = make_pipeline("passthrough", BetaCalibration())
    steps = {"betacalibration": [BetaCalibration(), IdentityCalibration()]}
    search = GridSearchCV(pipeline, steps, scoring="neg_log_loss", cv=5)
    best = search.fit(proba[:, np.newaxis], y).best_estimator_[-1]
    assert isinstance(best, IdentityCalibration)
