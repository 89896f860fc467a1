"""Labels, probabilities and weights together: one checked form of them."""

from skcal._predictions._encoding import (
    check_column_order,
    check_known_labels,
    encode_binary,
    encode_multiclass,
)
from skcal._predictions._forms import Predictions
from skcal._predictions._labels import check_labels_array
from skcal._predictions._scores import check_scores
from skcal._predictions._weights import check_weight


def check_predictions(
    y_true,
    y_proba,
    *,
    sample_weight=None,
    pos_label=None,
    labels=None,
    allow_zero_weight=False,
    logits=False,
):
    """Check and encode labels, probabilities and weights.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels of any sortable type.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or \
            (n_samples, n_classes)
        Predicted probabilities in [0, 1]. One column is the positive class's; two or
        more columns are the classes' in sorted order, and rows sum to one.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.
    pos_label : int, float, bool or str, default=None
        The positive class of two. By default 1 for labels within {0, 1} or {-1, 1},
        else the second of the sorted labels, where the columns or `labels` say that
        there are two.
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order, needed where `y_true` lacks a class.
    allow_zero_weight : bool, default=False
        Accept weights that are all zero, as a stream's batch may have.
    logits : bool, default=False
        `y_proba` holds logits: any finite numbers.

    Returns
    -------
    predictions : Predictions

    Raises
    ------
    ValueError
        If anything is missing, non-finite, out of range, inconsistent or ambiguous.
    """
    y = check_labels_array(y_true)
    proba = check_scores(y_proba, logits=logits)
    if y.shape[0] != proba.shape[0]:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"y_true has {y.shape[0]} and y_proba {proba.shape[0]}."
        )
    weight = check_weight(sample_weight, y.shape[0], allow_zero_weight)
    if labels is not None:
        labels = check_known_labels(labels, proba)
    if proba.ndim == 2 and proba.shape[1] > 2:
        codes, classes = encode_multiclass(y, proba.shape[1], labels)
        check_column_order(y_proba, classes)
        return Predictions(proba, codes, weight, classes)
    codes, classes, pos_label, column = encode_binary(y, proba, pos_label, labels)
    if proba.ndim == 2:
        check_column_order(y_proba, classes)
        proba = proba[:, column]
    return Predictions(proba, codes, weight, classes, pos_label)
