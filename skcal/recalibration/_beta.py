"""Beta calibration."""

from typing import NamedTuple

import numpy as np
from scipy.special import logit

from skcal._core.logistic import sigmoid, softplus_of_distance
from skcal._sklearn import StrOptions
from skcal.recalibration._base import BaseRecalibrator, OneVsRestRecalibrator
from skcal.recalibration._newton import (
    LARGEST_SEPARABLE,
    dot,
    is_constant,
    logistic_loss,
    newton,
    separable_line,
    warn_reversed,
)
from skcal.recalibration._platt import fit_line
from skcal.recalibration._temperature import first_slope

_LOG_2 = np.log(2.0)


class BetaMap(NamedTuple):
    """A map of log odds, ``a log(p) - b log(1 - p) + c``."""

    a: float
    b: float
    c: float


class BetaCalibration(OneVsRestRecalibrator):
    r"""Beta calibration: logistic regression on log(p) and -log(1 - p).

    The map that is right where the scores of each class have a Beta distribution. It
    bends low and high probabilities differently, contains the identity, and never turns
    the ranking around.

    Read more in the :ref:`User Guide <beta_calibration>`.

    Parameters
    ----------
    parameters : {"abm", "am", "ab"}, default="abm"
        ``"abm"`` fits all three parameters, ``"am"`` ties a = b, which is Platt scaling
        of the log odds, and ``"ab"`` fixes m = 1/2, so that 1/2 stays where it is.
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order. Give them where `y` may lack a class.
    input : {"proba", "logits"}, default="proba"
        What is given to `fit` and `transform`: probabilities, or logits.

    Attributes
    ----------
    coef_ : ndarray of shape (n_events, 2)
        The parameters a and b: of the second class for two classes, else of each.
    intercept_ : ndarray of shape (n_events,)
        The intercepts c.
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
    PlattScaling : The same slope for low and high probabilities.
    QuadraticScaling : Curvature in the log odds.
    DirichletCalibration : The same idea for any number of classes at once.

    Notes
    -----
    The repaired log odds are :math:`a \log p - b \log(1 - p) + c` with
    :math:`c = b \log(1 - m) - a \log m`. They minimise the log loss over
    :math:`a, b \geq 0`: where the best :math:`a` or :math:`b` would be negative it is
    left out and the other one refitted, as in the paper. If both are zero, the scores
    rank the labels in reverse, and every row gets the base rate, with a warning. Equal
    scores get the base rate too.

    Where the scores separate the classes there is no minimum. Then :math:`a = b` is the
    slope, at least one, for which the repaired log odds span 30, and :math:`c` is the
    best for it.

    Logarithms come from the log odds, so that they are exact for probabilities that are
    close to 0 or 1. With three classes or more there is one map per class, and the
    repaired probabilities are divided by their sum.

    References
    ----------
    .. [1] M. Kull, T. Silva Filho and P. Flach, "Beta calibration: a well-founded and
       easily implemented improvement on logistic calibration for binary classifiers",
       AISTATS 2017, section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.recalibration import BetaCalibration
    >>> rng = np.random.default_rng(0)
    >>> n = 100_000
    >>> y = rng.integers(2, size=n)
    >>> proba = np.where(y == 1, rng.beta(4, 1, n), rng.beta(1, 2, n))
    >>> BetaCalibration().fit(proba, y).coef_.round(1)
    array([[3., 1.]])
    """

    _softens = True
    _parameter_constraints: dict = {
        **BaseRecalibrator._parameter_constraints,
        "parameters": [StrOptions({"abm", "am", "ab"})],
    }

    def __init__(self, *, parameters="abm", labels=None, input="proba"):
        self.parameters = parameters
        self.labels = labels
        self.input = input

    def _fit_scores(self, scores, codes, weight):
        super()._fit_scores(scores, codes, weight)
        maps = [learned or BetaMap(1.0, 1.0, 0.0) for learned in self.calibrators_]
        self.coef_ = np.array([[learned.a, learned.b] for learned in maps])
        self.intercept_ = np.array([learned.c for learned in maps])

    def _fit_event(self, log_odds, event, weight):
        if event.min() == event.max():
            return None
        name = type(self).__name__
        constant = is_constant(log_odds)
        if self.parameters == "am" or (self.parameters == "abm" and constant):
            line = fit_line(log_odds, event, weight, name)
            return BetaMap(line.slope, line.slope, line.intercept)
        if self.parameters == "ab":
            return _fit_halved(log_odds, event, weight, name)
        if separable_line(log_odds, event) is not None:
            line = fit_line(log_odds, event, weight, name)
            return BetaMap(line.slope, line.slope, line.intercept)
        share = weight / weight.sum()
        evaluate = logistic_loss(_design(log_odds), event, share)
        lower = np.array([-np.inf, 0.0, 0.0])
        first = first_slope(log_odds, event, weight)
        start = np.array([0.0, first, first])
        (c, a, b), _ = newton(evaluate, start, name, lower)
        if a == 0.0 and b == 0.0:
            warn_reversed(name)
            c = logit(dot(share, event))
        return BetaMap(float(a), float(b), float(c))

    def _apply_event(self, learned, log_odds):
        # log(p) and -log(1 - p), which are large at one end each, share what rounds the
        # corner between them.
        repaired = learned.a * np.minimum(log_odds, 0.0)
        repaired += learned.b * np.maximum(log_odds, 0.0)
        corner = softplus_of_distance(log_odds)
        corner *= learned.b - learned.a
        repaired += corner
        repaired += learned.c
        return sigmoid(repaired)


def _design(log_odds):
    """Features 1, log(p) and -log(1 - p) in rows."""
    tail = np.log1p(np.exp(-np.abs(log_odds)))
    design = np.empty((3, log_odds.shape[0]))
    design[0] = 1.0
    np.minimum(log_odds, 0.0, out=design[1])
    design[1] -= tail
    np.maximum(log_odds, 0.0, out=design[2])
    design[2] += tail
    return design


def _fit_halved(log_odds, event, weight, name):
    """The form without an intercept, of log(2p) and -log(2(1 - p))."""
    design = _design(log_odds)[1:]
    design += np.array([[_LOG_2], [-_LOG_2]])
    evaluate = logistic_loss(design, event, weight / weight.sum())
    happened = event > 0.5
    width = np.abs(log_odds).max()
    if log_odds[~happened].max() <= 0.0 <= log_odds[happened].min() and width > 0.0:
        # Separated at 1/2: there is no minimum.
        a = b = max(1.0, LARGEST_SEPARABLE / width)
    else:
        start = np.full(2, first_slope(log_odds, event, weight))
        (a, b), _ = newton(evaluate, start, name, np.zeros(2))
        if a == 0.0 and b == 0.0 and not is_constant(log_odds):
            warn_reversed(name)
    return BetaMap(float(a), float(b), float((a - b) * _LOG_2))
