"""V-ECE against its definition, exact relations, and what must change nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import KFold, LeaveOneOut

from skcal.divergences import Lp, SquaredEuclidean
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
from tests.metrics._variational.samples import (
    NAMES,
    SEPARABLE,
    OfEvent,
    binary,
    vectors,
)

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
