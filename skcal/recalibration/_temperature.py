"""Temperature scaling, alone and as the sharp part of a mixture."""

import warnings
from numbers import Real

import numpy as np
from scipy.optimize import minimize_scalar

from skcal._core.logistic import softmax
from skcal._sklearn import Interval, StrOptions
from skcal.recalibration._base import BaseRecalibrator
from skcal.recalibration._newton import (
    LARGEST_SEPARABLE,
    dot,
    newton,
    row_blocks,
    warn_not_converged,
)

# Bound on the inverse temperature, in terms of the largest log odds that it gives.
_LARGEST = 1e6
_MOST_STEPS = 200
# Losses of log odds up to these have curvature enough for Newton's method.
_CURVED = 40.0


class TemperatureScaling(BaseRecalibrator):
    r"""Temperature scaling: divide the logits by one learned number.

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
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns seen during `fit`, where they have string names.

    See Also
    --------
    EnsembleTemperatureScaling : A mixture that temperature scaling is a part of.
    MatrixScaling : A linear map of the logits, penalised towards temperature scaling.

    Notes
    -----
    With logits :math:`l` (logarithms of probabilities) the repaired probabilities are
    :math:`\mathrm{softmax}(l / T)`. The log loss is convex in :math:`1/T`, and Newton
    steps inside a bracket find its minimum over :math:`1/T \geq 0`, so the fit is
    never worse than :math:`T = 1` on its own data.

    If the minimum is at :math:`1/T = 0`, the true class has lower scores than the mean
    class: every row gets the same probability for each class, with a warning. If the
    true class always has the highest score there is no minimum without label smoothing,
    and :math:`1/T` is the number, at least one, that brings the largest log odds to 30.
    The largest log odds never exceed 1e6 if they did not before.

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

    _softens = True
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
        smoothing = smoothing_share(self.label_smoothing, scores.shape[1], weight.sum())
        inverse, uphill = _solve(scores, codes, weight, smoothing, type(self).__name__)
        if uphill:
            warnings.warn(
                "The best temperature is infinite: TemperatureScaling gives all "
                "classes the same probability. Either the scores rank the labels in "
                "reverse, or their class prior is wrong, which PriorCorrection and "
                "PlattScaling repair.",
                UserWarning,
                stacklevel=2,
            )
        self.temperature_ = float(1.0 / inverse) if inverse > 0.0 else np.inf

    def _apply_scores(self, scores):
        return softmax(scores / self.temperature_)


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
    return _solve(scores, codes, weight, smoothing, name)[0]


def _solve(scores, codes, weight, smoothing, name):
    """The inverse temperature, and whether the loss rises from zero on."""
    share = weight / weight.sum()
    make = _binary_derivatives if scores.shape[1] == 2 else _multiclass_derivatives
    derivatives, at_zero, widest, separable = make(scores, codes, share, smoothing)
    if widest == 0.0:
        return 1.0, False
    # Flat at zero but for the rounding of sums of numbers as large as the widest gap.
    if abs(at_zero) <= 1e-15 * widest:
        return 0.0, False
    if at_zero > 0.0:
        return 0.0, True
    if separable and smoothing == 0.0:
        return max(1.0, LARGEST_SEPARABLE / widest), False
    return _root(derivatives, max(1.0, _LARGEST / widest), name), False


def _binary_derivatives(scores, codes, share, smoothing):
    gap = scores[:, 1] - scores[:, 0]
    # Log odds of the true class.
    margin = np.where(codes == 1, gap, -gap)
    weighted = share * margin
    drift = 0.5 * smoothing * weighted.sum()

    blocks = [(margin[rows], weighted[rows]) for rows in row_blocks(margin.shape[0])]

    def derivatives(inverse):
        slope, curvature = drift, 0.0
        for part, weighted_part in blocks:
            tail = np.exp(-inverse * np.abs(part))
            rest = 1.0 / (1.0 + tail)
            tail *= rest
            slope -= dot(weighted_part, np.where(part >= 0.0, tail, rest))
            rest *= tail
            rest *= part
            curvature += dot(weighted_part, rest)
        return slope, curvature

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
    target = dot(share, (1.0 - smoothing) * true + smoothing * mean)

    def derivatives(inverse):
        proba = np.exp(inverse * behind)
        total = proba.sum(axis=0)
        proba *= behind
        first = proba.sum(axis=0) / total
        proba *= behind
        second = proba.sum(axis=0) / total
        return dot(share, first) - target, dot(share, second - first * first)

    at_zero = dot(share, mean) - target
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


def first_slope(log_odds, event, weight):
    """Slope to start from: one, but where the identity's loss has no curvature."""
    if np.abs(log_odds).max() <= _CURVED:
        return 1.0
    scores = np.column_stack([-0.5 * log_odds, 0.5 * log_odds])
    return inverse_temperature(scores, event.astype(np.intp), weight)


class EnsembleTemperatureScaling(BaseRecalibrator):
    r"""Ensemble temperature scaling: a mixture of three predictions.

    They are the temperature-scaled one, the given one and the uniform one. The last
    keeps a few confident errors from deciding on the temperature.

    Read more in the :ref:`User Guide <temperature_scaling>`.

    Parameters
    ----------
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order. Give them where `y` may lack a class.
    input : {"proba", "logits"}, default="proba"
        What is given to `fit` and `transform`: probabilities, or logits.

    Attributes
    ----------
    temperature_ : float
        The temperature of the first part.
    weights_ : ndarray of shape (3,)
        The weights of the temperature-scaled, the given and the uniform prediction,
        which sum to one.
    classes_ : ndarray of shape (n_classes,)
        The labels in sorted order.
    n_features_in_ : int
        Number of columns seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns seen during `fit`, where they have string names.

    See Also
    --------
    TemperatureScaling : The first part alone.

    Notes
    -----
    With logits :math:`l` and k classes the repaired probabilities are

    .. math:: w_1 \mathrm{softmax}(l / T) + w_2 \mathrm{softmax}(l) + w_3 / k,
        \quad w \geq 0, \quad w_1 + w_2 + w_3 = 1.

    For a given temperature the log loss is convex in the weights, and Newton's method
    finds its minimum. In the paper the temperature is the one of temperature scaling;
    here it is improved as well, from twice that to a sixteenth. The mixture keeps the
    order of the classes in each row, and it is never worse than temperature scaling or
    the identity on its own data.

    References
    ----------
    .. [1] J. Zhang, B. Kailkhura and T. Y.-J. Han, "Mix-n-Match: Ensemble and
       Compositional Methods for Uncertainty Calibration in Deep Learning", ICML 2020,
       section 4.1. `arXiv:2003.07329 <https://arxiv.org/abs/2003.07329>`_

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from skcal.recalibration import EnsembleTemperatureScaling
    >>> rng = np.random.default_rng(0)
    >>> logits = 3 * rng.normal(size=(20_000, 3))
    >>> y = (logits + rng.gumbel(size=(20_000, 3))).argmax(axis=1)
    >>> y[:4_000] = rng.integers(3, size=4_000)  # labels that are noise
    >>> proba = softmax(logits, axis=1)
    >>> recalibrator = EnsembleTemperatureScaling().fit(proba, y)
    >>> bool(0.15 < recalibrator.weights_[2] < 0.25)
    True
    """

    def __init__(self, *, labels=None, input="proba"):
        self.labels = labels
        self.input = input

    def _fit_scores(self, scores, codes, weight):
        share = weight / weight.sum()
        rows = np.arange(codes.shape[0])
        # Logits against the true class's, whose probability is all that counts.
        gaps = np.ascontiguousarray((scores - scores[rows, codes][:, np.newaxis]).T)
        name = type(self).__name__
        parts = np.empty((3, codes.shape[0]))
        parts[1] = _true_proba(gaps)
        parts[2] = 1.0 / gaps.shape[0]
        weights = np.full(3, 1.0 / 3.0)

        def best(log_inverse):
            nonlocal weights
            parts[0] = _true_proba(np.exp(log_inverse) * gaps)
            # Close to the last weights, and with something of every part.
            weights, loss = _mixture(parts, share, 0.97 * weights + 0.01, name)
            return loss

        inverse = inverse_temperature(scores, codes, weight, name=name)
        centre = np.log(inverse) if inverse > 0.0 else 0.0
        # Zero is among these. Above twice that temperature the first part would only
        # mimic the uniform one.
        width = np.log(2.0)
        grid = centre + width * np.arange(-1.0, 5.0)
        losses = [best(place) for place in grid]
        place = grid[int(np.argmin(losses))]
        refined = minimize_scalar(
            best,
            bounds=(place - width, place + width),
            method="bounded",
            options={"xatol": 1e-5},
        )
        if refined.fun < min(losses):
            place = refined.x
        best(place)
        self.weights_ = weights
        self.temperature_ = float(np.exp(-place))

    def _apply_scores(self, scores):
        sharp, given, uniform = self.weights_
        proba = softmax(scores / self.temperature_)
        proba *= sharp
        proba += given * softmax(scores)
        proba += uniform / scores.shape[1]
        return proba


def _true_proba(gaps):
    """Probability of the true class from all logits' distances to its own."""
    with np.errstate(over="ignore"):
        return 1.0 / np.exp(gaps).sum(axis=0)


def _mixture(parts, share, start, name):
    """Best weights of the parts, and their log loss."""
    weights, _ = newton(_mixture_loss(parts, share), start, name, np.zeros(3))
    weights /= weights.sum()
    return weights, -dot(share, np.log(np.einsum("p,pi->i", weights, parts)))


def _mixture_loss(parts, share):
    """Log loss of a mixture plus the sum of its weights.

    Its minimum over all non-negative weights has weights that sum to one, as the log
    loss of `t` times the weights is the loss minus log(t).
    """
    blocks = [(parts[:, rows], share[rows]) for rows in row_blocks(share.shape[0])]

    def evaluate(weights):
        loss, gradient, hessian = weights.sum(), np.ones(3), np.zeros((3, 3))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for part, part_share in blocks:
                mixed = np.einsum("p,pi->i", weights, part)
                ratio = part / mixed
                loss -= dot(part_share, np.log(mixed, out=mixed))
                shared = ratio * part_share
                gradient -= shared.sum(axis=1)
                hessian += np.einsum("pi,qi->pq", shared, ratio)
        return float(loss), gradient, hessian

    return evaluate
