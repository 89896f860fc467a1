"""What a person looks at: reliability diagrams and calibration errors."""

from skcal.displays._calibration_error import CalibrationErrorDisplay
from skcal.displays._reliability import ReliabilityDisplay

__all__ = ["CalibrationErrorDisplay", "ReliabilityDisplay"]
