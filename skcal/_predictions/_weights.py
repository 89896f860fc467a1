"""Sample weights: finite, not negative, not all zero."""

import numpy as np

from skcal._predictions._arrays import as_real_array, place


def check_weight(sample_weight, n_samples, allow_zero_weight=False):
    """Checked weights, or None."""
    if sample_weight is None:
        return None
    weight = as_real_array(sample_weight, "sample_weight")
    if weight.ndim == 2 and weight.shape[1] == 1:
        weight = weight[:, 0]
    if weight.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have shape ({n_samples},), one weight per row. Got "
            f"shape {weight.shape} instead."
        )
    low, high = weight.min(), weight.max()
    if not (low >= 0 and high < np.inf):
        for mask, found in (
            (np.isnan(weight), "NaN"),
            (np.isinf(weight), "infinity"),
            (weight < 0, "negative values"),
        ):
            if mask.any():
                raise ValueError(
                    f"Input sample_weight contains {found}: {int(mask.sum())} of "
                    f"{n_samples} weights, the first at {place(mask)}. Weights must "
                    "be finite and not negative."
                )
    if high > np.finfo(np.float64).max / n_samples:
        raise ValueError(
            f"The sum of sample_weight overflows: the largest of {n_samples} weights "
            f"is {float(high):.3g}. Divide all weights by it."
        )
    if 0 < high < 1e-150:
        # Products with residuals would lose their digits.
        return weight / high
    if high == 0 and not allow_zero_weight:
        raise ValueError(
            "Sample weights must contain at least one non-zero number. Got "
            f"{n_samples} zeros in sample_weight."
        )
    return weight
