"""How near estimates come to the true calibration error of real models' forecasts.

    python examples/benchmarks/accuracy_variational.py            # print
    python examples/benchmarks/accuracy_variational.py --save     # and keep results
    python examples/benchmarks/accuracy_variational.py --quick    # a few tables

The columns are those of tables F.2 to F.5 of Berta et al., "V-ECE: Estimating General
Expected Calibration Errors" (2026), the rows those of its table E.2 and the midpoint
readings; the tasks come from `_semisynthetic.py`. probmetrics' WS-CatBoost takes part
where it can be imported. Values are kept by estimator in the cache folder of the
forecasts and computed anew where an estimator's file or its parameters changed.
"""

import argparse
import hashlib
import inspect
import json
import multiprocessing
import os
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from _forecasts import CACHE
from _semisynthetic import DRAWS, tables, tasks
from scipy.stats import rankdata, spearmanr, wilcoxon
from threadpoolctl import threadpool_limits

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
from skcal.metrics._variational._estimation import _estimates

HERE = Path(__file__).parent
RESULT = HERE / "results" / "accuracy_variational.txt"
FIGURE = HERE.parents[1] / "docs" / "images" / "accuracy_variational.png"

DIVERGENCES = {True: ("l1", "brier"), False: ("l1", "l2", "brier")}
TITLES = {"l1": "L1", "l2": "L2", "brier": "squared"}
# Runs that take part, for time, on the first draw of labels of every so many-th task.
SLOW = {"kernel": 1, "kernel loo": 1, "spline": 1, "peer": 1, "stacked": 3}
LEAVE_ONE_OUT = "leave-one-out"
PEER = "WS-CatBoost"
DEFAULT = "V-ECE (Default)"


# Runs: what is computed, and kept ----------------------------------------------------


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
        source = file.read_text() + inspect.getsource(_estimates)
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


VARIATIONAL, PLUGIN, MIDPOINT = range(3)
# Rows of the tables: name, run, reading. The first block is that of table E.2.
BINARY_ROWS = {
    DEFAULT: ("default", VARIATIONAL),
    "V-ECE (Beta)": ("beta", VARIATIONAL),
    "V-ECE (Quadratic)": ("quadratic", VARIATIONAL),
    "V-ECE (Isotonic)": ("isotonic", VARIATIONAL),
    "V-ECE (Uniform)": ("uniform", VARIATIONAL),
    "V-ECE (KDE)": ("kernel", VARIATIONAL),
    "V-ECE (Spline)": ("spline", VARIATIONAL),
    "V-ECE (TS)": ("temperature", VARIATIONAL),
    "V-ECE (Stacked)": ("stacked", VARIATIONAL),
    "Uniform-ECE": ("uniform bins", PLUGIN),
    "Quantile-ECE": ("quantile bins", PLUGIN),
    "Debiased-ECE": ("debiased bins", PLUGIN),
    "Smooth-ECE": ("smooth", PLUGIN),
    "Isotonic-ECE": ("isotonic is", PLUGIN),
    "KDE-ECE": ("kernel loo", PLUGIN),
    "Default-IS": ("default is", VARIATIONAL),
    "Beta-IS": ("beta is", VARIATIONAL),
    "Quadratic-IS": ("quadratic is", VARIATIONAL),
    "Isotonic-IS": ("isotonic is", VARIATIONAL),
    "Uniform-IS": ("uniform is", VARIATIONAL),
    "TS-IS": ("temperature is", VARIATIONAL),
}
MULTICLASS_ROWS = {
    DEFAULT: ("default", VARIATIONAL),
    "V-ECE (SMS)": ("matrix", VARIATIONAL),
    "V-ECE (Isotonic)": ("isotonic", VARIATIONAL),
    "V-ECE (KDE)": ("kernel", VARIATIONAL),
    "V-ECE (TS)": ("temperature", VARIATIONAL),
    "Isotonic-ECE": ("isotonic is", PLUGIN),
    "KDE-ECE": ("kernel loo", PLUGIN),
    "Default-IS": ("default is", VARIATIONAL),
    "SMS-IS": ("matrix is", VARIATIONAL),
    "Isotonic-IS": ("isotonic is", VARIATIONAL),
    "TS-IS": ("temperature is", VARIATIONAL),
}
MIDPOINTS = {
    True: {
        "midpoint (Default)": ("default", MIDPOINT),
        "midpoint (Beta)": ("beta", MIDPOINT),
        "midpoint (Quadratic)": ("quadratic", MIDPOINT),
        "midpoint (Isotonic)": ("isotonic", MIDPOINT),
        "midpoint (KDE)": ("kernel", MIDPOINT),
        "midpoint (Spline)": ("spline", MIDPOINT),
        "midpoint (TS)": ("temperature", MIDPOINT),
        "midpoint (Stacked)": ("stacked", MIDPOINT),
    },
    False: {
        "midpoint (Default)": ("default", MIDPOINT),
        "midpoint (SMS)": ("matrix", MIDPOINT),
        "midpoint (Isotonic)": ("isotonic", MIDPOINT),
        "midpoint (KDE)": ("kernel", MIDPOINT),
        "midpoint (TS)": ("temperature", MIDPOINT),
    },
}
ROWS = {True: BINARY_ROWS, False: MULTICLASS_ROWS}


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


class Measured(NamedTuple):
    """All that the tables are made of, for two classes or for more."""

    tables: np.ndarray  # of each draw: its table, model and truth by divergence
    models: np.ndarray
    draws: np.ndarray
    truth: dict
    values: dict  # run -> divergence -> (n_draws, 3), NaN where it did not take part
    spent: dict  # run -> (n_draws,)


def measure(binary, quick=False, only=None):
    """Values of all runs on all draws of all tasks."""
    everything = list(tasks(binary, quick))
    kept = {
        name: Kept(run)
        for name, run in runs(binary).items()
        if only is None or name in only
    }
    rows = [(task, draw) for task in everything for draw in range(DRAWS)]
    values = {
        name: {d: np.full((len(rows), 3), np.nan) for d in DIVERGENCES[binary]}
        for name in kept
    }
    spent = {name: np.full(len(rows), np.nan) for name in kept}
    for name, run in kept.items():
        start = time.monotonic()
        for i, (task, draw) in enumerate(rows):
            if name in SLOW and (draw > 0 or (i // DRAWS) % SLOW[name]):
                continue
            with warnings.catch_warnings():
                # Bins without rows, classes without rows: what data are like.
                warnings.simplefilter("ignore")
                found, spent[name][i] = run.value(task, draw)
            for divergence, readings in (found or {}).items():
                # As in the paper an estimate below zero is zero.
                values[name][divergence][i] = np.maximum(readings, 0)
        run.save()
        if time.monotonic() - start > 1:
            print(f"  {name}: {time.monotonic() - start:.0f} s", flush=True)
    return Measured(
        np.array([task.table for task, _ in rows]),
        np.array([task.model for task, _ in rows]),
        np.array([draw for _, draw in rows]),
        {d: np.array([true_error(t, d) for t, _ in rows]) for d in DIVERGENCES[binary]},
        values,
        spent,
    )


def true_error(task, divergence):
    gap = (task.truth - task.proba).reshape(len(task.proba), -1)
    return {
        "l1": np.abs(gap).sum(axis=1),
        "l2": np.sqrt((gap**2).sum(axis=1)),
        "brier": (gap**2).sum(axis=1),
    }[divergence].mean()


# Tables ------------------------------------------------------------------------------


def pooled_maximum(measured, rows, divergence):
    """Largest absolute error on each draw among the rows that are in all draws."""
    truth = measured.truth[divergence]
    errors = [
        np.abs(measured.values[run][divergence][:, reading] - truth)
        for run, reading in rows.values()
        if run in measured.values and run not in SLOW
    ]
    return np.nanmax(errors, axis=0)


def accuracy(measured, run, reading, divergence, largest, shown):
    """NAE, NMAE in %, median ratio and the share above the truth in %."""
    value = measured.values[run][divergence][shown, reading]
    truth = measured.truth[divergence][shown]
    error = np.abs(value - truth)
    return (
        np.mean(error / largest[shown]),
        100 * error.sum() / truth.sum(),
        np.median(value / truth),
        100 * np.mean(value > truth),
    )


def by_task(measured, errors, shown):
    """Mean over the draws of a task, which are not independent."""
    names = np.char.add(np.char.add(measured.tables, "-"), measured.models)[shown]
    _, index = np.unique(names, return_inverse=True)
    return np.bincount(index, errors) / np.bincount(index)


def compared(measured, first, second, divergence, shown):
    """Wilcoxon's signed-rank test of two rows' absolute errors.

    Returns "+" where the first is significantly smaller (5 %), "-" where it is larger,
    "=" otherwise.
    """
    truth = measured.truth[divergence][shown]
    errors = [
        by_task(
            measured,
            np.abs(measured.values[run][divergence][shown, reading] - truth),
            shown,
        )
        for run, reading in (first, second)
    ]
    difference = errors[0] - errors[1]
    if not np.any(difference):
        return "="
    _, pvalue = wilcoxon(difference)
    if pvalue >= 0.05:
        return "="
    ranks = rankdata(np.abs(difference)) * np.sign(difference)
    return "+" if ranks.sum() < 0 else "-"


def ordering(measured, run, reading, divergence, shown):
    """Mean Spearman correlation with its error, pairs and top-1 in %."""
    value = measured.values[run][divergence][:, reading]
    truth = measured.truth[divergence]
    correlations, pairs, top = [], [], []
    for table in np.unique(measured.tables[shown]):
        found = []
        for draw in np.unique(measured.draws[shown]):
            rows = shown & (measured.tables == table) & (measured.draws == draw)
            ours, true = value[rows], truth[rows]
            if len(true) < 3:
                continue
            found.append(0.0 if np.ptp(ours) == 0 else spearmanr(ours, true)[0])
            i, j = np.triu_indices(len(true), 1)
            agree = np.sign(ours[i] - ours[j]) * np.sign(true[i] - true[j])
            pairs.append(np.mean(0.5 * (agree + 1)))
            best = ours == ours.min()
            top.append(best[true.argmin()] / best.sum())
        if found:
            correlations.append(np.mean(found))
    error = np.std(correlations, ddof=1) / np.sqrt(len(correlations))
    return np.mean(correlations), error, 100 * np.mean(pairs), 100 * np.mean(top)


def taking_part(measured, run, divergence):
    return ~np.isnan(measured.values[run][divergence][:, 0])


def accuracy_lines(measured, binary, shown, rows):
    """Tables F.2 and F.3: accuracy."""
    divergences = DIVERGENCES[binary]
    largest = {d: pooled_maximum(measured, ROWS[binary], d) for d in divergences}
    yield f"{'':<22}" + "".join(f"{TITLES[d]:>29}" for d in divergences)
    columns = f"{'NAE':>10}{'NMAE':>6}{'ratio':>7}{'over':>6}"
    yield f"{'':<22}" + columns * len(divergences) + f"{'ms/1k':>9}{'draws':>7}"
    default = ROWS[binary][DEFAULT]
    for name, (run, reading) in rows.items():
        if run not in measured.values:
            continue
        line = f"{name:<22}"
        for d in divergences:
            counted = shown & taking_part(measured, run, d)
            if not counted.any():
                line += " " * 29
                continue
            sign = " "
            if name != DEFAULT:
                sign = compared(measured, (run, reading), default, d, counted)
            nae, nmae, ratio, over = accuracy(
                measured, run, reading, d, largest[d], counted
            )
            line += f"{nae:9.3f}{sign}{nmae:6.1f}{ratio:7.2f}{over:6.0f}"
        n_draws = np.sum(shown & taking_part(measured, run, divergences[-1]))
        n_draws = n_draws or np.sum(shown & taking_part(measured, run, "l1"))
        yield line + f"{np.nanmedian(measured.spent[run][shown]):9.2f}{n_draws:7}"


def ordering_lines(measured, binary, shown, rows):
    """Tables F.4 and F.5: ordering of a table's models."""
    divergences = DIVERGENCES[binary]
    yield f"{'':<22}" + "".join(f"{TITLES[d]:>28}" for d in divergences)
    columns = f"{'Spearman':>15}{'pairs':>7}{'top-1':>6}"
    yield f"{'':<22}" + columns * len(divergences)
    for name, (run, reading) in rows.items():
        if run not in measured.values:
            continue
        line = f"{name:<22}"
        for d in divergences:
            counted = shown & taking_part(measured, run, d)
            # Of a few models there is nothing to order.
            if not counted.any() or SLOW.get(run, 1) > 1:
                line += " " * 28
                continue
            rho, error, pairs, top = ordering(measured, run, reading, d, counted)
            line += f"{rho:8.2f} ({error:.2f}){pairs:7.0f}{top:6.0f}"
        yield line


def report(binary, measured):
    everywhere = np.ones(len(measured.tables), dtype=bool)
    kinds = "Two classes" if binary else "More classes"
    n_tables = len(np.unique(measured.tables))
    yield (
        f"{kinds}: {n_tables} tables, {len(everywhere) // DRAWS} tasks, "
        f"{DRAWS} draws of labels each\n"
    )
    rows = ROWS[binary] | MIDPOINTS[binary]
    yield "Accuracy"
    yield from accuracy_lines(measured, binary, everywhere, rows)
    held_back = np.isin(measured.tables, tables(binary)[1::2])
    if held_back.any():
        yield "\nAccuracy on every second table: no setting was compared on these"
        some = {name: rows[name] for name in ROWS[binary] if name.startswith("V-ECE")}
        yield from accuracy_lines(measured, binary, held_back, some)
    yield "\nOrder of the models of a table"
    yield from ordering_lines(measured, binary, everywhere, rows)
    if "peer" in measured.values:
        counted = taking_part(measured, "peer", "l1")
        yield (
            f"\nBeside probmetrics' {PEER}, on the {counted.sum()} draws that it was "
            "run on"
        )
        peers = {
            DEFAULT: ("default", VARIATIONAL),
            PEER: ("peer", VARIATIONAL),
            "midpoint (Default)": ("default", MIDPOINT),
            f"midpoint ({PEER})": ("peer", MIDPOINT),
        }
        yield from accuracy_lines(measured, binary, counted, peers)
        yield from ordering_lines(measured, binary, counted, peers)


HEAD = """\
Estimates of calibration errors beside the truth, on semi-synthetic tasks

NAE: absolute error over the largest among the estimators of table E.2 on that draw,
mean over draws. NMAE: sum of absolute errors over the sum of true errors, in %. ratio:
median of estimate / truth. over: share of draws above the truth, in %. Signs behind the
NAE: absolute errors significantly smaller (+) or larger (-) than those of V-ECE
(Default), or neither (=); Wilcoxon's signed-rank test at 5 % on the tasks' means over
draws. ms/1k: processor time, milliseconds per 1,000 rows, median over draws. draws: how
many a row was run on; what is slow sees the first labels of a task only, stacking those
of every third task, and their NMAE compare with others' on the same draws only, as the
signs do. Spearman: rank correlation of estimated and true errors of the eight models of
a table, (standard error over tables). pairs: pairs of models in the true order, in %.
top-1: the best model found, in % (chance: 12.5). Estimates below zero count as zero.
"""


# Figure ------------------------------------------------------------------------------


def draw(measured):
    """Figure F.1: estimate over truth against the truth."""
    import matplotlib.pyplot as plt

    panels = {
        True: ("l1", [DEFAULT, "midpoint (Default)", "V-ECE (TS)", "Uniform-ECE"]),
        False: ("l2", [DEFAULT, "midpoint (Default)", "V-ECE (TS)", "KDE-ECE"]),
    }
    fig, axes = plt.subplots(
        2, 4, figsize=(11, 5.4), layout="constrained", sharex="row", sharey=True
    )
    for row, (binary, (divergence, names)) in zip(axes, panels.items(), strict=True):
        rows = ROWS[binary] | MIDPOINTS[binary]
        truth = measured[binary].truth[divergence]
        for ax, name in zip(row, names, strict=True):
            run, reading = rows[name]
            ratio = measured[binary].values[run][divergence][:, reading] / truth
            known = ~np.isnan(ratio)
            ratio, x = ratio[known], truth[known]
            inside = ratio <= 2.5
            ax.axhline(1, color="0.3", lw=1)
            style = dict(s=8, alpha=0.5, linewidths=0, color="tab:blue")
            ax.scatter(x[inside], ratio[inside], **style)
            above = np.full(np.sum(~inside), 2.5)
            ax.scatter(x[~inside], above, marker="^", clip_on=False, **style)
            ax.set(xscale="log", title=name, ylim=(-0.05, 2.5))
        kinds = "two classes, L1" if binary else "more classes, L2"
        row[0].set_ylabel(f"Estimate / truth\n({kinds})")
        for ax in row:
            ax.set_xlabel("True calibration error")
    return fig


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few tables only")
    parser.add_argument(
        "--save", action="store_true", help=f"write {RESULT.name} and {FIGURE.name}"
    )
    options = parser.parse_args()
    measured, lines = {}, [HEAD]
    with threadpool_limits(1):
        for binary in (True, False):
            measured[binary] = measure(binary, options.quick)
            lines += [*report(binary, measured[binary]), ""]
    text = "\n".join(lines).rstrip() + "\n"
    print(text)
    if options.save:
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(text)
        FIGURE.parent.mkdir(exist_ok=True)
        draw(measured).savefig(FIGURE, dpi=110)


if __name__ == "__main__":
    main()
