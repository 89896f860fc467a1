"""Errors side by side: the numbers are the measures', the picture shows them."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.stats import norm
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import KFold, StratifiedKFold, cross_validate
from sklearn.naive_bayes import GaussianNB

from skcal import (
    BetaCalibration,
    CalibrationErrorDisplay,
    TemperatureScaling,
    VariationalECE,
    binned_ece,
    bootstrap_interval,
    calibrated_reference,
    rank_ece,
    smooth_ece,
)

matplotlib.use("Agg")
QUICK = {"n_resamples": 50, "recalibrator": BetaCalibration()}
ALL = ["smooth_ece", "rank_ece", "variational_ece", "binned_ece"]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def draw(seed=0, n=300):
    rng = np.random.default_rng(seed)
    good = rng.uniform(size=n)
    y = (rng.uniform(size=n) < good).astype(int)
    return y, {"bold": good**2 / (good**2 + (1 - good) ** 2), "good": good}


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_numbers():
    y, probas = draw()
    display = CalibrationErrorDisplay.from_predictions(y, probas, measures=ALL, **QUICK)
    by = {(e.name, e.measure): e for e in display.estimates}
    functions = {"smooth_ece": smooth_ece, "rank_ece": rank_ece}
    functions["binned_ece"] = binned_ece
    for name, f in probas.items():
        for measure, function in functions.items():
            estimate = by[name, measure]
            assert estimate.value == pytest.approx(function(y, f))
            interval = bootstrap_interval(
                function, y, f, n_resamples=50, random_state=0
            )
            assert (estimate.low, estimate.high) == (interval.low, interval.high)
            assert estimate.over is None
        reference = calibrated_reference(
            smooth_ece, f, n_resamples=50, random_state=0, quantiles=(0.95,)
        )
        assert by[name, "smooth_ece"].reference == reference.quantiles[0.95]
        result = VariationalECE(recalibrator=BetaCalibration()).evaluate(y, f)
        estimate = by[name, "variational_ece"]
        assert estimate.value == result.value
        assert estimate.over + estimate.under == pytest.approx(result.value)
        margin = norm.ppf(0.975) * result.standard_error
        assert estimate.low == pytest.approx(result.value - margin)
        assert estimate.high == pytest.approx(result.value + margin)


@pytest.mark.parametrize(
    ("loss", "score"), [("brier_score", brier_score_loss), ("log_loss", log_loss)]
)
def test_split_of_a_loss(loss, score):
    y, probas = draw(1)
    display = CalibrationErrorDisplay.from_predictions(y, probas, loss=loss, **QUICK)
    for estimate in display.estimates:
        total = estimate.value + estimate.refinement
        assert total == pytest.approx(score(y, probas[estimate.name]))
    ax = display.ax_
    assert legend_of(ax) == ["refinement", "calibration"]
    points = [line.get_xdata() for line in ax.lines if line.get_marker() == "o"]
    totals = sorted(e.value + e.refinement for e in display.estimates)
    np.testing.assert_allclose(np.ravel(points), totals)


def test_rows_are_models_and_the_best_comes_first():
    y, probas = draw(2)
    display = CalibrationErrorDisplay.from_predictions(y, probas, **QUICK)
    ax = display.ax_
    assert [t.get_text() for t in ax.get_yticklabels()] == ["good", "bold"]
    assert ax.get_xlabel() == "smECE"
    low, high = ax.get_ylim()
    assert low > high  # the first row is at the top
    assert legend_of(ax) == ["95 % of calibrated models"]
    unsorted = display.plot(sort=False).ax_
    assert unsorted is not ax
    assert [t.get_text() for t in unsorted.get_yticklabels()] == ["bold", "good"]
    points = [line.get_xdata()[0] for line in unsorted.lines]
    assert points == [estimate.value for estimate in display.estimates]


def test_rows_of_a_single_model_are_measures():
    y, probas = draw(3)
    display = CalibrationErrorDisplay.from_predictions(
        y, probas["bold"], measures=ALL, **QUICK
    )
    labels = [t.get_text() for t in display.ax_.get_yticklabels()]
    assert labels == ["smECE", "rankECE (squared)", "V-ECE, L1", "ECE, 15 bins"]
    assert "over-confident" in legend_of(display.ax_)


def test_several_models_and_measures():
    y, probas = draw(4)
    display = CalibrationErrorDisplay.from_predictions(
        y, probas, measures=["smooth_ece", "binned_ece"], **QUICK
    )
    assert {"smECE", "ECE, 15 bins"} < set(legend_of(display.ax_))
    heights = [line.get_ydata()[0] for line in display.ax_.lines]
    assert len(set(heights)) == 4


def test_estimators():
    X, y = make_classification(400, random_state=0)
    words = np.array(["no", "yes"])[y]
    models = [GaussianNB().fit(X[:200], words[:200]) for _ in range(2)]
    models.append(LogisticRegression().fit(X[:200], words[:200]))
    display = CalibrationErrorDisplay.from_estimators(
        models, X[200:], words[200:], sort=False, **QUICK
    )
    names = [estimate.name for estimate in display.estimates]
    assert names == ["GaussianNB", "GaussianNB 2", "LogisticRegression"]
    for model, estimate in zip(models, display.estimates, strict=True):
        proba = model.predict_proba(X[200:])
        assert estimate.value == pytest.approx(smooth_ece(words[200:], proba))
    other = CalibrationErrorDisplay.from_estimators(
        models[0], X[200:], words[200:], pos_label="no", **QUICK
    )
    assert other.estimates[0].value == pytest.approx(display.estimates[0].value)


def test_more_classes():
    X, y = make_classification(
        400, n_classes=3, n_informative=6, n_redundant=0, random_state=0
    )
    model = GaussianNB().fit(X[:200], y[:200])
    proba, truth = model.predict_proba(X[200:]), y[200:]
    options = {"recalibrator": TemperatureScaling(), "n_resamples": 50}
    for multiclass in ("confidence", "classwise"):
        display = CalibrationErrorDisplay.from_estimators(
            model, X[200:], truth, measures=ALL, multiclass=multiclass, **options
        )
        value = {e.measure: e.value for e in display.estimates}
        assert value["smooth_ece"] == pytest.approx(
            smooth_ece(truth, proba, multiclass=multiclass)
        )
        assert value["rank_ece"] == pytest.approx(
            rank_ece(truth, proba, multiclass=multiclass)
        )
    display = CalibrationErrorDisplay.from_estimators(
        model, X[200:], truth, loss="log_loss", **options
    )
    (estimate,) = display.estimates
    assert estimate.value + estimate.refinement == pytest.approx(log_loss(truth, proba))


def test_cv_results():
    X, y = make_classification(300, random_state=0)
    keep = {"return_estimator": True, "return_indices": True}
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    results = {
        "Bayes": cross_validate(GaussianNB(), X, y, cv=folds, **keep),
        "forest": cross_validate(
            RandomForestClassifier(5, random_state=0), X, y, cv=folds, **keep
        ),
    }
    weight = np.random.default_rng(0).uniform(size=300)
    display = CalibrationErrorDisplay.from_cv_results(
        results, X, y, sample_weight=weight, **QUICK
    )
    rows = np.concatenate(results["Bayes"]["indices"]["test"])
    for estimate in display.estimates:
        proba = np.concatenate(
            [
                model.predict_proba(X[test])[:, 1]
                for model, test in zip(
                    results[estimate.name]["estimator"],
                    results[estimate.name]["indices"]["test"],
                    strict=True,
                )
            ]
        )
        expected = smooth_ece(y[rows], proba, sample_weight=weight[rows])
        assert estimate.value == pytest.approx(expected)
    one = CalibrationErrorDisplay.from_cv_results(results["Bayes"], X, y, **QUICK)
    assert len(one.estimates) == 1
    results["other"] = cross_validate(GaussianNB(), X, y, cv=KFold(3), **keep)
    with pytest.raises(ValueError, match="validated on the same folds"):
        CalibrationErrorDisplay.from_cv_results(results, X, y, **QUICK)
    with pytest.raises(ValueError, match="must have the keys 'estimator'"):
        CalibrationErrorDisplay.from_cv_results(
            cross_validate(GaussianNB(), X, y), X, y
        )


def test_axes_given_and_global_state_left_alone():
    y, probas = draw(5)
    before = dict(matplotlib.rcParams)
    ax = Figure().add_subplot()
    display = CalibrationErrorDisplay.from_predictions(y, probas, ax=ax, **QUICK)
    assert display.ax_ is ax
    assert plt.get_fignums() == []
    assert dict(matplotlib.rcParams) == before


def test_axes_that_share_x_show_all_errors():
    y, probas = draw(8)
    for first, second in ((y, 1 - y), (1 - y, y)):
        figure = Figure()
        axes = figure.subplots(2, sharex=True)
        for ax, outcome in zip(axes, (first, second), strict=True):
            CalibrationErrorDisplay.from_predictions(outcome, probas, ax=ax, **QUICK)
        low, high = axes[0].get_xlim()
        assert low == 0.0
        for ax in axes:
            for line in ax.lines:
                assert low <= np.min(line.get_xdata()) <= high


def test_negative_errors_stay_in_sight_on_axes_that_share_x():
    y, probas = draw(9)
    axes = Figure().subplots(2, sharex=True)
    measures = ("variational_ece", "smooth_ece")
    shown = [
        CalibrationErrorDisplay.from_predictions(
            y, {"calibrated": probas["good"]}, measures=measure, ax=ax, **QUICK
        )
        for ax, measure in zip(axes, measures, strict=True)
    ]
    lowest = shown[0].estimates[0].low
    assert lowest < 0.0
    assert axes[0].get_xlim()[0] < lowest
    # Where zero is inside, it is marked.
    assert all(list(ax.lines[-1].get_xdata()) == [0.0, 0.0] for ax in axes)


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_legend_stays_within_the_figure(style):
    y, probas = draw(10)
    named = {f"a model with a name that is long, {k}": p for k, p in probas.items()}
    with plt.style.context(style):
        display = CalibrationErrorDisplay.from_predictions(
            y, named, measures=["smooth_ece", "variational_ece", "binned_ece"], **QUICK
        )
        figure = display.figure_
        figure.canvas.draw()
        box = display.ax_.get_legend().get_window_extent()
        assert box.x0 >= 0.0
        assert box.x1 <= figure.bbox.x1


def test_dark_style():
    y, probas = draw(6)
    with plt.style.context("dark_background"):
        display = CalibrationErrorDisplay.from_predictions(y, probas, **QUICK)
        assert display.ax_.lines[0].get_color() == "white"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measures": "ece"}, "measures must be one of"),
        ({"measures": []}, "one or more, each once"),
        ({"measures": ["smooth_ece"] * 2}, "one or more, each once"),
        ({"loss": "brier"}, "loss must be one of"),
        ({"measures": "rank_ece", "sample_weight": np.ones(300)}, "sample_weight"),
        ({"confidence_level": 2}, "confidence_level"),
    ],
)
def test_what_is_wrong_is_named(options, message):
    y, probas = draw(7)
    with pytest.raises(ValueError, match=message):
        CalibrationErrorDisplay.from_predictions(y, probas, **{**QUICK, **options})


def test_no_models():
    with pytest.raises(ValueError, match="one model at least"):
        CalibrationErrorDisplay.from_predictions([0, 1], {})
    with pytest.raises(ValueError, match="one classifier at least"):
        CalibrationErrorDisplay.from_estimators([], [[0]], [0])
