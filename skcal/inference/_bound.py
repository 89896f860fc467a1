"""Upper confidence bound of rankECE that assumes nothing."""

import math

from skcal._predictions import check_fraction
from skcal.metrics._rank import rank_ece


def rank_ece_upper_bound(
    y_true,
    y_proba,
    *,
    confidence_level=0.95,
    pos_label=None,
    labels=None,
    multiclass="confidence",
):
    """Upper confidence bound of the expected rankECE, whatever the model and the data.

    One row changes the sum of the neighbours' products by at most 2.25, so McDiarmid's
    inequality holds the error near its expectation:
    ``rank_ece + sqrt(81 * log(1 / (1 - confidence_level)) / (32 * n_samples))`` is
    above it with at least that confidence. A model may be accepted where the bound is
    below the square of an error that is tolerable.

    Read more in the :ref:`User Guide <accepting>`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or \
            (n_samples, n_classes)
        Predicted probabilities in [0, 1]. One column is the positive class's; more are
        the classes' in sorted order, and their rows sum to one.
    confidence_level : float, default=0.95
        Confidence of the bound, between 0 and 1.
    pos_label : int, float, bool or str, default=None
        Label of the positive class. By default 1 where the labels are within {0, 1} or
        {-1, 1}, and the second label in sorted order where `y_proba` has two columns or
        `labels` is given. Has no effect with three or more classes.
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order. Give them where `y_true` may lack a class.
    multiclass : {"confidence", "classwise"}, default="confidence"
        With three or more classes, the error of the top class's probability, or the
        mean of the one-vs-rest errors. Two classes are always measured by the positive
        class's probability.

    Returns
    -------
    bound : float
        On the scale of a squared probability.

    Raises
    ------
    ValueError
        If the input or an option is invalid.

    See Also
    --------
    rank_ece : The error itself.
    rank_ece_test : For rejecting a model.

    Notes
    -----
    The rows must be independent draws from what the model will meet. The expectation is
    that for samples of this size; it is never more than the mean squared calibration
    error, and less where the error changes from one forecast to the next in rank.

    The mean over classes has the same bounded differences as each of them.

    References
    ----------
    .. [1] A. Chatterjee and R. F. Barber, "A Ranking Approach for Measuring
       Calibration", 2026, proposition 2.1 and appendices B.1 and F.
       `arXiv:2609.13100 <https://arxiv.org/abs/2609.13100>`_

    Examples
    --------
    >>> import numpy as np
    >>> from skcal import rank_ece_upper_bound
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.uniform(size=100_000)
    >>> y_true = rng.uniform(size=100_000) < y_proba
    >>> bool(rank_ece_upper_bound(y_true, y_proba) < 0.1**2)
    True
    """
    check_fraction("confidence_level", confidence_level)
    value = rank_ece(
        y_true, y_proba, pos_label=pos_label, labels=labels, multiclass=multiclass
    )
    return value + math.sqrt(
        -81.0 * math.log1p(-confidence_level) / (32.0 * len(y_true))
    )
