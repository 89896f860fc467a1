"""The reliability diagram: what is drawn and stored, without looking at pixels."""

import inspect

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibrationDisplay, calibration_curve
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skcal import ReliabilityDisplay
from tests.displays.samples import (
    CV_RESULTS,
    DIAGONAL,
    FEW,
    GROUPS,
    MODEL,
    P3,
    WORDS,
    Y3,
    P,
    X,
    Y,
    every_kind,
    legend_texts,
)

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
    assert (DIAGONAL in legend_texts(ours)) == (DIAGONAL in legend_texts(theirs))
    # What the caller asked for by name is there.
    if theirs.estimator_name not in (None, "Classifier"):
        assert any(theirs.estimator_name in text for text in legend_texts(ours))


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
