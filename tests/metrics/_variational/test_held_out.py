"""Folds: who recalibrates whom."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit

from skcal.metrics import VariationalECE, variational_ece
from skcal.recalibration import BetaCalibration, IsotonicCalibration
from tests.metrics._variational.samples import binary, vectors


class Memory(BetaCalibration):
    """A recalibrator that tells which forecasts it was fitted on and applied to."""

    fitted, applied = [], []

    def fit(self, proba, y, sample_weight=None):
        Memory.fitted.append(proba[:, 1].tolist())
        return super().fit(proba, y, sample_weight)

    def predict_proba(self, proba):
        Memory.applied.append(proba[:, 1].tolist())
        return super().predict_proba(proba)


@pytest.fixture
def memory():
    Memory.fitted, Memory.applied = [], []
    return Memory


def test_no_row_is_recalibrated_by_what_has_seen_it(memory):
    f, y = binary(17, 101)
    variational_ece(y, f, recalibrator=memory(), cv=7, divergence="brier")
    assert len(memory.fitted) == 7
    for train, test in zip(memory.fitted, memory.applied, strict=True):
        assert not set(train) & set(test)
        assert len(train) + len(test) == 101
    assert sorted(np.concatenate(memory.applied)) == sorted(f)


@pytest.mark.parametrize("cv", [4, GroupKFold(4)], ids=["int", "GroupKFold"])
def test_groups_stay_together(memory, cv):
    f, y = binary(18, 120)
    groups = np.array([f"g{i % 11}" for i in range(120)])
    of = dict(zip(f, groups, strict=True))
    measure = VariationalECE(recalibrator=memory(), cv=cv, divergence="brier")
    result = measure.evaluate(y, f, groups=groups)
    assert len(memory.fitted) == 4
    for train, test in zip(memory.fitted, memory.applied, strict=True):
        assert not {of[p] for p in train} & {of[p] for p in test}
    if cv == 4:
        order = np.random.default_rng(0).permutation(120)
        again = measure.set_params(recalibrator=BetaCalibration()).evaluate(
            y[order], f[order], groups=groups[order]
        )
        assert again.value == pytest.approx(result.value, abs=1e-13)


def test_rows_that_are_never_tested():
    f, y = binary(19, 120)
    result = VariationalECE(
        recalibrator=BetaCalibration(), cv=TimeSeriesSplit(3)
    ).evaluate(y, f)
    untested = np.isnan(result.recalibrated_proba)
    assert_array_equal(np.flatnonzero(untested), np.arange(30))
    assert result.fold_sizes.sum() == 90
    assert np.isfinite(result.value)


def test_sorted_rows_do_not_fool_a_number_of_folds():
    """On rows sorted by score plain folds would extrapolate at either end."""
    f, y = binary(20, 2_000, power=1.2)
    order = np.argsort(f)
    value = variational_ece(y[order], f[order], recalibrator=IsotonicCalibration())
    unshuffled = variational_ece(
        y[order], f[order], recalibrator=IsotonicCalibration(), cv=KFold(5)
    )
    assert value == pytest.approx(1 / 2 - 1 / 2.2, abs=0.03)
    assert unshuffled < 0.2 * value


@pytest.mark.parametrize(
    "recalibrator",
    [None, BetaCalibration(), LogisticRegression()],
    ids=["default", "ours", "scikit-learn's"],
)
def test_rare_classes(recalibrator):
    """Two members of a class and five folds: some training parts have one of them."""
    f, y = binary(21, 60)
    y = np.zeros(60, dtype=int)
    y[:1] = 1
    result = VariationalECE(recalibrator=recalibrator).evaluate(y, f)
    assert np.isfinite(result.value)
    g, labels, _ = vectors(21, 90, 3)
    labels = np.where(labels == 2, 0, labels)
    labels[:2] = 2
    result = VariationalECE(recalibrator=recalibrator).evaluate(labels, g)
    assert np.isfinite(result.value)
    assert_allclose(result.recalibrated_proba.sum(axis=1), 1.0)
    one = VariationalECE(recalibrator=recalibrator, labels=[0, 1, 2]).evaluate(
        np.ones(90, dtype=int), g
    )
    assert np.isfinite(one.value)


def test_a_class_that_training_lacks_keeps_its_probability():
    f, y, _ = vectors(22, 60, 3)
    y = np.where(y == 2, 1, y)
    y[0] = 2
    folds = [(np.arange(20, 60), np.arange(20)), (np.arange(40), np.arange(40, 60))]
    result = VariationalECE(recalibrator=LogisticRegression(), cv=folds).evaluate(y, f)
    z = result.recalibrated_proba
    assert_allclose(z[:20, 2], f[:20, 2])
    assert not np.allclose(z[40:, 2], f[40:, 2])
    assert np.isnan(z[20:40]).all()


def test_constant_certain_and_perfect_forecasts():
    y = np.repeat([0, 1], [50, 50])
    for recalibrator in (None, BetaCalibration(), IsotonicCalibration()):
        options = {"recalibrator": recalibrator, "cv": 5}
        assert variational_ece(y, np.full(100, 0.3), **options) == pytest.approx(
            0.2, abs=0.02
        )
        assert abs(variational_ece(y, y.astype(float), **options)) < 0.02
        wrong = variational_ece(y, 1.0 - y, **options)
        assert wrong > 0.4
