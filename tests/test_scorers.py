"""The scorers inside scikit-learn's own tools."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_blobs, make_multilabel_classification
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import brier_score_loss, get_scorer, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    LeaveOneOut,
    RandomizedSearchCV,
    cross_val_score,
    cross_validate,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import skcal.scorers
from skcal import (
    binned_ece,
    neg_binned_ece_scorer,
    neg_rank_ece_scorer,
    neg_smooth_ece_scorer,
    neg_variational_ece_scorer,
    rank_ece,
    smooth_ece,
    variational_ece,
)
from skcal.metrics._variational import _held_out
from skcal.recalibration import TemperatureScaling
from skcal.scorers import SCORERS

MEASURE = {
    "neg_smooth_ece": smooth_ece,
    "neg_rank_ece": rank_ece,
    "neg_binned_ece": binned_ece,
    "neg_variational_ece": variational_ece,
}
# Copies of a row are in several folds of V-ECE, so weights are no copies there.
WEIGHTED = ["neg_smooth_ece", "neg_binned_ece"]
every_scorer = pytest.mark.parametrize("name", MEASURE)
every_weighted_scorer = pytest.mark.parametrize("name", WEIGHTED)

X2, Y2 = make_blobs(80, centers=2, cluster_std=6, random_state=0)
X3, Y3 = make_blobs(90, centers=3, cluster_std=6, random_state=0)
WORDS = np.array(["ham", "spam", "zebra"])
DATA = {
    "binary": (X2, Y2),
    "binary-strings": (X2, WORDS[Y2]),
    "binary-bool": (X2, Y2.astype(bool)),
    "binary-one-two": (X2, Y2 + 1),
    "binary-signs": (X2, 2 * Y2 - 1),
    "binary-objects": (X2, WORDS[Y2].astype(object)),
    "binary-pandas": (pd.DataFrame(X2), pd.Series(WORDS[Y2], dtype="category")),
    "binary-polars": (X2, pl.Series(WORDS[Y2].tolist())),
    "multiclass": (X3, Y3),
    "multiclass-strings": (X3, WORDS[Y3]),
}


class CountingNB(GaussianNB):
    """Counts the calls of `predict_proba`, which are what costs."""

    calls = 0

    def predict_proba(self, X):
        type(self).calls += 1
        return super().predict_proba(X)


@pytest.fixture(autouse=True)
def _count_from_zero():
    CountingNB.calls = 0


@pytest.fixture(autouse=True)
def _quick_recalibrator(monkeypatch):
    """V-ECE's default takes most of the time and has tests of its own."""
    monkeypatch.setattr(_held_out, "BoostedTemperatureScaling", TemperatureScaling)


@pytest.fixture
def metadata_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def copy_of(scorer):
    return pickle.loads(pickle.dumps(scorer))


def _by_hand(measure, model, X, y, **parameters):
    proba = model.predict_proba(X)
    return -measure(y, proba, labels=model.classes_, **parameters)


# Values -------------------------------------------------------------------------------


@every_scorer
@pytest.mark.parametrize("data", DATA)
def test_scorer_is_the_negative_measure(name, data):
    X, y = DATA[data]
    model = GaussianNB().fit(X, np.asarray(y))
    score = SCORERS[name](model, X, y)
    assert type(score) is float
    assert score == pytest.approx(_by_hand(MEASURE[name], model, X, y), abs=1e-12)


@every_scorer
@pytest.mark.parametrize("only", [0, 1])
@pytest.mark.parametrize("data", ["binary-strings", "binary-one-two", "binary-signs"])
def test_test_rows_of_one_class(name, only, data):
    X, y = DATA[data]
    model = GaussianNB().fit(X, y)
    rows = Y2 == only
    expected = -MEASURE[name](Y2[rows], model.predict_proba(X[rows])[:, 1])
    assert SCORERS[name](model, X[rows], y[rows]) == pytest.approx(expected, abs=1e-12)


@every_scorer
@pytest.mark.parametrize(
    "wrap",
    [
        lambda model: make_pipeline(StandardScaler(), model),
        FrozenEstimator,
        OneVsRestClassifier,
        lambda model: GridSearchCV(model, {"var_smoothing": [1e-9, 1e-3]}, cv=2),
        lambda model: make_pipeline(FrozenEstimator(StandardScaler().fit(X3)), model),
    ],
    ids=["pipeline", "frozen", "one-vs-rest", "search", "frozen-in-pipeline"],
)
def test_wrapped_classifiers(name, wrap):
    y = WORDS[Y3]
    inner = GaussianNB()
    if wrap is FrozenEstimator:
        inner.fit(X3, y)
    model = wrap(inner).fit(X3, y)
    rows = Y3 != 1
    assert SCORERS[name](model, X3[rows], y[rows]) == pytest.approx(
        _by_hand(MEASURE[name], model, X3[rows], y[rows]), abs=1e-12
    )


# Model selection ----------------------------------------------------------------------


@every_scorer
@pytest.mark.parametrize("data", DATA)
def test_cross_val_score(name, data):
    X, y = DATA[data]
    cv = KFold(4, shuffle=True, random_state=0)
    scores = cross_val_score(
        GaussianNB(), X, np.asarray(y), scoring=SCORERS[name], cv=cv
    )
    rows = [
        _by_hand(
            MEASURE[name],
            GaussianNB().fit(np.asarray(X)[train], np.asarray(y)[train]),
            np.asarray(X)[test],
            np.asarray(y)[test],
        )
        for train, test in cv.split(X)
    ]
    assert_allclose(scores, rows, atol=1e-12)


@pytest.mark.parametrize("data", ["binary", "binary-strings", "multiclass-strings"])
def test_scorers_dictionary_as_scoring(data):
    X, y = DATA[data]
    scores = cross_validate(GaussianNB(), X, y, scoring=SCORERS, cv=3)
    for name, scorer in SCORERS.items():
        alone = cross_val_score(GaussianNB(), X, y, scoring=scorer, cv=3)
        assert_allclose(scores[f"test_{name}"], alone, atol=1e-12)


@pytest.mark.parametrize("data", ["binary", "binary-strings", "multiclass"])
def test_our_scorers_share_one_prediction(data):
    X, y = DATA[data]
    cross_validate(CountingNB(), X, y, scoring=SCORERS, cv=3)
    assert CountingNB.calls == 3


def test_scikit_learns_scorers_share_our_prediction_of_many_classes():
    scoring = {"log_loss": "neg_log_loss", **SCORERS}
    scores = cross_validate(CountingNB(), X3, Y3, scoring=scoring, cv=3)
    assert CountingNB.calls == 3
    alone = cross_val_score(GaussianNB(), X3, Y3, scoring="neg_log_loss", cv=3)
    assert_allclose(scores["test_log_loss"], alone)


@pytest.mark.parametrize("ours_first", [True, False])
def test_scikit_learns_scorers_beside_ours_with_two_classes(ours_first):
    """No more than one prediction for theirs and one for ours, whatever the number.

    For two classes scikit-learn caches one column, and which one depends on the scorer
    that asked first: see test_another_scorers_pos_label_does_not_leak_in.
    """
    theirs = {"log_loss": "neg_log_loss", "brier": "neg_brier_score"}
    scoring = {**SCORERS, **theirs} if ours_first else {**theirs, **SCORERS}
    scores = cross_validate(CountingNB(), X2, Y2, scoring=scoring, cv=3)
    assert CountingNB.calls <= 6
    for name, scorer in scoring.items():
        alone = cross_val_score(GaussianNB(), X2, Y2, scoring=scorer, cv=3)
        assert_allclose(scores[f"test_{name}"], alone, atol=1e-12)


@pytest.mark.parametrize("ours_first", [True, False])
@every_scorer
def test_another_scorers_pos_label_does_not_leak_in(name, ours_first):
    """scikit-learn shares one cached column between scorers of different pos_label.

    A scorer with ``pos_label=classes_[0]``, say an average precision of the rare class
    "ham", caches P(ham), and whoever asks for `predict_proba` next is handed that.
    """
    X, y = DATA["binary-strings"]
    brier_of_ham = make_scorer(
        brier_score_loss,
        response_method="predict_proba",
        greater_is_better=False,
        pos_label="ham",
    )
    both = {"ours": SCORERS[name], "theirs": brier_of_ham}
    scoring = both if ours_first else dict(reversed(both.items()))
    scores = cross_validate(GaussianNB(), X, y, scoring=scoring, cv=3)["test_ours"]
    alone = cross_val_score(GaussianNB(), X, y, scoring=SCORERS[name], cv=3)
    assert_allclose(scores, alone, atol=1e-12)


@pytest.mark.parametrize("data", ["binary-strings", "multiclass-strings"])
def test_grid_search_by_log_loss_reports_calibration(data):
    X, y = DATA[data]
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LogisticRegression()),
        {"logisticregression__C": [1e-3, 1.0]},
        scoring={"log_loss": "neg_log_loss", **SCORERS},
        refit="log_loss",
        cv=3,
    ).fit(X, y)
    for name in SCORERS:
        assert np.isfinite(search.cv_results_[f"mean_test_{name}"]).all()


@every_scorer
def test_search_by_the_scorer_itself(name):
    search = GridSearchCV(
        DecisionTreeClassifier(random_state=0),
        {"max_depth": [1, None]},
        scoring=SCORERS[name],
        cv=3,
    ).fit(X3, WORDS[Y3])
    # A tree grown to purity says 0 or 1 and is far too sure of itself.
    assert search.best_params_ == {"max_depth": 1}
    assert search.score(X3, WORDS[Y3]) == SCORERS[name](search, X3, WORDS[Y3])


def test_calibration_error_alone_prefers_a_useless_model():
    """What the module warns of: a constant forecast of the base rate wins."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 1))
    y = (X[:, 0] + 0.3 * rng.normal(size=2000) > 0).astype(int)
    useless, useful = DummyClassifier(strategy="prior"), GaussianNB()
    by_calibration, by_log_loss = (
        [cross_val_score(m, X, y, scoring=s, cv=3).mean() for m in (useless, useful)]
        for s in (neg_smooth_ece_scorer, "neg_log_loss")
    )
    assert by_calibration[0] > by_calibration[1]
    assert by_log_loss[0] < by_log_loss[1]


def test_randomized_search():
    search = RandomizedSearchCV(
        GaussianNB(),
        {"var_smoothing": [1e-9, 1e-3, 1e-1]},
        n_iter=2,
        scoring=neg_smooth_ece_scorer,
        cv=2,
        random_state=0,
    ).fit(X2, WORDS[Y2])
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


# Folds that lack a class --------------------------------------------------------------


@every_scorer
@pytest.mark.parametrize(
    "cv", [KFold(80), LeaveOneOut()], ids=["k-fold", "leave-one-out"]
)
@pytest.mark.parametrize("words", [False, True])
def test_folds_of_one_class_of_two(name, cv, words):
    y = WORDS[Y2] if words else Y2
    model = FrozenEstimator(GaussianNB().fit(X2, y))
    scores = cross_val_score(model, X2, y, scoring=SCORERS[name], cv=cv)
    assert np.isfinite(scores).all()
    if name == "neg_binned_ece" and cv.get_n_splits(X2) == 80:
        p = model.predict_proba(X2)[:, 1]
        assert_allclose(scores, -np.abs(Y2 - p), atol=1e-12)


@every_scorer
def test_folds_of_one_class_of_three(name):
    y = WORDS[Y3[:60]]
    scores = cross_val_score(
        GaussianNB(), X3[:60], y, scoring=SCORERS[name], cv=KFold(60)
    )
    assert np.isfinite(scores).all()


def test_a_class_that_training_lacked_is_an_error():
    """The model cannot have a column for it: no number would be right."""
    rows = Y3 < 2
    model = GaussianNB().fit(X3[rows], WORDS[Y3[rows]])
    with pytest.raises(ValueError, match=r"zebra"):
        neg_smooth_ece_scorer(model, X3, WORDS[Y3])


def test_a_model_that_knows_one_class_only():
    model = DecisionTreeClassifier().fit(X2, np.full(80, "ham"))
    with pytest.raises(ValueError, match=r"class|labels"):
        neg_smooth_ece_scorer(model, X2, np.full(80, "ham"))


# Weights and routing ------------------------------------------------------------------


@every_weighted_scorer
@pytest.mark.parametrize("data", ["binary-strings", "multiclass"])
def test_sample_weight(name, data):
    X, y = DATA[data]
    model = GaussianNB().fit(X, y)
    weight = np.arange(len(y)) % 3
    assert SCORERS[name](model, X, y, sample_weight=weight) == pytest.approx(
        SCORERS[name](model, np.repeat(X, weight, 0), np.repeat(y, weight)), abs=1e-9
    )


@every_weighted_scorer
@pytest.mark.usefixtures("metadata_routing")
def test_routed_sample_weight(name):
    weight = 1.0 + np.arange(80) % 3
    # A request is set on the object itself, and others share this one.
    scorer = copy_of(SCORERS[name]).set_score_request(sample_weight=True)
    model = GaussianNB().set_fit_request(sample_weight=False)
    cv = KFold(2)
    scores = cross_validate(
        model, X2, Y2, scoring=scorer, cv=cv, params={"sample_weight": weight}
    )["test_score"]
    expected = [
        scorer(GaussianNB().fit(X2[a], Y2[a]), X2[b], Y2[b], sample_weight=weight[b])
        for a, b in cv.split(X2)
    ]
    assert_allclose(scores, expected, atol=1e-12)


@every_weighted_scorer
@pytest.mark.usefixtures("metadata_routing")
def test_routed_to_some_scorers_only(name):
    weight = 1.0 + np.arange(80) % 3
    with_weight = copy_of(SCORERS[name]).set_score_request(sample_weight=True)
    without = copy_of(SCORERS[name]).set_score_request(sample_weight=False)
    scores = cross_validate(
        GaussianNB().set_fit_request(sample_weight=False),
        X2,
        Y2,
        scoring={"with": with_weight, "without": without},
        cv=2,
        params={"sample_weight": weight},
    )
    plain = cross_val_score(GaussianNB(), X2, Y2, scoring=SCORERS[name], cv=2)
    assert_allclose(scores["test_without"], plain, atol=1e-12)
    assert np.abs(scores["test_with"] - plain).max() > 1e-6


@every_weighted_scorer
@pytest.mark.usefixtures("metadata_routing")
def test_weight_without_a_request_is_an_error(name):
    if not get_scorer("neg_log_loss").get_metadata_routing().score.requests:
        pytest.skip("this scikit-learn ignores such weights for its own scorers too")
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        cross_validate(
            GaussianNB().set_fit_request(sample_weight=True),
            X2,
            Y2,
            scoring=SCORERS[name],
            params={"sample_weight": np.ones(80)},
        )


@every_scorer
def test_routing_must_be_on_to_set_a_request(name):
    with pytest.raises(RuntimeError, match="routing"):
        SCORERS[name].set_score_request(sample_weight=True)


@every_scorer
def test_without_routing_weights_reach_the_fit_only(name):
    scores = cross_validate(
        GaussianNB(),
        X2,
        Y2,
        scoring=SCORERS[name],
        cv=KFold(2),
        params={"sample_weight": np.ones(80)},
    )
    plain = cross_val_score(GaussianNB(), X2, Y2, scoring=SCORERS[name], cv=KFold(2))
    assert_allclose(scores["test_score"], plain, atol=1e-12)


def test_rank_scorer_says_that_it_takes_no_weights():
    model = GaussianNB().fit(X2, Y2)
    with pytest.raises(TypeError, match="sample_weight"):
        neg_rank_ece_scorer(model, X2, Y2, sample_weight=np.ones(80))


# Objects ------------------------------------------------------------------------------


@every_scorer
@pytest.mark.parametrize(
    "copy", [copy_of, lambda s: clone(s, safe=False)], ids=["pickle", "clone"]
)
def test_copies_score_the_same(name, copy):
    model = GaussianNB().fit(X3, WORDS[Y3])
    scorer = copy(SCORERS[name])
    assert scorer(model, X3, WORDS[Y3]) == SCORERS[name](model, X3, WORDS[Y3])


@every_weighted_scorer
@pytest.mark.usefixtures("metadata_routing")
def test_pickles_keep_the_request(name):
    scorer = copy_of(SCORERS[name]).set_score_request(sample_weight="w")
    requests = copy_of(scorer).get_metadata_routing().score.requests
    assert requests["sample_weight"] == "w"
    # The original was not touched.
    requests = SCORERS[name].get_metadata_routing().score.requests
    assert requests.get("sample_weight") is None


@every_scorer
def test_estimators_that_hold_a_scorer_can_be_cloned(name):
    search = GridSearchCV(GaussianNB(), {}, scoring=SCORERS[name])
    assert clone(search).get_params()["scoring"] is not None
    pickle.loads(pickle.dumps(search))


@every_scorer
def test_get_scorer_passes_it_through(name):
    assert get_scorer(SCORERS[name]) is SCORERS[name]


@every_scorer
def test_repr_names_the_measure_its_sign_and_its_input(name):
    text = repr(SCORERS[name])
    assert MEASURE[name].__name__ in text
    assert "greater_is_better=False" in text
    assert "predict_proba" in text


def test_dictionary_holds_the_public_scorers():
    assert SCORERS == {
        "neg_smooth_ece": neg_smooth_ece_scorer,
        "neg_rank_ece": neg_rank_ece_scorer,
        "neg_binned_ece": neg_binned_ece_scorer,
        "neg_variational_ece": neg_variational_ece_scorer,
    }
    for name, scorer in SCORERS.items():
        assert getattr(skcal.scorers, f"{name}_scorer") is scorer


# Errors -------------------------------------------------------------------------------


class Stringly(ClassifierMixin, BaseEstimator):
    """A classifier whose probabilities are out of range, as a badly written one's."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.tile([-1.0, 2.0], (len(X), 1))


@every_scorer
def test_classifier_without_probabilities(name):
    model = LinearSVC().fit(X2, Y2)
    with pytest.raises(AttributeError, match=r"LinearSVC.*predict_proba"):
        SCORERS[name](model, X2, Y2)


@every_scorer
def test_regressor(name):
    model = LinearRegression().fit(X2, Y2)
    with pytest.raises((AttributeError, ValueError), match=r"predict_proba|classif"):
        SCORERS[name](model, X2, Y2)


@every_scorer
def test_invalid_probabilities_of_the_estimator(name):
    with pytest.raises(ValueError, match="y_proba must lie in"):
        SCORERS[name](Stringly().fit(X2, Y2), X2, Y2)


@every_scorer
def test_multilabel_is_refused(name):
    """Not with the advice to divide each row by its sum."""
    X, y = make_multilabel_classification(60, n_classes=3, random_state=0)
    model = DecisionTreeClassifier(max_depth=2).fit(X, y)
    with pytest.raises(ValueError, match="y_true must be one-dimensional"):
        SCORERS[name](model, X, y)


# make_scorer --------------------------------------------------------------------------


@every_scorer
@pytest.mark.parametrize(
    "data", ["binary", "binary-bool", "binary-signs", "multiclass"]
)
def test_make_scorer_without_our_class(name, data):
    X, y = DATA[data]
    scorer = make_scorer(
        MEASURE[name], response_method="predict_proba", greater_is_better=False
    )
    scores = cross_val_score(GaussianNB(), X, y, scoring=scorer, cv=3)
    ours = cross_val_score(GaussianNB(), X, y, scoring=SCORERS[name], cv=3)
    assert_allclose(scores, ours, atol=1e-12)


@every_scorer
@pytest.mark.parametrize("pos_label", ["ham", "spam"])
def test_make_scorer_with_pos_label(name, pos_label):
    X, y = DATA["binary-strings"]
    scorer = make_scorer(
        MEASURE[name],
        response_method="predict_proba",
        greater_is_better=False,
        pos_label=pos_label,
    )
    model = GaussianNB().fit(X, y)
    column = list(model.classes_).index(pos_label)
    expected = -MEASURE[name](y == pos_label, model.predict_proba(X)[:, column])
    assert scorer(model, X, y) == pytest.approx(expected, abs=1e-12)


def test_make_scorer_with_options():
    scorer = make_scorer(
        binned_ece,
        response_method="predict_proba",
        greater_is_better=False,
        n_bins=5,
        strategy="quantile",
        multiclass="classwise",
    )
    model = GaussianNB().fit(X3, Y3)
    assert scorer(model, X3, Y3) == -binned_ece(
        Y3,
        model.predict_proba(X3),
        n_bins=5,
        strategy="quantile",
        multiclass="classwise",
    )
