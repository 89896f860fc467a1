"""Choice or blend of recalibrators by cross-validation."""

import warnings
from numbers import Integral

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from skcal._sklearn import Interval, StrOptions
from skcal.recalibration._base import BaseRecalibrator
from skcal.recalibration._beta import BetaCalibration
from skcal.recalibration._crossfit import (
    apply_recalibrator,
    canonical_folds,
    fit_recalibrator,
    row_order,
)
from skcal.recalibration._isotonic import IsotonicCalibration
from skcal.recalibration._matrix import MatrixScaling
from skcal.recalibration._quadratic import QuadraticScaling
from skcal.recalibration._spline import SplineCalibration
from skcal.recalibration._temperature import TemperatureScaling

# Least probability of a true class in a log loss, as in scikit-learn's.
_LEAST = np.finfo(np.float64).eps
# How far from the smallest log loss the weights of a blend may be.
_GAP = 1e-10
_MOST_STEPS = 200


class StackedRecalibrator(BaseRecalibrator):
    r"""Choose or blend recalibrators by cross-validated log loss.

    Each recalibrator is cross-fitted on the training rows. ``method="choose"`` takes
    the one with the smallest log loss on held-out rows, ``"blend"`` the convex
    combination with the smallest; either is then fitted on all rows.

    Read more in the :ref:`User Guide <stacked_recalibrator>`.

    Parameters
    ----------
    recalibrators : list of objects, default=None
        Anything with ``fit(proba, y)`` and ``predict_proba(proba)``; they are cloned.
        Their parameters `labels` and `input` are set, where they have them; one without
        `input` is given probabilities. None is `TemperatureScaling`, `BetaCalibration`,
        `QuadraticScaling`, `SplineCalibration` and centred `IsotonicCalibration` for
        two classes, and for more `MatrixScaling` in place of beta and quadratic.
    method : {"blend", "choose"}, default="blend"
        Whether to average recalibrators or to choose one.
    cv : int, default=5
        Number of folds, at least 2. The rows are shuffled and dealt, in a way that does
        not depend on their order.
    n_jobs : int, default=None
        Number of fits that run in parallel, in threads. The result does not depend on
        it.
    random_state : int, RandomState instance or None, default=0
        Seed of the shuffling.
    verbose : int, default=0
        Whether to print each recalibrator's log loss and weight.
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order. Give them where `y` may lack a class.
    input : {"proba", "logits"}, default="proba"
        What is given to `fit` and `transform`: probabilities, or logits.

    Attributes
    ----------
    recalibrators_ : list
        The recalibrators fitted on all rows. With ``method="choose"`` these are the
        chosen one, and None for the others.
    weights_ : ndarray of shape (n_recalibrators,)
        Positive weights, which sum to one. With ``method="choose"`` a single one.
    cv_losses_ : ndarray of shape (n_recalibrators,)
        Cross-validated log loss of each recalibrator.
    classes_ : ndarray of shape (n_classes,)
        The labels in sorted order.
    n_features_in_ : int
        Number of columns seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns seen during `fit`, where they have string names.

    See Also
    --------
    BoostedTemperatureScaling : A single, flexible recalibrator.

    Notes
    -----
    With :math:`p_{im}` the probability that recalibrator m, fitted without the row's
    fold, gives to the true class of row i, the blend's weights minimise

    .. math::
        -\sum_i v_i \log \sum_m w_m p_{im} - \frac1M \sum_m \log w_m,
        \quad \sum_m w_m = 1,

    with sample weights v and M recalibrators. The second sum counts as much as one row.
    It keeps all weights positive, so that the best recalibrator's rare certain errors,
    of which the held-out rows had none, are softened by the others. This is convex:
    Newton steps on the weights find the minimum, to a certified 1e-10 of the mean log
    loss. The blend averages probabilities and not their logarithms, since a single
    recalibrator that says zero, as isotonic ones do, must not have a veto.

    References
    ----------
    .. [1] D. H. Wolpert, "Stacked Generalization", Neural Networks 5(2), 1992.
    .. [2] M. J. van der Laan, E. C. Polley and A. E. Hubbard, "Super Learner",
       Statistical Applications in Genetics and Molecular Biology 6(1), 2007.
    .. [3] Y. Kim, P. Carbonetto, M. Stephens and M. Anitescu, "A Fast Algorithm for
       Maximum Likelihood Estimation of Mixture Proportions Using Sequential Quadratic
       Programming", Journal of Computational and Graphical Statistics 29(2), 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import expit
    >>> from skcal.recalibration import (
    ...     IsotonicCalibration, PlattScaling, StackedRecalibrator
    ... )
    >>> rng = np.random.default_rng(0)
    >>> log_odds = rng.normal(size=2000)
    >>> y = rng.uniform(size=2000) < expit(log_odds)
    >>> recalibrator = StackedRecalibrator(
    ...     [PlattScaling(), IsotonicCalibration()], method="choose"
    ... )
    >>> recalibrator.fit(expit(3 * log_odds), y).weights_
    array([1., 0.])
    """

    _softens = True
    _parameter_constraints: dict = {
        **BaseRecalibrator._parameter_constraints,
        "recalibrators": [list, tuple, None],
        "method": [StrOptions({"blend", "choose"})],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        recalibrators=None,
        *,
        method="blend",
        cv=5,
        n_jobs=None,
        random_state=0,
        verbose=0,
        labels=None,
        input="proba",
    ):
        self.recalibrators = recalibrators
        self.method = method
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.labels = labels
        self.input = input

    def _fit_scores(self, scores, codes, weight):
        candidates = self._candidates(scores.shape[1])
        order = row_order(scores, codes, weight)
        scores, codes, weight = scores[order], codes[order], weight[order]
        likelihood = self._held_out(candidates, scores, codes, weight)
        share = weight / weight.sum()
        self.cv_losses_ = -share @ np.log(likelihood)
        if self.method == "choose":
            self.weights_ = np.zeros(len(candidates))
            self.weights_[self.cv_losses_.argmin()] = 1.0
        else:
            n_candidates = len(candidates)
            one_row = np.full(n_candidates, 1.0 / n_candidates)
            self.weights_ = blend_weights(
                np.vstack([likelihood, np.eye(n_candidates)]),
                np.concatenate([weight, one_row]) / (weight.sum() + 1.0),
            )
        self.recalibrators_ = [
            _fitted(candidate, self.classes_, scores, codes, weight) if used else None
            for candidate, used in zip(candidates, self.weights_, strict=True)
        ]
        if self.verbose:
            for candidate, loss, used in zip(
                candidates, self.cv_losses_, self.weights_, strict=True
            ):
                print(
                    f"[StackedRecalibrator] {candidate}: log loss {loss:.6f}, "
                    f"weight {used:.3f}"
                )

    def _apply_scores(self, scores):
        blend = np.zeros(scores.shape)
        for recalibrator, weight in zip(
            self.recalibrators_, self.weights_, strict=True
        ):
            if weight:
                blend += weight * apply_recalibrator(
                    recalibrator, self.classes_, True, scores
                )
        return blend

    def _candidates(self, n_classes):
        if self.recalibrators is None:
            return default_recalibrators(n_classes)
        for recalibrator in self.recalibrators:
            if not (
                hasattr(recalibrator, "fit") and hasattr(recalibrator, "predict_proba")
            ):
                raise ValueError(
                    "recalibrators must be objects with fit and predict_proba. Got "
                    f"{recalibrator!r}."
                )
        if not self.recalibrators:
            raise ValueError("recalibrators must not be empty. Got [] instead.")
        return list(self.recalibrators)

    def _held_out(self, candidates, scores, codes, weight):
        """Probability of each row's true class by each candidate fitted without it."""
        folds = canonical_folds(
            scores,
            codes,
            weight,
            n_splits=self.cv,
            random_state=check_random_state(self.random_state),
        )
        if len(folds) == 1:
            folds = [(folds[0][1], folds[0][1])]
        parallel = Parallel(n_jobs=self.n_jobs, prefer="threads")
        with warnings.catch_warnings():
            # What is wrong with all rows shows when these are fitted.
            warnings.simplefilter("ignore")
            held_out = parallel(
                delayed(_fit_and_score)(
                    candidate, self.classes_, scores, codes, weight, train, test
                )
                for candidate in candidates
                for train, test in folds
            )
        likelihood = np.empty((codes.shape[0], len(candidates)))
        for j, scored in enumerate(held_out):
            candidate, fold = divmod(j, len(folds))
            likelihood[folds[fold][1], candidate] = scored
        return np.maximum(likelihood, _LEAST)


def default_recalibrators(n_classes):
    """What `StackedRecalibrator` stacks by default."""
    # Without a pseudo-count isotonic regression says 0 and 1.
    isotonic = IsotonicCalibration(centered=True, pseudo_count=1.0)
    if n_classes == 2:
        return [
            TemperatureScaling(),
            BetaCalibration(),
            QuadraticScaling(),
            SplineCalibration(),
            isotonic,
        ]
    return [TemperatureScaling(), MatrixScaling(), SplineCalibration(), isotonic]


def _fitted(candidate, classes, scores, codes, weight):
    # Recalibrators from elsewhere need not take weights.
    weight = None if np.all(weight == 1.0) else weight
    return fit_recalibrator(candidate, classes, True, scores, classes[codes], weight)


def _fit_and_score(candidate, classes, scores, codes, weight, train, test):
    fitted = _fitted(candidate, classes, scores[train], codes[train], weight[train])
    proba = apply_recalibrator(fitted, classes, True, scores[test])
    return proba[np.arange(test.shape[0]), codes[test]]


def blend_weights(likelihood, share):
    """Convex weights that maximise a mixture's mean log likelihood.

    Parameters
    ----------
    likelihood : ndarray of shape (n_samples, n_components)
        Likelihoods of each component, not negative.
    share : ndarray of shape (n_samples,)
        Sample weights that sum to one.

    Returns
    -------
    weights : ndarray of shape (n_components,)
        Not negative, and sum to one.
    """
    n_components = likelihood.shape[1]
    weights = np.full(n_components, 1.0 / n_components)
    for _ in range(_MOST_STEPS):
        relative = likelihood / (likelihood @ weights)[:, np.newaxis]
        # The gradient: what more weight for a component gains relative to less for all.
        gain = share @ relative
        # By convexity no weights are better by more than this.
        if gain.max() - 1.0 <= _GAP:
            break
        weights = _newton_weights(likelihood, share, weights, relative, gain)
    return weights / weights.sum()


def _newton_weights(likelihood, share, weights, relative, gain):
    """One Newton step on the weights, kept from being negative.

    With sum(w) added to the loss the minimum over w >= 0 sums to one by itself, so that
    the step's quadratic model is a non-negative least squares problem.
    """
    hessian = (relative * share[:, np.newaxis]).T @ relative
    hessian[np.diag_indices_from(hessian)] += 1e-12 * np.trace(hessian)
    root = cholesky(hessian)
    target = solve_triangular(root, 2.0 * gain - 1.0, trans="T")
    step = nnls(root, target)[0] - weights

    def loss(candidate):
        with np.errstate(divide="ignore"):
            return candidate.sum() - share @ np.log(likelihood @ candidate)

    before, slope = loss(weights), (1.0 - gain) @ step
    for size in 0.5 ** np.arange(20.0):
        candidate = weights + size * step
        if loss(candidate) <= before + 1e-4 * size * slope:
            return np.maximum(candidate, 0.0)
    # An EM step never is worse.
    return weights * gain
