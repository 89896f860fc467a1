"""The only file that imports underscore names from scikit-learn, one line each."""

from sklearn.base import _fit_context
from sklearn.metrics._scorer import _BaseScorer
from sklearn.utils import _safe_indexing
from sklearn.utils._optional_dependencies import check_matplotlib_support
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
)
from sklearn.utils._response import _get_response_values
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_method_params,
    _num_samples,
)

__all__ = [
    "HasMethods",
    "Interval",
    "StrOptions",
    "_BaseScorer",
    "_check_feature_names_in",
    "_check_method_params",
    "_fit_context",
    "_get_response_values",
    "_num_samples",
    "_safe_indexing",
    "_safe_split",
    "check_matplotlib_support",
]
