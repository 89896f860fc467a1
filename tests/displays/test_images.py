"""Pictures compared with stored ones.

Texts are left out, and the pictures are small: fonts and antialiasing differ between
versions of matplotlib, what is drawn where does not. After a wanted change,

    python -m tests.displays.test_images

draws the stored ones anew; look at them before they are committed.
"""

from pathlib import Path

import matplotlib.image
import matplotlib.style
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from skcal import ReliabilityDisplay

BASELINE = Path(__file__).parent / "baseline"
# Root mean square difference of grey levels, of 255. Of matplotlib 3.8.4 and 3.11.2 it
# is 0.2; of two different pictures it is above 10.
TOLERANCE = 2.0
N = 600


def _sample():
    """An overconfident model of two and one of three classes, without chance."""
    p = (np.arange(N) + 0.5) / N
    p = 0.5 - 0.5 * np.cos(np.pi * p)
    y = (np.arange(N) * 0.618034) % 1.0 < 0.15 + 0.7 * p
    rest = 0.3 + 0.4 * ((np.arange(N) * 0.414214) % 1.0)
    three = np.column_stack([p, (1 - p) * rest, (1 - p) * (1 - rest)])
    label = np.where(y, 0, 1 + ((np.arange(N) * 0.732051) % 1.0 > rest))
    return y, p, label, three


def smooth(figure):
    y, p, _, _ = _sample()
    ax = figure.add_subplot()
    ReliabilityDisplay.from_predictions(y, p, ax=ax, band="both", strip="outcome")


def binned(figure):
    y, p, _, _ = _sample()
    ax = figure.add_subplot()
    ReliabilityDisplay.from_predictions(y, p, ax=ax, kind="binned", band="both")


def isotonic(figure):
    y, p, _, _ = _sample()
    ax = figure.add_subplot()
    ReliabilityDisplay.from_predictions(y, p, ax=ax, kind="isotonic", band="both")


def dark(figure):
    y, p, _, _ = _sample()
    ax = figure.add_subplot()
    for forecast in (p, 0.1 + 0.8 * p, 0.5 + 0.3 * (p - 0.5)):
        ReliabilityDisplay.from_predictions(y, forecast, ax=ax)


def classwise(figure):
    _, _, label, three = _sample()
    axes = figure.subplots(1, 3)
    ReliabilityDisplay.from_predictions(
        label, three, ax=axes, multiclass="classwise", kind="binned", n_bins=5
    )


PICTURES = {picture.__name__: picture for picture in (smooth, binned, isotonic, dark)}
PICTURES["classwise"] = classwise


def drawn(name):
    """Grey levels of a picture, of 150 times 150 pixels."""
    style = "dark_background" if name == "dark" else "default"
    with matplotlib.style.context(style):
        figure = Figure(figsize=(5, 5), dpi=60)
        PICTURES[name](figure)
        for ax in figure.axes:
            ax.get_legend().remove()
            ax.set(xlabel="", ylabel="", title="", xticklabels=[], yticklabels=[])
            for text in list(ax.texts):
                text.remove()
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
    levels = np.asarray(canvas.buffer_rgba())[..., :3].mean(axis=2)
    return levels.reshape(150, 2, 150, 2).mean(axis=(1, 3))


def stored(name):
    levels = matplotlib.image.imread(BASELINE / f"{name}.png")
    return 255.0 * levels[..., :3].mean(axis=2)


def distance(one, other):
    return float(np.sqrt(np.mean((one - other) ** 2)))


@pytest.mark.parametrize("name", PICTURES)
def test_picture(name):
    assert distance(drawn(name), stored(name)) < TOLERANCE


def test_the_tolerance_tells_pictures_apart():
    pictures = [stored(name) for name in PICTURES if name != "dark"]
    for k, one in enumerate(pictures):
        for other in pictures[:k]:
            assert distance(one, other) > 5 * TOLERANCE


def test_the_tolerance_notices_a_missing_band():
    bare = drawn("smooth")
    assert distance(bare, stored("smooth")) < TOLERANCE
    y, p, _, _ = _sample()

    def without(figure):
        ReliabilityDisplay.from_predictions(y, p, ax=figure.add_subplot(), band=None)

    PICTURES["without"] = without
    try:
        assert distance(drawn("without"), stored("smooth")) > TOLERANCE
    finally:
        del PICTURES["without"]


if __name__ == "__main__":
    BASELINE.mkdir(exist_ok=True)
    for name in PICTURES:
        levels = np.repeat(drawn(name)[..., np.newaxis], 3, axis=2).astype(np.uint8)
        matplotlib.image.imsave(BASELINE / f"{name}.png", levels)
