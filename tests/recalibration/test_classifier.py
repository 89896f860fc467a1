import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_blobs, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

from skcal.recalibration._beta import BetaCalibration
from skcal.recalibration._classifier import RecalibratedClassifierCV
from skcal.recalibration._matrix import MatrixScaling
from skcal.recalibration._platt import PlattScaling
from skcal.recalibration._quadratic import QuadraticScaling
from skcal.recalibration._temperature import TemperatureScaling
from skcal.recalibration._transformer import ProbabilityTransformer
from tests.common_checks import IdentityRecalibrator
from tests.recalibration.test_transformer import Memory, Recorder


@pytest.fixture
def data():
    return make_classification(
        n_samples=200, n_redundant=10, flip_y=0.2, random_state=0
    )


@pytest.fixture
def three():
    return make_classification(
        n_samples=200, n_informative=5, n_classes=3, flip_y=0.2, random_state=0
    )


# What is fitted to what ---------------------------------------------------------------


def test_ensemble_of_pairs(data):
    X, y = data
    model = RecalibratedClassifierCV(
        GaussianNB(), recalibrator=TemperatureScaling(), cv=4
    ).fit(X, y)
    probas = []
    for (train, test), pair in zip(
        StratifiedKFold(4).split(X, y), model.calibrated_classifiers_, strict=True
    ):
        classifier = GaussianNB().fit(X[train], y[train])
        recalibrator = TemperatureScaling().fit(
            classifier.predict_proba(X[test]), y[test]
        )
        assert pair.recalibrator.temperature_ == recalibrator.temperature_
        probas.append(recalibrator.predict_proba(classifier.predict_proba(X)))
        assert_array_equal(pair.predict_proba(X), probas[-1])
    assert_allclose(model.predict_proba(X), np.mean(probas, axis=0))
    assert_array_equal(model.predict(X), np.mean(probas, axis=0).argmax(axis=1))


def test_one_recalibrator_for_all_folds(data):
    X, y = data
    model = RecalibratedClassifierCV(
        GaussianNB(), recalibrator=TemperatureScaling(), ensemble=False
    ).fit(X, y)
    (pair,) = model.calibrated_classifiers_
    held_out = cross_val_predict(GaussianNB(), X, y, method="predict_proba")
    expected = TemperatureScaling().fit(held_out, y)
    assert_allclose(pair.recalibrator.temperature_, expected.temperature_)
    on_all = GaussianNB().fit(X, y).predict_proba(X)
    assert_allclose(model.predict_proba(X), expected.predict_proba(on_all))


@pytest.mark.parametrize("ensemble", [True, False])
def test_no_leak(data, ensemble):
    """The recalibrator never sees a probability of a row its model was trained on."""
    X, y = data
    X = np.column_stack([np.arange(len(y)), X])
    model = RecalibratedClassifierCV(
        Memory(), recalibrator=Recorder(), ensemble=ensemble
    )
    for pair in model.fit(X, y).calibrated_classifiers_:
        assert_array_equal(pair.recalibrator.seen_, 0.5)
    assert len(pair.recalibrator.seen_) == (40 if ensemble else 200)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_decision_function_is_read_as_logits(data, three, n_classes):
    X, y = data if n_classes == 2 else three
    classifier = RidgeClassifier().fit(X[:100], y[:100])
    logits = classifier.decision_function(X[100:])
    frozen = FrozenEstimator(classifier)
    model = RecalibratedClassifierCV(frozen, recalibrator=TemperatureScaling())
    model.fit(X[100:], y[100:])
    expected = TemperatureScaling(input="logits").fit(logits, y[100:])
    recalibrator = model.calibrated_classifiers_[0].recalibrator
    assert recalibrator.temperature_ == expected.temperature_
    assert recalibrator.input == "logits"
    assert_array_equal(model.predict_proba(X[100:]), expected.predict_proba(logits))
    # One that does not know logits is given their probabilities.
    model.set_params(recalibrator=LogisticRegression()).fit(X[100:], y[100:])
    proba = softmax(logits, axis=1) if n_classes == 3 else None
    if n_classes == 2:
        proba = np.column_stack([expit(-logits), expit(logits)])
    expected = LogisticRegression().fit(proba, y[100:]).predict_proba(proba)
    assert_allclose(model.predict_proba(X[100:]), expected)


def test_probabilities_are_preferred_and_the_scale_is_not_guessed(data):
    X, y = data
    recalibrator = TemperatureScaling(input="logits")
    model = RecalibratedClassifierCV(LogisticRegression(), recalibrator=recalibrator)
    model.fit(X, y)
    assert model.calibrated_classifiers_[0].recalibrator.input == "proba"
    assert recalibrator.input == "logits"


def test_calibrated_model_is_left_alone_by_either_route():
    """Finding: scikit-learn's temperature of a calibrated binary model is 0.5 or 1."""
    rng = np.random.default_rng(0)
    X = 2 * rng.normal(size=(20_000, 1))
    y = (rng.uniform(size=20_000) < expit(X[:, 0])).astype(int)

    class Sigmoid(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

    class ByProba(Sigmoid):
        def predict_proba(self, X):
            return np.hstack([expit(-X), expit(X)])

    class ByDecision(Sigmoid):
        def decision_function(self, X):
            return X[:, 0]

    for classifier in (ByProba(), ByDecision()):
        model = RecalibratedClassifierCV(classifier, recalibrator=TemperatureScaling())
        for pair in model.fit(X, y).calibrated_classifiers_:
            assert_allclose(pair.recalibrator.temperature_, 1, atol=0.1)
        assert_allclose(model.predict_proba(X)[:, 1], expit(X[:, 0]), atol=0.02)


def test_defaults(data, three):
    model = RecalibratedClassifierCV().fit(*data)
    assert len(model.calibrated_classifiers_) == 5
    for pair in model.calibrated_classifiers_:
        assert isinstance(pair.estimator, LinearSVC)
        assert isinstance(pair.recalibrator, QuadraticScaling)
    model = RecalibratedClassifierCV(GaussianNB()).fit(*three)
    assert isinstance(model.calibrated_classifiers_[0].recalibrator, MatrixScaling)


def test_helps_an_overconfident_classifier():
    X, y = make_classification(n_samples=3000, n_redundant=15, random_state=0)
    raw = GaussianNB().fit(X[:2000], y[:2000])
    model = RecalibratedClassifierCV(GaussianNB()).fit(X[:2000], y[:2000])
    theirs = CalibratedClassifierCV(GaussianNB()).fit(X[:2000], y[:2000])
    loss = log_loss(y[2000:], model.predict_proba(X[2000:]))
    assert loss < 0.6 * log_loss(y[2000:], raw.predict_proba(X[2000:]))
    assert loss < log_loss(y[2000:], theirs.predict_proba(X[2000:]))


def test_i4_any_object_recalibrates(data):
    """Not a scikit-learn estimator: fit and predict_proba are enough."""

    class Shrink:
        def fit(self, proba, y):
            self.rate = y.mean()
            return self

        def predict_proba(self, proba):
            return 0.5 * proba + 0.5 * np.array([1 - self.rate, self.rate])

    X, y = data
    model = RecalibratedClassifierCV(GaussianNB(), recalibrator=Shrink()).fit(X, y)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    with pytest.raises(ValueError, match=r"Shrink\.fit does not take sample_weight"):
        model.fit(X, y, sample_weight=np.ones(len(y)))


# Frozen classifiers -------------------------------------------------------------------


def test_i4_frozen(data):
    X, y = data
    trained = GaussianNB().fit(X[:100], y[:100])
    frozen = FrozenEstimator(trained)
    model = RecalibratedClassifierCV(frozen, recalibrator=TemperatureScaling())
    model.fit(X[100:], y[100:])
    (pair,) = model.calibrated_classifiers_
    assert pair.estimator is frozen
    expected = TemperatureScaling().fit(trained.predict_proba(X[100:]), y[100:])
    assert pair.recalibrator.temperature_ == expected.temperature_
    # Asked for, there is a recalibrator per fold.
    model.set_params(ensemble=True).fit(X[100:], y[100:])
    assert len(model.calibrated_classifiers_) == 5
    # Cloning, as in a search, keeps it frozen.
    search = GridSearchCV(
        RecalibratedClassifierCV(frozen, recalibrator=PlattScaling()),
        {"recalibrator__label_smoothing": [None, "platt"]},
        scoring="neg_log_loss",
        error_score="raise",
    )
    assert np.isfinite(search.fit(X[100:], y[100:]).best_score_)


def test_frozen_ignores_cv_and_rare_classes(three):
    X, y = three
    frozen = FrozenEstimator(GaussianNB().fit(X, y))
    rows = np.r_[0:50, np.flatnonzero(y == 2)[:1]]
    model = RecalibratedClassifierCV(frozen, cv=10).fit(X[rows], y[rows])
    assert len(model.calibrated_classifiers_) == 1


def test_frozen_and_unfitted():
    model = RecalibratedClassifierCV(FrozenEstimator(GaussianNB()))
    with pytest.raises(sklearn.exceptions.NotFittedError):
        model.fit([[0.0], [1.0]], [0, 1])


def test_c2_frozen_knows_more_classes(three):
    """A frozen three-class model, and rows of two classes to recalibrate with."""
    X, y = three
    names = np.array(["a", "b", "c"])
    frozen = FrozenEstimator(GaussianNB().fit(X, names[y]))
    few = y < 2
    model = RecalibratedClassifierCV(frozen, recalibrator=TemperatureScaling())
    model.fit(X[few], names[y[few]])
    assert_array_equal(model.classes_, names)
    assert model.predict_proba(X).shape == (200, 3)
    assert np.all(model.predict_proba(X) > 0)


def test_c2_frozen_knows_fewer_classes(three):
    X, y = three
    frozen = FrozenEstimator(GaussianNB().fit(X[y < 2], y[y < 2]))
    with pytest.raises(ValueError, match=r"does not know: \[2\]. It knows \[0, 1\]"):
        RecalibratedClassifierCV(frozen).fit(X, y)


# Folds --------------------------------------------------------------------------------


def test_w10_twelve_sorted_rows():
    """Each fold's classifier lacks a class, and each test fold has only that class."""
    X = np.random.default_rng(0).normal(size=(12, 2))
    y = np.repeat([0, 1, 2], 4)
    for recalibrator in (TemperatureScaling(), PlattScaling(), None):
        for ensemble in (True, False):
            model = RecalibratedClassifierCV(
                GaussianNB(), recalibrator=recalibrator, cv=KFold(3), ensemble=ensemble
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                proba = model.fit(X, y).predict_proba(X)
            assert proba.shape == (12, 3)
            assert_allclose(proba.sum(axis=1), 1)
            assert proba.min() > 0
    # No fold can teach a recalibrator, so all share one.
    model = RecalibratedClassifierCV(GaussianNB(), recalibrator=Recorder(), cv=KFold(3))
    model.fit(X, y)
    seen = {id(pair.recalibrator) for pair in model.calibrated_classifiers_}
    assert len(seen) == 1
    assert len(model.calibrated_classifiers_[0].recalibrator.seen_) == 12


def test_w10_classifiers_abstain_on_classes_they_lack():
    """A class that only one group has keeps the probability that others give it."""
    rng = np.random.default_rng(0)
    X, y = make_blobs([150, 150, 60], 2, random_state=0)
    groups = rng.integers(0, 3, 360)
    groups[y == 2] = 3
    model = RecalibratedClassifierCV(
        GaussianNB(), recalibrator=IdentityRecalibrator(), cv=GroupKFold(4)
    ).fit(X, y, groups=groups)
    proba = model.predict_proba(X)
    knows = [pair for pair in model.calibrated_classifiers_ if pair.known.all()]
    assert len(knows) == 3
    expected = np.mean([pair.predict_proba(X) for pair in knows], axis=0)
    assert_allclose(proba[:, 2], expected[:, 2])
    assert_allclose(proba.sum(axis=1), 1)
    # The plain average is too low by the fold that does not know the class.
    pairs = model.calibrated_classifiers_
    plain = np.mean([pair.predict_proba(X) for pair in pairs], axis=0)
    assert_allclose(plain[y == 2, 2].mean() / proba[y == 2, 2].mean(), 0.75, atol=0.01)


def test_rare_class_has_one_row(data):
    X, y = data
    y = y.copy()
    y[0] = 2
    with pytest.warns(UserWarning, match="least populated class"):
        model = RecalibratedClassifierCV(GaussianNB()).fit(X, y)
    proba = model.predict_proba(X)
    assert proba.shape == (200, 3)
    assert_allclose(proba.sum(axis=1), 1)


@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize(
    "cv",
    [
        3,
        None,
        StratifiedKFold(3, shuffle=True, random_state=0),
        RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
        TimeSeriesSplit(3),
        list(KFold(3).split(np.zeros(200))),
    ],
    ids=lambda cv: type(cv).__name__,
)
def test_cv_forms(data, cv, ensemble):
    X, y = data
    model = RecalibratedClassifierCV(GaussianNB(), cv=cv, ensemble=ensemble).fit(X, y)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    n_folds = sklearn.model_selection.check_cv(cv).get_n_splits()
    assert len(model.calibrated_classifiers_) == (n_folds if ensemble else 1)


@pytest.mark.parametrize("ensemble", [True, False])
def test_leave_one_out_is_as_good_as_n_folds(data, ensemble):
    X, y = data[0][:30], data[1][:30]
    probas = [
        RecalibratedClassifierCV(GaussianNB(), cv=cv, ensemble=ensemble)
        .fit(X, y)
        .predict_proba(X)
        for cv in (LeaveOneOut(), KFold(30))
    ]
    assert_array_equal(*probas)


def test_rows_held_out_several_times_count_once(data):
    X, y = data
    folds = list(KFold(4).split(X))
    once = RecalibratedClassifierCV(GaussianNB(), cv=folds, ensemble=False).fit(X, y)
    twice = clone(once).set_params(cv=folds + folds).fit(X, y)
    assert_allclose(once.predict_proba(X), twice.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("ensemble", [True, False])
def test_i7_groups(data, routing, ensemble):
    X, y = data
    groups = np.arange(len(y)) % 7
    folds = list(GroupKFold(3).split(X, y, groups))
    expected = RecalibratedClassifierCV(GaussianNB(), cv=folds, ensemble=ensemble)
    expected.fit(X, y)
    with sklearn.config_context(enable_metadata_routing=routing):
        model = RecalibratedClassifierCV(
            GaussianNB(), cv=GroupKFold(3), ensemble=ensemble
        )
        model.fit(X, y, groups=groups)
    assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


def test_i7_groups_in_a_search(data):
    """With routing, outer and inner splitter get the groups."""
    X, y = data
    groups = np.arange(len(y)) % 7
    with sklearn.config_context(enable_metadata_routing=True):
        model = RecalibratedClassifierCV(GaussianNB(), cv=GroupKFold(3))
        scores = cross_val_score(
            model,
            X,
            y,
            cv=GroupKFold(2),
            params={"groups": groups},
            error_score="raise",
        )
    assert np.isfinite(scores).all()


# Weights ------------------------------------------------------------------------------


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("ensemble", [True, False])
def test_w11_weights_reach_classifier_and_recalibrator(routing, ensemble):
    X, y = make_blobs([200, 40], cluster_std=2.0, random_state=0)
    weight = 1.0 + 8.0 * y
    folds = list(StratifiedKFold(4).split(X, y))
    with sklearn.config_context(enable_metadata_routing=routing):
        classifier = LogisticRegression()
        if routing:
            classifier.set_fit_request(sample_weight=True)
        model = RecalibratedClassifierCV(
            classifier, recalibrator=Recorder(), cv=folds, ensemble=ensemble
        ).fit(X, y, sample_weight=weight)
    for (train, test), pair in zip(
        folds if ensemble else [(slice(None), np.concatenate([t for _, t in folds]))],
        model.calibrated_classifiers_,
        strict=True,
    ):
        expected = LogisticRegression().fit(X[train], y[train], weight[train])
        assert_array_equal(pair.estimator.coef_, expected.coef_)
        assert_array_equal(pair.recalibrator.weight_, weight[test])


def test_w11_weights_that_the_classifier_cannot_take(data):
    X, y = data
    weight = np.ones(len(y))
    model = RecalibratedClassifierCV(KNeighborsClassifier())
    with pytest.raises(ValueError, match=r"KNeighborsClassifier\.fit does not take"):
        model.fit(X, y, sample_weight=weight)
    # A pipeline says how to weight its steps, and then both stages are weighted.
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    model = RecalibratedClassifierCV(pipeline, recalibrator=Recorder())
    with pytest.raises(ValueError, match="logisticregression__sample_weight"):
        model.fit(X, y, sample_weight=weight)
    weight = 1.0 + y
    model.fit(X, y, sample_weight=weight, logisticregression__sample_weight=weight)
    train, test = next(iter(StratifiedKFold(5).split(X, y)))
    expected = clone(pipeline).fit(
        X[train], y[train], logisticregression__sample_weight=weight[train]
    )
    pair = model.calibrated_classifiers_[0]
    assert_array_equal(pair.estimator[-1].coef_, expected[-1].coef_)
    assert_array_equal(pair.recalibrator.weight_, weight[test])


def test_w11_weights_of_the_recalibration_alone_are_asked_for(data):
    X, y = data
    weight = 1.0 + y
    with sklearn.config_context(enable_metadata_routing=True):
        model = RecalibratedClassifierCV(
            KNeighborsClassifier(), recalibrator=Recorder()
        )
        model.fit(X, y, sample_weight=weight)
        assert model.calibrated_classifiers_[0].recalibrator.weight_ is not None
        unset = RecalibratedClassifierCV(LogisticRegression())
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            unset.fit(X, y, sample_weight=weight)


def test_w11_frozen_takes_weights_for_the_recalibrator(data):
    X, y = data
    frozen = FrozenEstimator(KNeighborsClassifier().fit(X, y))
    model = RecalibratedClassifierCV(frozen, recalibrator=Recorder())
    model.fit(X, y, sample_weight=1.0 + y)
    assert_array_equal(model.calibrated_classifiers_[0].recalibrator.weight_, 1.0 + y)


def test_weights_of_zero_in_a_whole_fold(data):
    X, y = data
    weight = np.ones(200)
    weight[:40] = 0.0
    model = RecalibratedClassifierCV(GaussianNB(), recalibrator=Recorder(), cv=KFold(5))
    model.fit(X, y, sample_weight=weight)
    # The first fold's rows do not count, so its pair has a recalibrator of all rows.
    first, second, *_ = model.calibrated_classifiers_
    assert len(first.recalibrator.seen_) == 200
    assert len(second.recalibrator.seen_) == 40


# Input of all kinds -------------------------------------------------------------------


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_data_frames_and_string_labels(data, frame):
    X, y = data
    names = [f"x{j}" for j in range(X.shape[1])]
    labels = np.array(["no", "yes"])[y]
    X_frame, y_frame = (
        pd.DataFrame(X, columns=names),
        pd.Series(labels, dtype="category"),
    )
    if frame == "polars":
        X_frame, y_frame = pl.DataFrame(X, schema=names), pl.Series(labels.tolist())
    expected = RecalibratedClassifierCV(GaussianNB()).fit(X, y)
    for ensemble in (True, False):
        expected.set_params(ensemble=ensemble).fit(X, y)
        model = clone(expected).fit(X_frame, y_frame)
        assert_allclose(model.predict_proba(X_frame), expected.predict_proba(X))
        assert_array_equal(model.classes_, ["no", "yes"])
        # scikit-learn 1.6 does not see the names of a polars 2 data frame.
        inner = GaussianNB().fit(X_frame, y)
        if hasattr(inner, "feature_names_in_"):
            assert_array_equal(model.feature_names_in_, names)
        assert model.n_features_in_ == len(names)
        assert set(model.predict(X_frame)) == {"no", "yes"}
        assert model.score(X_frame, labels) == expected.score(X, y)


@pytest.mark.parametrize("dtype", [object, "str", "category"])
@pytest.mark.parametrize(
    "model",
    [RecalibratedClassifierCV(GaussianNB()), ProbabilityTransformer(GaussianNB())],
)
def test_missing_label(data, model, dtype):
    X, y = data
    y = pd.Series(np.where(y == y[0], "a", "b")).where(np.arange(len(y)) != 3)
    with pytest.raises(ValueError, match=r"missing labels: 1 of .* at row 3\. Drop"):
        model.fit(X, y.astype(dtype))


def test_class_in_place_of_an_instance(data):
    X, y = data
    model = RecalibratedClassifierCV(GaussianNB(), recalibrator=BetaCalibration)
    with pytest.raises(ValueError, match=r"is a class. Pass .*: BetaCalibration\(\)"):
        model.fit(X, y)


@pytest.mark.parametrize("ensemble", [True, False])
def test_no_folds(data, ensemble):
    model = RecalibratedClassifierCV(GaussianNB(), cv=[], ensemble=ensemble)
    with pytest.raises(ValueError, match="cv gives no folds"):
        model.fit(*data)


@pytest.mark.parametrize(
    "container", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array]
)
def test_sparse(data, container):
    X, y = data
    dense = RecalibratedClassifierCV(LogisticRegression(tol=1e-8)).fit(X, y)
    model = clone(dense).fit(container(X), y)
    assert_allclose(
        model.predict_proba(container(X)), dense.predict_proba(X), atol=1e-5
    )


def test_i5_text():
    X = ["good film", "bad film", "good plot", "bad plot"] * 10
    y = [1, 0, 1, 0] * 10
    pipeline = make_pipeline(CountVectorizer(), LogisticRegression(C=0.1))
    model = RecalibratedClassifierCV(pipeline, cv=2).fit(X, y)
    assert model.predict(["good", "bad"]).tolist() == [1, 0]
    assert not hasattr(model, "n_features_in_")


def test_i5_categories_and_missing_values(data):
    X, y = data
    frame = pd.DataFrame(
        {"number": X[:, 0], "word": np.where(X[:, 1] > 0, "up", "down")}
    )
    frame.loc[::7, "number"] = np.nan
    encode = make_column_transformer(
        (OneHotEncoder(), ["word"]), remainder="passthrough"
    )
    pipeline = make_pipeline(encode, HistGradientBoostingClassifier(max_iter=5))
    model = RecalibratedClassifierCV(pipeline, cv=2).fit(frame, y)
    assert_allclose(model.predict_proba(frame).sum(axis=1), 1)
    assert_array_equal(model.feature_names_in_, ["number", "word"])


def test_tags_are_those_of_the_classifier():
    def tags(classifier):
        return sklearn.utils.get_tags(RecalibratedClassifierCV(classifier)).input_tags

    assert tags(HistGradientBoostingClassifier()).allow_nan
    assert not tags(GaussianNB()).allow_nan
    assert tags(LogisticRegression()).sparse
    assert not tags(GaussianNB()).sparse
    assert tags(SVC(kernel="precomputed")).pairwise


def test_precomputed_kernel(data):
    X, y = data
    kernel = X @ X.T
    of_kernel = RecalibratedClassifierCV(SVC(kernel="precomputed"), ensemble=False)
    of_features = RecalibratedClassifierCV(SVC(kernel="linear"), ensemble=False)
    assert_allclose(
        of_kernel.fit(kernel, y).predict_proba(kernel),
        of_features.fit(X, y).predict_proba(X),
        rtol=1e-4,
    )


def test_one_class():
    with pytest.raises(
        ValueError, match=r"at least two classes. y has one class: \[3\]"
    ):
        RecalibratedClassifierCV(GaussianNB()).fit(np.eye(4), [3, 3, 3, 3])


def test_wrong_lengths(data):
    X, y = data
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        RecalibratedClassifierCV(GaussianNB()).fit(X, y[:-1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        RecalibratedClassifierCV(GaussianNB()).fit(X, y, sample_weight=y[:-1])


# As a scikit-learn citizen ------------------------------------------------------------


@pytest.mark.parametrize("scoring", ["neg_log_loss", "neg_brier_score"])
def test_i1_search_over_recalibrators_and_their_parameters(data, scoring):
    X, y = data
    search = GridSearchCV(
        RecalibratedClassifierCV(GaussianNB(), cv=2),
        [
            {"recalibrator": [TemperatureScaling(), None], "ensemble": [True, False]},
            {
                "recalibrator": [TemperatureScaling()],
                "recalibrator__label_smoothing": [0.01, 0.5],
                "estimator__var_smoothing": [1e-9, 1e-2],
            },
        ],
        scoring=scoring,
        cv=2,
        error_score="raise",
    ).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert len(search.cv_results_["params"]) == 8


def test_i3_refit_is_a_fresh_fit(data, three):
    X, y = data
    model = RecalibratedClassifierCV(GaussianNB()).fit(
        pd.DataFrame(X).add_prefix("x"), y
    )
    first = RecalibratedClassifierCV(GaussianNB()).fit(*three).predict_proba(three[0])
    assert_array_equal(model.fit(*three).predict_proba(three[0]), first)
    assert not hasattr(model, "feature_names_in_")
    assert not hasattr(model.estimator, "classes_")


def test_i13_fitted_members_are_reachable(data):
    X, y = data
    model = RecalibratedClassifierCV(RandomForestClassifier(5, random_state=0)).fit(
        X, y
    )
    importances = [
        pair.estimator.feature_importances_ for pair in model.calibrated_classifiers_
    ]
    assert np.shape(importances) == (5, X.shape[1])
    assert all(p.recalibrator.coef_ is not None for p in model.calibrated_classifiers_)


def test_i16_labels_and_lists_survive(data):
    X, y = data
    labels = np.array(["no", "yes"], dtype=object)[y]
    model = RecalibratedClassifierCV(GaussianNB()).fit(X.tolist(), labels.tolist())
    assert model.classes_.tolist() == ["no", "yes"]
    assert set(model.predict(X.tolist())) == {"no", "yes"}


def test_deterministic_and_independent_of_n_jobs(data):
    X, y = data
    one = RecalibratedClassifierCV(GaussianNB()).fit(X, y).predict_proba(X)
    with joblib.parallel_config(backend="threading"):
        two = RecalibratedClassifierCV(GaussianNB(), n_jobs=2).fit(X, y)
    assert_array_equal(two.predict_proba(X), one)


def test_pickle(data):
    X, y = data
    model = RecalibratedClassifierCV(GaussianNB()).fit(X, y)
    dumped = pickle.dumps(model)
    assert_array_equal(pickle.loads(dumped).predict_proba(X), model.predict_proba(X))
    many = RecalibratedClassifierCV(GaussianNB()).fit(
        np.tile(X, (10, 1)), np.tile(y, 10)
    )
    assert len(pickle.dumps(many)) < 1.2 * len(dumped)
