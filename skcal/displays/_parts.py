"""Parts of a reliability diagram, drawn on axes that may hold other diagrams.

What earlier calls drew is read from the axes: strips of densities lie below each other,
the diagonal and each kind of band have one legend entry, and the legend moves to where
it hides nothing. Sizes follow those of the axes. Global state is neither read beyond
matplotlib's own defaults nor changed.
"""

import numpy as np

from skcal.displays._axes import (
    SMALLEST_FONT,
    STRIP,
    font_size,
    lowest_strip,
    text_width,
    unit_in_inches,
)

DIAGONAL = "Perfectly calibrated"
# Gap above each strip, in data units.
_GAP = 0.02
_MOST_SEGMENTS = 300
_COUNTS_SIZE = 0.7


def draw_diagonal(ax):
    """The diagonal of perfect calibration, once per axes."""
    if DIAGONAL in ax.get_legend_handles_labels()[1]:
        return None
    (line,) = ax.plot(
        [0, 1], [0, 1], linestyle=":", color="0.5", label=DIAGONAL, zorder=1
    )
    return line


def draw_line(ax, x, y, style, broken):
    """The curve; with `broken` not across gaps, where nothing was observed to draw."""
    points = broken_at_gaps(x, y) if broken else (x, y)
    (line,) = ax.plot(*points, **style)
    return line


def broken_at_gaps(x, *others):
    """Points of lines with NaN in gaps."""
    step = np.diff(x)
    gaps = np.flatnonzero(step > 10.0 * np.median(step)) + 1 if step.size else []
    return tuple(np.insert(values, gaps, np.nan) for values in (x, *others))


def draw_widths(ax, line, density):
    """The line again, in widths that follow the density of the forecasts below it."""
    from matplotlib.collections import LineCollection

    if line.get_linestyle() != "-" or line.get_alpha() not in (None, 1):
        return None
    every = max(1, line.get_xdata().size // _MOST_SEGMENTS)
    points = line.get_xydata()[::every]
    thickness = np.sqrt(density / density.max())
    middle = 0.5 * (points[1:, 0] + points[:-1, 0])
    drawn = np.isfinite(points[1:] + points[:-1]).all(axis=1)
    if not drawn.any():
        return None
    at = np.arange(density.size) / (density.size - 1)
    widths = line.get_linewidth() * (0.5 + 1.7 * np.interp(middle, at, thickness))
    segments = np.stack([points[:-1], points[1:]], axis=1)
    return ax.add_collection(
        LineCollection(
            segments[drawn],
            linewidths=widths[drawn],
            colors=line.get_color(),
            capstyle="round",
            zorder=line.get_zorder(),
        ),
        autolim=False,
    )


def draw_band(ax, band, color, consistency, broken):
    """A shade around the curve, or an outlined one around the diagonal."""
    at, low, high = broken_at_gaps(*band) if broken else band
    style = {"color": color, "alpha": 0.22, "linewidth": 0, "zorder": 1.5}
    if consistency:
        style = {
            "facecolor": _faded(color, 0.1),
            "edgecolor": _faded(color, 0.6),
            "linestyle": (0, (4, 2)),
            "linewidth": 0.7,
            "zorder": 1.2,
        }
    return ax.fill_between(at, low, high, **style)


def draw_intervals(ax, band, color):
    """Upright intervals at the points of bins."""
    return ax.vlines(
        band.at, band.low, band.high, color=color, linewidth=1.3, alpha=0.8, zorder=1.9
    )


def draw_ranges(ax, band, color):
    """Ranges of calibrated bins: short upright boxes around the diagonal."""
    from matplotlib.collections import PolyCollection

    half = 0.012
    left, right = band.at - half, band.at + half
    corners = [[left, right, right, left], [band.low, band.low, band.high, band.high]]
    return ax.add_collection(
        PolyCollection(
            np.transpose(corners),
            facecolor=_faded(color, 0.12),
            edgecolor=_faded(color, 0.6),
            linestyle=(0, (4, 2)),
            linewidth=0.7,
            zorder=1.2,
        ),
        autolim=False,
    )


def _faded(color, alpha):
    from matplotlib.colors import to_rgba

    return (*to_rgba(color)[:3], alpha)


def draw_label_of_band(ax, label, consistency, intervals=False):
    """An entry of the legend, in grey: bands of all colours share it."""
    if label in ax.get_legend_handles_labels()[1]:
        return
    nothing = np.full(2, np.nan)
    if intervals:
        ax.plot(nothing, nothing, "|", color="0.5", markersize=9, mew=1.3, label=label)
    else:
        draw_band(
            ax, (np.zeros(2), nothing, nothing), "0.5", consistency, False
        ).set_label(label)


def draw_strip(ax, at, densities, height, color, edges=None):
    """Densities of the forecasts, in a strip of their own below the diagram.

    Two densities, of the rows without and with the event, stand back to back: the event
    upwards. With `edges` they are constant between these.
    """
    top = lowest_strip(ax) - _GAP
    scale = height / max(sum(density.max() for density in densities), 1e-300)
    step = None
    if edges is not None:
        at, step = edges, "post"
        densities = [np.append(density, 0.0) for density in densities]
    if len(densities) == 1:
        base = top - height
        upper, lower = base + scale * densities[0], np.full(at.shape, base)
    else:
        base = top - scale * densities[1].max()
        upper, lower = base + scale * densities[1], base - scale * densities[0]
    strip = ax.fill_between(
        at, lower, upper, step=step, color=color, alpha=0.35, linewidth=0
    )
    strip.set_gid(STRIP)
    if len(densities) == 2:
        ax.plot([0, 1], [base, base], color=color, linewidth=0.6)
        size = _COUNTS_SIZE * font_size("xtick.labelsize")
        for text, va in (("event", "bottom"), ("none", "top")):
            ax.annotate(
                text,
                (0.005, base),
                (0, 1 if va == "bottom" else -1),
                textcoords="offset points",
                fontsize=size,
                va=va,
            )
    return strip


def draw_counts(ax, strip, edges, counts):
    """Numbers of rows in the strip, if each fits above its bin."""
    bottom = min(path.vertices[:, 1].min() for path in strip.get_paths())
    width, _ = unit_in_inches(ax)
    texts = [_short(count) for count in counts]
    size = _COUNTS_SIZE * font_size("xtick.labelsize")
    widths = np.diff(edges) * width * 72.0
    needed = max((text_width(text, size) for text in texts), default=0.0)
    size *= min(1.0, 0.9 * widths.min() / max(needed, 1e-9))
    if size < 0.7 * SMALLEST_FONT:
        return []
    return [
        ax.text(
            0.5 * (edges[k] + edges[k + 1]),
            bottom + 0.01,
            text,
            fontsize=size,
            ha="center",
            va="bottom",
        )
        for k, text in enumerate(texts)
        if text != "0"
    ]


def _short(count):
    """A number of rows in at most four characters."""
    count = float(count)
    for scale, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= 0.9995 * scale:
            digits = 1 if count < 9.95 * scale else 0
            return f"{count / scale:.{digits}f}{letter}"
    return f"{count:.0f}"


def thin_line():
    """Width of a line that is drawn wider where there are forecasts."""
    from matplotlib import rcParams

    return 0.7 * rcParams["lines.linewidth"]
