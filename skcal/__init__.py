"""Measure, draw and repair the calibration of classifiers, the scikit-learn way."""

from skcal.accumulators import (
    BinnedECEAccumulator,
    SmoothECEAccumulator,
)
from skcal.displays import (
    ReliabilityDisplay,
)
from skcal.inference import (
    rank_ece_sample_size,
    rank_ece_test,
    rank_ece_upper_bound,
    skce_test,
)
from skcal.metrics import (
    binned_ece,
    rank_ece,
    smooth_ece,
)
from skcal.recalibration import (
    BetaCalibration,
    BoostedTemperatureScaling,
    DirichletCalibration,
    EnsembleTemperatureScaling,
    HistogramBinning,
    IsotonicCalibration,
    KernelCalibration,
    MatrixScaling,
    PlattScaling,
    PriorCorrection,
    ProbabilityTransformer,
    QuadraticScaling,
    RecalibratedClassifierCV,
    SplineCalibration,
    StackedRecalibrator,
    TemperatureScaling,
    VectorScaling,
)
from skcal.scorers import (
    neg_binned_ece_scorer,
    neg_rank_ece_scorer,
    neg_smooth_ece_scorer,
)

__version__ = "0.1.0.dev0"

__all__ = [
    "BetaCalibration",
    "BinnedECEAccumulator",
    "BoostedTemperatureScaling",
    "DirichletCalibration",
    "EnsembleTemperatureScaling",
    "HistogramBinning",
    "IsotonicCalibration",
    "KernelCalibration",
    "MatrixScaling",
    "PlattScaling",
    "PriorCorrection",
    "ProbabilityTransformer",
    "QuadraticScaling",
    "RecalibratedClassifierCV",
    "ReliabilityDisplay",
    "SmoothECEAccumulator",
    "SplineCalibration",
    "StackedRecalibrator",
    "TemperatureScaling",
    "VectorScaling",
    "binned_ece",
    "neg_binned_ece_scorer",
    "neg_rank_ece_scorer",
    "neg_smooth_ece_scorer",
    "rank_ece",
    "rank_ece_sample_size",
    "rank_ece_test",
    "rank_ece_upper_bound",
    "skce_test",
    "smooth_ece",
]
