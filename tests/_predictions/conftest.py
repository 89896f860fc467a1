"""Tests run on each measure, or on each that takes weights."""

import pytest

from skcal import binned_ece, rank_ece, smooth_ece


@pytest.fixture(params=[smooth_ece, rank_ece, binned_ece], ids=lambda m: m.__name__)
def measure(request):
    return request.param


@pytest.fixture(params=[smooth_ece, binned_ece], ids=lambda m: m.__name__)
def weighted(request):
    return request.param
