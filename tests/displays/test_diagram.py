"""The drawing of a reliability diagram, without looking at pixels."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate

from skcal import BetaCalibration, ReliabilityDisplay, bootstrap_interval, smooth_ece
from tests.displays.samples import (
    CV_RESULTS,
    DIAGONAL,
    FEW,
    GROUPS,
    KINDS,
    MODEL,
    MODEL3,
    P3,
    X3,
    Y3,
    P,
    X,
    Y,
    every_kind,
    legend_texts,
)

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
    assert {label(named), broken} & set(legend_texts(named))
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
    names = [text.split(" (")[0].split("\n")[0] for text in legend_texts(second)]
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
    assert DIAGONAL in legend_texts(display)


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
    assert sum("95 % " in text for text in legend_texts(display)) == 1


@every_kind
def test_both_bands_are_told_apart(kind):
    display = ReliabilityDisplay.from_predictions(
        Y, P, kind=kind, band="both", confidence_level=0.8, n_resamples=50
    )
    texts = " ".join(legend_texts(display)).replace("\n", " ")
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
    assert not any("band" in text for text in legend_texts(display))


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


# Classes, groups, folds ---------------------------------------------------------------


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


def test_panels_are_whole_in_the_first_file(tmp_path):
    """Titles were cut off, and labels under the legend, until drawn a second time."""
    rng = np.random.default_rng(0)
    y_proba = rng.dirichlet(np.ones(3), 60)
    display = ReliabilityDisplay.from_predictions(
        rng.integers(3, size=60), y_proba, labels=[0, 1, 2], multiclass="classwise"
    )
    figure = display.figure_
    figure.savefig(tmp_path / "panels.png", dpi=figure.dpi)
    legend = figure.legends[0].get_window_extent()
    for ax in display.ax_:
        assert ax.title.get_window_extent().y1 <= figure.bbox.y1
        assert ax.xaxis.label.get_window_extent().y0 >= legend.y1
