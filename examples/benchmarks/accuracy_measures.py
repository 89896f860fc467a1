"""How near rankECE and the binned l2-ECE come to the true l2-ECE.

    python examples/benchmarks/accuracy_measures.py          # print
    python examples/benchmarks/accuracy_measures.py --save   # and keep table and figure

Forecasts are uniform on [0, 1] and the outcome has the probability g(f), as in section
5.1.1 and figure 3 of Chatterjee and Barber (2026). The figures are means of the ratio
to the true value over 100 samples, with their standard errors. Takes about ten seconds.
"""

import argparse
from pathlib import Path

import numpy as np

from skcal import binned_ece, rank_ece

HERE = Path(__file__).parent
RESULT = HERE / "results" / "accuracy_measures.txt"
FIGURE = HERE.parents[1] / "docs" / "images" / "accuracy_measures.png"

SIZES = (100, 250, 500, 1_000, 2_500, 5_000, 10_000)
REPEATS = 100


def quadratic(f):
    return 0.8 * f**2 - 0.2 * f + 0.2


def spikes(f):
    centres = 0.01 + 0.98 * np.arange(10) / 9
    heights = 0.3 * (-1.0) ** np.arange(10)
    bumps = np.exp(-((f[:, np.newaxis] - centres) ** 2) / (2 * 0.02**2))
    return f + bumps @ heights


def increasing_frequency(f):
    return 0.15 + 0.7 * f + 0.5 * np.sin(40 * np.pi * f**2)


CURVES = {
    "Quadratic": quadratic,
    "Spikes": spikes,
    "Increasing frequency": increasing_frequency,
}


def binned(n_bins, **options):
    return lambda y, p: binned_ece(y, p, n_bins=n_bins, norm="l2", **options)


MEASURES = {
    "rankECE": rank_ece,
    "rankECE, 5 neighbours": lambda y, p: rank_ece(y, p, n_neighbors=5),
    "10 bins": binned(10),
    "n^(1/3) bins": binned("cbrt"),
    "n^(1/2) bins": binned("sqrt"),
    "n / 20 bins": binned(lambda n: max(1, n // 20)),
    "n^(1/2) bins, debiased": binned("sqrt", debias=True),
}


def probability(curve, f):
    """What the paper calls g, held within [0, 1] where its formula leaves it."""
    return np.clip(curve(f), 0, 1)


def ratios(curve, seed=0):
    """Mean ratio to the truth and its standard error, measures by sizes."""
    grid = (np.arange(1_000_000) + 0.5) / 1_000_000
    truth = np.mean((probability(curve, grid) - grid) ** 2)
    rng = np.random.default_rng(seed)
    values = np.empty((len(MEASURES), len(SIZES), REPEATS))
    for j, n in enumerate(SIZES):
        for k in range(REPEATS):
            f = rng.uniform(size=n)
            y = rng.uniform(size=n) < probability(curve, f)
            values[:, j, k] = [measure(y, f) for measure in MEASURES.values()]
    values /= truth
    return truth, values.mean(axis=2), values.std(axis=2, ddof=1) / np.sqrt(REPEATS)


def draw(results):
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.9), layout="constrained")
    colors = ["tab:red", None, "tab:blue", "tab:green", "tab:orange", "tab:purple"]
    markers = ["o", None, "s", "^", "v", "D"]
    for ax, (name, (_, mean, error)) in zip(axes, results.items(), strict=True):
        ax.axhline(1, color="0.5", linestyle=":")
        shown = zip(MEASURES, colors, markers, mean, error, strict=False)
        for label, color, marker, center, half in shown:
            if color is None:
                continue
            label = label if label == "rankECE" else f"binned, {label}"
            style = {"color": color, "marker": marker, "markersize": 4}
            ax.plot(SIZES, center, label=label, **style)
            ax.fill_between(
                SIZES, center - half, center + half, color=color, alpha=0.2, lw=0
            )
        ax.set(xscale="log", title=name, xlabel="Rows")
        ax.set_ylim(bottom=0)
    axes[0].set_ylabel("Estimate / true l2-ECE")
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=5)
    return fig


def table(results):
    yield (
        "Estimate over the true l2-ECE: mean of 100 samples, +- standard error of the "
        "mean\n"
    )
    for name, (truth, mean, error) in results.items():
        yield f"{name}, true l2-ECE {truth:.4f}"
        shown = (100, 500, 1_000, 10_000)
        yield f"{'rows':<24}" + "".join(f"{n:>16,}" for n in shown)
        for label, center, half in zip(MEASURES, mean, error, strict=True):
            cells = (
                f"{center[SIZES.index(n)]:.2f} +- {half[SIZES.index(n)]:.2f}"
                for n in shown
            )
            yield f"{label:<24}" + "".join(f"{cell:>16}" for cell in cells)
        yield ""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--save", action="store_true", help=f"write {RESULT.name} and {FIGURE.name}"
    )
    save = parser.parse_args().save
    results = {name: ratios(curve) for name, curve in CURVES.items()}
    text = "\n".join(table(results)).rstrip() + "\n"
    print(text)
    if save:
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(text)
        FIGURE.parent.mkdir(exist_ok=True)
        draw(results).savefig(FIGURE, dpi=110)
