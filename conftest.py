"""What holds for every test: those in tests/ and the doctests in skcal/ alike."""

import os
import sys

import pytest

os.environ["MPLBACKEND"] = "Agg"  # before anything imports matplotlib


@pytest.fixture(autouse=True)
def _close_figures():
    """Leave no figure open, without importing matplotlib for tests that do not."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
