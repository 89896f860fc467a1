"""The number of bins that predicts best, as the smECE paper chooses it."""

import numpy as np


def cross_validated_bins(y, p, most=50, n_folds=10, seed=0):
    """Number of equal bins whose means predict held-out outcomes best.

    The mean squared error of histogram regression, by cross-validation. A forecast in
    a bin without rows is predicted by itself.
    """
    fold = np.random.default_rng(seed).permutation(len(p)) % n_folds
    errors = []
    for n_bins in range(1, most + 1):
        cell = np.minimum((p * n_bins).astype(int), n_bins - 1)
        place = fold * n_bins + cell
        counts = [
            np.bincount(place, weights, n_folds * n_bins).reshape(n_folds, n_bins)
            for weights in (None, y)
        ]
        rows, events = (count.sum(axis=0) - count for count in counts)
        held = rows[fold, cell]
        mean = events[fold, cell] / np.maximum(held, 1)
        errors.append(np.mean((np.where(held > 0, mean, p) - y) ** 2))
    return 1 + int(np.argmin(errors))
