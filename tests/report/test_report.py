"""The report: its numbers are the measures', its words follow from them."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit, ndtri
from sklearn.metrics import brier_score_loss, log_loss

from skcal import (
    BetaCalibration,
    TemperatureScaling,
    VariationalECE,
    binned_ece,
    bootstrap_interval,
    calibrated_reference,
    calibration_report,
    rank_ece,
    rank_ece_test,
    smooth_ece,
)
from skcal.report._rows import COLUMNS

QUICK = {"recalibrator": BetaCalibration(), "n_resamples": 100}
QUICK_VECTORS = {"recalibrator": TemperatureScaling(), "n_resamples": 100}


def binary(seed, n, truth=lambda f: f):
    rng = np.random.default_rng(seed)
    f = rng.uniform(size=n)
    return (rng.uniform(size=n) < truth(f)).astype(int), f


def vectors(seed, n, sharpness=1.0):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, 3))
    truth = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = (truth.cumsum(axis=1) < rng.uniform(size=(n, 1))).sum(axis=1)
    f = truth**sharpness
    return np.minimum(y, 2), f / f.sum(axis=1, keepdims=True)


def squeezed(slope):
    return lambda f: expit(slope * logit(f))


def test_numbers_of_two_classes():
    y, f = binary(0, 500, squeezed(0.5))
    report = calibration_report(y, f, output_dict=True, **QUICK)
    value = {name: row.get("value") for name, row in report.items()}
    assert value["smooth_ece"] == smooth_ece(y, f)
    assert value["rank_ece"] == pytest.approx(rank_ece(y, f))
    assert value["binned_ece"] == pytest.approx(binned_ece(y, f))
    result = VariationalECE(
        divergence=["l1", "brier", "kl"], recalibrator=BetaCalibration()
    ).evaluate(y, f)
    assert value["variational_ece_l1"] == pytest.approx(result.value["l1"])
    assert value["variational_ece_brier"] == pytest.approx(result.value["brier"])
    assert value["over_confidence"] == pytest.approx(result.over["l1"])
    assert value["under_confidence"] == pytest.approx(result.under["l1"])
    assert value["brier_score"] == pytest.approx(brier_score_loss(y, f))
    assert value["log_loss"] == pytest.approx(log_loss(y, f))
    for loss, stem in (("brier_score", "brier"), ("log_loss", "log_loss")):
        parts = value[f"{stem}_calibration"] + value[f"{stem}_refinement"]
        assert parts == pytest.approx(value[loss])
    assert value["mean_forecast"] == pytest.approx(f.mean())
    assert value["observed_rate"] == pytest.approx(y.mean())
    test = rank_ece_test(y, f, random_state=0)
    assert report["rank_ece_test"]["pvalue"] == pytest.approx(test.pvalue)
    interval = bootstrap_interval(smooth_ece, y, f, n_resamples=100, random_state=0)
    assert report["smooth_ece"]["low"] == pytest.approx(interval.low)
    assert report["smooth_ece"]["high"] == pytest.approx(interval.high)
    reference = calibrated_reference(
        smooth_ece, f, n_resamples=100, random_state=0, quantiles=(0.95,)
    )
    assert report["smooth_ece"]["reference_mean"] == pytest.approx(reference.mean)
    assert report["smooth_ece"]["reference_high"] == pytest.approx(
        reference.quantiles[0.95]
    )
    for name, row in report.items():
        if name != "summary":
            assert tuple(row) == COLUMNS
            assert all(isinstance(number, float) for number in row.values())


def test_references_of_the_losses_by_simulation():
    """Mean and 95 % quantile of 4,000 simulations, within 5 standard errors of them."""
    rng = np.random.default_rng(1)
    _, f = binary(1, 60)
    y3, f3 = vectors(1, 60)
    for y, p in ((binary(1, 60)[0], f), (y3, f3)):
        options = QUICK if p.ndim == 1 else QUICK_VECTORS
        report = calibration_report(y, p, output_dict=True, **options)
        proba = np.column_stack([1 - p, p]) if p.ndim == 1 else p
        chance = rng.uniform(size=(4_000, 60, 1))
        drawn = (proba.cumsum(axis=1) < chance).sum(axis=2).clip(max=proba.shape[1] - 1)
        happened = np.take_along_axis(proba[np.newaxis], drawn[..., np.newaxis], 2)
        losses = {"log_loss": -np.log(happened[..., 0]).mean(axis=1)}
        brier = ((np.eye(proba.shape[1])[drawn] - proba) ** 2).sum(axis=2)
        losses["brier_score"] = brier.mean(axis=1) / (2 if p.ndim == 1 else 1)
        for name, values in losses.items():
            spread = values.std()
            mean, high = (report[name][k] for k in ("reference_mean", "reference_high"))
            assert abs(mean - values.mean()) < 5 * spread / np.sqrt(4_000)
            # The quantile of the normal limit: a tenth of the spread off at most.
            assert abs(high - np.quantile(values, 0.95)) < 0.2 * spread


def test_numbers_of_more_classes():
    y, f = vectors(2, 400, sharpness=2.0)
    words = np.array(["a", "b", "c"])[y]
    report = calibration_report(words, f, output_dict=True, **QUICK_VECTORS)
    assert report["smooth_ece: top class"]["value"] == pytest.approx(smooth_ece(y, f))
    assert report["log_loss"]["value"] == pytest.approx(log_loss(y, f))
    assert report["brier_score"]["value"] == pytest.approx(
        np.mean(np.sum((np.eye(3)[y] - f) ** 2, axis=1))
    )
    canonical = VariationalECE(recalibrator=TemperatureScaling()).evaluate(y, f)
    assert report["variational_ece_l1"]["value"] == pytest.approx(canonical.value)
    tests = rank_ece_test(words, f, multiclass="classwise", random_state=0).by_class
    for k, label in enumerate("abc"):
        row = report[f"smooth_ece: {label}"]
        assert row["value"] == pytest.approx(smooth_ece(y == k, f[:, k]))
        assert report[f"observed_rate: {label}"]["value"] == np.mean(y == k)
        pvalue = report[f"rank_ece_test: {label}"]["pvalue"]
        assert pvalue == pytest.approx(tests[label].pvalue)
    table = pd.DataFrame(report).T
    assert set(COLUMNS) < set(table.columns)
    text = calibration_report(words, f, **QUICK_VECTORS)
    for part in (
        "Whole vectors",
        "Top class",
        "Class",
        "accuracy",
        "top probabilities",
    ):
        assert part in text


def test_groups():
    y, f = binary(3, 400, squeezed(0.5))
    groups = np.repeat(["x", "y"], [150, 250])
    report = calibration_report(y, f, groups=groups, output_dict=True, **QUICK)
    assert list(report) == [None, "x", "y"]
    alone = calibration_report(y[:150], f[:150], output_dict=True, **QUICK)
    for name, row in report["x"].items():
        if name != "summary":
            np.testing.assert_allclose(list(row.values()), list(alone[name].values()))
    assert report[None]["n_samples"]["value"] == 400
    text = calibration_report(y, f, groups=groups, **QUICK)
    assert text.count("Calibration of") == 3
    assert "Group x: Calibration of 150 forecasts of 1" in text


def test_weights():
    y, f = binary(4, 300, squeezed(0.5))
    weight = np.random.default_rng(0).integers(0, 3, 300)
    report = calibration_report(y, f, sample_weight=weight, output_dict=True, **QUICK)
    assert "rank_ece" not in report
    assert "rank_ece_test" not in report
    for name, expected in (
        ("smooth_ece", smooth_ece(y, f, sample_weight=weight)),
        ("brier_score", brier_score_loss(y, f, sample_weight=weight)),
        ("log_loss", log_loss(y, f, sample_weight=weight)),
        ("observed_rate", np.average(y, weights=weight)),
    ):
        assert report[name]["value"] == pytest.approx(expected)
    assert "rankECE" not in calibration_report(y, f, sample_weight=weight, **QUICK)


@pytest.mark.parametrize(
    ("truth", "said", "unsaid"),
    [
        (squeezed(0.4), ["Miscalibrated", "Over-confident: "], ["under-confident in"]),
        (squeezed(2.5), ["Miscalibrated", "Under-confident: "], ["Over"]),
        (
            lambda f: 0.7 * f,
            ["Over-confident in places", "and under-confident in others", " exceed "],
            ["fall short"],
        ),
        (lambda f: 0.3 + 0.7 * f, ["Miscalibrated", "fall short of"], ["exceed"]),
        (lambda f: f, ["Not shown to be miscalibrated", "is not ruled out"], ["Over"]),
    ],
    ids=["over", "under", "too high", "too low", "calibrated"],
)
def test_words(truth, said, unsaid):
    y, f = binary(5, 3_000, truth)
    summary = calibration_report(y, f, output_dict=True, **QUICK)["summary"]["text"]
    assert all(part in summary for part in said), summary
    assert not any(part in summary for part in unsaid), summary


@pytest.mark.simulation
def test_words_of_calibrated_forecasts_are_wrong_in_one_of_twenty_samples():
    """At most 14 of 100: more has the probability 4e-4 if one in twenty is wrong."""
    wrong = 0
    for seed in range(100):
        y, f = binary(seed, 200)
        options = {"recalibrator": TemperatureScaling(), "n_resamples": 2}
        report = calibration_report(y, f, output_dict=True, **options)
        wrong += report["summary"]["text"].startswith("Miscalibrated")
    assert wrong <= 14


def test_v_ece_alone_must_be_above_zero_on_both_sides():
    """Chance lifts it in either direction, if all folds take the same."""
    level = {"recalibrator": TemperatureScaling(), "n_resamples": 2}
    seen = set()
    for seed in range(40):
        y, f = binary(seed, 400, squeezed(0.8))
        weight = np.ones(400)
        weight[0] = 2.0  # no test by rankECE
        report = calibration_report(
            y, f, output_dict=True, sample_weight=weight, **level
        )
        row = report["variational_ece_l1"]
        deviations = row["value"] / (row["high"] - row["value"]) * ndtri(0.975)
        wrong = report["summary"]["text"].startswith("Miscalibrated")
        assert wrong == (deviations > ndtri(0.9875))
        seen.add((bool(deviations > ndtri(0.975)), wrong))
    assert seen == {(False, False), (True, False), (True, True)}


def test_text():
    y, f = binary(6, 300, squeezed(0.5))
    report = calibration_report(y, f, **QUICK)
    assert report.endswith("\n")
    assert max(map(len, report.splitlines())) <= 80
    assert report.splitlines()[0] == "Calibration of 300 forecasts of 1"
    assert re.search(r"^smECE +0\.\d{4} +\[0\.\d{4}, 0\.\d{4}\] ", report, re.M)
    assert report == calibration_report(y, f, **QUICK)
    short = calibration_report(y, f, digits=2, **QUICK)
    assert re.search(r"^smECE +0\.\d\d +\[0\.\d\d, 0\.\d\d\] ", short, re.M)


def test_order_of_rows_and_jobs_change_nothing():
    y, f = binary(7, 300, squeezed(0.5))
    order = np.random.default_rng(0).permutation(300)
    expected = calibration_report(y, f, **QUICK)
    assert calibration_report(y[order], f[order], **QUICK) == expected
    assert calibration_report(y, f, n_jobs=2, **QUICK) == expected


@pytest.mark.parametrize(
    ("y", "f"),
    [
        ([1], [0.3]),
        ([0, 1], [0.2, 0.9]),
        ([1, 1, 1], [0.2, 0.9, 0.5]),
        ([0, 1, 1], [0.0, 1.0, 1.0]),
        ([1, 0, 0], [0.0, 1.0, 1.0]),
        ([0, 1] * 20, [0.3] * 40),
    ],
)
def test_odd_samples(y, f):
    summary = calibration_report(y, f, **QUICK).split("\n\n")[-1]
    assert summary.startswith(("Miscalibrated", "Not shown to be miscalibrated"))
    assert ("All outcomes are the same" in summary) == (len(set(y)) == 1)


def test_a_top_class_that_is_never_right():
    f = np.tile([0.5, 0.3, 0.2], (20, 1))
    report = calibration_report([1, 2] * 10, f, labels=[0, 1, 2], **QUICK)
    assert "The top class is never right" in report.replace("\n", " ")


def test_a_single_row_is_singular():
    report = calibration_report([1], [0.3], **QUICK)
    assert report.startswith("Calibration of 1 forecast of 1\n")
    assert "by this row." in report.replace("\n", " ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"digits": -1}, "digits must be an integer"),
        ({"groups": [1]}, "groups has 1"),
        ({"confidence_level": 95}, "confidence_level"),
        ({"n_resamples": 0}, "n_resamples must be a positive integer"),
        ({"recalibrator": "beta"}, "object with fit and predict_proba"),
        ({"sample_weight": [1, 0], "groups": ["a", "b"]}, "Group 'b' has .* zero only"),
        ({"digits": True}, "digits must be an integer"),
        ({"groups": [1.0, np.nan]}, "groups contains NaN or missing labels: 1 of 2"),
    ],
)
def test_what_is_wrong_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        calibration_report([0, 1], [0.2, 0.7], **{**QUICK, **options})
