"""Miscalibrated forecasts with a known truth, for examples and tests."""

import inspect
from functools import lru_cache, partial
from numbers import Integral, Real

import numpy as np
from scipy.special import (
    betaln,
    expit,
    logit,
    roots_jacobi,
    roots_legendre,
    xlog1py,
)
from sklearn.utils import Bunch, check_random_state

from skcal._predictions import (
    check_option,
    check_positive,
    check_scores,
    check_values,
)

__all__ = ["make_forecasts"]

# Quadrature: panels of [0, 1] whose edges include the steps of all curves but those of
# "oscillating", which leave the absolute residual as it is between c and 1 - c.
_PANELS = 20_000
_NODES = 8
_LARGEST = 100_000  # parameter of a beta density that is not too narrow for the panels


def make_forecasts(
    n_samples=1000,
    *,
    curve="quadratic",
    curve_params=None,
    forecasts="uniform",
    random_state=None,
):
    """Make forecasts of two classes whose true probabilities and errors are known.

    A forecast f is drawn, and then an outcome that has the probability C(f) of being 1.
    The curve C is what a reliability diagram of infinitely many rows would show.

    Read more in the :ref:`User Guide <datasets>`.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    curve : str or callable, default="quadratic"
        The probability of the event given its forecast. A callable takes an array of
        forecasts and returns as many probabilities. Names, with their parameters and
        the defaults of these:

        - "calibrated": f
        - "overconfident" (temperature=2) and "underconfident" (temperature=0.5):
          logit C = logit f / temperature
        - "linear": 0.3 + 0.5 f
        - "quadratic": 0.8 f^2 - 0.2 f + 0.2
        - "gaussian": the normal density with mean and standard deviation 0.5
        - "staircase": floor(10 f) / 11 + 0.05
        - "sawtooth": 0.75 (g + 0.1), g the fractional part of 10 f
        - "spikes": f with ten bumps of width 0.02 and heights 0.3 and -0.3 in turn
        - "increasing_frequency": 0.15 + 0.7 f + 0.5 sin(40 pi f^2)
        - "random_fourier": 0.5 + 0.25 sum of a_k sin(2 pi k f) + b_k cos(2 pi k f),
          k = 1, ..., 10, with a_k and b_k that were drawn once, with mean 0 and
          standard deviation 1 / k, so that the curve stays within [0, 1]
        - "weierstrass": 0.15 + 0.5 f + 0.25 sum of cos(3^k pi f) / 2^k, k = 0, ..., 9
        - "power" (exponent=4): f - f^exponent
        - "zigzag": f + 0.25 sign(sin(10 pi f))
        - "oscillating" (amplitude=0.2, n_periods=10): f + c sign(sin(2 pi m g)),
          g = (f - c) / (1 - 2 c), c the amplitude below 0.5, m the number of periods
          between c and 1 - c

        All are held within [0, 1] where their formula leaves it.
    curve_params : dict, default=None
        Parameters of a named curve.
    forecasts : {"uniform"}, tuple, callable or array-like, default="uniform"
        Distribution of the forecasts: uniform on [0, 1]; a tuple (a, b) for
        Beta(a, b), both at most 100,000; a quantile function, such as
        ``scipy.stats.triang(0.5).ppf``, which takes an array in (0, 1); or an array of
        forecasts of shape (n_values,), such as a model's, that are drawn from with
        replacement.
    random_state : int, RandomState instance or None, default=None
        Seed of the sample. With None it differs from call to call.

    Returns
    -------
    data : Bunch
        Dictionary-like, with the attributes

        - `y_true` : ndarray of shape (n_samples,), the outcomes, 0 or 1.
        - `y_proba` : ndarray of shape (n_samples,), the forecasts f.
        - `true_proba` : ndarray of shape (n_samples,), the probabilities C(f).
        - `l1` : float, the true calibration error E abs(C(f) - f).
        - `l2` : float, the true squared calibration error E (C(f) - f)^2.
        - `curve` : callable, the curve C.

    Raises
    ------
    ValueError
        If an option is invalid, or a callable does not return probabilities.

    See Also
    --------
    rank_ece : Estimates `l2`.
    variational_ece : Estimates `l1` and `l2`.
    binned_ece : Estimates `l1` or `l2` by bins.

    Notes
    -----
    `l1` and `l2` are those of the distribution, not of the sample: they depend on the
    curve and the distribution of the forecasts alone. They are integrals, taken by
    Gaussian quadrature on 20,000 panels. Named curves are exact to eight digits or
    more; where a callable has a step of height h, the error is below 1e-4 h.

    References
    ----------
    .. [1] A. Chatterjee and R. F. Barber, "A Ranking Approach for Measuring
       Calibration", 2026, section 5 and appendices A and C.
       `arXiv:2609.13100 <https://arxiv.org/abs/2609.13100>`_

    Examples
    --------
    >>> from skcal import make_forecasts, rank_ece
    >>> data = make_forecasts(100_000, curve="linear", random_state=0)
    >>> round(data.l1, 4), round(data.l2, 4)
    (0.13, 0.0233)
    >>> round(rank_ece(data.y_true, data.y_proba), 4)
    0.0236
    >>> data = make_forecasts(curve="power", forecasts=(0.3, 0.7), random_state=0)
    >>> data.y_proba.shape
    (1000,)
    """
    check_positive("n_samples", n_samples, Integral)
    key = _checked_key(curve, curve_params)
    forecasts = _checked_forecasts(forecasts)
    probability = _curve_of(key)
    if isinstance(curve, str) and isinstance(forecasts, (str, tuple)):
        l1, l2 = _known_errors(key, forecasts)
    else:
        l1, l2 = _errors(key, forecasts)
    rng = check_random_state(random_state)
    f = _draw(forecasts, n_samples, rng)
    truth = probability(f)
    y = (rng.uniform(size=n_samples) < truth).astype(int)
    return Bunch(y_true=y, y_proba=f, true_proba=truth, l1=l1, l2=l2, curve=probability)


# Curves -------------------------------------------------------------------------------


def _calibrated(f):
    return f


def _tempered(f, temperature):
    return expit(logit(f) / temperature)


def _overconfident(f, temperature=2):
    return _tempered(f, temperature)


def _underconfident(f, temperature=0.5):
    return _tempered(f, temperature)


def _linear(f):
    return 0.3 + 0.5 * f


def _quadratic(f):
    return 0.8 * f**2 - 0.2 * f + 0.2


def _gaussian(f):
    return np.exp(-2 * (f - 0.5) ** 2) / np.sqrt(0.5 * np.pi)


def _staircase(f):
    return np.floor(10 * f) / 11 + 0.05


def _sawtooth(f):
    return 0.75 * (10 * f % 1 + 0.1)


def _spikes(f):
    total = f.copy()
    for i in range(10):
        total += 0.3 * (-1) ** i * np.exp(-((f - 0.01 - 0.98 * i / 9) ** 2) / 0.0008)
    return total


def _increasing_frequency(f):
    return 0.15 + 0.7 * f + 0.5 * np.sin(40 * np.pi * f**2)


def _random_fourier(f):
    total = np.full_like(f, 0.5)
    # Of the seeds 0, 1, ... the first whose curve stays within [0, 1].
    for k, (a, b) in enumerate(np.random.RandomState(4).standard_normal((10, 2)), 1):
        angle = 2 * np.pi * k * f
        total += 0.25 / k * (a * np.sin(angle) + b * np.cos(angle))
    return total


def _weierstrass(f):
    total = 0.15 + 0.5 * f
    for k in range(10):
        total += 0.25 / 2**k * np.cos(3**k * np.pi * f)
    return total


def _power(f, exponent=4):
    return f - f**exponent


def _zigzag(f):
    return f + 0.25 * np.sign(np.sin(10 * np.pi * f))


def _oscillating(f, amplitude=0.2, n_periods=10):
    inner = (f - amplitude) / (1 - 2 * amplitude)
    return f + amplitude * np.sign(np.sin(2 * np.pi * n_periods * inner))


_CURVES = {
    "calibrated": _calibrated,
    "overconfident": _overconfident,
    "underconfident": _underconfident,
    "linear": _linear,
    "quadratic": _quadratic,
    "gaussian": _gaussian,
    "staircase": _staircase,
    "sawtooth": _sawtooth,
    "spikes": _spikes,
    "increasing_frequency": _increasing_frequency,
    "random_fourier": _random_fourier,
    "weierstrass": _weierstrass,
    "power": _power,
    "zigzag": _zigzag,
    "oscillating": _oscillating,
}


def _checked_key(curve, curve_params):
    """What the curve is made of, hashable where it is a named one."""
    if callable(curve):
        if curve_params is not None:
            raise ValueError(
                "curve_params are those of a named curve; pass None with a callable. "
                f"Got curve_params={curve_params!r}."
            )
        return curve, ()
    check_option("curve", curve, list(_CURVES))
    known = list(inspect.signature(_CURVES[curve]).parameters)[1:]
    if not isinstance(curve_params, (dict, type(None))):
        raise ValueError(
            f"curve_params must be a dict or None. Got {curve_params!r} instead."
        )
    params = dict(curve_params or {})
    for name, value in params.items():
        if name not in known:
            raise ValueError(
                f"The curve {curve!r} has the parameters {known}. Got {name!r} in "
                "curve_params."
            )
        kind = Integral if name == "n_periods" else Real
        check_positive(f"curve_params[{name!r}]", value, kind)
        if name == "amplitude" and value >= 0.5:
            raise ValueError(
                f"curve_params['amplitude'] must be below 0.5. Got {value!r}."
            )
    return curve, tuple(sorted(params.items()))


def _curve_of(key):
    curve, params = key
    if callable(curve):
        return partial(check_values, "curve", curve)
    return partial(_within, partial(_CURVES[curve], **dict(params)))


def _within(function, f):
    return np.clip(function(np.asarray(f, dtype=np.float64)), 0, 1)


# Distributions of the forecasts -------------------------------------------------------


def _checked_forecasts(forecasts):
    """A name, a tuple of two numbers, a callable or a float array."""
    if callable(forecasts):
        return forecasts
    if isinstance(forecasts, str):
        check_option("forecasts", forecasts, ["uniform"])
        return forecasts
    if isinstance(forecasts, tuple):
        if len(forecasts) != 2:
            raise ValueError(
                "forecasts must be (a, b), the parameters of a beta distribution, "
                f"where it is a tuple. Got {forecasts!r} instead."
            )
        for i, value in enumerate(forecasts):
            check_positive(f"forecasts[{i}]", value)
            if value > _LARGEST:
                raise ValueError(
                    f"The parameters of a beta distribution may not exceed "
                    f"{_LARGEST:,}. Got forecasts={forecasts!r}."
                )
        return forecasts
    values = check_scores(forecasts, name="forecasts")
    if values.ndim != 1:
        raise ValueError(
            f"forecasts must be one-dimensional. Got shape {values.shape} instead."
        )
    return values.astype(np.float64)


def _draw(forecasts, n_samples, rng):
    if isinstance(forecasts, tuple):
        return rng.beta(*forecasts, size=n_samples)
    if isinstance(forecasts, np.ndarray):
        return forecasts[rng.randint(forecasts.size, size=n_samples)]
    u = rng.uniform(size=n_samples)
    if callable(forecasts):
        return check_values("forecasts", forecasts, u)
    return u


def _errors(key, forecasts):
    """E abs(C(f) - f) and E (C(f) - f)^2."""
    f, weight = _quadrature(forecasts)
    gap = _curve_of(key)(f) - f
    return float(weight @ np.abs(gap)), float(weight @ gap**2)


_known_errors = lru_cache(maxsize=256)(_errors)


def _quadrature(forecasts):
    """Forecasts and weights whose sums are expectations."""
    if isinstance(forecasts, np.ndarray):
        return forecasts, np.full(forecasts.size, 1 / forecasts.size)
    if isinstance(forecasts, tuple):
        return _beta_quadrature(*forecasts)
    f, weight = _legendre_panels()
    if callable(forecasts):
        f = check_values("forecasts", forecasts, f)
    return f, weight


def _legendre_panels():
    node, weight = roots_legendre(_NODES)
    f = (np.arange(_PANELS)[:, np.newaxis] + (node + 1) / 2) / _PANELS
    return f.ravel(), np.tile(weight / (2 * _PANELS), _PANELS)


def _beta_quadrature(a, b):
    """Gauss-Legendre; Gauss-Jacobi in the end panels where the density is singular."""
    f, weight = (x.reshape(_PANELS, _NODES) for x in _legendre_panels())
    log_scale = -betaln(a, b)
    weight *= np.exp((a - 1) * np.log(f) + xlog1py(b - 1, -f) + log_scale)
    # On [0, h] the density is x^(a - 1) times what is smooth there, mirrored at 1.
    h = 1 / _PANELS
    for row, left, right in ((0, a, b), (-1, b, a)):
        if left >= 2:
            continue
        node, part = roots_jacobi(_NODES, 0, left - 1)
        x = h * (node + 1) / 2
        part = part * (h / 2) ** left * np.exp(xlog1py(right - 1, -x) + log_scale)
        f[row], weight[row] = (x if row == 0 else 1 - x), part
    return f.ravel(), weight.ravel() / weight.sum()
