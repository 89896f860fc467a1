"""Smooth calibration error from sums that add up over batches."""

import warnings
from numbers import Integral

import numpy as np

from skcal._core.smoothing import CHUNK, MomentGrid, solve_fixed_point
from skcal._predictions import check_option, check_positive
from skcal.accumulators._base import Accumulator

SCALES = ("linear", "logit")
# Beyond +-40 on the logit scale every residual is 0 or 1 to 4e-18, and residuals of
# one sign add the same wherever they sit, so such forecasts count with 0 and 1.
_LOGIT_RANGE = 40.0
# The error of n calibrated forecasts spread over [0, 1] is about this times n^(-1/3).
_NULL_ERROR = {"linear": 0.28, "logit": 0.5}
_DEFAULT_CELLS = {"linear": 1 << 16, "logit": 1 << 17}


class ResidualSums:
    """Weighted residuals of one binary problem on a grid of forecasts.

    Parameters
    ----------
    scale : {"linear", "logit"}
    n_cells : int
    low, high : float, default=None
        Walls of the grid on the scale of the smoothing; by default those of the scale.

    Attributes
    ----------
    grid : MomentGrid
    atoms : ndarray of shape (2,)
        Sums of residuals at minus and plus infinity on the logit scale.
    n_rows : int
    weight, absolute : float
        Sums of the weights and of the weighted absolute residuals.
    """

    __slots__ = ("absolute", "atoms", "grid", "n_rows", "scale", "weight")

    def __init__(self, scale, n_cells, low=None, high=None):
        if low is None:
            low, high = scale_range(scale)
        self.scale = scale
        self.grid = MomentGrid(n_cells, low, high)
        self.atoms = np.zeros(2)
        self.n_rows = 0
        self.weight = 0.0
        self.absolute = 0.0

    def update(self, problem):
        for outcome, forecast, weight in problem.chunks(CHUNK):
            residual = outcome - forecast
            self.n_rows += residual.size
            if weight is None:
                self.weight += residual.size
            else:
                residual *= weight
                self.weight += weight.sum()
            self.absolute += np.abs(residual).sum()
            if self.scale == "logit":
                forecast = logit(forecast)
                for side, far in enumerate(
                    (forecast < -_LOGIT_RANGE, forecast > _LOGIT_RANGE)
                ):
                    if far.any():
                        self.atoms[side] += residual[far].sum()
                        residual[far], forecast[far] = 0.0, self.grid.low
            self.grid.add(forecast, residual)

    def merge(self, other):
        self.grid.merge(other.grid)
        self.atoms += other.atoms
        self.n_rows += other.n_rows
        self.weight += other.weight
        self.absolute += other.absolute

    def at_bandwidth(self, bandwidth):
        """smECE at one bandwidth."""
        return self._norm(self.grid.spectrum(), bandwidth)[0]

    def fixed_point(self):
        """The bandwidth at which smECE equals it, and whether the grid resolves it."""
        spectrum = self.grid.spectrum()
        # Smoothing keeps the total, so the error is at least the mean residual's size.
        lower = abs(spectrum.coefficients[0]) / self.weight
        upper = self.absolute / self.weight
        return solve_fixed_point(
            lambda bandwidth, rough: self._norm(spectrum, bandwidth, rough),
            lower=min(lower, upper),
            upper=upper,
            resolution=self.grid.resolution,
            start=lower + _NULL_ERROR[self.scale] * self.n_rows ** (-1.0 / 3.0),
        )

    def _norm(self, spectrum, bandwidth, rough=False):
        """smECE at one bandwidth, and its slope."""
        norm, slope = spectrum.l1_norm(bandwidth, rough)
        value = (norm + np.abs(self.atoms).sum()) / self.weight
        return min(float(value), self.absolute / self.weight), slope / self.weight


class SmoothECEAccumulator(Accumulator):
    """Smooth calibration error (smECE) of a stream, in constant memory.

    The residuals are kept as moments per cell of a fixed grid. They add up, so batches
    may come in any order and accumulators filled on different machines may be merged;
    the result is that of :func:`skcal.smooth_ece` on all rows at once.

    Parameters
    ----------
    scale : {"linear", "logit"}, default="linear"
        Scale on which the residuals are smoothed, see :func:`skcal.smooth_ece`.
    bandwidth : float, default=None
        Bandwidth of the smoothing; None takes the fixed point.
    n_cells : int, default=None
        Number of grid cells. By default 65,536 on the linear scale, which resolves
        bandwidths from 3e-5, and 131,072 on the logit scale, which resolves them from
        1.3e-3. One problem's state takes 48 bytes per cell.
    pos_label : int, float, bool or str, default=None
        Label of the positive class, see :func:`skcal.smooth_ece`.
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order. Give them wherever a batch may lack a class.
    multiclass : {"confidence", "classwise"}, default="confidence"
        Reduction of three or more classes to binary problems.

    Attributes
    ----------
    n_samples_ : int
        Number of rows seen.

    See Also
    --------
    skcal.smooth_ece : The same of arrays in memory.
    BinnedECEAccumulator : Binned calibration error of a stream.

    Notes
    -----
    For a fixed point below the grid's resolution, the error at the resolution is
    reported, a lower bound, with a warning.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal import SmoothECEAccumulator, smooth_ece
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.uniform(size=1000)
    >>> y_true = rng.uniform(size=1000) < y_proba**2
    >>> first, second = SmoothECEAccumulator(), SmoothECEAccumulator()
    >>> first.update(y_true[:300], y_proba[:300])
    SmoothECEAccumulator(n_samples=300)
    >>> second.update(y_true[300:], y_proba[300:])
    SmoothECEAccumulator(n_samples=700)
    >>> error = first.merge(second).compute()
    >>> bool(abs(error - smooth_ece(y_true, y_proba)) < 1e-9)
    True
    """

    def __init__(
        self,
        *,
        scale="linear",
        bandwidth=None,
        n_cells=None,
        pos_label=None,
        labels=None,
        multiclass="confidence",
    ):
        super().__init__(pos_label=pos_label, labels=labels, multiclass=multiclass)
        check_option("scale", scale, SCALES)
        self.scale = scale
        self.bandwidth = bandwidth
        self.n_cells = _DEFAULT_CELLS[scale] if n_cells is None else n_cells
        check_positive("n_cells", self.n_cells, Integral)
        if bandwidth is not None:
            check_positive("bandwidth", bandwidth)
            resolution = self._new_sums().grid.resolution
            if bandwidth < resolution:
                raise ValueError(
                    f"bandwidth={bandwidth!r} must be at least "
                    f"{resolution:.3g}, the resolution of n_cells={self.n_cells}."
                )

    def _new_sums(self):
        low, high = scale_range(self.scale, self.bandwidth)
        return ResidualSums(self.scale, self.n_cells, low, high)

    def _value(self, sums):
        if self.bandwidth is not None:
            return sums.at_bandwidth(self.bandwidth)
        value, resolved = sums.fixed_point()
        if not resolved:
            warnings.warn(
                "The error is below the grid's resolution of "
                f"{sums.grid.resolution:.2g} with n_cells={self.n_cells}: {value:.4g} "
                "is a lower bound of it. Use more cells.",
                stacklevel=3,
            )
        return value

    def _configuration(self):
        own = {
            "scale": self.scale,
            "bandwidth": self.bandwidth,
            "n_cells": self.n_cells,
        }
        return {**own, **super()._configuration()}


def scale_range(scale, bandwidth=None):
    """Walls of the smoothing's grid.

    The real line has none: they stand where what they reflect has residuals of one
    sign only, further out for bandwidths that reach there.
    """
    if scale == "linear":
        return 0.0, 1.0
    reach = _LOGIT_RANGE
    if bandwidth is not None and bandwidth > 1.0:
        reach += 10.0 * bandwidth
    return -reach, reach


def logit(forecast):
    """Log odds, infinite at 0 and 1, without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(forecast) - np.log1p(-forecast)
