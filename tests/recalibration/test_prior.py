"""PriorCorrection: Bayes' rule, estimated priors, unseen classes, bad arguments."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax

from skcal.recalibration._prior import PriorCorrection
from tests.recalibration.fits import draw, identity_loss, log_loss, long_run, repeated


def test_F9_bayes_rule():
    proba = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    new, old = np.array([0.7, 0.2, 0.1]), np.array([0.2, 0.3, 0.5])
    recalibrator = PriorCorrection(prior=new, train_prior=5 * old)
    recalibrator.set_params(labels=["a", "b", "c"]).fit(proba, ["a", "b"])
    repaired = recalibrator.transform(proba)
    expected = proba * new / old
    assert_allclose(repaired, expected / expected.sum(axis=1, keepdims=True))
    assert_allclose(recalibrator.train_prior_, old)
    named = PriorCorrection(
        prior={"a": 0.7, "b": 0.2, "c": 0.1},
        train_prior={"b": 0.3, "c": 0.5, "a": 0.2},
        labels=["a", "b", "c"],
    ).fit(proba, ["a", "b"])
    assert_allclose(named.transform(proba), repaired)


@pytest.mark.parametrize("train_prior", ["balanced", None])
def test_F9_undersampling_is_undone(train_prior):
    # Scores of a model trained on equal numbers; the rare class is one in 21.
    rng = np.random.default_rng(0)
    n = 40_000
    y = (rng.uniform(size=n) < 1 / 21).astype(int)
    x = rng.normal(size=n) + 2 * y
    balanced = 1 / (1 + np.exp(-2 * (x - 1)))
    truth = 1 / (1 + 20 * np.exp(-2 * (x - 1)))
    recalibrator = PriorCorrection(train_prior=train_prior).fit(balanced, y)
    assert_allclose(recalibrator.train_prior_, 0.5, atol=0.02)
    assert_allclose(recalibrator.transform(balanced)[:, 1], truth, atol=0.02)


def test_target_prior_with_the_sample_as_training_prior():
    logits, y = draw(3, 500, temperature=1.0)
    proba = softmax(logits, axis=1)
    observed = np.bincount(y) / 500
    recalibrator = PriorCorrection(prior="balanced", train_prior="observed")
    expected = proba / observed
    expected /= expected.sum(axis=1, keepdims=True)
    assert_allclose(recalibrator.fit(proba, y).transform(proba), expected)


@pytest.mark.parametrize("n_classes", [2, 3, 8])
def test_estimated_prior_is_the_optimum(n_classes):
    logits, y = draw(n_classes, 400)
    logits = logits + np.arange(n_classes)
    recalibrator = PriorCorrection(input="logits").fit(logits, y)
    repaired = recalibrator.transform(logits)
    assert_allclose(repaired.mean(axis=0), recalibrator.prior_, rtol=1e-8)

    def loss(shift):
        return log_loss(softmax(logits + np.append(shift, 0.0), axis=1), y)

    best = long_run(loss, [np.zeros(n_classes - 1)])
    assert log_loss(repaired, y) <= best * (1 + 1e-8)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_never_worse_than_the_identity(n_classes):
    for seed in range(20):
        logits, y = draw(n_classes, 12, seed=seed)
        repaired = PriorCorrection(input="logits").fit(logits, y).transform(logits)
        assert log_loss(repaired, y) <= identity_loss(logits, y) * (1 + 1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_are_repetitions(n_classes):
    logits, y = draw(n_classes, 80)
    weight, many, labels = repeated(logits, y)
    classes = np.arange(n_classes)
    one, two = (PriorCorrection(input="logits", labels=classes) for _ in range(2))
    one.fit(logits, y, sample_weight=weight)
    two.fit(many, labels)
    assert_allclose(one.prior_, two.prior_)
    assert_allclose(one.train_prior_, two.train_prior_, rtol=1e-8)


@pytest.mark.parametrize("train_prior", [None, "balanced", "observed", [1, 1, 2]])
def test_C2_unseen_class_keeps_its_share(train_prior):
    logits, y = draw(3)
    proba = softmax(logits, axis=1)
    recalibrator = PriorCorrection(train_prior=train_prior, labels=[0, 1, 2])
    repaired = recalibrator.fit(proba[y != 2], y[y != 2]).transform(proba)
    assert_allclose(repaired[:, 2], proba[:, 2])
    assert_allclose(repaired.sum(axis=1), 1)
    one = PriorCorrection(labels=[0, 1]).fit([0.2, 0.3], [1, 1])
    assert_allclose(one.transform([0.4]), [[0.6, 0.4]])


def test_class_that_cannot_happen():
    recalibrator = PriorCorrection(prior=[1, 1, 0], train_prior="balanced")
    proba = np.full((3, 3), 1 / 3)
    repaired = recalibrator.fit(proba, [0, 1, 2]).transform(proba)
    assert_allclose(repaired, [[0.5, 0.5, 0]] * 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"prior": [0.5, 0.5]}, "prior must hold 3 frequencies"),
        ({"prior": [0.5, 0.6, -0.1]}, "prior must hold 3 frequencies"),
        ({"prior": [0, 0, 0]}, "not all zero"),
        ({"train_prior": [1, np.nan, 1]}, "train_prior must hold 3 frequencies"),
        ({"train_prior": [1, 0, 1]}, "train_prior must be positive"),
        ({"prior": {0: 0.5, 1: 0.5}}, "prior must have the classes"),
        ({"prior": {0: 1, 1: 1, 2: 1, 3: 1}}, "prior must have the classes"),
    ],
)
def test_bad_priors(arguments, message):
    with pytest.raises(ValueError, match=message):
        PriorCorrection(**arguments).fit(np.full((3, 3), 1 / 3), [0, 1, 2])


@pytest.mark.parametrize("size", [100.0, 3000.0])
def test_extreme_logits(size):
    logits, y = draw(3, 50)
    recalibrator = PriorCorrection(input="logits").fit(size * logits, y)
    assert np.isfinite(recalibrator.transform(size * logits)).all()
