"""How the time and memory of reliability diagrams grow, beside other packages.

    python examples/benchmarks/growth_displays.py          # to 100,000 rows, print
    python examples/benchmarks/growth_displays.py --full   # to ten million
    python examples/benchmarks/growth_displays.py --save   # and keep in results/

Every call draws and renders a figure. With bands, ours take 300 resamples and relplot
200. Only scikit-learn is needed; relplot and netcal, which needs PyTorch, are compared
where they are installed. Takes a minute, with --full five.
"""

import importlib.util

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from _growth import (
    EXPLANATION,
    SIZES,
    Contender,
    growth_lines,
    header,
    version_line,
)
from _output import publish
from _samples import two_classes
from sklearn.calibration import CalibrationDisplay

from skcal import CalibrationErrorDisplay, ReliabilityDisplay


def drawing(name, draw, **options):
    """A contender that draws a figure and renders it."""

    def prepare(y, p):
        def call():
            with mpl.rc_context():  # some change the global style
                draw(y, p).canvas.draw()
            plt.close("all")

        return call

    return Contender(name, prepare, **options)


def ours(name, **options):
    def draw(y, p):
        return ReliabilityDisplay.from_predictions(y, p, **options).figure_

    return drawing(name, draw)


def relplot(name, function, *args, **options):
    def draw(y, p):
        import relplot

        return getattr(relplot, function)(p, y.astype(float), *args, **options)[0]

    return [drawing(f"  relplot {name}", draw)] if installed("relplot") else []


def netcal(y, p):
    from netcal.presentation import ReliabilityDiagram

    return ReliabilityDiagram(10).plot(p, y)


def sklearn(strategy):
    def draw(y, p):
        options = dict(n_bins=10, strategy=strategy)
        return CalibrationDisplay.from_predictions(y, p, **options).figure_

    return drawing("  scikit-learn CalibrationDisplay", draw)


def installed(module):
    return importlib.util.find_spec(module) is not None


def errors(y, p):
    forecasts = {"as it is": p, "milder": 0.1 + 0.8 * p}
    return CalibrationErrorDisplay.from_predictions(y, forecasts).figure_


def groups():
    yield [
        ours("binned", kind="binned", band=None),
        sklearn("uniform"),
        *relplot("rel_diagram_binned", "rel_diagram_binned", 10),
        *([drawing("  netcal ReliabilityDiagram", netcal)] * installed("netcal")),
    ]
    yield [
        ours("binned, equal mass", kind="binned", strategy="quantile", band=None),
        sklearn("quantile"),
    ]
    bare = dict(plot_confidence_band=False, report_CE_std=False)
    yield [
        ours("smooth", band=None),
        *relplot("rel_diagram, no band", "rel_diagram", **bare),
    ]
    yield [
        ours("smooth, band and interval"),
        *relplot("rel_diagram", "rel_diagram"),
    ]
    yield [ours("binned, band", kind="binned")]
    yield [ours("isotonic", kind="isotonic", band=None)]
    yield [ours("isotonic, band", kind="isotonic")]
    yield [drawing("CalibrationErrorDisplay, of two", errors)]


def report(full):
    sizes, limit, budget = (SIZES, 20, 2.0) if full else (SIZES[:3], 5, 0.5)
    names = ("numpy", "scipy", "scikit-learn", "matplotlib", "relplot", "netcal")
    yield version_line(*names) + "\n"
    yield EXPLANATION.format(limit=limit) + "\n"
    yield header(sizes)
    for contenders in groups():
        yield from growth_lines(contenders, two_classes, sizes, limit, budget)


if __name__ == "__main__":
    publish("growth_displays", __doc__, report, full="to ten million rows")
