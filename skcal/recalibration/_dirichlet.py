"""Dirichlet calibration."""

from numbers import Real

import numpy as np

from skcal._sklearn import Interval
from skcal.recalibration._base import BaseRecalibrator
from skcal.recalibration._matrix import PENALTY_ROWS, LinearRecalibrator, fit_matrix
from skcal.recalibration._temperature import inverse_temperature

# The diagonal has no penalty, and no bound where the scores separate the classes: there
# this one, too small to be noticed elsewhere, keeps it finite.
_LEAST_STRENGTH = 1e-10


class DirichletCalibration(LinearRecalibrator):
    r"""Dirichlet calibration: a linear map of the logarithms of the probabilities.

    The map that is right where the probability vectors of each class have a Dirichlet
    distribution. Penalties on the off-diagonal entries and on the intercepts (ODIR)
    keep it from over-fitting.

    Read more in the :ref:`User Guide <dirichlet_calibration>`.

    Parameters
    ----------
    reg_lambda : float, default=None
        Strength of the penalty on the mean square of the off-diagonal entries. None
        takes 150 (k (k - 1))**2 / n**2, with k classes and n the sum of the weights:
        the default of :class:`MatrixScaling`.
    reg_mu : float, default=None
        Strength of the penalty on the mean square of the intercepts. None takes
        150 k**2 / n**2.
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order. Give them where `y` may lack a class.
    input : {"proba", "logits"}, default="proba"
        What is given to `fit` and `transform`: probabilities, or logits.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_classes)
        The matrix.
    intercept_ : ndarray of shape (n_classes,)
        The intercepts.
    temperature_ : float
        The temperature that the fit started from.
    classes_ : ndarray of shape (n_classes,)
        The labels in sorted order.
    n_features_in_ : int
        Number of columns seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns seen during `fit`, where they have string names.

    See Also
    --------
    BetaCalibration : The same for two classes, without turning the ranking around.
    MatrixScaling : The diagonal is penalised towards temperature scaling.

    Notes
    -----
    The repaired probabilities are :math:`\mathrm{softmax}(W \log p + c)`. They minimise
    the mean log loss and

    .. math:: \frac{\lambda}{k (k - 1)} \sum_{i \neq j} W_{ij}^2
        + \frac{\mu}{k} \sum_i c_i^2,

    which is convex and zero for the identity, so that the fit is never worse than the
    identity on its own data. The diagonal has no penalty but one of 1e-10, which keeps
    it finite where the scores separate the classes.

    A class that the training labels lack keeps its probability, and the map is one of
    the others, which share what is left.

    References
    ----------
    .. [1] M. Kull, M. Perello-Nieto, M. Kängsepp, T. Silva Filho, H. Song and P. Flach,
       "Beyond temperature scaling: Obtaining well-calibrated multiclass probabilities
       with Dirichlet calibration", NeurIPS 2019, sections 3 and 4.
       `arXiv:1910.12656 <https://arxiv.org/abs/1910.12656>`_

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.recalibration import DirichletCalibration
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=50_000)
    >>> proba = rng.standard_gamma(1.0 + np.eye(3)[y])
    >>> proba /= proba.sum(axis=1, keepdims=True)
    >>> DirichletCalibration().fit(proba, y).coef_.diagonal().round(1)
    array([1., 1., 1.])
    """

    _parameter_constraints: dict = {
        **BaseRecalibrator._parameter_constraints,
        "reg_lambda": [Interval(Real, 0, None, closed="left"), None],
        "reg_mu": [Interval(Real, 0, None, closed="left"), None],
    }

    def __init__(self, *, reg_lambda=None, reg_mu=None, labels=None, input="proba"):
        self.reg_lambda = reg_lambda
        self.reg_mu = reg_mu
        self.labels = labels
        self.input = input

    def _fit_seen(self, scores, codes, weight):
        k, total = scores.shape[1], weight.sum()
        reg_lambda = self.reg_lambda
        if reg_lambda is None:
            reg_lambda = 0.5 * (k * (k - 1)) ** 2 * PENALTY_ROWS / total / total
        reg_mu = self.reg_mu
        if reg_mu is None:
            reg_mu = 0.5 * k**2 * PENALTY_ROWS / total / total
        strengths = (
            max(2.0 * reg_mu / k, _LEAST_STRENGTH),
            _LEAST_STRENGTH,
            max(2.0 * reg_lambda / (k * (k - 1)), _LEAST_STRENGTH),
        )
        features = self._features(scores).T
        # A start on the diagonal, which has no penalty, is free.
        inverse = inverse_temperature(scores, codes, weight)
        change, intercept = fit_matrix(
            inverse * features, features, codes, weight, strengths, type(self).__name__
        )
        coef = inverse * np.eye(k) + change
        return coef, intercept, float(1.0 / inverse) if inverse > 0.0 else np.inf
