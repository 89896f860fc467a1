"""What all recalibrators share: input, encoding, output and scikit-learn's manners."""

import warnings
from importlib import import_module

import numpy as np
from scipy.special import expit, logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from skcal._core.logistic import behind_highest, softmax
from skcal._predictions import (
    check_column_order,
    check_labels,
    check_predictions,
    check_scores,
)
from skcal._sklearn import StrOptions, _fit_context

INPUTS = ("proba", "logits")
# Largest logit, or distance of a logit from its row's highest, that is told from larger
# ones: products of several do not overflow.
_LARGEST_LOGIT = 1e15
# Sums of exponentials below this may lack some that underflowed.
_LEAST_SUM = 1e-290
# Scores repaired at a time: so few that what is computed of them stays in the cache.
_BLOCK_SCORES = 1 << 15
_BLOCK_LEAST_ROWS = 1 << 10


class BaseRecalibrator(ClassifierMixin, TransformerMixin, BaseEstimator):
    """Base class of the recalibrators: probabilities in, better probabilities out.

    A subclass stores its arguments in ``__init__``, `labels` and `input` among them,
    and gives two methods on checked float64 scores:

    - ``_fit_scores(scores, codes, weight)`` learns from the scores,
    - ``_apply_scores(scores)`` returns probabilities of shape (n_samples, n_classes).

    Scores are logits of shape (n_samples, n_classes); for two classes their halves,
    ``(-z / 2, z / 2)`` with z the log odds of the second class. Codes index the columns
    and weights are positive: rows of weight zero are gone.

    Probabilities closer to 0 or 1 than the machine epsilon of their dtype (2e-16, or
    1e-7 for float32) are moved to it, as in :func:`sklearn.metrics.log_loss`, so that
    logits are finite. Logits beyond 1e15 are moved to that.

    Such certainty often stems from counting, of neighbours or trees, and a logit of 36
    then bends the whole fit. Where ``_softens`` is true and training rows have it,
    probabilities below the smallest other one, m, are read as the mean of themselves
    and m, in fit and transform alike: 0 as m / 2. That keeps their order. If the
    identity has a smaller loss than the fit so found, they are read as they are.
    """

    _softens = False
    _least = None

    _parameter_constraints: dict = {
        "labels": ["array-like", None],
        "input": [StrOptions(set(INPUTS))],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, proba, y, sample_weight=None):
        """Learn to repair predicted probabilities.

        Parameters
        ----------
        proba : array-like of shape (n_samples,), (n_samples, 1) or \
                (n_samples, n_classes)
            Predicted probabilities in [0, 1], or logits with ``input="logits"``. One
            column is the second class's in sorted order.
        y : array-like of shape (n_samples,)
            True labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights; a weight of k counts as k repetitions of the row.

        Returns
        -------
        self : object
            The fitted recalibrator.

        Raises
        ------
        ValueError
            If the input is invalid.
        """
        scores = self._check_columns(proba, reset=True)
        labels = self.labels
        found = check_labels(y, "y")
        if labels is None:
            # Both classes are there: the second in sorted order is the positive one.
            labels = found if found.shape[0] == 2 and scores.ndim == 1 else None
            if found.shape[0] == 1 and found[0] not in (-1, 0, 1):
                raise ValueError(
                    f"y holds one class only, {found.tolist()}, so the classes are not "
                    "known. Pass labels=[...], all classes in sorted order."
                )
        predictions = check_predictions(
            y,
            scores,
            sample_weight=sample_weight,
            labels=labels,
            logits=self.input == "logits",
        )
        check_column_order(proba, predictions.classes, name="proba")
        self.classes_ = predictions.classes
        proba = predictions.proba
        codes = np.asarray(predictions.codes, dtype=np.intp)
        weight = np.ones(codes.shape[0])
        if predictions.sample_weight is not None:
            weight = np.array(predictions.sample_weight, dtype=np.float64)
            counted = weight > 0
            proba, codes, weight = proba[counted], codes[counted], weight[counted]
        self._least = None
        scores = self._scores(proba)
        if self._softens and self.input == "proba":
            self._least = least_uncertain(proba)
            if self._least is not None:
                softened = self._scores(proba)
                self._fit_scores(softened, codes, weight)
                before = softmax(scores)
                after = self._apply_scores(softened)
                if _total_loss(after, codes, weight) <= _total_loss(
                    before, codes, weight
                ):
                    return self
                self._least = None
        self._fit_scores(scores, codes, weight)
        return self

    def transform(self, proba):
        """Repair predicted probabilities.

        Parameters
        ----------
        proba : array-like of shape (n_samples,), (n_samples, 1) or \
                (n_samples, n_classes)
            Predicted probabilities in [0, 1], or logits with ``input="logits"``.

        Returns
        -------
        repaired : ndarray of shape (n_samples, n_classes)
            Probabilities; rows sum to one. float32 for float32 input, else float64.
        """
        return self._repaired(proba)

    def predict_proba(self, proba):
        """Repair predicted probabilities; the same as :meth:`transform`.

        Parameters
        ----------
        proba : array-like of shape (n_samples,), (n_samples, 1) or \
                (n_samples, n_classes)
            Predicted probabilities in [0, 1], or logits with ``input="logits"``.

        Returns
        -------
        repaired : ndarray of shape (n_samples, n_classes)
            Probabilities; rows sum to one.
        """
        return self._repaired(proba)

    def predict(self, proba):
        """Label of the most probable class after repair.

        Parameters
        ----------
        proba : array-like of shape (n_samples,), (n_samples, 1) or \
                (n_samples, n_classes)
            Predicted probabilities in [0, 1], or logits with ``input="logits"``.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Predicted labels.
        """
        check_is_fitted(self)
        return self.classes_[self.predict_proba(proba).argmax(axis=1)]

    def get_feature_names_out(self, input_features=None):
        """Names of the output columns: the class's name in lower case, and the label.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Not used.

        Returns
        -------
        names : ndarray of str objects of shape (n_classes,)
            Output column names.
        """
        check_is_fitted(self)
        prefix = type(self).__name__.lower()
        return np.asarray([f"{prefix}_{label}" for label in self.classes_], object)

    def _fit_scores(self, scores, codes, weight):
        raise NotImplementedError

    def _apply_scores(self, scores):
        raise NotImplementedError

    def _repaired(self, proba):
        check_is_fitted(self)
        checked = self._check_columns(proba, reset=False)
        n_classes = len(self.classes_)
        found = 2 if checked.ndim == 1 else checked.shape[1]
        if found != n_classes:
            raise ValueError(
                f"{type(self).__name__} was fitted on {n_classes} classes, "
                f"{self.classes_.tolist()}, and proba has columns for {found}."
            )
        repaired = np.empty((checked.shape[0], n_classes), dtype=checked.dtype)
        n_rows = max(_BLOCK_SCORES // n_classes, _BLOCK_LEAST_ROWS)
        for first in range(0, checked.shape[0], n_rows):
            rows = slice(first, first + n_rows)
            repaired[rows] = self._repaired_rows(checked[rows])
        return repaired

    def _repaired_rows(self, checked):
        return self._apply_scores(self._scores(checked))

    def _check_columns(self, proba, reset):
        """Checked scores, float32 or float64, one column for two classes."""
        if np.ndim(proba) == 1 and not hasattr(proba, "columns"):
            if reset:
                self.n_features_in_ = 1
        else:
            validate_data(self, proba, reset=reset, skip_check_array=True)
        logits = self.input == "logits"
        scores = check_scores(proba, logits=logits, name="proba")
        if scores.dtype != np.float32:
            scores = scores.astype(np.float64, copy=False)
        if scores.ndim == 2 and scores.shape[1] == 2:
            if logits:
                with np.errstate(over="ignore"):
                    scores = np.nan_to_num(scores[:, 1] - scores[:, 0])
            else:
                scores = scores[:, 1]
        return scores

    def _scores(self, checked):
        """Finite float64 logits of shape (n_samples, n_classes)."""
        if self.input == "proba":
            read = log_odds if checked.ndim == 1 else log_proba
            checked = read(checked, self._least)
        else:
            checked = _bounded(checked.astype(np.float64, copy=False))
        if checked.ndim == 1:
            return np.column_stack([-0.5 * checked, 0.5 * checked])
        return checked

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def __getstate__(self):
        return {**super().__getstate__(), "_skcal_version": _version()}

    def __setstate__(self, state):
        written_by = state.pop("_skcal_version", "unknown")
        if written_by != _version():
            warnings.warn(
                InconsistentVersionWarning(
                    estimator_name=type(self).__name__,
                    current_sklearn_version=f"skcal {_version()}",
                    original_sklearn_version=f"skcal {written_by}",
                ),
                stacklevel=2,
            )
        super().__setstate__(state)


class OneVsRestRecalibrator(BaseRecalibrator):
    """Base class of recalibrators of one event, made multiclass one-vs-rest.

    A subclass gives two methods on the log odds of one event:

    - ``_fit_event(log_odds, event, weight)`` returns what it learned, any object,
    - ``_apply_event(learned, log_odds)`` returns the event's probabilities.

    With three classes or more there is one map per class, the repaired probabilities of
    a row are divided by their sum, and a class that the training labels lack keeps its
    probability before that. Where every map says zero all classes are equally likely.

    Attributes
    ----------
    calibrators_ : list
        What was learned: of the second class for two classes, else of each class.
    """

    def _fit_scores(self, scores, codes, weight):
        self.calibrators_ = [
            self._fit_event(z, (codes == k).astype(np.float64), weight)
            if scores.shape[1] == 2 or np.any(codes == k)
            else None
            for k, z in self._events(scores)
        ]

    def _apply_scores(self, scores):
        columns = [
            expit(z) if learned is None else self._apply_event(learned, z)
            for learned, (_, z) in zip(
                self.calibrators_, self._events(scores), strict=True
            )
        ]
        if scores.shape[1] == 2:
            return np.column_stack([1.0 - columns[0], columns[0]])
        repaired = np.column_stack(columns)
        total = repaired.sum(axis=1, keepdims=True)
        # Where every map says zero all classes are alike: what such a row came with was
        # no better on real forecasts, and more often certain and wrong.
        nothing = total[:, 0] <= 0.0
        repaired[nothing], total[nothing] = 1.0, scores.shape[1]
        repaired /= total
        return repaired

    @staticmethod
    def _events(scores):
        """Yield the index of each event's class and the event's log odds."""
        n_classes = scores.shape[1]
        if n_classes == 2:
            yield 1, scores[:, 1] - scores[:, 0]
            return
        behind = behind_highest(scores)
        relative = np.exp(behind)
        # Sums over the classes before and after each, so that no digits are lost by
        # subtraction where one class has almost all the probability.
        before = np.cumsum(relative, axis=0)
        after = np.cumsum(relative[::-1], axis=0)[::-1]
        for k in range(n_classes):
            if k == 0:
                others = after[1]
            elif k == n_classes - 1:
                others = before[-2]
            else:
                others = before[k - 1] + after[k + 1]
            lost = others < _LEAST_SUM
            if not lost.any():
                yield k, behind[k] - np.log(others)
                continue
            log_odds = behind[k] - np.log(np.where(lost, 1.0, others))
            rest = np.delete(scores[lost], k, axis=1)
            log_odds[lost] = scores[lost, k] - logsumexp(rest, axis=1)
            yield k, log_odds


def _bounded(logits):
    """Logits within what arithmetic with them can take; nearly all are already."""
    if np.abs(logits).max() <= _LARGEST_LOGIT:
        return logits
    if logits.ndim == 1:
        return np.clip(logits, -_LARGEST_LOGIT, _LARGEST_LOGIT)
    # A constant added to a row changes nothing, however large. Rows within the bounds
    # stay as they are, so that no row depends on the others.
    beyond = np.abs(logits).max(axis=1) > _LARGEST_LOGIT
    with np.errstate(over="ignore"):
        behind = logits[beyond] - logits[beyond].max(axis=1, keepdims=True)
    bounded = logits.copy()
    bounded[beyond] = np.maximum(behind, -_LARGEST_LOGIT)
    return bounded


def log_odds(proba, least=None):
    """Log odds of probabilities, finite by moving them off 0 and 1 by one epsilon.

    With `least`, what is closer to 0 or 1 than that is moved half the way to it.
    """
    eps = np.finfo(proba.dtype).eps
    clipped = np.clip(proba.astype(np.float64), eps, 1.0 - eps)
    if least is not None:
        other = 1.0 - clipped
        low, high = clipped < least, other < least
        clipped[low] = 0.5 * (clipped[low] + least)
        clipped[high] = 1.0 - 0.5 * (other[high] + least)
    return np.log(clipped) - np.log1p(-clipped)


def log_proba(proba, least=None):
    """Logarithms of probabilities, finite by moving them off 0 by one epsilon.

    With `least`, what is below that is moved half the way to it.
    """
    eps = np.finfo(proba.dtype).eps
    clipped = np.maximum(proba.astype(np.float64), eps)
    if least is not None:
        low = clipped < least
        clipped[low] = 0.5 * (clipped[low] + least)
    return np.log(clipped / clipped.sum(axis=1, keepdims=True))


def least_uncertain(proba):
    """Smallest distance to 0 or 1 of those that are not; None if all or none are."""
    eps = np.finfo(proba.dtype).eps
    distance = proba if proba.ndim == 2 else np.minimum(proba, 1.0 - proba)
    certain = distance <= eps
    if not certain.any() or certain.all():
        return None
    least = float(distance[~certain].min())
    return least if least < 0.5 else None


def _total_loss(proba, codes, weight):
    with np.errstate(divide="ignore"):
        return -weight @ np.log(proba[np.arange(codes.shape[0]), codes])


def _version():
    return import_module("skcal").__version__
