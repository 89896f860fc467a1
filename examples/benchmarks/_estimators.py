"""Estimators of calibration errors that the benchmarks of V-ECE compare.

A run is one of them with its parameters. What it found for a task is kept by run in the
cache folder of the forecasts, and computed anew where the file of its recalibrator or
its parameters changed.
"""

import hashlib
import inspect
import json
import multiprocessing
import os
import time
from pathlib import Path

import numpy as np
from _forecasts import CACHE

from skcal import (
    BetaCalibration,
    BoostedTemperatureScaling,
    HistogramBinning,
    IsotonicCalibration,
    KernelCalibration,
    MatrixScaling,
    QuadraticScaling,
    SplineCalibration,
    StackedRecalibrator,
    TemperatureScaling,
    VariationalECE,
    binned_ece,
    smooth_ece,
)
from skcal.metrics._variational import _estimation

DIVERGENCES = {True: ("l1", "brier"), False: ("l1", "l2", "brier")}
TITLES = {"l1": "L1", "l2": "L2", "brier": "squared"}
STYLES = {
    "l1": {"marker": "o", "color": "tab:blue"},
    "l2": {"marker": "s", "color": "tab:green"},
    "brier": {"marker": "^", "color": "tab:orange"},
}
LEAVE_ONE_OUT = "leave-one-out"
PEER = "WS-CatBoost"


def binned(name, **options):
    def run(y, p):
        return {
            divergence: [binned_ece(y, p, norm=norm, **options)] * 3
            for divergence, norm in (("l1", "l1"), ("brier", "l2"))
            if not (options.get("debias") and divergence == "l1")
        }

    run.key = name + repr(options)
    return run


def smooth(y, p):
    return {"l1": [smooth_ece(y, p)] * 3}


smooth.key = "smooth"


class Variational:
    """Three readings of one cross-fit, by divergence."""

    def __init__(self, recalibrator, cv=5):
        self.recalibrator, self.cv = recalibrator, cv
        file = Path(inspect.getfile(type(recalibrator)))
        source = file.read_text() + inspect.getsource(_estimation)
        parameters = getattr(recalibrator, "get_params", dict)()
        self.key = f"{type(recalibrator).__name__}{parameters}{cv}{source}"

    def __call__(self, y, p):
        options = {} if p.ndim == 1 else {"labels": np.arange(p.shape[1])}
        result = VariationalECE(
            divergence=list(DIVERGENCES[p.ndim == 1]),
            recalibrator=self.recalibrator,
            cv=self.cv,
            **options,
        ).evaluate(y, p)
        return {
            name: [result.value[name], result.plugin[name], result.midpoint[name]]
            for name in result.value
        }


def runs(binary):
    """Everything that is computed, by name."""
    made = {
        "default": Variational(BoostedTemperatureScaling()),
        "temperature": Variational(TemperatureScaling()),
        "kernel": Variational(KernelCalibration()),
        "isotonic": Variational(IsotonicCalibration()),
        "kernel loo": Variational(KernelCalibration(), cv=LEAVE_ONE_OUT),
        "default is": Variational(BoostedTemperatureScaling(), cv=None),
        "temperature is": Variational(TemperatureScaling(), cv=None),
        "isotonic is": Variational(IsotonicCalibration(), cv=None),
    }
    if binary:
        made |= {
            "uniform bins": binned("uniform"),
            "quantile bins": binned("quantile", strategy="quantile"),
            "debiased bins": binned("debiased", debias=True),
            "smooth": smooth,
            "spline": Variational(SplineCalibration()),
            "stacked": Variational(StackedRecalibrator()),
            "beta": Variational(BetaCalibration()),
            "quadratic": Variational(QuadraticScaling()),
            "uniform": Variational(HistogramBinning()),
            "beta is": Variational(BetaCalibration(), cv=None),
            "quadratic is": Variational(QuadraticScaling(), cv=None),
            "uniform is": Variational(HistogramBinning(), cv=None),
        }
    else:
        made |= {
            "matrix": Variational(MatrixScaling()),
            "matrix is": Variational(MatrixScaling(), cv=None),
        }
    try:
        from probmetrics.classifiers import WS_CatboostClassifier
    except ImportError:
        return made
    # It forks a pool of processes in `fit`, which now and then waits for ever.
    multiprocessing.Pool = Loop
    return made | {"peer": Variational(WS_CatboostClassifier())}


class Loop:
    """A pool of processes without processes."""

    def __init__(self, processes=None):
        self.map = lambda function, items: [function(item) for item in items]

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return None


class Kept:
    """Values of a run by task and draw, in a file."""

    def __init__(self, run):
        key = hashlib.sha256(run.key.encode()).hexdigest()[:12]
        self.run, self.file = run, CACHE / f"estimates-{key}.json"
        self.values = {}
        if self.file.exists():
            self.values = json.loads(self.file.read_text())
        self.saved = time.monotonic()

    def value(self, task, draw):
        """Readings by divergence and milliseconds per 1,000 rows; None if it failed."""
        name = f"{task.name}-{draw}-{task.key}"
        if name not in self.values:
            start = processor_time()
            try:
                found = self.run(task.labels[draw], task.proba)
            except Exception as error:
                if not is_peer(self.run):
                    raise
                print(f"{PEER} on {name}: {error}")
                found = None
            spent = 1e6 * (processor_time() - start) / len(task.proba)
            self.values[name] = [found, spent]
            if time.monotonic() - self.saved > 20:
                self.save()
        return self.values[name]

    def save(self):
        unfinished = self.file.with_name(f"{os.getpid()}-{self.file.name}")
        unfinished.write_text(json.dumps(self.values))
        unfinished.replace(self.file)
        self.saved = time.monotonic()


def is_peer(run):
    return type(getattr(run, "recalibrator", None)).__name__.startswith("WS_")


def processor_time():
    """That of the process and of its children that have ended."""
    return time.process_time() + sum(os.times()[2:4])
