"""Row orders that depend on the multiset of rows only."""

import numpy as np


def canonical_order(forecast, outcome):
    """Order of the rows by forecast, then outcome: the same for any shuffling."""
    return np.lexsort((outcome, forecast))
