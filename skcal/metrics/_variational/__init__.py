"""Variational calibration error (V-ECE): the risk that recalibration would remove."""

from skcal.metrics._variational._measure import (
    VariationalECE,
    single_value,
    variational_ece,
)
from skcal.metrics._variational._result import VariationalECEResult

__all__ = ["VariationalECE", "VariationalECEResult", "single_value", "variational_ece"]
