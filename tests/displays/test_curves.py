"""The curves of a reliability diagram: what is computed and stored."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression

from skcal import (
    BetaCalibration,
    ReliabilityDisplay,
    TemperatureScaling,
    binned_ece,
    smooth_ece,
)
from tests.displays.samples import KINDS, WORDS, P, Y, every_kind


def _nadaraya_watson(y, p, weight, nodes, bandwidth):
    """Kernel regression with the Gaussian reflected at 0 and 1, by its definition."""
    kernel = np.zeros((nodes.size, p.size))
    for k in range(-3, 4):
        for image in (2 * k + p, 2 * k - p):
            kernel += np.exp(-0.5 * ((nodes[:, None] - image) / bandwidth) ** 2)
    return kernel @ (weight * y) / (kernel @ weight)


def _kernel_density(p, weight, nodes, bandwidth):
    ones = np.ones_like(nodes)
    mass = sum(
        np.exp(-0.5 * ((nodes[:, None] - image) / bandwidth) ** 2)
        for k in range(-3, 4)
        for image in (2 * k + p, 2 * k - p)
    )
    return ones * (mass @ weight) / (bandwidth * np.sqrt(2 * np.pi) * weight.sum())


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.uniform(size=300),
        lambda rng: rng.choice([0.0, 0.2, 0.9, 1.0], size=300),
        lambda rng: rng.beta(0.3, 0.3, size=300),
        lambda rng: rng.normal(0.3, 0.01, size=300),
        lambda rng: np.array([0.4]),
    ],
    ids=["uniform", "atoms", "extreme", "concentrated", "one-row"],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_smooth_curve_is_the_kernel_regression_at_smece(draw, weighted):
    rng = np.random.default_rng(0)
    p = draw(rng)
    y = (rng.uniform(size=p.size) < p**1.5).astype(int)
    weight = rng.choice([0.5, 1.0, 2.0], size=p.size) if weighted else np.ones(p.size)
    display = ReliabilityDisplay.from_predictions(
        y, p, sample_weight=weight if weighted else None
    )
    error = smooth_ece(y, p, sample_weight=weight)
    assert display.calibration_error == pytest.approx(error, rel=1e-9)
    drawn = ~np.isnan(display.prob_true)
    nodes = display.prob_pred[drawn]
    assert_allclose(
        display.prob_true[drawn],
        _nadaraya_watson(y, p, weight, nodes, error),
        atol=1e-7,
    )
    assert_allclose(
        display.density,
        _kernel_density(p, weight, display.density_at, error),
        rtol=1e-6,
        atol=1e-6,
    )
    # It is drawn wherever there are rows.
    distance = np.abs(nodes[:, np.newaxis] - p).min(axis=0)
    assert distance.max() <= 1.01 * np.diff(display.density_at).max()


def test_smooth_curve_stays_out_of_gaps_without_rows():
    p = np.r_[np.linspace(0.05, 0.15, 400), np.linspace(0.85, 0.95, 400)]
    y = np.random.default_rng(0).uniform(size=800) < p
    display = ReliabilityDisplay.from_predictions(y, p)
    assert display.calibration_error < 0.05
    # A line across the gap would claim an observed frequency nobody observed.
    x, height = display.line_.get_data()
    assert np.isnan(height[(x > 0.3) & (x < 0.7)]).all()
    joined = ~np.isnan(height[1:]) & ~np.isnan(height[:-1])
    assert np.diff(x)[joined].max() < 0.1


@pytest.mark.parametrize("y", [[0, 1], [1, 1, 1], [0]], ids=str)
@every_kind
def test_samples_without_error(kind, y):
    display = ReliabilityDisplay.from_predictions(y, np.array(y, float), kind=kind)
    assert display.calibration_error == 0.0
    drawn = display.prob_true[~np.isnan(display.prob_true)]
    assert set(np.round(drawn, 12)) == set(y)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("n_bins", [1, 5, "sqrt", "cbrt", lambda n: n // 20])
def test_binned_curve(strategy, n_bins):
    options = {"n_bins": n_bins, "strategy": strategy}
    display = ReliabilityDisplay.from_predictions(Y, P, kind="binned", **options)
    assert display.calibration_error == pytest.approx(binned_ece(Y, P, **options))
    expected = {1: 1, 5: 5, "sqrt": 15, "cbrt": 6}.get(n_bins, 10)
    assert len(display.prob_true) <= expected
    if strategy == "quantile":
        assert len(display.prob_true) == expected
    assert np.all(np.diff(display.prob_pred) > 0)


@every_kind
def test_density_integrates_to_one(kind):
    display = ReliabilityDisplay.from_predictions(Y, P, kind=kind)
    area = np.mean(display.density)
    if kind == "smooth":
        area -= np.mean(display.density[[0, -1]]) / display.density.size
        area *= display.density.size / (display.density.size - 1)
    assert area == pytest.approx(1.0)


@every_kind
def test_what_is_computed_does_not_depend_on_the_container(kind):
    expected = ReliabilityDisplay.from_predictions(Y, P, kind=kind)
    for y, p in (
        (Y.tolist(), P.tolist()),
        (pd.Series(Y), pd.Series(P)),
        (pl.Series(Y), pl.Series(P)),
        (2 * Y - 1, P[:, np.newaxis]),
        (Y.astype(bool), np.column_stack([1 - P, P])),
    ):
        display = ReliabilityDisplay.from_predictions(y, p, kind=kind)
        assert_array_equal(display.prob_true, expected.prob_true)
        assert_array_equal(display.prob_pred, expected.prob_pred)
        assert display.calibration_error == expected.calibration_error


# Kinds --------------------------------------------------------------------------------


def test_isotonic_curve_is_scikit_learns_regression():
    display = ReliabilityDisplay.from_predictions(Y, P, kind="isotonic")
    model = IsotonicRegression(out_of_bounds="clip").fit(P, Y)
    assert_allclose(
        np.interp(P, display.prob_pred, display.prob_true), model.predict(P)
    )
    brier = display.decomposition["brier"]
    assert display.calibration_error == brier.miscalibration
    assert brier.score == pytest.approx(np.mean((P - Y) ** 2))


@pytest.mark.parametrize("score", ["brier", "log"])
def test_decomposition_in_the_legend(score):
    display = ReliabilityDisplay.from_predictions(
        Y, P, kind="isotonic", decomposition=score
    )
    parts = display.decomposition[score]
    label = display.line_.get_label()
    assert f"MCB {parts.miscalibration:.3f}" in label
    assert f"DSC {parts.discrimination:.3f}" in label
    assert f"UNC {parts.uncertainty:.3f}" in label


@pytest.mark.parametrize("kind", [BetaCalibration(), TemperatureScaling()], ids=repr)
def test_map_of_a_recalibrator(kind):
    display = ReliabilityDisplay.from_predictions(Y, P, kind=kind, name="Model")
    fitted = clone(kind).fit(P, Y)
    assert_allclose(display.prob_true, fitted.transform(display.prob_pred)[:, 1])
    assert display.prob_pred[[0, -1]] == pytest.approx([P.min(), P.max()])
    assert display.line_.get_label() == f"Model ({type(kind).__name__})"
    assert not hasattr(kind, "classes_")
    assert display.confidence_band is None
    both = ReliabilityDisplay.from_predictions(
        Y, P, kind=kind, band="both", n_resamples=20
    )
    _, low, high = both.confidence_band
    inside = (low <= both.prob_true) & (both.prob_true <= high)
    assert inside.mean() > 0.8


def test_map_of_a_recalibrator_of_string_labels():
    display = ReliabilityDisplay.from_predictions(
        WORDS[Y],
        P,
        pos_label="spam",
        kind=BetaCalibration(labels=["ham", "spam"], input="logits"),
    )
    expected = BetaCalibration().fit(P, Y).transform(display.prob_pred)[:, 1]
    assert_allclose(display.prob_true, expected)


def test_a_recalibrators_class_is_no_kind():
    with pytest.raises(ValueError, match=r"write BetaCalibration\(\)"):
        ReliabilityDisplay.from_predictions(Y, P, kind=BetaCalibration)


def test_weights_are_repetitions():
    weight = np.random.default_rng(0).integers(0, 4, size=Y.size)
    rows = np.repeat(np.arange(Y.size), weight)
    for kind in KINDS:
        options = {"kind": kind, "band": None}
        weighted = ReliabilityDisplay.from_predictions(
            Y, P, sample_weight=weight, **options
        )
        repeated = ReliabilityDisplay.from_predictions(Y[rows], P[rows], **options)
        at = repeated.prob_pred
        both = np.isin(np.round(at, 9), np.round(weighted.prob_pred, 9))
        assert both.mean() > 0.95
        curve = np.interp(at, weighted.prob_pred, weighted.prob_true)
        assert_allclose(curve[both], repeated.prob_true[both], atol=1e-6)
        assert weighted.calibration_error == pytest.approx(repeated.calibration_error)
