"""Tests of calibration, intervals, and what the number of rows allows to say."""

from skcal.inference._bootstrap import bootstrap_interval
from skcal.inference._compare import compare_calibration
from skcal.inference._reference import calibrated_reference

__all__ = [
    "bootstrap_interval",
    "calibrated_reference",
    "compare_calibration",
]
