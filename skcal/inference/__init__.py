"""Tests of calibration, intervals, and what the number of rows allows to say."""

from skcal.inference._bootstrap import bootstrap_interval
from skcal.inference._bound import rank_ece_upper_bound
from skcal.inference._compare import compare_calibration
from skcal.inference._rank_test import rank_ece_test
from skcal.inference._reference import calibrated_reference
from skcal.inference._sample_size import rank_ece_sample_size
from skcal.inference._skce import skce_test

__all__ = [
    "bootstrap_interval",
    "calibrated_reference",
    "compare_calibration",
    "rank_ece_sample_size",
    "rank_ece_test",
    "rank_ece_upper_bound",
    "skce_test",
]
