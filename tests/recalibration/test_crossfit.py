import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from skcal.recalibration._crossfit import (
    apply_recalibrator,
    canonical_folds,
    fit_recalibrator,
)
from tests.common_checks import IdentityRecalibrator
from tests.recalibration.test_transformer import Memory


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
