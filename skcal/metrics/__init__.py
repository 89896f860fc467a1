"""Calibration measures: functions of true labels and predicted probabilities."""

from skcal.metrics._binned import binned_ece
from skcal.metrics._rank import rank_ece
from skcal.metrics._smooth import smooth_ece

__all__ = ["binned_ece", "rank_ece", "smooth_ece"]
