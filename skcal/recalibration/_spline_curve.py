"""Natural cubic splines by the coefficients of their slope."""

from typing import NamedTuple

import numpy as np
from scipy.interpolate import BSpline, CubicHermiteSpline

from skcal._core.edges import n_edges_up_to


class SplineCurve(NamedTuple):
    """A natural cubic spline from log odds to repaired log odds.

    Attributes
    ----------
    knots : ndarray of shape (n_knots,)
        Log odds, increasing.
    values : ndarray of shape (n_knots,)
        Repaired log odds at the knots.
    slopes : ndarray of shape (n_knots,)
        The curve's slopes there. Beyond the knots it goes on in straight lines.
    penalty : float
        Penalty of curvature that was given or found.
    degrees_of_freedom : float
        Effective number of parameters: 2 is a straight line.
    """

    knots: np.ndarray
    values: np.ndarray
    slopes: np.ndarray
    penalty: float
    degrees_of_freedom: float


def evaluate(curve, log_odds):
    """The curve at log odds: a cubic between knots, a straight line beyond."""
    knots, values, slopes = curve.knots, curve.values, curve.slopes
    if knots.size == 1:
        return np.full(log_odds.shape, values[0])
    inside = np.clip(log_odds, knots[0], knots[-1])
    left = np.minimum(n_edges_up_to(knots, inside), knots.size - 1) - 1
    coefficients = CubicHermiteSpline(knots, values, slopes).c
    distance = inside - knots[left]
    found = coefficients[0][left]
    for coefficient in coefficients[1:]:
        found *= distance
        found += coefficient[left]
    beyond = log_odds - inside
    found += slopes[-1] * np.maximum(beyond, 0.0)
    found += slopes[0] * np.minimum(beyond, 0.0)
    return found


def _slope_knots(knots, degree):
    return np.concatenate([knots[:1].repeat(degree), knots, knots[-1:].repeat(degree)])


def _natural(n_knots):
    """Coefficients of a quadratic spline, the first two and the last two alike.

    Then its derivative is zero at both ends: the cubic spline that has it for a slope
    is natural.
    """
    index = np.clip(np.arange(n_knots + 1) - 1, 0, n_knots - 2)
    return np.eye(n_knots - 1)[index]


def slope_basis(knots, position, derivative=False):
    """Quadratic spline basis of the curve's slope, shape (n_knots - 1, n_positions)."""
    spline = BSpline(_slope_knots(knots, 2), _natural(knots.size), 2)
    return spline(position, nu=int(derivative)).T


def integrated_basis(knots, position):
    """The same integrated from the first knot: a basis of natural cubic splines."""
    padded = _slope_knots(knots, 3)
    widths = (padded[4:-1] - padded[1:-4]) / 3.0
    coefficients = np.zeros((knots.size + 2, knots.size - 1))
    np.cumsum(
        widths[:, np.newaxis] * _natural(knots.size), axis=0, out=coefficients[1:]
    )
    return np.ascontiguousarray(BSpline(padded, coefficients, 3)(position).T)


def roughness(knots):
    """Integral of the squared derivative of the slope, of its coefficients' steps."""
    half = 0.5 * np.diff(knots)
    middle = 0.5 * (knots[1:] + knots[:-1])
    # The derivative is linear between knots, so that Gauss's two points are exact.
    at = np.concatenate([middle - half / np.sqrt(3.0), middle + half / np.sqrt(3.0)])
    derivative = slope_basis(knots, at, derivative=True)
    of_step = np.cumsum(derivative[::-1], axis=0)[::-1][1:]
    return np.einsum("pi,qi->pq", of_step * np.tile(half, 2), of_step)
