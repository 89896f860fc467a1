"""Slow, definitional versions of the measures, to test the package against.

Nothing here is clever, shares code with ``skcal`` or works on a grid of cells with a
cosine transform: the smoothed error is integrated in closed form between its sign
changes, the rank error enumerates orders, the bins are loops, the distance to
calibration is a linear program. Arguments are ``(f, y)``: probabilities and 0/1
outcomes.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
from scipy.optimize import brentq, linprog, minimize_scalar
from scipy.special import logit, ndtr

REACH = 12.0  # in bandwidths; a Gaussian is below 1e-31 of its peak there
SCAN_STEP = 1 / 32  # in bandwidths; how densely sign changes are looked for


# -- smooth ECE ------------------------------------------------------------------


def _images(f, sigma):
    """Centres of the reflected Gaussian: 2k + f and 2k - f, every k within reach."""
    k_max = math.floor((REACH * sigma + 2) / 2)
    shifts = 2.0 * np.arange(-k_max, k_max + 1)
    return [shift + sign * f for shift in shifts for sign in (1, -1)]


def _in_blocks(function, t):
    """Evaluate ``function`` on short slices of sorted ``t``: few rows are near."""
    return np.concatenate([function(t[i : i + 256]) for i in range(0, len(t), 256)])


def _smoothed_residual(t, centres, mass, sigma):
    """sum_i mass_i K_sigma(t, f_i)."""

    def density(block):
        total = np.zeros(len(block))
        for centre in centres:
            below = centre < block[0] - REACH * sigma
            near = ~below & (centre <= block[-1] + REACH * sigma)
            z = (block[:, None] - centre[near]) / sigma
            total += np.exp(-0.5 * z * z) @ mass[near]
        return total / (sigma * math.sqrt(2 * math.pi))

    return _in_blocks(density, np.atleast_1d(t))


def _smoothed_residual_integral(t, centres, mass, sigma):
    """Antiderivative of ``_smoothed_residual``: a sum of normal CDFs."""

    def cdf(block):
        total = np.zeros(len(block))
        for centre in centres:
            below = centre < block[0] - REACH * sigma
            near = ~below & (centre <= block[-1] + REACH * sigma)
            z = (block[:, None] - centre[near]) / sigma
            total += mass[below].sum() + ndtr(z) @ mass[near]
        return total

    return _in_blocks(cdf, np.atleast_1d(t))


def _windows(x, sigma, low, high):
    """Disjoint intervals of [low, high] outside of which the smoothed mass is nil."""
    merged = []
    for point in np.sort(x):
        start = max(low, point - REACH * sigma)
        stop = min(high, point + REACH * sigma)
        if merged and start <= merged[-1][1]:
            merged[-1][1] = stop
        else:
            merged.append([start, stop])
    return merged


def _near_touches(density, t):
    """Minima of |density| close to zero: it may cross there and back in one step."""
    value = density(t)
    size = np.abs(value)
    inner = (size[1:-1] < size[:-2]) & (size[1:-1] < size[2:])
    # A mixture of Gaussians dips by about SCAN_STEP**2 / 8 of its peak between points.
    touching = 1 + np.flatnonzero(inner & (size[1:-1] < SCAN_STEP**2 * size.max()))
    return [
        minimize_scalar(
            lambda s, sign: sign * density(s)[0],
            args=(np.sign(value[j]),),
            bounds=(t[j - 1], t[j + 1]),
            method="bounded",
        ).x
        for j in touching
    ]


def _root(function, a, b):
    if function(a) * function(b) >= 0:
        # One end is zero but for rounding, and changed its sign since the scan.
        return min(a, b, key=lambda t: abs(function(t)))
    return brentq(function, a, b, xtol=1e-15)


def _integral_of_absolute_value(x, mass, sigma, centres, low, high):
    """integral_low^high |sum_i mass_i K(t, x_i)| dt, exact between sign changes."""

    def density(t):
        return _smoothed_residual(t, centres, mass, sigma)

    total = 0.0
    for start, stop in _windows(x, sigma, low, high):
        n_steps = max(256, math.ceil((stop - start) / (sigma * SCAN_STEP)))
        t = np.linspace(start, stop, n_steps + 1)
        t = np.union1d(t, _near_touches(density, t))
        sign = np.sign(density(t))
        changes = np.flatnonzero(sign[:-1] * sign[1:] < 0)
        roots = [_root(lambda s: density(s)[0], t[j], t[j + 1]) for j in changes]
        # A root that the scan hits exactly is a boundary as well.
        cuts = np.unique(np.r_[start, roots, t[sign == 0], stop])
        area = _smoothed_residual_integral(cuts, centres, mass, sigma)
        total += np.abs(np.diff(area)).sum()
    return float(total)


def _residual_mass(f, y, w):
    """Distinct forecasts and the weighted residual on each, total weight 1."""
    f, y = np.asarray(f, dtype=float), np.asarray(y, dtype=float)
    w = np.ones(len(f)) if w is None else np.asarray(w, dtype=float)
    value, where = np.unique(f, return_inverse=True)
    return value, np.bincount(where, weights=w * (y - f)) / w.sum()


def smooth_ece_at(f, y, sigma, w=None):
    """smECE_sigma: integral_0^1 |sum_i w_i K_sigma(t, f_i) (y_i - f_i)| dt / sum w."""
    value, mass = _residual_mass(f, y, w)
    centres = _images(value, sigma)
    return _integral_of_absolute_value(value, mass, sigma, centres, 0.0, 1.0)


def smooth_ece_logit_at(f, y, sigma, w=None):
    """smECE_sigma with h = logit; f = 0 and f = 1 are atoms nothing else reaches."""
    value, mass = _residual_mass(f, y, w)
    inside = (value > 0) & (value < 1)
    total = float(np.abs(mass[~inside]).sum())
    if inside.any():
        h = logit(value[inside])
        total += _integral_of_absolute_value(
            h, mass[inside], sigma, [h], -np.inf, np.inf
        )
    return total


def _fixed_point(error_at, f, y, w):
    """Solve error_at(sigma) = sigma for a non-increasing error_at."""
    unsmoothed = np.abs(_residual_mass(f, y, w)[1]).sum()  # its limit at sigma = 0
    if unsmoothed < 1e-15:
        return 0.0
    high = low = unsmoothed
    while error_at(f, y, low, w) < low:
        high, low = low, low / 2
    if low == high:
        return float(low)
    return brentq(lambda sigma: error_at(f, y, sigma, w) - sigma, low, high, xtol=1e-12)


def smooth_ece_fixed_point(f, y, w=None):
    """smECE: the sigma* at which smECE_sigma* = sigma*."""
    return _fixed_point(smooth_ece_at, f, y, w)


def smooth_ece_logit_fixed_point(f, y, w=None):
    """Fixed point of ``smooth_ece_logit_at``."""
    return _fixed_point(smooth_ece_logit_at, f, y, w)


def distance_to_calibration_lower(f, y, n_grid=400):
    """Lower distance to calibration, as a linear program over target values.

    Mass moves from (f_i, y_i) to (v_j, y_i) at cost |f_i - v_j|; after the move the
    outcomes at every v_j must average v_j. A calibrated v between two grid values
    splits into calibrated mass on both, so the grid adds at most its step 1 / n_grid.
    """
    f, y = np.asarray(f, dtype=float), np.asarray(y, dtype=float)
    n = len(f)
    v = np.unique(np.r_[np.linspace(0, 1, n_grid + 1), f])
    leaves = np.kron(np.eye(n), np.ones(len(v)))
    calibrated = np.hstack([np.diag(y_i - v) for y_i in y])
    plan = linprog(
        np.abs(f[:, None] - v).ravel(),
        A_eq=np.vstack([leaves, calibrated]),
        b_eq=np.r_[np.full(n, 1 / n), np.zeros(len(v))],
    )
    assert plan.status == 0, plan.message
    return plan.fun


# -- rank ECE --------------------------------------------------------------------


def _orders(f):
    """Every order of the rows that sorts f."""
    blocks = [np.flatnonzero(f == value) for value in np.unique(f)]
    choices = [list(itertools.permutations(block)) for block in blocks]
    for choice in itertools.product(*choices):
        yield [row for block in choice for row in block]


def rank_ece_of_every_order(f, y, n_neighbors=1):
    """(1/m) sum_lag (1/n) sum_i W_(i) W_(i+lag) for each order that sorts f."""
    f, y = np.asarray(f, dtype=float), np.asarray(y, dtype=float)
    n = len(f)
    values = []
    for order in _orders(f):
        w = (y - f)[order]
        total = 0.0
        for lag in range(1, n_neighbors + 1):
            total += sum(w[i] * w[i + lag] for i in range(n - lag)) / n
        values.append(total / n_neighbors)
    return values


def rank_ece_enumerated(f, y, n_neighbors=1):
    """Mean of ``rank_ece_of_every_order``: ties broken in every way."""
    values = rank_ece_of_every_order(f, y, n_neighbors)
    return math.fsum(values) / len(values)


# -- binned ECE ------------------------------------------------------------------


def _uniform_bin(p, n_bins):
    """Largest k with k / n_bins <= p; p = 1 joins the last bin."""
    below = [k for k in range(n_bins) if k / n_bins <= p]
    return below[-1]


def _quantile_bins(f, w, n_bins):
    """Bin by the share of weight up to the middle of the rows with the same forecast.

    In exact arithmetic, as the middle may lie on an edge (and then belongs to the bin
    on its right).
    """
    w = [Fraction(weight) for weight in w]
    bins = []
    for value in f:
        below = sum(w_j for f_j, w_j in zip(f, w, strict=True) if f_j < value)
        equal = sum(w_j for f_j, w_j in zip(f, w, strict=True) if f_j == value)
        share = (below + equal / 2) / sum(w)
        bins.append(min(math.floor(n_bins * share), n_bins - 1))
    return bins


def binned_ece_reference(
    f, y, *, n_bins=15, strategy="uniform", norm="l1", debias=False, w=None
):
    """Binned ECE with loops: "l1", "l2" (squared, no root) or "max"."""
    f, y = [float(p) for p in f], [float(o) for o in y]
    w = [1.0] * len(f) if w is None else [float(weight) for weight in w]
    if strategy == "uniform":
        bins = [_uniform_bin(p, n_bins) for p in f]
    else:
        bins = _quantile_bins(f, w, n_bins)

    terms = []
    for b in set(bins):
        rows = [i for i in range(len(f)) if bins[i] == b]
        mass = math.fsum(w[i] for i in rows)
        if mass == 0:
            continue
        mean_f = math.fsum(w[i] * f[i] for i in rows) / mass
        mean_y = math.fsum(w[i] * y[i] for i in rows) / mass
        gap = abs(mean_y - mean_f)
        if norm == "max":
            terms.append(gap)
            continue
        term = gap if norm == "l1" else gap**2
        if debias:
            # Kumar et al. (2019); one point says nothing about its own noise.
            noise = mean_y * (1 - mean_y) / (mass - 1) if mass >= 2 else term
            term -= noise
        terms.append(mass / math.fsum(w) * term)
    return max(terms) if norm == "max" else math.fsum(terms)


# -- V-ECE -------------------------------------------------------------------------


def divergence(name, f, z):
    """D_f(z) of two sequences of probabilities; one number each for a single event."""
    gaps = [abs(b - a) for a, b in zip(f, z, strict=True)]
    if name == "brier":
        return sum(gap**2 for gap in gaps)
    if name == "kl":
        if len(f) == 1:
            f, z = [1 - f[0], f[0]], [1 - z[0], z[0]]
        return sum(b * math.log(b / a) for a, b in zip(f, z, strict=True) if b > 0)
    if name == "linf":
        return max(gaps)
    p = float(name[1:])
    return sum(gap**p for gap in gaps) ** (1 / p)


def divergence_tangent(name, f, z, y):
    """D_f(z) + <y - z, gradient at z>, the gradient by its textbook formula."""
    gaps = [b - a for a, b in zip(f, z, strict=True)]
    if name == "brier":
        gradient = [2 * gap for gap in gaps]
    elif name == "kl" and len(f) == 1:
        odds = [math.log(q / (1 - q)) for q in (f[0], z[0])]
        gradient = [odds[1] - odds[0]]
    elif name == "kl":
        gradient = [math.log(b / a) + 1 for a, b in zip(f, z, strict=True)]
    elif not any(gaps):
        return 0.0
    elif name == "linf":
        largest = max(range(len(gaps)), key=lambda k: abs(gaps[k]))
        gradient = [0.0] * len(gaps)
        gradient[largest] = math.copysign(1.0, gaps[largest])
    else:
        p = float(name[1:])
        norm = divergence(name, f, z)
        gradient = [
            math.copysign(abs(gap) ** (p - 1), gap) / norm ** (p - 1) if gap else 0.0
            for gap in gaps
        ]
    slope = sum((c - b) * g for c, b, g in zip(y, z, gradient, strict=True))
    return divergence(name, f, z) + slope


def variational_mean(name, f, z, y, weight=None):
    """Mean tangent over the rows: V-ECE of recalibrated probabilities z."""
    weight = [1.0] * len(f) if weight is None else weight
    total = sum(
        w * divergence_tangent(name, a, b, c)
        for w, a, b, c in zip(weight, f, z, y, strict=True)
    )
    return total / sum(weight)
