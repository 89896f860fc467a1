import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV

from skcal.recalibration._crossfit import canonical_folds
from skcal.recalibration._isotonic import IsotonicCalibration
from skcal.recalibration._matrix import MatrixScaling
from skcal.recalibration._platt import PlattScaling
from skcal.recalibration._quadratic import QuadraticScaling
from skcal.recalibration._stacked import (
    StackedRecalibrator,
    blend_weights,
    default_recalibrators,
)
from skcal.recalibration._temperature import TemperatureScaling
from tests.common_checks import IdentityRecalibrator
from tests.recalibration.test_boosted import (
    calibrated,
    excess,
    three_classes,
    wiggly,
)


@pytest.mark.parametrize("method", ["blend", "choose"])
@pytest.mark.parametrize("make", [wiggly, three_classes])
def test_losses_are_those_of_held_out_rows(make, method):
    scores, y, _ = make(400)
    recalibrators = [TemperatureScaling(), IsotonicCalibration(centered=True)]
    model = StackedRecalibrator(recalibrators, method=method, cv=4, input="logits")
    model.fit(scores, y)
    columns = scores
    if make is wiggly:
        columns = np.column_stack([-scores / 2, scores / 2])
    expected = np.zeros(2)
    for train, test in canonical_folds(
        columns, y, np.ones(400), n_splits=4, random_state=0
    ):
        for j, recalibrator in enumerate(recalibrators):
            fitted = clone(recalibrator).set_params(input="logits")
            proba = fitted.fit(scores[train], y[train]).predict_proba(scores[test])
            expected[j] += log_loss(y[test], proba, normalize=False) / 400
    assert_allclose(model.cv_losses_, expected, rtol=1e-9)


def test_choose_takes_the_best_and_fits_it_to_all_rows():
    z, y, _ = calibrated(2000)
    z = np.where(z > 0, 3.0 * z, z)
    recalibrators = [TemperatureScaling(), QuadraticScaling(), PlattScaling()]
    model = StackedRecalibrator(recalibrators, method="choose", input="logits")
    model.fit(z, y)
    best = int(model.cv_losses_.argmin())
    assert best == 1
    assert_array_equal(model.weights_, [0, 1, 0])
    assert [r is None for r in model.recalibrators_] == [True, False, True]
    expected = QuadraticScaling(input="logits").fit(z, y)
    assert_allclose(model.transform(z), expected.transform(z), rtol=1e-9)
    # What was given is not touched.
    assert not hasattr(recalibrators[1], "coef_")
    assert recalibrators[1].input == "proba"


def test_blend_is_the_weighted_mean():
    z, y, _ = wiggly(2000)
    model = StackedRecalibrator(input="logits").fit(z, y)
    assert_allclose(model.weights_.sum(), 1)
    assert model.weights_.min() > 0
    expected = sum(
        weight * recalibrator.predict_proba(z)
        for weight, recalibrator in zip(
            model.weights_, model.recalibrators_, strict=True
        )
    )
    assert_allclose(model.transform(z), expected)


@pytest.mark.parametrize("make", [wiggly, calibrated, three_classes])
def test_no_worse_than_its_members_on_new_rows(make):
    scores, y, _ = make(1500)
    new, _, truth = make(20_000, seed=1)
    members = default_recalibrators(2 if scores.ndim == 1 else 3)
    with np.errstate(divide="ignore"):  # some say 0 of what happens: an infinite cost
        costs = [
            excess(
                truth, clone(m).set_params(input="logits").fit(scores, y).transform(new)
            )
            for m in members
        ]
    blend = StackedRecalibrator(input="logits").fit(scores, y)
    choice = StackedRecalibrator(method="choose", input="logits").fit(scores, y)
    # Two parameters' worth of leeway, 1 / n: members may be all but equal.
    assert excess(truth, choice.transform(new)) <= min(costs) + 1.0 / 1500
    assert excess(truth, blend.transform(new)) <= min(costs) + 1.0 / 1500


def test_no_leak():
    """A recalibrator that knows its training rows by heart gains nothing."""

    class Heart(IdentityRecalibrator):
        def fit(self, proba, y, sample_weight=None):
            super().fit(proba, y, sample_weight)
            known = np.asarray(proba)[:, -1]
            self.label_ = dict(zip(known.tolist(), self._codes(y), strict=True))
            return self

        def _codes(self, y):
            return np.searchsorted(self.classes_, y)

        def _apply_scores(self, scores):
            proba = np.full(scores.shape, 1.0 / scores.shape[1])
            for row, value in enumerate(scores[:, -1].tolist()):
                if value in self.label_:
                    proba[row] = np.arange(scores.shape[1]) == self.label_[value]
            return proba

    logits, y, _ = three_classes(200)
    model = StackedRecalibrator([Heart(), TemperatureScaling()], input="logits")
    model.fit(logits, y)
    assert_allclose(model.cv_losses_[0], np.log(3))
    assert model.weights_[1] > 0.8


def test_defaults():
    kinds = [type(r).__name__ for r in default_recalibrators(2)]
    assert "QuadraticScaling" in kinds
    kinds = [type(r) for r in default_recalibrators(5)]
    assert MatrixScaling in kinds


def test_recalibrators_from_elsewhere():
    """I4: they get probabilities, and need not know `labels`."""
    logits, y, _ = three_classes(300)
    names = np.array(["a", "b", "c"])
    model = StackedRecalibrator(
        [TemperatureScaling(), LogisticRegression()], method="blend", input="logits"
    ).fit(logits, names[y])
    fitted = LogisticRegression().fit(softmax(logits, axis=1), names[y])
    assert_allclose(model.recalibrators_[1].coef_, fitted.coef_, rtol=1e-4)
    assert_array_equal(model.recalibrators_[0].classes_, names)


# Weights of the blend -----------------------------------------------------------------


# SLSQP of older scipy versions says so of its own rounding.
@pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")
@pytest.mark.parametrize("seed", range(4))
def test_blend_weights_are_optimal(seed):
    rng = np.random.default_rng(seed)
    likelihood = rng.beta(1, 1, size=(300, 6)) ** (1 + seed)
    likelihood[:, 5] = 0.9 * likelihood[:, 0]
    share = rng.dirichlet(np.ones(300))
    weights = blend_weights(likelihood, share)
    assert_allclose(weights.sum(), 1)
    assert weights.min() >= 0

    def loss(w):
        return -share @ np.log(likelihood @ w)

    best = min(
        minimize(
            lambda w: loss(np.maximum(w, 0) / np.maximum(w, 0).sum()),
            rng.dirichlet(np.ones(6)),
            method="SLSQP",
            bounds=[(1e-9, 1)] * 6,
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
            options={"ftol": 1e-14, "maxiter": 1000},
        ).fun
        for _ in range(3)
    )
    assert loss(weights) <= best + 1e-8 * abs(best)
    # The certificate: no component's gain is above one.
    gain = share @ (likelihood / (likelihood @ weights)[:, np.newaxis])
    assert gain.max() <= 1 + 1e-9
    assert_allclose(gain[weights > 1e-6], 1, atol=1e-6)


def test_blend_weights_of_equal_or_hopeless_components():
    rng = np.random.default_rng(0)
    likelihood = np.repeat(rng.uniform(size=(100, 1)), 4, axis=1)
    assert_allclose(blend_weights(likelihood, np.full(100, 0.01)), 0.25)
    likelihood[:, 1:] = np.finfo(float).eps
    weights = blend_weights(likelihood, np.full(100, 0.01))
    assert_allclose(weights, [1, 0, 0, 0], atol=1e-12)
    assert_array_equal(blend_weights(likelihood[:, :1], np.full(100, 0.01)), [1])


# Manners ------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["blend", "choose"])
@pytest.mark.parametrize("make", [wiggly, three_classes])
def test_f12_reproducible_for_any_n_jobs_and_order_of_rows(make, method):
    scores, y, _ = make(200)
    weight = np.random.default_rng(1).integers(1, 4, 200)
    recalibrators = [TemperatureScaling(), IsotonicCalibration(centered=True)]
    model = StackedRecalibrator(recalibrators, method=method, input="logits")
    expected = model.fit(scores, y, weight).transform(scores)
    losses = model.cv_losses_
    assert_array_equal(clone(model).fit(scores, y, weight).transform(scores), expected)
    parallel = clone(model).set_params(n_jobs=2)
    assert_array_equal(parallel.fit(scores, y, weight).transform(scores), expected)
    order = np.random.default_rng(0).permutation(200)
    shuffled = clone(model).fit(scores[order], y[order], weight[order])
    assert_allclose(shuffled.transform(scores), expected, rtol=1e-9)
    assert not np.array_equal(
        model.set_params(random_state=1).fit(scores, y, weight).cv_losses_, losses
    )


def test_verbose(capsys):
    z, y, _ = wiggly(100)
    StackedRecalibrator([TemperatureScaling()], verbose=1, input="logits").fit(z, y)
    printed = capsys.readouterr().out
    assert printed.startswith("[StackedRecalibrator] TemperatureScaling(): log loss 0.")
    assert printed.endswith("weight 1.000\n")


def test_i1_search_over_its_parameters():
    z, y, _ = wiggly(200)
    search = GridSearchCV(
        StackedRecalibrator(cv=2),
        {
            "method": ["blend", "choose"],
            "recalibrators": [[TemperatureScaling()], (PlattScaling(),)],
        },
        scoring="neg_brier_score",
        cv=2,
        error_score="raise",
    ).fit(expit(z), y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_pickle():
    z, y, _ = wiggly(200)
    model = StackedRecalibrator([TemperatureScaling(), PlattScaling()]).fit(expit(z), y)
    restored = pickle.loads(pickle.dumps(model))
    assert_array_equal(restored.transform(expit(z)), model.transform(expit(z)))


def test_wrong_recalibrators():
    with pytest.raises(ValueError, match="must not be empty"):
        StackedRecalibrator([]).fit([0.2, 0.8], [0, 1])
    with pytest.raises(ValueError, match=r"with fit and predict_proba\. Got Isotonic"):
        StackedRecalibrator([IsotonicRegression()]).fit([0.2, 0.8], [0, 1])


@pytest.mark.parametrize("n_samples", [1, 2, 3, 10])
def test_few_rows(n_samples):
    z = np.linspace(-1, 1, n_samples)
    y = np.arange(n_samples) % 2
    model = StackedRecalibrator(input="logits", labels=[0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        proba = model.fit(z, y).transform(np.linspace(-9, 9, 5))
    assert np.isfinite(proba).all()
    assert_allclose(proba.sum(axis=1), 1)
    assert np.isfinite(model.cv_losses_).all()


def test_c2_class_missing_from_a_fold():
    """One row of class 2, so one fold's recalibrators are fitted without it."""
    logits, y, _ = three_classes(60)
    y = np.where(y == 2, 0, y)
    y[0] = 2
    model = StackedRecalibrator(input="logits").fit(logits, y)
    assert np.isfinite(model.cv_losses_).all()
    assert model.transform(logits).min() > 0
