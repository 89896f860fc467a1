"""Calibration measures: functions of true labels and predicted probabilities."""

from skcal.metrics._binned import binned_ece
from skcal.metrics._plugin import plugin_ece
from skcal.metrics._rank import rank_ece
from skcal.metrics._smooth import smooth_ece
from skcal.metrics._variational import (
    VariationalECE,
    VariationalECEResult,
    variational_ece,
)

__all__ = [
    "VariationalECE",
    "VariationalECEResult",
    "binned_ece",
    "plugin_ece",
    "rank_ece",
    "smooth_ece",
    "variational_ece",
]
