"""Scorers for ``GridSearchCV``, ``cross_validate`` and their like.

Each is a scikit-learn scorer object, negated so that greater is better, which also
hands the measure the estimator's classes: string labels and folds that lack a class
work. `SCORERS` maps their names to them and can be passed as ``scoring=``.

A calibration error is no criterion to select models by: a constant forecast of the base
rate is perfectly calibrated. Select by a proper score such as ``"neg_log_loss"`` and
report these beside it; see :ref:`scorers`.
"""

from skcal._sklearn import _BaseScorer
from skcal.metrics import binned_ece, rank_ece, smooth_ece, variational_ece

__all__ = [
    "SCORERS",
    "neg_binned_ece_scorer",
    "neg_rank_ece_scorer",
    "neg_smooth_ece_scorer",
    "neg_variational_ece_scorer",
]


class _CalibrationScorer(_BaseScorer):
    """A scorer that knows which classes the columns of `predict_proba` stand for."""

    def _score(self, method_caller, estimator, X, y_true, **kwargs):
        self._warn_overlap(
            "There is an overlap between set kwargs of this scorer instance and passed "
            "metadata. Please pass them either as kwargs to `make_scorer` or metadata, "
            "but not both.",
            kwargs,
        )
        classes = getattr(estimator, "classes_", None)
        known = {} if classes is None else {"labels": classes}
        method = self._response_method
        if classes is not None and len(classes) == 2:
            # scikit-learn caches one column of two, that of the positive class of
            # whichever scorer asked first. Under a key of its own the column is the
            # second class's, for all scorers of this module.
            method = (method,)
            known["pos_label"] = classes[1]
        y_proba = method_caller(estimator, method, X)
        return self._sign * self._score_func(
            y_true, y_proba, **{**known, **self._kwargs, **kwargs}
        )


def _make(measure):
    return _CalibrationScorer(measure, -1, {}, "predict_proba")


neg_smooth_ece_scorer = _make(smooth_ece)
neg_rank_ece_scorer = _make(rank_ece)
neg_binned_ece_scorer = _make(binned_ece)
neg_variational_ece_scorer = _make(variational_ece)

SCORERS = {
    "neg_smooth_ece": neg_smooth_ece_scorer,
    "neg_rank_ece": neg_rank_ece_scorer,
    "neg_binned_ece": neg_binned_ece_scorer,
    "neg_variational_ece": neg_variational_ece_scorer,
}
