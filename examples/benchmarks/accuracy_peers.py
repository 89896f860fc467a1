"""Calibration errors of known value, as each package that has the measure gives them.

    python examples/benchmarks/accuracy_peers.py          # print
    python examples/benchmarks/accuracy_peers.py --save   # and keep in results/

Forecasts whose errors follow from their definition: by a closed form, by sums over bins
written out, by all orders of a few rows, or, for smECE, by quadrature on a dense grid.
Only measures of the same definition are compared; where a package gives the square root
of what others do, its square is shown. Needs relplot; uncertainty-calibration, netcal
and probmetrics are compared where they are installed. Takes half a minute.
"""

import importlib
import importlib.util
from fractions import Fraction
from itertools import permutations

import numpy as np
import relplot
from _growth import quiet, version_line
from _output import publish
from scipy.integrate import trapezoid
from speed_measures import by_quadrature

from skcal import binned_ece, rank_ece, smooth_ece

N_BINS = 15
BANDWIDTH = 0.1
PEERS = {
    "relplot": "relplot",
    "calibration": "uncertainty-calibration",
    "netcal": "netcal",
    "probmetrics": "probmetrics",
}
NO_WEIGHTS = "no weights"


# Forecasts ----------------------------------------------------------------------------


def outcomes(*parts):
    """Rows of (forecast, number, number that happen)."""
    p = np.concatenate([np.full(n, f) for f, n, _ in parts])
    y = np.concatenate([np.arange(n) < k for _, n, k in parts])
    return y.astype(np.int64), p


def cases():
    """Name, outcomes, forecasts, weights."""
    yield "constant 0.3, 6 of 10 happen", *outcomes((0.3, 1_000, 600)), None
    yield "0.2 and 0.8", *outcomes((0.2, 600, 180), (0.8, 400, 240)), None
    p = (np.arange(900) + 0.5) / 900
    yield "spread evenly, none happens", np.zeros(900, dtype=np.int64), p, None
    yield "spread evenly, all happen", np.ones(900, dtype=np.int64), p, None
    low = p**4
    yield "mostly near 0, none happens", np.zeros(900, dtype=np.int64), low, None
    rng = np.random.default_rng(0)
    y = (rng.uniform(size=900) < 0.25 + 0.5 * p).astype(np.int64)
    yield "spread evenly, overconfident", y, p, None
    yield "0 and 1, one in ten wrong", *outcomes((0.0, 500, 50), (1.0, 500, 450)), None
    yield "0 and 1, all right", *outcomes((0.0, 500, 0), (1.0, 500, 500)), None
    tenths = [(k / 10, 100, 10 * k * k // 10) for k in range(11)]
    yield "multiples of 0.1", *outcomes(*tenths), None
    yield "eight rows, two values", *outcomes((0.3, 4, 3), (0.6, 4, 1)), None
    yield "one row", *outcomes((0.3, 1, 1)), None
    y, p = outcomes((0.2, 10, 3), (0.8, 10, 6))
    yield "0.2 and 0.8, rows of weight 1 and 3", y, p, np.where(np.arange(20) % 2, 3, 1)


def three_classes():
    """The same vector for all; of 1,000 rows, 400, 300 and 300 are of each class."""
    return np.repeat([0, 1, 2], [400, 300, 300]), np.tile([0.5, 0.3, 0.2], (1_000, 1))


# Truth --------------------------------------------------------------------------------


def bins_of(p):
    """Equal widths; no case has two values that an edge could bring together."""
    return [
        min(int(Fraction(f).limit_denominator(10**6) * N_BINS), N_BINS - 1) for f in p
    ]


def equal_mass(p):
    """As many rows in each, in the order of the forecasts, which differ."""
    return np.argsort(np.argsort(p)) * N_BINS // p.size


def bin_table(y, p, bins):
    """Of each bin that has rows: their share, gap, frequency and number."""
    for b in sorted(set(bins)):
        inside = np.asarray(bins) == b
        frequency = y[inside].mean()
        gap = frequency - p[inside].mean()
        yield inside.mean(), gap, frequency, inside.sum()


def binned(y, p, bins):
    return sum(share * abs(gap) for share, gap, *_ in bin_table(y, p, bins))


def squared(y, p, bins):
    return sum(share * gap**2 for share, gap, *_ in bin_table(y, p, bins))


def debiased(y, p, bins):
    return sum(
        share * (gap**2 - frequency * (1 - frequency) / (n - 1))
        for share, gap, frequency, n in bin_table(y, p, bins)
        if n > 1
    )


def maximum(y, p, bins):
    return max(abs(gap) for _, gap, *_ in bin_table(y, p, bins))


def average(y, p, bins):
    return np.mean([abs(gap) for _, gap, *_ in bin_table(y, p, bins)])


def smooth(y, p):
    residual = y - p
    if np.unique(p).size == 1 or (residual >= 0).all() or (residual <= 0).all():
        # The kernel has mass one, and nothing cancels at any bandwidth.
        return abs(residual.mean())
    return 0.0 if not residual.any() else by_quadrature(y.astype(float), p)


def smooth_at(y, p, sigma=BANDWIDTH, n_nodes=20_001):
    nodes = np.linspace(0, 1, n_nodes)
    smoothed = np.zeros(n_nodes)
    value, where = np.unique(p, return_inverse=True)
    mass = np.bincount(where, weights=y - p) / p.size
    for shift in range(-4, 5, 2):
        for image in (shift + value, shift - value):
            for centre, m in zip(image, mass, strict=True):
                smoothed += m * np.exp(-0.5 * ((nodes - centre) / sigma) ** 2)
    return trapezoid(np.abs(smoothed), nodes) / (sigma * np.sqrt(2 * np.pi))


def ranked(y, p):
    """The mean over all orders of the rows within equal forecasts."""
    products = []
    for order in permutations(range(p.size)):
        order = np.array(order)
        if (np.diff(p[order]) >= 0).all():
            residual = (y - p)[order]
            products.append((residual[1:] * residual[:-1]).sum() / p.size)
    return np.mean(products)


def kernel(y, p):
    """Kumar et al. (2018): of the more probable class against its being right."""
    confidence = np.maximum(p, 1 - p)
    residual = ((p > 0.5) == y) - confidence
    near = np.exp(-2.5 * np.abs(confidence[:, np.newaxis] - confidence))
    return np.sqrt(residual @ near @ residual) / p.size


# Packages -----------------------------------------------------------------------------


def of_relplot(measure, *args):
    def call(y, p):
        if p.ndim == 2:
            p, y = relplot.multiclass_logits_to_confidences(p, y, probs=True)
        return measure(p, y.astype(float), *args)

    return call


def kumar(name, power=1, equal_width=False, **options):
    def call(y, p):
        import calibration

        if equal_width:
            options["binning_scheme"] = calibration.get_equal_prob_bins
        return getattr(calibration, name)(p, y, **options) ** power

    return call


def netcal(name, *args, **options):
    def call(y, p):
        method = getattr(importlib.import_module("netcal.metrics"), name)
        return method(*args, **options).measure(p, y)

    return call


def probmetrics(name, power=1):
    def call(y, p):
        import torch
        from probmetrics.metrics import Metric

        proba = np.column_stack((1 - p, p)) if p.ndim == 1 else p
        tensors = torch.as_tensor(y), torch.as_tensor(proba)
        return (
            float(Metric.from_name(name).compute_from_labels_probs(*tensors)) ** power
        )

    return call


def ours(measure, **options):
    return lambda y, p, w=None: measure(
        y, p, **options, **({} if w is None else {"sample_weight": w})
    )


# Name: truth, ours or None, and the others by module.
MEASURES = {
    "smECE": (
        smooth,
        ours(smooth_ece),
        {
            "relplot": of_relplot(relplot.smECE),
            "probmetrics": probmetrics("smece"),
        },
    ),
    f"smECE at bandwidth {BANDWIDTH}": (
        smooth_at,
        ours(smooth_ece, bandwidth=BANDWIDTH),
        {"relplot": of_relplot(relplot.smECE_sigma, BANDWIDTH)},
    ),
    "ECE, bins of equal width": (
        lambda y, p: binned(y, p, bins_of(p)),
        ours(binned_ece),
        {
            "relplot": of_relplot(relplot.metrics.binnedECE, N_BINS),
            "calibration": kumar("get_ece"),
            "netcal": netcal("ECE", N_BINS),
            "probmetrics": probmetrics("ece-15"),
        },
    ),
    "  squared": (
        lambda y, p: squared(y, p, bins_of(p)),
        ours(binned_ece, norm="l2"),
        {
            "calibration": kumar(
                "lower_bound_scaling_ce", 2, debias=False, equal_width=True
            ),
            "probmetrics": probmetrics("rmsce-15", 2),
        },
    ),
    "  squared, debiased": (
        lambda y, p: debiased(y, p, bins_of(p)),
        ours(binned_ece, norm="l2", debias=True),
        {"calibration": kumar("lower_bound_scaling_ce", 2, equal_width=True)},
    ),
    "  maximum": (
        lambda y, p: maximum(y, p, bins_of(p)),
        ours(binned_ece, norm="max"),
        {"netcal": netcal("MCE", N_BINS), "probmetrics": probmetrics("mce-15")},
    ),
    "  average of bins": (
        lambda y, p: average(y, p, bins_of(p)),
        None,
        {"netcal": netcal("ACE", N_BINS)},
    ),
    "ECE, bins of equal mass": (
        lambda y, p: binned(y, p, equal_mass(p)),
        ours(binned_ece, strategy="quantile"),
        {
            "calibration": kumar("get_ece_em"),
            "netcal": netcal("ECE", N_BINS, equal_intervals=False),
        },
    ),
    "rankECE": (ranked, ours(rank_ece), {}),
    "MMCE": (kernel, None, {"netcal": netcal("MMCE")}),
    "  given two columns": (
        kernel,
        None,
        {"netcal": lambda y, p: netcal("MMCE")(y, np.column_stack((1 - p, p)))},
    ),
}
TOP = {
    "smECE": MEASURES["smECE"],
    "ECE, bins of equal width": MEASURES["ECE, bins of equal width"],
}
EACH = (
    None,
    ours(binned_ece, multiclass="classwise"),
    {"calibration": kumar("get_ece", mode="marginal")},
)


# Reporting ----------------------------------------------------------------------------


def applies(name, p):
    if name == "ECE, bins of equal mass":
        return np.unique(p).size == p.size and p.size % N_BINS == 0
    return p.size <= 8 or name != "rankECE"


def value_of(call, truth, package, failures, *args):
    """What a cell of the table says."""
    try:
        with quiet():
            value = float(call(*args))
    except Exception as error:  # whatever it is, the table shows it
        name = type(error).__name__
        text = " ".join(str(error).split())[:90]
        failures[f"{name} of {PEERS.get(package, package)}"] = text
        return name
    if np.isnan(value):
        return "nan"
    if abs(value - truth) < 5e-7:
        return f"{value:.6f}         "
    if truth == 0:
        return f"{value:.6f}    wrong"
    return f"{value:.6f}{100 * (value / truth - 1):+7.2f} %"


def row(name, truth, own, theirs, installed, failures, y, p, weight=None):
    line = f"  {name:<26}{truth:>10.6f}"
    mine = (
        "-"
        if own is None
        else value_of(own, truth, "skcal", failures, y, p, *weighted(weight))
    )
    line += f"{mine:>19}"
    for module in installed:
        if module not in theirs:
            cell = "-"
        elif weight is not None:
            cell = NO_WEIGHTS
        else:
            cell = value_of(theirs[module], truth, module, failures, y, p)
        line += f"{cell:>19}"
    return line.rstrip()


def weighted(weight):
    return () if weight is None else (weight,)


def report():
    installed = [module for module in PEERS if importlib.util.find_spec(module)]
    yield version_line("numpy", "scipy", *PEERS.values())
    yield (
        "\nValues, and in % how far they are from the true one where they differ from "
        "it by 5e-7 or more\n"
    )
    columns = ("skcal", *(PEERS[module][:15] for module in installed))
    yield f"{'':<28}{'true':>10}" + "".join(f"{c:>19}" for c in columns)
    failures = {}
    for title, y, p, weight in cases():
        yield f"\n{title}\n"
        times = np.ones(p.size, dtype=int) if weight is None else weight
        repeated = np.repeat(y, times), np.repeat(p, times)
        for name, (truth, own, theirs) in MEASURES.items():
            if not applies(name, p) or (weight is not None and own is None):
                continue
            one_or_weighted = p.size < 2 or weight is not None
            if one_or_weighted and name in ("rankECE", "  squared, debiased"):
                continue  # not defined
            known = truth(*repeated)
            yield row(name, known, own, theirs, installed, failures, y, p, weight)
    y, p = three_classes()
    yield "\nthree classes, all rows (0.5, 0.3, 0.2): the top class\n"
    for name, (_, own, theirs) in TOP.items():
        yield row(name, 0.1, own, theirs, installed, failures, y, p)
    yield "\nthe same, mean of the three classes\n"
    name = "ECE, bins of equal width"
    yield row(name, 0.2 / 3, *EACH[1:], installed, failures, y, p)
    if failures:
        yield ""
    for name, text in failures.items():
        yield f"{name}: {text}"


if __name__ == "__main__":
    publish("accuracy_peers", __doc__, report)
