"""A report of a classifier's calibration, the sibling of `classification_report`."""

from skcal.report._report import calibration_report

__all__ = ["calibration_report"]
