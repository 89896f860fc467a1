"""TemperatureScaling and EnsembleTemperatureScaling."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV

from skcal.recalibration._temperature import (
    EnsembleTemperatureScaling,
    TemperatureScaling,
    _mixture_loss,
)
from tests.recalibration.fits import (
    draw,
    identity_loss,
    log_loss,
    logits_loss,
    long_run,
    repeated,
)


def fitted(logits, y, weight=None, **kwargs):
    labels = np.arange(logits.shape[1])
    recalibrator = TemperatureScaling(input="logits", labels=labels, **kwargs)
    return recalibrator.fit(logits, y, sample_weight=weight)


@pytest.mark.parametrize("n_classes", [2, 3, 10, 100])
@pytest.mark.parametrize("scale", [1e-3, 0.3, 2.0, 50.0])
def test_optimum(n_classes, scale):
    logits, y = draw(n_classes, 500)
    logits *= scale
    inverse = 1 / fitted(logits, y).temperature_
    best = minimize_scalar(
        lambda log: logits_loss(np.exp(log) * logits, y),
        bounds=(np.log(inverse) - 3, np.log(inverse) + 3),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert logits_loss(inverse * logits, y) <= best.fun * (1 + 1e-12)
    assert_allclose(inverse, np.exp(best.x), rtol=1e-6)
    proba = softmax(inverse * logits, axis=1)
    slope = np.sum((proba - np.eye(n_classes)[y]) * logits) / np.abs(logits).sum()
    assert abs(slope) < 1e-9


@pytest.mark.parametrize("n_classes", [2, 3])
def test_W4_logits_times_three_give_a_temperature_near_three(n_classes):
    logits, y = draw(n_classes, 20_000, temperature=3.0)
    assert 2.8 < fitted(logits, y).temperature_ < 3.2


def test_W4_hundred_classes_improve():
    logits, y = draw(100, 600, temperature=3.0)
    proba = softmax(logits, axis=1)
    recalibrator = TemperatureScaling(labels=np.arange(100)).fit(proba, y)
    assert log_loss(recalibrator.transform(proba), y) < 0.8 * log_loss(proba, y)


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_W5_never_worse_than_one_and_ranks_kept(n_classes, scale):
    for seed in range(20):
        logits, y = draw(n_classes, 12, scale, temperature=1.0, seed=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # some are reversed
            recalibrator = fitted(logits, y)
        if recalibrator.temperature_ == np.inf:
            continue
        repaired = recalibrator.transform(logits)
        assert recalibrator.temperature_ > 0
        assert log_loss(repaired, y) <= identity_loss(logits, y) * (1 + 1e-12)
        assert (repaired.argmax(axis=1) == logits.argmax(axis=1)).all()


@pytest.mark.parametrize("shape", ["(n,)", "(n, 2)", "logits", "halves"])
def test_one_for_calibrated_scores_however_given(shape):
    # Each probability with exactly its share of events.
    proba = np.repeat([0.1, 0.3, 0.5, 0.8], 10)
    y = np.concatenate([np.arange(10) < 10 * p for p in (0.1, 0.3, 0.5, 0.8)])
    z = np.log(proba / (1 - proba))
    given = {
        "(n,)": proba,
        "(n, 2)": np.column_stack([1 - proba, proba]),
        "logits": z,
        "halves": np.column_stack([5 - z / 2, 5 + z / 2]),
    }[shape]
    recalibrator = TemperatureScaling(
        input="logits" if shape in ("logits", "halves") else "proba"
    ).fit(given, y)
    assert_allclose(recalibrator.temperature_, 1.0, rtol=1e-9)
    assert_allclose(recalibrator.transform(given)[:, 1], proba, rtol=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_W8_reversed_scores_give_a_constant_and_a_warning(n_classes):
    logits, y = draw(n_classes)
    with pytest.warns(UserWarning, match="best temperature is infinite"):
        recalibrator = fitted(-logits, y)
    assert recalibrator.temperature_ == np.inf
    assert_allclose(recalibrator.transform(-logits), 1 / n_classes)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_separable_is_finite_and_keeps_ranks(n_classes):
    logits, _ = draw(n_classes, 60, 0.5)
    y = logits.argmax(axis=1)
    recalibrator = fitted(logits, y)
    repaired = recalibrator.transform(logits)
    assert 0 < recalibrator.temperature_ < 1
    assert len(np.unique(repaired[:, 0])) == len(y)
    # Scores that are extreme already stay as they are.
    assert fitted(100 * logits, y).temperature_ == 1.0


def test_constant_scores():
    assert fitted(np.zeros((6, 3)), [0, 1, 2, 0, 1, 2]).temperature_ == 1.0
    assert fitted(np.ones((4, 2)), [0, 1, 1, 1]).temperature_ == 1.0
    with pytest.warns(UserWarning, match="infinite"):
        fitted(np.tile([1.0, 0.0], (4, 1)), [0, 1, 1, 1])
    # C4: half of the labels with p = 0.3, so one half is the best constant.
    recalibrator = TemperatureScaling().fit(np.full(100, 0.3), np.arange(100) % 2)
    assert_allclose(recalibrator.transform([0.3]), 0.5)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("smoothing", ["laplace", 0.2])
def test_label_smoothing(n_classes, smoothing):
    logits, _ = draw(n_classes, 50)
    y = logits.argmax(axis=1)
    weight = np.random.default_rng(0).uniform(size=50)
    n = weight.sum()
    target = (1 - 0.2) * np.eye(n_classes)[y] + 0.2 / n_classes
    if smoothing == "laplace":
        target = (n * np.eye(n_classes)[y] + 1) / (n + n_classes)
    recalibrator = fitted(logits, y, weight, label_smoothing=smoothing)

    def loss(inverse):
        return -np.sum(weight[:, None] * target * log_softmax(inverse * logits, 1)) / n

    best = minimize_scalar(loss, bounds=(0, 50), method="bounded")
    assert loss(1 / recalibrator.temperature_) <= best.fun * (1 + 1e-12)


class Given(ClassifierMixin, BaseEstimator):
    """A model whose features are its probabilities."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return X

    def predict(self, X):
        return self.classes_[X.argmax(axis=1)]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_not_worse_than_scikit_learn(n_classes):
    frozen = pytest.importorskip("sklearn.frozen")
    for seed in range(3):
        logits, y = draw(n_classes, 300, seed=seed)
        proba = softmax(logits, axis=1)
        try:
            peer = CalibratedClassifierCV(
                frozen.FrozenEstimator(Given().fit(proba, y)), method="temperature"
            ).fit(proba, y)
        except ValueError:
            pytest.skip("this scikit-learn has no temperature scaling")
        ours = TemperatureScaling().fit(proba, y).transform(proba)
        assert log_loss(ours, y) <= log_loss(peer.predict_proba(proba), y) + 1e-10


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("smoothing", [None, "laplace"])
def test_weights_are_repetitions(n_classes, smoothing):
    logits, y = draw(n_classes, 60)
    weight, many, labels = repeated(logits, y)
    one = fitted(logits, y, weight, label_smoothing=smoothing).temperature_
    two = fitted(many, labels, label_smoothing=smoothing).temperature_
    assert_allclose(one, two, rtol=1e-12)


def test_unseen_class():
    logits, y = draw(3)
    seen = y != 2
    recalibrator = fitted(logits[seen], y[seen])
    assert recalibrator.transform(logits).shape == (400, 3)


# Ensemble -----------------------------------------------------------------------------


def ensemble(logits, y, weight=None):
    labels = np.arange(logits.shape[1])
    recalibrator = EnsembleTemperatureScaling(input="logits", labels=labels)
    return recalibrator.fit(logits, y, sample_weight=weight)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_ensemble_optimum(n_classes, noise):
    logits, y = draw(n_classes, 1000, 2.5, 1.5)
    rng = np.random.default_rng(0)
    noisy = rng.uniform(size=1000) < noise
    y[noisy] = rng.integers(n_classes, size=noisy.sum())
    recalibrator = ensemble(logits, y)

    def loss(parameters):
        sharp = softmax(np.exp(parameters[0]) * logits, axis=1)
        weights = np.append(parameters[1:], 0.0)
        weights = softmax(weights)
        mixed = weights[0] * sharp + weights[1] * softmax(logits, axis=1)
        return log_loss(mixed + weights[2] / n_classes, y)

    starts = [[0.0, 2.0, 0.0], [-1.0, 4.0, 4.0], [-0.5, 0.0, 3.0], [0.5, 3.0, -3.0]]
    best = long_run(loss, starts)
    assert log_loss(recalibrator.transform(logits), y) <= best * (1 + 1e-8)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_ensemble_is_not_worse_than_its_parts(n_classes):
    for seed in range(8):
        logits, y = draw(n_classes, 30, 2.0, seed=seed)
        recalibrator = ensemble(logits, y)
        loss = log_loss(recalibrator.transform(logits), y)
        scaled = log_loss(fitted(logits, y).transform(logits), y)
        assert loss <= min(scaled, identity_loss(logits, y)) * (1 + 1e-9) + 1e-12
        assert recalibrator.weights_.min() >= 0
        assert_allclose(recalibrator.weights_.sum(), 1)


def test_ensemble_weights_are_repetitions_and_order_does_not_matter():
    logits, y = draw(3, 80)
    weight, many, labels = repeated(logits, y)
    one = ensemble(logits, y, weight).transform(logits)
    order = np.random.default_rng(2).permutation(len(labels))
    two = ensemble(many[order], labels[order]).transform(logits)
    assert_allclose(one, two, rtol=1e-6)


def test_ensemble_reversed_separable_and_extreme():
    logits, y = draw(3, 50)
    for given, labels in (
        (-logits, y),
        (logits, logits.argmax(axis=1)),
        (100 * logits, y),
        (np.zeros((50, 3)), y),
    ):
        repaired = ensemble(given, labels).transform(given)
        assert np.isfinite(repaired).all()
        assert_allclose(repaired.sum(axis=1), 1)


def test_binary_columns_agree():
    z = np.random.default_rng(0).normal(size=200)
    y = np.random.default_rng(1).uniform(size=200) < expit(0.5 * z)
    proba = expit(z)
    for kind in (TemperatureScaling, EnsembleTemperatureScaling):
        one = kind().fit(proba, y).transform(proba)
        two = kind().fit(np.column_stack([1 - proba, proba]), y).transform(proba)
        assert_allclose(one, two, rtol=1e-9)


def test_mixture_loss_in_blocks_is_the_sum():
    rng = np.random.default_rng(0)
    parts = rng.uniform(0.05, 1.0, size=(3, 20_000))
    share = rng.uniform(size=20_000)
    share /= share.sum()
    weights = np.array([0.3, 0.5, 0.4])
    loss, gradient, hessian = _mixture_loss(parts, share)(weights)
    ratio = parts / (weights @ parts)
    expected = weights.sum() - share @ np.log(weights @ parts)
    assert loss == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose(gradient, 1.0 - ratio @ share, rtol=0, atol=1e-13)
    np.testing.assert_allclose(hessian, (ratio * share) @ ratio.T, rtol=1e-13)
