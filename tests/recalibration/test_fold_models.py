import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.datasets import make_classification
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from skcal.recalibration._fold_models import FoldModel
from skcal.recalibration._transformer import ProbabilityTransformer
from tests.recalibration.test_transformer import Memory


@pytest.fixture
def data():
    return make_classification(n_samples=120, random_state=0)


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
