"""How near estimates come to the true calibration error of real models' forecasts.

    python examples/benchmarks/accuracy_variational.py          # four tables, print
    python examples/benchmarks/accuracy_variational.py --full   # 29 tables
    python examples/benchmarks/accuracy_variational.py --save   # and keep results

The columns are those of tables F.2 to F.5 of Berta et al., "V-ECE: Estimating General
Expected Calibration Errors" (2026), the rows those of its table E.2 and the midpoint
readings, the pictures its figures F.1 and F.2; the tasks come from `_semisynthetic.py`.
probmetrics' WS-CatBoost takes part where it can be imported. Takes two minutes, with
--full half an hour, and a few seconds once its values are kept (see `_estimators.py`).
"""

import sys
import time
import warnings
from typing import NamedTuple

import numpy as np
from _estimators import DIVERGENCES, PEER, STYLES, TITLES, Kept, runs
from _output import publish
from _semisynthetic import DRAWS, tables, tasks
from scipy.stats import rankdata, spearmanr, wilcoxon

# Runs that take part, for time, on the first draw of labels of every so many-th task.
SLOW = {"kernel": 1, "kernel loo": 1, "spline": 1, "peer": 1, "stacked": 3}
DEFAULT = "V-ECE (Default)"


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
            print(f"{name}: {time.monotonic() - start:.0f} s", file=sys.stderr)
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


def tables_of(binary, measured):
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


# Figures -----------------------------------------------------------------------------


def ratios(measured):
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


def orders(measured):
    """Figure F.2: how well estimates order the models of a table."""
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(
        2,
        2,
        figsize=(10, 8.6),
        layout="constrained",
        sharex="col",
        height_ratios=[len(BINARY_ROWS), len(MULTICLASS_ROWS)],
    )
    for row, binary in zip(axes, (True, False), strict=True):
        kept = measured[binary]
        names = [
            name
            for name, (run, _) in ROWS[binary].items()
            if run in kept.values and SLOW.get(run, 1) == 1
        ]
        for divergence, shift in zip(DIVERGENCES[binary], (-0.2, 0.2, 0), strict=False):
            at, found = [], []
            for i, name in enumerate(names):
                run, reading = ROWS[binary][name]
                counted = taking_part(kept, run, divergence)
                if counted.any():
                    at.append(len(names) - i + shift)
                    found.append(ordering(kept, run, reading, divergence, counted))
            rho, error, pairs, _ = np.transpose(found)
            style = dict(STYLES[divergence], ms=5, ls="none")
            row[0].errorbar(
                rho, at, xerr=error, label=TITLES[divergence], lw=1, **style
            )
            row[1].plot(pairs, at, **style)
        row[0].set_yticks(np.arange(len(names), 0, -1), names)
        row[1].set_yticks(np.arange(len(names), 0, -1), [])
        row[0].legend(title="Calibration error", loc="upper left", fontsize="small")
        kinds = "Two classes" if binary else "More classes"
        row[0].set_title(f"{kinds}: rank correlation with the truth", fontsize=10)
        row[1].set_title(f"{kinds}: pairs in the true order", fontsize=10)
        for ax in row:
            ax.grid(axis="y", color="0.92")
            ax.set_axisbelow(True)
    axes[-1, 0].set_xlabel("Spearman correlation, +- one standard error over tables")
    axes[-1, 1].set_xlabel("%")
    return fig


def report(full):
    yield HEAD
    measured = {}
    for binary in (True, False):
        measured[binary] = measure(binary, quick=not full)
        yield from tables_of(binary, measured[binary])
        yield ""
    return measured


if __name__ == "__main__":
    publish(
        "accuracy_variational",
        __doc__,
        report,
        full="all tables, not four",
        draw=lambda measured: {"": ratios(measured), "ordering": orders(measured)},
    )
