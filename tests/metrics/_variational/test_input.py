"""What V-ECE takes, refuses and leaves alone."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy.special import logit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skcal.divergences import Divergence, Lp
from skcal.metrics import VariationalECE, variational_ece
from skcal.recalibration import BetaCalibration, KernelCalibration, TemperatureScaling
from tests.metrics._variational.samples import Map, OfEvent, binary, vectors


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
        ({"cv": [([0, 1], [2.5])]}, "row numbers or a mask of all 40"),
        ({"cv": [([0, 1], [True])]}, "row numbers or a mask of all 40"),
        ({"cv": [([0, 1], [5, 5])]}, "hold each row at most once: 1 rows"),
        ({"cv": [([0, 1], [1, 2])]}, "trains on 1 of its test rows"),
        (
            {
                "cv": "leave-one-out",
                "recalibrator": KernelCalibration(),
                "groups": [1, 2] * 20,
            },
            "leaves out rows and not groups",
        ),
        ({"groups": [1, 2]}, "groups has 2 and y_proba 40"),
        ({"groups": [[1, 2]] * 40}, r"dimensional.* \(40, 2\) instead\.$"),
        ({"groups": [1.0] * 39 + [np.nan]}, "groups contains NaN .* row 39"),
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
        with pytest.raises(ValueError, match=r"with different names.*`name`"):
            VariationalECE(divergence=divergences).evaluate(y, f)


def test_a_divergence_is_an_object():
    with pytest.raises(ValueError, match=r"Lp is a class.* instance of it: Lp\(\)"):
        variational_ece([0, 1], [0.3, 0.6], divergence=Lp)


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


def test_vectors_of_a_recalibrator_must_sum_to_one():
    f, y, _ = vectors(32, 60)
    # Saves log loss, and is no probability.
    with pytest.raises(ValueError, match=r"must sum to one\. One sums to 2\.7"):
        variational_ece(y, f, recalibrator=Map(lambda p: 0.9 + 0.0 * p))
    rounded = Map(lambda p: p.astype(np.float32))
    assert abs(variational_ece(y, f, divergence="kl", recalibrator=rounded)) < 1e-6


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
