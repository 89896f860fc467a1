"""Norms: distances between vectors, with a kink where they are equal."""

from numbers import Real

import numpy as np

from skcal.divergences._base import Divergence, dot

# Probabilities that differ by less are equal: a recalibrator that changes nothing still
# rounds, and the sign of rounding says nothing.
_SAME = 1e-12
# Coordinates this close to the largest, relative to it, share the place.
_TIED = 1e-9


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
        return dot(outcome - forecast, self.gradient(forecast, proba))

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


def _magnitudes(forecast, proba):
    """Signs of the differences, their magnitudes relative to the largest, and that."""
    gap = proba - forecast
    gap[np.abs(gap) <= _SAME] = 0.0
    signs = np.sign(gap)
    relative = np.abs(gap)
    largest = relative.max(axis=1)
    relative /= np.where(largest > 0.0, largest, 1.0)[:, np.newaxis]
    return signs, relative, largest
