"""VectorScaling and MatrixScaling: optimum of the documented objective, and safety."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_softmax, softmax

from skcal.recalibration._matrix import MatrixScaling, VectorScaling
from skcal.recalibration._platt import PlattScaling
from skcal.recalibration._temperature import TemperatureScaling
from tests.recalibration.fits import (
    draw,
    identity_loss,
    log_loss,
    logits_loss,
    long_run,
    repeated,
    slope_at,
)

BOTH = [VectorScaling, MatrixScaling]


def confused(n_classes, n_samples=250, seed=0):
    """Logits with a bias and a confusion that temperature scaling cannot repair."""
    rng = np.random.default_rng(seed)
    logits, y = draw(n_classes, n_samples, seed=seed)
    mix = np.eye(n_classes) + 0.2 * rng.normal(size=(n_classes, n_classes))
    return logits @ mix + rng.normal(size=n_classes), y


def fitted(kind, logits, y, weight=None, **kwargs):
    labels = np.arange(logits.shape[1])
    recalibrator = kind(input="logits", labels=labels, **kwargs)
    return recalibrator.fit(logits, y, sample_weight=weight)


def objective(flat, kind, temperature, logits, y, strengths=(1.0, 1.0, 1.0)):
    """The documented objective; two classes as any other number."""
    n, k = logits.shape
    features = log_softmax(logits, axis=1)
    if k == 2:
        features = logits - logits.mean(axis=1, keepdims=True)
    if kind is VectorScaling:
        change, shift = np.diag(flat[:k]), flat[k:]
    else:
        change, shift = flat[: k * k].reshape(k, k), flat[k * k :]
    repaired = features @ (np.eye(k) + change).T / temperature + shift
    diagonal = change.diagonal()
    off = np.sum(change**2) - np.sum(diagonal**2)
    penalty = strengths[0] * np.sum(shift**2) + strengths[1] * np.sum(diagonal**2)
    penalty += strengths[2] * (k - 1) * off
    return logits_loss(repaired, y) + 150 * k / n**2 * penalty


def parameters_of(recalibrator, kind):
    k = len(recalibrator.classes_)
    change = recalibrator.coef_ * recalibrator.temperature_ - np.eye(k)
    change = change.diagonal() if kind is VectorScaling else change.ravel()
    return np.concatenate([change, recalibrator.intercept_])


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("strength", [1.0, 0.01])
def test_optimum(kind, n_classes, strength):
    logits, y = confused(n_classes)
    names = ["intercept_penalty", "diagonal_penalty", "off_diagonal_penalty"]
    if kind is VectorScaling:
        del names[2]
    recalibrator = fitted(kind, logits, y, **dict.fromkeys(names, strength))
    found = parameters_of(recalibrator, kind)

    def function(x):
        return objective(x, kind, recalibrator.temperature_, logits, y, (strength,) * 3)

    starts = [np.zeros(len(found)), found + 0.1]
    assert function(found) <= long_run(function, starts) * (1 + 1e-8)
    assert slope_at(function, found) < 1e-7


def test_separate_strengths():
    logits, y = confused(4)
    strengths = (0.3, 3.0, 0.1)
    recalibrator = fitted(
        MatrixScaling,
        logits,
        y,
        intercept_penalty=0.3,
        diagonal_penalty=3.0,
        off_diagonal_penalty=0.1,
    )
    found = parameters_of(recalibrator, MatrixScaling)

    def function(x):
        temperature = recalibrator.temperature_
        return objective(x, MatrixScaling, temperature, logits, y, strengths)

    assert slope_at(function, found) < 1e-7


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_strong_penalty_is_temperature_scaling_none_is_free(kind, n_classes):
    logits, y = confused(n_classes, 1000)
    names = ["intercept_penalty", "diagonal_penalty", "off_diagonal_penalty"]
    names = names[: 2 if kind is VectorScaling else 3]
    strong = fitted(kind, logits, y, **dict.fromkeys(names, 1e12))
    scaled = fitted(TemperatureScaling, logits, y)
    assert_allclose(strong.transform(logits), scaled.transform(logits), rtol=1e-6)
    assert_allclose(strong.temperature_, scaled.temperature_)
    free = fitted(kind, logits, y, **dict.fromkeys(names, 0.0))
    if n_classes == 2:
        platt = fitted(PlattScaling, logits, y).transform(logits)
        assert_allclose(free.transform(logits), platt, rtol=1e-5)
    loss = log_loss(free.transform(logits), y)
    assert loss < log_loss(fitted(kind, logits, y).transform(logits), y)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("n_samples", [12, 60])
def test_never_worse_than_temperature_scaling_and_identity(kind, n_classes, n_samples):
    for seed in range(5):
        logits, y = confused(n_classes, n_samples, seed)
        loss = log_loss(fitted(kind, logits, y).transform(logits), y)
        assert loss <= identity_loss(logits, y) * (1 + 1e-12)


def test_kinds_differ():
    logits, y = confused(5, 3000)
    losses = [
        log_loss(fitted(kind, logits, y).transform(logits), y)
        for kind in (TemperatureScaling, *BOTH)
    ]
    assert losses[0] > 1.02 * losses[1]
    assert losses[1] > 1.02 * losses[2]


@pytest.mark.parametrize("kind", BOTH)
def test_hundred_classes(kind):
    logits, y = confused(100, 700)
    recalibrator = fitted(kind, logits, y)
    assert recalibrator.coef_.shape == (100, 100)
    loss = log_loss(recalibrator.transform(logits), y)
    assert loss < log_loss(fitted(TemperatureScaling, logits, y).transform(logits), y)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_separable_extreme_reversed_and_constant(kind, n_classes):
    logits, y = draw(n_classes, 50)
    for given, labels in (
        (logits, logits.argmax(axis=1)),
        (100 * logits, y),
        (3000 * logits, y),
        (-logits, y),
        (np.zeros((50, n_classes)), y),
        (np.tile(logits[:1], (50, 1)), y),
    ):
        recalibrator = fitted(kind, given, labels)
        repaired = recalibrator.transform(given)
        assert np.isfinite(repaired).all()
        assert log_loss(repaired, labels) <= identity_loss(given, labels) * (1 + 1e-12)
    # A matrix can undo a reversed score.
    reversed_ = fitted(kind, -logits, y)
    assert reversed_.temperature_ == np.inf
    assert log_loss(reversed_.transform(-logits), y) < 0.9 * np.log(n_classes)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_are_repetitions(kind, n_classes):
    logits, y = confused(n_classes, 90)
    weight, many, labels = repeated(logits, y)
    one = fitted(kind, logits, y, weight).transform(logits)
    two = fitted(kind, many, labels).transform(logits)
    assert_allclose(one, two, rtol=1e-8)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_and_logits_agree(kind, n_classes):
    logits, y = confused(n_classes)
    proba = softmax(logits, axis=1)
    one = fitted(kind, logits + np.arange(len(y))[:, None], y).transform(logits)
    assert_allclose(kind().fit(proba, y).transform(proba), one, rtol=1e-7)


@pytest.mark.parametrize("kind", BOTH)
def test_C2_unseen_class_keeps_its_share(kind):
    logits, y = confused(4)
    seen = y != 2
    recalibrator = fitted(kind, logits[seen], y[seen])
    repaired = recalibrator.transform(logits)
    proba = softmax(logits, axis=1)
    assert_allclose(repaired[:, 2], proba[:, 2])
    assert_allclose(repaired.sum(axis=1), 1)
    # The others are repaired as if there were no such class.
    rest = [0, 1, 3]
    alone = kind(input="logits").fit(logits[np.ix_(seen, rest)], y[seen])
    part = repaired[:, rest] / (1 - proba[:, [2]])
    assert_allclose(part, alone.transform(logits[:, rest]), rtol=1e-7)
    one = kind(labels=[0, 1]).fit([0.2, 0.3], [1, 1])
    assert_allclose(one.transform([0.4]), [[0.6, 0.4]])
