"""Correction of the class prior."""

import numpy as np
from scipy.special import logsumexp

from skcal._core.logistic import softmax
from skcal._sklearn import StrOptions
from skcal.recalibration._base import BaseRecalibrator
from skcal.recalibration._newton import newton, restricted, vector_loss

_LEAST_LOG = -600.0


class PriorCorrection(BaseRecalibrator):
    r"""Correct the class prior of probabilities by Bayes' rule.

    A model that was trained with class weights, on resampled rows or on another
    population has the wrong prior in its probabilities. Each probability is multiplied
    by the new prior of its class over the old one, and rows are divided by their sum.

    Read more in the :ref:`User Guide <prior_correction>`.

    Parameters
    ----------
    prior : array-like of shape (n_classes,), dict or "balanced", default=None
        Class frequencies where the probabilities will be used: in the order of the
        sorted labels, or a dictionary from label to frequency; they are divided by
        their sum. ``"balanced"`` makes all equal. None takes the weighted frequencies
        in `y`.
    train_prior : array-like, dict or {"balanced", "observed"}, default=None
        Class frequencies that the model was trained with, class weights and resampling
        included: ``"balanced"`` for ``class_weight="balanced"`` or rows resampled to
        equal numbers, ``"observed"`` for the weighted frequencies in `y`. None
        estimates them by maximum likelihood, from how the probabilities fit `y`.
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order. Give them where `y` may lack a class.
    input : {"proba", "logits"}, default="proba"
        What is given to `fit` and `transform`: probabilities, or logits.

    Attributes
    ----------
    prior_ : ndarray of shape (n_classes,)
        The new prior.
    train_prior_ : ndarray of shape (n_classes,)
        The old prior.
    classes_ : ndarray of shape (n_classes,)
        The labels in sorted order.
    n_features_in_ : int
        Number of columns seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns seen during `fit`, where they have string names.

    See Also
    --------
    VectorScaling : A slope per class as well.

    Notes
    -----
    With probabilities :math:`p_k`, old prior :math:`\pi_k` and new prior
    :math:`\pi'_k`, the corrected probabilities are

    .. math:: p'_k = \frac{p_k \pi'_k / \pi_k}{\sum_j p_j \pi'_j / \pi_j}.

    They are right where the model was right for its own prior and the classes look the
    same in both populations. The estimated old prior is the one for which the
    probabilities corrected to the frequencies in `y` have the smallest log loss on `y`;
    their means then are these frequencies. With ``prior=None`` too, the correction is
    never worse than the identity on its own data.

    A class that `y` lacks keeps its probability where its prior would have to be
    learned from `y`; the others share the rest.

    References
    ----------
    .. [1] C. Elkan, "The Foundations of Cost-Sensitive Learning", IJCAI 2001,
       theorem 2.
    .. [2] M. Saerens, P. Latinne and C. Decaestecker, "Adjusting the Outputs of a
       Classifier to New a Priori Probabilities: A Simple Procedure", Neural Computation
       14(1), 2002, section 2.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.recalibration import PriorCorrection
    >>> y = np.repeat([0, 1], [900, 100])
    >>> balanced_proba = np.where(y == 1, 0.75, 0.25)
    >>> recalibrator = PriorCorrection(train_prior="balanced").fit(balanced_proba, y)
    >>> recalibrator.transform([0.75])
    array([[0.75, 0.25]])
    """

    _parameter_constraints: dict = {
        **BaseRecalibrator._parameter_constraints,
        "prior": ["array-like", dict, StrOptions({"balanced"}), None],
        "train_prior": [
            "array-like",
            dict,
            StrOptions({"balanced", "observed"}),
            None,
        ],
    }

    def __init__(self, *, prior=None, train_prior=None, labels=None, input="proba"):
        self.prior = prior
        self.train_prior = train_prior
        self.labels = labels
        self.input = input

    def _fit_scores(self, scores, codes, weight):
        n_classes = scores.shape[1]
        counts = np.bincount(codes, weight, minlength=n_classes)
        observed = counts / counts.sum()
        self.prior_ = self._given("prior", self.prior, observed)
        self.train_prior_ = self._given("train_prior", self.train_prior, observed)
        learned = self.prior is None or (
            self.train_prior is None or self._is(self.train_prior, "observed")
        )
        self._corrected = np.ones(n_classes, dtype=bool)
        if learned:
            self._corrected = observed > 0.0
        if self.train_prior is None:
            self.train_prior_ = self._estimated(scores, codes, weight, observed)
        if np.any(self.train_prior_[self._corrected] == 0.0):
            raise ValueError(
                "train_prior must be positive for every class. Got "
                f"{self.train_prior!r} for the classes {self.classes_.tolist()}."
            )

    @staticmethod
    def _is(prior, name):
        return isinstance(prior, str) and prior == name

    def _given(self, parameter, prior, observed):
        """A prior as an array; what is learned from the labels for None."""
        if prior is None or self._is(prior, "observed"):
            return observed
        if self._is(prior, "balanced"):
            return np.full(observed.shape, 1.0 / observed.shape[0])
        if isinstance(prior, dict):
            missing = [c for c in self.classes_.tolist() if c not in prior]
            if missing or len(prior) != len(self.classes_):
                raise ValueError(
                    f"{parameter} must have the classes {self.classes_.tolist()} as "
                    f"keys. Got {list(prior)} instead."
                )
            prior = [prior[label] for label in self.classes_.tolist()]
        prior = np.asarray(prior, dtype=np.float64)
        valid = prior.shape == observed.shape and np.all(np.isfinite(prior))
        if not (valid and prior.min() >= 0.0 and prior.sum() > 0.0):
            raise ValueError(
                f"{parameter} must hold {observed.shape[0]} frequencies, one per "
                f"class, not negative and not all zero. Got {prior.tolist()} instead."
            )
        return prior / prior.sum()

    def _estimated(self, scores, codes, weight, observed):
        """The prior of the probabilities that fit the labels best."""
        seen = np.flatnonzero(observed)
        prior = observed.copy()
        if seen.shape[0] < 2:
            return prior
        base = scores[:, seen].T
        n_classes = seen.shape[0]
        # Shifts only, and of all classes but the last: only differences count.
        directions = np.eye(n_classes - 1, 2 * n_classes, k=n_classes)
        evaluate = vector_loss(
            base,
            np.zeros_like(base),
            np.searchsorted(seen, codes),
            weight / weight.sum(),
        )
        evaluate = restricted(evaluate, directions, np.zeros(2 * n_classes))
        shift, _ = newton(evaluate, np.zeros(n_classes - 1), type(self).__name__)
        shift = np.append(shift, 0.0)
        # A prior that underflowed to zero could not be divided by.
        prior[seen] *= np.exp(np.maximum(shift.min() - shift, _LEAST_LOG))
        return prior / prior.sum()

    def _apply_scores(self, scores):
        corrected = self._corrected
        with np.errstate(divide="ignore"):
            # A new prior of zero is a probability of zero.
            ratio = np.log(self.prior_[corrected]) - np.log(
                self.train_prior_[corrected]
            )
        if corrected.all():
            return softmax(scores + ratio)
        proba = softmax(scores)
        rest = logsumexp(scores[:, corrected], axis=1, keepdims=True)
        rest -= logsumexp(scores, axis=1, keepdims=True)
        proba[:, corrected] = softmax(scores[:, corrected] + ratio)
        proba[:, corrected] *= np.exp(rest)
        return proba
