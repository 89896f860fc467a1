"""Variance of the rank calibration error."""

import numpy as np

_SLOW_LAGS = 10


def lagged_variance(residual, n_neighbors):
    """Variance of the mean lagged product, from its own terms.

    The terms Z_i = W_(i) (W_(i+1) + ... + W_(i+m)) / m share noise up to lag m only;
    at greater lags they covary by what changes slowly with the forecast. That counts
    once, with the terms' variance, so lags beyond m are taken off lags 1 to m.

    Parameters
    ----------
    residual : ndarray of shape (n_samples,)
        Outcome less forecast, by rank.
    n_neighbors : int

    Returns
    -------
    variance : float
    """
    n_samples = residual.size
    ahead = np.zeros(n_samples)
    for lag in range(1, n_neighbors + 1):
        ahead[:-lag] += residual[lag:]
    terms = residual * ahead / n_neighbors
    terms -= terms.mean()

    def covariance(lag):
        return float(terms[lag:] @ terms[: n_samples - lag]) / n_samples

    variance = covariance(0)
    # The slow part is about the same at these lags: their mean is less noisy.
    last = min(n_neighbors + max(1, min(_SLOW_LAGS, n_samples // 20)), n_samples - 1)
    lags = range(n_neighbors + 1, last + 1)
    slow = sum(map(covariance, lags)) / max(len(lags), 1)
    shared = sum(covariance(lag) - slow for lag in range(1, n_neighbors + 1))
    # Terms that share noise covary positively: much less than none is chance.
    return max(variance + 2.0 * shared, 0.5 * variance) / n_samples
