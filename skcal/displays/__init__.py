"""Pictures of calibration."""

from skcal.displays._reliability import ReliabilityDisplay

__all__ = ["ReliabilityDisplay"]
