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

from skcal.recalibration._crossfit import (
    FoldModel,
    ProbabilityTransformer,
    apply_recalibrator,
    canonical_folds,
    fit_recalibrator,
)
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


# ProbabilityTransformer ---------------------------------------------------------------


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


def test_w10_class_missing_from_training_folds():
    """Twelve sorted rows and KFold(3): each fold's classifier lacks a class."""
    X = np.random.default_rng(0).normal(size=(12, 2))
    y = np.repeat(["a", "b", "c"], 4)
    scores = ProbabilityTransformer(GaussianNB(), cv=KFold(3)).fit_transform(X, y)
    assert scores.shape == (12, 3)
    assert_allclose(scores.sum(axis=1), 1)
    # Laplace's rule of succession: none of 8 rows, 3 classes.
    assert_allclose(scores[np.arange(12), np.repeat([0, 1, 2], 4)], 1 / 11)
    logits = ProbabilityTransformer(
        RidgeClassifier(), cv=KFold(3), method="decision_function"
    ).fit_transform(X, y)
    proba = softmax(logits, axis=1)
    assert_allclose(proba[np.arange(12), np.repeat([0, 1, 2], 4)], 1 / 11)


def test_one_class_left_of_two():
    X = np.arange(4.0)[:, np.newaxis]
    model = FoldModel(
        Memory().fit(X, np.array([1, 1, 1, 1])), [0, 1], "predict_proba", 4
    )
    assert_allclose(model.scores(X), [[1 / 6, 5 / 6]] * 4)

    class Flat(Memory):
        def decision_function(self, X):
            return np.zeros(len(X))

    flat = Flat().fit(X, np.array([1, 1, 1, 1]))
    model = FoldModel(flat, [0, 1], "decision_function", 4)
    assert_allclose(model.scores(X), np.full((4, 1), np.log(5)))


def test_scores_of_a_wrong_number_of_columns():
    X, y = make_classification(
        n_samples=120, n_informative=6, n_classes=4, random_state=0
    )
    one_vs_one = SVC(decision_function_shape="ovo")
    with pytest.raises(ValueError, match="one column for each of 4 classes"):
        ProbabilityTransformer(one_vs_one).fit_transform(X, y)


def test_columns_are_in_the_order_of_the_labels(data):
    """A classifier that lists its classes otherwise is put in order."""
    X, y = data

    class Reversed(GaussianNB):
        def fit(self, X, y):
            super().fit(X, y)
            self.order_ = self.classes_
            self.classes_ = self.classes_[::-1]
            return self

        def predict_proba(self, X):
            self.classes_, kept = self.order_, self.classes_
            proba = super().predict_proba(X)
            self.classes_ = kept
            return proba[:, ::-1]

    expected = ProbabilityTransformer(GaussianNB()).fit_transform(X, y)
    assert_array_equal(ProbabilityTransformer(Reversed()).fit_transform(X, y), expected)


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


# Recalibrators ------------------------------------------------------------------------


def rounded_scores(n_samples, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_samples, n_classes)).round(1)
    return scores, rng.integers(0, n_classes, n_samples), rng.integers(1, 3, n_samples)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_canonical_folds_do_not_depend_on_the_order_of_rows(n_classes):
    rows = rounded_scores(200, n_classes)
    folds = canonical_folds(*rows, n_splits=5, random_state=0)
    order = np.random.default_rng(1).permutation(200)
    shuffled = [array[order] for array in rows]
    again = canonical_folds(*shuffled, n_splits=5, random_state=0)
    for fold, other in zip(folds, again, strict=True):
        for part, other_part in zip(fold, other, strict=True):
            for array, other_array in zip(rows, shuffled, strict=True):
                assert_array_equal(array[part], other_array[other_part])


@pytest.mark.parametrize(("n_samples", "n_splits"), [(200, 5), (7, 5), (3, 5), (1, 5)])
def test_canonical_folds_are_a_partition(n_samples, n_splits):
    rows = rounded_scores(n_samples, 2)
    folds = canonical_folds(*rows, n_splits=n_splits, random_state=0)
    assert len(folds) == min(n_samples, n_splits)
    tests = [test for _, test in folds]
    assert_array_equal(np.sort(np.concatenate(tests)), np.arange(n_samples))
    sizes = [len(test) for test in tests]
    assert max(sizes) - min(sizes) <= 1
    for train, test in folds:
        assert_array_equal(np.sort(np.r_[train, test]), np.arange(n_samples))


def test_canonical_folds_are_shuffled():
    """Folds neither follow the scores nor balance the labels."""
    n = 10_000
    rng = np.random.default_rng(0)
    scores, codes = rng.normal(size=(n, 2)), rng.integers(0, 2, n)
    folds = canonical_folds(scores, codes, np.ones(n), n_splits=100, random_state=0)
    means = np.array([scores[test, 1].mean() for _, test in folds])
    rates = np.array([codes[test].mean() for _, test in folds])
    # Standard errors of 100 rows each: 0.1 and 0.05.
    assert 0.07 < means.std() < 0.13
    assert 0.035 < rates.std() < 0.065
    other = canonical_folds(scores, codes, np.ones(n), n_splits=100, random_state=1)
    assert not np.array_equal(folds[0][1], other[0][1])


def test_recalibrator_is_told_labels_and_scale():
    classes = np.array(["a", "b", "c"])
    logits = np.random.default_rng(0).normal(size=(30, 3))
    y = classes[np.arange(30) % 2]
    given = IdentityRecalibrator(labels=["z"], input="proba")
    fitted = fit_recalibrator(given, classes, True, logits, y)
    assert (given.labels, given.input) == (["z"], "proba")
    assert_array_equal(fitted.classes_, classes)
    proba = softmax(logits, axis=1)
    assert_allclose(apply_recalibrator(fitted, classes, True, logits), proba)
    fitted = fit_recalibrator(given, classes, False, proba, y)
    assert_allclose(apply_recalibrator(fitted, classes, False, proba), proba)


def test_recalibrator_from_elsewhere_keeps_an_unseen_class():
    """C2: LogisticRegression knows no `labels`, so an unseen class keeps its share."""
    classes = np.array(["a", "b", "c"])
    logits = np.random.default_rng(0).normal(size=(60, 3))
    y = classes[np.arange(60) % 2]
    fitted = fit_recalibrator(LogisticRegression(), classes, True, logits, y)
    proba = softmax(logits, axis=1)
    repaired = apply_recalibrator(fitted, classes, True, logits)
    assert_allclose(repaired[:, 2], proba[:, 2])
    assert_allclose(repaired.sum(axis=1), 1)
    assert_allclose(
        repaired[:, 1] / repaired[:, :2].sum(axis=1), fitted.predict_proba(proba)[:, 1]
    )


def test_recalibrator_that_takes_no_weights():
    class Unweighted:
        def fit(self, proba, y):
            return self

        def predict_proba(self, proba):
            return proba

    proba, y = np.full((4, 2), 0.5), np.array([0, 1, 0, 1])
    fit_recalibrator(Unweighted(), np.array([0, 1]), False, proba, y)
    with pytest.raises(
        ValueError, match=r"Unweighted\.fit does not take sample_weight"
    ):
        fit_recalibrator(Unweighted(), np.array([0, 1]), False, proba, y, np.ones(4))


def test_recalibrator_of_a_wrong_number_of_columns():
    class OneColumn(Memory):
        def predict_proba(self, proba):
            return proba[:, 0]

    proba, y = np.full((4, 2), 0.5), np.array([0, 1, 0, 1])
    fitted = fit_recalibrator(OneColumn(), np.array([0, 1]), False, proba, y)
    with pytest.raises(ValueError, match=r"gave an array of shape \(4,\)"):
        apply_recalibrator(fitted, np.array([0, 1]), False, proba)
