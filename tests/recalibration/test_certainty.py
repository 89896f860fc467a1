"""Probabilities of exactly 0 and 1, which some recalibrators read as less certain."""

import catboost  # noqa: F401 - older ones warn when a test is the first to import them
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from skcal import (
    BetaCalibration,
    BoostedTemperatureScaling,
    DirichletCalibration,
    MatrixScaling,
    PlattScaling,
    QuadraticScaling,
    SplineCalibration,
    StackedRecalibrator,
    TemperatureScaling,
    VectorScaling,
)

SOFTENING = [
    TemperatureScaling(),
    PlattScaling(),
    BetaCalibration(),
    QuadraticScaling(),
    SplineCalibration(),
    VectorScaling(),
    MatrixScaling(),
    DirichletCalibration(),
    BoostedTemperatureScaling(iterations=3),
    StackedRecalibrator([PlattScaling(), TemperatureScaling()]),
]
CONVEX = SOFTENING[:4] + SOFTENING[5:8]


def counted(n_rows, n_classes, n_votes=10, seed=0):
    """Shares of votes, and labels that are less certain than these."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(n_classes, 0.4), size=n_rows)
    votes = np.array([rng.multinomial(n_votes, p) for p in truth])
    y = (truth.cumsum(axis=1) < rng.uniform(size=(n_rows, 1))).sum(axis=1)
    return votes / n_votes, np.minimum(y, n_classes - 1)


def softened(proba, least):
    out = np.where(proba < least, (proba + least) / 2, proba)
    return out / out.sum(axis=1, keepdims=True)


# Knots, folds and trees depend on ties, which rounding may split.
@pytest.mark.parametrize(
    ("recalibrator", "n_classes"),
    [*((r, 2) for r in SOFTENING[:8]), *((r, 4) for r in CONVEX)],
)
def test_zero_is_half_the_smallest_probability(recalibrator, n_classes):
    proba, y = counted(500, n_classes)
    by_hand = softened(proba, 0.1)
    if n_classes == 2:
        by_hand[:, 0] = np.where(proba[:, 0] == 1.0, 0.95, proba[:, 0])
        by_hand[:, 0] = np.where(proba[:, 0] == 0.0, 0.05, by_hand[:, 0])
        by_hand[:, 1] = 1.0 - by_hand[:, 0]
    given = clone(recalibrator).fit(proba, y).transform(proba)
    expected = clone(recalibrator).fit(by_hand, y).transform(by_hand)
    assert_allclose(given, expected, atol=1e-9)


@pytest.mark.parametrize("recalibrator", SOFTENING[:5], ids=repr)
def test_order_is_kept_where_training_rows_had_none(recalibrator):
    proba, y = counted(500, 2)
    fitted = clone(recalibrator).fit(proba[:, 1], y)
    new = np.array([0.0, 1e-9, 0.02, 0.099, 0.1, 0.5, 0.9, 0.901, 0.98, 1.0])
    assert np.all(np.diff(fitted.transform(new)[:, 1]) >= 0)
    if not isinstance(recalibrator, (QuadraticScaling, SplineCalibration)):
        assert np.all(np.diff(fitted.transform(new)[:, 1]) > 0)


@pytest.mark.parametrize("recalibrator", CONVEX, ids=repr)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_certainty_that_is_right_stays(recalibrator, n_classes):
    """Softening would cost more than the fit gains, so nothing is softened."""
    rng = np.random.default_rng(0)
    rows, y = np.eye(n_classes)[rng.integers(n_classes, size=300)], None
    proba = np.vstack((rows, np.full((30, n_classes), 1 / n_classes)))
    y = np.concatenate((rows.argmax(axis=1), np.arange(30) % n_classes))
    repaired = clone(recalibrator).fit(proba, y).transform(proba)
    loss = -np.log(repaired[np.arange(y.size), y]).mean()
    assert loss <= 30 / 330 * np.log(n_classes) * (1 + 1e-9)


@pytest.mark.parametrize("recalibrator", CONVEX, ids=repr)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_never_worse_than_the_identity(recalibrator, n_classes, seed):
    proba, y = counted(200, n_classes, n_votes=5, seed=seed)
    repaired = clone(recalibrator).fit(proba, y).transform(proba)
    rows = np.arange(y.size)
    before = -np.log(np.maximum(proba[rows, y], np.finfo(float).eps)).mean()
    assert -np.log(repaired[rows, y]).mean() <= before


@pytest.mark.parametrize("recalibrator", SOFTENING, ids=repr)
def test_rows_of_weight_zero_do_not_count(recalibrator):
    proba, y = counted(300, 2)
    weight = np.ones(301)
    weight[-1] = 0.0
    more = np.vstack((proba, [[0.999, 0.001]]))
    given = clone(recalibrator).fit(more, np.append(y, 0), weight)
    assert_allclose(
        given.transform(proba),
        clone(recalibrator).fit(proba, y).transform(proba),
        atol=1e-9,
    )


def test_nothing_but_certainty_is_read_as_it_is():
    proba, y = np.array([0.0, 1.0, 1.0, 0.0] * 20), np.array([0, 1, 0, 0] * 20)
    eps = np.finfo(float).eps
    given = TemperatureScaling().fit(proba, y).transform(proba)
    inside = np.clip(proba, eps, 1 - eps)
    assert_array_equal(given, TemperatureScaling().fit(inside, y).transform(inside))


def test_refitting_forgets():
    proba, y = counted(300, 2)
    recalibrator = PlattScaling().fit(proba, y)
    inside = 0.1 + 0.8 * proba
    recalibrator.fit(inside, y)
    assert_array_equal(
        recalibrator.transform(proba), PlattScaling().fit(inside, y).transform(proba)
    )


def test_one_certain_error_does_not_decide_on_the_temperature():
    """A forest of ten trees: one unanimous error in 500 rows, of which half are."""
    proba = np.tile([0.0, 0.2, 0.8, 1.0], 125)
    y = (proba > 0.5).astype(int)
    y[1:100:8] = 1  # a few of those at 0.2
    y[3] = 0  # the unanimous error
    assert TemperatureScaling().fit(proba, y).transform([1.0])[0, 1] > 0.95
