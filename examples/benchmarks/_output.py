"""What the scripts share: `--full` and `--save`, lines printed as they come."""

import argparse
import io
from pathlib import Path

from PIL import Image
from threadpoolctl import threadpool_limits

RESULTS = Path(__file__).resolve().parent / "results"
IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"


def publish(name, description, report, *, full=None, draw=None):
    """Print the lines of a report, on one thread; keep them on request.

    Parameters
    ----------
    name : str
        Of the script: `--save` writes `results/NAME.txt` and `docs/images/NAME.png`.
    description : str
        The script's docstring, whose first line heads `--help`.
    report : generator function
        Yields lines. With `full` it takes one boolean.
    full : str, optional
        What `--full` does, for `--help`; without it there is no such option.
    draw : callable, optional
        Takes what `report` returns, and returns a figure, or several in a dictionary:
        that of key k is saved as `NAME_k.png`, that of the empty key as `NAME.png`.
    """
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    if full is not None:
        parser.add_argument("--full", action="store_true", help=full)
    files = f"{name}.txt" if draw is None else f"{name}.txt and {name}.png"
    parser.add_argument("--save", action="store_true", help=f"write {files}")
    options = parser.parse_args()

    with threadpool_limits(1):
        source = report() if full is None else report(options.full)
        lines, found = printed(source)
    if not options.save:
        return
    keep(name, lines)
    if draw is not None:
        figures = draw(found)
        for key, figure in (
            figures.items() if isinstance(figures, dict) else [("", figures)]
        ):
            keep_picture(f"{name}_{key}" if key else name, figure)


def printed(report):
    """The lines of a report, printed as they come, and what it returns."""
    lines = []
    while True:
        try:
            line = next(report).rstrip(" ")
        except StopIteration as end:
            return lines, end.value
        print(line, flush=True)
        lines.append(line)


def keep(name, lines):
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.txt").write_text("\n".join(lines).rstrip() + "\n")


def keep_picture(name, figure):
    IMAGES.mkdir(exist_ok=True)
    picture = io.BytesIO()
    figure.savefig(picture, dpi=110)
    # With a palette of 256 colours it takes a third of the bytes.
    small = Image.open(picture).convert("RGB").quantize(256, dither=0)
    small.save(IMAGES / f"{name}.png", optimize=True)
