"""The only file that imports underscore names from scikit-learn, one line each."""

from sklearn.base import _fit_context
from sklearn.metrics._scorer import _BaseScorer
from sklearn.utils._optional_dependencies import check_matplotlib_support
from sklearn.utils._param_validation import Interval, StrOptions, validate_params
from sklearn.utils._response import _get_response_values

__all__ = [
    "Interval",
    "StrOptions",
    "_BaseScorer",
    "_fit_context",
    "_get_response_values",
    "check_matplotlib_support",
    "validate_params",
]
