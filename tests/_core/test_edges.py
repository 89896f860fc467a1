"""Counting edges against the binary search."""

import numpy as np
import pytest

from skcal._core.edges import n_edges_up_to


@pytest.mark.parametrize("n_edges", [0, 1, 2, 3, 49, 50, 101, 400])
@pytest.mark.parametrize("scale", [1e-310, 1e-12, 1.0, 30.0, 1e14])
def test_equals_the_binary_search(n_edges, scale):
    rng = np.random.default_rng(n_edges)
    edges = np.unique(scale * rng.normal(size=n_edges) ** 3)
    values = np.concatenate(
        [
            2 * scale * rng.normal(size=5_000),
            edges,
            np.nextafter(edges, np.inf),
            np.nextafter(edges, -np.inf),
            [-np.inf, np.inf, 0.0],
        ]
    )
    found = n_edges_up_to(edges, values)
    np.testing.assert_array_equal(found, np.searchsorted(edges, values, side="right"))


def test_edges_far_out_and_neighbouring_floats():
    edges = np.sort([-36.0, *np.linspace(-1e-3, 1e-3, 80), np.nextafter(0.5, 1), 0.5])
    values = np.tile(np.append(edges, [0.25, -40.0, 40.0]), 50)
    found = n_edges_up_to(edges, values)
    np.testing.assert_array_equal(found, np.searchsorted(edges, values, side="right"))
