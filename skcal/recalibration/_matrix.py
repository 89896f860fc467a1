"""Vector and matrix scaling: multinomial logistic regression on log probabilities."""

from numbers import Real

import numpy as np

from skcal._core.logistic import log_softmax, softmax
from skcal._sklearn import Interval
from skcal.recalibration._base import BaseRecalibrator
from skcal.recalibration._newton import (
    MultinomialLoss,
    logistic_loss,
    newton,
    penalised,
    truncated_newton,
    vector_loss,
)
from skcal.recalibration._temperature import inverse_temperature

# At so many rows a strength of one is that of a normal prior; with more rows it counts
# less than a prior does.
PENALTY_ROWS = 300.0

_STRENGTH = [Interval(Real, 0, None, closed="left")]


class LinearRecalibrator(BaseRecalibrator):
    """Base class of the linear maps of a row's log probabilities to repaired logits.

    Classes that the training labels lack keep their probabilities: the map is one of
    the other classes, which share what is left.

    A subclass gives ``_strengths(n_classes, total)`` and ``_fit_multiclass``, or its
    own ``_fit_seen(scores, codes, weight)``, which returns matrix, intercept and
    temperature for the scores of the classes that were seen.
    """

    _softens = True

    def _fit_scores(self, scores, codes, weight):
        n_classes = scores.shape[1]
        counts = np.bincount(codes, minlength=n_classes)
        self._seen = seen = np.flatnonzero(counts)
        self.coef_, self.intercept_ = np.eye(n_classes), np.zeros(n_classes)
        self.temperature_ = 1.0
        if seen.shape[0] < 2:
            return
        if seen.shape[0] < n_classes:
            scores, codes = scores[:, seen], np.searchsorted(seen, codes)
        coef, self.intercept_[seen], self.temperature_ = self._fit_seen(
            scores, codes, weight
        )
        self.coef_[np.ix_(seen, seen)] = coef

    def _apply_scores(self, scores):
        seen = self._seen
        if seen.shape[0] == scores.shape[1]:
            return softmax(self._features(scores) @ self.coef_.T + self.intercept_)
        proba = softmax(scores)
        if seen.shape[0] > 1:
            part = self._features(scores[:, seen]) @ self.coef_[np.ix_(seen, seen)].T
            part = softmax(part + self.intercept_[seen])
            proba[:, seen] = part * proba[:, seen].sum(axis=1, keepdims=True)
        return proba

    def _features(self, scores):
        """Logarithms of the probabilities, whatever was added to a row's logits."""
        return log_softmax(scores)

    def _fit_seen(self, scores, codes, weight):
        inverse = inverse_temperature(scores, codes, weight)
        # Where the best start is a constant, the map's units are those given.
        unit = inverse if inverse > 0.0 else 1.0
        fit = self._fit_binary if scores.shape[1] == 2 else self._fit_multiclass
        change, intercept = fit(scores, codes, weight, inverse, unit)
        coef = inverse * np.eye(scores.shape[1]) + unit * change
        return coef, intercept, float(1.0 / inverse) if inverse > 0.0 else np.inf

    def _strengths(self, n_classes, total):
        """Strengths for intercept, diagonal and the rest, per unit of weight."""
        raise NotImplementedError

    def _fit_multiclass(self, scores, codes, weight, inverse, unit):
        raise NotImplementedError

    def _fit_binary(self, scores, codes, weight, inverse, unit):
        """The same fit for two classes, which has two parameters.

        Log odds are repaired to ``slope * log_odds + shift``. The entries that give a
        slope and a shift at the smallest penalty are known in closed form.
        """
        share = weight / weight.sum()
        log_odds = scores[:, 1] - scores[:, 0]
        for_intercept, diagonal, rest = self._strengths(2, weight.sum())
        # The diagonal's part of a change of slope; the rest have the other part.
        part = 1.0 if rest == np.inf else 0.5
        if 0.0 < diagonal + rest < np.inf:
            part = rest / (diagonal + rest)
        strength = np.array([0.5 * for_intercept, 2.0 * diagonal * part])
        design = np.stack([np.ones_like(log_odds), unit * log_odds])
        start = np.array([0.0, inverse / unit])
        evaluate = logistic_loss(design, (codes == 1).astype(np.float64), share)
        evaluate = penalised(evaluate, start, strength)
        (shift, slope), _ = newton(evaluate, start, type(self).__name__)
        away = slope - start[1]
        change = away * np.array([[part, part - 1.0], [part - 1.0, part]])
        return change, np.array([-0.5 * shift, 0.5 * shift])


class VectorScaling(LinearRecalibrator):
    r"""Vector scaling: a slope and an intercept for each log probability.

    Both are penalised towards temperature scaling, so that the fit is safe on a few
    rows ("structured vector scaling").

    Read more in the :ref:`User Guide <matrix_scaling>`.

    Parameters
    ----------
    intercept_penalty : float, default=1.0
        Strength of the penalty on the intercepts; 0 for none.
    diagonal_penalty : float, default=1.0
        Strength of the penalty on the slopes' relative departure from temperature
        scaling; 0 for none.
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order. Give them where `y` may lack a class.
    input : {"proba", "logits"}, default="proba"
        What is given to `fit` and `transform`: probabilities, or logits.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_classes)
        The slopes, on the diagonal of a matrix that is zero elsewhere.
    intercept_ : ndarray of shape (n_classes,)
        The intercepts.
    temperature_ : float
        The temperature that the slopes are penalised towards.
    classes_ : ndarray of shape (n_classes,)
        The labels in sorted order.
    n_features_in_ : int
        Number of columns seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns seen during `fit`, where they have string names.

    See Also
    --------
    TemperatureScaling : One slope for all classes.
    MatrixScaling : Every probability may enter every repaired one.

    Notes
    -----
    This is :class:`MatrixScaling` without its off-diagonal entries; see there.

    References
    ----------
    .. [1] C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger, "On Calibration of Modern
       Neural Networks", ICML 2017, section 4.2.
       `arXiv:1706.04599 <https://arxiv.org/abs/1706.04599>`_
    .. [2] E. Berta, D. Holzmüller, M. I. Jordan and F. Bach, "Structured Matrix Scaling
       for Multi-Class Calibration", 2025.
       `arXiv:2511.03685 <https://arxiv.org/abs/2511.03685>`_

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from skcal.recalibration import VectorScaling
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(50_000, 3))
    >>> noise = rng.gumbel(size=(50_000, 3))
    >>> y = (logits + noise).argmax(axis=1)
    >>> proba = softmax(logits + [1.0, 0.0, 0.0], axis=1)
    >>> VectorScaling().fit(proba, y).intercept_.round(1)
    array([-0.7,  0.3,  0.3])
    """

    _parameter_constraints: dict = {
        **BaseRecalibrator._parameter_constraints,
        "intercept_penalty": _STRENGTH,
        "diagonal_penalty": _STRENGTH,
    }

    def __init__(
        self,
        *,
        intercept_penalty=1.0,
        diagonal_penalty=1.0,
        labels=None,
        input="proba",
    ):
        self.intercept_penalty = intercept_penalty
        self.diagonal_penalty = diagonal_penalty
        self.labels = labels
        self.input = input

    def _strengths(self, n_classes, total):
        unit = n_classes * PENALTY_ROWS / total / total
        return self.intercept_penalty * unit, self.diagonal_penalty * unit, np.inf

    def _fit_multiclass(self, scores, codes, weight, inverse, unit):
        total, n_classes = weight.sum(), scores.shape[1]
        logits = self._features(scores).T
        evaluate = vector_loss(inverse * logits, unit * logits, codes, weight / total)
        for_intercept, diagonal, _ = self._strengths(n_classes, total)
        strength = np.repeat([diagonal, for_intercept], n_classes)
        start = np.zeros(2 * n_classes)
        evaluate = penalised(evaluate, start, strength)
        change, _ = newton(evaluate, start, type(self).__name__)
        return np.diag(change[:n_classes]), change[n_classes:]


class MatrixScaling(LinearRecalibrator):
    r"""Matrix scaling: a linear map of log probabilities, penalised ("structured").

    Multinomial logistic regression on log probabilities, with separate penalties that
    draw the intercepts to zero and the matrix to temperature scaling. They count less
    the more rows there are, so that the fit goes from temperature scaling on a few rows
    to unpenalised matrix scaling on many.

    Read more in the :ref:`User Guide <matrix_scaling>`.

    Parameters
    ----------
    intercept_penalty : float, default=1.0
        Strength of the penalty on the intercepts; 0 for none.
    diagonal_penalty : float, default=1.0
        Strength of the penalty on the diagonal's relative departure from temperature
        scaling; 0 for none.
    off_diagonal_penalty : float, default=1.0
        Strength of the penalty on the other entries, relative to temperature scaling's
        slope; 0 for none.
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order. Give them where `y` may lack a class.
    input : {"proba", "logits"}, default="proba"
        What is given to `fit` and `transform`: probabilities, or logits.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_classes)
        The matrix, for logarithms of probabilities; temperature scaling is the identity
        matrix divided by `temperature_`.
    intercept_ : ndarray of shape (n_classes,)
        The intercepts.
    temperature_ : float
        The temperature that the matrix is penalised towards.
    classes_ : ndarray of shape (n_classes,)
        The labels in sorted order.
    n_features_in_ : int
        Number of columns seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns seen during `fit`, where they have string names.

    See Also
    --------
    TemperatureScaling : One slope for all classes.
    VectorScaling : No off-diagonal entries.
    DirichletCalibration : The diagonal without a penalty.

    Notes
    -----
    With the temperature :math:`T` of :class:`TemperatureScaling` the repaired
    probabilities are :math:`\mathrm{softmax}((I + D) \log(p) / T + c)`. They minimise
    the mean log loss and

    .. math:: \frac{150 k}{n^2} \Big( \lambda_c \sum_i c_i^2 +
        \lambda_d \sum_i D_{ii}^2 + (k - 1) \lambda_o \sum_{i \neq j} D_{ij}^2 \Big)

    with :math:`n` the sum of the weights, :math:`k` the number of classes and
    :math:`\lambda_c`, :math:`\lambda_d` and :math:`\lambda_o` the strengths for
    intercepts, diagonal and the rest. Each row of the matrix has one diagonal entry and
    :math:`k - 1` others, so the factor gives them the same weight whatever the number
    of classes. Where :math:`D` and :math:`c` are zero the penalty is, so the fit is not
    worse than temperature scaling on its own data.

    A normal prior would be a penalty that falls as :math:`1/n`. Here it falls faster,
    so that many rows are held back less than by any prior that is right for few.

    With two classes this is an affine map of the log odds with the same penalties.
    A class that the training labels lack keeps its probability, and the map is one of
    the others, which share what is left.

    The loss is convex. Newton steps by preconditioned conjugate gradients find its
    minimum.

    References
    ----------
    .. [1] E. Berta, D. Holzmüller, M. I. Jordan and F. Bach, "Structured Matrix Scaling
       for Multi-Class Calibration", 2025.
       `arXiv:2511.03685 <https://arxiv.org/abs/2511.03685>`_
    .. [2] C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger, "On Calibration of Modern
       Neural Networks", ICML 2017, section 4.2.
       `arXiv:1706.04599 <https://arxiv.org/abs/1706.04599>`_

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from skcal.recalibration import MatrixScaling
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(10_000, 3))
    >>> noise = rng.gumbel(size=(10_000, 3))
    >>> y = (2 * logits + noise).argmax(axis=1)
    >>> recalibrator = MatrixScaling().fit(softmax(logits, axis=1), y)
    >>> round(recalibrator.temperature_, 1)
    0.5
    >>> recalibrator.transform(softmax(logits, axis=1)).shape
    (10000, 3)
    """

    _parameter_constraints: dict = {
        **BaseRecalibrator._parameter_constraints,
        "intercept_penalty": _STRENGTH,
        "diagonal_penalty": _STRENGTH,
        "off_diagonal_penalty": _STRENGTH,
    }

    def __init__(
        self,
        *,
        intercept_penalty=1.0,
        diagonal_penalty=1.0,
        off_diagonal_penalty=1.0,
        labels=None,
        input="proba",
    ):
        self.intercept_penalty = intercept_penalty
        self.diagonal_penalty = diagonal_penalty
        self.off_diagonal_penalty = off_diagonal_penalty
        self.labels = labels
        self.input = input

    def _strengths(self, n_classes, total):
        unit = n_classes * PENALTY_ROWS / total / total
        return (
            self.intercept_penalty * unit,
            self.diagonal_penalty * unit,
            self.off_diagonal_penalty * unit * (n_classes - 1),
        )

    def _fit_multiclass(self, scores, codes, weight, inverse, unit):
        logits = self._features(scores).T
        return fit_matrix(
            inverse * logits,
            unit * logits,
            codes,
            weight,
            self._strengths(scores.shape[1], weight.sum()),
            type(self).__name__,
        )


def fit_matrix(base, logits, codes, weight, strengths, name):
    """Penalised multinomial logistic regression with one feature per class.

    Parameters
    ----------
    base : ndarray of shape (n_classes, n_samples)
        Repaired logits at a change of zero.
    logits : ndarray of shape (n_classes, n_samples)
        The features.
    codes : ndarray of shape (n_samples,)
    weight : ndarray of shape (n_samples,)
    strengths : tuple of float
        Penalties of intercepts, diagonal and the other entries.
    name : str
        Who to name in a `ConvergenceWarning`.

    Returns
    -------
    change : ndarray of shape (n_classes, n_classes)
    intercept : ndarray of shape (n_classes,)
    """
    n_classes, n_samples = logits.shape
    for_intercept, diagonal, rest = strengths
    strength = np.full((n_classes, n_classes + 1), rest)
    strength[:, :n_classes][np.diag_indices(n_classes)] = diagonal
    strength[:, n_classes] = for_intercept
    problem = MultinomialLoss(
        base,
        np.vstack([logits, np.ones(n_samples)]),
        codes,
        weight / weight.sum(),
        strength,
    )
    change, _ = truncated_newton(problem, np.zeros(strength.shape), name)
    return change[:, :n_classes], change[:, n_classes]
