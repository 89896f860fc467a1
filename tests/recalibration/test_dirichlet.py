"""DirichletCalibration: optimum of the documented objective, and safety."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_softmax, softmax

from skcal.recalibration._beta import BetaCalibration
from skcal.recalibration._dirichlet import DirichletCalibration
from tests.recalibration.fits import (
    draw,
    identity_loss,
    log_loss,
    logits_loss,
    long_run,
    repeated,
    slope_at,
)


def fitted(logits, y, weight=None, **kwargs):
    labels = np.arange(logits.shape[1])
    recalibrator = DirichletCalibration(input="logits", labels=labels, **kwargs)
    return recalibrator.fit(logits, y, sample_weight=weight)


def objective(flat, logits, y, reg_lambda, reg_mu):
    k = logits.shape[1]
    matrix, shift = flat[: k * k].reshape(k, k), flat[k * k :]
    off = np.sum(matrix**2) - np.sum(matrix.diagonal() ** 2)
    loss = logits_loss(log_softmax(logits, axis=1) @ matrix.T + shift, y)
    return loss + reg_lambda * off / (k * (k - 1)) + reg_mu * np.mean(shift**2)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("given", [None, 1e-3, 1.0])
def test_optimum(n_classes, given):
    logits, y = draw(n_classes)
    logits += np.arange(n_classes)
    recalibrator = fitted(logits, y, reg_lambda=given, reg_mu=given)
    k, n = n_classes, len(y)
    strengths = [150 * (k * (k - 1)) ** 2 / n**2, 150 * k**2 / n**2]
    if given is not None:
        strengths = [given] * 2
    found = np.append(recalibrator.coef_.ravel(), recalibrator.intercept_)

    def function(x):
        return objective(x, logits, y, *strengths)

    best = long_run(function, [np.append(np.eye(k).ravel(), np.zeros(k))])
    assert function(found) <= best * (1 + 1e-8)
    assert slope_at(function, found) < 1e-7


def test_two_classes_are_beta_calibration():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=2000)
    proba = np.where(y, rng.beta(4, 1, 2000), rng.beta(1, 2, 2000))
    free = DirichletCalibration(reg_lambda=0, reg_mu=0).fit(proba, y)
    beta = BetaCalibration().fit(proba, y)
    assert_allclose(free.transform(proba), beta.transform(proba), rtol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_never_worse_than_the_identity(n_classes):
    for seed in range(5):
        logits, y = draw(n_classes, 20, seed=seed)
        loss = log_loss(fitted(logits, y).transform(logits), y)
        assert loss <= identity_loss(logits, y) * (1 + 1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_separable_extreme_reversed_and_constant(n_classes):
    logits, y = draw(n_classes, 50)
    for given, labels in (
        (logits, logits.argmax(axis=1)),
        (100 * logits, y),
        (-logits, y),
        (np.zeros((50, n_classes)), y),
    ):
        repaired = fitted(given, labels).transform(given)
        assert np.isfinite(repaired).all()
        assert log_loss(repaired, labels) <= identity_loss(given, labels) * (1 + 1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_are_repetitions(n_classes):
    logits, y = draw(n_classes, 90)
    weight, many, labels = repeated(logits, y)
    one = fitted(logits, y, weight).transform(logits)
    assert_allclose(one, fitted(many, labels).transform(logits), rtol=1e-7)


def test_C2_unseen_class_keeps_its_share():
    logits, y = draw(4)
    seen = y != 2
    repaired = fitted(logits[seen], y[seen]).transform(logits)
    assert_allclose(repaired[:, 2], softmax(logits, axis=1)[:, 2])
    assert_allclose(repaired.sum(axis=1), 1)


def test_hundred_classes():
    logits, y = draw(100, 700)
    loss = log_loss(fitted(logits, y).transform(logits), y)
    assert loss < identity_loss(logits, y)
