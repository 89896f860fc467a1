"""Moderately overconfident forecasts and outcomes, for measurements of time."""

import numpy as np
from scipy.special import softmax


def two_classes(n, seed=0):
    """Outcomes, and forecasts spread over [0, 1]."""
    rng = np.random.default_rng(seed)
    forecast = rng.beta(0.7, 0.7, size=n)
    outcome = (rng.uniform(size=n) < 0.1 + 0.8 * forecast).astype(np.int64)
    return outcome, forecast


def many_classes(n, n_classes, seed=0):
    """Outcomes, and forecasts from normal logits."""
    rng = np.random.default_rng(seed)
    z = 1.5 * rng.normal(size=(n, n_classes))
    below = softmax(z / 1.5, axis=1).cumsum(axis=1)[:, :-1]
    return (rng.uniform(size=(n, 1)) > below).sum(axis=1), softmax(z, axis=1)


def ten_classes(n, seed=0):
    return many_classes(n, 10, seed)
