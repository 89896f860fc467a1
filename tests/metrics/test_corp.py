"""The isotonic curve and its split of a score, by independent definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skcal._predictions import BinaryProblem
from skcal.metrics._corp import isotonic_curve
from tests.references import isotonic_min_max


def problem_of(seed, weighted):
    rng = np.random.default_rng(seed)
    f = np.round(rng.uniform(size=40), 1 + seed % 2)
    y = (rng.uniform(size=40) < f).astype(float)
    return BinaryProblem(y, f, rng.choice([0.5, 1.0, 3.0], 40) if weighted else None)


def brier(y, q):
    return (q - y) ** 2


def log_loss(y, q):
    with np.errstate(divide="ignore"):
        return -np.where(y == 1, np.log(q), np.log1p(-q))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("weighted", [False, True])
def test_curve_and_split_by_their_definitions(seed, weighted):
    problem = problem_of(seed, weighted)
    y, f, w = problem
    curve = isotonic_curve(problem)
    fitted = isotonic_min_max(f, y, w)
    assert_allclose(np.interp(f, curve.prob_pred, curve.prob_true), fitted, atol=1e-12)
    assert np.all(np.diff(curve.prob_true) >= 0)
    assert np.all(np.diff(curve.prob_pred) > 0)
    base = np.full(40, np.average(y, weights=w))
    for name, score in (("brier", brier), ("log", log_loss)):
        split = curve.split[name]
        means = [np.average(score(y, q), weights=w) for q in (f, fitted, base)]
        raw, best, null = means
        assert split.score == pytest.approx(raw)
        assert split.uncertainty == pytest.approx(null)
        if np.isfinite(raw):
            assert split.miscalibration == pytest.approx(raw - best, abs=1e-12)
        assert split.discrimination == pytest.approx(null - best, abs=1e-12)
        assert split.miscalibration >= -1e-15
        assert split.discrimination >= -1e-15


@pytest.mark.parametrize("seed", range(20))
def test_parts_add_up_to_the_score(seed):
    """S = MCB - DSC + UNC, to the last digits."""
    for split in isotonic_curve(problem_of(seed, seed % 2 == 0)).split.values():
        total = split.miscalibration - split.discrimination + split.uncertainty
        assert total == pytest.approx(split.score, rel=4e-16)


def test_what_was_certain_and_wrong_has_an_infinite_log_score():
    y, f = np.array([1.0, 0.0, 1.0]), np.array([0.0, 0.5, 1.0])
    split = isotonic_curve(BinaryProblem(y, f, None)).split
    assert split["log"].score == np.inf
    assert split["log"].miscalibration == np.inf
    assert np.isfinite(split["brier"].score)


def test_recalibrated_forecasts_have_no_miscalibration():
    y, f, _ = problem_of(0, False)
    split = isotonic_curve(BinaryProblem(y, isotonic_min_max(f, y), None)).split
    assert split["brier"].miscalibration == pytest.approx(0.0, abs=1e-15)


def test_rows_of_weight_zero_are_not_there():
    y, f, _ = problem_of(1, False)
    weight = (np.arange(40) % 3 > 0).astype(float)
    whole = isotonic_curve(BinaryProblem(y, f, weight))
    part = isotonic_curve(BinaryProblem(y[weight > 0], f[weight > 0], None))
    assert_allclose(whole.prob_true, part.prob_true)
    assert_allclose(whole.prob_pred, part.prob_pred)
    assert_allclose(whole.rows, part.rows)
