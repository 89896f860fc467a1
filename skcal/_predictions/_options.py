"""Checks of keyword arguments: options, positive numbers, fractions."""

from numbers import Integral, Real

import numpy as np


def check_option(name, value, options):
    """Refuse a value that is none of the options."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(
            f"{name} must be one of {list(options)}. Got {value!r} instead."
        )


def check_positive(name, value, kind=Real):
    """Refuse what is no positive, finite number of a kind."""
    valid = isinstance(value, kind) and not isinstance(value, (bool, np.bool_))
    if not (valid and 0 < value < np.inf):
        noun = "integer" if kind is Integral else "number"
        raise ValueError(f"{name} must be a positive {noun}. Got {name}={value!r}.")


def check_fraction(name, value):
    """Refuse what is no number strictly between 0 and 1."""
    valid = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
    if not (valid and 0 < value < 1):
        raise ValueError(
            f"{name} must be a number between 0 and 1. Got {name}={value!r}."
        )
