"""What users of other calibration tools stumbled over, one test per report.

The ids are those of the project's survey of public issue trackers; each docstring says
where the report comes from and what went wrong there.
"""

import inspect
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import beta, expit, logit, softmax
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, make_scorer, roc_auc_score
from sklearn.model_selection import KFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

import skcal.recalibration
from skcal import (
    BetaCalibration,
    IsotonicCalibration,
    PlattScaling,
    PriorCorrection,
    ProbabilityTransformer,
    RecalibratedClassifierCV,
    ReliabilityDisplay,
    binned_ece,
    neg_binned_ece_scorer,
    neg_rank_ece_scorer,
    neg_smooth_ece_scorer,
    rank_ece,
    rank_ece_test,
    skce_test,
    smooth_ece,
)
from tests.common_checks import assert_valid, logits_and_labels

MEASURES = [smooth_ece, rank_ece, binned_ece]
SCORERS = [neg_smooth_ece_scorer, neg_rank_ece_scorer, neg_binned_ece_scorer]
every_measure = pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.__name__)
RECALIBRATORS = [
    kind
    for kind in map(vars(skcal.recalibration).get, skcal.recalibration.__all__)
    if hasattr(kind, "fit") and hasattr(kind, "transform") and hasattr(kind, "predict")
]
every_recalibrator = pytest.mark.parametrize(
    "kind", RECALIBRATORS, ids=lambda kind: kind.__name__
)
every_binning = pytest.mark.parametrize(
    "options",
    [
        {"n_bins": n_bins, "strategy": strategy}
        for n_bins in (1, 2, 10, 15, "sqrt", "cbrt")
        for strategy in ("uniform", "quantile")
    ],
    ids=str,
)


def _sample(n=500, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.uniform(size=n)
    return (rng.uniform(size=n) < p).astype(int), p


# Wrong numbers ------------------------------------------------------------------------


@pytest.mark.parametrize("n_bins", [1, 5, 10, 15, 20])
def test_w1_probability_one_shares_the_last_bin(n_bins):
    """torchmetrics #3510: 1.0 fell into a hidden bin of its own."""
    assert binned_ece([1, 0], [0.95, 1.0], n_bins=n_bins) == pytest.approx(0.475)
    # Streamed, drawn and weighted bins are the same bins.
    display = ReliabilityDisplay.from_predictions(
        [1, 0], [0.95, 1.0], kind="binned", n_bins=n_bins
    )
    assert len(display.prob_pred) == 1


@pytest.mark.parametrize("n_bins", [2, 3, 7, 10, 15, 100])
def test_w1_every_edge_belongs_to_the_bin_above(n_bins):
    for k in range(n_bins):
        edge, inside = k / n_bins, (k + 0.5) / n_bins
        expected = abs(0.5 - (edge + inside) / 2)
        assert binned_ece([1, 0], [edge, inside], n_bins=n_bins) == pytest.approx(
            expected, abs=1e-12
        ), edge


def test_w2_binary_error_is_against_the_event_rate():
    """torchmetrics #1105: "accuracy" of the argmax or event rate?"""
    p, y = np.array([0.01, 0.001, 0.005]), np.ones(3)
    missing = np.mean(1 - p)
    assert binned_ece(y, p) == pytest.approx(missing)
    assert smooth_ece(y, p) == pytest.approx(missing)
    # Asking for confidence does not change what two classes are measured by.
    assert binned_ece(y, p, multiclass="confidence") == pytest.approx(missing)
    # The other quantity has another input: the confidence and whether it was right.
    assert binned_ece(y == 0, 1 - p) == pytest.approx(missing)


@every_measure
def test_w3_one_column_is_the_positive_class(measure):
    """calibration-framework #17, #25: a good model of a rare event got 0.8."""
    rng = np.random.default_rng(0)
    p = rng.beta(1, 20, size=2000)
    y = (rng.uniform(size=2000) < p).astype(int)
    error = measure(y, p)
    assert abs(error) < 0.03
    assert measure(y, np.column_stack([1 - p, p])) == error
    assert measure(y, 1 - p) > 10 * abs(error)


@pytest.mark.parametrize("seed", range(3))
@every_measure
def test_w13_row_order_of_ties_is_immaterial(measure, seed):
    """MAPIE: 0.0 or 1.0 on the same 100 rows, by their order."""
    y = np.tile([0, 1], 50)
    p = 1.0 - y
    order = np.random.default_rng(seed).permutation(100)
    values = [measure(y[o], p[o]) for o in (slice(None), np.argsort(y), order)]
    assert np.ptp(values) < 1e-12
    assert values[0] > 0.45
    if measure is binned_ece:
        assert values[0] == 1.0
        assert measure(y, p, strategy="quantile") == 1.0


def test_w15_bins_use_their_mean_prediction():
    """pycalib #4, torchmetrics #1907: bin midpoints instead of mean predictions."""
    p, y = [0.25, 0.25, 0.55, 0.75, 0.75], [0, 0, 1, 1, 1]
    assert binned_ece(y, p, n_bins=2) == pytest.approx(0.29)


@every_measure
@pytest.mark.parametrize("y", [[0, 1, 1, 0, 1], [0, 1], [1, 1, 1], [0]], ids=str)
def test_w15_perfect_predictions_have_no_error(measure, y):
    assert measure(y, np.array(y, dtype=float)) == 0.0


@every_binning
def test_w16_constant_forecast_binned(options):
    """TrustLens PR 163: quantile edges collapsed and the error was 0."""
    y = np.tile([0, 1], 50)
    assert binned_ece(y, np.full(100, 0.3), **options) == pytest.approx(0.2)


@pytest.mark.parametrize("scale", ["linear", "logit"])
def test_w16_constant_forecast_without_bins(scale):
    y = np.tile([0, 1], 50)
    assert smooth_ece(y, np.full(100, 0.3), scale=scale) == pytest.approx(0.2)
    # Mean product of two different residuals: ((sum W)^2 - sum W^2) / (n b).
    assert rank_ece(y, np.full(100, 0.3)) == pytest.approx((20**2 - 29) / 100**2)


@every_measure
@pytest.mark.parametrize("multiclass", ["confidence", "classwise"])
def test_errors_stay_within_one(measure, multiclass):
    """uncertainty-metrics #1: a calibration error outside [0, 1] should not be."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        n, k = rng.integers(1, 8), rng.integers(2, 5)
        proba = rng.dirichlet(np.full(k, 0.2), size=n)
        y = rng.integers(0, k, size=n)
        error = measure(y, proba, labels=np.arange(k), multiclass=multiclass)
        assert -1 <= error <= 1
        assert measure is rank_ece or error >= 0


# Crashes and unclear errors -----------------------------------------------------------


@every_measure
def test_c1_probability_zero_is_legal(measure):
    """torchmetrics #1646, #1744: index -1 out of range at p = 0."""
    y, p = [0, 0, 1, 1, 1], [1, 1, 1, 1, 0]
    assert np.isfinite(measure(y, p))
    if measure is binned_ece:
        assert measure(y, p, n_bins=2) == pytest.approx(4 / 5 * 0.5 + 1 / 5 * 1)


@every_measure
def test_c2_a_class_the_model_knows_is_missing(measure):
    """verified_calibration #2, MAPIE #294, #311, sklearn: index out of bounds."""
    assert np.isfinite(measure([0, 0], [[0.6, 0.4], [0.7, 0.3]]))
    proba = np.array([[0.5, 0.3, 0.2], [0.2, 0.7, 0.1], [0.1, 0.1, 0.8]])
    for y in ([0, 1, 1], [2, 2, 2]):
        for multiclass in ("confidence", "classwise"):
            assert np.isfinite(
                measure(y, proba, labels=[0, 1, 2], multiclass=multiclass)
            )
        with pytest.raises(ValueError, match="labels"):
            measure(y, proba)


@every_measure
def test_c3_perfectly_separated_classes(measure):
    """calibration-framework #64: binning failed on AUC = 1."""
    assert measure([0, 1], [0, 1]) == 0.0
    assert measure([0, 1], [0.2, 0.8]) != 0.0


@pytest.mark.parametrize("n_samples", [2, 3, 100])
@every_binning
def test_c3_reversed_predictions_are_all_wrong(n_samples, options):
    y = np.arange(n_samples) % 2
    assert binned_ece(y, 1 - y, **options) == pytest.approx(
        # With one bin over everything the mean forecast is right where classes balance.
        1.0 if options["n_bins"] != 1 else abs(1 - 2 * np.mean(y))
    )


def test_c3_reversed_predictions_without_bins():
    y = np.arange(100) % 2
    # The residuals of both ends cancel in part in a smooth error; on the logit scale
    # they are infinitely far apart.
    assert smooth_ece(y, 1 - y, scale="logit") == pytest.approx(1.0, abs=1e-9)
    assert 0.4 < smooth_ece(y, 1 - y) < 1.0
    # Products of neighbours: 98 of one sign and the pair across the jump.
    assert rank_ece(y, 1 - y) == pytest.approx((98 - 1) / 100)


def test_c5_forecasts_of_one_half_have_an_answer():
    """MAPIE: NaN when all p = 0.5, however wrong."""
    y, p = np.arange(100) < 90, np.full(100, 0.5)
    assert rank_ece_test(y, p).pvalue < 0.001
    assert skce_test(y, p).pvalue <= 0.001
    assert binned_ece(y, p) == pytest.approx(0.4)
    assert smooth_ece(y, p) == pytest.approx(0.4)
    assert rank_ece(y, p) == pytest.approx((40**2 - 25) / 100**2)


@every_measure
def test_c5_forecasts_of_zero_and_one_have_an_answer(measure):
    """MAPIE: OverflowError for p in {0, 1}."""
    y = np.tile([0, 1], 50)
    p = np.where(np.arange(100) < 10, 1 - y, y)
    assert 0 < measure(y, p) < 0.15


@every_measure
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y, p: (y, np.log(p / (1 - p))), "logits"),
        (lambda y, p: (y, 100 * p), "divide by 100"),
        (lambda y, p: (y + 1, p), "pos_label"),
        (lambda y, p: (p, y), "y_true, y_proba"),
        (lambda y, p: (y[:1], p), "inconsistent numbers of samples"),
        (lambda y, p: (y[:0], p[:0]), "minimum of 1"),
        (lambda y, p: (y, np.where(p == p[7], np.nan, p)), "NaN.*row 7"),
        (lambda y, p: (np.array(["no", "yes"])[y], p), "'no', 'yes'.*pos_label"),
    ],
    ids=["logits", "percent", "1/2", "swapped", "length", "empty", "NaN", "strings"],
)
def test_c6_bad_input_is_refused_and_not_measured(measure, change, message):
    """relplot: 2.44 for logits, 68.3 for percents, 22 warnings for a NaN, ..."""
    y, p = change(*_sample())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=message):
            measure(y, p)


@every_measure
def test_c6_labels_of_minus_one_and_one_and_lists(measure):
    """relplot: 0.48 for labels in {-1, 1} and a type error for lists."""
    y, p = _sample()
    assert measure(2 * y - 1, p) == measure(y, p)
    assert measure(y.tolist(), p.tolist()) == measure(y, p)


@every_measure
def test_c8_nan_absent_pos_label_and_one_class(measure):
    """sklearn's calibration_curve: silent NaN point, silent all-zero curve."""
    y, p = _sample()
    with pytest.raises(ValueError, match="NaN"):
        measure(y, np.where(np.arange(500) == 3, np.nan, p))
    with pytest.raises(ValueError, match=r"pos_label=7.*\{0, 1\}"):
        measure(y, p, pos_label=7)
    # One class in y is legal, and the same whichever way it is made known.
    alone = measure(np.zeros(500, dtype=int), p)
    assert alone == measure(np.zeros(500, dtype=int), p, labels=[0, 1])
    assert alone == measure(np.full(500, "no"), p, labels=["no", "yes"])
    assert alone == measure(np.full(500, "no"), p, pos_label="yes")


def test_c8_display_refuses_what_the_measures_refuse():
    y, p = _sample()
    with pytest.raises(ValueError, match="NaN"):
        ReliabilityDisplay.from_predictions(y, np.where(p == p[3], np.nan, p))
    with pytest.raises(ValueError, match="pos_label=7"):
        ReliabilityDisplay.from_predictions(y, p, pos_label=7)


@every_measure
def test_c9_one_nan_in_five_hundred(measure):
    """MAPIE: the NaN is ignored and a finite number comes back."""
    y, p = _sample()
    p[499] = np.nan
    with pytest.raises(ValueError, match="NaN: 1 of 500 values, the first at row 499"):
        measure(y, p)


# Integration with scikit-learn --------------------------------------------------------

STRINGS = {
    "list": list,
    "object": lambda y: np.array(y, dtype=object),
    "pandas": pd.Series,
    "pandas-string": lambda y: pd.Series(y, dtype="string"),
    "pandas-category": lambda y: pd.Series(y, dtype="category"),
    "polars": lambda y: pl.Series(y.tolist()),
    "polars-categorical": lambda y: pl.Series(y.tolist(), dtype=pl.Categorical),
}


@pytest.mark.parametrize("container", STRINGS)
def test_i9_string_labels_have_one_default_everywhere(container):
    """sklearn #21029: from_estimator took them, from_predictions did not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 1))
    names = np.where(X[:, 0] + rng.normal(size=80) > 0, "yes", "no")
    y = STRINGS[container](names)
    model = LogisticRegression().fit(X, names)
    proba = model.predict_proba(X)
    expected = smooth_ece(names == "yes", proba[:, 1])

    assert smooth_ece(y, proba) == expected
    assert smooth_ece(y, proba[:, 1], labels=model.classes_) == expected
    assert neg_smooth_ece_scorer(model, X, y) == -expected
    for display in (
        ReliabilityDisplay.from_estimator(model, X, y),
        ReliabilityDisplay.from_predictions(y, proba),
        ReliabilityDisplay.from_predictions(y, proba[:, 1], labels=["no", "yes"]),
    ):
        assert display.pos_label == "yes"
        assert display.calibration_error == pytest.approx(expected)


@pytest.mark.parametrize("scorer", SCORERS)
@pytest.mark.parametrize("names", [[0, 1, 2], ["a", "b", "c"]], ids=str)
def test_i11_scorers_know_the_classes_of_a_fold_that_lacks_some(scorer, names):
    """sklearn #33207: the Brier scorer is NaN for every fold of KFold(60)."""
    X, y = make_blobs(60, centers=3, cluster_std=4, random_state=0)
    scores = cross_val_score(
        GaussianNB(), X, np.array(names)[y], scoring=scorer, cv=KFold(60)
    )
    assert np.isfinite(scores).all()


@every_measure
def test_i12_make_scorer_for_two_classes_and_for_more(measure):
    """autogluon #2674: a custom probability metric crashed its host."""
    scorer = make_scorer(
        measure, response_method="predict_proba", greater_is_better=False
    )
    for centers in (2, 3):
        X, y = make_blobs(90, centers=centers, cluster_std=4, random_state=0)
        model = GaussianNB().fit(X, y)
        assert scorer(model, X, y) == -measure(y, model.predict_proba(X))


# Recalibrators ------------------------------------------------------------------------


@every_recalibrator
def test_i2_clones_and_documented_arguments(kind):
    """dirichlet_python #1, #5, #6, #18: arguments not stored, or in the docs only."""
    arguments = list(inspect.signature(kind).parameters)
    section = kind.__doc__.split("Parameters\n")[1].split("Attributes\n")[0]
    documented = re.findall(r"^    (\w+) : ", section, flags=re.MULTILINE)
    assert documented == arguments
    model = kind()
    assert list(model.get_params(deep=False)) == sorted(arguments)
    assert str(clone(model)) == str(model)


@every_recalibrator
@pytest.mark.parametrize("n_classes", [2, 3])
def test_f3_repairs_probabilities_without_a_model(kind, n_classes):
    """venn-abers #1, #5, #15: only a model could be calibrated, not its forecasts."""
    logits, y = logits_and_labels(n_classes, 200)
    names = np.array(["a", "b", "c"])[y]
    model = kind().fit(softmax(logits, axis=1), names)
    proba = model.predict_proba(softmax(logits, axis=1))
    assert_valid(proba, logits.shape)
    assert set(model.predict(softmax(logits, axis=1))) <= set(names)
    # The scale is said, never guessed: logits are no probabilities, and are refused.
    with pytest.raises(ValueError, match="logits"):
        kind().fit(logits, names)
    told = kind(input="logits").fit(logits, names)
    np.testing.assert_allclose(told.predict_proba(logits), proba, rtol=1e-5, atol=1e-7)


@every_recalibrator
def test_f4_weights_count(kind):
    """sklearn #8663: weights were not taken, or were dropped on the way.

    That they count as repetitions is a common check of all recalibrators.
    """
    rng = np.random.default_rng(0)
    z = 2.0 * rng.normal(size=600)
    common, rare = np.repeat([True, False], 300), np.repeat([False, True], 300)
    truth = expit(np.where(common, 2.0 * z + 1.5, 0.5 * z - 1.5))
    y = (rng.uniform(size=600) < truth).astype(int)
    if kind is skcal.recalibration.IdentityCalibration:
        pytest.skip("learns nothing")
    model = kind()
    first = model.fit(expit(z), y, sample_weight=1.0 + 19.0 * common)
    first = first.transform(expit(z))[:, 1]
    second = model.fit(expit(z), y, sample_weight=1.0 + 19.0 * rare)
    assert np.abs(first - second.transform(expit(z))[:, 1]).max() > 0.05


def test_f8_variants_of_beta_calibration_really_differ():
    """betacal #1, sklearn #28574: parameters were tied in name only."""
    rng = np.random.default_rng(0)
    y = np.arange(4000) % 2
    p = np.where(y == 1, rng.beta(4, 2, 4000), rng.beta(2, 5, 4000))
    models = {
        form: BetaCalibration(parameters=form).fit(p, y) for form in ("abm", "am", "ab")
    }
    at = np.linspace(0.05, 0.95, 19)
    log_odds = {form: logit(m.transform(at)[:, 1]) for form, m in models.items()}
    # One slope: a straight line of the log odds.
    slopes = np.diff(log_odds["am"]) / np.diff(logit(at))
    np.testing.assert_allclose(slopes, slopes[0])
    # One half stays, and the slopes differ: a log(2 p) - b log(2 (1 - p)).
    assert log_odds["ab"][9] == pytest.approx(0.0, abs=1e-12)
    design = np.column_stack([np.log(2 * at), -np.log(2 - 2 * at)])
    (a, b), residual, *_ = np.linalg.lstsq(design, log_odds["ab"], rcond=None)
    assert residual[0] < 1e-20
    assert abs(a - b) > 0.1
    # Free: the log odds of two Beta distributions, whose shapes are known.
    expected = 2 * np.log(at) - 3 * np.log1p(-at)
    expected += np.log(beta(2, 5) / beta(4, 2))
    np.testing.assert_allclose(expit(log_odds["abm"]), expit(expected), atol=0.03)
    losses = {
        form: log_loss(y, model.transform(p)[:, 1]) for form, model in models.items()
    }
    assert losses["abm"] < min(losses["am"], losses["ab"])


@pytest.mark.parametrize(
    "model",
    [
        RecalibratedClassifierCV(GaussianNB()),
        RecalibratedClassifierCV(GaussianNB(), ensemble=False),
        make_pipeline(ProbabilityTransformer(GaussianNB()), BetaCalibration()),
    ],
    ids=str,
)
def test_s3_folds_run_in_parallel(model):
    """sklearn #17097: folds were fitted one by one; the result is the same."""
    X, y = make_blobs(90, centers=3, cluster_std=2, random_state=0)
    expected = clone(model).fit(X, y).predict_proba(X)
    name = next(n for n in model.get_params() if n.endswith("n_jobs"))
    parallel = clone(model).set_params(**{name: 2}).fit(X, y)
    np.testing.assert_array_equal(parallel.predict_proba(X), expected)


def test_w7_overconfident_classifier_without_a_decision_function():
    """sklearn #34312: Platt scaling got probabilities in place of logits."""
    rng = np.random.default_rng(0)
    y = np.arange(3000) % 2
    z = rng.normal(1.5 * y, 1.0)
    # Ten copies of one feature: GaussianNB's log odds are ten times too large.
    X = np.repeat(z[:, np.newaxis], 10, axis=1)
    model = RecalibratedClassifierCV(GaussianNB(), recalibrator=PlattScaling())
    proba = model.fit(X[:2000], y[:2000]).predict_proba(X[2000:])[:, 1]
    truth = expit(1.5 * z[2000:] - 1.5**2 / 2)
    np.testing.assert_allclose(proba, truth, atol=0.06)


@pytest.mark.parametrize("recalibrator", [None, PlattScaling(), IsotonicCalibration()])
def test_w8_scores_are_never_reversed(recalibrator):
    """sklearn #31222: a slope of the wrong sign made an AUC of a one of 1 - a."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1))
    y = (X[:, 0] + rng.normal(size=400) > 0).astype(int)
    backwards = FrozenEstimator(LogisticRegression().fit(X, 1 - y))
    model = RecalibratedClassifierCV(backwards, recalibrator=recalibrator)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        proba = model.fit(X, y).predict_proba(X)
    assert np.ptp(proba[:, 1]) < 1e-9
    assert proba[0, 1] == pytest.approx(y.mean())
    if not isinstance(recalibrator, IsotonicCalibration):
        assert "in reverse" in str(caught[0].message)


def test_f9_undersampling_is_undone_in_a_pipeline():
    """imbalanced-learn #1128, sklearn #17541: no estimator for Bayes' rule."""
    rng = np.random.default_rng(0)
    y = (rng.uniform(size=20_000) < 0.1).astype(int)
    X = rng.normal(2.0 * y, 1.0)[:, np.newaxis]
    kept = (y == 1) | (rng.uniform(size=20_000) < 0.1)
    model = LogisticRegression(C=1e6).fit(X[kept], y[kept])
    truth = expit(2.0 * X[:, 0] - 2.0 + logit(0.1))
    repaired = PriorCorrection(train_prior={0: 0.5, 1: 0.5}, prior=[0.9, 0.1])
    repaired = repaired.fit(model.predict_proba(X), y).transform(model.predict_proba(X))
    assert np.abs(model.predict_proba(X)[:, 1] - truth).max() > 0.4
    assert np.abs(repaired[:, 1] - truth).max() < 0.06


def test_f10_recalibration_without_ties_and_certainty():
    """sklearn #16321: isotonic had 22 values for 600 rows, and an infinite log loss."""
    y, p = _sample(600)
    plain = IsotonicCalibration().fit(p, y).transform(p)[:, 1]
    strict = IsotonicCalibration(centered=True, strict=True, pseudo_count=1.0)
    kept = strict.fit(p, y).transform(p)[:, 1]
    assert len(np.unique(plain)) < 60
    assert plain.min() == 0.0
    assert len(np.unique(kept)) == 600
    np.testing.assert_array_equal(np.argsort(kept), np.argsort(p))
    assert 0.0 < kept.min()
    assert kept.max() < 1.0
    assert roc_auc_score(y, kept) == roc_auc_score(y, p)


# Pictures -----------------------------------------------------------------------------


def test_p7_three_classes_have_a_diagram():
    """skore #1316: sklearn's display raises for three classes."""
    X, y = make_blobs(90, centers=3, cluster_std=4, random_state=0)
    model = GaussianNB().fit(X, y)
    display = ReliabilityDisplay.from_estimator(model, X, y)
    assert display.calibration_error == smooth_ece(y, model.predict_proba(X))
    assert "onfidence" in display.ax_.get_xlabel()


def test_p8_empty_bins_are_not_drawn():
    """calibration-framework #14: empty bins looked like full bars."""
    display = ReliabilityDisplay.from_predictions(
        [0, 1, 1], [0.05, 0.55, 0.56], kind="binned", n_bins=10
    )
    np.testing.assert_allclose(display.prob_pred, [0.05, 0.555])
    np.testing.assert_allclose(display.prob_true, [0.0, 1.0])


@pytest.mark.parametrize("kind", ["smooth", "binned"])
def test_p9_sample_weight_in_the_display(kind):
    """cyclops #576: sklearn answers sample_weight with an error about Line2D."""
    y, p = _sample(60)
    k = np.arange(60) % 4
    weighted = ReliabilityDisplay.from_predictions(y, p, kind=kind, sample_weight=k)
    repeated = ReliabilityDisplay.from_predictions(
        np.repeat(y, k), np.repeat(p, k), kind=kind
    )
    assert weighted.calibration_error == pytest.approx(repeated.calibration_error)
    if kind == "binned":
        np.testing.assert_allclose(weighted.prob_true, repeated.prob_true)
        np.testing.assert_allclose(weighted.prob_pred, repeated.prob_pred)


# Ready-made rows ----------------------------------------------------------------------


@every_measure
@pytest.mark.parametrize("p", [1.0000001, 1 + 1e-6, -1e-7])
def test_rounding_beyond_the_ends_is_accepted(measure, p):
    assert measure([1, 0], [p, 0.25]) == measure([1, 0], [round(p), 0.25])


@every_measure
def test_columns_lists_and_float32_are_accepted(measure):
    y, p = _sample()
    # Rounded to few bits, so that float32 holds the same numbers.
    p = np.round(p * 256) / 256
    expected = pytest.approx(measure(y, p), abs=1e-12)
    assert measure(y, p[:, np.newaxis]) == expected
    assert measure(y, np.column_stack([1 - p, p])) == expected
    assert measure(y, p.astype(np.float32)) == expected


@every_measure
def test_scores_rounded_to_a_tenth_stay_calibrated(measure):
    """Heavy ties must not look like miscalibration."""
    rng = np.random.default_rng(0)
    p = np.round(rng.uniform(size=20_000), 1)
    y = rng.uniform(size=20_000) < p
    assert abs(measure(y, p)) < 0.015


def test_a_calibrated_model_has_the_null_value_we_document():
    """Users read the null value as miscalibration; the docs give it, so it must hold.

    The figures are for forecasts spread evenly over [0, 1].
    """
    rng = np.random.default_rng(0)
    for n, documented in ((1000, 0.03), (10_000, 0.013)):
        values = []
        for _ in range(20):
            p = rng.uniform(size=n)
            values.append(smooth_ece(rng.uniform(size=n) < p, p))
        assert np.mean(values) == pytest.approx(documented, rel=0.15)
