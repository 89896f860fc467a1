"""Fits that have no minimum, or nothing to fit, and what users are told of them."""

import warnings

from sklearn.exceptions import ConvergenceWarning

# Where scores separate the classes a fitted slope has no bound. It stops where the
# largest log odds are these (a probability of 1 - 1e-13): no two scores become tied.
LARGEST_SEPARABLE = 30.0


def warn_not_converged(name):
    """Tell the user that a fit stopped early, at something finite."""
    warnings.warn(
        f"The fit of {name} did not converge. The scores may separate the classes; "
        "a penalty or label smoothing helps.",
        ConvergenceWarning,
        stacklevel=2,
    )


def warn_reversed(name):
    """Tell the user that the scores rank the labels in reverse."""
    warnings.warn(
        f"The scores rank the labels in reverse, so {name} gives the same probability "
        "to every row. Are the columns in the order of the sorted labels?",
        UserWarning,
        stacklevel=2,
    )


def separable_line(log_odds, event):
    """Slope and midpoint of log odds that separate the events, None where they don't.

    Then the loss has no minimum. Of the ever steeper slopes, at least one, this one
    brings the largest log odds to about 30, so that no two scores become tied.
    """
    happened = event > 0.5
    below, above = log_odds[~happened].max(), log_odds[happened].min()
    width = log_odds.max() - log_odds.min()
    if below > above or width == 0.0:
        return None
    return max(1.0, LARGEST_SEPARABLE / width), 0.5 * (below + above)


def is_constant(log_odds):
    """Whether log odds are equal up to rounding."""
    low, high = log_odds.min(), log_odds.max()
    return high - low <= 1e-12 * max(1.0, abs(low), abs(high))
