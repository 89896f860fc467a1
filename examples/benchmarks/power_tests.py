"""How often tests of calibration reject what is calibrated, and what is not.

    python examples/benchmarks/power_tests.py          # 100 samples per figure, print
    python examples/benchmarks/power_tests.py --full   # 2,000 samples
    python examples/benchmarks/power_tests.py --save   # and keep table and figure

The settings of section 5.2 and appendix A.3 of Chatterjee and Barber (2026), figures 5
and A.4 to A.6: forecasts are Beta(rho, 1 - rho), the outcome has the probability g(f),
the level is 5 %. SKCE is the test of Widmann et al. (2019) with all pairs of rows (U),
by Monte Carlo unless another method is named, or with disjoint pairs (L). Resamples are
few here, 99 for SKCE as in the paper and 199 for rankECE. Takes a minute and a half,
with --full half an hour.
"""

import time
from functools import partial

import numpy as np
from _output import publish

from skcal import make_forecasts, rank_ece_test, skce_test

LEVEL = 0.05
SIZES = (50, 100, 200, 500)
RHOS = (0.1, 0.3, 0.5, 0.7, 0.9)


# Title, curve and its parameters, the rho of the panel over sizes, the sizes of those
# over rho.
SETTINGS = [
    ("Calibrated", "calibrated", {}, 0.3, (100,)),
    ("g(f) = f - f^4", "power", {"exponent": 4}, 0.15, (100,)),
    ("g(f) = f - f^15", "power", {"exponent": 15}, 0.3, (100, 200)),
    ("g(f) = f + sign(sin(10 pi f)) / 4", "zigzag", {}, 0.3, (100, 200)),
]
skce_all = partial(skce_test, n_resamples=99)
skce_linear = partial(skce_test, estimator="linear")
TESTS = {
    "rankECE asymptotic": partial(rank_ece_test, method="asymptotic"),
    "rankECE plug-in variance": partial(
        rank_ece_test, method="asymptotic", variance="plug-in"
    ),
    "rankECE finite-sample": partial(rank_ece_test, method="finite-sample"),
    "rankECE Monte Carlo": partial(
        rank_ece_test, method="monte-carlo", n_resamples=199
    ),
    "SKCE-U Gaussian": skce_all,
    "SKCE-U Laplacian": partial(skce_all, kernel="laplacian"),
    "SKCE-U Gauss., multiplier": partial(skce_all, method="multiplier"),
    "SKCE-L Gaussian": skce_linear,
    "SKCE-L Laplacian": partial(skce_linear, kernel="laplacian"),
}
TIMED = (100, 500, 2_000)
# Label in the figure, colour, marker.
SHOWN = {
    "rankECE asymptotic": ("rankECE, asymptotic", "tab:red", "o"),
    "rankECE Monte Carlo": ("rankECE, Monte Carlo", "tab:orange", "v"),
    "rankECE finite-sample": ("rankECE, finite-sample", "tab:purple", "D"),
    "SKCE-U Gaussian": ("SKCE, all pairs", "tab:blue", "s"),
    "SKCE-L Gaussian": ("SKCE, disjoint pairs", "tab:green", "^"),
}


def rejections(curve, params, rho, n, n_draws):
    """Share of samples that each test rejects."""
    rng = np.random.RandomState([n, round(100 * rho)])
    counts = np.zeros(len(TESTS))
    for k in range(n_draws):
        data = make_forecasts(
            n,
            curve=curve,
            curve_params=params,
            forecasts=(rho, 1 - rho),
            random_state=rng,
        )
        counts += [
            test(data.y_true, data.y_proba, random_state=k).pvalue <= LEVEL
            for test in TESTS.values()
        ]
    return counts / n_draws


def panels(n_draws):
    """Each panel's title, the name and values of its axis, and its rates."""
    for title, curve, params, rho, sizes in SETTINGS:
        rates = [rejections(curve, params, rho, n, n_draws) for n in SIZES]
        yield f"{title}, rho = {rho}", "rows", SIZES, np.array(rates).T
        for n in sizes:
            rates = [rejections(curve, params, r, n, n_draws) for r in RHOS]
            yield f"{title}, {n} rows", "rho", RHOS, np.array(rates).T


def running_times():
    """Median seconds of a test, rho = 0.5, by number of rows."""
    times = np.empty((len(TESTS), len(TIMED)))
    for j, n in enumerate(TIMED):
        data = make_forecasts(n, curve="power", forecasts=(0.5, 0.5), random_state=0)
        for i, test in enumerate(TESTS.values()):
            test(data.y_true, data.y_proba)
            runs = []
            while len(runs) < 5 or (sum(runs) < 0.2 and len(runs) < 50):
                start = time.process_time()
                test(data.y_true, data.y_proba)
                runs.append(time.process_time() - start)
            times[i, j] = np.median(runs)
    return times


def report(full):
    n_draws = 2_000 if full else 100
    yield (
        f"Rejected at the level of {LEVEL:.0%}, in % of {n_draws:,} samples, +- the "
        "binomial standard error\n"
    )
    results = []
    for title, axis, values, rates in panels(n_draws):
        results.append((title, axis, values, rates))
        yield title
        yield f"{axis:<26}" + "".join(f"{value:>14}" for value in values)
        for name, row in zip(TESTS, rates, strict=True):
            errors = np.sqrt(row * (1 - row) / n_draws)
            cells = (
                f"{100 * rate:.1f} +- {100 * error:.1f}"
                for rate, error in zip(row, errors, strict=True)
            )
            yield f"{name:<26}" + "".join(f"{cell:>14}" for cell in cells)
        yield ""
    yield "Time, in multiples of the asymptotic rankECE test's"
    yield f"{'rows':<26}" + "".join(f"{n:>14,}" for n in TIMED)
    times = running_times()
    for name, row in zip(TESTS, times, strict=True):
        ratios = row / times[0]
        yield f"{name:<26}" + "".join(f"{ratio:>14.1f}" for ratio in ratios)
    return results, times


def draw(found):
    import matplotlib.pyplot as plt

    results, times = found
    fig, axes = plt.subplots(4, 3, figsize=(10.5, 12), layout="constrained")
    names = list(TESTS)
    # A row for each curve; the first two leave room for the times and the legend.
    places = iter(axes.flat)
    for title, axis, values, rates in results:
        ax = next(places)
        if ax is axes[0, 2] or ax is axes[1, 2]:
            ax = next(places)
        ax.axhline(LEVEL, color="0.5", linestyle=":")
        for name, (label, color, marker) in SHOWN.items():
            style = {"color": color, "marker": marker, "markersize": 4}
            ax.plot(values, rates[names.index(name)], label=label, **style)
        name, _, setting = title.rpartition(", ")
        ax.set_title(f"{name}\n{setting}", fontsize=10)
        ax.set_xlabel(axis.capitalize() if axis == "rows" else axis)
        if axis == "rows":
            ax.set_xscale("log")
            ax.set_xticks(SIZES, [str(n) for n in SIZES])
            ax.minorticks_off()
        ax.set_ylim(0, 0.12 if title.startswith("Calibrated") else 1.02)
    for ax in axes[:, 0]:
        ax.set_ylabel("Share rejected")
    clock = axes[1, 2]
    for name, (_, color, marker) in SHOWN.items():
        row = 1000 * times[names.index(name)]
        clock.plot(TIMED, row, color=color, marker=marker, markersize=4)
    clock.set(xscale="log", yscale="log", xlabel="Rows", ylabel="Milliseconds")
    clock.set_title("Time", fontsize=10)
    axes[0, 2].axis("off")
    legend = axes[0, 0].get_legend_handles_labels()
    axes[0, 2].legend(*legend, loc="center", frameon=False)
    return fig


if __name__ == "__main__":
    publish("power_tests", __doc__, report, full="2,000 samples, not 100", draw=draw)
