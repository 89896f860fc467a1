"""Forecasts with a known truth, and recalibrators that know it."""

import numpy as np
from sklearn.base import BaseEstimator

NAMES = ["l1", "l2", "linf", "brier", "kl"]
SEPARABLE = ["l1", "brier", "kl"]


def binary(seed, n, power=2.0):
    """Forecasts, and outcomes whose true probability is f**power."""
    rng = np.random.default_rng(seed)
    f = rng.uniform(size=n)
    return f, (rng.uniform(size=n) < f**power).astype(int)


def vectors(seed, n, k=3, sharpness=2.0):
    """Over-confident forecasts of k classes: their logits are too large."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, k))
    truth = softmax(logits)
    y = (truth.cumsum(axis=1) < rng.uniform(size=(n, 1))).sum(axis=1)
    return softmax(sharpness * logits), np.minimum(y, k - 1), truth


def softmax(logits):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


class Map(BaseEstimator):
    """A fixed recalibration: nothing is learned, so nothing is cross-fitted."""

    def __init__(self, function):
        self.function = function

    def fit(self, proba, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, proba):
        return self.function(proba)


class OfEvent(Map):
    """A fixed map of the second class's probability."""

    def predict_proba(self, proba):
        z = self.function(proba[:, 1])
        return np.column_stack([1 - z, z])
