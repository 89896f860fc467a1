"""The one door for input: labels, probabilities and weights, checked and encoded.

Every metric, test and display takes its input through `check_predictions`, and every
input error is worded here.
"""

from skcal._predictions._check_predictions import check_predictions
from skcal._predictions._encoding import check_column_order
from skcal._predictions._forms import (
    MULTICLASS_REDUCTIONS,
    BinaryProblem,
    Predictions,
    check_reduction,
)
from skcal._predictions._labels import (
    check_groups,
    check_labels,
    check_no_missing_labels,
)
from skcal._predictions._options import check_fraction, check_option, check_positive
from skcal._predictions._scores import check_scores, check_values
from skcal._predictions._weights import check_weight

__all__ = [
    "MULTICLASS_REDUCTIONS",
    "BinaryProblem",
    "Predictions",
    "check_column_order",
    "check_fraction",
    "check_groups",
    "check_labels",
    "check_no_missing_labels",
    "check_option",
    "check_positive",
    "check_predictions",
    "check_reduction",
    "check_scores",
    "check_values",
    "check_weight",
]
