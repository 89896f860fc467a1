"""Classifiers trained on some of the rows, and their scores of the others."""

import numpy as np
from scipy.special import expit, logsumexp, softmax
from sklearn import get_config
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.preprocessing import LabelEncoder
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed

from skcal._predictions import check_no_missing_labels
from skcal._sklearn import _check_method_params, _safe_split

PROBA, DECISION = "predict_proba", "decision_function"


class FoldModel:
    """A fitted classifier with scores of all classes, whatever it was trained on.

    Parameters
    ----------
    estimator : estimator instance
        Fitted classifier.
    classes : ndarray of shape (n_classes,)
        All labels.
    method : {"predict_proba", "decision_function"}
        Where scores come from.
    n_trained : float, default=1.0
        (Weighted) number of rows that it was trained on.

    Attributes
    ----------
    positions : ndarray of shape (n_known,)
        Index of each of the classifier's own classes among all.
    known : ndarray of shape (n_classes,)
        Whether the classifier knows the class.
    """

    def __init__(self, estimator, classes, method, n_trained=1.0):
        self.estimator = estimator
        self.method = method
        self.n_classes = len(classes)
        self.positions = _positions(estimator, classes)
        self.known = np.zeros(self.n_classes, dtype=bool)
        self.known[self.positions] = True
        self.share = 1.0 / (n_trained + self.n_classes)

    def scores(self, X):
        """Probabilities or logits.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples, 1)
            One column for the logits of two classes.
        """
        scores = np.asarray(getattr(self.estimator, self.method)(X))
        if scores.dtype.kind != "f":
            scores = scores.astype(np.float64)
        n_known = self.positions.shape[0]
        two_logits = n_known <= 2 and self.method == DECISION
        expected = 1 if two_logits else n_known
        if scores.ndim == 1 and two_logits:
            scores = scores[:, np.newaxis]
        if scores.ndim != 2 or scores.shape[1] != expected:
            raise ValueError(
                f"{type(self.estimator).__name__}.{self.method} gave scores of shape "
                f"{scores.shape}; one column for each of {n_known} classes is needed."
            )
        if self.method == PROBA:
            return self._all_proba(scores)
        return self._all_logits(scores)

    def _all_proba(self, scores):
        proba = np.full((scores.shape[0], self.n_classes), self.share, scores.dtype)
        n_unknown = self.n_classes - self.positions.shape[0]
        proba[:, self.positions] = scores * (1.0 - n_unknown * self.share)
        return proba

    def _all_logits(self, scores):
        if self.known.all():
            if self.n_classes == 2:
                return scores if self.positions[0] == 0 else -scores
            logits = np.empty_like(scores)
            logits[:, self.positions] = scores
            return logits
        if self.positions.shape[0] == 1:
            scores = np.zeros_like(scores)
        elif self.positions.shape[0] == 2:
            scores = np.hstack([-0.5 * scores, 0.5 * scores])
        n_unknown = self.n_classes - self.positions.shape[0]
        log_share = np.log(self.share / (1.0 - n_unknown * self.share))
        logits = np.empty((scores.shape[0], self.n_classes), scores.dtype)
        logits[:] = logsumexp(scores, axis=1, keepdims=True) + log_share
        logits[:, self.positions] = scores
        return logits[:, 1:] - logits[:, :1] if self.n_classes == 2 else logits


def _positions(estimator, classes):
    """Index of the estimator's own classes among all."""
    own = getattr(estimator, "classes_", classes)
    index = {label: k for k, label in enumerate(np.asarray(classes).tolist())}
    own = np.asarray(own).tolist()
    unknown = [label for label in own if label not in index]
    if unknown:
        raise ValueError(
            f"{type(estimator).__name__} has the classes {own} and y only "
            f"{list(index)}. Wrap a classifier that is fitted already in "
            "sklearn.frozen.FrozenEstimator."
        )
    return np.array([index[label] for label in own], dtype=np.intp)


def response_method(estimator, method="auto"):
    """The method that scores come from; ``"auto"`` prefers probabilities."""
    if method != "auto":
        getattr(estimator, method)
        return method
    return PROBA if hasattr(estimator, PROBA) else DECISION


def scores_are_logits(estimator, method="auto"):
    """Whether scores are logits and not probabilities."""
    return response_method(estimator, method) == DECISION


def as_proba(logits):
    """Probabilities of logits: a column per class, for one column of logits as well."""
    if logits.shape[1] == 1:
        return np.hstack([expit(-logits), expit(logits)])
    return softmax(logits, axis=1)


def encode_labels(y, estimator):
    """Codes of the labels, and the labels: those of a frozen estimator, else of `y`."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None.")
    check_no_missing_labels(y)
    check_classification_targets(y)
    encoder = LabelEncoder().fit(y)
    if encoder.classes_.shape[0] == 0:
        raise ValueError(
            "y is empty: found array with 0 sample(s) while a minimum of 1 is required."
        )
    codes = encoder.transform(y)
    classes = encoder.classes_
    if not isinstance(estimator, FrozenEstimator) or not hasattr(estimator, "classes_"):
        return codes, classes
    index = {label: k for k, label in enumerate(estimator.classes_.tolist())}
    unknown = [label for label in classes.tolist() if label not in index]
    if unknown:
        raise ValueError(
            f"y contains labels that the fitted classifier does not know: {unknown}. "
            f"It knows {list(index)}."
        )
    positions = np.array([index[label] for label in classes.tolist()], dtype=np.intp)
    return positions[codes], estimator.classes_


def routed_params(router, method, params):
    """Parameters for the classifier's ``fit`` and for the splitter."""
    params = {name: value for name, value in params.items() if value is not None}
    if get_config()["enable_metadata_routing"]:
        routing = process_routing(router, method, **params)
        return routing["estimator"]["fit"], routing["splitter"]["split"]
    groups = params.pop("groups", None)
    return params, {} if groups is None else {"groups": groups}


def split_rows(cv, X, y, split_params):
    """Training and test rows of each fold, as indices."""
    cv = check_cv(cv, y, classifier=True)
    splits = [
        tuple(
            np.flatnonzero(rows) if np.asarray(rows).dtype == bool else np.asarray(rows)
            for rows in fold
        )
        for fold in cv.split(X, y, **split_params)
    ]
    if not splits:
        raise ValueError("cv gives no folds. One at least is needed.")
    return splits


def fit_folds(estimator, X, y, splits, *, classes, method, fit_params, n_jobs=None):
    """Fit a copy of a classifier on each fold's training rows and score the others.

    Parameters
    ----------
    estimator : estimator instance
        The classifier; it is cloned.
    X : array-like of shape (n_samples, n_features)
        Data in any form that can be indexed by row.
    y : ndarray of shape (n_samples,)
        Labels.
    splits : list of (train, test)
        Row indices. None for `train` trains on all rows, and `test` is all rows then,
        or None to score none.
    classes : ndarray of shape (n_classes,)
        All labels.
    method : {"predict_proba", "decision_function"}
        Where scores come from.
    fit_params : dict
        Parameters of ``fit``; those with a value per row are indexed.
    n_jobs : int, default=None
        Number of fits that run in parallel.

    Returns
    -------
    folds : list of (FoldModel, ndarray or None)
        Each fold's model, and its scores of the fold's test rows.
    """
    parallel = Parallel(n_jobs=n_jobs)
    return parallel(
        delayed(_fit_fold)(
            clone(estimator), X, y, train, test, classes, method, fit_params
        )
        for train, test in splits
    )


def _fit_fold(estimator, X, y, train, test, classes, method, fit_params):
    rows, params = X, fit_params
    if train is not None:
        params = _check_method_params(X, fit_params, indices=train)
        rows, y = _safe_split(estimator, X, y, train)
    estimator.fit(rows, y, **params)
    n_trained = len(y)
    if params.get("sample_weight") is not None:
        n_trained = np.sum(np.asarray(params["sample_weight"], dtype=np.float64))
    model = FoldModel(estimator, classes, method, n_trained)
    if test is None:
        return model, None
    if train is not None:
        X, _ = _safe_split(estimator, X, None, test, train)
    return model, model.scores(X)


def delegate_features(meta_estimator, estimator):
    """Give a meta-estimator what its fitted estimator knows of its features."""
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(estimator, name):
            setattr(meta_estimator, name, getattr(estimator, name))
        elif hasattr(meta_estimator, name):
            delattr(meta_estimator, name)
