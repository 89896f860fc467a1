"""Figures 1, 2 and 6 of the smECE paper: bins beside smooth reliability diagrams.

    python examples/benchmarks/figures_smooth.py          # 100 samples, print
    python examples/benchmarks/figures_smooth.py --full   # 1,000 samples
    python examples/benchmarks/figures_smooth.py --save   # and keep text and pictures

From Błasiok and Nakkiran (2023). Figure 2: how a smooth diagram comes from eight
points. Figure 1: binned and smooth diagrams of the same forecasts, here of a random
forest on a real table, and what changes with the number of bins. Figure 6: 1,000
uniform forecasts with a known truth that is not monotone; the paper draws its curve
without a formula, here it is f + 0.15 sin(4 pi f). Takes half a minute, with --full
three minutes.
"""

import numpy as np
from _bins import cross_validated_bins
from _forecasts import forecasts
from _output import publish
from _population import fixed_point, residual_mass, smoothed_error
from scipy.integrate import trapezoid

from skcal import (
    ReliabilityDisplay,
    binned_ece,
    bootstrap_interval,
    calibrated_reference,
    smooth_ece,
)

# Figure 2 -----------------------------------------------------------------------------

TOY_FORECAST = np.array([0.06, 0.18, 0.32, 0.45, 0.55, 0.66, 0.8, 0.93])
TOY_OUTCOME = np.array([0, 0, 1, 0, 1, 0, 1, 1])
NODES = np.linspace(0, 1, 1_001)


def reflected_gaussian(t, centre, sigma):
    """Density at t of a Gaussian around each centre, reflected at 0 and 1."""
    shift = 2 * np.arange(-3, 4)[:, np.newaxis, np.newaxis]
    density = 0
    for image in (centre, -centre):
        z = (t[:, np.newaxis] - image - shift) / sigma
        density = density + np.exp(-0.5 * z**2)
    return density.sum(axis=0) / (sigma * np.sqrt(2 * np.pi))


def figure_2():
    """Each point's smear, from the definition, at the bandwidth of smECE."""
    y, f = TOY_OUTCOME, TOY_FORECAST
    sigma = smooth_ece(y, f)
    smears = reflected_gaussian(NODES, f, sigma) / f.size
    density, events = smears.sum(axis=1), smears @ y
    residual = smears @ (y - f)
    curve = events / density
    display = ReliabilityDisplay.from_predictions(y, f, band=None)
    drawn = np.interp(display.prob_pred, NODES, curve)
    error = trapezoid(np.abs(residual), NODES)
    visible = trapezoid(np.abs(curve - NODES) * density, NODES)
    yield "Figure 2: eight points"
    yield "forecast  " + "".join(f"{value:6.2f}" for value in f)
    yield "outcome   " + "".join(f"{value:6d}" for value in y)
    yield f"smooth_ece                                           {sigma:.6f}"
    yield f"area of the smeared residuals at that bandwidth      {error:.6f}"
    yield f"area between curve and diagonal, times the density   {visible:.6f}"
    yield (
        f"the two areas differ by {abs(visible - error) / sigma:.2f} bandwidths; "
        f"lemma 13 allows {np.sqrt(2 / np.pi):.2f}"
    )
    yield (
        "largest difference of the definition's curve from the display's: "
        f"{np.abs(drawn - display.prob_true).max():.0e}"
    )
    return smears, density, curve, residual, sigma


def draw_figure_2(found):
    import matplotlib.pyplot as plt

    smears, density, curve, residual, sigma = found
    y, f = TOY_OUTCOME, TOY_FORECAST
    event, none = "tab:blue", "tab:orange"
    fig, axes = plt.subplots(1, 4, figsize=(13, 3.6), layout="constrained")
    points, smeared, slices, errors = axes

    points.scatter(f[y == 1], y[y == 1], color=event, label="event", zorder=3)
    points.scatter(f[y == 0], y[y == 0], color=none, label="no event", zorder=3)
    points.set(title="Eight points", ylabel="Outcome", yticks=[0, 1])
    points.legend(loc="center right")

    order = np.argsort(-y, kind="stable")
    layers = np.cumsum(smears[:, order], axis=1)
    below = np.zeros(NODES.size)
    for upper, is_event in zip(layers.T, y[order], strict=True):
        color = event if is_event else none
        smeared.fill_between(
            NODES, below, upper, color=color, alpha=0.45, edgecolor="white", lw=0.8
        )
        below = upper
    smeared.plot(NODES, density, color="0.2", lw=1)
    smeared.set(title=f"1. Smear each by {sigma:.2f}, stack", ylabel="Density")
    smeared.set_ylim(bottom=0)

    slices.fill_between(NODES, 0, curve, color=event, alpha=0.45, lw=0)
    slices.fill_between(NODES, curve, 1, color=none, alpha=0.45, lw=0)
    for at in np.linspace(0.1, 0.9, 9):
        slices.axvline(at, color="white", lw=0.8)
    slices.plot(NODES, curve, color="tab:red", lw=2, label="share of events")
    slices.plot([0, 1], [0, 1], color="0.3", linestyle=":")
    slices.set(title="2. Scale vertical slices to 1", ylabel="Share")
    slices.legend(loc="upper left")

    errors.axhline(0, color="0.6", linestyle=":")
    for one in (smears * (y - f)).T:
        errors.plot(NODES, one, color="0.6", lw=0.8)
    errors.fill_between(NODES, 0, residual, color="tab:red", alpha=0.4, lw=0)
    errors.plot(NODES, residual, color="tab:red", lw=2)
    errors.set(
        title=f"Smeared residuals: area {sigma:.3f}", ylabel="Outcome - forecast"
    )
    for ax in axes:
        ax.set(xlabel="Forecast", xlim=(0, 1))
    for ax in (points, slices):
        ax.set_ylim(-0.04, 1.04) if ax is points else ax.set_ylim(0, 1)
    return fig


# Figure 1 -----------------------------------------------------------------------------

FIGURE_1_BINS = (5, 10, 15, 20, 30, 50, 100)
DRAWN_BINS = (5, 15, 50)
STEP = 1e-9


def figure_1(n_resamples):
    part = forecasts("churn", "random_forest")
    # Both parts are rows that the forest has not seen.
    y = np.concatenate((part["y_calib"], part["y_test"]))
    p = np.concatenate((part["proba_calib"], part["proba_test"]))[:, 1]
    lowered = np.maximum(p - STEP, 0)
    chosen = cross_validated_bins(y, p)
    yield (
        "Figure 1: customers who leave (modeldata/wa_churn), forecast by a random "
        f"forest of 60 trees\n{y.size:,} rows, {100 * y.mean():.1f} % of them events; "
        f"{np.unique(p).size} different forecasts"
    )
    yield (
        f"{'':<30}{'error':>7}   95 % interval    by chance: mean   p-value"
        f"   lowered by {STEP:g}"
    )
    rows = [("smECE", smooth_ece, {})]
    for n_bins in sorted({*FIGURE_1_BINS, chosen}):
        star = " (cross-validated)" if n_bins == chosen else ""
        rows.append((f"ECE, {n_bins} bins{star}", binned_ece, {"n_bins": n_bins}))
    values = []
    for name, measure, options in rows:
        interval = bootstrap_interval(
            measure, y, p, n_resamples=n_resamples, random_state=0, **options
        )
        chance = calibrated_reference(
            measure, p, n_resamples=n_resamples, random_state=0, **options
        )
        value = interval.value
        values.append(value)
        moved = measure(y, lowered, **options)
        yield (
            f"{name:<30}{value:7.4f}   [{interval.low:.4f}, {interval.high:.4f}]"
            f"{chance.mean:18.4f}{chance.pvalue(value):10.4f}"
            f"{moved:13.4f} {100 * abs(moved / value - 1):4.1f} % off"
        )
    binned = np.array(values[1:])
    yield (
        f"binned ECE from {binned.min():.4f} to {binned.max():.4f}: a factor of "
        f"{binned.max() / binned.min():.2f} by the number of bins alone"
    )
    return y, p


def draw_figure_1(found):
    import matplotlib.pyplot as plt

    y, p = found
    fig, axes = plt.subplots(1, 4, figsize=(14, 4.1), layout="constrained")
    for ax, n_bins in zip(axes, (*DRAWN_BINS, None), strict=True):
        options = {} if n_bins is None else {"kind": "binned", "n_bins": n_bins}
        ReliabilityDisplay.from_predictions(y, p, ax=ax, **options)
        ax.set_title("Smooth" if n_bins is None else f"{n_bins} bins")
    return fig


# Figure 6 -----------------------------------------------------------------------------

N_SYNTHETIC = 1_000
BIN_RULES = {
    "5 bins": 5,
    "10 bins": 10,
    "15 bins": 15,
    "n^(1/3) bins": "cbrt",
    "30 bins": 30,
    "100 bins": 100,
}


def truth(f):
    return f + 0.15 * np.sin(4 * np.pi * f)


def synthetic(seed):
    rng = np.random.default_rng(seed)
    f = rng.uniform(size=N_SYNTHETIC)
    return (rng.uniform(size=f.size) < truth(f)).astype(int), f


def curve_errors(display, f):
    """Mean absolute and root mean square distance from the truth, at the forecasts."""
    if display.bin_edges is None:
        shown = np.interp(f, display.prob_pred, display.prob_true)
    else:
        # A bin's frequency stands for all of it, as in the paper's histogram.
        bin_of = np.searchsorted(display.bin_edges[1:-1], f, side="right")
        filled = np.unique(bin_of)
        shown = display.prob_true[np.searchsorted(filled, bin_of)]
    off = shown - truth(f)
    return np.mean(np.abs(off)), np.sqrt(np.mean(off**2))


def figure_6(n_samples):
    import matplotlib.pyplot as plt

    mass = residual_mass(lambda u: u, truth)
    grid = (np.arange(1_000_000) + 0.5) / 1_000_000
    exact = np.mean(np.abs(truth(grid) - grid))
    population = fixed_point(mass)
    names = ["smooth", "cross-validated bins", *BIN_RULES, "isotonic"]
    found = np.empty((len(names), n_samples, 3))
    chosen = np.empty(n_samples, dtype=int)
    _, ax = plt.subplots()
    for k in range(n_samples):
        y, f = synthetic(k)
        chosen[k] = cross_validated_bins(y, f)
        kinds = [{}, {"kind": "binned", "n_bins": chosen[k]}]
        kinds += [{"kind": "binned", "n_bins": rule} for rule in BIN_RULES.values()]
        kinds += [{"kind": "isotonic"}]
        for row, options in zip(found, kinds, strict=True):
            display = ReliabilityDisplay.from_predictions(
                y, f, ax=ax, band=None, **options
            )
            row[k] = *curve_errors(display, f), display.calibration_error
            ax.clear()
    plt.close(ax.figure)

    yield f"Figure 6: {N_SYNTHETIC:,} uniform forecasts, truth f + 0.15 sin(4 pi f)"
    yield (
        f"True calibration error E|g(f) - f| {exact:.4f}, smECE of the distribution "
        f"{population:.4f}"
    )
    for sigma in (0.0, 0.02, population, 0.15):
        value = exact if sigma == 0 else smoothed_error(mass, sigma)
        yield f"  smeared by {sigma:.4f}: {value:.4f}"
    yield f"{n_samples:,} samples: mean, +- standard error of the mean"
    yield f"{'':<22}{'curve, mean abs. error':>24}{'root mean square':>22}{'error':>20}"
    for name, row in zip(names, found, strict=True):
        cells = [
            f"{centre:.4f} +- {half:.4f}"
            for centre, half in zip(
                row.mean(axis=0), row.std(axis=0, ddof=1) / n_samples**0.5, strict=True
            )
        ]
        # What an isotonic diagram shows is a part of the Brier score, not an ECE.
        cells[2] = "" if name == "isotonic" else cells[2]
        yield f"{name:<22}{cells[0]:>24}{cells[1]:>22}{cells[2]:>20}".rstrip()
    low, middle, high = np.quantile(chosen, (0.1, 0.5, 0.9))
    yield (
        f"cross-validated number of bins: median {middle:.0f}, in 80 % of samples from "
        f"{low:.0f} to {high:.0f}"
    )
    y, f = synthetic(0)
    errors = [found[names.index(name), 0] for name in names[:2]]
    yield "The sample drawn: mean absolute error of the curve, error"
    yield f"  smooth     {errors[0][0]:.4f}  smECE {errors[0][2]:.4f}"
    yield f"  {chosen[0]:>2} bins    {errors[1][0]:.4f}  ECE   {errors[1][2]:.4f}"
    return y, f, chosen[0]


def draw_figure_6(found):
    import matplotlib.pyplot as plt

    y, f, n_bins = found
    fig, axes = plt.subplots(1, 2, figsize=(8.4, 4.7), layout="constrained")
    for ax, options in zip(
        axes, ({"kind": "binned", "n_bins": n_bins}, {}), strict=True
    ):
        ax.plot(NODES, truth(NODES), color="tab:green", lw=1.8, label="Truth")
        ReliabilityDisplay.from_predictions(y, f, ax=ax, color="tab:red", **options)
        ax.set_title(f"{n_bins} bins" if options else "Smooth")
    return fig


def report(full):
    two = yield from figure_2()
    yield ""
    one = yield from figure_1(10_000 if full else 1_000)
    yield ""
    six = yield from figure_6(1_000 if full else 100)
    return {"2": two, "1": one, "6": six}


def draw(found):
    return {
        "1": draw_figure_1(found["1"]),
        "2": draw_figure_2(found["2"]),
        "6": draw_figure_6(found["6"]),
    }


if __name__ == "__main__":
    publish("figures_smooth", __doc__, report, full="1,000 samples", draw=draw)
