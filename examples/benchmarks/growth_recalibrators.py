"""How the time and memory of recalibrators grow, beside other packages.

    python examples/benchmarks/growth_recalibrators.py          # to 100,000 rows, print
    python examples/benchmarks/growth_recalibrators.py --full   # to ten million
    python examples/benchmarks/growth_recalibrators.py --save   # and keep in results/

Fitting, and repairing probabilities with what was fitted to 1,000 rows. Only
scikit-learn is needed; whatever is installed of betacal, venn-abers,
uncertainty-calibration, netcal and probmetrics is compared. Takes a minute or two, with
--full five.
"""

import contextlib
import functools
import os
import tempfile

import numpy as np
from _contenders import MISSING, OURS, peers
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

TWO = (
    "TemperatureScaling",
    "EnsembleTemperatureScaling",
    "PlattScaling",
    "BetaCalibration",
    "QuadraticScaling",
    "IsotonicCalibration",
    "IsotonicCalibration, centred",
    "SplineCalibration",
    "HistogramBinning, 10 bins",
    "HistogramBinning, equal mass",
    "KernelCalibration",
    "BoostedTemperatureScaling",
)
TEN = (
    "TemperatureScaling",
    "EnsembleTemperatureScaling",
    "VectorScaling",
    "MatrixScaling",
    "DirichletCalibration",
)
# Methods we do not have.
ALONE = ("venn-abers", "uncertainty-calibration PlattBinner")
OUTSIDE = ("probmetrics", "netcal", "uncertainty-calibration")
CALIBRATION_ROWS = 1_000


@functools.lru_cache(maxsize=1)
def two_columns(n):
    y, p = two_classes(n)
    return y, np.column_stack((1 - p, p))


def to_fit(name, contender):
    def prepare(y, p):
        return lambda: contender.fit(p, y)

    return Contender(name, prepare, outside(name), contender.max_rows)


def to_apply(name, contender, sample):
    def prepare(y, p):
        few, proba = sample(CALIBRATION_ROWS)
        repair = contender.fit(proba, few)
        return lambda: repair(p)

    return Contender(name, prepare, outside(name))


def outside(name):
    return name.strip().startswith(OUTSIDE) or name == "BoostedTemperatureScaling"


def groups(names, n_classes, theirs):
    """Contenders by name: ours with what does the same, then what has no like."""
    kinds = ("both", "binary" if n_classes == 2 else "multiclass")
    for name in names:
        found = {name: OURS[name]}
        for peer, contender in theirs.items():
            if contender.beside == name and contender.kind in kinds:
                found[f"  {peer}"] = contender
        yield found
    if n_classes == 2:
        for name in ALONE:
            if name in theirs:
                yield {name: theirs[name]}


def report(full):
    sizes, limit, budget = (SIZES, 2, 0.2) if full else (SIZES[:3], 0.7, 0.1)
    theirs = dict(peers())
    packages = ("betacal", "venn-abers", "uncertainty-calibration", "netcal")
    packages += ("probmetrics", "splinecalib", "cir-model")
    yield version_line("numpy", "scipy", "scikit-learn", "catboost", *packages)
    for name, reason in MISSING.items():
        yield f"Left out: {name} ({reason})"
    yield "\n" + EXPLANATION.format(limit=limit)
    for names, k, sample in ((TWO, 2, two_columns), (TEN, 10, ten_classes)):
        title = {2: "two classes", 10: "ten classes"}[k]
        yield f"\nFitting, {title}\n"
        yield header(sizes)
        for found in groups(names, k, theirs):
            fits = [to_fit(*pair) for pair in found.items()]
            yield from growth_lines(fits, sample, sizes, limit, budget)
        yield f"\nRepairing, {title}, fitted to {CALIBRATION_ROWS:,} rows\n"
        yield header(sizes)
        for found in groups(names, k, theirs):
            repairs = [to_apply(*pair, sample) for pair in found.items()]
            yield from growth_lines(repairs, sample, sizes, limit, budget)


if __name__ == "__main__":
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    scratch = tempfile.TemporaryDirectory()  # some peers write files
    with scratch, contextlib.chdir(scratch.name):
        publish("growth_recalibrators", __doc__, report, full="to ten million rows")
