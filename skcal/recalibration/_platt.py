"""Platt scaling of log odds."""

from typing import NamedTuple

import numpy as np
from scipy.special import logit

from skcal._core.logistic import sigmoid
from skcal._sklearn import StrOptions
from skcal.recalibration._base import BaseRecalibrator, OneVsRestRecalibrator
from skcal.recalibration._newton import (
    dot,
    is_constant,
    logistic_loss,
    newton,
    restricted,
    separable_line,
    warn_reversed,
)
from skcal.recalibration._temperature import first_slope


class Line(NamedTuple):
    """A linear map of log odds."""

    slope: float
    intercept: float


class PlattScaling(OneVsRestRecalibrator):
    r"""Platt scaling: logistic regression on the log odds.

    The log odds are multiplied by a slope and shifted by an intercept. The map contains
    the identity, so it repairs over-confidence exactly and leaves calibrated
    probabilities alone. Platt scaling of the probabilities themselves, as in
    :class:`~sklearn.calibration.CalibratedClassifierCV` with ``method="sigmoid"`` for
    models without a decision function, can do neither.

    Read more in the :ref:`User Guide <platt_scaling>`.

    Parameters
    ----------
    label_smoothing : "platt", default=None
        ``"platt"`` fits to Platt's targets, (n_1 + 1) / (n_1 + 2) and 1 / (n_0 + 2)
        with n_1 and n_0 the sums of the weights of events and of the rest. None fits to
        the labels, and then the fit is never worse than the identity on its own data.
    allow_reversed : bool, default=False
        Allow a negative slope, which turns the ranking around.
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order. Give them where `y` may lack a class.
    input : {"proba", "logits"}, default="proba"
        What is given to `fit` and `transform`: probabilities, or logits.

    Attributes
    ----------
    coef_ : ndarray of shape (n_events,)
        Slopes: of the second class for two classes, else of each class.
    intercept_ : ndarray of shape (n_events,)
        Intercepts.
    calibrators_ : list
        The same for each event, None for a class that the training labels lack.
    classes_ : ndarray of shape (n_classes,)
        The labels in sorted order.
    n_features_in_ : int
        Number of columns seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns seen during `fit`, where they have string names.

    See Also
    --------
    BetaCalibration : Different slopes for low and high probabilities.
    QuadraticScaling : Curvature as well.
    TemperatureScaling : A slope only, and one for all classes.

    Notes
    -----
    With log odds :math:`z` the repaired log odds are :math:`a z + c`. They minimise the
    log loss over :math:`a \geq 0`. If its minimum is at :math:`a = 0`, the scores rank
    the labels in reverse: every row gets the base rate, with a warning. Equal scores
    get the base rate too.

    Where the scores separate the classes there is no minimum without label smoothing.
    Then :math:`a` is the slope, at least one, for which the repaired log odds span 30,
    and :math:`c` is the best for it.

    With three classes or more there is one map per class, of that class's log odds
    against the rest, and the repaired probabilities are divided by their sum.

    References
    ----------
    .. [1] J. Platt, "Probabilistic Outputs for Support Vector Machines and Comparisons
       to Regularized Likelihood Methods", Advances in Large Margin Classifiers, 1999,
       section 2.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import expit
    >>> from skcal.recalibration import PlattScaling
    >>> rng = np.random.default_rng(0)
    >>> log_odds = rng.normal(size=10_000)
    >>> y = rng.uniform(size=10_000) < expit(log_odds)
    >>> recalibrator = PlattScaling().fit(expit(2 * log_odds + 1), y)
    >>> recalibrator.coef_.round(1), recalibrator.intercept_.round(1)
    (array([0.5]), array([-0.5]))
    """

    _softens = True
    _parameter_constraints: dict = {
        **BaseRecalibrator._parameter_constraints,
        "label_smoothing": [StrOptions({"platt"}), None],
        "allow_reversed": ["boolean"],
    }

    def __init__(
        self,
        *,
        label_smoothing=None,
        allow_reversed=False,
        labels=None,
        input="proba",
    ):
        self.label_smoothing = label_smoothing
        self.allow_reversed = allow_reversed
        self.labels = labels
        self.input = input

    def _fit_scores(self, scores, codes, weight):
        super()._fit_scores(scores, codes, weight)
        lines = [line or Line(1.0, 0.0) for line in self.calibrators_]
        self.coef_ = np.array([line.slope for line in lines])
        self.intercept_ = np.array([line.intercept for line in lines])

    def _fit_event(self, log_odds, event, weight):
        if event.min() == event.max():
            return None
        target = event
        if self.label_smoothing == "platt":
            n_events = dot(weight, event)
            low = 1.0 / (weight.sum() - n_events + 2.0)
            target = np.where(event > 0.5, (n_events + 1.0) / (n_events + 2.0), low)
        return fit_line(
            log_odds,
            target,
            weight,
            type(self).__name__,
            hard=self.label_smoothing is None,
            allow_reversed=self.allow_reversed,
        )

    def _apply_event(self, learned, log_odds):
        return sigmoid(learned.slope * log_odds + learned.intercept)


def fit_line(log_odds, target, weight, name, hard=True, allow_reversed=False):
    """Logistic regression on one feature.

    Parameters
    ----------
    log_odds : ndarray of shape (n_samples,)
    target : ndarray of shape (n_samples,)
        0 or 1, or numbers between where not `hard`; not all equal.
    weight : ndarray of shape (n_samples,)
    name : str
        Who to name in a warning.
    hard : bool, default=True
        Whether the targets are 0 and 1, so that the scores may separate them.
    allow_reversed : bool, default=False
        Allow a negative slope.
    """
    share = weight / weight.sum()
    base_rate = dot(share, target)
    flat = Line(0.0, float(logit(base_rate)))
    if is_constant(log_odds):
        return flat
    separable = separable_line(log_odds, target) if hard else None
    if separable is None and hard and allow_reversed:
        separable = separable_line(log_odds, 1.0 - target)
        separable = separable and (-separable[0], separable[1])
    # Centred and scaled, so that slope and intercept do not get in each other's way.
    centre = dot(share, log_odds)
    scaled = log_odds - centre
    scale = np.sqrt(dot(share, scaled * scaled))
    scaled /= scale
    evaluate = logistic_loss(np.stack([np.ones_like(scaled), scaled]), target, share)
    if separable is not None:
        slope, middle = separable
        origin = slope * np.array([centre, scale])
        evaluate = restricted(evaluate, np.array([[1.0, 0.0]]), origin)
        shift, _ = newton(evaluate, np.array([-slope * middle]), name)
        return Line(float(slope), float(shift[0]))
    first = first_slope(log_odds, target > 0.5, weight)
    start = first * np.array([centre, scale])
    lower = np.array([-np.inf, -np.inf if allow_reversed else 0.0])
    parameters, _ = newton(evaluate, start, name, lower)
    if parameters[1] == 0.0 and not allow_reversed:
        if dot(scaled, share * target) < -1e-15:
            warn_reversed(name)
        return flat
    slope = parameters[1] / scale
    return Line(float(slope), float(parameters[0] - slope * centre))
