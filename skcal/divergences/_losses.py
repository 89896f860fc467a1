"""Divergences of proper losses: what recalibration saves of the loss."""

import numpy as np

from skcal.divergences._base import Divergence, dot

_EPS = np.finfo(np.float64).eps


class SquaredEuclidean(Divergence):
    r"""Squared Euclidean distance, the divergence of the Brier score.

    Read more in the :ref:`User Guide <divergences>`.

    Attributes
    ----------
    name : str
        ``"brier"``.

    See Also
    --------
    KullbackLeibler : The divergence of the log loss.

    Notes
    -----
    The variational value is :math:`\|f - Y\|^2 - \|z - Y\|^2`: the Brier score that the
    probabilities z save. For a single event it is the score of that event alone, half
    of the sum over both classes.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.divergences import SquaredEuclidean
    >>> forecast = np.array([[0.2, 0.3, 0.5]])
    >>> SquaredEuclidean().value(forecast, np.array([[0.3, 0.3, 0.4]])).round(3)
    array([0.02])
    """

    name = "brier"

    def value(self, forecast, proba):
        """Squared distance of probabilities from forecasts.

        Parameters
        ----------
        forecast, proba : ndarray of shape (n_samples, n_columns)
            Probabilities in [0, 1].

        Returns
        -------
        value : ndarray of shape (n_samples,)
            Not negative.
        """
        gap = proba - forecast
        return dot(gap, gap)

    def gradient(self, forecast, proba):
        """Gradient of the squared distance.

        Parameters
        ----------
        forecast, proba : ndarray of shape (n_samples, n_columns)
            Probabilities in [0, 1].

        Returns
        -------
        gradient : ndarray of shape (n_samples, n_columns)
            Derivatives by the columns of `proba`.
        """
        return 2.0 * (proba - forecast)

    def loss(self, proba, outcome):
        """Brier score of each row.

        Parameters
        ----------
        proba, outcome : ndarray of shape (n_samples, n_columns)
            Probabilities, and 1 in the column of what happened.

        Returns
        -------
        loss : ndarray of shape (n_samples,)
            Not negative.
        """
        return self.value(proba, outcome)


class KullbackLeibler(Divergence):
    r"""Kullback-Leibler divergence, in nats, the divergence of the log loss.

    Read more in the :ref:`User Guide <divergences>`.

    Attributes
    ----------
    name : str
        ``"kl"``.

    See Also
    --------
    SquaredEuclidean : The divergence of the Brier score.

    Notes
    -----
    The variational value is :math:`\log(z_Y / f_Y)`: the log loss that the
    probabilities z save. Probabilities closer to 0 (for a single event: to 0 or 1) than
    2.2e-16, the machine epsilon of float64, are moved to it, as in
    :func:`sklearn.metrics.log_loss`.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.divergences import KullbackLeibler
    >>> forecast = np.array([[0.2, 0.3, 0.5]])
    >>> KullbackLeibler().value(forecast, np.array([[0.3, 0.3, 0.4]])).round(3)
    array([0.032])
    """

    name = "kl"

    def value(self, forecast, proba):
        """Divergence of probabilities from forecasts.

        Parameters
        ----------
        forecast, proba : ndarray of shape (n_samples, n_columns)
            Probabilities in [0, 1].

        Returns
        -------
        value : ndarray of shape (n_samples,)
            Not negative.
        """
        return np.maximum(dot(_clipped(proba), self._log_ratio(forecast, proba)), 0.0)

    def gradient(self, forecast, proba):
        """Gradient of the divergence.

        Parameters
        ----------
        forecast, proba : ndarray of shape (n_samples, n_columns)
            Probabilities in [0, 1].

        Returns
        -------
        gradient : ndarray of shape (n_samples, n_columns)
            Derivatives by the columns of `proba`.
        """
        ratio = self._log_ratio(forecast, proba)
        if proba.shape[1] == 1:
            return ratio[:, 1:] - ratio[:, :1]
        return ratio + 1.0

    def variational_value(self, forecast, proba, outcome):
        """Log loss that some probabilities save.

        Parameters
        ----------
        forecast, proba : ndarray of shape (n_samples, n_columns)
            Probabilities in [0, 1].
        outcome : ndarray of shape (n_samples, n_columns)
            1 in the column of what happened, 0 elsewhere.

        Returns
        -------
        value : ndarray of shape (n_samples,)
            Of any sign.
        """
        return dot(_both(outcome), self._log_ratio(forecast, proba))

    def loss(self, proba, outcome):
        """Log loss of each row.

        Parameters
        ----------
        proba, outcome : ndarray of shape (n_samples, n_columns)
            Probabilities, and 1 in the column of what happened.

        Returns
        -------
        loss : ndarray of shape (n_samples,)
            Not negative.
        """
        return -dot(_both(outcome), np.log(_clipped(proba)))

    @staticmethod
    def _log_ratio(forecast, proba):
        return np.log(_clipped(proba)) - np.log(_clipped(forecast))


def _both(event):
    """Columns of both classes where there is one of a single event."""
    return np.hstack([1.0 - event, event]) if event.shape[1] == 1 else event


def _clipped(proba):
    return np.clip(_both(proba), _EPS, 1.0)
