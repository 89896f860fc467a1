"""Calibration errors of many replicates of one sample at once.

Replicates share the cells, so their sums are the rows of an array and every step works
on all of them: transforms along the rows, one Newton iteration for all fixed points.
"""

import numpy as np
from scipy import fft

from skcal._core.smoothing import (
    _CHEBYSHEV_FROM_POWERS,
    _CUTOFF,
    _MIN_NODES,
    _bessel_factor,
)

# Moments kept per cell: with six cells per bandwidth or more, four give 1e-6.
N_MOMENTS = 4
_NODES_PER_BANDWIDTH = 8
# The noise of a replicate may at most double a norm, which is 1 at most.
_LARGEST_NORM = 2.0
_MOST_STEPS = 60
# A Newton step's error is about its square.
_LAST_STEP = 5e-4
_TOLERANCE = 1e-9


def chebyshev_moments(powers):
    """Chebyshev moments from moments of the powers, both (N_MOMENTS, ...)."""
    transform = _CHEBYSHEV_FROM_POWERS[:N_MOMENTS, :N_MOMENTS]
    return np.tensordot(transform, powers, axes=1)


def spectra(moments):
    """Cosine coefficients from Chebyshev moments per cell.

    Parameters
    ----------
    moments : iterable of N_MOMENTS ndarrays of shape (n_replicates, n_cells)
        One order after the other; they are overwritten.

    Returns
    -------
    coefficients : ndarray of shape (n_replicates, n_cells)
    """
    coefficients = None
    for order, masses in enumerate(moments):
        n_cells = masses.shape[1]
        factor = _bessel_factor(order, n_cells)
        if order % 2 == 0:
            term = fft.dct(masses, type=2, axis=1, overwrite_x=True)
            term *= factor
            coefficients = term if coefficients is None else coefficients + term
        else:
            # The sine transform starts at the first frequency, not at zero.
            term = fft.dst(masses, type=2, axis=1, overwrite_x=True)
            coefficients[:, 1:] += term[:, :-1] * factor[1:]
    return coefficients


def smoothed(coefficients, sigma, n_nodes):
    """Smoothed densities at ``n_nodes + 1`` equally spaced nodes, walls included.

    Parameters
    ----------
    coefficients : ndarray of shape (n_replicates, n_frequencies)
    sigma : ndarray of shape (n_replicates,)
        Bandwidths as shares of the interval's width.
    n_nodes : int

    Returns
    -------
    values : ndarray of shape (n_replicates, n_nodes + 1)
        In units of mass per width of the interval.
    """
    count = int(_CUTOFF / (np.pi * sigma.min())) + 2
    count = min(count, coefficients.shape[1], n_nodes + 1)
    damping = np.multiply.outer(sigma * np.pi, np.arange(count))
    damping *= damping
    damping *= -0.5
    np.exp(damping, out=damping)
    damped = np.zeros((sigma.size, n_nodes + 1))
    np.multiply(coefficients[:, :count], damping, out=damped[:, :count])
    return fft.dct(damped, type=1, axis=1, overwrite_x=True)


def l1_norms(coefficients, sigma):
    """Integrals of the absolute smoothed densities, and their slopes in `sigma`.

    The norms are accurate to about 1e-6 of themselves.
    """
    nodes = max(_MIN_NODES, _NODES_PER_BANDWIDTH / sigma.min())
    n_nodes = fft.next_fast_len(int(np.ceil(nodes)), real=True)
    values = smoothed(coefficients, sigma, n_nodes)
    totals, steepness = _integrals_of_absolute(values)
    return totals, -2.0 * sigma * steepness


def fixed_points(coefficients, atoms, weight, width, floor, start):
    """Solve ``norm(bandwidth) = bandwidth`` for each replicate, to about 1e-6 of it.

    Parameters
    ----------
    coefficients : ndarray of shape (n_replicates, n_frequencies)
    atoms : ndarray of shape (n_replicates,)
        What no smoothing reaches, in units of mass.
    weight : ndarray of shape (n_replicates,)
        Total weight, by which the norm is divided.
    width, floor : float
        Width of the interval; smallest bandwidth that the coefficients resolve.
    start : float
        First guess of the fixed point.

    Returns
    -------
    values : ndarray of shape (n_replicates,)
        The fixed points; one below `floor` is replaced by the norm at `floor`.
    """
    scale = 1.0 / weight
    # Smoothing keeps the total, and no norm exceeds the total absolute mass.
    lower = np.abs(coefficients[:, 0]) * scale
    low = np.log(np.maximum(lower, floor))
    bottom = low.copy()
    high = np.full_like(low, np.log(max(_LARGEST_NORM, 2.0 * floor)))
    low_seen = np.zeros(low.size, dtype=bool)
    high_seen = np.zeros(low.size, dtype=bool)
    x = np.clip(np.log(max(start, floor)), low, high)
    result = lower.copy()
    active = np.arange(low.size)
    for _ in range(_MOST_STEPS):
        at = x[active]
        bandwidth = np.exp(at)
        norm, slope = l1_norms(coefficients[active], bandwidth / width)
        exact = (norm + atoms[active]) * scale[active]
        value = np.maximum(exact, 1e-300)
        excess = np.log(value) - at
        slope = np.minimum(slope * scale[active] / width, 0.0)
        step = excess / (1.0 - slope * bandwidth / value)
        rises = excess > 0.0
        low[active[rises]], low_seen[active[rises]] = at[rises], True
        high[active[~rises]], high_seen[active[~rises]] = at[~rises], True
        following = at + step
        left, right = low[active], high[active]
        middle = 0.5 * (left + right)
        at_bottom = ~rises & (at <= bottom[active])
        done = (np.abs(step) < _LAST_STEP) & (following > left) & (following < right)
        done |= right - left < _TOLERANCE
        below, above = following <= left, following >= right
        following[below] = np.where(low_seen[active], middle, left)[below]
        following[above] = np.where(high_seen[active], middle, right)[above]
        answer = np.where(at_bottom, exact, np.exp(following))
        done |= at_bottom
        result[active[done]] = np.maximum(answer, lower[active])[done]
        x[active] = following
        active = active[~done]
        if active.size == 0:
            break
    return result


def _integrals_of_absolute(values):
    """Integrals of |g| over [0, 1] and sums of |g'| at its zeros, g at equal nodes.

    The trapezoid sum, less the Euler-Maclaurin terms of the kinks of |g| at its zeros;
    slope and place of a zero by the cubic through four nodes.
    """
    n_replicates, n_points = values.shape
    n_nodes = n_points - 1
    magnitude = np.abs(values)
    totals = magnitude.sum(axis=1)
    totals -= 0.5 * (magnitude[:, 0] + magnitude[:, -1])
    negative = values < 0.0
    row, left = np.nonzero(negative[:, 1:] != negative[:, :-1])
    if row.size == 0:
        return totals / n_nodes, np.zeros(n_replicates)
    flat = values.ravel()
    here = row * n_points + left
    g0, g1 = flat[here], flat[here + 1]
    # g is even about both walls.
    before = flat[row * n_points + np.abs(left - 1)]
    beyond = left + 2
    beyond = np.where(beyond > n_nodes, 2 * n_nodes - beyond, beyond)
    after = flat[row * n_points + beyond]
    chord = g1 - g0
    # Cubic through the nodes -1, 0, 1, 2 as g0 + b t + c t^2 + d t^3.
    c = 0.5 * (before + g1) - g0
    d = (after - before - 3.0 * chord) / 6.0
    b = chord - c - d
    root = -g0 / chord
    for _ in range(2):
        slope = b + root * (2.0 * c + root * 3.0 * d)
        excess = g0 + root * (b + root * (c + root * d))
        usable = slope * chord > 0.0
        move = np.divide(excess, slope, out=np.zeros_like(slope), where=usable)
        root = np.clip(root - move, 0.0, 1.0)
    slope = np.abs(b + root * (2.0 * c + root * 3.0 * d))
    bend = (2.0 * c + 6.0 * d * root) * np.sign(chord)
    w = root * (1.0 - root)
    correction = slope * (1.0 / 6.0 - w) - bend * (w * (0.5 - root)) / 3.0
    totals += np.bincount(row, weights=correction, minlength=n_replicates)
    steepness = np.bincount(row, weights=slope, minlength=n_replicates)
    return totals / n_nodes, steepness * n_nodes


def binned_errors(mass, outcome, residual, norm, debias):
    """Binned calibration errors of replicates.

    Parameters
    ----------
    mass, outcome, residual : ndarray of shape (n_replicates, n_bins)
        Sums of the weights, of the outcomes and of outcome less forecast in the bins.
    norm : {"l1", "l2", "max"}
    debias : bool

    Returns
    -------
    errors : ndarray of shape (n_replicates,)
    """
    filled = np.where(mass > 0.0, mass, 1.0)
    gap = np.abs(residual) / filled
    gap[mass <= 0.0] = 0.0
    if norm == "max":
        return gap.max(axis=1)
    share = mass / mass.sum(axis=1, keepdims=True)
    if norm == "l1":
        return np.sum(share * gap, axis=1)
    gap *= gap
    if debias:
        rate = outcome / filled
        several = mass >= 2.0
        gap -= rate * (1.0 - rate) / np.where(several, mass - 1.0, 1.0)
        gap[~several] = 0.0
    return np.sum(share * gap, axis=1)
