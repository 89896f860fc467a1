"""Recalibrators: probabilities in, better probabilities out."""

from skcal.recalibration._beta import BetaCalibration
from skcal.recalibration._boosted import BoostedTemperatureScaling
from skcal.recalibration._classifier import RecalibratedClassifierCV
from skcal.recalibration._dirichlet import DirichletCalibration
from skcal.recalibration._histogram import HistogramBinning
from skcal.recalibration._identity import IdentityCalibration
from skcal.recalibration._isotonic import IsotonicCalibration
from skcal.recalibration._kernel import KernelCalibration
from skcal.recalibration._matrix import MatrixScaling, VectorScaling
from skcal.recalibration._platt import PlattScaling
from skcal.recalibration._prior import PriorCorrection
from skcal.recalibration._quadratic import QuadraticScaling
from skcal.recalibration._spline import SplineCalibration
from skcal.recalibration._stacked import StackedRecalibrator
from skcal.recalibration._temperature import (
    EnsembleTemperatureScaling,
    TemperatureScaling,
)
from skcal.recalibration._transformer import ProbabilityTransformer

__all__ = [
    "BetaCalibration",
    "BoostedTemperatureScaling",
    "DirichletCalibration",
    "EnsembleTemperatureScaling",
    "HistogramBinning",
    "IdentityCalibration",
    "IsotonicCalibration",
    "KernelCalibration",
    "MatrixScaling",
    "PlattScaling",
    "PriorCorrection",
    "ProbabilityTransformer",
    "QuadraticScaling",
    "RecalibratedClassifierCV",
    "SplineCalibration",
    "StackedRecalibrator",
    "TemperatureScaling",
    "VectorScaling",
]
