"""Time and memory of V-ECE, beside probmetrics' recalibrator in the same set-up.

    python examples/benchmarks/speed_variational.py           # print
    python examples/benchmarks/speed_variational.py --save    # and keep in results/
    python examples/benchmarks/speed_variational.py --quick   # smaller sizes

WS-CatBoost is the recalibrator of Berta et al. (2026); it is given to the same 5-fold
estimate as ours, runs alternate, and both may use all cores: it forks processes, ours
runs its folds in threads. A busy machine adds to wall-clock times, so what counts are
the medians of the paired ratios. The first part needs probmetrics.
"""

import argparse
import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.special import softmax
from threadpoolctl import threadpool_limits

from skcal import (
    BetaCalibration,
    IsotonicCalibration,
    MatrixScaling,
    QuadraticScaling,
    TemperatureScaling,
    variational_ece,
)

PEER = "WS-CatBoost"
RESULT = Path(__file__).parent / "results" / "speed_variational.txt"


def sample(n, n_classes=2, seed=0):
    """Moderately overconfident forecasts, and outcomes."""
    rng = np.random.default_rng(seed)
    if n_classes == 2:
        forecast = rng.beta(0.7, 0.7, size=n)
        return (rng.uniform(size=n) < 0.1 + 0.8 * forecast).astype(int), forecast
    z = 1.5 * rng.normal(size=(n, n_classes))
    below = softmax(z / 1.5, axis=1).cumsum(axis=1)[:, :-1]
    return (rng.uniform(size=(n, 1)) > below).sum(axis=1), softmax(z, axis=1)


def seconds(function):
    """Wall-clock and processor time, that of processes which it ran included."""
    start, processor = time.perf_counter(), sum(os.times()[:4])
    function()
    return time.perf_counter() - start, sum(os.times()[:4]) - processor


def race(ours, theirs, rounds):
    """Median times of both, (2, 2), and medians of their paired ratios, in turns."""
    ours(), theirs()
    pairs = np.array([(seconds(ours), seconds(theirs)) for _ in range(rounds)])
    return np.median(pairs, axis=0), np.median(pairs[:, 1] / pairs[:, 0], axis=0)


def peer_lines(quick):
    try:
        from probmetrics.classifiers import WS_CatboostClassifier
    except ImportError:
        yield "probmetrics is not installed: no comparison"
        return
    cases = [(2, 1_000), (2, 4_000), (2, 20_000), (5, 5_000)]
    if quick:
        cases = cases[:1]
    yield f"{'':<15}{'wall-clock':>24}{'processor':>34}"
    columns = f"{'default':>10}{PEER:>14}{'':10}"
    yield f"{'classes':>7}{'rows':>8}" + 2 * columns
    for n_classes, n in cases:
        y, p = sample(n, n_classes)
        times, ratio = race(
            lambda: variational_ece(y, p, n_jobs=-1),  # noqa: B023
            lambda: variational_ece(y, p, recalibrator=WS_CatboostClassifier()),  # noqa: B023
            rounds=3 if quick else 5,
        )
        line = f"{n_classes:>7}{n:>8,}"
        for (ours, theirs), more in zip(times.T, ratio, strict=True):
            line += f"{ours:>8.2f} s{theirs:>12.2f} s{f'{more:.1f} x':>10}"
        yield line


RECALIBRATORS = {
    "default": None,
    "quadratic": QuadraticScaling(),
    "beta": BetaCalibration(),
    "temperature": TemperatureScaling(),
    "isotonic": IsotonicCalibration(),
    "matrix": MatrixScaling(),
}


def own_lines(quick):
    sizes = (1_000, 10_000, 100_000)
    yield f"{'':<23}" + "".join(f"{n:>10,}" for n in sizes)
    for n_classes, names in (
        (2, ("default", "quadratic", "beta", "temperature", "isotonic")),
        (5, ("default", "matrix", "temperature")),
    ):
        for name in names:
            line = f"{n_classes} classes, {name:<12}"
            for n in sizes[: 2 if quick or n_classes > 2 else 3]:
                y, p = sample(n, n_classes)
                recalibrator = RECALIBRATORS[name]
                spent = []
                for _ in range(5 if n <= 10_000 else 2):
                    start = time.process_time()
                    variational_ece(y, p, recalibrator=recalibrator)
                    spent.append(time.process_time() - start)
                line += f"{1e6 * np.median(spent) / n:>10.2f}"
            yield line


def large_lines(quick):
    n = 100_000 if quick else 1_000_000
    yield f"{'':<14}{'wall-clock':>12}{'processor':>12}{'peak memory':>15}"
    for name in ("beta", "quadratic", "isotonic", "default"):
        found = subprocess.run(
            [sys.executable, "-W", "ignore", __file__, "--large", name, str(n)],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        yield f"{name:<14}{found[0]:>10} s{found[1]:>10} s{found[2]:>12} MB"


def large(name, n):
    """One run in a process of its own: its time, and memory with the input's."""
    y, p = sample(n)
    start, processor = time.perf_counter(), time.process_time()
    variational_ece(y, p, recalibrator=RECALIBRATORS[name])
    wall = time.perf_counter() - start
    spent = time.process_time() - processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{wall:.1f} {spent:.1f} {peak:.0f}")


def report(quick):
    cores = len(os.sched_getaffinity(0))
    yield f"5 folds, {cores} cores: medians of runs in turns and of their ratios\n"
    yield from peer_lines(quick)
    yield "\nProcessor time, ms per 1,000 rows, one thread, by number of rows\n"
    with threadpool_limits(1):
        yield from own_lines(quick)
    yield f"\n{100_000 if quick else 1_000_000:,} rows of two classes, one thread\n"
    yield from large_lines(quick)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--save", action="store_true", help=f"write {RESULT.name}")
    parser.add_argument("--large", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.large:
        large(options.large[0], int(options.large[1]))
        return
    kept = []
    warnings.simplefilter("ignore")
    for line in report(options.quick):
        print(line, flush=True)
        kept.append(line + "\n")
    if options.save:
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text("".join(kept))


if __name__ == "__main__":
    main()
