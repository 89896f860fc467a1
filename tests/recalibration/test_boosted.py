import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from catboost import CatBoost, Pool
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, log_softmax, logit, softmax
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from skcal.recalibration._boosted import (
    BoostedTemperatureScaling,
    StepFunction,
    _boosted,
    _mean,
    _residual,
)
from skcal.recalibration._crossfit import canonical_folds
from skcal.recalibration._matrix import MatrixScaling
from skcal.recalibration._quadratic import QuadraticScaling
from skcal.recalibration._temperature import TemperatureScaling
from tests.common_checks import IdentityRecalibrator


def wiggly(n_samples, seed=0):
    """Logits of two classes that no line, parabola or temperature repairs."""
    rng = np.random.default_rng(seed)
    z = 2.0 * rng.normal(size=n_samples)
    truth = expit(0.7 * z + 0.6 * np.sin(2.0 * z))
    return z, (rng.uniform(size=n_samples) < truth).astype(int), truth


def calibrated(n_samples, seed=0):
    rng = np.random.default_rng(seed)
    z = 2.0 * rng.normal(size=n_samples)
    return z, (rng.uniform(size=n_samples) < expit(z)).astype(int), expit(z)


def three_classes(n_samples, seed=0):
    rng = np.random.default_rng(seed)
    logits = 2.0 * rng.normal(size=(n_samples, 3))
    truth = 0.7 * logits
    truth[:, 0] += 0.9 * np.tanh(2.0 * (logits[:, 1] - logits[:, 0]))
    truth = softmax(truth, axis=1)
    y = (rng.uniform(size=(n_samples, 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return logits, y, truth


def excess(truth, proba):
    """Expected log loss beyond that of the truth."""
    if truth.ndim == 1:
        truth, proba = np.column_stack([1 - truth, truth]), proba
    return np.mean(np.sum(truth * np.log(truth / proba), axis=1))


# Held-out quality ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "simple"), [(wiggly, QuadraticScaling), (three_classes, MatrixScaling)]
)
def test_repairs_what_simple_recalibrators_cannot(make, simple):
    scores, y, _ = make(4000)
    new, _, truth = make(20_000, seed=1)
    boosted = BoostedTemperatureScaling(input="logits").fit(scores, y).transform(new)
    linear = simple(input="logits").fit(scores, y).transform(new)
    assert excess(truth, boosted) < 0.5 * excess(truth, linear)


@pytest.mark.parametrize("n_samples", [300, 3000])
def test_does_little_to_calibrated_probabilities(n_samples):
    """Few parameters' worth of overfitting: n times the excess is 1/2 for each."""
    costs = []
    for seed in range(5):
        z, y, _ = calibrated(n_samples, seed)
        new, _, truth = calibrated(20_000, seed=100)
        boosted = BoostedTemperatureScaling(input="logits").fit(z, y).transform(new)
        costs.append(n_samples * excess(truth, boosted))
    assert np.mean(costs) < 5.0


def test_final_step_is_fitted_to_held_out_logits():
    """No leak: each row's logits for the last step come from models without the row."""

    class Recorder(IdentityRecalibrator):
        def fit(self, proba, y, sample_weight=None):
            self.seen_, self.y_ = np.asarray(proba), np.asarray(y)
            return super().fit(proba, y, sample_weight)

    z, y, _ = wiggly(500)
    model = BoostedTemperatureScaling(input="logits", final=Recorder(), cv=4).fit(z, y)
    folds = canonical_folds(
        z[:, np.newaxis], y, np.ones(500), n_splits=4, random_state=0
    )
    scaled = base_logits(model, z, y)[:, np.newaxis]
    seen = []
    for train, test in folds:
        learned = CatBoost(model._catboost_parameters(2)).fit(
            Pool(np.float32(z[train, np.newaxis]), y[train], baseline=scaled[train])
        )
        residual = learned.predict(
            np.float32(z[test, np.newaxis]), prediction_type="RawFormulaVal"
        )
        seen.append(scaled[test, 0] + residual)
    assert_allclose(model.final_.seen_[:, 0], np.concatenate(seen), rtol=1e-12)
    assert_array_equal(model.final_.y_, y[np.concatenate([test for _, test in folds])])


def test_prediction_is_temperature_and_mean_residual_and_final_step():
    z, y, _ = wiggly(500)
    model = BoostedTemperatureScaling(input="logits").fit(z, y)
    assert (
        model.temperature_ == TemperatureScaling(input="logits").fit(z, y).temperature_
    )
    logits = base_logits(model, z, y) + model.residual_.predict(z)
    assert isinstance(model.final_, QuadraticScaling)
    last = model.final_.transform(logits)[:, 1]
    assert_allclose(model.transform(z)[:, 1], (500 * last + y.mean()) / 501)
    plain = BoostedTemperatureScaling(input="logits", final=None).fit(z, y)
    assert plain.final_ is None
    assert_allclose(plain.transform(z)[:, 1], (500 * expit(logits) + y.mean()) / 501)


def base_logits(model, z, y):
    """Temperature scaling, with the class frequencies as one more row."""
    n = len(y)
    return logit((n * expit(z / model.temperature_) + y.mean()) / (n + 1))


def test_no_surer_than_the_rows_can_tell():
    z = np.repeat([-60.0, 60.0], 500)
    y = (z > 0).astype(int)
    model = BoostedTemperatureScaling(input="logits").fit(z, y)
    low, high = model.transform([-60.0, 60.0])[:, 1]
    assert 0.4 / 1001 < low < 1 / 1001
    assert 0.4 / 1001 < 1 - high < 1 / 1001
    # One wrong certainty of many costs what it should, and the others pay little.
    y[-1] = 0
    loss = -np.log(model.fit(z, y).transform(z)[np.arange(1000), y])
    assert loss.mean() < 0.015


def test_multiclass_residual_is_the_mean_of_the_models():
    logits, y, _ = three_classes(500)
    model = BoostedTemperatureScaling(input="logits", final=None, cv=3).fit(logits, y)
    centred = logits - logits.mean(axis=1, keepdims=True)
    folds = canonical_folds(centred, y, np.ones(500), n_splits=3, random_state=0)
    frequencies = np.bincount(y) / 500
    base = softmax(centred / model.temperature_, axis=1)
    base = np.log((500 * base + frequencies) / 501)
    base -= base.mean(axis=1, keepdims=True)
    expected = base
    for train, _ in folds:
        learned = _boosted(
            centred[train],
            base[train],
            y[train],
            np.ones(len(train)),
            model._catboost_parameters(3),
        )
        expected = expected + _residual(learned, centred) / 3
    expected = (500 * softmax(expected, axis=1) + frequencies) / 501
    assert_allclose(model.transform(logits), expected)


# The step function --------------------------------------------------------------------


def test_step_function_equals_catboost():
    z, y, _ = wiggly(2000)
    column = np.float32(z[:, np.newaxis])
    parameters = BoostedTemperatureScaling(iterations=30)._catboost_parameters(2)
    learned = CatBoost(parameters).fit(Pool(column, y, baseline=z))
    column64 = z[:, np.newaxis]
    steps = _boosted(column64, column64, y, np.ones(2000), parameters)
    edges = steps.thresholds
    for points in (
        column[:, 0],
        edges,
        np.nextafter(edges, np.float32(np.inf)),
        np.nextafter(edges, np.float32(-np.inf)),
        np.float32([-1e30, 1e30]),
    ):
        expected = learned.predict(
            points[:, np.newaxis], prediction_type="RawFormulaVal"
        )
        assert_array_equal(steps.predict(points), expected)


def test_mean_of_step_functions():
    one = StepFunction(np.float32([0.0, 2.0]), np.array([1.0, 2.0, 3.0]))
    two = StepFunction(np.float32([1.0]), np.array([10.0, 20.0]))
    mean = _mean([one, None, two])
    points = np.array([-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0])
    assert_allclose(3 * mean.predict(points), one.predict(points) + two.predict(points))
    assert_array_equal(one.predict(points), [1, 1, 2, 2, 2, 2, 3])
    assert _mean([None, None]) is None


# Manners ------------------------------------------------------------------------------


def test_writes_and_prints_nothing(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    logits, y, _ = three_classes(100)
    BoostedTemperatureScaling(input="logits").fit(logits, y).transform(logits)
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []
    BoostedTemperatureScaling(input="logits", verbose=1, cv=2).fit(logits, y)
    assert "learn" in capfd.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_import_does_not_load_catboost():
    code = "import sys, skcal.recalibration; sys.exit('catboost' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("make", [wiggly, three_classes])
def test_f12_reproducible_for_any_n_jobs_and_order_of_rows(make):
    scores, y, _ = make(300)
    weight = np.random.default_rng(1).integers(1, 4, 300)
    model = BoostedTemperatureScaling(input="logits").fit(scores, y, weight)
    expected = model.transform(scores)
    assert_array_equal(clone(model).fit(scores, y, weight).transform(scores), expected)
    parallel = clone(model).set_params(n_jobs=2)
    assert_array_equal(parallel.fit(scores, y, weight).transform(scores), expected)
    order = np.random.default_rng(0).permutation(300)
    shuffled = clone(model).fit(scores[order], y[order], weight[order])
    assert_allclose(shuffled.transform(scores), expected, rtol=1e-12)
    reseeded = clone(model).set_params(random_state=1).fit(scores, y, weight)
    assert not np.array_equal(reseeded.transform(scores), expected)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_w11_trees_count_weights_as_repetitions(n_classes):
    scores, y, _ = wiggly(300) if n_classes == 2 else three_classes(300)
    features = scores.reshape(300, -1)
    parameters = BoostedTemperatureScaling()._catboost_parameters(n_classes)

    def learned(rows, weight):
        model = _boosted(features[rows], features[rows], y[rows], weight, parameters)
        return _residual(model, features)

    # CatBoost's own result changes with the scale of weights.
    rows = np.arange(300)
    thrice = learned(np.repeat(rows, 3), np.ones(900))
    assert_allclose(learned(rows, np.full(300, 3.0)), thrice, rtol=1e-5)
    assert np.abs(thrice - learned(rows, np.ones(300))).max() > 0.01


def test_w11_weights_count():
    z, y, _ = wiggly(2000)
    z, y = np.concatenate([z, z]), np.concatenate([y, 1 - y])
    weight = np.repeat([1.0, 1e-9], 2000)
    model = BoostedTemperatureScaling(input="logits")
    weighted = model.fit(z, y, weight).transform(z)
    first = model.fit(z[:2000], y[:2000]).transform(z)
    # Not equal, as trees split between unweighted quantiles.
    assert_allclose(weighted, first, atol=0.1)


@pytest.mark.parametrize("make", [wiggly, three_classes])
def test_w11_weights_that_sum_to_one_do_no_harm(make):
    """They stand for little evidence, so temperature scaling is about what is left."""
    scores, y, truth = make(2000)
    weight = np.full(2000, 1.0 / 2000)
    boosted = BoostedTemperatureScaling(input="logits").fit(scores, y, weight)
    tempered = TemperatureScaling(input="logits").fit(scores, y, weight)
    cost = excess(truth, tempered.transform(scores))
    assert excess(truth, boosted.transform(scores)) <= cost + 2.0 / 2000


@pytest.mark.parametrize("make", [wiggly, three_classes])
def test_small_pickle(make):
    scores, y, _ = make(3000)
    model = BoostedTemperatureScaling(input="logits").fit(scores, y)
    assert len(pickle.dumps(model)) < (4000 if make is wiggly else 200_000)
    restored = pickle.loads(pickle.dumps(model))
    assert_array_equal(restored.transform(scores), model.transform(scores))


def test_i1_search_over_its_parameters():
    z, y, _ = wiggly(200)
    search = GridSearchCV(
        BoostedTemperatureScaling(cv=2, iterations=2),
        {"depth": [1, 3], "final": [None, "auto", TemperatureScaling()]},
        scoring="neg_log_loss",
        cv=2,
        error_score="raise",
    ).fit(expit(z), y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


# Odd data -----------------------------------------------------------------------------


def test_reversed_scores():
    """Temperature scaling gives up on them; trees and the last step need not."""
    z, y, truth = wiggly(4000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BoostedTemperatureScaling(input="logits").fit(-z, y)
    assert model.temperature_ == np.inf
    repaired = model.transform(-z)
    assert np.isfinite(repaired).all()
    constant = np.column_stack([1 - truth.mean() + 0 * truth, truth.mean() + 0 * truth])
    assert excess(truth, repaired) <= excess(truth, constant)


@pytest.mark.parametrize("n_samples", [1, 2, 3, 10])
def test_few_rows(n_samples):
    z = np.linspace(-1, 1, n_samples)
    y = np.arange(n_samples) % 2
    model = BoostedTemperatureScaling(input="logits", labels=[0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        proba = model.fit(z, y).transform(np.linspace(-9, 9, 5))
    assert np.isfinite(proba).all()
    assert_allclose(proba.sum(axis=1), 1)


def test_rare_class_missing_from_training_folds():
    """One row of class 1: the model of its fold has one class to train on."""
    z, y = np.linspace(-2, 2, 50), np.zeros(50, dtype=int)
    y[-1] = 1
    model = BoostedTemperatureScaling(input="logits").fit(z, y)
    assert np.isfinite(model.transform(z)).all()


def test_w10_class_missing_from_a_training_fold(capfd):
    """One row of class 2 of three: CatBoost is not told of it in its own fold."""
    logits, y, _ = three_classes(100)
    y = np.where(y == 2, 0, y)
    y[7] = 2
    model = BoostedTemperatureScaling(input="logits").fit(logits, y)
    proba = model.transform(logits)
    assert_allclose(proba.sum(axis=1), 1)
    assert 0.001 < proba[:, 2].mean() < 0.05
    assert capfd.readouterr() == ("", "")


def test_c2_unseen_class_keeps_its_probability():
    logits, y, _ = three_classes(300)
    kept = y != 1
    model = BoostedTemperatureScaling(input="logits", labels=[0, 1, 2])
    model.fit(logits[kept], y[kept])
    repaired = model.transform(logits)
    assert_allclose(repaired[:, 1], softmax(logits, axis=1)[:, 1])
    # The others are repaired as two classes are.
    pair = BoostedTemperatureScaling(input="logits")
    pair.fit(logits[kept][:, [0, 2]], y[kept])
    share = repaired[:, [0, 2]] / repaired[:, [0, 2]].sum(axis=1, keepdims=True)
    assert_allclose(share, pair.transform(logits[:, [0, 2]]))


def test_constant_scores():
    y = np.repeat([0, 1], [30, 10])
    model = BoostedTemperatureScaling().fit(np.full(40, 0.5), y)
    assert model.residual_ is None
    assert_allclose(model.transform([0.5]), [[0.75, 0.25]], atol=0.01)


def test_extreme_logits_lose_nothing():
    """Logits of +-100 stay apart: probabilities would both be 1."""
    z = np.r_[np.full(200, 60.0), np.full(200, 100.0), -np.full(400, 80.0)]
    y = np.r_[np.arange(200) % 2, np.arange(200) % 20 > 0, np.arange(400) % 4 == 0]
    model = BoostedTemperatureScaling(input="logits").fit(z, y.astype(int))
    low, high = model.transform([60.0, 100.0])[:, 1]
    assert 0.4 < low < high < 1.0
    log_proba = log_softmax(np.column_stack([np.zeros(800), z]), axis=1)
    assert np.isfinite(log_proba).all()
    assert np.isfinite(logit(model.transform([60.0, 100.0])[:, 1])).all()
