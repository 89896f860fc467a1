"""Number of rows that a calibration error needs to be found."""

import math

import numpy as np
from scipy.special import ndtri

from skcal._predictions import check_fraction, check_positive, check_scores


def rank_ece_sample_size(rank_ece, y_proba, *, power=0.8, significance_level=0.05):
    r"""Number of rows with which `rank_ece_test` finds a given error.

    By the normal limit of the statistic, for forecasts distributed as `y_proba` that
    are over-confident by ``sqrt(rank_ece)`` everywhere: an event with forecast f has
    the probability f moved towards one half by that much.

    Read more in the :ref:`User Guide <sample_size>`.

    Parameters
    ----------
    rank_ece : float
        The error to be found, a squared probability up to 0.25: 0.0025 is an error of
        5 percentage points.
    y_proba : array-like of shape (n_samples,)
        Forecast probabilities of the event like those the test will see; any number of
        them. With three or more classes, the top class's.
    power : float, default=0.8
        Probability of a p-value below the significance level.
    significance_level : float, default=0.05
        Below which p-value the error counts as found.

    Returns
    -------
    n_samples : int
        At least 1; a number of thousands is no more than a guide.

    Raises
    ------
    ValueError
        If an argument is invalid, or the forecasts are such that no outcome is by
        chance.

    See Also
    --------
    rank_ece_test : The test.
    rank_ece_upper_bound : For accepting a model rather than rejecting it.

    Notes
    -----
    With the error :math:`\delta`, the true probability c, :math:`v = c (1 - c)`, the
    variance of a product :math:`\sigma_0^2 = E[f^2 (1-f)^2]` under calibration and
    :math:`\sigma_1^2 = E[v^2] + 4 \delta E[v]` with the error, and normal quantiles z,

    .. math::

       n = 1 + \Big( \frac{z_{1-\alpha} \sigma_0 + z_{\text{power}} \sigma_1}
           {\delta} \Big)^2 .

    The number is a guide for the same error everywhere. One that is concentrated on few
    forecasts, or changes from one to the next in rank, needs more rows; forecasts with
    many ties need fewer, as the test then averages over more pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal import rank_ece_sample_size
    >>> y_proba = np.linspace(0, 1, 101)
    >>> rank_ece_sample_size(0.05**2, y_proba)
    35221
    >>> rank_ece_sample_size(0.10**2, y_proba)
    2424
    """
    check_positive("rank_ece", rank_ece)
    if rank_ece > 0.25:
        raise ValueError(
            "rank_ece must be at most 0.25, the square of an error of 50 percentage "
            f"points. Got {rank_ece!r}."
        )
    check_fraction("power", power)
    check_fraction("significance_level", significance_level)
    forecast = check_scores(y_proba)
    if forecast.ndim == 2:
        raise ValueError(
            "rank_ece_sample_size takes the probabilities of one event. Got y_proba of "
            f"shape {forecast.shape}: pass one column, or y_proba.max(axis=1) for the "
            "top class."
        )
    forecast = forecast.astype(np.float64, copy=False)
    spread = forecast * (1.0 - forecast)
    if not spread.any():
        raise ValueError(
            "y_proba holds only 0 and 1: a single row that is wrong is enough."
        )
    error = math.sqrt(rank_ece)
    true = forecast + np.where(forecast <= 0.5, error, -error)
    true_spread = true * (1.0 - true)
    null = math.sqrt(np.mean(spread**2))
    alternative = math.sqrt(
        np.mean(true_spread**2) + 4.0 * rank_ece * np.mean(true_spread)
    )
    reach = -ndtri(significance_level) * null + ndtri(power) * alternative
    return 1 + math.ceil((max(reach, 0.0) / rank_ece) ** 2)
