"""Temperature scaling with a boosted residual."""

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from skcal._sklearn import HasMethods, Interval, StrOptions
from skcal.recalibration._base import BaseRecalibrator
from skcal.recalibration._crossfit import (
    apply_recalibrator,
    as_proba,
    canonical_folds,
    fit_recalibrator,
)
from skcal.recalibration._matrix import MatrixScaling
from skcal.recalibration._quadratic import QuadraticScaling
from skcal.recalibration._temperature import inverse_temperature

# What keeps CatBoost quick on few numeric features: no random draws, which would cost a
# pass over the rows per tree each, one Newton step per leaf, no losses per iteration.
_QUICK = {
    "boosting_type": "Plain",
    "bootstrap_type": "No",
    "random_strength": 0,
    "leaf_estimation_iterations": 1,
    "leaf_estimation_backtracking": "No",
    "border_count": 32,
    "thread_count": 1,
    "allow_writing_files": False,
}
# Along one axis there is little to find, and steps are few and well held back; between
# several classes small steps find more.
_AUTO = {
    "iterations": (10, 20),
    "learning_rate": (0.4, 0.2),
    "l2_leaf_reg": (100.0, 3.0),
}
# A weight that changes nothing but is not zero.
_NOTHING = 1e-9


class BoostedTemperatureScaling(BaseRecalibrator):
    r"""Temperature scaling with a residual learned by gradient boosting.

    Flexible where the simple recalibrators are not, and close to them where there is
    little to learn: temperature scaling comes first, a few shallow trees correct what
    it leaves, and quadratic (two classes) or matrix scaling of the sum comes last. It
    is what variational estimates of the calibration error use by default [1]_.

    Read more in the :ref:`User Guide <boosted_temperature_scaling>`.

    Parameters
    ----------
    iterations : "auto" or int, default="auto"
        Number of trees of each model, at least 1. ``"auto"`` is 10 for two classes and
        20 for more.
    depth : int, default=4
        Depth of the trees, from 1 to 16.
    learning_rate : "auto" or float, default="auto"
        Shrinkage of each tree, in (0, 1]. ``"auto"`` is 0.4 for two classes and 0.2 for
        more.
    l2_leaf_reg : "auto" or float, default="auto"
        L2 penalty of leaf values, not negative. A value v halves a leaf of v / (p(1-p))
        rows of probability p. ``"auto"`` is 100 for two classes, where there is little
        to find along one axis, and 3 for more.
    cv : int, default=5
        Number of inner folds, at least 2, and of models that are averaged. The rows are
        shuffled and dealt, in a way that does not depend on their order.
    final : "auto", object or None, default="auto"
        The last step, fitted to held-out logits: anything with ``fit(proba, y)`` and
        ``predict_proba(proba)``. Its parameters `labels` and `input` are set, where it
        has them. ``"auto"`` is :class:`QuadraticScaling` for two classes and
        :class:`MatrixScaling` for more, None leaves the step out.
    n_jobs : int, default=None
        Number of models that are trained in parallel, in threads. The result does not
        depend on it.
    random_state : int, RandomState instance or None, default=0
        Seed of the shuffling.
    verbose : int, default=0
        CatBoost prints each `verbose`-th iteration; 0 prints nothing.
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order. Give them where `y` may lack a class.
    input : {"proba", "logits"}, default="proba"
        What is given to `fit` and `transform`: probabilities, or logits.

    Attributes
    ----------
    temperature_ : float
        The number that logits are divided by first.
    residual_ : StepFunction, CatBoost or None
        What is added to them, the mean of the models of all folds: for two classes a
        step function of the log odds, else a model of the centred logits; None where
        there was nothing to learn from.
    final_ : object
        The fitted last step, or None.
    classes_ : ndarray of shape (n_classes,)
        The labels in sorted order.
    n_features_in_ : int
        Number of columns seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns seen during `fit`, where they have string names.

    See Also
    --------
    TemperatureScaling : The first step alone.
    SplineCalibration : A smooth alternative.

    Notes
    -----
    With centred logits :math:`l`, temperature :math:`T`, n the sum of the weights (or
    their effective number :math:`(\sum v)^2 / \sum v^2` where that is more) and
    :math:`\pi` the class frequencies, the first step gives

    .. math:: q = m(\mathrm{softmax}(l / T)), \quad m(p) = \frac{n p + \pi}{n + 1}.

    Each of the K models :math:`h_j` is trained on the rows outside fold j to minimise
    the log loss of :math:`\mathrm{softmax}(\log q + h_j(l))`, starting from
    :math:`h_j = 0`. The last step c is fitted to the logits :math:`\log q + h_j(l)` of
    the rows of the folds j, which their models have not seen, and the repaired
    probabilities are :math:`m(c(\log q + \frac{1}{K} \sum_j h_j(l)))`.

    The mixture m keeps probabilities of nearly 0 or 1, of which n rows cannot tell
    that they are right, from deciding the fit, and the loss of new rows, by the few
    that are wrong. It costs next to nothing where they are right.

    The number of trees is fixed: stopping early by the loss on the held-out rows would
    make these rows' logits too good. There is no randomness but in the folds. The trees
    split between quantiles that do not count weights, and folds separate repetitions of
    a row, so here a weight of k is not exactly k repetitions.

    The identity is in reach, as the penalties and the last step lead there, but it is
    not in the family: on calibrated probabilities the log loss of new rows grows a
    little.

    Classes that the training labels lack keep their probabilities.

    References
    ----------
    .. [1] E. Berta, S. Braun, F. Bach, M. I. Jordan and D. Holzmüller, "V-ECE:
       Estimating General Expected Calibration Errors", 2026, section 5 (WS-CatBoost).
    .. [2] L. Prokhorenkova, G. Gusev, A. Vorobev, A. V. Dorogush and A. Gulin,
       "CatBoost: unbiased boosting with categorical features", NeurIPS 2018.
       `arXiv:1706.09516 <https://arxiv.org/abs/1706.09516>`_

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import expit
    >>> from skcal.recalibration import BoostedTemperatureScaling
    >>> rng = np.random.default_rng(0)
    >>> log_odds = 2 * rng.normal(size=10_000)
    >>> true_proba = expit(log_odds + np.sin(2 * log_odds))
    >>> y = rng.uniform(size=10_000) < true_proba
    >>> recalibrator = BoostedTemperatureScaling().fit(expit(log_odds), y)
    >>> repaired = recalibrator.transform(expit(log_odds))[:, 1]
    >>> bool(np.mean((repaired - true_proba)**2) < 0.001)
    True
    """

    _softens = True
    _parameter_constraints: dict = {
        **BaseRecalibrator._parameter_constraints,
        "iterations": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
        ],
        "depth": [Interval(Integral, 1, 16, closed="both")],
        "learning_rate": [Interval(Real, 0, 1, closed="right"), StrOptions({"auto"})],
        "l2_leaf_reg": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "final": [HasMethods(["fit", "predict_proba"]), StrOptions({"auto"}), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        iterations="auto",
        depth=4,
        learning_rate="auto",
        l2_leaf_reg="auto",
        cv=5,
        final="auto",
        n_jobs=None,
        random_state=0,
        verbose=0,
        labels=None,
        input="proba",
    ):
        self.iterations = iterations
        self.depth = depth
        self.learning_rate = learning_rate
        self.l2_leaf_reg = l2_leaf_reg
        self.cv = cv
        self.final = final
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.labels = labels
        self.input = input

    def _fit_scores(self, scores, codes, weight):
        self._seen = np.flatnonzero(np.bincount(codes, minlength=scores.shape[1]))
        self.temperature_, self.residual_, self.final_ = 1.0, None, None
        if self._seen.shape[0] < 2:
            return
        scores, codes = scores[:, self._seen], np.searchsorted(self._seen, codes)
        inverse = inverse_temperature(scores, codes, weight)
        self.temperature_ = 1.0 / inverse if inverse > 0.0 else np.inf
        features = _features(scores)
        share = weight / weight.sum()
        self._frequencies = np.bincount(codes, share)
        # Weights that were scaled to sum to one do not stand for one row.
        self._total = max(weight.sum(), 1.0 / np.sum(share * share))
        base = self._base(features)
        folds = canonical_folds(
            features,
            codes,
            weight,
            n_splits=self.cv,
            random_state=check_random_state(self.random_state),
        )
        models = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_boosted)(
                features[train],
                base[train],
                codes[train],
                weight[train],
                self._catboost_parameters(scores.shape[1]),
            )
            for train, _ in folds
        )
        self.residual_ = _mean(models)
        if self.final is None:
            return
        logits = base.copy()
        for model, (_, test) in zip(models, folds, strict=True):
            logits[test] += _residual(model, features[test])
        # Fold by fold, so that not even rounding depends on the order of the rows.
        order = np.concatenate([test for _, test in folds])
        self.final_ = fit_recalibrator(
            self._last_step(scores.shape[1]),
            self.classes_[self._seen],
            True,
            logits[order],
            self.classes_[self._seen][codes[order]],
            None if np.all(weight == 1.0) else weight[order],
        )

    def _apply_scores(self, scores):
        seen = self._seen
        if seen.shape[0] == scores.shape[1]:
            return self._apply_seen(scores)
        proba = softmax(scores, axis=1)
        if seen.shape[0] > 1:
            share = proba[:, seen].sum(axis=1, keepdims=True)
            proba[:, seen] = share * self._apply_seen(scores[:, seen])
        return proba

    def _apply_seen(self, scores):
        features = _features(scores)
        logits = self._base(features) + _residual(self.residual_, features)
        if self.final_ is None:
            return self._tempered(as_proba(logits))
        classes = self.classes_[self._seen]
        return self._tempered(apply_recalibrator(self.final_, classes, True, logits))

    def _base(self, features):
        """Logits that the trees start from."""
        proba = self._tempered(as_proba(features / self.temperature_))
        return _features(np.log(proba))

    def _tempered(self, proba):
        """The class frequencies count as one more row: no surer than rows can tell."""
        return (self._total * proba + self._frequencies) / (self._total + 1.0)

    def _last_step(self, n_classes):
        if self.final != "auto":
            return self.final
        return QuadraticScaling() if n_classes == 2 else MatrixScaling()

    def _catboost_parameters(self, n_classes):
        settings = {}
        for name, (two_classes, more) in _AUTO.items():
            settings[name] = getattr(self, name)
            if settings[name] == "auto":
                settings[name] = two_classes if n_classes == 2 else more
        parameters = {
            **_QUICK,
            **settings,
            "depth": self.depth,
            "loss_function": "Logloss",
            "verbose": int(self.verbose),
        }
        if n_classes > 2:
            parameters.update(loss_function="MultiClass", classes_count=n_classes)
        if not self.verbose:
            parameters["metric_period"] = settings["iterations"]
        return parameters


class StepFunction(NamedTuple):
    """Piecewise constant function of one number: what trees make of one feature.

    Attributes
    ----------
    thresholds : ndarray of shape (n_steps,)
        Where it steps, in float32 as trees compare; a step belongs to what is below.
    values : ndarray of shape (n_steps + 1,)
        What it is before, between and after.
    """

    thresholds: np.ndarray
    values: np.ndarray

    def predict(self, features):
        """Values for features of shape (n_samples, 1), in the same shape."""
        return self.values[np.searchsorted(self.thresholds, np.float32(features))]


def _features(scores):
    """What trees split on: the log odds of two classes, centred logits of more."""
    if scores.shape[1] == 2:
        return scores[:, 1:] - scores[:, :1]
    return scores - scores.mean(axis=1, keepdims=True)


def _boosted(features, baseline, codes, weight, parameters):
    """A model of the residual, None where there is nothing to learn from."""
    from catboost import CatBoost, Pool

    columns = np.ascontiguousarray(features, dtype=np.float32)
    if codes.size == 0 or np.all(codes == codes[0]) or np.all(columns == columns[0]):
        return None
    # CatBoost's result depends on the scale of weights beyond their share of the
    # penalty, so that scale moves to the penalty.
    scale = weight.mean()
    given = None if np.all(weight == weight[0]) else weight / scale
    parameters = {**parameters, "l2_leaf_reg": parameters["l2_leaf_reg"] / scale}
    missing = np.flatnonzero(np.bincount(codes, minlength=baseline.shape[1]) == 0)
    if baseline.shape[1] > 1 and missing.size:
        # CatBoost wants to see each class: in a copy of a row that counts for nothing.
        copied = np.append(np.arange(codes.size), np.zeros_like(missing))
        columns, baseline = columns[copied], baseline[copied]
        codes = np.append(codes, missing)
        given = np.append(weight / scale, np.full(missing.size, _NOTHING))
    pool = Pool(columns, label=codes, weight=given, baseline=baseline)
    model = CatBoost(parameters)
    # CatBoost computes importances at the end of each fit, in threads of its own, which
    # takes as long as a small fit itself. Nobody asks for them.
    model.get_feature_importance = lambda **_: None
    model.fit(pool)
    del model.get_feature_importance
    return _step_function(model) if columns.shape[1] == 1 else model


def _step_function(model):
    """The same function of one feature without CatBoost."""
    thresholds = np.array(model.get_borders()[0], dtype=np.float32)
    # A step belongs to what is below, so a threshold stands for the piece it ends.
    pieces = np.append(thresholds, np.float32(np.inf))
    values = model.predict(pieces[:, np.newaxis], prediction_type="RawFormulaVal")
    return StepFunction(thresholds, values)


def _mean(models):
    """Mean of the folds' models, those that learned nothing counting as zero."""
    from catboost import sum_models

    learned = [model for model in models if model is not None]
    if not learned:
        return None
    if isinstance(learned[0], StepFunction):
        thresholds = np.unique(np.concatenate([model.thresholds for model in learned]))
        pieces = np.append(thresholds, np.float32(np.inf))
        values = sum(model.predict(pieces) for model in learned) / len(models)
        return StepFunction(thresholds, values)
    return sum_models(learned, weights=[1.0 / len(models)] * len(learned))


def _residual(model, features):
    if model is None:
        return np.zeros_like(features)
    if isinstance(model, StepFunction):
        return model.predict(features)
    return model.predict(
        np.ascontiguousarray(features, dtype=np.float32),
        prediction_type="RawFormulaVal",
        thread_count=1,
    )
