"""The numerics under smECE, each piece against something simpler."""

import numpy as np
import pytest
from scipy import special

from skcal._core.smoothing import (
    MomentGrid,
    Spectrum,
    _integral_of_absolute,
    _signed_bessel,
    n_cells_for,
    resolution,
    solve_fixed_point,
)


def reflected_kernel(nodes, position, bandwidth):
    images = np.concatenate([2 * np.arange(-9, 10) + s * position for s in (1, -1)])
    z = (nodes[:, np.newaxis] - images) / bandwidth
    return np.exp(-0.5 * z**2).sum(axis=1) / (bandwidth * np.sqrt(2 * np.pi))


@pytest.fixture
def masses():
    rng = np.random.default_rng(0)
    positions = np.concatenate([rng.beta(0.5, 2, 200), [0.0, 0.0, 1.0, 0.5]])
    return positions, rng.normal(size=positions.size)


@pytest.mark.parametrize("bandwidth", [0.003, 0.02, 0.3, 1.5])
def test_smoothed_density_is_a_sum_of_kernels(masses, bandwidth):
    grid = MomentGrid(n_cells_for(bandwidth, 1.0))
    grid.add(*masses)
    density = grid.spectrum().values(bandwidth, 500)
    nodes = np.arange(501) / 500
    direct = sum(
        mass * reflected_kernel(nodes, position, bandwidth)
        for position, mass in zip(*masses, strict=True)
    )
    np.testing.assert_allclose(density, direct, atol=1e-6 * np.abs(direct).max())


def test_another_interval_is_the_same_scaled(masses):
    positions, mass = masses
    unit, wide = MomentGrid(256), MomentGrid(256, low=-3.0, high=5.0)
    unit.add(positions, mass)
    wide.add(8.0 * positions - 3.0, mass)
    assert wide.resolution == pytest.approx(8.0 * unit.resolution)
    norm, slope = wide.spectrum().l1_norm(0.8)
    expected, steeper = unit.spectrum().l1_norm(0.1)
    assert norm == pytest.approx(expected, rel=1e-12)
    assert slope == pytest.approx(steeper / 8.0, rel=1e-12)


def test_merged_grids_are_one_grid(masses):
    positions, mass = masses
    whole, parts = MomentGrid(64), [MomentGrid(64), MomentGrid(64)]
    whole.add(positions, mass)
    parts[0].add(positions[:50], mass[:50])
    parts[1].add(positions[50:], mass[50:])
    parts[0].merge(parts[1])
    np.testing.assert_allclose(parts[0].moments, whole.moments, atol=1e-13)


def test_few_points_on_a_fine_grid_take_the_other_route(masses):
    positions, mass = masses
    fine, coarse = MomentGrid(1 << 14), MomentGrid(256)
    fine.add(positions, mass)
    coarse.add(positions, mass)
    norms = [grid.spectrum().l1_norm(0.05)[0] for grid in (fine, coarse)]
    assert norms[0] == pytest.approx(norms[1], rel=1e-9)


def test_slope_of_the_norm_is_its_derivative(masses):
    grid = MomentGrid(4096)
    grid.add(*masses)
    spectrum = grid.spectrum()
    for bandwidth in [0.005, 0.02, 0.1]:
        step = 1e-4 * bandwidth
        norms = [spectrum.l1_norm(bandwidth + s * step)[0] for s in (-1, 1)]
        difference = (norms[1] - norms[0]) / (2 * step)
        assert spectrum.l1_norm(bandwidth)[1] == pytest.approx(difference, rel=1e-3)


@pytest.mark.parametrize("k", range(1, 9))
@pytest.mark.parametrize("n_nodes", [64, 100, 128])
def test_integral_of_an_absolute_cosine(k, n_nodes):
    # Even k put zeros of the cosine between nodes, odd ones on a node.
    values = np.cos(k * np.pi * np.arange(n_nodes + 1) / n_nodes)
    integral, steepness = _integral_of_absolute(values)
    assert integral == pytest.approx(2 / np.pi, rel=2e-4 * (k / n_nodes * 8) ** 2)
    assert steepness == pytest.approx(k * k * np.pi, rel=1e-2)


@pytest.mark.parametrize("zero", [0.0, -0.0])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_zero_on_a_node_counts_once_whatever_its_sign(zero, sign):
    values = sign * np.cos(np.pi * np.arange(129) / 128)
    values[64] = zero
    assert _integral_of_absolute(values)[0] == pytest.approx(2 / np.pi, rel=1e-8)


def test_bessel_factors():
    x = np.arange(512) * np.pi / 1024
    signs = [0.5, -1.0, -1.0, 1.0, 1.0, -1.0]
    for order, sign in enumerate(signs):
        np.testing.assert_allclose(
            _signed_bessel(order, 512), sign * special.jv(order, x), atol=1e-15
        )


def test_number_of_cells_resolves_the_bandwidth():
    for bandwidth in [1e-5, 1e-3, 0.5]:
        n_cells = n_cells_for(bandwidth, 3.0)
        assert resolution(3.0, n_cells) <= bandwidth
        assert n_cells & (n_cells - 1) == 0


def norm_of(function):
    def norm(sigma, rough=False):
        step = 1e-6 * sigma
        return function(sigma), (function(sigma + step) - function(sigma)) / step

    return norm


@pytest.mark.parametrize("start", [1e-9, 0.01, 0.3, 5.0])
def test_fixed_points(start):
    steep = norm_of(lambda sigma: min(0.5, 1e-3 * sigma**-0.5))
    value, resolved = solve_fixed_point(steep, 0.0, 0.5, 1e-5, start)
    assert resolved
    assert value == pytest.approx(0.01, rel=1e-9)
    flat = norm_of(lambda sigma: 0.2)
    assert solve_fixed_point(flat, 0.2, 0.2, 1e-5, start) == (pytest.approx(0.2), True)
    steps = norm_of(lambda sigma: 0.4 if sigma < 0.3 else 0.1)
    assert solve_fixed_point(steps, 0.0, 0.5, 1e-5, start)[0] == pytest.approx(0.3)


def test_fixed_point_below_the_resolution():
    steep = norm_of(lambda sigma: 1e-3 * sigma**-0.5)
    value, resolved = solve_fixed_point(steep, 0.0, 0.5, 0.05, 0.1)
    assert not resolved
    assert value <= 0.01
    # At its upper bound already, the norm cannot rise: 1e-4 at every bandwidth.
    flat = norm_of(lambda sigma: 1e-4)
    assert solve_fixed_point(flat, 0.0, 1e-4, 0.05, 0.1) == (1e-4, True)


def test_no_mass_at_all():
    assert Spectrum(np.zeros(256), 1.0).l1_norm(0.1) == (0.0, 0.0)
    assert solve_fixed_point(None, 0.0, 0.0, 1e-3, 0.1) == (0.0, True)
