"""How near rankECE and the binned l2-ECE come to the true l2-ECE.

    python examples/benchmarks/accuracy_measures.py          # print
    python examples/benchmarks/accuracy_measures.py --save   # and keep table and figure

Forecasts are uniform on [0, 1] and the outcome has the probability g(f), for the nine
curves g of section 5.1.1 and appendix A.1 of Chatterjee and Barber (2026), figures 3
and A.2. The figures are means of the ratio to the true value over 100 samples, with
their standard errors. This is the paper's size already, and takes half a minute.
"""

import numpy as np
from _output import publish
from _ratios import binned, draw_ratios

from skcal import make_forecasts, rank_ece

SIZES = (100, 250, 500, 1_000, 2_500, 5_000, 10_000)
TABULATED = (100, 500, 1_000, 10_000)
REPEATS = 100
# Name in skcal.datasets and title; the first three are the paper's figure 3.
CURVES = {
    "quadratic": "Quadratic",
    "spikes": "Spikes",
    "increasing_frequency": "Increasing frequency",
    "linear": "Linear",
    "staircase": "Staircase",
    "gaussian": "Gaussian",
    "sawtooth": "Sawtooth",
    "random_fourier": "Random Fourier",
    "weierstrass": "Weierstrass",
}


MEASURES = {
    "rankECE": rank_ece,
    "rankECE, 5 neighbours": lambda y, p: rank_ece(y, p, n_neighbors=5),
    "10 bins": binned(10),
    "n^(1/3) bins": binned("cbrt"),
    "n^(1/2) bins": binned("sqrt"),
    "n / 20 bins": binned(lambda n: max(1, n // 20)),
    "n^(1/2) bins, debiased": binned("sqrt", debias=True),
}


def ratios(curve, seed=0):
    """The truth, the mean ratio to it and its standard error, measures by sizes."""
    rng = np.random.RandomState(seed)
    values = np.empty((len(MEASURES), len(SIZES), REPEATS))
    for j, n in enumerate(SIZES):
        for k in range(REPEATS):
            data = make_forecasts(n, curve=curve, random_state=rng)
            values[:, j, k] = [
                measure(data.y_true, data.y_proba) for measure in MEASURES.values()
            ]
    values /= data.l2
    return data.l2, values.mean(axis=2), values.std(axis=2, ddof=1) / np.sqrt(REPEATS)


def remark(curve):
    """How often a curve is held within [0, 1]."""
    proba = make_forecasts(1, curve=curve).curve(np.linspace(0, 1, 1_000_001))
    share = np.mean((proba == 0) | (proba == 1))
    return f", g held at 0 or 1 for {share:.1%} of forecasts" if share > 0 else ""


def report():
    yield (
        "Estimate over the true l2-ECE: mean of 100 samples, +- standard error of the "
        "mean\n"
    )
    header = f"{'rows':<24}" + "".join(f"{n:>16,}" for n in TABULATED)
    columns = [SIZES.index(n) for n in TABULATED]
    found = {}
    for curve, title in CURVES.items():
        truth, mean, error = found[title] = ratios(curve)
        yield f"{title}, true l2-ECE {truth:.4f}{remark(curve)}"
        yield header
        for label, center, half in zip(MEASURES, mean, error, strict=True):
            cells = (f"{center[j]:.2f} +- {half[j]:.2f}" for j in columns)
            yield f"{label:<24}" + "".join(f"{cell:>16}" for cell in cells)
        yield ""
    distance = np.array([np.abs(mean - 1) for _, mean, _ in found.values()])
    for what, summary in (
        ("Mean", distance.mean(axis=0)),
        ("Largest", distance.max(0)),
    ):
        yield f"{what} distance of these nine ratios from 1"
        yield header
        for label, row in zip(MEASURES, summary, strict=True):
            yield f"{label:<24}" + "".join(f"{row[j]:>16.2f}" for j in columns)
        yield ""
    return found


def draw(found):
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(
        3, 3, figsize=(10.5, 8.6), sharex=True, layout="constrained"
    )
    for ax, (title, (truth, mean, error)) in zip(axes.flat, found.items(), strict=True):
        draw_ratios(ax, SIZES, MEASURES, mean, error)
        ax.set(title=f"{title}, true value {truth:.4f}")
        ax.title.set_size(10)
        ax.set_ylim(max(0, ax.get_ylim()[0]), min(4, ax.get_ylim()[1]))
    for ax in axes[:, 0]:
        ax.set_ylabel(r"Estimate / true $\ell_2$-ECE")
    for ax in axes[-1]:
        ax.set_xlabel("Rows")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    return fig


if __name__ == "__main__":
    publish("accuracy_measures", __doc__, report, draw=draw)
