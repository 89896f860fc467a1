"""The reliability diagram: what is drawn and stored, without looking at pixels."""

import inspect

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibrationDisplay, calibration_curve
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skcal import (
    BetaCalibration,
    ReliabilityDisplay,
    TemperatureScaling,
    binned_ece,
    bootstrap_interval,
    smooth_ece,
)

KINDS = ["smooth", "binned", "isotonic"]
every_kind = pytest.mark.parametrize("kind", KINDS)
X, Y = make_blobs(200, centers=2, cluster_std=6, random_state=0)
WORDS = np.array(["ham", "spam"])
MODEL = LogisticRegression().fit(X, Y)
P = MODEL.predict_proba(X)[:, 1]
DIAGONAL = "Perfectly calibrated"


def _legend(display):
    legend = display.ax_.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


# In place of scikit-learn's display ---------------------------------------------------

# As its documentation calls it.
CALLS = {
    "from_estimator": lambda cls: cls.from_estimator(MODEL, X, Y),
    "from_predictions": lambda cls: cls.from_predictions(Y, P, n_bins=10),
    "named-and-styled": lambda cls: cls.from_estimator(
        MODEL,
        X,
        Y,
        n_bins=10,
        strategy="quantile",
        name="Logistic",
        ax=plt.figure().add_subplot(),
        color="tab:red",
        marker="^",
    ),
    "pos_label": lambda cls: cls.from_estimator(MODEL, X, Y, pos_label=0),
    "no-diagonal": lambda cls: cls.from_predictions(Y, P, ref_line=False),
    "constructed": lambda cls: cls(
        *calibration_curve(Y, P, n_bins=10), P, estimator_name="Mine", pos_label=1
    ).plot(),
    "constructed-plainly": lambda cls: cls(*calibration_curve(Y, P), P).plot(),
    "plotted-again": lambda cls: cls.from_predictions(Y, P).plot(
        ax=plt.figure().add_subplot(), name="Again", ref_line=False, lw=3
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_calls_of_scikit_learns_display(call):
    theirs = CALLS[call](CalibrationDisplay)
    ours = CALLS[call](ReliabilityDisplay)
    assert isinstance(ours, ReliabilityDisplay)
    for attribute in vars(theirs):
        assert hasattr(ours, attribute), attribute
    assert ours.pos_label == theirs.pos_label
    assert_array_equal(ours.y_prob, theirs.y_prob)
    assert len(ours.prob_true) == len(ours.prob_pred)
    assert isinstance(ours.ax_, mpl.axes.Axes)
    assert ours.figure_ is ours.ax_.figure
    assert isinstance(ours.line_, mpl.lines.Line2D)
    assert ours.line_ in ours.ax_.lines
    assert (DIAGONAL in _legend(ours)) == (DIAGONAL in _legend(theirs))
    # What the caller asked for by name is there.
    if theirs.estimator_name not in (None, "Classifier"):
        assert any(theirs.estimator_name in text for text in _legend(ours))


@pytest.mark.parametrize(
    "method", ["__init__", "plot", "from_estimator", "from_predictions"]
)
def test_parameters_of_scikit_learns_display(method):
    def named(cls):
        return set(inspect.signature(getattr(cls, method)).parameters)

    assert named(CalibrationDisplay) <= named(ReliabilityDisplay)


def test_points_are_scikit_learns_where_kind_is_binned():
    theirs = CalibrationDisplay.from_predictions(Y, P, n_bins=7)
    ours = ReliabilityDisplay.from_predictions(Y, P, n_bins=7, kind="binned")
    assert_allclose(ours.prob_true, theirs.prob_true)
    assert_allclose(ours.prob_pred, theirs.prob_pred)


def test_constructed_binary_display_does_not_speak_of_confidence():
    """Points alone do not say that they are of three classes or more."""
    display = ReliabilityDisplay(*calibration_curve(Y, P), P).plot()
    assert "robability" in display.ax_.get_xlabel()
    assert "accuracy" not in display.ax_.get_ylabel()


# What is computed ---------------------------------------------------------------------


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


# Labels -------------------------------------------------------------------------------


@every_kind
def test_pos_label_switches_the_curve(kind):
    first = ReliabilityDisplay.from_estimator(MODEL, X, Y, pos_label=0, kind=kind)
    second = ReliabilityDisplay.from_estimator(MODEL, X, Y, kind=kind)
    assert (first.pos_label, second.pos_label) == (0, 1)
    assert_allclose(first.y_prob, 1 - second.y_prob)
    if kind == "isotonic":
        assert first.calibration_error == pytest.approx(second.calibration_error)
    if kind == "smooth":
        assert first.calibration_error == pytest.approx(second.calibration_error)
        assert_allclose(first.prob_pred, 1 - second.prob_pred[::-1], atol=1e-9)
        assert_allclose(first.prob_true, 1 - second.prob_true[::-1], atol=1e-6)
    assert "positive class: 0" in first.ax_.get_xlabel()
    assert "positive class: 1" in second.ax_.get_ylabel()


@pytest.mark.parametrize("pos_label", [None, "ham", "spam"])
def test_string_labels(pos_label):
    names = WORDS[Y]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, names)
    proba = model.predict_proba(X)
    from_estimator = ReliabilityDisplay.from_estimator(
        model, X, names, pos_label=pos_label
    )
    from_columns = ReliabilityDisplay.from_predictions(
        names, proba, pos_label=pos_label
    )
    column = 0 if pos_label == "ham" else 1
    from_one = ReliabilityDisplay.from_predictions(
        names, proba[:, column], pos_label=pos_label or "spam"
    )
    for display in (from_estimator, from_columns, from_one):
        assert display.pos_label == WORDS[column]
        assert_array_equal(display.y_prob, proba[:, column])
        assert_array_equal(display.prob_true, from_one.prob_true)
        assert WORDS[column] in display.ax_.get_xlabel()


def test_string_labels_with_one_column_need_pos_label():
    with pytest.raises(ValueError, match="pos_label is not specified"):
        ReliabilityDisplay.from_predictions(WORDS[Y], P)


def test_rows_of_one_class():
    names = WORDS[Y]
    model = LogisticRegression().fit(X, names)
    rows = Y == 0
    display = ReliabilityDisplay.from_estimator(model, X[rows], names[rows])
    assert display.pos_label == "spam"
    assert_allclose(display.prob_true, 0.0, atol=1e-7)


@every_kind
@pytest.mark.parametrize("names", [[0, 1, 2], ["a", "b", "c"]], ids=str)
def test_three_classes_show_confidence(kind, names):
    X3, y3 = make_blobs(150, centers=3, cluster_std=5, random_state=1)
    y = np.array(names)[y3]
    model = LogisticRegression().fit(X3, y)
    rows = y3 != 2  # the model knows the third class all the same
    display = ReliabilityDisplay.from_estimator(model, X3[rows], y[rows], kind=kind)
    proba = model.predict_proba(X3[rows])
    right = proba.argmax(axis=1) == y3[rows]
    by_hand = ReliabilityDisplay.from_predictions(right, proba.max(axis=1), kind=kind)
    assert display.pos_label is None
    assert display.ax_.get_xlabel() == "Confidence"
    assert display.ax_.get_ylabel() == "Observed accuracy"
    assert_array_equal(display.prob_true, by_hand.prob_true)
    assert_array_equal(display.y_prob, proba.max(axis=1))
    assert display.calibration_error == by_hand.calibration_error


# Artists ------------------------------------------------------------------------------


@every_kind
def test_line_shows_the_stored_points(kind):
    display = ReliabilityDisplay.from_predictions(Y, P, kind=kind)
    x, y = display.line_.get_data()
    assert_array_equal(x[~np.isnan(y)], display.prob_pred[~np.isnan(y)])
    assert_array_equal(y[~np.isnan(y)], display.prob_true[~np.isnan(y)])
    assert (display.line_.get_marker() in ("None", None, "")) == (kind != "binned")
    assert display.ax_.get_aspect() == 1.0


@every_kind
def test_axes_show_everything(kind):
    display = ReliabilityDisplay.from_predictions(Y, P, kind=kind)
    (left, right), (bottom, top) = display.ax_.get_xlim(), display.ax_.get_ylim()
    assert left <= 0
    assert right >= 1
    assert bottom <= 0
    assert top >= 1
    low, high = display.density_.get_datalim(display.ax_.transData).intervaly
    assert bottom <= low < high <= 0  # the strip is below the diagram


def test_alias_keywords_win_over_defaults():
    display = ReliabilityDisplay.from_predictions(
        Y, P, kind="binned", c="tab:red", lw=4, ls="--", ms=9
    )
    line = display.line_
    assert mpl.colors.same_color(line.get_color(), "tab:red")
    assert (line.get_linewidth(), line.get_linestyle()) == (4, "--")
    assert line.get_markersize() == 9
    # The strip of the density belongs to the line.
    assert mpl.colors.same_color(
        display.density_.get_facecolor()[0][:3], line.get_color()
    )


def test_curve_kwargs_and_keywords_are_joined():
    display = ReliabilityDisplay.from_predictions(
        Y, P, curve_kwargs={"c": "tab:green", "linewidth": 1}, lw=5
    )
    assert mpl.colors.same_color(display.line_.get_color(), "tab:green")
    assert display.line_.get_linewidth() == 5


def test_curve_kwargs_are_not_modified():
    curve_kwargs = {"c": "tab:green"}
    ReliabilityDisplay.from_predictions(Y, P, curve_kwargs=curve_kwargs)
    assert curve_kwargs == {"c": "tab:green"}


@pytest.mark.parametrize(
    "kwargs", [{"colour": "red"}, {"plto_labels": False}, {"c": "r", "color": "b"}]
)
def test_keywords_that_no_line_has(kwargs):
    with pytest.raises((AttributeError, TypeError), match="|".join(kwargs)):
        ReliabilityDisplay.from_predictions(Y, P, **kwargs)


def test_names_in_the_legend():
    def label(display):
        return display.line_.get_label()

    unnamed = ReliabilityDisplay.from_predictions(Y, P)
    low, high = unnamed.error_interval
    error = f"smECE = {unnamed.calibration_error:.3f} [{low:.3f}, {high:.3f}]"
    assert label(unnamed) == error
    plain = ReliabilityDisplay.from_predictions(Y, P, band=None)
    assert label(plain) == f"smECE = {plain.calibration_error:.3f}"
    assert "ECE" in label(ReliabilityDisplay.from_predictions(Y, P, kind="binned"))
    named = ReliabilityDisplay.from_predictions(Y, P, name="Mine")
    assert label(named).startswith("Mine (smECE = ")
    # Where it fits better, what is in brackets has a line of its own.
    broken = label(named).replace(" (", "\n", 1)[:-1]
    assert {label(named), broken} & set(_legend(named))
    by_class = ReliabilityDisplay.from_estimator(MODEL, X, Y)
    assert by_class.estimator_name == "LogisticRegression"
    assert label(by_class).startswith("LogisticRegression (")
    # The latest wish wins: plot's name over the stored one, a label over both.
    assert label(named.plot(name="Yours")).startswith("Yours (")
    assert label(named.plot()).startswith("Mine (")
    assert label(ReliabilityDisplay.from_predictions(Y, P, label="Own")) == "Own"


def test_two_models_on_one_axes_share_one_diagonal():
    _, ax = plt.subplots()
    first = ReliabilityDisplay.from_predictions(Y, P, name="One", ax=ax)
    second = ReliabilityDisplay.from_predictions(Y, P**2, name="Two", ax=ax)
    assert first.ax_ is second.ax_ is ax
    labels = [line.get_label() for line in ax.lines]
    assert labels.count(DIAGONAL) == 1
    assert first.ref_line_ is not None
    assert second.ref_line_ is None
    names = [text.split(" (")[0].split("\n")[0] for text in _legend(second)]
    assert names == ["One", "Two", "95 % confidence band", DIAGONAL]
    assert first.line_.get_color() != second.line_.get_color()


def test_ref_line_can_be_left_out():
    display = ReliabilityDisplay.from_estimator(MODEL, X, Y, ref_line=False)
    assert display.ref_line_ is None
    assert DIAGONAL not in [line.get_label() for line in display.ax_.lines]


def test_ref_line_is_the_diagonal():
    display = ReliabilityDisplay.from_predictions(Y, P)
    assert_array_equal(display.ref_line_.get_xydata(), [[0, 0], [1, 1]])


def test_plot_again_draws_on_new_axes():
    display = ReliabilityDisplay.from_predictions(Y, P)
    first = display.ax_
    assert display.plot() is display
    assert display.ax_ is not first
    _, ax = plt.subplots()
    assert display.plot(ax).ax_ is ax
    assert DIAGONAL in _legend(display)


def test_leaves_pyplots_state_alone():
    current = plt.figure()
    _, ax = plt.subplots()
    plt.figure(current)
    before = dict(mpl.rcParams)
    ReliabilityDisplay.from_predictions(Y, P, ax=ax)
    assert dict(mpl.rcParams) == before
    assert plt.gcf() is current
    assert current.axes == []


def test_shows_nothing(monkeypatch):
    def show(*args, **kwargs):
        raise AssertionError("a display must leave showing to its user")

    monkeypatch.setattr(plt, "show", show)
    monkeypatch.setattr(mpl.figure.Figure, "show", show)
    ReliabilityDisplay.from_predictions(Y, P)


def test_draws_on_figures_without_pyplot():
    figure = mpl.figure.Figure()
    display = ReliabilityDisplay.from_predictions(Y, P, ax=figure.add_subplot())
    assert display.figure_ is figure
    assert plt.get_fignums() == []
    figure.canvas.draw()


@every_kind
def test_figures_can_be_rendered(kind):
    ReliabilityDisplay.from_predictions(Y, P, kind=kind).figure_.canvas.draw()


# Bands --------------------------------------------------------------------------------


@every_kind
def test_confidence_bands_are_the_default(kind):
    display = ReliabilityDisplay.from_predictions(Y, P, kind=kind)
    assert display.consistency_band is None
    assert display.consistency_ is None
    at, low, high = display.confidence_band
    fitted = np.interp(at, display.prob_pred, display.prob_true)
    assert (low <= fitted + 1e-9).all()
    assert (fitted <= high + 1e-9).all()
    assert low.min() >= 0
    assert high.max() <= 1
    assert display.confidence_ in display.ax_.collections
    assert sum("95 % " in text for text in _legend(display)) == 1


@every_kind
def test_both_bands_are_told_apart(kind):
    display = ReliabilityDisplay.from_predictions(
        Y, P, kind=kind, band="both", confidence_level=0.8, n_resamples=50
    )
    texts = " ".join(_legend(display)).replace("\n", " ")
    assert "80 % consistency band" in texts
    assert "if calibrated" in texts
    assert ("80 % Wilson intervals" if kind == "binned" else "80 % confidence") in texts
    wider = ReliabilityDisplay.from_predictions(
        Y, P, kind=kind, band="both", confidence_level=0.99, n_resamples=50
    )
    for name in ("confidence_band", "consistency_band"):
        _, low, high = getattr(display, name)
        _, lower, higher = getattr(wider, name)
        assert (higher - lower).mean() > (high - low).mean()


@every_kind
def test_no_band(kind):
    display = ReliabilityDisplay.from_predictions(Y, P, kind=kind, band=None)
    assert display.confidence_band is display.consistency_band is None
    assert display.error_interval is None
    assert not any("band" in text for text in _legend(display))


@every_kind
def test_bands_depend_on_the_seed_and_the_rows_only(kind):
    options = {"kind": kind, "band": "both", "n_resamples": 50}
    order = np.random.default_rng(0).permutation(Y.size)
    one = ReliabilityDisplay.from_predictions(Y, P, **options)
    same = ReliabilityDisplay.from_predictions(Y[order], P[order], **options)
    other = ReliabilityDisplay.from_predictions(Y, P, random_state=1, **options)
    for name in ("confidence_band", "consistency_band"):
        assert_allclose(getattr(one, name), getattr(same, name), atol=1e-12)
    assert np.any(one.consistency_band[1] != other.consistency_band[1])


def test_interval_of_the_error_is_that_of_its_measure():
    display = ReliabilityDisplay.from_predictions(Y, P, n_resamples=99, random_state=3)
    expected = bootstrap_interval(smooth_ece, Y, P, n_resamples=99, random_state=3)
    assert display.error_interval == (expected.low, expected.high)


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


# Counts, strips -----------------------------------------------------------------------


def test_bins_show_their_counts():
    display = ReliabilityDisplay.from_predictions(Y, P, kind="binned", n_bins=8)
    counts, edges = np.histogram(P, bins=8, range=(0, 1))
    assert_array_equal(display.bin_edges, edges)
    assert_array_equal(display.rows, counts[counts > 0])
    texts = [text.get_text() for text in display.ax_.texts]
    assert texts == [str(count) for count in counts if count]
    assert_allclose(display.density, counts * 8 / Y.size)


@every_kind
def test_strip_by_outcome(kind):
    display = ReliabilityDisplay.from_predictions(Y, P, kind=kind, strip="outcome")
    assert_allclose(display.outcome_density.sum(axis=0), display.density)
    if kind != "smooth":
        widths = np.diff(display.bin_edges) if kind == "binned" else 1 / 40
        shares = (display.outcome_density * widths).sum(axis=1)
        assert_allclose(shares, [np.mean(Y == 0), np.mean(Y == 1)])
    assert {"event", "none"} <= {text.get_text() for text in display.ax_.texts}
    plain = ReliabilityDisplay.from_predictions(Y, P, kind=kind, strip=None)
    assert plain.density_ is None


def _extent(artist):
    heights = np.concatenate([path.vertices[:, 1] for path in artist.get_paths()])
    return heights.min(), heights.max()


def test_strips_of_several_models_do_not_collide():
    _, ax = plt.subplots()
    extents = []
    for power in (1, 2, 3):
        display = ReliabilityDisplay.from_predictions(Y, P**power, ax=ax)
        extents.append(_extent(display.density_))
    for (_, higher), (lower, _) in zip(extents[1:], extents, strict=False):
        assert higher < lower
    assert extents[-1][0] >= ax.get_ylim()[0]
    assert ax.get_yticks().min() >= 0


@pytest.mark.parametrize(
    ("size", "n_models"),
    [
        ((3.0, 3.2), 1),
        ((3.0, 3.2), 2),
        ((5.0, 3.0), 1),
        ((6.4, 4.8), 1),
        ((6.4, 4.8), 4),
        ((10.0, 7.5), 2),
        ((10.0, 7.5), 4),
    ],
    ids=str,
)
def test_legends_hide_no_data(size, n_models):
    figure, ax = plt.subplots(figsize=size, layout="constrained")
    for k in range(n_models):
        display = ReliabilityDisplay.from_predictions(
            Y, P ** (0.6 + 0.5 * k), name=f"Model number {k}", ax=ax, n_resamples=20
        )
    figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    paths = [line.get_xydata() for line in ax.lines]
    paths += [path.vertices for c in ax.collections for path in c.get_paths()]
    points = ax.transData.transform(np.concatenate(paths))
    points = points[np.isfinite(points).all(axis=1)]
    hidden = (points > legend.min) & (points < legend.max)
    assert not hidden.all(axis=1).any()
    # And it stays on the axes.
    box = ax.get_window_extent()
    assert legend.x0 >= box.x0
    assert legend.x1 <= box.x1 + 0.02 * box.width
    assert legend.y1 <= box.y1
    assert display.line_.get_label() in ax.get_legend_handles_labels()[1]


def test_number_of_artists_does_not_grow_with_the_rows():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=100_000)
    y = rng.uniform(size=p.size) < p
    for kind in KINDS:
        ax = ReliabilityDisplay.from_predictions(y, p, kind=kind, n_resamples=20).ax_
        assert len(ax.get_children()) < 50
        sizes = [len(path.vertices) for c in ax.collections for path in c.get_paths()]
        sizes += [line.get_xdata().size for line in ax.lines]
        assert sum(sizes) < 20_000


# Classes, groups, folds ---------------------------------------------------------------

X3, Y3 = make_blobs(300, centers=3, cluster_std=5, random_state=1)
MODEL3 = LogisticRegression().fit(X3, Y3)
P3 = MODEL3.predict_proba(X3)
FEW = {"n_resamples": 20}


@every_kind
def test_classwise_on_a_grid_of_its_own(kind):
    display = ReliabilityDisplay.from_estimator(
        MODEL3, X3, Y3, multiclass="classwise", kind=kind, **FEW
    )
    assert display.several == "classes"
    assert [ax.get_title() for ax in display.ax_] == ["0", "1", "2"]
    assert len({ax.get_ylim() for ax in display.ax_}) == 1
    assert display.figure_.axes == list(display.ax_)
    assert display.figure_.legends  # shared by the panels
    for k in range(3):
        single = ReliabilityDisplay.from_predictions(
            Y3 == k, P3[:, k], kind=kind, **FEW
        )
        assert_array_equal(display.prob_true[k], single.prob_true)
        assert display.calibration_error[k] == single.calibration_error
        assert display.line_[k] in display.ax_[k].lines
    display.figure_.canvas.draw()


def test_classwise_on_given_axes():
    options = {"multiclass": "classwise", **FEW}
    figure, axes = plt.subplots(2, 2)
    display = ReliabilityDisplay.from_predictions(Y3, P3, ax=axes, **options)
    assert list(display.ax_) == list(axes.ravel()[:3])
    assert not figure.legends
    _, ax = plt.subplots()
    together = ReliabilityDisplay.from_predictions(Y3, P3, ax=ax, **options)
    assert together.ax_ is ax
    assert len(together.line_) == 3
    assert len({line.get_color() for line in together.line_}) == 3
    with pytest.raises(ValueError, match="2 axes for 3 classes"):
        ReliabilityDisplay.from_predictions(Y3, P3, ax=axes[0], **options)


def test_classwise_of_two_classes_is_one_curve():
    display = ReliabilityDisplay.from_predictions(Y, P, multiclass="classwise")
    assert display.several is None
    assert display.multiclass is None


GROUPS = np.array(["b", "a"])[(X[:, 0] > 0).astype(int)]


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_groups_share_the_bins_of_all_rows(strategy):
    options = {"kind": "binned", "strategy": strategy, "n_bins": 6}
    whole = ReliabilityDisplay.from_predictions(Y, P, **options)
    display = ReliabilityDisplay.from_predictions(Y, P, groups=GROUPS, **options)
    assert display.curve_names == ["a", "b"]
    for k, name in enumerate(display.curve_names):
        rows = GROUPS == name
        assert_array_equal(display.bin_edges[k], whole.bin_edges)
        cell = np.clip(np.digitize(P[rows], whole.bin_edges) - 1, 0, 5)
        rates = [Y[rows][cell == b].mean() for b in range(6) if np.any(cell == b)]
        assert_allclose(display.prob_true[k], rates)
    by_group = zip(display.prob_pred, display.rows, strict=True)
    total = sum((at * rows).sum() for at, rows in by_group)
    assert total == pytest.approx(P.sum())


@every_kind
def test_groups_are_one_curve_each(kind):
    display = ReliabilityDisplay.from_estimator(
        MODEL, X, Y, groups=GROUPS, kind=kind, **FEW
    )
    assert display.estimator_name is None
    for k, name in enumerate("ab"):
        assert display.line_[k].get_label().startswith(f"{name} (")
        assert_array_equal(display.y_prob[k], P[GROUPS == name])
    if kind == "smooth":
        assert display.density_at[0].size == display.density_at[1].size
        alone = smooth_ece(Y[GROUPS == "a"], P[GROUPS == "a"])
        assert display.calibration_error[0] == pytest.approx(alone)
    again = display.plot(name="Model")
    assert again.line_[0].get_label().startswith("Model, a (")


def test_groups_that_cannot_be_drawn():
    with pytest.raises(ValueError, match=r"groups has.*199"):
        ReliabilityDisplay.from_predictions(Y, P, groups=GROUPS[1:])
    with pytest.raises(ValueError, match=r"groups need multiclass=.confidence"):
        ReliabilityDisplay.from_predictions(Y3, P3, groups=Y3, multiclass="classwise")
    with pytest.raises(ValueError, match="zero throughout a group"):
        ReliabilityDisplay.from_predictions(
            Y, P, groups=GROUPS, sample_weight=GROUPS == "a"
        )


CV_RESULTS = cross_validate(
    LogisticRegression(), X, Y, cv=4, return_estimator=True, return_indices=True
)


@pytest.mark.parametrize("kind", [*KINDS, BetaCalibration()], ids=str)
def test_curves_of_folds(kind):
    display = ReliabilityDisplay.from_cv_results(CV_RESULTS, X, Y, kind=kind)
    assert len(display.line_) == 4
    assert len({line.get_color() for line in display.line_}) == 1
    for k, rows in enumerate(CV_RESULTS["indices"]["test"]):
        p = CV_RESULTS["estimator"][k].predict_proba(X[rows])[:, 1]
        assert_array_equal(display.y_prob[k], p)
        single = ReliabilityDisplay.from_predictions(Y[rows], p, kind=kind, band=None)
        if isinstance(kind, str):
            error = single.calibration_error
            assert display.calibration_error[k] == pytest.approx(error)
        shared = np.isin(display.prob_pred[k], single.prob_pred)
        expected = np.interp(display.prob_pred[k], single.prob_pred, single.prob_true)
        assert_allclose(display.prob_true[k][shared], expected[shared])
    at, mean, deviation = display.mean_curve
    assert_array_equal(display.mean_line_.get_xydata(), np.column_stack([at, mean]))
    assert (deviation >= 0).all()
    middle = np.argmin(np.abs(at - 0.5))
    curves = zip(display.prob_pred, display.prob_true, strict=True)
    heights = [np.interp(at[middle], *curve) for curve in curves]
    assert mean[middle] == pytest.approx(np.mean(heights), abs=2e-3)
    assert deviation[middle] == pytest.approx(np.std(heights), abs=2e-3)


def test_folds_of_their_own_style():
    colors = ["r", "g", "b", "m"]
    display = ReliabilityDisplay.from_cv_results(
        CV_RESULTS,
        X,
        Y,
        name=["One", "Two", "Three", "Four"],
        curve_kwargs=[{"c": color} for color in colors],
        linewidth=3,
    )
    for line, color in zip(display.line_, colors, strict=True):
        assert mpl.colors.same_color(line.get_color(), color)
        assert line.get_linewidth() == 3
    assert display.line_[1].get_label().startswith("Two (smECE")
    with pytest.raises(ValueError, match="list with one for each of the 4 curves"):
        ReliabilityDisplay.from_cv_results(CV_RESULTS, X, Y, curve_kwargs=[{}])


def test_folds_with_weights_and_three_classes():
    results = cross_validate(
        LogisticRegression(), X3, Y3, return_estimator=True, return_indices=True
    )
    display = ReliabilityDisplay.from_cv_results(
        results, X3, Y3, sample_weight=np.ones(300), kind="binned"
    )
    assert display.ax_.get_xlabel() == "Confidence"
    assert len(display.prob_true) == 5


def test_results_that_are_not_of_these_rows():
    lacking = {"estimator": CV_RESULTS["estimator"]}
    with pytest.raises(ValueError, match="return_indices=True"):
        ReliabilityDisplay.from_cv_results(lacking, X, Y)
    with pytest.raises(ValueError, match=r"200.*199"):
        ReliabilityDisplay.from_cv_results(CV_RESULTS, X[1:], Y[1:])


def test_table_of_the_points():
    frame = ReliabilityDisplay.from_predictions(
        Y, P, groups=GROUPS, kind="binned", band="both"
    ).to_frame()
    assert list(frame.columns) == [
        "curve",
        "prob_pred",
        "prob_true",
        "rows",
        "confidence_low",
        "confidence_high",
        "consistency_low",
        "consistency_high",
    ]
    assert set(frame["curve"]) == {"a", "b"}
    assert frame["rows"].sum() == Y.size
    assert (
        frame["prob_true"]
        .between(frame["confidence_low"], frame["confidence_high"])
        .all()
    )


@every_kind
def test_style_is_left_alone(kind):
    before = dict(mpl.rcParams)
    ReliabilityDisplay.from_predictions(Y, P, kind=kind, band="both", **FEW)
    ReliabilityDisplay.from_predictions(
        Y3, P3, kind=kind, multiclass="classwise", **FEW
    )
    ReliabilityDisplay.from_cv_results(CV_RESULTS, X, Y, kind=kind)
    assert dict(mpl.rcParams) == before


# Errors -------------------------------------------------------------------------------


def test_unfitted_classifier():
    with pytest.raises(NotFittedError, match="not fitted"):
        ReliabilityDisplay.from_estimator(LogisticRegression(), X, Y)


def test_classifier_without_probabilities():
    with pytest.raises(AttributeError, match=r"LinearSVC.*predict_proba"):
        ReliabilityDisplay.from_estimator(LinearSVC().fit(X, Y), X, Y)


def test_regressor():
    with pytest.raises((AttributeError, ValueError), match=r"predict_proba|classifier"):
        ReliabilityDisplay.from_estimator(LinearRegression().fit(X, Y), X, Y)


@pytest.mark.parametrize("pos_label", [7, "1"])
def test_absent_pos_label(pos_label):
    with pytest.raises(ValueError, match="pos_label"):
        ReliabilityDisplay.from_estimator(MODEL, X, Y, pos_label=pos_label)
    with pytest.raises(ValueError, match="pos_label"):
        ReliabilityDisplay.from_predictions(Y, P, pos_label=pos_label)


def test_unequal_lengths():
    with pytest.raises(ValueError, match=r"inconsistent.*199.*200"):
        ReliabilityDisplay.from_predictions(Y[1:], P)
    with pytest.raises(ValueError, match=r"sample_weight.*\(200,\)"):
        ReliabilityDisplay.from_predictions(Y, P, sample_weight=np.ones(3))


@pytest.mark.parametrize("kind", ["isotonik", None, ["smooth"], 3])
def test_unknown_kind(kind):
    with pytest.raises(ValueError, match=r"kind must be one of.*smooth.*binned"):
        ReliabilityDisplay.from_predictions(Y, P, kind=kind)
    with pytest.raises(ValueError, match=r"kind must be one of.*smooth.*binned"):
        ReliabilityDisplay(P, P, P, kind=kind).plot()


@pytest.mark.parametrize("strategy", ["kmeans", None])
def test_unknown_strategy(strategy):
    with pytest.raises(ValueError, match="strategy must be one of"):
        ReliabilityDisplay.from_predictions(Y, P, strategy=strategy)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("band", "confidense"),
        ("strip", "rug"),
        ("decomposition", "spherical"),
        ("confidence_level", 95),
        ("n_resamples", 0),
        ("multiclass", "canonical"),
    ],
)
def test_unknown_choices(name, value):
    with pytest.raises(ValueError, match=name):
        ReliabilityDisplay.from_predictions(Y, P, **{name: value})


@every_kind
@pytest.mark.parametrize("n_bins", [0, -1, 2.5, 10.0, "many", None], ids=repr)
def test_invalid_number_of_bins(kind, n_bins):
    """An n_bins that is no number once meant the cube root of n, silently."""
    with pytest.raises(ValueError, match="n_bins"):
        ReliabilityDisplay.from_predictions(Y, P, kind=kind, n_bins=n_bins)


def test_nothing_is_drawn_when_the_input_is_bad():
    with pytest.raises(ValueError, match="NaN"):
        ReliabilityDisplay.from_predictions(Y, np.where(P == P[3], np.nan, P))
    assert plt.get_fignums() == []
