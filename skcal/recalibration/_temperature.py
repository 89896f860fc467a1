"""Temperature scaling, alone and as the sharp part of a mixture."""

import warnings
from numbers import Real

import numpy as np
from scipy.special import softmax

from skcal._sklearn import Interval, StrOptions
from skcal.recalibration._base import BaseRecalibrator
from skcal.recalibration._newton import LARGEST_SEPARABLE, warn_not_converged

# Bound on the inverse temperature, in terms of the largest log odds that it gives.
_LARGEST = 1e6
_MOST_STEPS = 200


class TemperatureScaling(BaseRecalibrator):
    """Temperature scaling: divide the logits by one learned number.

    A temperature above one repairs over-confident, one below one under-confident
    probabilities. It changes neither the ranking of the rows nor, with three classes or
    more, the predicted class.

    Read more in the :ref:`User Guide <temperature_scaling>`.

    Parameters
    ----------
    label_smoothing : "laplace" or float, default=None
        Share of each label that is spread evenly over the classes while fitting, in
        [0, 1). ``"laplace"`` takes n_classes / (n + n_classes) with n the sum of the
        weights, so that the targets are (n * onehot + 1) / (n + n_classes): the
        temperature then stays sensible where the scores separate the classes.
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order. Give them where `y` may lack a class.
    input : {"proba", "logits"}, default="proba"
        What is given to `fit` and `transform`: probabilities, or logits.

    Attributes
    ----------
    temperature_ : float
        The number that logits are divided by. Infinite where the scores rank the labels
        in reverse.
    classes_ : ndarray of shape (n_classes,)
        The labels in sorted order.
    n_features_in_ : int
        Number of columns seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns seen during `fit`, where they have string names.

    See Also
    --------
    EnsembleTemperatureScaling : A mixture that temperature scaling is a part of.
    MatrixScaling : A linear map of the logits, penalised towards temperature scaling.

    Notes
    -----
    With logits :math:`l` (logarithms of probabilities) the repaired probabilities are
    :math:`\\mathrm{softmax}(l / T)`. The log loss is convex in :math:`1/T`, and Newton
    steps inside a bracket find its minimum over :math:`1/T \\geq 0`, so the fit is
    never worse than :math:`T = 1` on its own data.

    If the minimum is at :math:`1/T = 0`, higher scores go with rarer labels: every row
    gets the same probability for each class, with a warning. If the true class always
    has the highest score there is no minimum without label smoothing, and
    :math:`1/T` is the number, at least one, that brings the largest log odds to 30. The
    largest log odds never exceed 1e6 if they did not before.

    References
    ----------
    .. [1] C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger, "On Calibration of Modern
       Neural Networks", ICML 2017, section 4.2.
       `arXiv:1706.04599 <https://arxiv.org/abs/1706.04599>`_

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import expit
    >>> from skcal.recalibration import TemperatureScaling
    >>> rng = np.random.default_rng(0)
    >>> log_odds = rng.normal(size=10_000)
    >>> y = rng.uniform(size=10_000) < expit(log_odds)
    >>> overconfident = expit(3 * log_odds)
    >>> recalibrator = TemperatureScaling().fit(overconfident, y)
    >>> round(recalibrator.temperature_, 1)
    3.0
    """

    _parameter_constraints: dict = {
        **BaseRecalibrator._parameter_constraints,
        "label_smoothing": [
            StrOptions({"laplace"}),
            Interval(Real, 0, 1, closed="left"),
            None,
        ],
    }

    def __init__(self, *, label_smoothing=None, labels=None, input="proba"):
        self.label_smoothing = label_smoothing
        self.labels = labels
        self.input = input

    def _fit_scores(self, scores, codes, weight):
        smoothing = smoothing_share(
            self.label_smoothing, scores.shape[1], weight.sum()
        )
        inverse = inverse_temperature(
            scores, codes, weight, smoothing, type(self).__name__
        )
        if inverse == 0.0:
            warnings.warn(
                "The scores rank the labels in reverse, so TemperatureScaling gives "
                "every class the same probability. Are the columns in the order of "
                "the sorted labels?",
                UserWarning,
                stacklevel=2,
            )
        self.temperature_ = 1.0 / inverse if inverse > 0.0 else np.inf

    def _apply_scores(self, scores):
        return softmax(scores / self.temperature_, axis=1)


def smoothing_share(label_smoothing, n_classes, total):
    """Share of each label that is spread over the classes."""
    if label_smoothing is None:
        return 0.0
    if label_smoothing == "laplace":
        return n_classes / (total + n_classes)
    return float(label_smoothing)


def inverse_temperature(scores, codes, weight, smoothing=0.0, name="temperature"):
    """The inverse temperature, at least zero, of the smallest log loss.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_classes)
        Logits.
    codes : ndarray of shape (n_samples,)
        Columns of the true classes.
    weight : ndarray of shape (n_samples,)
    smoothing : float, default=0.0
        Share of each label that is spread over the classes.
    name : str, default="temperature"
        Who to name in a `ConvergenceWarning`.
    """
    share = weight / weight.sum()
    make = _binary_derivatives if scores.shape[1] == 2 else _multiclass_derivatives
    derivatives, at_zero, widest, separable = make(scores, codes, share, smoothing)
    # Rounding of sums of numbers as large as the widest gap.
    if widest == 0.0 or abs(at_zero) <= 1e-15 * widest:
        # Flat at zero: the scores say nothing, be it because they are all equal.
        return 1.0 if widest == 0.0 else 0.0
    if at_zero > 0.0:
        return 0.0
    if separable and smoothing == 0.0:
        return max(1.0, LARGEST_SEPARABLE / widest)
    return _root(derivatives, max(1.0, _LARGEST / widest), name)


def _binary_derivatives(scores, codes, share, smoothing):
    gap = scores[:, 1] - scores[:, 0]
    # Log odds of the true class.
    margin = np.where(codes == 1, gap, -gap)
    weighted = share * margin
    drift = 0.5 * smoothing * weighted.sum()

    def derivatives(inverse):
        tail = np.exp(-inverse * np.abs(margin))
        rest = 1.0 / (1.0 + tail)
        tail *= rest
        wrong = np.where(margin >= 0.0, tail, rest)
        slope = drift - weighted @ wrong
        rest *= tail
        rest *= margin
        return slope, weighted @ rest

    at_zero = drift - 0.5 * weighted.sum()
    return derivatives, at_zero, np.abs(margin).max(), margin.min() >= 0.0


def _multiclass_derivatives(scores, codes, share, smoothing):
    # Classes in rows: sums over the first axis are several times faster.
    behind = np.ascontiguousarray(scores.T)
    true = scores[np.arange(codes.shape[0]), codes]
    top = behind.max(axis=0)
    behind = behind - top
    true = true - top
    mean = behind.mean(axis=0)
    target = share @ ((1.0 - smoothing) * true + smoothing * mean)

    def derivatives(inverse):
        proba = np.exp(inverse * behind)
        total = proba.sum(axis=0)
        proba *= behind
        first = proba.sum(axis=0) / total
        proba *= behind
        second = proba.sum(axis=0) / total
        return share @ first - target, share @ (second - first * first)

    at_zero = share @ mean - target
    return derivatives, at_zero, -behind.min(), true.min() >= 0.0


def _root(derivatives, largest, name):
    """Root of an increasing derivative over [0, largest], negative at zero."""
    low, high, inverse = 0.0, largest, 1.0
    for _ in range(_MOST_STEPS):
        slope, curvature = derivatives(inverse)
        if slope == 0.0:
            return inverse
        if slope < 0.0:
            low = inverse
            if inverse == largest:
                return inverse
            step = -slope / curvature if curvature > 0.0 else np.inf
        else:
            high = inverse
            # A Newton step for the logarithm, as a plain one may leave the bracket.
            step = inverse * np.expm1(-slope / (inverse * curvature + slope))
        candidate = inverse + step
        if not low < candidate < high:
            candidate = high if step == np.inf and high == largest else None
        if candidate is None:
            candidate = 0.5 * (low + high)
        step, inverse = candidate - inverse, candidate
        # Convergence is quadratic: the error left is the square of this.
        if abs(step) <= 1e-8 * inverse:
            return inverse
    warn_not_converged(name)
    return inverse
