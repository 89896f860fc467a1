"""QuadraticScaling: optimum, monotonicity, safety on few rows."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, softmax

from skcal.recalibration._quadratic import QuadraticScaling
from tests.recalibration.fits import draw, log_loss, long_run, repeated, slope_at


def events(n_samples=500, bend=0.05, seed=0, scale=2.0, centre=0.0):
    rng = np.random.default_rng(seed)
    z = centre + scale * rng.normal(size=n_samples)
    y = (rng.uniform(size=n_samples) < expit(0.6 * z + bend * z * z)).astype(int)
    y[:2] = [0, 1]
    return z, y


def fitted(z, y, weight=None, **kwargs):
    recalibrator = QuadraticScaling(input="logits", labels=[0, 1], **kwargs)
    return recalibrator.fit(z, y, sample_weight=weight)


def log_odds_of(x, z):
    c, b, below, above = x
    low, high = np.minimum(z, 0), np.maximum(z, 0)
    return c + b * z - below * low**2 + above * high**2


def objective(x, z, y, penalty=1.0):
    c, b, below, above = x
    log_odds = log_odds_of(x, z)
    loss = np.mean(np.logaddexp(0, log_odds) - y * log_odds)
    s = np.sqrt(np.mean(z * z))
    away = c**2 + (b - 1) ** 2 + 0.5 * s**4 * (below**2 + above**2)
    return loss + 0.5 * penalty * away / len(z)


def parameters_of(recalibrator):
    return np.append(recalibrator.intercept_, recalibrator.coef_[0])


@pytest.mark.parametrize("penalty", [0.0, 1.0, 10.0])
@pytest.mark.parametrize("centre", [0.0, -3.0])
def test_optimum(penalty, centre):
    z, y = events(centre=centre)
    found = parameters_of(fitted(z, y, penalty=penalty, monotonic=False))
    best = long_run(
        lambda x: objective(x, z, y, penalty), [np.zeros(4), np.array([0, 1, 0.0, 0])]
    )
    assert objective(found, z, y, penalty) <= best * (1 + 1e-8)
    assert slope_at(lambda x: objective(x, z, y, penalty), found) < 1e-7


@pytest.mark.parametrize("bend", [0.3, -0.3, 0.05])
def test_optimum_of_monotonic_maps(bend):
    z, y = events(bend=bend)
    found = parameters_of(fitted(z, y))
    low, high = -z.min(), z.max()

    def of_slopes(x):
        c, at_low, at_zero, at_high = x
        below = 0.5 * (at_low - at_zero) / low
        return objective([c, at_zero, below, 0.5 * (at_high - at_zero) / high], z, y)

    bounds = [(None, None)] + [(0, None)] * 3
    best = long_run(of_slopes, [np.ones(4), np.full(4, 0.1)], bounds)
    assert objective(found, z, y) <= best * (1 + 1e-8)


@pytest.mark.parametrize("bend", [1.0, -1.0, 0.0])
@pytest.mark.parametrize("centre", [0.0, -9.0, 9.0])
def test_monotonic(bend, centre):
    z, y = events(200, bend, centre=centre)
    grid = np.linspace(-60, 60, 2001)
    try:
        repaired = fitted(z, y).transform(grid)[:, 1]
    except UserWarning:
        return
    assert (np.diff(repaired) >= -1e-15).all()


def test_may_turn_around_where_asked():
    z, y = events(3000, 1.0)
    repaired = fitted(z, y, monotonic=False).transform(np.array([-4.0, -0.3, 4.0]))
    assert repaired[1, 1] < repaired[0, 1]


def test_straight_beyond_the_training_scores():
    z, y = events()
    recalibrator = fitted(z, y)
    far = z.max() + np.array([0.0, 1.0, 2.0])
    proba = recalibrator.transform(far)[:, 1]
    log_odds = np.log(proba / (1 - proba))
    assert_allclose(np.diff(log_odds, 2), 0, atol=1e-6)


@pytest.mark.parametrize("n_samples", [4, 10, 30])
def test_never_worse_than_the_identity_on_its_rows(n_samples):
    for seed in range(30):
        z, y = events(n_samples, seed=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # some are reversed
            repaired = fitted(z, y).transform(z)
        identity = np.mean(np.logaddexp(0, z) - y * z)
        assert log_loss(repaired, y) <= identity * (1 + 1e-12)


def test_safe_on_ten_rows():
    # On average over small samples of calibrated scores it does little harm.
    harm = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=510)
        y = (rng.uniform(size=510) < expit(z)).astype(int)
        y[:2] = [0, 1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # some are reversed
            repaired = fitted(z[:10], y[:10]).transform(z[10:])
        identity = softmax(np.stack([0 * z, z], axis=1), axis=1)[10:]
        harm.append(log_loss(repaired, y[10:]) - log_loss(identity, y[10:]))
    assert np.mean(harm) < 0.12


def test_separable_reversed_constant_and_extreme():
    z = np.linspace(-3, 3, 30)
    assert np.isfinite(fitted(z, (z > 0.5).astype(int)).transform(z)).all()
    with pytest.warns(UserWarning, match="reverse, so QuadraticScaling"):
        recalibrator = fitted(-100 * z, (z > 0.5).astype(int))
    assert_allclose(recalibrator.transform(z)[:, 1], np.mean(z > 0.5))
    recalibrator = QuadraticScaling().fit(np.full(100, 0.3), np.arange(100) % 4 == 0)
    assert_allclose(recalibrator.transform([0.3])[:, 1], 0.25)
    for size in (100.0, 5000.0):
        z, y = events(60, 0.0)
        repaired = fitted(size * z, y).transform(size * z)
        assert np.isfinite(repaired).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_are_repetitions(n_classes):
    logits, y = draw(n_classes, 90)
    weight, many, labels = repeated(logits, y)
    one, two = (
        QuadraticScaling(input="logits", labels=np.arange(n_classes)) for _ in range(2)
    )
    one.fit(logits, y, sample_weight=weight)
    two.fit(many, labels)
    assert_allclose(one.coef_, two.coef_, rtol=1e-8, atol=1e-9)
    assert_allclose(one.transform(logits), two.transform(logits), rtol=1e-8)


def test_labels_may_be_swapped():
    z, y = events()
    one = fitted(z, y).transform(z)
    two = fitted(-z, 1 - y).transform(-z)
    assert_allclose(one, two[:, ::-1], rtol=1e-7)


def test_unseen_class():
    logits, y = draw(3)
    proba = softmax(logits, axis=1)[y != 2]
    recalibrator = QuadraticScaling(labels=[0, 1, 2]).fit(proba, y[y != 2])
    assert_allclose(recalibrator.coef_[2], [1, 0, 0])
