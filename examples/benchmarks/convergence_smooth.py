"""How fast smECE of a sample comes to that of the distribution: theorem 11.

    python examples/benchmarks/convergence_smooth.py          # 200 samples, print
    python examples/benchmarks/convergence_smooth.py --full   # 1,000 samples, more rows
    python examples/benchmarks/convergence_smooth.py --save   # and keep text, picture

Theorem 11 of Błasiok and Nakkiran (2023): of m rows, a multiple of 1 / (sigma eps^2),
with probability 2/3 all smECE at bandwidths from sigma up are within eps of the
distribution's, and so is smECE itself where it is above sigma. In other words the error
is at most a multiple of (m sigma)^(-1/2). For a distribution with a positive smECE that
is the rate m^(-1/2). For a calibrated one the sample's own smECE takes sigma's place,
and s = (m s)^(-1/2) has the solution m^(-1/3).

The distribution's value comes from quadrature that shares no code with the package. The
last table is the growth of the time (section 3.5), beside relplot where it is
installed. Takes a minute, with --full ten minutes.
"""

import importlib.util
import time

import numpy as np
from _output import publish
from _population import fixed_point, residual_mass, smoothed_error
from _timing import shown

from skcal import binned_ece, smooth_ece


def uniform(u):
    return u


def skewed(u):
    return u**3


def extreme(u):
    return np.sin(np.pi * u / 2) ** 2


def tenths(u):
    return np.minimum(np.floor(11 * u), 10) / 10


def right(f):
    return f


# Quantile function of the forecasts, frequency of the event at a forecast.
MISCALIBRATED = {
    "0.25 + 0.5 f": (uniform, lambda f: 0.25 + 0.5 * f),
    "0.05 + 0.9 f": (uniform, lambda f: 0.05 + 0.9 * f),
    "f + 0.15 sin(4 pi f)": (uniform, lambda f: f + 0.15 * np.sin(4 * np.pi * f)),
    "f + 0.15 sin(20 pi f), cut": (
        uniform,
        lambda f: np.clip(f + 0.15 * np.sin(20 * np.pi * f), 0, 1),
    ),
    "f / 2, mostly low": (skewed, lambda f: f / 2),
    "f^2, mostly extreme": (extreme, lambda f: f**2),
}
CALIBRATED = {
    "calibrated, uniform": (uniform, right),
    "calibrated, mostly low": (skewed, right),
    "calibrated, extreme": (extreme, right),
    "calibrated, multiples of 10 %": (tenths, right),
    "calibrated, always 0.5": (lambda u: np.full_like(u, 0.5), right),
}
WORLDS = MISCALIBRATED | CALIBRATED
BINS = 15
# The exponents are fitted from these sizes up.
FIT_FROM = (1_000, 10_000)


def sample(world, n, rng):
    quantile, frequency = WORLDS[world]
    f = quantile(rng.uniform(size=n))
    return (rng.uniform(size=n) < frequency(f)).astype(int), f


def binned_limit(world):
    """The binned error of the distribution, of the bins' expected residuals."""
    quantile, frequency = WORLDS[world]
    f = quantile((np.arange(1 << 20) + 0.5) / (1 << 20))
    cell = np.minimum((f * BINS).astype(int), BINS - 1)
    return np.abs(np.bincount(cell, frequency(f) - f, BINS)).sum() / f.size


# Rates --------------------------------------------------------------------------------


def errors(world, sizes, n_samples, limits):
    """Errors of smECE and of binned ECE, (2, sizes, samples)."""
    found = np.empty((2, len(sizes), n_samples))
    for j, n in enumerate(sizes):
        rng = np.random.default_rng([n, list(WORLDS).index(world)])
        for k in range(n_samples):
            y, f = sample(world, n, rng)
            found[:, j, k] = smooth_ece(y, f), binned_ece(y, f, n_bins=BINS)
    return found - np.array(limits)[:, np.newaxis, np.newaxis]


def exponent(sizes, squares, least):
    """Slope of the root mean square over sizes, logarithms, and its standard error."""
    mean = squares.mean(axis=1)
    spread = squares.std(axis=1, ddof=1) / np.sqrt(squares.shape[1])
    height, noise = 0.5 * np.log(mean), 0.5 * spread / mean
    kept = np.array(sizes) >= least
    x, height, weight = np.log(sizes)[kept], height[kept], noise[kept] ** -2.0
    centre = np.average(x, weights=weight)
    scale = np.sum(weight * (x - centre) ** 2)
    slope = np.sum(weight * (x - centre) * height) / scale
    return slope, scale**-0.5


def rate_lines(sizes, n_samples):
    at = [n for n in sizes if n in (100, 1_000, 10_000, 100_000)]
    results = {}
    for title, worlds in (
        ("Miscalibrated: theorem 11 gives an exponent of -1/2", MISCALIBRATED),
        ("Calibrated: its proof gives -1/3", CALIBRATED),
    ):
        yield title
        yield (
            f"{'':<31}{'limit':>8}"
            + "".join(f"{n:>10,}" for n in at)
            + "".join(f"{f'from {least:,}':>18}" for least in FIT_FROM)
        )
        for world in worlds:
            mass = residual_mass(*WORLDS[world])
            limits = fixed_point(mass), binned_limit(world)
            found = errors(world, sizes, n_samples, limits)
            results[world] = found
            for name, limit, error in zip(
                (world, f"  {BINS} bins"), limits, found, strict=True
            ):
                rms = np.sqrt(np.mean(error**2, axis=1))
                cells = "".join(f"{rms[sizes.index(n)]:10.5f}" for n in at)
                for least in FIT_FROM:
                    slope, noise = exponent(sizes, error**2, least)
                    cells += f"{slope:9.3f} +- {noise:.3f}"
                yield f"{name:<31}{limit:8.4f}{cells}"
        yield ""
    return results


# The theorem's bound ------------------------------------------------------------------

BANDWIDTHS = (0.01, 0.03, 0.1, 0.3)
FACTORS = np.geomspace(1, 100, 13)
BOUND_WORLDS = ("calibrated, uniform", "0.25 + 0.5 f")
BOUND_SIZES = (300, 3_000, 30_000)


def proof_constant(world, bandwidth):
    """c of the proof's c (m sigma)^(-1/2), without its rounding up to round numbers.

    Lemma 35 and Markov's inequality with 1/3: the square of the error is at most three
    times the integrated variance of the smeared residual, and that at most E r^2 K^2.
    """
    quantile, frequency = WORLDS[world]
    f = quantile((np.arange(4_000) + 0.5) / 4_000)
    g = frequency(f)
    second_moment = g * (1 - f) ** 2 + (1 - g) * f**2
    # Two smears by sigma are one by sqrt(2) sigma: sigma times the integral of K^2.
    squared = [
        np.exp(-((k / bandwidth) ** 2)) + np.exp(-(((f - k) / bandwidth) ** 2))
        for k in range(-3, 5)
    ]
    integral = np.sum(squared, axis=0) / (2 * np.sqrt(np.pi))
    return np.sqrt(3 * np.mean(second_moment * integral))


def bound_lines(n_samples):
    """The largest error over all bandwidths from one up, times (m sigma)^(1/2)."""
    yield (
        "Theorem 11: what two thirds of the samples have as largest error over all "
        "bandwidths from\nsigma up, times (m sigma)^(1/2); the last column is the "
        "constant that its proof gives"
    )
    yield (
        f"{'':<24}{'sigma':>7}"
        + "".join(f"{f'm = {m:,}':>13}" for m in BOUND_SIZES)
        + f"{'proof':>9}"
    )
    results = {}
    for world in BOUND_WORLDS:
        mass = residual_mass(*WORLDS[world])
        for bandwidth in BANDWIDTHS:
            grid = bandwidth * FACTORS[bandwidth * FACTORS <= 1.0]
            exact = np.array([smoothed_error(mass, s) for s in grid])
            row = []
            for m in BOUND_SIZES:
                rng = np.random.default_rng(m)
                worst = np.empty(n_samples)
                for k in range(n_samples):
                    y, f = sample(world, m, rng)
                    values = [smooth_ece(y, f, bandwidth=s) for s in grid]
                    worst[k] = np.abs(np.array(values) - exact).max()
                row.append(np.quantile(worst, 2 / 3) * np.sqrt(m * bandwidth))
            constant = proof_constant(world, bandwidth)
            results[world, bandwidth] = row, constant
            cells = "".join(f"{value:13.3f}" for value in row)
            yield f"{world:<24}{bandwidth:7.2f}{cells}{constant:9.3f}"
    return results


# Time ---------------------------------------------------------------------------------


def seconds(measure, n, least=3):
    rng = np.random.default_rng(0)
    f = rng.beta(0.7, 0.7, size=n)
    y = (rng.uniform(size=n) < 0.1 + 0.8 * f).astype(np.int64)
    measure(y, f)
    runs = []
    while len(runs) < least or (sum(runs) < 0.3 and len(runs) < 50):
        start = time.process_time()
        measure(y, f)
        runs.append(time.process_time() - start)
    return np.median(runs)


def time_lines(most):
    measures = {"smooth_ece": (smooth_ece, most)}
    if importlib.util.find_spec("relplot"):
        import relplot

        measures["relplot.smECE"] = (lambda y, f: relplot.smECE(f, y), 1_000_000)
    sizes = [10**k for k in range(3, round(np.log10(most)) + 1)]
    yield "Processor time on one thread; growth from the last size by the exponent"
    yield f"{'rows':<16}" + "".join(f"{n:>20,}" for n in sizes)
    for name, (measure, largest) in measures.items():
        times = [seconds(measure, n) for n in sizes if n <= largest]
        growth = np.diff(np.log10(times))
        cells = [shown(times[0])]
        cells += [
            f"{shown(taken)} (n^{power:.2f})"
            for taken, power in zip(times[1:], growth, strict=True)
        ]
        yield f"{name:<16}" + "".join(f"{cell:>20}" for cell in cells)


def report(full):
    n_samples = 1_000 if full else 200
    sizes = [100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000]
    sizes = sizes if full else sizes[:6]
    yield (
        f"smECE and binned ECE of samples, root mean square error of {n_samples:,} "
        "samples against the\ndistribution's value; exponents fitted from the named "
        "number of rows up, +- standard error\n"
    )
    rates = yield from rate_lines(sizes, n_samples)
    bounds = yield from bound_lines(n_samples)
    yield ""
    yield from time_lines(10_000_000)
    return sizes, rates, bounds


def draw(found):
    import matplotlib.pyplot as plt

    sizes, rates, bounds = found
    fig, axes = plt.subplots(1, 3, figsize=(13, 4.6), layout="constrained")
    colors = plt.cm.tab10.colors
    markers = "os^vDP"
    for ax, worlds, power in (
        (axes[0], MISCALIBRATED, 1 / 2),
        (axes[1], CALIBRATED, 1 / 3),
    ):
        for k, world in enumerate(worlds):
            smooth, binned = np.sqrt(np.mean(rates[world] ** 2, axis=2))
            style = {"color": colors[k], "markersize": 4}
            ax.plot(sizes, smooth, marker=markers[k], label=world, **style)
            ax.plot(sizes, binned, lw=0.9, linestyle="--", **style)
        half = power == 1 / 2
        line = (1.6 if half else 0.8) * np.array(sizes, dtype=float) ** -power
        label = "slope -1/2" if half else "slope -1/3"
        ax.plot(sizes, line, color="0.4", linestyle=":", label=label)
        ax.set(xscale="log", yscale="log", xlabel="Rows")
    axes[0].set(ylabel="Root mean square error", title="Miscalibrated")
    axes[1].set(title="Calibrated")
    for ax in axes[:2]:
        ax.plot([], [], color="0.2", lw=0.9, linestyle="--", label=f"{BINS} bins")
        ax.legend(fontsize=8, loc="lower left")

    ax = axes[2]
    for (world, bandwidth), (row, _) in bounds.items():
        products = np.array(BOUND_SIZES) * bandwidth
        color = colors[list(BOUND_WORLDS).index(world)]
        marker = markers[BANDWIDTHS.index(bandwidth)]
        label = world if bandwidth == BANDWIDTHS[0] else None
        ax.plot(
            products,
            row / np.sqrt(products),
            marker=marker,
            color=color,
            lw=0.8,
            markersize=4,
            label=label,
        )
    worst = max(constant for _, constant in bounds.values())
    reach = np.array([1.0, 2e4])
    ax.plot(
        reach,
        worst / np.sqrt(reach),
        color="0.2",
        linestyle="--",
        label="Proof's bound",
    )
    ax.set(xscale="log", yscale="log", xlabel="Rows times bandwidth")
    ax.set(
        ylabel="Largest error in 2/3 of samples",
        title="Theorem 11, bandwidths 0.01 to 0.3",
    )
    ax.legend(fontsize=8, loc="lower left")
    return fig


if __name__ == "__main__":
    publish(
        "convergence_smooth",
        __doc__,
        report,
        full="1,000 samples, up to 300,000 rows",
        draw=draw,
    )
