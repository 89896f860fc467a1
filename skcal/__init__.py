"""Measure, draw and repair the calibration of classifiers, the scikit-learn way."""

from skcal.accumulators import (
    BinnedECEAccumulator,
    SmoothECEAccumulator,
)
from skcal.datasets import (
    make_forecasts,
)
from skcal.displays import (
    CalibrationErrorDisplay,
    ReliabilityDisplay,
)
from skcal.divergences import (
    L1,
    L2,
    Divergence,
    KullbackLeibler,
    LInf,
    Lp,
    SquaredEuclidean,
)
from skcal.inference import (
    bootstrap_interval,
    calibrated_reference,
    compare_calibration,
    rank_ece_sample_size,
    rank_ece_test,
    rank_ece_upper_bound,
    skce_test,
)
from skcal.metrics import (
    VariationalECE,
    VariationalECEResult,
    binned_ece,
    plugin_ece,
    rank_ece,
    smooth_ece,
    variational_ece,
)
from skcal.recalibration import (
    BetaCalibration,
    BoostedTemperatureScaling,
    DirichletCalibration,
    EnsembleTemperatureScaling,
    HistogramBinning,
    IdentityCalibration,
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
from skcal.report import (
    calibration_report,
)
from skcal.scorers import (
    neg_binned_ece_scorer,
    neg_rank_ece_scorer,
    neg_smooth_ece_scorer,
    neg_variational_ece_scorer,
)

__version__ = "0.1.0.dev0"

__all__ = [
    "L1",
    "L2",
    "BetaCalibration",
    "BinnedECEAccumulator",
    "BoostedTemperatureScaling",
    "CalibrationErrorDisplay",
    "DirichletCalibration",
    "Divergence",
    "EnsembleTemperatureScaling",
    "HistogramBinning",
    "IdentityCalibration",
    "IsotonicCalibration",
    "KernelCalibration",
    "KullbackLeibler",
    "LInf",
    "Lp",
    "MatrixScaling",
    "PlattScaling",
    "PriorCorrection",
    "ProbabilityTransformer",
    "QuadraticScaling",
    "RecalibratedClassifierCV",
    "ReliabilityDisplay",
    "SmoothECEAccumulator",
    "SplineCalibration",
    "SquaredEuclidean",
    "StackedRecalibrator",
    "TemperatureScaling",
    "VariationalECE",
    "VariationalECEResult",
    "VectorScaling",
    "binned_ece",
    "bootstrap_interval",
    "calibrated_reference",
    "calibration_report",
    "compare_calibration",
    "make_forecasts",
    "neg_binned_ece_scorer",
    "neg_rank_ece_scorer",
    "neg_smooth_ece_scorer",
    "neg_variational_ece_scorer",
    "plugin_ece",
    "rank_ece",
    "rank_ece_sample_size",
    "rank_ece_test",
    "rank_ece_upper_bound",
    "skce_test",
    "smooth_ece",
    "variational_ece",
]
