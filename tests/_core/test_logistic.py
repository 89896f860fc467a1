"""The logistic function against SciPy's."""

import numpy as np
import pytest
from scipy import special
from scipy.special import expit, log_expit

from skcal._core.logistic import (
    log_softmax,
    sigmoid,
    softmax,
    softplus_of_distance,
    two_sided,
)

LOG_ODDS = np.concatenate(
    [
        np.linspace(-40, 40, 10_001),
        np.linspace(-700, 700, 1_001),
        [0.0, -0.0, 1e-300, -1e-300, 745.0, -745.0, 1e15, -1e15, np.inf, -np.inf],
    ]
)


def test_sigmoid():
    np.testing.assert_allclose(sigmoid(LOG_ODDS), expit(LOG_ODDS), rtol=1e-15, atol=0)
    assert sigmoid(np.array([-np.inf, 0.0, np.inf])).tolist() == [0.0, 0.5, 1.0]


def test_two_sided():
    both = two_sided(LOG_ODDS)
    np.testing.assert_allclose(both[:, 1], expit(LOG_ODDS), rtol=1e-15, atol=0)
    np.testing.assert_array_equal(both, two_sided(-LOG_ODDS)[:, ::-1])
    np.testing.assert_allclose(both.sum(axis=1), 1.0, rtol=0, atol=3e-16)


@pytest.mark.parametrize("sign", [-1, 1])
def test_softplus_of_distance(sign):
    expected = -log_expit(np.abs(LOG_ODDS))
    found = softplus_of_distance(sign * LOG_ODDS)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2.3e-16)


@pytest.mark.parametrize("n_classes", [2, 3, 10, 32, 33])
@pytest.mark.parametrize("scale", [1.0, 300.0, 1e15])
@pytest.mark.parametrize("order", ["C", "F"])
def test_softmax(n_classes, scale, order):
    rng = np.random.default_rng(0)
    logits = np.asarray(scale * rng.normal(size=(500, n_classes)), order=order)
    logits[0] = scale
    logits[1, 0] = -np.inf
    given = logits.copy()
    expected = special.softmax(logits, axis=1)
    np.testing.assert_allclose(softmax(logits), expected, rtol=1e-14, atol=1e-305)
    expected = special.log_softmax(logits, axis=1)
    np.testing.assert_allclose(log_softmax(logits), expected, rtol=1e-15, atol=1e-15)
    np.testing.assert_array_equal(logits, given)
