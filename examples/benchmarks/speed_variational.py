"""Time and memory of V-ECE, beside probmetrics' recalibrator in the same set-up.

    python examples/benchmarks/speed_variational.py          # print
    python examples/benchmarks/speed_variational.py --full   # the larger sizes too
    python examples/benchmarks/speed_variational.py --save   # and keep in results/

WS-CatBoost is the recalibrator of Berta et al. (2026); it is given to the same 5-fold
estimate as ours, runs alternate, and both may use all cores: it forks processes, ours
runs its folds in threads. A busy machine adds to wall-clock times, so what counts are
the medians of the paired ratios. The first part needs probmetrics.
"""

import importlib.util
import os
import resource
import subprocess
import sys
import time
import warnings

import numpy as np
from _output import publish
from _samples import many_classes, two_classes

from skcal import (
    BetaCalibration,
    IsotonicCalibration,
    MatrixScaling,
    QuadraticScaling,
    TemperatureScaling,
    variational_ece,
)

PEER = "WS-CatBoost"


def sample(n, n_classes=2):
    return two_classes(n) if n_classes == 2 else many_classes(n, n_classes)


def fresh(name, n_classes, n):
    """Wall-clock and processor time and peak memory in a process of its own.

    WS-CatBoost forks processes, which may wait for ever where there are threads.
    """
    command = [sys.executable, "-W", "ignore", __file__, "--one", name]
    for _ in range(3):
        try:
            found = subprocess.run(
                [*command, str(n_classes), str(n)],
                check=True,
                capture_output=True,
                text=True,
                timeout=600,
            )
        except subprocess.TimeoutExpired:
            continue
        return [float(number) for number in found.stdout.split()]
    raise RuntimeError(f"{name} hangs.")


def one(name, n_classes, n):
    """What `fresh` runs: one estimate, after a small one that loads all libraries."""
    if name == PEER:
        from probmetrics.classifiers import WS_CatboostClassifier

        recalibrator = WS_CatboostClassifier()
    else:
        recalibrator = RECALIBRATORS[name]
    labels = np.arange(n_classes)
    y, p = sample(300, n_classes)
    variational_ece(y, p, recalibrator=recalibrator, labels=labels)
    y, p = sample(n, n_classes)
    start, processor = time.perf_counter(), sum(os.times()[:4])
    # The peer has its own way to use all cores.
    n_jobs = None if name == PEER or n > 100_000 else -1
    variational_ece(y, p, recalibrator=recalibrator, labels=labels, n_jobs=n_jobs)
    wall = time.perf_counter() - start
    spent = sum(os.times()[:4]) - processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(wall, spent, peak)


def peer_lines(full):
    if not importlib.util.find_spec("probmetrics"):
        yield "probmetrics is not installed: no comparison"
        return
    cases = [(2, 1_000), (2, 4_000), (2, 20_000), (5, 5_000)]
    if not full:
        cases = cases[:1]
    yield f"{'':<15}{'wall-clock':>24}{'processor':>34}"
    columns = f"{'default':>10}{PEER:>14}{'':10}"
    yield f"{'classes':>7}{'rows':>8}" + 2 * columns
    for n_classes, n in cases:
        pairs = np.array(
            [
                [fresh(name, n_classes, n)[:2] for name in ("default", PEER)]
                for _ in range(3 if full else 1)
            ]
        )
        ratios = np.median(pairs[:, 1] / pairs[:, 0], axis=0)
        times = np.median(pairs, axis=0)
        line = f"{n_classes:>7}{n:>8,}"
        for (ours, theirs), ratio in zip(times.T, ratios, strict=True):
            line += f"{ours:>8.2f} s{theirs:>12.2f} s{f'{ratio:.1f} x':>10}"
        yield line


RECALIBRATORS = {
    "default": None,
    "quadratic": QuadraticScaling(),
    "beta": BetaCalibration(),
    "temperature": TemperatureScaling(),
    "isotonic": IsotonicCalibration(),
    "matrix": MatrixScaling(),
}


def own_lines(full):
    sizes = (1_000, 10_000, 100_000)
    yield f"{'':<23}" + "".join(f"{n:>10,}" for n in sizes)
    for n_classes, names in (
        (2, ("default", "quadratic", "beta", "temperature", "isotonic")),
        (5, ("default", "matrix", "temperature")),
    ):
        for name in names:
            line = f"{n_classes} classes, {name:<12}"
            for n in sizes[: 3 if full and n_classes == 2 else 2]:
                y, p = sample(n, n_classes)
                recalibrator = RECALIBRATORS[name]
                spent = []
                for _ in range(5 if n <= 10_000 else 2):
                    start = time.process_time()
                    variational_ece(y, p, recalibrator=recalibrator)
                    spent.append(time.process_time() - start)
                line += f"{1e6 * np.median(spent) / n:>10.2f}"
            yield line


def large_lines(full):
    n = 1_000_000 if full else 100_000
    yield f"{'':<14}{'wall-clock':>12}{'processor':>12}{'peak memory':>15}"
    for name in ("beta", "quadratic", "isotonic", "default"):
        wall, spent, peak = fresh(name, 2, n)
        yield f"{name:<14}{wall:>10.1f} s{spent:>10.1f} s{peak:>12.0f} MB"


def report(full):
    cores = len(os.sched_getaffinity(0))
    yield f"5 folds, {cores} cores: medians of runs in turns and of their ratios\n"
    yield from peer_lines(full)
    yield "\nProcessor time, ms per 1,000 rows, one thread, by number of rows\n"
    yield from own_lines(full)
    yield f"\n{1_000_000 if full else 100_000:,} rows of two classes, one thread\n"
    yield from large_lines(full)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        warnings.simplefilter("ignore")
        publish("speed_variational", __doc__, report, full="the larger sizes too")
