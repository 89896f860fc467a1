"""Gaussian smoothing of point masses on an interval with reflecting walls.

The reflected Gaussian is the heat kernel of an interval with no-flux walls, so it is
diagonal in the cosine basis: smoothing by a bandwidth multiplies the k-th cosine
coefficient by ``exp(-(k pi sigma)^2 / 2)``. The masses enter through a few moments per
cell, from which the cosine coefficients follow to near machine precision as long as
the bandwidth spans about two cells. The moments add up over batches of points, so
they are all that a stream, a merge or a second bandwidth needs.
"""

from functools import lru_cache

import numpy as np
from numpy.polynomial import chebyshev
from scipy import fft

# Moments kept per cell. With p moments the relative error of a smoothed
# value is about 2 max_z(z^p exp(-z^2/2)) / p! (cell / (4 sigma))^p: for p = 6 and two
# cells per bandwidth 1e-7, falling with the sixth power of the cell's width.
N_MOMENTS = 6
# Chebyshev polynomials T_q(2 x) as combinations of the powers of x.
_CHEBYSHEV_FROM_POWERS = np.array(
    [
        np.pad(chebyshev.cheb2poly(np.eye(N_MOMENTS)[q]), (0, N_MOMENTS))[:N_MOMENTS]
        * 2.0 ** np.arange(N_MOMENTS)
        for q in range(N_MOMENTS)
    ]
)
# A cubic's coefficients from its values at -1, 0, 1 and 2.
_CUBIC_NODES = np.array([[-1], [0], [1], [2]])
_CUBIC_FROM_VALUES = np.linalg.inv(_CUBIC_NODES ** np.arange(4.0))
# Frequencies beyond exp(-6.8^2 / 2) = 1e-10 of the total mass are left out.
_CUTOFF = 6.8
# Nodes per bandwidth at which a smoothed function is evaluated for its integral.
_NODES_PER_BANDWIDTH = 12
_MIN_NODES = 128
_FEWEST_CELLS = 256
# A batch's temporaries stay within the second-level cache.
CHUNK = 1 << 15
_LARGEST_CACHED_TABLE = 1 << 14
# Relative tolerance and step limit of the fixed point.
_TOLERANCE = 1e-11
_MOST_STEPS = 100
_NEWTON_STEPS = 15


def resolution(width, n_cells):
    """Smallest bandwidth that cells of an interval resolve to about 1e-7."""
    return _CUTOFF / np.pi * width / n_cells


def n_cells_for(bandwidth, width):
    """Number of cells, a power of two, that resolves a bandwidth."""
    wanted = max(resolution(width, 1) / bandwidth, _FEWEST_CELLS)
    return 1 << int(np.ceil(np.log2(wanted)))


class MomentGrid:
    """Point masses on ``[low, high]``, kept as moments per cell.

    Parameters
    ----------
    n_cells : int
        Number of cells of equal width.
    low, high : float
        The reflecting walls.

    Attributes
    ----------
    moments : ndarray of shape (N_MOMENTS, n_cells)
        Sums of ``mass * x**q`` over a cell's points, with x in [-1/2, 1/2] the place
        within the cell.
    """

    __slots__ = ("high", "low", "moments")

    def __init__(self, n_cells, low=0.0, high=1.0):
        self.low = float(low)
        self.high = float(high)
        self.moments = np.zeros((N_MOMENTS, n_cells))

    @property
    def n_cells(self):
        return self.moments.shape[1]

    @property
    def resolution(self):
        """Smallest bandwidth that the moments resolve."""
        return resolution(self.high - self.low, self.n_cells)

    def add(self, positions, masses):
        """Add masses at positions, both float64 arrays of one chunk's size."""
        n_cells = self.n_cells
        place = (positions - self.low) * (n_cells / (self.high - self.low))
        cell = place.astype(np.intp)
        # The upper wall itself belongs to the last cell.
        np.minimum(cell, n_cells - 1, out=cell)
        place -= cell
        place -= 0.5
        masses = masses.copy()
        _scatter(self.moments[0], cell, masses)
        for order in range(1, N_MOMENTS):
            masses *= place
            _scatter(self.moments[order], cell, masses)

    def merge(self, other):
        self.moments += other.moments

    def spectrum(self):
        """Cosine coefficients of the masses, see `Spectrum`."""
        n_cells = self.n_cells
        coefficients = np.zeros(n_cells)
        for order, powers in enumerate(_CHEBYSHEV_FROM_POWERS):
            transform = fft.dct if order % 2 == 0 else fft.dst
            # One order at a time, to need little more room than the moments do.
            term = transform(powers @ self.moments, type=2, overwrite_x=True)
            if order % 2:
                # The sine transform starts at the first frequency, not at zero.
                term[1:] = term[:-1]
                term[0] = 0.0
            term *= _bessel_factor(order, n_cells)
            coefficients += term
        return Spectrum(coefficients, self.high - self.low)


class Spectrum:
    """Cosine coefficients of point masses on an interval of a given width."""

    __slots__ = ("coefficients", "width")

    def __init__(self, coefficients, width):
        self.coefficients = coefficients
        self.width = width

    def values(self, bandwidth, n_nodes):
        """Smoothed density at ``n_nodes + 1`` equally spaced nodes, walls included.

        In units of mass per width of the interval.
        """
        sigma = bandwidth / self.width
        count = int(_CUTOFF / (np.pi * sigma)) + 2
        count = min(count, self.coefficients.size)
        # Fewer nodes than frequencies would alias: evaluate at more, keep every m-th.
        every = -(-count // n_nodes)
        frequency = np.arange(count) * (np.pi * sigma)
        damped = np.zeros(every * n_nodes + 1)
        damped[:count] = self.coefficients[:count] * np.exp(-0.5 * frequency**2)
        return fft.dct(damped, type=1, overwrite_x=True)[::every]

    def l1_norm(self, bandwidth):
        """Integral of the absolute smoothed density, and its slope in the bandwidth."""
        nodes = max(_MIN_NODES, _NODES_PER_BANDWIDTH * self.width / bandwidth)
        n_nodes = fft.next_fast_len(int(np.ceil(nodes)), real=True)
        norm, steepness = _integral_of_absolute(self.values(bandwidth, n_nodes))
        # The smoothed density g solves the heat equation dg / d sigma = sigma g'', so
        # the slope of the integral of |g| is what g' brings in at the sign changes.
        return norm, -2.0 * bandwidth * steepness / self.width**2


def solve_fixed_point(norm, lower, upper, resolution, start):
    """Solve ``norm(sigma) = sigma`` for a non-increasing `norm`.

    Parameters
    ----------
    norm : callable
        Gives value and slope at a bandwidth, reliable from `resolution` up.
    lower, upper : float
        Bounds of `norm` over all bandwidths, ``0 <= lower <= upper``.
    resolution : float
        Smallest bandwidth at which `norm` may be called.
    start : float
        First guess.

    Returns
    -------
    value : float
        The fixed point, or a lower bound of it where `resolved` is false.
    resolved : bool
        Whether the fixed point is known: it is where it lies above `resolution`, or
        where `norm` is already at its upper bound there and so cannot rise further.
    """
    if upper <= 0.0:
        return 0.0, True
    floor = max(lower, resolution)
    low, high = np.log(floor), np.log(max(upper, floor))
    x = min(max(np.log(start), low), high)
    # Newton's method on log norm - log sigma, which is nearly linear in log sigma, kept
    # within the bracket.
    low_seen = high_seen = False
    for n_steps in range(_MOST_STEPS):
        sigma = np.exp(x)
        value, slope = norm(sigma)
        if value <= 0.0:
            excess, step = -np.inf, -np.inf
        else:
            excess = np.log(value) - x
            step = excess / (1.0 - min(slope, 0.0) * sigma / value)
        if excess <= 0.0 and x <= np.log(floor):
            if floor == lower or value >= upper * (1.0 - 1e-9):
                return min(value, upper), True
            return max(value, lower), False
        if abs(step) < _TOLERANCE:
            break
        if excess > 0.0:
            low, low_seen = x, True
        else:
            high, high_seen = x, True
        if high - low < _TOLERANCE:
            break
        x += step
        if x <= low:
            x = 0.5 * (low + high) if low_seen else low
        elif x >= high or n_steps > _NEWTON_STEPS:
            x = 0.5 * (low + high) if high_seen else high
    return float(np.exp(x)), True


def _scatter(target, cell, masses):
    if target.size <= 2 * cell.size:
        target += np.bincount(cell, weights=masses, minlength=target.size)
    else:
        # Few points on a fine grid: touch their cells only.
        np.add.at(target, cell, masses)


def _integral_of_absolute(values):
    """Integral of |g| over [0, 1] and sum of |g'| at its zeros, from g at equal nodes.

    For g smooth and even about both ends. The trapezoid rule would converge faster than
    any power of the step, were it not for the kinks of |g| at the zeros; each adds
    known Euler-Maclaurin terms, which are taken off with a local cubic.
    """
    n_nodes = values.size - 1
    magnitude = np.abs(values)
    total = float(magnitude.sum() - 0.5 * (magnitude[0] + magnitude[-1]))
    negative = values < 0.0
    left = np.flatnonzero(negative[1:] != negative[:-1])
    # Rounding noise around zero has no kinks worth a correction.
    chord = values[left + 1] - values[left]
    left = left[np.abs(chord) > 1e-13 * magnitude.max()]
    if left.size == 0:
        return total / n_nodes, 0.0
    index = np.abs(left + _CUBIC_NODES)
    index[3, index[3] > n_nodes] = n_nodes - 1
    height, linear, square, cubic = _CUBIC_FROM_VALUES @ values[index]
    # One Newton step from the chord's zero; within a cell a function this smooth has
    # about the chord's slope, which is not zero.
    root = height / (height - values[left + 1])
    value = ((cubic * root + square) * root + linear) * root + height
    slope = (3.0 * cubic * root + 2.0 * square) * root + linear
    slope[slope == 0.0] = np.inf
    root -= value / slope
    np.minimum(np.maximum(root, 0.0, out=root), 1.0, out=root)
    slope = (3.0 * cubic * root + 2.0 * square) * root + linear
    # Bernoulli polynomials B_2, B_3, B_4 at the kink's distance to the next node; the
    # jumps of the derivatives of |g| are twice those of g, up to sign.
    u = 1.0 - root
    w = u * root
    correction = slope * (1.0 / 6.0 - w)
    correction -= (square + 3.0 * cubic * root) * (w * (u - 0.5)) * (2.0 / 3.0)
    correction += cubic * (w * w - 1.0 / 30.0) * 0.5
    total += float(correction @ np.where(negative[left + 1], -1.0, 1.0))
    integral = float(values.sum() - 0.5 * (values[0] + values[-1]))
    steepness = float(np.abs(slope).sum())
    return max(total, abs(integral)) / n_nodes, steepness * n_nodes


def _bessel_factor(order, n_cells):
    if n_cells <= _LARGEST_CACHED_TABLE:
        return _bessel_table(n_cells)[order]
    return _signed_bessel(order, n_cells)


@lru_cache(maxsize=4)
def _bessel_table(n_cells):
    table = np.stack([_signed_bessel(order, n_cells) for order in range(N_MOMENTS)])
    table.flags.writeable = False
    return table


def _signed_bessel(order, n_cells):
    """Factor of the q-th moment's transform in the Jacobi-Anger expansion.

    cos(a + x s) = J_0 cos a + 2 sum_q J_q(x) T_q(s) cos(a + q pi / 2), by its power
    series in x = k pi / (2 n_cells) <= pi / 2.
    """
    half = np.arange(n_cells) * (np.pi / (4.0 * n_cells))
    u = half * half
    series = np.zeros(n_cells)
    for m in range(11, 0, -1):
        series = (1.0 + series) * (-u / (m * (m + order)))
    result = 1.0 + series
    for q in range(1, order + 1):
        result *= half / q
    # scipy's transforms carry a factor 2; T_0's expansion term is the only single one.
    sign = (1.0, -1.0, -1.0, 1.0)[order % 4]
    return result * (0.5 * sign if order == 0 else sign)
