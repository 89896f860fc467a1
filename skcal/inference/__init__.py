"""Tests of calibration, intervals, and what the number of rows allows to say."""
