"""The logistic function against SciPy's."""

import numpy as np
import pytest
from scipy.special import expit, log_expit

from skcal._core.logistic import sigmoid, softplus_of_distance, two_sided

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
