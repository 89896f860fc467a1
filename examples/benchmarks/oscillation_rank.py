"""What rankECE and bins see of an error that changes its sign many times.

    python examples/benchmarks/oscillation_rank.py          # print
    python examples/benchmarks/oscillation_rank.py --save   # and keep table and figure

Example 4.1 and figure C.7 of Chatterjee and Barber (2026): forecasts are uniform on
[c, 1 - c], c = 0.2, and E[Y | f] - f is c or -c in turn, in m periods. The true l2-ECE
is c^2 for every m. The figures are means of the ratio to it over 50 samples, with their
standard errors. This is the paper's size already, and takes ten seconds.
"""

import numpy as np
from _output import publish
from _ratios import binned, draw_ratios

from skcal import make_forecasts, rank_ece

C = 0.2
REPEATS = 50
PERIODS = (2, 5, 10, 20, 50, 100, 200, 500, 1_000)  # with N rows
N = 2_000
SIZES = (100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000)  # with M periods
M = 100


MEASURES = {
    "rankECE": rank_ece,
    "10 bins": binned(10),
    "n^(1/2) bins": binned("sqrt"),
    "n / 10 bins": binned(lambda n: n // 10),
}


def inner(u):
    """Quantiles of the forecasts."""
    return C + (1 - 2 * C) * u


def expected_ratio(n, m):
    """Expectation of rankECE over c^2, for n forecasts and m periods.

    Neighbours among n uniform points are d apart with the density n (1 - d)^(n - 1),
    nearly exponential, and the product of a square wave's values at this distance is a
    triangle wave on average. Its integral with n exp(-n d) is this; what it leaves out
    is of the order 1 / n.
    """
    return (1 - 1 / n) * (1 - 4 * m / n * np.tanh(n / (4 * m)))


def ratios(n, m):
    """Mean ratio to the truth and its standard error, by measure."""
    rng = np.random.RandomState([n, m])
    values = np.empty((len(MEASURES), REPEATS))
    for k in range(REPEATS):
        data = make_forecasts(
            n,
            curve="oscillating",
            curve_params={"amplitude": C, "n_periods": m},
            forecasts=inner,
            random_state=rng,
        )
        values[:, k] = [f(data.y_true, data.y_proba) for f in MEASURES.values()]
    values /= C**2
    return values.mean(axis=1), values.std(axis=1, ddof=1) / np.sqrt(REPEATS)


def report():
    yield (
        f"Estimate over the true l2-ECE, {C**2:.2f}: mean of {REPEATS} samples, +- "
        "standard error of the mean\n"
    )
    columns = "".join(f"{name:>18}" for name in MEASURES)
    panels = []
    for title, axis, settings in (
        (f"{N:,} rows", "periods", [(N, m) for m in PERIODS]),
        (f"{M} periods", "rows", [(n, M) for n in SIZES]),
    ):
        values = PERIODS if axis == "periods" else SIZES
        yield title
        yield f"{axis:<8}{'expected':>10}{columns}"
        found = []
        for value, (n, m) in zip(values, settings, strict=True):
            mean, error = ratios(n, m)
            found.append((mean, error))
            cells = (f"{a:.2f} +- {b:.2f}" for a, b in zip(mean, error, strict=True))
            yield f"{value:<8,}{expected_ratio(n, m):>10.2f}" + "".join(
                f"{cell:>18}" for cell in cells
            )
        yield ""
        panels.append((title, axis, values, *np.moveaxis(found, 1, 0)))
    yield (
        "expected: of rankECE, (1 - 1/n) (1 - (4 m / n) tanh(n / (4 m))), n rows and m "
        "periods"
    )
    return panels


def draw(panels):
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(
        1, 2, figsize=(9.5, 4.3), sharey=True, layout="constrained"
    )
    for ax, (title, axis, values, mean, error) in zip(axes, panels, strict=True):
        x = np.geomspace(values[0], values[-1], 200)
        curve = expected_ratio(N, x) if axis == "periods" else expected_ratio(x, M)
        ax.plot(x, curve, color="black", lw=1, ls="--", label="rankECE, expected")
        draw_ratios(ax, values, MEASURES, mean.T, error.T)
        ax.set(title=title, xlabel=f"Number of {axis}")
    axes[0].set_ylabel(r"Estimate / true $\ell_2$-ECE")
    handles, labels = axes[0].get_legend_handles_labels()
    order = [*range(1, len(labels)), 0]
    fig.legend(
        [handles[i] for i in order],
        [labels[i] for i in order],
        loc="outside lower center",
        ncols=5,
        frameon=False,
    )
    return fig


if __name__ == "__main__":
    publish("oscillation_rank", __doc__, report, draw=draw)
