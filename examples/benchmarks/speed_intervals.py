"""Speed of the intervals beside scipy.stats.bootstrap around relplot's smECE.

    python examples/benchmarks/speed_intervals.py          # up to 100,000 rows, print
    python examples/benchmarks/speed_intervals.py --full   # and a million
    python examples/benchmarks/speed_intervals.py --save   # and keep in results/

Times are the process's own on one thread, which other processes on the machine do not
add to, and wall-clock times on two threads. SciPy and relplot are timed with a few
replicates, and their time is multiplied. Needs relplot. Takes half a minute,
with --full two.
"""

import importlib.metadata
import os
import time

import numpy as np
import relplot
from _output import publish
from scipy.stats import bootstrap

from skcal import (
    binned_ece,
    bootstrap_interval,
    calibrated_reference,
    compare_calibration,
    smooth_ece,
)

N_RESAMPLES, FEW = 1_000, 4


def sample(n, calibrated, seed=0):
    rng = np.random.default_rng(seed)
    forecast = rng.uniform(size=n)
    frequency = forecast if calibrated else 0.1 + 0.8 * forecast
    return (rng.uniform(size=n) < frequency).astype(np.int64), forecast


def seconds(function, clock=time.process_time):
    start = clock()
    function()
    return clock() - start


def best(function, clock=time.process_time, calls=3):
    return min(seconds(function, clock) for _ in range(calls))


def scipy_seconds(outcome, forecast):
    """Time of 1,000 replicates by SciPy around relplot, from a few."""
    outcome = outcome.astype(np.float64)

    def run(n_resamples):
        bootstrap(
            (forecast, outcome),
            relplot.smECE,
            paired=True,
            vectorized=False,
            n_resamples=n_resamples,
            method="basic",
            rng=np.random.default_rng(0),
        )

    run(2)
    return seconds(lambda: run(FEW)) / FEW * N_RESAMPLES


def timed(name, kind, n, task):
    """Times of a task of a number of jobs, and the line of them."""
    one = best(lambda: task(1))
    wall = best(lambda: task(2), time.perf_counter)
    return one, f"{name:<22}{kind:<14}{n:>10,}{one:>11.2f} s{wall:>10.2f} s"


def lines_of(n, calibrated):
    y, f = sample(n, calibrated)
    kind = "calibrated" if calibrated else "overconfident"

    def smooth(jobs):
        return bootstrap_interval(smooth_ece, y, f, random_state=0, n_jobs=jobs)

    def binned(jobs):
        return bootstrap_interval(binned_ece, y, f, random_state=0, n_jobs=jobs)

    def reference(jobs):
        return calibrated_reference(smooth_ece, f, random_state=0, n_jobs=jobs)

    theirs = scipy_seconds(y, f)
    one, text = timed("bootstrap_interval", kind, n, smooth)
    yield f"{text}{theirs:>15.0f} s{theirs / one:>7.0f} x"
    yield timed("  of binned_ece", kind, n, binned)[1]
    yield timed("calibrated_reference", kind, n, reference)[1]


def report(full):
    names = ("numpy", "scipy", "relplot")
    yield "With " + ", ".join(f"{n} {importlib.metadata.version(n)}" for n in names)
    yield f"{N_RESAMPLES:,} replicates, the check of the input and the cells included\n"
    yield (
        f"{'':<22}{'forecasts':<14}{'rows':>10}{'one thread':>13}{'two, wall':>12}"
        f"{'SciPy, relplot':>17}{'ratio':>9}"
    )
    for n in (1_000, 100_000, 1_000_000)[: 3 if full else 2]:
        for calibrated in (True, False):
            yield from lines_of(n, calibrated)
    y, f = sample(100_000, False)
    one = seconds(
        lambda: compare_calibration(smooth_ece, y, f, f**1.1, n_resamples=200)
    )
    yield f"\ncompare_calibration, 100,000 rows, 200 replicates: {one:.1f} s"
    load = os.getloadavg()[0] / os.cpu_count()
    yield f"Load of the machine at the end: {load:.1f} per core"


if __name__ == "__main__":
    publish("speed_intervals", __doc__, report, full="a million rows too")
