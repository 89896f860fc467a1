"""No recalibration, in the form of a recalibrator."""

import numpy as np

from skcal._core.logistic import softmax
from skcal.recalibration._base import BaseRecalibrator


class IdentityCalibration(BaseRecalibrator):
    """Leave probabilities as they are.

    The candidate that others must beat in a search, and the last step of a pipeline
    that is to have `predict_proba` without any repair, which ``"passthrough"`` has not.

    Read more in the :ref:`User Guide <identity_calibration>`.

    Parameters
    ----------
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order. Give them where `y` may lack a class.
    input : {"proba", "logits"}, default="proba"
        What is given to `fit` and `transform`: probabilities, or logits, which are
        turned into probabilities.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in sorted order.
    n_features_in_ : int
        Number of columns seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns seen during `fit`, where they have string names.

    See Also
    --------
    RecalibratedClassifierCV : A classifier with a recalibrator.
    StackedRecalibrator : Blends recalibrators, the identity among them.

    Examples
    --------
    >>> from skcal import IdentityCalibration
    >>> identity = IdentityCalibration().fit([0.2, 0.9], ["no", "yes"])
    >>> identity.predict_proba([0.75])
    array([[0.25, 0.75]])
    """

    def __init__(self, *, labels=None, input="proba"):
        self.labels = labels
        self.input = input

    def _fit_scores(self, scores, codes, weight):
        pass

    def _apply_scores(self, scores):
        return softmax(scores)

    def _repaired_rows(self, checked):
        if self.input == "logits":
            return super()._repaired_rows(checked)
        # To the bit, zeros and ones as well.
        if checked.ndim == 1:
            return np.column_stack([1.0 - checked, checked])
        return checked
