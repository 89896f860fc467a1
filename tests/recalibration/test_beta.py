"""BetaCalibration: optimum under its signs, betacal, separable and constant scores."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, log_expit, logit, softmax

from skcal.recalibration._beta import BetaCalibration
from skcal.recalibration._platt import PlattScaling
from tests.recalibration.fits import draw, log_loss, long_run, repeated, slope_at

FORMS = ["abm", "am", "ab"]


def beta_scores(n_samples=500, shapes=((1, 2), (4, 1)), seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n_samples)
    y[:2] = [0, 1]
    low, high = shapes
    proba = np.where(y, rng.beta(*high, n_samples), rng.beta(*low, n_samples))
    return proba, y


def log_odds_of(parameters, form, z):
    log_p, log_q = log_expit(z), log_expit(-z)
    if form == "am":
        a, c = parameters
        return a * z + c
    if form == "ab":
        a, b = parameters
        return a * (log_p + np.log(2)) - b * (log_q + np.log(2))
    a, b, c = parameters
    return a * log_p - b * log_q + c


def loss(parameters, form, z, y):
    log_odds = log_odds_of(parameters, form, z)
    return np.mean(np.logaddexp(0, log_odds) - y * log_odds)


def parameters_of(recalibrator, form):
    (a, b), c = recalibrator.coef_[0], recalibrator.intercept_[0]
    return {"abm": [a, b, c], "am": [a, c], "ab": [a, b]}[form]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "shapes", [((1, 2), (4, 1)), ((0.3, 0.5), (0.6, 0.3)), ((20, 30), (30, 20))]
)
def test_optimum(form, shapes):
    proba, y = beta_scores(shapes=shapes)
    z = logit(proba)
    recalibrator = BetaCalibration(parameters=form).fit(proba, y)
    found = np.array(parameters_of(recalibrator, form))
    bounds = {"abm": [(0, None), (0, None), (None, None)], "am": [(0, None)] * 2}
    starts = [np.ones(len(found)), np.full(len(found), 0.1)]
    best = long_run(lambda x: loss(x, form, z, y), starts, bounds.get(form))
    if form == "am":
        best = long_run(lambda x: loss(x, form, z, y), starts)
    assert loss(found, form, z, y) <= best * (1 + 1e-8)
    if found[: len(found) - (form != "ab")].min() > 0:
        assert slope_at(lambda x: loss(x, form, z, y), found) < 1e-8


@pytest.mark.parametrize("form", FORMS)
def test_betacal(form):
    betacal = pytest.importorskip("betacal")
    proba, y = beta_scores(2000)
    peer = betacal.BetaCalibration(form).fit(proba.reshape(-1, 1), y)
    recalibrator = BetaCalibration(parameters=form).fit(proba, y)
    a, b, m = peer.calibrator_.map_
    (ours_a, ours_b), c = recalibrator.coef_[0], recalibrator.intercept_[0]
    # Its optimiser stops early.
    assert_allclose([ours_a, ours_b], [a, b], rtol=2e-3)
    assert_allclose(c, b * np.log(1 - m) - a * np.log(m), atol=2e-3)
    theirs = np.clip(peer.predict(proba.reshape(-1, 1)), 1e-16, 1)
    theirs = np.column_stack([1 - theirs, theirs])
    assert log_loss(recalibrator.transform(proba), y) <= log_loss(theirs, y) + 1e-12


def test_negative_parameter_is_left_out():
    # Below one half the frequency falls: a would be negative.
    z = np.linspace(-4, 4, 400)
    rng = np.random.default_rng(0)
    y = (rng.uniform(size=400) < expit(np.abs(z) - 0.2 * (z < 0) * z)).astype(int)
    recalibrator = BetaCalibration(input="logits").fit(z, y)
    a, b = recalibrator.coef_[0]
    assert a == 0.0
    assert b > 0
    best = long_run(lambda x: loss([0.0, *x], "abm", z, y), [np.zeros(2), np.ones(2)])
    assert loss(parameters_of(recalibrator, "abm"), "abm", z, y) <= best * (1 + 1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_W8_reversed_scores(form):
    proba, y = beta_scores(shapes=((2, 3), (3, 2)))
    with pytest.warns(UserWarning, match="reverse, so BetaCalibration"):
        recalibrator = BetaCalibration(parameters=form).fit(proba, 1 - y)
    constant = 0.5 if form == "ab" else 1 - y.mean()
    assert_allclose(recalibrator.transform(proba)[:, 1], constant)


def test_C4_constant_score_gives_the_base_rate():
    for form in ("abm", "am"):
        recalibrator = BetaCalibration(parameters=form)
        recalibrator.fit(np.full(100, 0.3), np.arange(100) % 4 == 0)
        assert_allclose(recalibrator.transform([0.3])[:, 1], 0.25)
    halved = BetaCalibration(parameters="ab").fit(np.full(100, 0.3), np.arange(100) % 2)
    assert_allclose(halved.transform([0.3])[:, 1], 0.5)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cut", [0.5, 0.7])
def test_separable(form, cut):
    proba = np.linspace(0.02, 0.99, 50)
    y = (proba > cut).astype(int)
    repaired = BetaCalibration(parameters=form).fit(proba, y).transform(proba)
    assert np.isfinite(repaired).all()
    assert (np.diff(repaired[:, 1]) >= 0).all()
    assert log_loss(repaired, y) <= log_loss(np.column_stack([1 - proba, proba]), y)


def test_C3_two_rows():
    for form in FORMS:
        recalibrator = BetaCalibration(parameters=form).fit([0.0, 1.0], [0, 1])
        repaired = recalibrator.transform([0.0, 1.0])
        assert_allclose(repaired[:, 1], [0, 1], atol=1e-10)


def test_am_is_platt_scaling():
    proba, y = beta_scores()
    one = BetaCalibration(parameters="am").fit(proba, y).transform(proba)
    assert_allclose(one, PlattScaling().fit(proba, y).transform(proba))


@pytest.mark.parametrize("form", FORMS)
def test_calibrated_scores_stay_and_never_worse(form):
    proba = np.repeat([0.1, 0.3, 0.5, 0.8], 10)
    y = np.concatenate([np.arange(10) < 10 * p for p in (0.1, 0.3, 0.5, 0.8)])
    recalibrator = BetaCalibration(parameters=form).fit(proba, y)
    assert_allclose(recalibrator.coef_, 1, rtol=1e-7)
    assert_allclose(recalibrator.transform(proba)[:, 1], proba, rtol=1e-7)
    for seed in range(20):
        proba, y = beta_scores(15, ((1, 2), (2, 1)), seed)
        repaired = BetaCalibration(parameters=form).fit(proba, y).transform(proba)
        identity = np.column_stack([1 - proba, proba])
        assert log_loss(repaired, y) <= log_loss(identity, y) * (1 + 1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("form", FORMS)
def test_weights_are_repetitions(n_classes, form):
    logits, y = draw(n_classes, 90)
    weight, many, labels = repeated(logits, y)
    one, two = (
        BetaCalibration(parameters=form, input="logits", labels=np.arange(n_classes))
        for _ in range(2)
    )
    one.fit(logits, y, sample_weight=weight)
    two.fit(many, labels)
    assert_allclose(one.coef_, two.coef_, rtol=1e-7, atol=1e-8)
    assert_allclose(one.intercept_, two.intercept_, rtol=1e-7, atol=1e-7)


def test_precise_for_large_logits():
    # log(p) = -100 and log(1 - p) = -100 are told from any clipped value.
    z = np.array([-100.0, -90, -3, -1, 1, 3, 90, 100] * 5)
    y = np.array([0, 0, 1, 0, 1, 0, 1, 1] * 5)
    y[[0, 7]] = [1, 0]
    recalibrator = BetaCalibration(input="logits").fit(z, y)
    found = parameters_of(recalibrator, "abm")
    starts = [np.array([0.1, 0.1, 0.0])]
    bounds = [(0, None), (0, None), (None, None)]
    best = long_run(lambda x: loss(x, "abm", z, y), starts, bounds)
    assert loss(found, "abm", z, y) <= best * (1 + 1e-8)
    repaired = recalibrator.transform([-100.0, -90.0])[:, 1]
    assert repaired[0] < repaired[1]


def test_unseen_class_keeps_its_map():
    logits, y = draw(3)
    proba = softmax(logits, axis=1)[y != 2]
    recalibrator = BetaCalibration(labels=[0, 1, 2]).fit(proba, y[y != 2])
    assert_allclose(recalibrator.coef_[2], 1)
