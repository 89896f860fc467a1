"""Calibration measures of streams: update, merge, compute."""

from skcal.accumulators._binned import BinnedECEAccumulator
from skcal.accumulators._smooth import SmoothECEAccumulator

__all__ = ["BinnedECEAccumulator", "SmoothECEAccumulator"]
