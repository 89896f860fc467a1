"""Cross-fitting: recalibrators learn from rows that they are not applied to."""

from inspect import Parameter, signature

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from skcal.recalibration._fold_models import as_proba


def fit_recalibrator(recalibrator, classes, logits, scores, y, weight=None):
    """A fitted copy of a recalibrator that is told all labels and its input's scale.

    Parameters
    ----------
    recalibrator : object
        The recalibrator. Its parameters `labels` and `input` are set, where it has
        them; one without `input` is given probabilities.
    classes : ndarray of shape (n_classes,)
        All labels.
    logits : bool
        Whether the scores are logits.
    scores : ndarray of shape (n_samples, n_classes) or (n_samples, 1)
        Probabilities or logits.
    y : ndarray of shape (n_samples,)
        Labels.
    weight : ndarray of shape (n_samples,), default=None
        Weights.

    Returns
    -------
    recalibrator : object
    """
    if isinstance(recalibrator, type):
        raise ValueError(
            f"{recalibrator.__name__} is a class. Pass an instance of it: "
            f"{recalibrator.__name__}()."
        )
    recalibrator = clone(recalibrator, safe=False)
    settings = {}
    if _has_parameter(recalibrator, "labels"):
        settings["labels"] = classes
    if _has_parameter(recalibrator, "input"):
        settings["input"] = "logits" if logits else "proba"
    if settings:
        recalibrator.set_params(**settings)
    given = {}
    if weight is not None:
        check_takes_weights(recalibrator)
        given = {"sample_weight": weight}
    return recalibrator.fit(_as_it_takes(recalibrator, logits, scores), y, **given)


def apply_recalibrator(recalibrator, classes, logits, scores):
    """Probabilities of all classes by what `fit_recalibrator` returned.

    A class that the recalibrator has not seen keeps its share.
    """
    repaired = np.asarray(
        recalibrator.predict_proba(_as_it_takes(recalibrator, logits, scores))
    )
    seen = classes
    if repaired.shape[1:] != classes.shape and hasattr(recalibrator, "classes_"):
        seen = recalibrator.classes_
    if repaired.shape != (scores.shape[0], len(seen)):
        raise ValueError(
            f"{type(recalibrator).__name__}.predict_proba gave an array of shape "
            f"{repaired.shape}; one column for each of the classes {classes.tolist()} "
            "is needed."
        )
    if len(seen) == len(classes):
        return repaired
    proba = as_proba(scores) if logits else scores.copy()
    unseen = ~np.isin(classes, seen)
    proba[:, ~unseen] = repaired * (1.0 - proba[:, unseen].sum(axis=1))[:, np.newaxis]
    return proba


def _as_it_takes(recalibrator, logits, scores):
    if logits and not _has_parameter(recalibrator, "input"):
        return as_proba(scores)
    return scores


def _has_parameter(recalibrator, name):
    if not hasattr(recalibrator, "get_params"):
        return False
    return name in recalibrator.get_params(deep=False)


def check_takes_weights(learner, remedy="Fit it without sample_weight."):
    """Refuse weights that a classifier or recalibrator would not get."""
    parameters = signature(learner.fit).parameters
    if "sample_weight" in parameters:
        return
    if any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values()):
        # Passed on, or refused with a message of its own, as a Pipeline does.
        return
    raise ValueError(
        f"{type(learner).__name__}.fit does not take sample_weight. {remedy}"
    )


class HeldOutFitter:
    """Fits recalibrators to scores of rows that were held out of training.

    Parameters
    ----------
    recalibrator : object
        The recalibrator; it is cloned.
    classes : ndarray of shape (n_classes,)
        All labels.
    logits : bool
        Whether the scores are logits.
    y : ndarray of shape (n_samples,)
        Labels.
    weight : array-like of shape (n_samples,) or None
        Weights.
    """

    def __init__(self, recalibrator, *, classes, logits, y, weight):
        self.recalibrator = recalibrator
        self.classes = classes
        self.logits = logits
        self.y = y
        self.weight = None if weight is None else np.asarray(weight)

    def each(self, held_out):
        """A recalibrator for each fold, fitted to its rows."""
        teaches = [self._teaches(rows) for rows, _ in held_out]
        of_all = None if all(teaches) else self.all(held_out)
        return [
            self._fit(scores, rows) if enough else of_all
            for (rows, scores), enough in zip(held_out, teaches, strict=True)
        ]

    def all(self, held_out):
        """A recalibrator, fitted to the rows of all folds."""
        rows = np.concatenate([rows for rows, _ in held_out])
        scores = np.concatenate([scores for _, scores in held_out])
        times = np.bincount(rows)[rows]
        # A row that was held out several times counts as one all the same.
        return self._fit(scores, rows, None if times.max() == 1 else 1.0 / times)

    def _teaches(self, rows):
        """Whether the rows that count are of two classes or more."""
        if self.weight is not None:
            rows = rows[self.weight[rows] > 0]
        return np.any(self.y[rows] != self.y[rows[:1]])

    def _fit(self, scores, rows, shares=None):
        weight = None if self.weight is None else self.weight[rows]
        if shares is not None:
            weight = shares if weight is None else weight * shares
        return fit_recalibrator(
            self.recalibrator, self.classes, self.logits, scores, self.y[rows], weight
        )


def canonical_folds(scores, codes, weight, *, n_splits, random_state):
    """Shuffled folds that are the same for any order of the rows.

    The rows are put in an order that depends on their values only, then shuffled and
    dealt. They are not stratified: folds that are balanced by the outcome make the
    rows of a fold depend on each other, which shows as a bias in what is measured on
    them.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_columns)
        Scores.
    codes : ndarray of shape (n_samples,)
        Index of the true class.
    weight : ndarray of shape (n_samples,)
        Weights.
    n_splits : int
        Number of folds; at most one per row is made.
    random_state : int, RandomState instance or None
        Seed of the shuffling.

    Returns
    -------
    folds : list of (train, test)
        Row indices, in canonical order.
    """
    order = row_order(scores, codes, weight)
    n_splits = min(n_splits, order.shape[0])
    fold = dealt_folds(order.shape[0], n_splits, random_state)
    return [(order[fold != j], order[fold == j]) for j in range(n_splits)]


def dealt_folds(n_units, n_splits, random_state):
    """The fold of each row or group, dealt at random: sizes differ by one at most."""
    fold = np.empty(n_units, dtype=np.intp)
    shuffled = check_random_state(random_state).permutation(n_units)
    fold[shuffled] = np.arange(n_units) % n_splits
    return fold


def row_order(scores, codes, weight):
    """Order of the rows by their values: the same for any shuffling.

    A constant added to a row's scores changes nothing, as it does for logits.
    """
    centred = scores
    if scores.shape[1] > 1:
        centred = scores - scores.mean(axis=1, keepdims=True)
    order = np.argsort(centred[:, -1], kind="stable")
    lead = centred[order, -1]
    if np.all(lead[1:] > lead[:-1]):
        return order
    return np.lexsort((*scores.T, weight, codes, *centred.T))
