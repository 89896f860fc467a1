"""Speed of the reliability diagram beside relplot's, and at ten million rows.

    python examples/benchmarks/speed_displays.py           # print
    python examples/benchmarks/speed_displays.py --save    # and keep in results/

Both draw the smooth diagram with its band and the interval of smECE, by default:
relplot with 200 replicates of the band and 100 of the interval, skcal with 300 of each.
They take turns in one process, on the same data and one thread, and render what they
draw. Times are the process's own; what counts is the median of the paired ratios. Needs
relplot. Takes about a minute.
"""

import importlib.metadata
import time
import warnings

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import relplot
from _output import publish
from _samples import two_classes

from skcal import ReliabilityDisplay

ROUNDS = 3


def seconds(draw):
    # relplot changes matplotlib's global style and warns of its own dependencies.
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        draw().canvas.draw()
        taken = time.process_time() - start
    plt.close("all")
    return taken


def ours(y, p, **options):
    return lambda: ReliabilityDisplay.from_predictions(y, p, **options).figure_


def theirs(y, p):
    return lambda: relplot.rel_diagram(p, y)[0]


def report():
    names = ["numpy", "scipy", "scikit-learn", "matplotlib", "relplot"]
    yield "With " + ", ".join(f"{n} {importlib.metadata.version(n)}" for n in names)
    yield "\nProcessor time in turns: diagram with band, interval and rendering\n"
    yield f"{'rows':>12}{'skcal':>10}{'relplot':>10}   ratio"
    for n in (1_000, 50_000):
        y, p = two_classes(n)
        draws = ours(y, p), theirs(y, p)
        for draw in draws:
            seconds(draw)  # warm caches and lazy imports
        times = np.array([[seconds(draw) for draw in draws] for _ in range(ROUNDS)])
        ratio = np.median(times[:, 1] / times[:, 0])
        mine, peers = np.median(times, axis=0)
        yield f"{n:>12,}{mine:8.2f} s{peers:8.2f} s   {ratio:.1f} x faster"
    yield "\nskcal alone, by kind\n"
    options = {
        "smooth": {},
        "smooth, band=None": {"band": None},
        'smooth, band="both"': {"band": "both"},
        "binned": {"kind": "binned"},
        "binned, quantile": {"kind": "binned", "strategy": "quantile"},
        "isotonic": {"kind": "isotonic"},
    }
    sizes = (50_000, 10_000_000)
    yield f"{'rows':<22}" + "".join(f"{n:>14,}" for n in sizes)
    samples = [two_classes(n) for n in sizes]
    for name, option in options.items():
        times = [seconds(ours(y, p, **option)) for y, p in samples]
        yield f"{name:<22}" + "".join(f"{taken:12.2f} s" for taken in times)


if __name__ == "__main__":
    publish("speed_displays", __doc__, report)
