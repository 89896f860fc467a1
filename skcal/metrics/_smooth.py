"""Smooth calibration error (smECE)."""

import numpy as np

from skcal._core.smoothing import n_cells_for, resolution
from skcal._predictions import check_option, check_positive
from skcal.accumulators._smooth import SCALES, ResidualSums, logit, scale_range
from skcal.metrics._reduction import mean_over_problems

# Cells of the first grid per width of the linear scale; a logit grid is 80 wide.
_FEW_CELLS, _MORE_CELLS, _MANY_ROWS = 1 << 10, 1 << 12, 100_000
_LOGIT_FACTOR = 16
_MOST_CELLS = 1 << 18
_MOST_CELLS_ON_REQUEST = 1 << 22
_MOST_PASSES = 4


def smooth_ece(
    y_true,
    y_proba,
    *,
    sample_weight=None,
    pos_label=None,
    labels=None,
    multiclass="confidence",
    scale="linear",
    bandwidth=None,
):
    """Smooth calibration error (smECE).

    The residuals ``y - f`` are smoothed over the forecasts f with a Gaussian reflected
    at 0 and 1, and the absolute smoothed residual is integrated. The bandwidth is not a
    choice: it is the one that equals the error it gives, the unique fixed point. The
    result is a consistent calibration measure: up to constants it lies between the
    distance to the nearest perfectly calibrated predictor and that distance's square
    root.

    Read more in the :ref:`User Guide <smooth_ece>`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or \
            (n_samples, n_classes)
        Predicted probabilities in [0, 1]. One column is the positive class's; more are
        the classes' in sorted order, and their rows sum to one.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights; a weight of k counts as k repetitions of the row.
    pos_label : int, float, bool or str, default=None
        Label of the positive class. By default 1 where the labels are within {0, 1} or
        {-1, 1}, and the second label in sorted order where `y_proba` has two columns or
        `labels` is given. Has no effect with three or more classes.
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order. Give them where `y_true` may lack a class.
    multiclass : {"confidence", "classwise"}, default="confidence"
        With three or more classes, measure the top class's probability against its
        being right, or take the mean of the one-vs-rest errors. Two classes are always
        measured by the positive class's probability.
    scale : {"linear", "logit"}, default="linear"
        Scale of the forecasts on which the residuals are smoothed. ``"logit"`` tells
        0.001 from 0.01 as clearly as 0.5 from 0.9; its bandwidth is in units of log
        odds, and forecasts of exactly 0 or 1 are reached by no smoothing.
    bandwidth : float, default=None
        Standard deviation of the Gaussian, on the given scale. None takes the fixed
        point.

    Returns
    -------
    error : float
        Between 0 and 1, 0 is perfect. The value is accurate to within 1e-7 relative.

    Raises
    ------
    ValueError
        If the input is invalid, or `bandwidth` too small to be resolved.

    See Also
    --------
    SmoothECEAccumulator : The same of a stream.
    rank_ece : Squared calibration error without a bandwidth.
    ReliabilityDisplay : The smoothed reliability diagram.

    Notes
    -----
    A perfectly calibrated forecast has a positive smECE in a sample, about 0.03 for
    1,000 and 0.014 for 10,000 rows spread evenly over [0, 1]: read small values
    against that.

    References
    ----------
    .. [1] J. Błasiok and P. Nakkiran, "Smooth ECE: Principled Reliability Diagrams via
       Kernel Smoothing", 2023, sections 3.1, 3.2 and 5.3.
       `arXiv:2309.12236 <https://arxiv.org/abs/2309.12236>`_

    Examples
    --------
    >>> import numpy as np
    >>> from skcal import smooth_ece
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.uniform(size=10_000)
    >>> calibrated = rng.uniform(size=10_000) < y_proba
    >>> round(smooth_ece(calibrated, y_proba), 2)
    0.01
    >>> overconfident = rng.uniform(size=10_000) < 0.25 + 0.5 * y_proba
    >>> round(smooth_ece(overconfident, y_proba), 2)
    0.12
    """
    check_option("scale", scale, SCALES)
    if bandwidth is not None:
        check_positive("bandwidth", bandwidth)
    return mean_over_problems(
        lambda problem: _smooth_ece(problem, scale, bandwidth),
        multiclass,
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
    )


def _smooth_ece(problem, scale, bandwidth):
    if bandwidth is not None:
        # Beyond this the error is that of the mean residual, and squares overflow.
        bandwidth = min(bandwidth, 1e8)
        return _grid_for(problem, scale, bandwidth).at_bandwidth(bandwidth)
    return smooth_fixed_point(problem, scale)


def smooth_fixed_point(problem, scale):
    """The bandwidth that equals its smECE, on grids as fine as it takes."""
    n_cells = _FEW_CELLS if problem.forecast.shape[0] < _MANY_ROWS else _MORE_CELLS
    if scale == "logit":
        n_cells *= _LOGIT_FACTOR
    sums = ResidualSums(scale, n_cells)
    sums.update(problem)
    value, resolved = sums.fixed_point()
    if resolved:
        return value

    # The fixed point is below this grid's resolution. Zoom in on the forecasts, with
    # walls beyond the reach of such a bandwidth, and refine.
    data_low, data_high = _data_range(problem, scale)
    for _ in range(_MOST_PASSES):
        coarsest = sums.grid.resolution
        low, high = _zoom(data_low, data_high, scale, coarsest)
        target = max(value, coarsest / 64.0)
        n_cells = min(n_cells_for(target, high - low), _MOST_CELLS)
        finer = ResidualSums(scale, n_cells, low, high)
        if not finer.grid.resolution < 0.9 * coarsest:
            break
        sums = finer
        sums.update(problem)
        value, resolved = sums.fixed_point()
        if resolved:
            return value
    # Below the finest grid's resolution: a lower bound, less than that resolution off.
    return value


def _grid_for(problem, scale, bandwidth):
    """Residual sums that resolve a bandwidth."""
    low, high = scale_range(scale, bandwidth)
    n_cells = n_cells_for(bandwidth, high - low)
    if n_cells > _MORE_CELLS:
        # Walls beyond the kernel's reach change nothing and leave less to resolve.
        low, high = _zoom(*_data_range(problem, scale), scale, bandwidth)
        n_cells = n_cells_for(bandwidth, high - low)
    if n_cells > _MOST_CELLS_ON_REQUEST:
        smallest = resolution(high - low, _MOST_CELLS_ON_REQUEST)
        raise ValueError(
            f"bandwidth={bandwidth!r} is too small for forecasts that spread over "
            f"[{low:.3g}, {high:.3g}] on the {scale} scale; the smallest supported "
            f"there is {smallest:.3g}."
        )
    sums = ResidualSums(scale, n_cells, low, high)
    sums.update(problem)
    return sums


def _data_range(problem, scale):
    ends = np.array([problem.forecast.min(), problem.forecast.max()], dtype=np.float64)
    if scale == "logit":
        ends = np.clip(logit(ends), *scale_range(scale))
    return ends


def _zoom(data_low, data_high, scale, bandwidth):
    low, high = scale_range(scale)
    reach = 10.0 * bandwidth
    return max(low, data_low - reach), min(high, data_high + reach)
