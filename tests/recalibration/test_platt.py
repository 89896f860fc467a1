"""PlattScaling: optimum, sign, separable and constant scores."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, softmax

from skcal.recalibration._platt import PlattScaling
from tests.recalibration.fits import (
    draw,
    log_loss,
    long_run,
    repeated,
    slope_at,
)


def events(n_samples=400, slope=0.5, shift=-0.7, seed=0):
    rng = np.random.default_rng(seed)
    z = 2.0 * rng.normal(size=n_samples)
    y = (rng.uniform(size=n_samples) < expit(slope * z + shift)).astype(int)
    y[:2] = [0, 1]
    return z, y


def fitted(z, y, weight=None, **kwargs):
    recalibrator = PlattScaling(input="logits", labels=[0, 1], **kwargs)
    return recalibrator.fit(z, y, sample_weight=weight)


def loss(parameters, z, target, weight=None):
    log_odds = parameters[0] * z + parameters[1]
    return np.average(np.logaddexp(0, log_odds) - target * log_odds, weights=weight)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 50.0])
@pytest.mark.parametrize("offset", [0.0, -20.0])
def test_optimum(scale, offset):
    z, y = events()
    z = scale * (z + offset)
    recalibrator = fitted(z, y)
    found = np.append(recalibrator.coef_, recalibrator.intercept_)
    units = np.array([1 / scale, 1.0])
    best = long_run(
        lambda x: loss(x * units, z - z.mean(), y), [np.zeros(2), np.array([0.5, 0.0])]
    )
    assert loss(found, z, y) <= best * (1 + 1e-8)
    centred = np.array([found[0], found[1] + found[0] * z.mean()]) / units
    assert slope_at(lambda x: loss(x * units, z - z.mean(), y), centred) < 1e-8


def test_platt_targets():
    z, y = events()
    recalibrator = fitted(z, y, label_smoothing="platt")
    n_1 = y.sum()
    target = np.where(y == 1, (n_1 + 1) / (n_1 + 2), 1 / (len(y) - n_1 + 2))
    found = [recalibrator.coef_[0], recalibrator.intercept_[0]]
    best = long_run(lambda x: loss(x, z, target), [np.zeros(2)])
    assert loss(found, z, target) <= best * (1 + 1e-10)


def test_W7_calibrated_scores_stay_and_overconfidence_is_repaired():
    proba = np.repeat([0.1, 0.3, 0.5, 0.8], 10)
    y = np.concatenate([np.arange(10) < 10 * p for p in (0.1, 0.3, 0.5, 0.8)])
    assert_allclose(PlattScaling().fit(proba, y).transform(proba)[:, 1], proba)
    z = np.log(proba / (1 - proba))
    repaired = PlattScaling().fit(expit(4 * z + 1), y).transform(expit(4 * z + 1))
    assert_allclose(repaired[:, 1], proba, rtol=1e-6)


def test_W8_reversed_scores_give_the_base_rate_and_a_warning():
    z, y = events()
    with pytest.warns(UserWarning, match="rank the labels in reverse, so PlattScaling"):
        recalibrator = fitted(-z, y)
    assert_allclose(recalibrator.transform(-z)[:, 1], y.mean())
    turned = fitted(-z, y, allow_reversed=True)
    assert_allclose(turned.coef_, -fitted(z, y).coef_)
    assert_allclose(turned.transform(-z), fitted(z, y).transform(z))


def test_C4_constant_score_gives_the_base_rate():
    recalibrator = PlattScaling().fit(np.full(100, 0.3), np.arange(100) % 4 == 0)
    assert_allclose(recalibrator.transform([0.3])[:, 1], 0.25)


@pytest.mark.parametrize("reverse", [False, True])
def test_separable(reverse):
    z = np.linspace(-3, 3, 40) + 1
    y = (z > 2).astype(int)
    recalibrator = fitted(-z if reverse else z, y, allow_reversed=reverse)
    repaired = recalibrator.transform(-z if reverse else z)
    assert len(np.unique(repaired[:, 1])) == 40
    assert log_loss(repaired, y) < log_loss(softmax(np.stack([0 * z, z], 1), 1), y)
    assert abs(recalibrator.coef_[0]) == pytest.approx(5.0)
    smooth = fitted(z, y, label_smoothing="platt").transform(z)
    assert 1e-4 < smooth[:, 1].min() < smooth[:, 1].max() < 0.999


def test_C3_two_rows():
    repaired = PlattScaling().fit([0.0, 1.0], [0, 1]).transform([0.0, 1.0])
    assert_allclose(repaired[:, 1], [0, 1], atol=1e-10)


@pytest.mark.parametrize("n_samples", [6, 12, 50])
def test_never_worse_than_the_identity(n_samples):
    for seed in range(30):
        z, y = events(n_samples, 1.0, 0.0, seed)
        recalibrator = fitted(z, y) if z @ (y - y.mean()) > 0 else None
        if recalibrator is not None:
            identity = loss([1.0, 0.0], z, y)
            assert log_loss(recalibrator.transform(z), y) <= identity * (1 + 1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_are_repetitions(n_classes):
    logits, y = draw(n_classes, 80)
    weight, many, labels = repeated(logits, y)
    for smoothing in (None, "platt"):
        one, two = (
            PlattScaling(
                label_smoothing=smoothing, input="logits", labels=np.arange(n_classes)
            )
            for _ in range(2)
        )
        one.fit(logits, y, sample_weight=weight)
        two.fit(many, labels)
        assert_allclose(one.coef_, two.coef_, rtol=1e-9)
        assert_allclose(one.intercept_, two.intercept_, rtol=1e-8, atol=1e-9)


def test_C2_unseen_class_keeps_its_share():
    assert_allclose(
        PlattScaling(labels=[0, 1]).fit([0.2, 0.4], [0, 0]).transform([0.7])[:, 1], 0.7
    )
    logits, y = draw(3)
    proba = softmax(logits, axis=1)
    recalibrator = PlattScaling(labels=[0, 1, 2]).fit(proba[y != 2], y[y != 2])
    assert recalibrator.coef_.shape == (3,)
    assert (recalibrator.coef_[2], recalibrator.intercept_[2]) == (1.0, 0.0)


@pytest.mark.parametrize("size", [50.0, 100.0, 5000.0])
def test_extreme_logits(size):
    z, y = events(60, 1.0)
    z *= size / np.abs(z).max()
    recalibrator = fitted(z, y)
    best = long_run(lambda x: loss(x * [1 / size, 1], z, y), [np.zeros(2)])
    assert log_loss(recalibrator.transform(z), y) <= best * (1 + 1e-8)
