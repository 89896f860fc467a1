"""Gaussian smoothing of point masses on an interval with reflecting walls.

The reflected Gaussian is the heat kernel of an interval with no-flux walls, so it is
diagonal in the cosine basis: smoothing by a bandwidth multiplies the k-th cosine
coefficient by ``exp(-(k pi sigma)^2 / 2)``. The masses enter through a few moments per
cell, from which the cosine coefficients follow to near machine precision as long as
the bandwidth spans about two cells. The moments add up over batches of points, so
they are all that a stream, a merge or a second bandwidth needs.
"""

import math
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


def _interpolation(nodes, n_derivatives):
    """Coefficients of the interpolating polynomial's derivatives, from its values."""
    coefficients = np.linalg.inv(nodes ** np.arange(float(nodes.size)))
    derive = np.diag(np.arange(1.0, nodes.size), k=1)
    return np.stack(
        [np.linalg.matrix_power(derive, d) @ coefficients for d in range(n_derivatives)]
    )


_QUINTIC_NODES = np.arange(-2, 4)[:, np.newaxis]
_QUINTIC = _interpolation(_QUINTIC_NODES, 4)
_SEXTIC_NODES = np.arange(-3, 4)[:, np.newaxis]
_SEXTIC = _interpolation(_SEXTIC_NODES, 3)
# Frequencies beyond exp(-6.8^2 / 2) = 1e-10 of the total mass are left out.
_CUTOFF = 6.8
# Nodes per bandwidth at which a smoothed function is evaluated for its integral.
_NODES_PER_BANDWIDTH = 12
_MIN_NODES = 128
_FEWEST_CELLS = 256
# A batch's temporaries stay within the second-level cache.
CHUNK = 1 << 15
_LARGEST_CACHED_TABLE = 1 << 14
# Relative tolerance and step limits of the fixed point.
_TOLERANCE = 1e-11
_LAST_STEP = 2e-5
_MOST_STEPS = 100
_ROUGH_STEP = 2e-3
_MOST_ROOT_STEPS = 20
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
        moments = _CHEBYSHEV_FROM_POWERS @ self.moments
        even = fft.dct(moments[::2], type=2, overwrite_x=True)
        odd = fft.dst(moments[1::2], type=2, overwrite_x=True)
        coefficients = np.zeros(n_cells)
        for k, term in enumerate(even):
            coefficients += term * _bessel_factor(2 * k, n_cells)
        for k, term in enumerate(odd):
            # The sine transform starts at the first frequency, not at zero.
            coefficients[1:] += term[:-1] * _bessel_factor(2 * k + 1, n_cells)[1:]
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

    def l1_norm(self, bandwidth, rough=False):
        """Integral of the absolute smoothed density, and its slope in the bandwidth.

        To about 1e-9, or 1e-3 where a rough value will do.
        """
        nodes = max(_MIN_NODES, _NODES_PER_BANDWIDTH * self.width / bandwidth)
        n_nodes = fft.next_fast_len(int(np.ceil(nodes)), real=True)
        norm, steepness = _integral_of_absolute(self.values(bandwidth, n_nodes), rough)
        # The smoothed density g solves the heat equation dg / d sigma = sigma g'', so
        # the slope of the integral of |g| is what g' brings in at the sign changes.
        return norm, -2.0 * bandwidth * steepness / self.width**2


def solve_fixed_point(norm, lower, upper, resolution, start):
    """Solve ``norm(sigma) = sigma`` for a non-increasing `norm`.

    Parameters
    ----------
    norm : callable
        Gives value and slope at a bandwidth, reliable from `resolution` up; its second
        argument says whether rough ones will do.
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
    bottom = low = math.log(floor)
    high = math.log(max(upper, floor))
    x = min(max(math.log(start), low), high)
    # Newton's method on log norm - log sigma, which is nearly linear in log sigma, kept
    # within the bracket.
    low_seen = high_seen = False
    rough = True
    for n_steps in range(_MOST_STEPS):
        sigma = math.exp(x)
        value, slope = norm(sigma, rough)
        if value <= 0.0:
            excess, step = -math.inf, low - x
        else:
            excess = math.log(value) - x
            step = excess / (1.0 - min(slope, 0.0) * sigma / value)
        if rough and (abs(step) < _ROUGH_STEP or x <= bottom):
            # Close enough that the next value should be good; a rough one may be on the
            # wrong side, so it closes no bracket.
            rough = False
            x = min(max(x + step, low), high)
            continue
        if excess <= 0.0 and x <= bottom:
            if floor == lower or value >= upper * (1.0 - 1e-9):
                return min(value, upper), True
            return max(value, lower), False
        if abs(step) < _LAST_STEP and low < x + step < high:
            # The error of Newton's step is about its square.
            return math.exp(x + step), True
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
    return math.exp(x), True


def _scatter(target, cell, masses):
    if target.size <= 2 * cell.size:
        target += np.bincount(cell, weights=masses, minlength=target.size)
    else:
        # Few points on a fine grid: touch their cells only.
        np.add.at(target, cell, masses)


def _integral_of_absolute(values, rough=False):
    """Integral of |g| over [0, 1] and sum of |g'| at its zeros, from g at equal nodes.

    For g smooth and even about both ends. The trapezoid rule would converge faster than
    any power of the step, were it not for the kinks of |g| at the zeros; each adds
    known Euler-Maclaurin terms, which are taken off with a local polynomial, or with
    the chord for a rough value.
    """
    n_nodes = values.size - 1
    magnitude = np.abs(values)
    largest = magnitude.max()
    total = float(magnitude.sum() - 0.5 * (magnitude[0] + magnitude[-1]))
    negative = values < 0.0
    left = np.flatnonzero(negative[1:] != negative[:-1])
    chord = values[left + 1] - values[left]
    # Rounding noise around zero has no kinks worth a correction.
    heard = np.abs(chord) > 1e-13 * largest
    left, chord = left[heard], chord[heard]
    steepness = 0.0
    if rough:
        root = values[left] / -chord
        slopes = np.abs(chord)
        total += float(slopes @ (1.0 / 6.0 - root * (1.0 - root)))
        steepness = float(slopes.sum())
    else:
        if left.size:
            kinks, steepness = _kinks(values, left, chord)
            total += kinks
        pairs, slopes = _pairs_of_zeros(values, magnitude)
        total += pairs
        steepness += slopes
    integral = float(values.sum() - 0.5 * (values[0] + values[-1]))
    return max(total, abs(integral)) / n_nodes, steepness * n_nodes


def _kinks(values, left, chord):
    """Correction of the trapezoid sum of |g| and sum of |g'|, at the sign changes.

    Each lies between a left node and the next one. In units of the step.
    """
    derivatives = _QUINTIC @ values[_reflected(left + _QUINTIC_NODES, values)]
    root = values[left] / -chord
    low, high = np.zeros_like(root), np.ones_like(root)
    sign = np.sign(chord)
    for _ in range(_MOST_ROOT_STEPS):
        value, slope = _evaluate(derivatives[:2], root)
        before = value * sign < 0.0
        low, high = np.where(before, root, low), np.where(before, high, root)
        slope[slope == 0.0] = np.inf
        following = root - value / slope
        # Where another zero is close, Newton's step may lead to it or beyond.
        outside = (following < low) | (following > high)
        following[outside] = 0.5 * (low + high)[outside]
        change = np.abs(following - root).max()
        root = following
        if change < 1e-5:
            break
    _, slope, bend, twist = _evaluate(derivatives, root)
    # Bernoulli polynomials B_2, B_3, B_4 at the kink's distance to the next node; the
    # jumps of the derivatives of |g| are twice those of g, up to sign.
    w = root * (1.0 - root)
    correction = slope * (1.0 / 6.0 - w)
    correction -= bend * (w * (0.5 - root)) / 3.0
    correction += twist * (w * w - 1.0 / 30.0) / 12.0
    return float(correction @ sign), float(np.abs(slope).sum())


def _pairs_of_zeros(values, magnitude):
    """What pairs of zeros between two nodes add to the integral and the steepness.

    Where |g| has a small local minimum at a node, a polynomial through its neighbours
    tells whether g dips through zero and back. In units of the step.
    """
    inner = magnitude[1:-1]
    before, after = magnitude[:-2], magnitude[2:]
    # A parabola dips below zero next to a node only if its height there is at most an
    # eighth of its second difference.
    lowest = (inner < before) & (inner <= after) & (9.0 * inner < before + after)
    at = np.flatnonzero(lowest) + 1
    if at.size:
        sign = np.sign(values[at])
        alone = (sign == np.sign(values[at - 1])) & (sign == np.sign(values[at + 1]))
        at = at[alone]
    if at.size == 0:
        return 0.0, 0.0
    nearby = values[_reflected(at + _SEXTIC_NODES, values)] * np.sign(values[at])
    derivatives = _SEXTIC @ nearby
    place = np.zeros(at.size)
    for _ in range(3):
        _, slope, bend = _evaluate(derivatives, place)
        place = np.clip(place - slope / np.maximum(bend, 1e-300), -1.0, 1.0)
    height, _, bend = _evaluate(derivatives, place)
    dips = (height < 0.0) & (bend > 0.0)
    # The parabola between its zeros, once to take off and once to add.
    bend = 0.5 * bend[dips]
    width = 2.0 * np.sqrt(-height[dips] / bend)
    return float((bend * width**3).sum()) / 3.0, float(2.0 * (bend * width).sum())


def _reflected(index, values):
    """Node indices beyond the ends, brought back by the evenness about both ends."""
    n_nodes = values.size - 1
    index = np.abs(index)
    return np.where(index > n_nodes, 2 * n_nodes - index, index)


def _evaluate(derivatives, x):
    """Polynomials of shape (n_derivatives, n_powers, n) at the n points x."""
    powers = x ** np.arange(derivatives.shape[1])[:, np.newaxis]
    return np.einsum("dpn,pn->dn", derivatives, powers)


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
