"""How the time and memory of measures, tests and intervals grow, beside other packages.

    python examples/benchmarks/growth_measures.py          # to 100,000 rows, print
    python examples/benchmarks/growth_measures.py --full   # to ten million
    python examples/benchmarks/growth_measures.py --save   # and keep in results/

Whatever is installed of relplot, uncertainty-calibration, netcal and probmetrics is
compared; the last two need PyTorch. scikit-learn has the curve of binned frequencies
but no error, and netcal's MMCE is a value without a test, so that they do less. Takes a
minute, with --full four.
"""

import contextlib
import importlib
import importlib.util
import tempfile
from functools import partial

import numpy as np
from _growth import (
    EXPLANATION,
    SIZES,
    Contender,
    growth_lines,
    header,
    version_line,
)
from _output import publish
from _samples import ten_classes, two_classes
from sklearn.calibration import calibration_curve

import skcal
from skcal import BetaCalibration, IsotonicCalibration, KernelCalibration

PACKAGES = {
    "relplot": "relplot",
    "calibration": "uncertainty-calibration",
    "netcal": "netcal",
    "probmetrics": "probmetrics",
}


def ours(function, *names, outside=False, **options):
    """A contender of ours, by its name or the one given, called with the options."""
    shown = names[0] if names else function.__name__
    return Contender(shown, lambda y, p: partial(function, y, p, **options), outside)


def peer(module, text, prepare, **options):
    """A contender of another package, or nothing where that is not installed."""
    if not importlib.util.find_spec(module):
        return []
    return [Contender(f"  {PACKAGES[module]} {text}", prepare, **options)]


def relplot_smooth(y, p):
    import relplot

    if p.ndim == 1:
        y = y.astype(np.float64)
        return lambda: relplot.smECE(p, y)
    confidences = relplot.multiclass_logits_to_confidences
    return lambda: relplot.smECE(*confidences(p, y, probs=True))


def relplot_binned(y, p):
    import relplot

    return lambda: relplot.metrics.binnedECE(p, y, 15)


def kumar(name, **options):
    def prepare(y, p):
        function = getattr(importlib.import_module("calibration"), name)
        return lambda: function(p, y, **options)

    return prepare


def netcal(name, *args, **options):
    def prepare(y, p):
        method = getattr(importlib.import_module("netcal.metrics"), name)
        return lambda: method(*args, **options).measure(p, y)

    return prepare


def probmetrics(name):
    def prepare(y, p):
        import torch
        from probmetrics.metrics import Metric

        metric = Metric.from_name(name)
        if p.ndim == 1:
            p = np.column_stack((1 - p, p))
        y, p = torch.as_tensor(y), torch.as_tensor(p)
        return lambda: metric.compute_from_labels_probs(y, p)

    return prepare


def probmetrics_variational(y, p):
    """Their cross-validated recalibration, whose loss improvement is the estimate."""
    import torch
    from probmetrics.distributions import CategoricalDirac, CategoricalProbs
    from probmetrics.metrics import Metrics

    metrics = Metrics.from_names(["calib-err_brier_WS_CatboostClassifier_cv-5"])
    labels = CategoricalDirac(torch.as_tensor(y), n_classes=2)
    proba = CategoricalProbs(torch.as_tensor(np.column_stack((1 - p, p))))
    return lambda: metrics.compute_all(labels, proba)


def sklearn_curve(strategy):
    return Contender(
        "  scikit-learn calibration_curve",
        lambda y, p: lambda: calibration_curve(y, p, n_bins=15, strategy=strategy),
    )


def groups():
    """Contenders of the same quantity, ours first, and their data."""
    yield (
        two_classes,
        [
            ours(skcal.smooth_ece),
            *peer("relplot", "smECE", relplot_smooth),
            *peer("probmetrics", "smece", probmetrics("smece"), outside=True),
        ],
    )
    yield (
        ten_classes,
        [
            ours(skcal.smooth_ece, "smooth_ece, top of 10 classes"),
            *peer("relplot", "smECE", relplot_smooth),
            *peer("probmetrics", "smece", probmetrics("smece"), outside=True),
        ],
    )
    yield two_classes, [ours(skcal.rank_ece)]
    yield (
        two_classes,
        [
            ours(skcal.binned_ece),
            sklearn_curve("uniform"),
            *peer("relplot", "binnedECE", relplot_binned),
            *peer("calibration", "get_ece", kumar("get_ece"), outside=True),
            *peer("netcal", "ECE", netcal("ECE", 15)),
            *peer("probmetrics", "ece-15", probmetrics("ece-15"), outside=True),
        ],
    )
    equal_mass = {"strategy": "quantile"}
    yield (
        two_classes,
        [
            ours(skcal.binned_ece, "binned_ece, bins of equal mass", **equal_mass),
            sklearn_curve("quantile"),
            *peer("calibration", "get_ece_em", kumar("get_ece_em"), outside=True),
            *peer("netcal", "ECE", netcal("ECE", 15, equal_intervals=False)),
        ],
    )
    yield (
        two_classes,
        [
            ours(skcal.binned_ece, "binned_ece, maximum", norm="max"),
            *peer("netcal", "MCE", netcal("MCE", 15)),
            *peer("probmetrics", "mce-15", probmetrics("mce-15"), outside=True),
        ],
    )
    debiased = dict(norm="l2", debias=True, **equal_mass)
    scaling = kumar("lower_bound_scaling_ce")
    yield (
        two_classes,
        [
            ours(skcal.binned_ece, "binned_ece, squared, debiased", **debiased),
            *peer("calibration", "scaling_ce", scaling, outside=True),
        ],
    )
    yield (
        ten_classes,
        [
            ours(skcal.binned_ece, "binned_ece, top of 10 classes"),
            *peer("calibration", "get_ece", kumar("get_ece"), outside=True),
            *peer("netcal", "ECE", netcal("ECE", 15)),
            *peer("probmetrics", "ece-15", probmetrics("ece-15"), outside=True),
        ],
    )
    each = kumar("get_ece", mode="marginal")
    yield (
        ten_classes,
        [
            ours(skcal.binned_ece, "binned_ece, each of 10", multiclass="classwise"),
            *peer("calibration", "get_ece", each, outside=True),
        ],
    )
    boosted = probmetrics_variational
    yield (
        two_classes,
        [
            ours(skcal.variational_ece, outside=True, divergence="brier"),
            *peer("probmetrics", "WS-CatBoost", boosted, outside=True),
        ],
    )
    beta = {"recalibrator": BetaCalibration()}
    yield two_classes, [ours(skcal.variational_ece, "variational_ece, beta", **beta)]
    isotonic = {"recalibrator": IsotonicCalibration()}
    yield two_classes, [ours(skcal.plugin_ece, "plugin_ece, isotonic", **isotonic)]
    kernel = {"recalibrator": KernelCalibration()}
    yield two_classes, [ours(skcal.plugin_ece, "plugin_ece, kernel", **kernel)]


def test_groups():
    for method in ("asymptotic", "auto"):
        text = f"rank_ece_test, {method}"
        yield two_classes, [ours(skcal.rank_ece_test, text, method=method)]
    yield (
        two_classes,
        [ours(skcal.skce_test, "skce_test, disjoint", estimator="linear")],
    )
    yield (
        two_classes,
        [
            ours(skcal.skce_test, "skce_test, all pairs"),
            *peer("netcal", "MMCE, no test", netcal("MMCE"), max_rows=10_000),
        ],
    )
    yield two_classes, [ours(skcal.rank_ece_upper_bound)]


def interval_groups():
    few = dict(n_resamples=100)
    interval = partial(skcal.bootstrap_interval, skcal.smooth_ece)
    yield two_classes, [ours(interval, "interval of smooth_ece, 100", **few)]
    interval = partial(skcal.bootstrap_interval, skcal.binned_ece)
    options = dict(norm="l2", strategy="quantile", **few)
    theirs = kumar("get_calibration_error_uncertainties")
    yield (
        two_classes,
        [
            ours(interval, "interval of binned_ece, 100", **options),
            *peer("calibration", "100", theirs, outside=True),
        ],
    )

    def reference(y, p, **options):
        return skcal.calibrated_reference(skcal.smooth_ece, p, **options)

    yield two_classes, [ours(reference, "calibrated_reference, 100", **few)]
    yield two_classes, [ours(skcal.calibration_report, outside=True)]


def report(full):
    sizes, limit, budget = (SIZES, 10, 0.5) if full else (SIZES[:3], 1.5, 0.2)
    yield version_line("numpy", "scipy", "scikit-learn", *PACKAGES.values()) + "\n"
    yield EXPLANATION.format(limit=limit)
    for title, part in (
        ("Measures", groups),
        ("Tests and bounds", test_groups),
        ("Intervals and the report, resamples", interval_groups),
    ):
        yield f"\n{title}\n"
        yield header(sizes)
        for sample, contenders in part():
            yield from growth_lines(contenders, sample, sizes, limit, budget)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        # Some peers write files.
        publish("growth_measures", __doc__, report, full="to ten million rows")
