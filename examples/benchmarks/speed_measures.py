"""Speed, memory and accuracy of the measures beside their peers.

    python examples/benchmarks/speed_measures.py           # print
    python examples/benchmarks/speed_measures.py --save    # and keep in results/

Every comparison alternates the two contenders in one process, on the same data and one
thread. Times are the process's own, which other processes on the machine do not add to;
they still share its caches, so what counts is the median of the paired ratios. Needs
relplot; netcal, which needs PyTorch, is compared where it is installed. Takes about a
minute.
"""

import importlib.metadata
import importlib.util
import tracemalloc

import numpy as np
import relplot
from _output import publish
from _samples import two_classes
from _timing import race, shown
from scipy.integrate import trapezoid
from scipy.optimize import brentq
from sklearn.calibration import calibration_curve

from skcal import binned_ece, rank_ece, smooth_ece
from skcal._predictions import check_predictions

# Time ---------------------------------------------------------------------------------


def speed_lines():
    yield f"{'':<14}{'rows':>12}{'skcal':>10}  {'beside':<29}{'theirs':>10}"
    for n in (1_000, 10_000, 100_000, 1_000_000):
        y, p = two_classes(n)
        y_float = y.astype(np.float64)
        yield speed_line(
            "smooth_ece",
            n,
            "relplot.smECE",
            lambda: smooth_ece(y, p),  # noqa: B023
            lambda: relplot.smECE(p, y_float),  # noqa: B023
        )
    y, p = two_classes(10_000_000)
    yield speed_line(
        "smooth_ece", p.size, "np.sort", lambda: smooth_ece(y, p), lambda: np.sort(p)
    )
    for n in (1_000_000, 10_000_000):
        y, p = two_classes(n)
        yield speed_line(
            "rank_ece",
            n,
            "np.argsort",
            lambda: rank_ece(y, p),  # noqa: B023
            lambda: np.argsort(p),  # noqa: B023
        )
    for n in (1_000, 1_000_000):
        y, p = two_classes(n)
        yield speed_line(
            "binned_ece",
            n,
            "calibration_curve (sklearn)",
            lambda: binned_ece(y, p),  # noqa: B023
            lambda: calibration_curve(y, p, n_bins=15),  # noqa: B023
        )
    yield speed_line(
        "  equal mass",
        n,
        "calibration_curve (sklearn)",
        lambda: binned_ece(y, p, strategy="quantile"),
        lambda: calibration_curve(y, p, n_bins=15, strategy="quantile"),
    )
    if importlib.util.find_spec("netcal"):
        from netcal.metrics import ECE

        for n in (1_000, 1_000_000):
            y, p = two_classes(n)
            yield speed_line(
                "binned_ece",
                n,
                "ECE (netcal)",
                lambda: binned_ece(y, p),  # noqa: B023
                lambda: ECE(15).measure(p, y),  # noqa: B023
            )


def speed_line(name, n, peer, ours, theirs):
    our_time, their_time, ratio = race(ours, theirs)
    relation = f"{ratio:.1f} x faster" if ratio >= 1 else f"{1 / ratio:.2f} x the time"
    return (
        f"{name:<14}{n:>12,}{shown(our_time):>10}  {peer:<29}{shown(their_time):>10}"
        f"   {relation}"
    )


# Validation ---------------------------------------------------------------------------


def validation_lines():
    y, p = two_classes(1_000)
    for measure in (smooth_ece, rank_ece, binned_ece):
        whole, check, ratio = race(
            lambda: measure(y, p),  # noqa: B023
            lambda: check_predictions(y, p),
            budget=2.0,
        )
        yield (
            f"{measure.__name__:<14}{shown(whole):>10} a call, {shown(check)} of it "
            f"the check of the input: {100 * ratio:.0f} %"
        )


# Memory -------------------------------------------------------------------------------


def memory_lines():
    n = 10_000_000
    y, p = two_classes(n)
    inputs = {
        "float64": (y, p),
        "float32": (y, p.astype(np.float32)),
        "bool labels": (y.astype(bool), p),
        "every second row of a larger array": (y, np.repeat(p, 2)[::2]),
        "second of two columns": (y, np.column_stack((1 - p, p))),
    }
    for name, arrays in inputs.items():
        tracemalloc.start()
        smooth_ece(*arrays)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        yield f"{name:<38}{peak / 2**20:6.1f} MB"


# Accuracy -----------------------------------------------------------------------------


def by_quadrature(y, p, n_nodes=20_001):
    """smECE from its definition: a dense grid, every image of every forecast."""
    value, where = np.unique(p, return_inverse=True)
    residual = np.bincount(where, weights=y - p) / p.size
    nodes = np.linspace(0, 1, n_nodes)

    def error_at(sigma):
        reach = int(np.ceil(4 * sigma))  # eight sigmas, in units of two
        smoothed = np.zeros(n_nodes)
        for shift in range(-2 * reach - 2, 2 * reach + 3, 2):
            for image in (shift + value, shift - value):
                near = (image > -8 * sigma) & (image < 1 + 8 * sigma)
                for centre, mass in zip(image[near], residual[near], strict=True):
                    first, last = np.searchsorted(
                        nodes, (centre - 8 * sigma, centre + 8 * sigma)
                    )
                    z = (nodes[first:last] - centre) / sigma
                    smoothed[first:last] += mass * np.exp(-0.5 * z * z)
        smoothed /= sigma * np.sqrt(2 * np.pi)
        return trapezoid(np.abs(smoothed), nodes)

    return brentq(lambda sigma: error_at(sigma) - sigma, 1e-3, 1, xtol=1e-9)


def accuracy_samples():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=500)
    yield "calibrated, uniform forecasts", rng.uniform(size=500) < p, p
    yield "overconfident, uniform forecasts", rng.uniform(size=500) < 0.25 + 0.5 * p, p
    p = rng.beta(0.2, 0.8, size=500)
    yield "calibrated, most forecasts near 0", rng.uniform(size=500) < p, p
    yield "all too high, most forecasts near 0", rng.uniform(size=500) < 0.5 * p, p
    p = rng.beta(0.1, 0.4, size=500)
    yield "no event, most forecasts near 0", np.zeros(500), p
    p = 1 - 0.02 * rng.uniform(size=500)
    yield "confidences above 0.98, right 4 of 5", rng.uniform(size=500) < 0.8, p
    p = np.round(rng.uniform(size=500), 1)
    yield "multiples of 0.1", rng.uniform(size=500) < p**2, p


def accuracy_lines():
    yield (
        f"{'500 rows':<38}{'quadrature':>11}{'skcal':>11}{'off by':>9}"
        f"{'relplot':>11}{'off by':>9}"
    )
    for name, y, p in accuracy_samples():
        y = y.astype(np.float64)
        truth = by_quadrature(y, p)
        ours, theirs = smooth_ece(y, p), relplot.smECE(p, y)
        yield (
            f"{name:<38}{truth:11.6f}{ours:11.6f}{off(ours, truth):>9}"
            f"{theirs:11.6f}{off(theirs, truth):>9}"
        )


def off(value, truth):
    relative = value / truth - 1
    return f"{relative:.0e}" if abs(relative) < 5e-4 else f"{100 * relative:+.1f} %"


def report():
    names = ["numpy", "scipy", "scikit-learn", "relplot"]
    if importlib.util.find_spec("netcal"):
        names.append("netcal")
    yield "With " + ", ".join(f"{n} {importlib.metadata.version(n)}" for n in names)
    yield "\nProcessor time: medians of runs in turns, median ratio of the pairs\n"
    yield from speed_lines()
    yield "\nChecking the input, 1,000 rows\n"
    yield from validation_lines()
    yield "\nPeak memory of smooth_ece beyond the input, 10,000,000 rows\n"
    yield from memory_lines()
    yield "\nsmECE against quadrature of its definition\n"
    yield from accuracy_lines()


if __name__ == "__main__":
    publish("speed_measures", __doc__, report)
