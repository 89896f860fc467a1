"""V-ECE against its definition, known truths, and the guarantees it comes with."""

import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit
from scipy.stats import binom, t
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    TimeSeriesSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skcal.divergences import Divergence, Lp, SquaredEuclidean
from skcal.metrics import VariationalECE, plugin_ece, variational_ece
from skcal.recalibration import (
    BetaCalibration,
    BoostedTemperatureScaling,
    IsotonicCalibration,
    KernelCalibration,
    MatrixScaling,
    QuadraticScaling,
    TemperatureScaling,
)
from tests import references

NAMES = ["l1", "l2", "linf", "brier", "kl"]
SEPARABLE = ["l1", "brier", "kl"]


def binary(seed, n, power=2.0):
    """Forecasts, and outcomes whose true probability is f**power."""
    rng = np.random.default_rng(seed)
    f = rng.uniform(size=n)
    return f, (rng.uniform(size=n) < f**power).astype(int)


def vectors(seed, n, k=3, sharpness=2.0):
    """Over-confident forecasts of k classes: their logits are too large."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, k))
    truth = softmax(logits)
    y = (truth.cumsum(axis=1) < rng.uniform(size=(n, 1))).sum(axis=1)
    return softmax(sharpness * logits), np.minimum(y, k - 1), truth


def softmax(logits):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


class Map(BaseEstimator):
    """A fixed recalibration: nothing is learned, so nothing is cross-fitted."""

    def __init__(self, function):
        self.function = function

    def fit(self, proba, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, proba):
        return self.function(proba)


class OfEvent(Map):
    """A fixed map of the second class's probability."""

    def predict_proba(self, proba):
        z = self.function(proba[:, 1])
        return np.column_stack([1 - z, z])


# -- the definition ------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_two_classes(name, weighted):
    f, y = binary(0, 200)
    weight = np.random.default_rng(1).integers(1, 4, 200) if weighted else None
    splits = list(KFold(4).split(f))
    measure = VariationalECE(divergence=name, recalibrator=BetaCalibration(), cv=splits)
    result = measure.evaluate(y, f, sample_weight=weight)
    z = np.empty(200)
    for train, test in splits:
        beta = BetaCalibration()
        beta.fit(f[train], y[train], None if weight is None else weight[train])
        z[test] = beta.predict_proba(f[test])[:, 1]
    assert_allclose(result.recalibrated_proba, z, rtol=1e-12)
    rows = [[[x] for x in values] for values in (f, z, y)]
    expected = references.variational_mean(name, *rows, weight)
    assert result.value == pytest.approx(expected, rel=1e-10)
    w = np.ones(200) if weight is None else weight
    plugin = [references.divergence(name, *row) for row in zip(*rows[:2], strict=True)]
    assert result.plugin == pytest.approx(np.average(plugin, weights=w), rel=1e-10)
    assert result.midpoint == pytest.approx(0.5 * (result.value + result.plugin))


@pytest.mark.parametrize("name", [*NAMES, "l3"])
def test_whole_vectors(name):
    f, y, _ = vectors(0, 240, 4)
    splits = list(KFold(3).split(f))
    divergence = Lp(3) if name == "l3" else name
    result = VariationalECE(
        divergence=divergence, recalibrator=TemperatureScaling(), cv=splits
    ).evaluate(y, f)
    z = np.empty_like(f)
    for train, test in splits:
        z[test] = TemperatureScaling().fit(f[train], y[train]).predict_proba(f[test])
    assert_allclose(result.recalibrated_proba, z, rtol=1e-10)
    expected = references.variational_mean(name, f, z, np.eye(4)[y])
    assert result.value == pytest.approx(expected, rel=1e-9)


def test_top_class_and_classwise_are_two_class_problems():
    f, y, _ = vectors(1, 300, 3)
    splits = list(KFold(3).split(f))
    options = {"recalibrator": QuadraticScaling(), "cv": splits, "divergence": "brier"}
    top = f.argmax(axis=1)
    confidence = variational_ece(y, f, multiclass="confidence", **options)
    expected = variational_ece(top == y, f.max(axis=1), **options)
    assert confidence == pytest.approx(expected, rel=1e-12)
    classwise = variational_ece(y, f, multiclass="classwise", **options)
    each = [variational_ece(y == k, f[:, k], **options) for k in range(3)]
    assert classwise == pytest.approx(np.mean(each), rel=1e-12)


def test_in_sample():
    f, y = binary(2, 300)
    fitted = IsotonicRegression(y_min=0, y_max=1).fit(f, y)
    z = fitted.predict(f)
    for name in ("l1", "brier"):
        rows = [[[x] for x in values] for values in (f, z, y)]
        result = VariationalECE(
            divergence=name, recalibrator=IsotonicCalibration(), cv=None
        ).evaluate(y, f)
        expected = references.variational_mean(name, *rows)
        assert result.value == pytest.approx(expected, rel=1e-9)
        assert not result.is_lower_bound
        with pytest.raises(ValueError, match="no lower bound with cv=None"):
            result.lower_bound()


def test_leave_one_out():
    """The closed form of the kernel, against one fit per row."""
    f, y = binary(3, 60)
    kernel = KernelCalibration(bandwidth=0.05)
    options = {"recalibrator": kernel, "divergence": "brier"}
    for measure in (variational_ece, plugin_ece):
        fast = measure(y, f, cv="leave-one-out", **options)
        slow = measure(y, f, cv=LeaveOneOut(), **options)
        assert fast == pytest.approx(slow, rel=1e-6)
    weight = np.random.default_rng(0).integers(0, 3, 60)
    copies = np.repeat(np.arange(60), weight)
    weighted = plugin_ece(y, f, cv="leave-one-out", sample_weight=weight, **options)
    repeated = plugin_ece(y[copies], f[copies], cv="leave-one-out", **options)
    assert weighted == pytest.approx(repeated, rel=1e-6)


def test_plugin_is_the_distance_from_the_recalibrated():
    f, y = binary(4, 500)
    z = IsotonicCalibration().fit(f, y).predict_proba(f)[:, 1]
    error = plugin_ece(y, f, recalibrator=IsotonicCalibration())
    assert error == pytest.approx(np.mean(np.abs(f - z)), rel=1e-12)
    held_out = plugin_ece(y, f, recalibrator=IsotonicCalibration(), cv=5)
    estimate = variational_ece(
        y, f, recalibrator=IsotonicCalibration(), estimate="plugin"
    )
    assert held_out == estimate


def test_estimates_and_their_names():
    f, y = binary(5, 300)
    beta = BetaCalibration()
    result = VariationalECE(recalibrator=beta).evaluate(y, f)
    for estimate, field in (
        ("variational", "value"),
        ("plugin", "plugin"),
        ("midpoint", "midpoint"),
    ):
        value = variational_ece(y, f, recalibrator=beta, estimate=estimate)
        assert isinstance(value, float)
        assert value == getattr(result, field)


# -- exact relations -----------------------------------------------------------------


def test_several_divergences_from_one_fit():
    fits = []

    class Spy(BetaCalibration):
        def fit(self, proba, y, sample_weight=None):
            fits.append(len(y))
            return super().fit(proba, y, sample_weight)

    f, y = binary(6, 200)
    divergences = ["l1", SquaredEuclidean(), "kl", Lp(3)]
    result = VariationalECE(divergence=divergences, recalibrator=Spy()).evaluate(y, f)
    assert len(fits) == 5
    for divergence, name in zip(divergences, ["l1", "brier", "kl", "l3"], strict=True):
        alone = VariationalECE(divergence=divergence, recalibrator=BetaCalibration())
        alone = alone.evaluate(y, f)
        for field in ("value", "plugin", "midpoint", "standard_error", "over", "risk"):
            assert getattr(result, field)[name] == getattr(alone, field), field
        assert_array_equal(result.fold_values[name], alone.fold_values)
        assert result.lower_bound()[name] == alone.lower_bound()
    assert result.risk["l1"] is None
    assert result.refinement["l3"] is None


@pytest.mark.parametrize("multiclass", ["canonical", "confidence", "classwise"])
@pytest.mark.parametrize("name", ["brier", "kl"])
def test_risk_is_calibration_and_refinement(name, multiclass):
    f, y, _ = vectors(7, 400)
    measure = VariationalECE(
        divergence=name, recalibrator=TemperatureScaling(), multiclass=multiclass
    )
    result = measure.evaluate(y, f)
    assert result.risk == pytest.approx(result.value + result.refinement, abs=1e-14)
    if multiclass == "canonical":
        happened = f[np.arange(400), y]
        losses = {
            "brier": np.sum((f - np.eye(3)[y]) ** 2, axis=1),
            "kl": -np.log(happened),
        }
        assert result.risk == pytest.approx(losses[name].mean())


@pytest.mark.parametrize("multiclass", ["binary", "confidence"])
@pytest.mark.parametrize("name", SEPARABLE)
def test_over_and_under_add_up(name, multiclass):
    if multiclass == "binary":
        f, y = binary(8, 400)
        f[:20] = 0.5
    else:
        f, y, _ = vectors(8, 400)
    options = {"recalibrator": QuadraticScaling(), "divergence": name}
    options["multiclass"] = "confidence"
    result = VariationalECE(**options).evaluate(y, f)
    assert result.over + result.under == pytest.approx(result.value, abs=1e-15)
    for direction in ("over", "under"):
        part = variational_ece(y, f, direction=direction, **options)
        assert part == pytest.approx(getattr(result, direction), abs=1e-16)
        estimates = [
            variational_ece(y, f, direction=direction, estimate=estimate, **options)
            for estimate in ("variational", "plugin", "midpoint")
        ]
        assert estimates[2] == pytest.approx(np.mean(estimates[:2]))
    plugin = [
        variational_ece(y, f, direction=direction, estimate="plugin", **options)
        for direction in ("over", "under")
    ]
    assert sum(plugin) == pytest.approx(result.plugin)


@pytest.mark.parametrize(
    ("truth", "over", "under"),
    [
        # Figure G.1: over-confident, under-confident, and each on one side of 1/2.
        (lambda f: expit(0.5 * logit(f)), True, False),
        (lambda f: expit(2.0 * logit(f)), False, True),
        (lambda f: expit(np.where(f < 0.5, 0.5, 2.0) * logit(f)), True, True),
    ],
    ids=["over", "under", "both"],
)
def test_directions_of_known_truths(truth, over, under):
    """With the true map as recalibration the parts are unbiased: 4 standard errors,
    which one estimate in 16,000 exceeds."""
    rng = np.random.default_rng(9)
    f = rng.uniform(size=20_000)
    c = truth(f)
    y = rng.uniform(size=f.size) < c
    result = VariationalECE(recalibrator=OfEvent(truth)).evaluate(y, f)
    farther = np.abs(f - 0.5) > np.abs(c - 0.5)
    bound = 4 * result.standard_error
    for part, expected, there in (
        (result.over, np.mean(np.abs(f - c) * farther), over),
        (result.under, np.mean(np.abs(f - c) * ~farther), under),
    ):
        assert abs(part - expected) < bound
        assert (part > bound) == there


def test_a_forecast_of_one_half_cannot_be_over_confident():
    y = np.repeat([0, 1], [20, 80])
    f = np.full(100, 0.5)
    result = VariationalECE(recalibrator=BetaCalibration()).evaluate(y, f)
    assert result.over == 0.0
    assert result.under == pytest.approx(0.3, abs=0.01)


def test_top_class_is_over_confident_below_one_half_too():
    f = np.tile([0.4, 0.3, 0.3], (300, 1))
    y = np.repeat([0, 1, 2], [30, 135, 135])  # right in 10 % of rows
    measure = VariationalECE(recalibrator=BetaCalibration(), multiclass="confidence")
    result = measure.evaluate(y, f)
    assert result.over == pytest.approx(0.3, abs=0.01)
    assert result.under == pytest.approx(0.0, abs=0.01)


def test_fold_values_and_their_mean():
    f, y = binary(10, 203)
    weight = np.random.default_rng(0).uniform(0.5, 2, 203)
    result = VariationalECE(recalibrator=BetaCalibration()).evaluate(
        y, f, sample_weight=weight
    )
    assert result.fold_values.shape == (5,)
    assert sorted(result.fold_sizes) == [40, 40, 41, 41, 41]
    splits = list(KFold(3).split(f))
    result = VariationalECE(recalibrator=BetaCalibration(), cv=splits).evaluate(
        y, f, sample_weight=weight
    )
    total = [weight[test].sum() for _, test in splits]
    assert result.value == pytest.approx(np.average(result.fold_values, weights=total))


# -- invariance ----------------------------------------------------------------------

RECALIBRATORS = [
    None,
    BetaCalibration(),
    IsotonicCalibration(),
    KernelCalibration(),
    BoostedTemperatureScaling(iterations=3),
]


@pytest.mark.parametrize("recalibrator", RECALIBRATORS, ids=repr)
@pytest.mark.parametrize("digits", [None, 1])
def test_order_of_rows_columns_and_jobs_change_nothing(recalibrator, digits):
    f, y = binary(11, 300)
    f = f if digits is None else f.round(digits)
    weight = np.random.default_rng(0).integers(0, 3, 300)
    measure = VariationalECE(divergence=["l1", "brier"], recalibrator=recalibrator)
    expected = measure.evaluate(y, f, sample_weight=weight)
    order = np.random.default_rng(1).permutation(300)
    by_score = np.argsort(f, kind="stable")
    for rows in (order, by_score):
        result = measure.evaluate(y[rows], f[rows], sample_weight=weight[rows])
        assert result.value == pytest.approx(expected.value, abs=1e-12)
        assert result.standard_error == pytest.approx(expected.standard_error, rel=1e-9)
    for form in (f[:, np.newaxis], np.column_stack([1 - f, f]), f.tolist()):
        result = measure.evaluate(y, form, sample_weight=weight)
        assert result.value == pytest.approx(expected.value, abs=1e-9)
    parallel = clone(measure).set_params(n_jobs=2)
    assert parallel.evaluate(y, f, sample_weight=weight).value == expected.value


@pytest.mark.parametrize("recalibrator", [None, MatrixScaling()], ids=repr)
def test_order_of_rows_with_more_classes(recalibrator):
    f, y, _ = vectors(12, 300)
    order = np.random.default_rng(1).permutation(300)
    for multiclass in ("canonical", "confidence", "classwise"):
        options = {"recalibrator": recalibrator, "multiclass": multiclass}
        value = variational_ece(y, f, **options)
        shuffled = variational_ece(y[order], f[order], **options)
        assert shuffled == pytest.approx(value, abs=1e-10)


@settings(deadline=None, max_examples=30)
@given(
    rows=st.lists(
        st.tuples(st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.9, 1.0]), st.booleans()),
        min_size=2,
        max_size=30,
    ),
    seed=st.integers(0, 3),
)
def test_of_two_classes_all_norms_agree(rows, seed):
    f, y = map(np.array, zip(*rows, strict=True))
    measure = VariationalECE(
        divergence=["l1", "l2", "linf", Lp(4)],
        recalibrator=QuadraticScaling(),
        random_state=seed,
        cv=3,
    )
    result = measure.evaluate(y.astype(int), f)
    for field in ("value", "plugin", "over", "under", "standard_error"):
        values = list(getattr(result, field).values())
        assert_allclose(values, values[0], rtol=1e-12, atol=1e-15)
    assert abs(result.value["l1"]) <= 1.0


def test_the_other_class_as_the_positive_one():
    f, y = binary(13, 300)
    for name in NAMES:
        measure = VariationalECE(
            divergence=name, recalibrator=QuadraticScaling(), cv=list(KFold(3).split(f))
        )
        value = measure.evaluate(y, np.column_stack([1 - f, f])).value
        other = measure.set_params(pos_label=0).evaluate(y, np.column_stack([1 - f, f]))
        assert other.value == pytest.approx(value, abs=1e-7)


def test_weightless_rows_are_absent_but_are_told_their_probability():
    f, y = binary(14, 200)
    weight = np.repeat([0.0, 1.0], 100)
    measure = VariationalECE(recalibrator=BetaCalibration())
    result = measure.evaluate(y, f, sample_weight=weight)
    alone = measure.evaluate(y[100:], f[100:])
    assert result.value == pytest.approx(alone.value, abs=1e-14)
    assert result.standard_error == pytest.approx(alone.standard_error, rel=1e-12)
    assert np.isfinite(result.recalibrated_proba).all()
    assert_allclose(result.recalibrated_proba[100:], alone.recalibrated_proba)


# -- guarantees, at fixed seeds --------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_truth_as_recalibration_is_unbiased(name):
    """Within 4 standard errors, which one estimate in 16,000 is not."""
    f, y, truth = vectors(15, 4_000)
    rows = dict(zip(map(tuple, f), truth, strict=True))
    oracle = Map(lambda proba: np.array([rows[tuple(row)] for row in proba]))
    result = VariationalECE(divergence=name, recalibrator=oracle).evaluate(y, f)
    error = np.mean(
        [references.divergence(name, *row) for row in zip(f, truth, strict=True)]
    )
    assert abs(result.value - error) < 4 * result.standard_error
    # Any other map finds less.
    halfway = Map(lambda proba: 0.5 * (oracle.function(proba) + proba))
    less = VariationalECE(divergence="brier", recalibrator=halfway).evaluate(y, f)
    more = VariationalECE(divergence="brier", recalibrator=oracle).evaluate(y, f)
    assert less.value < more.value


def test_calibrated_forecasts_average_zero_or_less():
    """Mean of 400 samples: above 3 of its standard errors in one run of 700; and above
    zero in at most half of them, plus 4 standard deviations of such a share."""
    values = []
    for seed in range(400):
        f, y = binary(seed, 250, power=1.0)
        result = VariationalECE(
            divergence=["l1", "brier"], recalibrator=BetaCalibration()
        ).evaluate(y, f)
        values.append(list(result.value.values()))
    values = np.array(values)
    spread = values.std(axis=0, ddof=1) / 20
    assert np.all(values.mean(axis=0) < 3 * spread)
    assert np.all((values > 0).mean(axis=0) < 0.5 + 4 * 0.5 / 20)


def test_lower_bound_holds():
    """Over 200 samples the bound at 90 % exceeds the true error in at most 10 % of
    them, up to a count that has probability 1e-4 under just 10 %."""
    truth = np.mean(
        np.abs(np.linspace(0, 1, 100_001) ** 1.3 - np.linspace(0, 1, 100_001))
    )
    misses = 0
    for seed in range(200):
        f, y = binary(seed, 250, power=1.3)
        result = VariationalECE(recalibrator=BetaCalibration()).evaluate(y, f)
        misses += result.lower_bound(0.9) > truth
    assert misses <= binom.ppf(1 - 1e-4, 200, 0.1)


def test_standard_error_is_the_spread_over_samples():
    """Its mean square is within 40 % of the variance over 200 samples, whose own
    standard error is 10 %."""
    values, errors = [], []
    for seed in range(200):
        f, y = binary(seed, 250, power=1.6)
        result = VariationalECE(recalibrator=QuadraticScaling()).evaluate(y, f)
        values.append(result.value)
        errors.append(result.standard_error)
    ratio = np.mean(np.square(errors)) / np.var(values, ddof=1)
    assert 0.6 < ratio < 1.4


def test_standard_error_by_hand():
    f, y = binary(16, 90)
    splits = list(KFold(3).split(f))
    identity_but_lower = OfEvent(lambda p: 0.9 * p)
    measure = VariationalECE(recalibrator=identity_but_lower, cv=splits)
    result = measure.evaluate(y, f)
    values = -np.sign(f) * (y - f)
    variance = sum(30 * np.var(values[test], ddof=1) for _, test in splits)
    assert result.standard_error == pytest.approx(math.sqrt(variance) / 90)
    bound = result.value - t.ppf(0.99, 87) * result.standard_error
    assert result.lower_bound(0.99) == pytest.approx(bound)
    # Groups: the sums of groups take the rows' place.
    groups = np.repeat(np.arange(18), 5)
    result = measure.evaluate(y, f, groups=groups)
    variance = 0.0
    for _, test in splits:
        deviation = (values[test] - values[test].mean()).reshape(6, 5).sum(axis=1)
        variance += 6 / 5 * np.sum(deviation**2)
    assert result.standard_error == pytest.approx(math.sqrt(variance) / 90)


# -- folds ---------------------------------------------------------------------------


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
    variational_ece(y, f, recalibrator=memory(), cv=7)
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
    result = VariationalECE(recalibrator=memory(), cv=cv).evaluate(y, f, groups=groups)
    assert len(memory.fitted) == 4
    for train, test in zip(memory.fitted, memory.applied, strict=True):
        assert not {of[p] for p in train} & {of[p] for p in test}
    if cv == 4:
        order = np.random.default_rng(0).permutation(120)
        again = VariationalECE(recalibrator=BetaCalibration(), cv=4).evaluate(
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


# -- input ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "container", [np.asarray, list, pd.Series, pl.Series], ids=lambda c: c.__module__
)
def test_labels_of_any_kind(container):
    f, y = binary(23, 200)
    beta = BetaCalibration()
    expected = variational_ece(y, f, recalibrator=beta)
    words = container(np.where(y == 1, "yes", "no").tolist())
    proba = np.column_stack([1 - f, f])
    for recalibrator in (BetaCalibration(), BetaCalibration(labels=["no", "yes"])):
        value = variational_ece(words, proba, recalibrator=recalibrator)
        assert value == pytest.approx(expected, abs=1e-12)
        value = variational_ece(words, f, recalibrator=recalibrator, pos_label="yes")
        assert value == pytest.approx(expected, abs=1e-12)
    other = variational_ece(words, 1 - f, recalibrator=beta, pos_label="no")
    assert other == pytest.approx(expected, abs=0.03)  # other folds


def test_a_pipeline_as_recalibrator():
    f, y = binary(24, 300)
    log_odds = FunctionTransformer(lambda p: logit(np.clip(p[:, 1:], 1e-6, 1 - 1e-6)))
    pipeline = make_pipeline(log_odds, LogisticRegression())
    value = variational_ece(y, f, recalibrator=pipeline)
    assert 0.05 < value < 0.3
    with pytest.raises(NotFittedError):
        pipeline.predict_proba(np.column_stack([1 - f, f]))


def test_float32_is_no_error_and_rounding_is_no_miscalibration():
    f, y = binary(25, 300)
    single = f.astype(np.float32)
    value = variational_ece(y, single, recalibrator=BetaCalibration())
    expected = variational_ece(y, f, recalibrator=BetaCalibration())
    assert value == pytest.approx(expected, abs=1e-4)
    identity = OfEvent(lambda p: (p * 3.0) / 3.0)
    assert variational_ece(y, single, recalibrator=identity) == 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"divergence": "L1"}, "divergence must be one of"),
        ({"divergence": ["l1", "kl"]}, "VariationalECE takes several"),
        ({"estimate": "mean"}, "estimate must be one of"),
        ({"direction": "up"}, "direction must be one of"),
        ({"multiclass": "top"}, "multiclass must be one of"),
        ({"recalibrator": "beta"}, "object with fit and predict_proba. Got 'beta'"),
        ({"recalibrator": IsotonicRegression()}, "object with fit and predict_proba"),
        ({"cv": 1}, "cv must be at least 2, or None"),
        ({"cv": "loo"}, "cv must be one of"),
        ({"cv": "leave-one-out"}, "needs a recalibrator with a leave_one_out method"),
        (
            {"cv": ShuffleSplit(4, test_size=0.5)},
            "hold each row at most once",
        ),
        ({"cv": []}, "cv gives no folds"),
        ({"cv": [([0, 1], [])]}, "a fold with 2 training and 0 test rows"),
        ({"cv": [([0, 1], [99])]}, "cv names rows from 99 to 99; there are 40"),
        ({"groups": [1, 2]}, "groups has 2 and y_proba 40"),
        ({"groups": [1] * 40}, "with groups needs at least 2 groups"),
        ({"sample_weight": [1.0] * 39}, r"sample_weight must have shape \(40,\)"),
    ],
)
def test_what_is_wrong_is_named(options, message):
    f, y = binary(26, 40)
    with pytest.raises(ValueError, match=message):
        variational_ece(y, f, **options)


def test_directions_need_a_single_event():
    f, y, _ = vectors(27, 60)
    for multiclass in ("canonical", "classwise"):
        with pytest.raises(ValueError, match="defined for two classes and for"):
            variational_ece(y, f, direction="over", multiclass=multiclass)
        result = VariationalECE(
            multiclass=multiclass, recalibrator=TemperatureScaling()
        ).evaluate(y, f)
        assert result.over is None
        assert result.under is None


def test_one_row_and_two():
    assert variational_ece([1], [0.3]) == 0.0
    assert np.isfinite(variational_ece([0, 1], [0.3, 0.6]))
    for cv in (5, None):
        measure = VariationalECE(recalibrator=BetaCalibration(), cv=cv)
        result = measure.evaluate([0, 1, 0], [0.3, 0.4, 0.5], sample_weight=[0, 2, 0])
        assert np.isfinite(result.value)
        assert np.isnan(result.standard_error)


def test_several_divergences_need_names_of_their_own():
    f, y = binary(28, 40)
    for divergences in ([], ["l1", "l1"], ["l1", Lp(1)]):
        with pytest.raises(ValueError, match="with different names"):
            VariationalECE(divergence=divergences).evaluate(y, f)


@pytest.mark.parametrize("level", [0, 1, 95, -0.1, np.nan])
def test_confidence_level(level):
    f, y = binary(29, 40)
    result = VariationalECE(recalibrator=BetaCalibration()).evaluate(y, f)
    with pytest.raises(ValueError, match="confidence_level must be in"):
        result.lower_bound(level)


def test_a_recalibrator_that_gives_no_probabilities():
    f, y = binary(30, 40)
    for wrong, message in (
        (OfEvent(lambda p: p + 2), "It gave values in"),
        (OfEvent(lambda p: p * np.nan), "It gave NaN"),
        (Map(lambda p: p[:, :1]), "one column for each of the classes"),
    ):
        with pytest.raises(ValueError, match=message):
            variational_ece(y, f, recalibrator=wrong)


def test_weights_for_a_recalibrator_that_takes_none():
    f, y = binary(31, 40)
    weight = np.arange(40) + 1.0
    with pytest.raises(ValueError, match="does not take sample_weight"):
        variational_ece(y, f, recalibrator=OfEvent(np.square), sample_weight=weight)
    equal = variational_ece(
        y, f, recalibrator=OfEvent(np.square), sample_weight=np.ones(40)
    )
    assert equal == variational_ece(y, f, recalibrator=OfEvent(np.square))


def test_a_divergence_of_ones_own():
    class Quartic(Divergence):
        def value(self, forecast, proba):
            return ((proba - forecast) ** 4).sum(axis=1)

        def gradient(self, forecast, proba):
            return 4 * (proba - forecast) ** 3

    f, y = binary(32, 20_000)
    truth = OfEvent(np.square)
    result = VariationalECE(divergence=Quartic(), recalibrator=truth).evaluate(y, f)
    error = np.mean((f - f**2) ** 4)
    assert abs(result.value - error) < 4 * result.standard_error  # 1 in 16,000

    class Reversed(Quartic):
        def gradient(self, forecast, proba):
            return -super().gradient(forecast, proba)

    with pytest.raises(ValueError, match="lie above its tangents"):
        variational_ece(y, f, divergence=Reversed(), recalibrator=truth)


# -- manners -------------------------------------------------------------------------


def test_configuration_is_cloned_shown_and_pickled():
    measure = VariationalECE(divergence=["l1", Lp(3)], recalibrator=BetaCalibration())
    twin = clone(measure)
    assert twin.get_params()["recalibrator"] is not measure.recalibrator
    assert "recalibrator=BetaCalibration()" in repr(twin)
    f, y = binary(33, 60)
    result = measure.evaluate(y, f)
    assert pickle.loads(pickle.dumps(measure)).evaluate(y, f).value == result.value
    assert pickle.loads(pickle.dumps(result)).value == result.value
    assert "recalibrated_proba" not in repr(result)
    with pytest.raises(AttributeError):
        result.value = 0.0


def test_nothing_is_printed_or_written(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    f, y = binary(34, 200)
    variational_ece(y, f, n_jobs=2)
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []
    VariationalECE(verbose=2, recalibrator=BetaCalibration()).evaluate(y, f)
    assert "5 out of   5" in "".join(capfd.readouterr())


def test_seeds():
    f, y = binary(35, 100)
    beta = BetaCalibration()
    values = {
        variational_ece(y, f, recalibrator=beta, random_state=seed) for seed in range(4)
    }
    assert len(values) == 4
    assert variational_ece(y, f, recalibrator=beta) in values
    drawn = np.random.RandomState(0)
    assert variational_ece(y, f, recalibrator=beta, random_state=drawn) in values


def test_input_is_left_as_it_was():
    f, y = binary(36, 100)
    weight = np.ones(100)
    proba = np.column_stack([1 - f, f])
    before = [a.copy() for a in (y, proba, weight)]
    for cv in (5, None, "leave-one-out"):
        variational_ece(
            y, proba, recalibrator=KernelCalibration(), cv=cv, sample_weight=weight
        )
    for a, b in zip((y, proba, weight), before, strict=True):
        assert_array_equal(a, b)
