"""What the recalibrators' base class computes itself."""

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from skcal.recalibration import _base
from tests.recalibration.fits import draw
from tests.recalibration.test_common import recalibrators


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("recalibrator", recalibrators(), ids=str)
def test_rows_in_blocks_are_the_rows(recalibrator, n_classes, dtype, monkeypatch):
    logits, y = draw(n_classes)
    proba = softmax(logits, axis=1).astype(dtype)
    recalibrator.set_params(labels=None).fit(proba, y)
    whole = recalibrator.predict_proba(proba)
    monkeypatch.setattr(_base, "_BLOCK_SCORES", 1)
    monkeypatch.setattr(_base, "_BLOCK_LEAST_ROWS", 133)
    blocks = recalibrator.predict_proba(proba)
    assert blocks.dtype == dtype
    # Products of matrices may sum in another order.
    np.testing.assert_allclose(blocks, whole, rtol=0, atol=1e-15 + np.finfo(dtype).eps)


def test_an_error_names_the_row_of_the_whole(monkeypatch):
    monkeypatch.setattr(_base, "_BLOCK_SCORES", 1)
    monkeypatch.setattr(_base, "_BLOCK_LEAST_ROWS", 10)
    logits, y = draw(3)
    proba = softmax(logits, axis=1)
    recalibrator = recalibrators()[0].fit(proba, y)
    proba[37] = 0.5
    with pytest.raises(ValueError, match="row 37 sums"):
        recalibrator.predict_proba(proba)


def test_huge_logits_leave_other_rows_alone():
    logits = np.array([[0.1, 0.2, 0.3], [1e16, 0.0, -np.finfo(float).max]])
    bounded = _base._bounded(logits)
    np.testing.assert_array_equal(bounded[0], logits[0])
    np.testing.assert_array_equal(bounded[1], [0.0, -1e15, -1e15])


@pytest.mark.parametrize("scale", [1.0, 100.0, 400.0, 1e6])
def test_log_odds_of_each_class_against_the_others(scale):
    scores = scale * np.random.default_rng(0).normal(size=(300, 5))
    found = list(_base.OneVsRestRecalibrator._events(scores))
    assert [k for k, _ in found] == [0, 1, 2, 3, 4]
    for k, log_odds in found:
        others = logsumexp(np.delete(scores, k, axis=1), axis=1)
        expected = scores[:, k] - others
        np.testing.assert_allclose(log_odds, expected, rtol=1e-15, atol=3e-15 * scale)
