"""Divergences: how far a probability vector is from a forecast.

A divergence D_f is convex in its argument and zero at the forecast f. Its tangents lie
below it, which is what `variational_ece` makes its lower bounds of: for any z,
``D_f(C) >= D_f(z) + <C - z, gradient of D_f at z>``.

Arrays have the shape (n_samples, n_columns): one column for the probability of a single
event, as two classes are measured, and a column per class otherwise.
"""

from numbers import Real

import numpy as np

__all__ = [
    "L1",
    "L2",
    "Divergence",
    "KullbackLeibler",
    "LInf",
    "Lp",
    "SquaredEuclidean",
]

# Probabilities that differ by less are equal: a recalibrator that changes nothing still
# rounds, and the sign of rounding says nothing.
_SAME = 1e-12
# Coordinates this close to the largest, relative to it, share the place.
_TIED = 1e-9
_EPS = np.finfo(np.float64).eps
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
        return value + _dot(outcome - proba, self.gradient(forecast, proba))

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
        excess = _dot(proba - forecast, gradient) - value
        for wrong, found, what in (
            (np.abs(itself) > _TOLERANCE, itself, "be 0 at the forecast itself"),
            (value < -scale, value, "not be negative"),
            (
                excess < -scale * (1.0 + np.abs(gradient).max(axis=1)),
                excess,
                "lie above its tangents: the tangent at the probability, less 0, at "
                "the forecast must not be positive, or value and gradient do not fit "
                "or the divergence is not convex",
            ),
        ):
            if wrong.any():
                row = int(np.flatnonzero(wrong)[0])
                raise ValueError(
                    f"{self!r} must {what}. At forecast {forecast[row]} and "
                    f"probability {proba[row]} it gave {abs(found[row]):.3g}."
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


class Lp(Divergence):
    r"""Distance in the p-norm, :math:`\|z - f\|_p`.

    For a single event all of them are the absolute difference.

    Read more in the :ref:`User Guide <divergences>`.

    Parameters
    ----------
    p : float
        Order of the norm, at least 1; infinity is the largest difference.

    Attributes
    ----------
    name : str
        ``"l"`` and the order, such as ``"l3"``.

    See Also
    --------
    L1 : The sum of absolute differences.
    L2 : The Euclidean distance.
    LInf : The largest difference.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.divergences import Lp
    >>> forecast = np.array([[0.2, 0.3, 0.5]])
    >>> Lp(3).value(forecast, np.array([[0.3, 0.3, 0.4]])).round(3)
    array([0.126])
    """

    name = "lp"
    has_kink = True

    def __init__(self, p):
        number = isinstance(p, Real) and not isinstance(p, (bool, np.bool_))
        if not (number and p >= 1):
            raise ValueError(f"p must be a number of at least 1. Got p={p!r}.")
        self.p = p
        self.name = f"l{p:g}"

    def value(self, forecast, proba):
        """Distance of probabilities from forecasts.

        Parameters
        ----------
        forecast, proba : ndarray of shape (n_samples, n_columns)
            Probabilities in [0, 1].

        Returns
        -------
        value : ndarray of shape (n_samples,)
            Not negative.
        """
        return self._norm(*_magnitudes(forecast, proba)[1:])[0]

    def gradient(self, forecast, proba):
        """Gradient of the distance; zero where there is none to take.

        Parameters
        ----------
        forecast, proba : ndarray of shape (n_samples, n_columns)
            Probabilities in [0, 1].

        Returns
        -------
        gradient : ndarray of shape (n_samples, n_columns)
            Derivatives by the columns of `proba`.
        """
        signs, relative, largest = _magnitudes(forecast, proba)
        if relative.shape[1] == 1:
            return signs
        if np.isinf(self.p):
            # Any mean of the gradients of tied coordinates is a subgradient.
            tied = (relative >= 1.0 - _TIED) & (signs != 0.0)
            return signs * tied / np.maximum(tied.sum(axis=1, keepdims=True), 1)
        _, root = self._norm(relative, largest)
        slopes = relative ** (self.p - 1.0)
        slopes /= np.maximum(root, 1.0)[:, np.newaxis] ** (self.p - 1.0)
        return signs * slopes

    def variational_value(self, forecast, proba, outcome):
        """Tangent of the distance at some probabilities, where the outcome is.

        Parameters
        ----------
        forecast, proba : ndarray of shape (n_samples, n_columns)
            Probabilities in [0, 1].
        outcome : ndarray of shape (n_samples, n_columns)
            1 in the column of what happened, 0 elsewhere.

        Returns
        -------
        value : ndarray of shape (n_samples,)
            Of any sign; 0 where `proba` equals `forecast`.
        """
        # A norm's tangents all pass through its centre: the value at proba drops out.
        return _dot(outcome - forecast, self.gradient(forecast, proba))

    def _norm(self, relative, largest):
        """Norms of rows, and those of the rows divided by their largest magnitude."""
        if np.isinf(self.p) or relative.shape[1] == 1:
            return largest, np.ones_like(largest)
        root = (relative**self.p).sum(axis=1) ** (1.0 / self.p)
        return largest * root, root

    def __repr__(self):
        return f"{type(self).__name__}({self.p!r})"


class L1(Lp):
    """Sum of absolute differences; of a single event the absolute difference.

    Read more in the :ref:`User Guide <divergences>`.

    Attributes
    ----------
    name : str
        ``"l1"``.

    See Also
    --------
    Lp : Other norms.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.divergences import L1
    >>> forecast = np.array([[0.2, 0.3, 0.5]])
    >>> L1().value(forecast, np.array([[0.3, 0.3, 0.4]])).round(3)
    array([0.2])
    """

    def __init__(self):
        super().__init__(1)

    __repr__ = Divergence.__repr__


class L2(Lp):
    """Euclidean distance, not squared; of a single event the absolute difference.

    Read more in the :ref:`User Guide <divergences>`.

    Attributes
    ----------
    name : str
        ``"l2"``.

    See Also
    --------
    Lp : Other norms.
    SquaredEuclidean : Its square.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.divergences import L2
    >>> forecast = np.array([[0.2, 0.3, 0.5]])
    >>> L2().value(forecast, np.array([[0.3, 0.3, 0.4]])).round(3)
    array([0.141])
    """

    def __init__(self):
        super().__init__(2)

    __repr__ = Divergence.__repr__


class LInf(Lp):
    """Largest absolute difference.

    Read more in the :ref:`User Guide <divergences>`.

    Attributes
    ----------
    name : str
        ``"linf"``.

    See Also
    --------
    Lp : Other norms.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.divergences import LInf
    >>> forecast = np.array([[0.2, 0.3, 0.5]])
    >>> LInf().value(forecast, np.array([[0.3, 0.3, 0.4]])).round(3)
    array([0.1])
    """

    def __init__(self):
        super().__init__(np.inf)

    __repr__ = Divergence.__repr__


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
        return _dot(gap, gap)

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
        return np.maximum(_dot(_clipped(proba), self._log_ratio(forecast, proba)), 0.0)

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
        return _dot(_both(outcome), self._log_ratio(forecast, proba))

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
        return -_dot(_both(outcome), np.log(_clipped(proba)))

    @staticmethod
    def _log_ratio(forecast, proba):
        return np.log(_clipped(proba)) - np.log(_clipped(forecast))


_BY_NAME = {
    "l1": L1,
    "l2": L2,
    "linf": LInf,
    "brier": SquaredEuclidean,
    "kl": KullbackLeibler,
}


def check_divergence(divergence):
    """The divergence that a name or an object stands for."""
    if isinstance(divergence, Divergence):
        return divergence
    if not isinstance(divergence, str) or divergence not in _BY_NAME:
        raise ValueError(
            f"divergence must be one of {list(_BY_NAME)} or a Divergence object. Got "
            f"{divergence!r} instead."
        )
    return _BY_NAME[divergence]()


def _dot(left, right):
    """Inner products of rows."""
    if left.shape[1] == 1:
        return left[:, 0] * right[:, 0]
    return np.einsum("ij,ij->i", left, right)


def _magnitudes(forecast, proba):
    """Signs of the differences, their magnitudes relative to the largest, and that."""
    gap = proba - forecast
    gap[np.abs(gap) <= _SAME] = 0.0
    signs = np.sign(gap)
    relative = np.abs(gap)
    largest = relative.max(axis=1)
    relative /= np.where(largest > 0.0, largest, 1.0)[:, np.newaxis]
    return signs, relative, largest


def _both(event):
    """Columns of both classes where there is one of a single event."""
    return np.hstack([1.0 - event, event]) if event.shape[1] == 1 else event


def _clipped(proba):
    return np.clip(_both(proba), _EPS, 1.0)
