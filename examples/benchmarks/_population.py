"""smECE of a distribution, by quadrature that shares no code with the package."""

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.optimize import brentq

N_CELLS = 8_192


def residual_mass(quantile, frequency, n_cells=N_CELLS):
    """Expected residual in each of equal cells of [0, 1].

    `quantile` is the forecasts' quantile function, `frequency` the probability of the
    event given a forecast.
    """
    f = quantile((np.arange(512 * n_cells) + 0.5) / (512 * n_cells))
    cell = np.minimum((f * n_cells).astype(int), n_cells - 1)
    return np.bincount(cell, frequency(f) - f, n_cells) / f.size


def smoothed_error(mass, bandwidth):
    """smECE of residuals in cells, at a bandwidth: reflection, then a plain sum."""
    # "reflect" mirrors at the walls, half a cell beyond the outermost centres.
    smoothed = gaussian_filter1d(
        mass, bandwidth * mass.size, mode="reflect", truncate=8.0
    )
    return np.abs(smoothed).sum()


def fixed_point(mass):
    """smECE of residuals in cells, with the bandwidth that equals it."""
    most = np.abs(mass).sum()
    if most < 1e-9:
        return 0.0
    least = 4 / mass.size
    return brentq(
        lambda s: smoothed_error(mass, s) - s, least, max(most, 2 * least), xtol=1e-9
    )
