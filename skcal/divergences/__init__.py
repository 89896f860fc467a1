"""Divergences: how far a probability vector is from a forecast.

A divergence D_f is convex in its argument and zero at the forecast f. Its tangents lie
below it, which is what `variational_ece` makes its lower bounds of: for any z,
``D_f(C) >= D_f(z) + <C - z, gradient of D_f at z>``.

Arrays have the shape (n_samples, n_columns): one column for the probability of a single
event, as two classes are measured, and a column per class otherwise.
"""

from skcal.divergences._base import Divergence
from skcal.divergences._losses import KullbackLeibler, SquaredEuclidean
from skcal.divergences._norms import L1, L2, LInf, Lp

__all__ = [
    "L1",
    "L2",
    "Divergence",
    "KullbackLeibler",
    "LInf",
    "Lp",
    "SquaredEuclidean",
]
