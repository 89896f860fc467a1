"""Variance of the rank calibration error."""

import numpy as np


def lagged_variance(residual, n_neighbors):
    """Variance of the mean lagged product, from its own terms.

    The terms Z_i = W_(i) (W_(i+1) + ... + W_(i+m)) / m share noise up to lag m only;
    at greater lags they covary by what changes slowly with the forecast. That counts
    once, with the terms' variance, so lag m + 1 is taken off lags 1 to m.

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
    slow = covariance(n_neighbors + 1) if n_neighbors + 1 < n_samples else 0.0
    shared = sum(covariance(lag) - slow for lag in range(1, n_neighbors + 1))
    # Terms that share noise covary positively: less than none is chance.
    return (variance + 2.0 * max(shared, 0.0)) / n_samples
