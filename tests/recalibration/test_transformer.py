import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from skcal.recalibration._transformer import ProbabilityTransformer
from tests.common_checks import IdentityRecalibrator


class Memory(ClassifierMixin, BaseEstimator):
    """Knows the label of each row that it was trained on, and says 1/k elsewhere."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.label_ = dict(zip(np.asarray(X)[:, 0].tolist(), y.tolist(), strict=True))
        return self

    def predict_proba(self, X):
        k = len(self.classes_)
        proba = np.full((len(X), k), 1.0 / k)
        for row, value in enumerate(np.asarray(X)[:, 0].tolist()):
            if value in self.label_:
                proba[row] = self.classes_ == self.label_[value]
        return proba


class Recorder(IdentityRecalibrator):
    """An identity that remembers the probabilities it was fitted to."""

    def fit(self, proba, y, sample_weight=None):
        self.seen_ = np.asarray(proba)
        self.weight_ = sample_weight
        return super().fit(proba, y, sample_weight)


@pytest.fixture
def data():
    return make_classification(n_samples=120, random_state=0)


def three_classes(n_samples=120):
    return make_classification(
        n_samples=n_samples, n_informative=5, n_classes=3, random_state=0
    )


def test_recalibrator_never_sees_a_probability_of_a_training_point(data):
    X, y = data
    X = np.column_stack([np.arange(len(y)), X])
    pipeline = make_pipeline(ProbabilityTransformer(Memory(), cv=5), Recorder())
    pipeline.fit(X, y)
    assert_array_equal(pipeline[-1].seen_, np.full((len(y), 2), 0.5))
    # Afterwards the classifier is the one that was trained on all rows.
    assert_array_equal(pipeline.predict_proba(X)[:, 1].round(9), y)


def test_equals_cross_val_predict(data):
    X, y = data
    transformer = ProbabilityTransformer(GaussianNB(), cv=4)
    expected = cross_val_predict(GaussianNB(), X, y, cv=4, method="predict_proba")
    assert_array_equal(transformer.fit_transform(X, y), expected)
    on_all = GaussianNB().fit(X, y).predict_proba(X)
    assert_array_equal(transformer.transform(X), on_all)
    assert_array_equal(clone(transformer).fit(X, y).transform(X), on_all)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_decision_function(data, n_classes):
    X, y = data if n_classes == 2 else three_classes()
    expected = cross_val_predict(RidgeClassifier(), X, y, method="decision_function")
    raw = ProbabilityTransformer(RidgeClassifier(), method="decision_function")
    assert_array_equal(raw.fit_transform(X, y), expected.reshape(len(y), -1))
    # "auto" reads it as logits.
    proba = ProbabilityTransformer(RidgeClassifier()).fit_transform(X, y)
    if n_classes == 2:
        assert_allclose(proba[:, 1], expit(expected))
        assert raw.get_feature_names_out().tolist() == ["probabilitytransformer_1"]
    else:
        assert_allclose(proba, softmax(expected, axis=1))
    assert_allclose(proba.sum(axis=1), 1)


def test_auto_prefers_probabilities(data):
    X, y = data
    auto = ProbabilityTransformer(LogisticRegression()).fit_transform(X, y)
    named = ProbabilityTransformer(LogisticRegression(), method="predict_proba")
    assert_array_equal(auto, named.fit_transform(X, y))
    missing = ProbabilityTransformer(RidgeClassifier(), method="predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        missing.fit(X, y)


def test_frozen_classifier_is_used_as_it_is(data):
    X, y = data
    trained = GaussianNB().fit(X[:60], y[:60])
    transformer = ProbabilityTransformer(FrozenEstimator(trained))
    assert_array_equal(
        transformer.fit_transform(X[60:], y[60:]), trained.predict_proba(X[60:])
    )


@pytest.mark.parametrize(
    "cv", [KFold(3), StratifiedKFold(3, shuffle=True, random_state=0), 3, None, "list"]
)
def test_cv_forms(data, cv):
    X, y = data
    if cv == "list":
        cv = list(KFold(3).split(X))
    scores = ProbabilityTransformer(GaussianNB(), cv=cv).fit_transform(X, y)
    expected = cross_val_predict(GaussianNB(), X, y, cv=cv, method="predict_proba")
    assert_array_equal(scores, expected)


def test_boolean_masks_are_folds(data):
    X, y = data
    first = np.arange(len(y)) < 60
    masks = [(first, ~first), (~first, first)]
    indices = [(np.flatnonzero(a), np.flatnonzero(b)) for a, b in masks]
    of_masks = ProbabilityTransformer(GaussianNB(), cv=masks).fit_transform(X, y)
    of_indices = ProbabilityTransformer(GaussianNB(), cv=indices).fit_transform(X, y)
    assert_array_equal(of_masks, of_indices)


def test_folds_must_be_a_partition(data):
    X, y = data
    cv = ShuffleSplit(3, random_state=0)
    with pytest.raises(ValueError, match="each row exactly once"):
        ProbabilityTransformer(GaussianNB(), cv=cv).fit_transform(X, y)


@pytest.mark.parametrize("routing", [False, True])
def test_i7_groups(data, routing):
    X, y = data
    groups = np.arange(len(y)) % 6
    cv = GroupKFold(3)
    expected = cross_val_predict(
        GaussianNB(), X, y, cv=list(cv.split(X, y, groups)), method="predict_proba"
    )
    with sklearn.config_context(enable_metadata_routing=routing):
        transformer = ProbabilityTransformer(GaussianNB(), cv=cv)
        assert_array_equal(transformer.fit_transform(X, y, groups=groups), expected)
        pipeline = make_pipeline(transformer, Recorder())
        name = "groups" if routing else "probabilitytransformer__groups"
        pipeline.fit(X, y, **{name: groups})
        assert_array_equal(pipeline[-1].seen_, expected)


@pytest.mark.parametrize("routing", [False, True])
def test_w11_weights_reach_every_fit(data, routing):
    X, y = data
    weight = 1.0 + 8.0 * y
    with sklearn.config_context(enable_metadata_routing=routing):
        classifier = LogisticRegression()
        if routing:
            classifier.set_fit_request(sample_weight=True)
        transformer = ProbabilityTransformer(classifier, cv=4)
        scores = transformer.fit_transform(X, y, sample_weight=weight)
        everywhere = transformer.transform(X)
    for train, test in StratifiedKFold(4).split(X, y):
        fitted = LogisticRegression().fit(X[train], y[train], weight[train])
        assert_array_equal(scores[test], fitted.predict_proba(X[test]))
    fitted = LogisticRegression().fit(X, y, weight)
    assert_array_equal(everywhere, fitted.predict_proba(X))


def test_i5_rows_of_any_kind():
    """X is not validated: whatever the classifier takes is indexed by row."""

    class Length(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            assert isinstance(X, list)
            self.classes_ = np.unique(y)
            return self

        def predict_proba(self, X):
            p = np.array([1 / (1 + len(text["words"])) for text in X])
            return np.column_stack([p, 1 - p])

    X = [{"words": "word " * n} for n in range(20)]
    y = np.arange(20) % 2
    scores = ProbabilityTransformer(Length()).fit_transform(X, y)
    assert_allclose(scores[:, 0], 1 / (1 + 5 * np.arange(20)))


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_data_frames_and_string_labels(data, frame):
    X, y = data
    names = [f"x{j}" for j in range(X.shape[1])]
    labels = np.array(["no", "yes"])[y]
    X_frame, y_frame = pd.DataFrame(X, columns=names), pd.Series(labels)
    if frame == "polars":
        X_frame, y_frame = pl.DataFrame(X, schema=names), pl.Series(labels.tolist())
    transformer = ProbabilityTransformer(GaussianNB()).set_output(transform=frame)
    scores = transformer.fit_transform(X_frame, y_frame)
    expected = ProbabilityTransformer(GaussianNB()).fit_transform(X, y)
    assert list(scores.columns) == [
        "probabilitytransformer_no",
        "probabilitytransformer_yes",
    ]
    assert_allclose(scores.to_numpy(), expected)
    # scikit-learn 1.6 does not see the names of a polars 2 data frame.
    inner = GaussianNB().fit(X_frame, y)
    if hasattr(inner, "feature_names_in_"):
        assert_array_equal(transformer.feature_names_in_, names)
    assert_array_equal(transformer.classes_, ["no", "yes"])


def test_precomputed_kernel(data):
    X, y = data
    kernel = X @ X.T
    of_kernel = ProbabilityTransformer(SVC(kernel="precomputed"), cv=3)
    of_features = ProbabilityTransformer(SVC(kernel="linear"), cv=3)
    assert_allclose(
        of_kernel.fit_transform(kernel, y), of_features.fit_transform(X, y), rtol=1e-6
    )


def test_result_does_not_depend_on_n_jobs(data):
    X, y = data
    one = ProbabilityTransformer(GaussianNB(), n_jobs=1).fit_transform(X, y)
    with joblib.parallel_config(backend="threading"):
        two = ProbabilityTransformer(GaussianNB(), n_jobs=2).fit_transform(X, y)
    assert_array_equal(one, two)


def test_refit_forgets_feature_names(data):
    X, y = data
    transformer = ProbabilityTransformer(GaussianNB())
    transformer.fit(pd.DataFrame(X).add_prefix("x"), y)
    assert not hasattr(transformer.fit(X, y), "feature_names_in_")


def test_float32_stays():
    X, y = make_classification(random_state=0)
    scores = ProbabilityTransformer(LogisticRegression()).fit_transform(
        X.astype(np.float32), y
    )
    assert (
        scores.dtype
        == LogisticRegression()
        .fit(X.astype(np.float32), y)
        .predict_proba(X.astype(np.float32))
        .dtype
    )
