"""Newton's method for the convex losses of the parametric recalibrators."""

from skcal.recalibration._newton._degenerate import (
    LARGEST_SEPARABLE,
    is_constant,
    separable_line,
    warn_not_converged,
    warn_reversed,
)
from skcal.recalibration._newton._losses import (
    MultinomialLoss,
    dot,
    logistic_loss,
    penalised,
    restricted,
    row_blocks,
    vector_loss,
)
from skcal.recalibration._newton._solvers import newton, truncated_newton

__all__ = [
    "LARGEST_SEPARABLE",
    "MultinomialLoss",
    "dot",
    "is_constant",
    "logistic_loss",
    "newton",
    "penalised",
    "restricted",
    "row_blocks",
    "separable_line",
    "truncated_newton",
    "vector_loss",
    "warn_not_converged",
    "warn_reversed",
]
