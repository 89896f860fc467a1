"""Tests of calibration, intervals, and what the number of rows allows to say."""

from skcal.inference._bootstrap import BootstrapInterval, bootstrap_interval

__all__ = ["BootstrapInterval", "bootstrap_interval"]
