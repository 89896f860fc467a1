"""Which recalibrator finds the largest calibration error of real models' forecasts.

    python examples/benchmarks/largest_variational.py          # five tables, print
    python examples/benchmarks/largest_variational.py --full   # 37 tables
    python examples/benchmarks/largest_variational.py --save   # and keep results

Table F.1 and figure 2 of Berta et al., "V-ECE: Estimating General Expected Calibration
Errors" (2026): on real labels the truth is unknown, but each V-ECE is a lower bound in
expectation, so the largest one is the tightest. Tables and models are those of
`_forecasts.py`. Takes two minutes, with --full a quarter of an hour, and seconds once
its values are kept (see `_estimators.py`).
"""

import hashlib
import inspect
import sys
import time

import numpy as np
from _estimators import DIVERGENCES, STYLES, TITLES, Kept, runs
from _forecasts import BINARY, MODELS, MULTICLASS, QUICK, forecasts
from _output import publish
from _semisynthetic import MAX_TEST, Task
from scipy.stats import rankdata

# Recalibrators by the name of their run.
NAMES = {
    "default": "Boosted (default)",
    "spline": "Spline",
    "beta": "Beta",
    "quadratic": "Quadratic",
    "matrix": "Structured matrix",
    "isotonic": "Isotonic",
    "uniform": "Uniform bins",
    "kernel": "Kernel",
    "temperature": "Temperature",
}


def task(table, model, binary):
    """Forecasts of a model and the real labels, of at most so many rows."""
    parts = forecasts(table, model)
    n_rows = min(len(parts["y_test"]), MAX_TEST[binary])
    rng = np.random.default_rng(0)
    rows = np.sort(rng.choice(len(parts["y_test"]), n_rows, replace=False))
    proba = parts["proba_test"][rows]
    proba = proba / proba.sum(axis=1, keepdims=True)
    source = (inspect.getsource(task), MAX_TEST, {**BINARY, **MULTICLASS}[table])
    return Task(
        table=table,
        model=model,
        generator="real labels",
        proba=proba[:, 1] if binary else proba,
        truth=None,
        labels=parts["y_test"][rows][np.newaxis],
        key=hashlib.sha256(repr(source).encode()).hexdigest()[:8],
    )


def measure(binary, full, names):
    """V-ECE by divergence, recalibrators by tasks; their milliseconds; the tables."""
    tables = [
        name for name in (BINARY if binary else MULTICLASS) if full or name in QUICK
    ]
    tasks = [task(table, model, binary) for table in tables for model in MODELS]
    values = {d: np.empty((len(names), len(tasks))) for d in DIVERGENCES[binary]}
    spent = np.empty((len(names), len(tasks)))
    everything = runs(binary)
    for i, name in enumerate(names):
        kept, start = Kept(everything[name]), time.monotonic()
        for j, one in enumerate(tasks):
            found, spent[i, j] = kept.value(one, 0)
            for divergence, readings in (found or {}).items():
                values[divergence][i, j] = readings[0]
        kept.save()
        print(f"{name}: {time.monotonic() - start:.0f} s", file=sys.stderr)
    return values, spent, np.array([one.table for one in tasks])


def ranked(values, tables):
    """Average rank of each recalibrator, its standard error over tables, and wins.

    A win is the largest estimate of a task, in % of the tasks; ties share it.
    """
    ranks = rankdata(-values, axis=0)
    wins = values == values.max(axis=0)
    wins = wins / wins.sum(axis=0)
    groups = np.unique(tables)
    by_table = np.stack([ranks[:, tables == name].mean(axis=1) for name in groups])
    error = by_table.std(axis=0, ddof=1) / np.sqrt(len(groups))
    return ranks.mean(axis=1), error, 100 * wins.mean(axis=1)


def tables_of(measured, binary):
    values, spent, tables = measured
    divergences = DIVERGENCES[binary]
    n = len(divergences)
    yield (
        f"{'':<20}{'Average rank':>{16 * n}}{'Largest (%)':>{9 * n + 4}}"
        f"{'Below zero (%)':>{9 * n}}"
    )
    head = "".join(f"{TITLES[d]:>16}" for d in divergences) + " " * 4
    head += "".join(f"{TITLES[d]:>9}" for d in divergences) * 2
    yield f"{'':<20}{head}{'ms/1k':>9}"
    found = [ranked(values[d], tables) for d in divergences]
    for i, name in enumerate(measured_names(binary)):
        line = f"{NAMES[name]:<20}"
        line += "".join(f"{rank[i]:9.2f} ({error[i]:.2f})" for rank, error, _ in found)
        line += " " * 4 + "".join(f"{wins[i]:9.0f}" for _, _, wins in found)
        below = (100 * np.mean(values[d][i] < 0) for d in divergences)
        line += "".join(f"{share:9.0f}" for share in below)
        yield f"{line}{np.median(spent[i]):9.2f}"


def measured_names(binary):
    available = runs(binary)
    return [name for name in NAMES if name in available]


HEAD = """\
Recalibrators in V-ECE, on real labels

Average rank: of the estimate among the recalibrators, 1 for the largest, over tasks,
(standard error over tables). Largest: share of tasks on which a recalibrator finds the
largest error, in %. Below zero: share of its estimates, in %. ms/1k: processor time of
the five fits, milliseconds per 1,000 rows, median over tasks."""


def report(full):
    yield HEAD
    measured = {}
    for binary in (True, False):
        names = measured_names(binary)
        measured[binary] = measure(binary, full, names)
        tables = measured[binary][-1]
        n_tables = len(np.unique(tables))
        kinds = "Two classes" if binary else "More classes"
        yield f"\n{kinds}: {n_tables} tables, {len(tables)} tasks"
        yield from tables_of(measured[binary], binary)
    return measured


def draw(measured):
    """Figure 2: average ranks."""
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for ax, (binary, (values, _, tables)) in zip(axes, measured.items(), strict=True):
        names = measured_names(binary)
        at = np.arange(len(names), 0, -1)
        for divergence, shift in zip(DIVERGENCES[binary], (-0.2, 0.2, 0), strict=False):
            rank, error, _ = ranked(values[divergence], tables)
            ax.errorbar(
                rank,
                at + shift,
                xerr=error,
                ms=5,
                lw=1,
                ls="none",
                label=TITLES[divergence],
                **STYLES[divergence],
            )
        ax.axvline((len(names) + 1) / 2, color="0.5", lw=1, ls=":")
        ax.set_yticks(at, [NAMES[name] for name in names])
        ax.set_title("Two classes" if binary else "More classes")
        ax.set_xlabel("Average rank of the estimate, 1 is the largest")
        ax.grid(axis="y", color="0.92")
        ax.set_axisbelow(True)
    axes[1].legend(title="Calibration error", fontsize="small")
    return fig


if __name__ == "__main__":
    publish(
        "largest_variational", __doc__, report, full="all tables, not five", draw=draw
    )
