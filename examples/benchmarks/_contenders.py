"""skcal's recalibrators and their counterparts elsewhere, called in one way.

A contender is fitted to calibration probabilities (n, k) and labels in 0, ..., k - 1,
and gives a function that repairs probabilities. Peers are optional: what cannot be
imported is named in `MISSING`.
"""

import importlib
import warnings
from typing import NamedTuple

import numpy as np
from scipy.special import logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

import skcal

MISSING = {}


class Contender(NamedTuple):
    """A recalibrator.

    Attributes
    ----------
    fit : callable
        (proba, y) to a function that repairs probabilities.
    beside : str or None
        The recalibrator of ours that does the same.
    kind : {"both", "binary", "multiclass"}
        What it is for.
    max_rows : int
        Calibration rows it takes within memory.
    max_entries : int
        Rows times classes, for more than two of these, that it takes within seconds.
    """

    fit: object
    beside: str | None = None
    kind: str = "both"
    max_rows: int = 10**9
    max_entries: int = 10**9


# Ours ---------------------------------------------------------------------------------


def ours(make):
    def fit(proba, y):
        recalibrator = make(labels=np.arange(proba.shape[1])).fit(proba, y)
        return recalibrator.predict_proba

    return fit


def own(name, **parameters):
    return ours(lambda **labels: getattr(skcal, name)(**parameters, **labels))


OURS = {
    "TemperatureScaling": Contender(own("TemperatureScaling")),
    "TemperatureScaling, laplace": Contender(
        own("TemperatureScaling", label_smoothing="laplace")
    ),
    "EnsembleTemperatureScaling": Contender(own("EnsembleTemperatureScaling")),
    "PlattScaling": Contender(own("PlattScaling")),
    "BetaCalibration": Contender(own("BetaCalibration")),
    "QuadraticScaling": Contender(own("QuadraticScaling")),
    "SplineCalibration": Contender(own("SplineCalibration")),
    "IsotonicCalibration": Contender(own("IsotonicCalibration")),
    "IsotonicCalibration, centred": Contender(
        own("IsotonicCalibration", centered=True)
    ),
    "IsotonicCalibration, strict": Contender(
        own("IsotonicCalibration", centered=True, strict=True, pseudo_count=1.0)
    ),
    "HistogramBinning": Contender(own("HistogramBinning")),
    "HistogramBinning, 10 bins": Contender(own("HistogramBinning", n_bins=10)),
    "HistogramBinning, equal mass": Contender(
        own("HistogramBinning", n_bins=10, strategy="quantile")
    ),
    "KernelCalibration": Contender(own("KernelCalibration")),
    "VectorScaling": Contender(own("VectorScaling"), kind="multiclass"),
    "MatrixScaling": Contender(own("MatrixScaling"), kind="multiclass"),
    "DirichletCalibration": Contender(own("DirichletCalibration"), kind="multiclass"),
    "BoostedTemperatureScaling": Contender(own("BoostedTemperatureScaling")),
    "StackedRecalibrator": Contender(own("StackedRecalibrator"), max_entries=5_000),
}


# Theirs -------------------------------------------------------------------------------


class Given(ClassifierMixin, BaseEstimator):
    """A fitted model whose features are its probabilities, or the logits of them."""

    def __init__(self, n_classes):
        self.n_classes = n_classes
        self.classes_ = np.arange(n_classes)

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X.argmax(axis=1)

    def predict_proba(self, X):
        return X


class GivenMargin(Given):
    """The same with a decision function, which `CalibratedClassifierCV` prefers."""

    def decision_function(self, X):
        bounded = np.clip(X, np.finfo(float).eps, 1 - np.finfo(float).eps)
        margin = logit(bounded)
        return margin[:, 1] if margin.shape[1] == 2 else margin


def from_sklearn(method, model=Given):
    def fit(proba, y):
        frozen = FrozenEstimator(model(proba.shape[1]))
        calibrated = CalibratedClassifierCV(frozen, method=method).fit(proba, y)
        return calibrated.predict_proba

    return fit


def from_netcal(module, name, *args):
    def fit(proba, y):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            two = proba.shape[1] == 2
            method = getattr(importlib.import_module(module), name)(*args)
            method.fit(proba[:, 1] if two else proba, y)

        def repair(new):
            out = np.asarray(method.transform(new[:, 1] if two else new), dtype=float)
            return both(out) if two else out

        return repair

    return fit


def from_betacal(proba, y):
    import betacal

    method = betacal.BetaCalibration("abm").fit(proba[:, [1]], y)
    return lambda new: both(method.predict(new[:, [1]]))


def from_kumar(name):
    """A calibrator of the package uncertainty-calibration."""

    def fit(proba, y):
        method = getattr(importlib.import_module("calibration"), name)(len(y), 10)
        method.train_calibration(proba[:, 1], y)
        return lambda new: both(method.calibrate(new[:, 1]))

    return fit


def from_venn_abers(proba, y):
    from venn_abers import VennAbers

    method = VennAbers().fit(proba, y)
    return lambda new: method.predict_proba(new)[0]


def both(event):
    """Two columns of one, whatever its shape."""
    event = np.asarray(event, dtype=float).reshape(len(event), -1)[:, -1]
    return np.column_stack((1 - event, event))


def from_probmetrics(name, one_vs_rest=False, **options):
    def fit(proba, y):
        calibrators = importlib.import_module("probmetrics.calibrators")
        if name == "WS_CatboostClassifier":
            module = importlib.import_module("probmetrics.classifiers")
            return module.WS_CatboostClassifier().fit(proba, y).predict_proba
        if name in vars(calibrators):
            method = vars(calibrators)[name](**options)
        else:
            method = calibrators.get_calibrator(name, **options)
        if one_vs_rest and proba.shape[1] > 2:
            method = calibrators.MulticlassOneVsRestCalibrator(method)
        return method.fit(proba, y).predict_proba

    return fit


def peers():
    """Contenders from the packages that are installed."""
    yield "sklearn sigmoid", Contender(from_sklearn("sigmoid"), "PlattScaling")
    yield (
        "sklearn sigmoid of logits",
        Contender(from_sklearn("sigmoid", GivenMargin), "PlattScaling"),
    )
    yield "sklearn isotonic", Contender(from_sklearn("isotonic"), "IsotonicCalibration")
    if importable("sklearn temperature", "sklearn.calibration", "_TemperatureScaling"):
        yield (
            "sklearn temperature",
            Contender(from_sklearn("temperature"), "TemperatureScaling"),
        )
    if importable("betacal", "betacal"):
        yield "betacal", Contender(from_betacal, "BetaCalibration", "binary")
    if importable("venn-abers", "venn_abers"):
        yield "venn-abers", Contender(from_venn_abers, None, "binary")
    if importable("uncertainty-calibration", "calibration"):
        for method, beside in (
            ("Histogram", "HistogramBinning, equal mass"),
            ("Platt", "PlattScaling"),
            ("PlattBinner", None),
        ):
            fit = from_kumar(f"{method}Calibrator")
            name = f"uncertainty-calibration {method}"
            yield name, Contender(fit, beside, "binary")
    if importable("netcal", "netcal.scaling"):
        for name, module, method, args, beside in (
            ("temperature", "scaling", "TemperatureScaling", (), "TemperatureScaling"),
            ("logistic", "scaling", "LogisticCalibration", (), "PlattScaling"),
            ("beta", "scaling", "BetaCalibration", (), "BetaCalibration"),
            ("isotonic", "binning", "IsotonicRegression", (), "IsotonicCalibration"),
            (
                "histogram",
                "binning",
                "HistogramBinning",
                (),
                "HistogramBinning, 10 bins",
            ),
        ):
            fit = from_netcal(f"netcal.{module}", method, *args)
            slow = {"max_entries": 3_000} if name in ("logistic", "beta") else {}
            yield f"netcal {name}", Contender(fit, beside, **slow)
    if importable("probmetrics", "probmetrics.calibrators"):
        yield from probmetrics_peers()


def probmetrics_peers():
    quiet = dict(print_init_info=False)
    for name, fit, *rest in (
        ("temperature", from_probmetrics("temp-scaling"), "TemperatureScaling"),
        ("ts-mix", from_probmetrics("ts-mix"), "TemperatureScaling, laplace"),
        (
            "ETS",
            from_probmetrics("ETSCalibrator", loss="ce"),
            "EnsembleTemperatureScaling",
        ),
        (
            "affine",
            from_probmetrics("affine-scaling", one_vs_rest=True),
            "PlattScaling",
        ),
        (
            "quadratic",
            from_probmetrics("quadratic-scaling", one_vs_rest=True),
            "QuadraticScaling",
        ),
        (
            "quadratic-mix",
            from_probmetrics(
                "logistic-mix",
                logistic_binary_type="quadratic",
            ),
            "QuadraticScaling",
            "binary",
        ),
        (
            "SVS",
            from_probmetrics("SVSCalibrator", **quiet),
            "VectorScaling",
            "multiclass",
        ),
        (
            "SMS",
            from_probmetrics("SMSCalibrator", **quiet),
            "MatrixScaling",
            "multiclass",
        ),
        ("SMS-mix", from_probmetrics("logistic-mix"), "MatrixScaling", "multiclass"),
        (
            "CatBoost",
            from_probmetrics("WS_CatboostClassifier"),
            "BoostedTemperatureScaling",
            "both",
            10**9,
            5_000,
        ),
        (
            "CDF spline",
            from_probmetrics("CDFSplineCalibrator", one_vs_rest=True),
            "SplineCalibration",
        ),
        (
            "kernel",
            from_probmetrics("KernelCalibrator"),
            "KernelCalibration",
            "both",
            1_000,
            5_000,
        ),
    ):
        yield f"probmetrics {name}", Contender(fit, *rest)
    for name, package, method, beside in (
        ("spline", "splinecalib", "MLISplineCalibrator", "SplineCalibration"),
        (
            "centred isotonic",
            "cir_model",
            "CenteredIsotonicRegressionCalibrator",
            "IsotonicCalibration, centred",
        ),
    ):
        if importable(f"probmetrics {name}", package):
            fit = from_probmetrics(method, one_vs_rest=True)
            yield f"probmetrics {name}", Contender(fit, beside, max_entries=3_000)
    if importable("probmetrics Venn-Abers", "venn_abers"):
        yield (
            "probmetrics Venn-Abers",
            Contender(from_probmetrics("BinaryVennAbersCalibrator", one_vs_rest=True)),
        )


def importable(name, module, attribute=None):
    try:
        found = importlib.import_module(module)
    except Exception as error:  # optional dependencies fail in many ways
        MISSING[name] = f"{type(error).__name__}: {error}"
        return False
    if attribute is not None and not hasattr(found, attribute):
        MISSING[name] = f"not in this version of {module.partition('.')[0]}"
        return False
    return True
