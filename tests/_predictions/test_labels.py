"""Distinct labels."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skcal._predictions import check_labels


@pytest.mark.parametrize(
    "y",
    [
        np.array([3, 1, 1, 7], dtype=np.uint8),
        np.array([-128, 127, 0], dtype=np.int8),
        np.array([True, False, True]),
        np.array([True]),
        np.array([5, -2, 5]),
        np.array([10**6, 10**6 + 3]),
        np.array([2**40, 2**40 + 1]),
        np.array([2**63 + 5, 2**63], dtype=np.uint64),
        np.array([-(2**63), 2**63 - 1]),
    ],
)
def test_distinct_integers(y):
    found, expected = check_labels(y), np.unique(y)
    assert found.dtype == expected.dtype
    assert_array_equal(found, expected)
