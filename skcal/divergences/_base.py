"""What a divergence is, and the check that one is."""

import numpy as np

_TOLERANCE = 1e-8


class Divergence:
    r"""Base class of divergences.

    A subclass gives :meth:`value` and :meth:`gradient`, and may set `name`. What they
    return is checked whenever it is used, against what any divergence must fulfil: it
    is zero at the forecast, nowhere negative, and lies above its tangents.

    Read more in the :ref:`User Guide <divergences>`.

    Attributes
    ----------
    name : str
        Key of its results; the class's name in lower case unless set.
    has_kink : bool
        Whether its gradient jumps at the forecast, as a norm's does; False unless set.
        It is taken into account in standard errors.

    See Also
    --------
    SquaredEuclidean : The squared distance, of the Brier score.
    skcal.metrics.variational_ece : The calibration error in terms of a divergence.

    References
    ----------
    .. [1] E. Berta, S. Braun, F. Bach, M. I. Jordan and D. Holzmüller, "V-ECE:
       Estimating General Expected Calibration Errors", 2026, theorem 1 and table 1.

    Examples
    --------
    Errors count twice where too much is forecast:

    >>> import numpy as np
    >>> from skcal import BetaCalibration, variational_ece
    >>> from skcal.divergences import Divergence
    >>> class Overforecast(Divergence):
    ...     has_kink = True
    ...
    ...     def value(self, forecast, proba):
    ...         excess = forecast - proba
    ...         return np.where(excess > 0, 2 * excess, -excess)[:, 0]
    ...
    ...     def gradient(self, forecast, proba):
    ...         return np.sign(proba - forecast) * np.where(forecast > proba, 2, 1)
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.uniform(size=10_000)
    >>> y_true = rng.uniform(size=10_000) < 0.8 * y_proba  # E|f - C| = 0.1
    >>> beta = BetaCalibration()
    >>> error = variational_ece(
    ...     y_true, y_proba, divergence=Overforecast(), recalibrator=beta
    ... )
    >>> round(error, 1)
    0.2
    """

    name = None
    has_kink = False

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__.lower()

    def value(self, forecast, proba):
        """Divergence of probabilities from forecasts.

        Parameters
        ----------
        forecast, proba : ndarray of shape (n_samples, n_columns)
            Probabilities in [0, 1].

        Returns
        -------
        value : ndarray of shape (n_samples,)
            Not negative; zero where `proba` equals `forecast`.
        """
        raise NotImplementedError

    def gradient(self, forecast, proba):
        """Gradient of the divergence in its argument, or any subgradient.

        Parameters
        ----------
        forecast, proba : ndarray of shape (n_samples, n_columns)
            Probabilities in [0, 1].

        Returns
        -------
        gradient : ndarray of shape (n_samples, n_columns)
            Derivatives by the columns of `proba`.
        """
        raise NotImplementedError

    def variational_value(self, forecast, proba, outcome):
        """Tangent of the divergence at some probabilities, where the outcome is.

        Its mean over new rows is at most the calibration error, and equals it where
        `proba` are the true conditional probabilities.

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
        value = self.value(forecast, proba)
        return value + dot(outcome - proba, self.gradient(forecast, proba))

    def check(self, forecast, proba, *, finite_differences=False):
        """Check that the divergence is one, on some rows.

        Parameters
        ----------
        forecast, proba : ndarray of shape (n_samples, n_columns)
            Probabilities in [0, 1].
        finite_differences : bool, default=False
            Compare the gradient with differences of the divergence as well; sensible
            where it is smooth and probabilities are not at 0 or 1.

        Raises
        ------
        ValueError
            If a shape is wrong, a value is not finite or negative, the divergence of
            the forecast from itself is not zero, or a gradient is no slope of it.
        """
        n_samples = forecast.shape[0]
        value = np.asarray(self.value(forecast, proba))
        gradient = np.asarray(self.gradient(forecast, proba))
        itself = np.asarray(self.value(forecast, forecast))
        for what, array, shape in (
            ("value", value, (n_samples,)),
            ("gradient", gradient, proba.shape),
            ("value", itself, (n_samples,)),
        ):
            if array.shape != shape:
                raise ValueError(
                    f"{self!r}.{what} must give an array of shape {shape}. Got shape "
                    f"{array.shape}."
                )
            if not np.isfinite(array).all():
                row = int(np.flatnonzero(~np.isfinite(array.reshape(n_samples, -1)))[0])
                row //= max(1, array.size // n_samples)
                raise ValueError(
                    f"{self!r}.{what} must be finite. At forecast {forecast[row]} and "
                    f"probability {proba[row]} it is {array[row]}."
                )
        scale = _TOLERANCE * (1.0 + np.abs(value))
        excess = dot(proba - forecast, gradient) - value
        for wrong, found, what in (
            (np.abs(itself) > _TOLERANCE, itself, "be 0 at the forecast itself"),
            (value < -scale, value, "not be negative"),
            (
                excess < -scale * (1.0 + np.abs(gradient).max(axis=1)),
                -excess,
                "lie above its tangents: the tangent at the probability, less 0, at "
                "the forecast must not be positive, or value and gradient do not fit "
                "or the divergence is not convex",
            ),
        ):
            if wrong.any():
                row = int(np.flatnonzero(wrong)[0])
                raise ValueError(
                    f"{self!r} must {what}. At forecast {forecast[row]} and "
                    f"probability {proba[row]} it gave {found[row]:.3g}."
                )
        if finite_differences:
            self._check_slopes(forecast, proba, gradient)

    def _check_slopes(self, forecast, proba, gradient):
        step = 1e-5
        single = proba.shape[1] == 1
        for column in range(1 if single else proba.shape[1] - 1):
            # Along the simplex: what one column gains the last one loses.
            change = np.zeros(proba.shape[1])
            change[column] = step
            change[-1] = step if single else -step
            inside = ((proba > 2 * step) & (proba < 1 - 2 * step)).all(axis=1)
            f, z = forecast[inside], proba[inside]
            slope = (self.value(f, z + change) - self.value(f, z - change)) / 2
            claimed = gradient[inside] @ change
            wrong = np.abs(slope - claimed) > 1e-3 * step * (1 + np.abs(claimed) / step)
            if wrong.any():
                row = int(np.flatnonzero(wrong)[0])
                raise ValueError(
                    f"{self!r}.gradient is not the slope of its value: at forecast "
                    f"{f[row]} and probability {z[row]}, in column {column}, the slope "
                    f"is {slope[row] / step:.6g} and the gradient gives "
                    f"{claimed[row] / step:.6g}."
                )

    def __repr__(self):
        return f"{type(self).__name__}()"


def dot(left, right):
    """Inner products of rows."""
    if left.shape[1] == 1:
        return left[:, 0] * right[:, 0]
    return np.einsum("ij,ij->i", left, right)
