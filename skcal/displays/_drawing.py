"""Parts of a reliability diagram, drawn on axes that may hold other diagrams.

What earlier calls drew is read from the axes: strips of densities lie below each other,
the diagonal and each kind of band have one legend entry, and the legend moves to where
it hides nothing. Sizes follow those of the axes. Global state is neither read beyond
matplotlib's own defaults nor changed.
"""

import re
from functools import lru_cache

import numpy as np

DIAGONAL = "Perfectly calibrated"
_STRIP = "skcal strip"
# Margin around the unit square, and the gap above each strip, in data units.
_MARGIN = 0.02
_GAP = 0.02
_MOST_SEGMENTS = 300
_SMALLEST_FONT = 5.5
_COUNTS_FONT = 0.7
# Sizes of a legend that are tried before there is made room for it.
_LEGEND_SCALES = (1.0, 0.9, 0.8, 0.7, 0.6)
_BORDER_PAD, _BORDER_AXES_PAD = 0.3, 0.5
_SPACING = {"labelspacing": 0.3, "handlelength": 1.6, "handletextpad": 0.6}
_BRACKETS = re.compile(r"^(.+) \((.+)\)$")


# Parts --------------------------------------------------------------------------------


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
    top = _lowest_strip(ax) - _GAP
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
    strip.set_gid(_STRIP)
    if len(densities) == 2:
        ax.plot([0, 1], [base, base], color=color, linewidth=0.6)
        size = _COUNTS_FONT * _font_size("xtick.labelsize")
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
    size = _COUNTS_FONT * _font_size("xtick.labelsize")
    widths = np.diff(edges) * width * 72.0
    needed = max((text_width(text, size) for text in texts), default=0.0)
    size *= min(1.0, 0.9 * widths.min() / max(needed, 1e-9))
    if size < 0.7 * _SMALLEST_FONT:
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


def _lowest_strip(ax):
    strips = [artist for artist in ax.collections if artist.get_gid() == _STRIP]
    ends = [path.vertices[:, 1].min() for s in strips for path in s.get_paths()]
    return min(ends, default=0.0)


# Axes ---------------------------------------------------------------------------------


def arrange(ax, xlabel, ylabel):
    """Limits that show everything, equal units, axis labels."""
    bottom = _lowest_strip(ax)
    ax.set(
        xlim=(-_MARGIN, 1 + _MARGIN),
        ylim=(bottom - _MARGIN, 1 + _MARGIN),
        aspect="equal",
    )
    unit, _ = unit_in_inches(ax)
    size = _font_size("axes.labelsize")
    for setter, text in ((ax.set_xlabel, xlabel), (ax.set_ylabel, ylabel)):
        room = 72.0 * unit * 1.1
        setter(text, fontsize=_fitted(size, text_width(text, size), room))


def set_ticks(ax):
    """As many ticks within [0, 1] as there is room for."""
    unit = unit_in_inches(ax)[0] / _font_size("xtick.labelsize")
    ticks = np.linspace(0, 1, 6 if unit > 0.16 else 3)
    ax.set(xticks=ticks, yticks=ticks)


def unit_in_inches(ax):
    """Width and height of the unit square on paper."""
    box = ax.get_position(original=True)
    inches = box.size * ax.figure.bbox.size / ax.figure.dpi
    x, y = np.diff(ax.get_xlim())[0], np.diff(ax.get_ylim())[0]
    if ax.get_aspect() == 1.0:
        unit = min(inches[0] / x, inches[1] / y)
        return unit, unit
    return inches[0] / x, inches[1] / y


def thin_line():
    """Width of a line that is drawn wider where there are forecasts."""
    from matplotlib import rcParams

    return 0.7 * rcParams["lines.linewidth"]


def _font_size(key):
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties

    return FontProperties(size=rcParams[key]).get_size_in_points()


def _fitted(size, width, room):
    return max(min(size, _SMALLEST_FONT), size * min(1.0, room / max(width, 1e-9)))


def text_width(text, size):
    """Width of the longest line of a text, in points."""
    from matplotlib import rcParams

    family = tuple(rcParams["font.family"])
    return size * max(_unit_width(line, family) for line in text.split("\n"))


@lru_cache(maxsize=256)
def _unit_width(line, family):
    """Width of a line of text at a size of one point."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    font = FontProperties(family=list(family), size=10.0)
    vertices = TextPath((0, 0), line, prop=font).vertices
    return 0.1 * vertices[:, 0].max() if len(vertices) else 0.0


# Legend -------------------------------------------------------------------------------


def place_legend(ax):
    """A legend in a corner where nothing is, or else in headroom made for it."""
    handles, labels = ax.get_legend_handles_labels()
    if not labels:
        return None
    order = sorted(range(len(labels)), key=lambda k: _rank(handles[k], labels[k]))
    handles, labels = [handles[k] for k in order], [labels[k] for k in order]
    full_size = _font_size("legend.fontsize")
    wordings = _wordings(labels)
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    floor = -_MARGIN if _lowest_strip(ax) == 0.0 else 0.0
    points = _drawn_points(ax)
    units = 72.0 * np.array(unit_in_inches(ax))
    for scale in _LEGEND_SCALES:
        size = _scaled(full_size, scale)
        for texts, extents in wordings:
            width, height = _legend_size(extents, size) / units
            if width > right - left:
                continue
            if _is_free(points, left, left + width, top - height, top):
                return _legend(ax, handles, texts, size)
            if _is_free(points, right - width, right, floor, floor + height):
                lift = (floor - bottom) / (top - bottom)
                anchor = (0, lift, 1, 1 - lift)
                return _legend(
                    ax, handles, texts, size, loc="lower right", bbox_to_anchor=anchor
                )
    texts, size, n_columns, headroom = _headroom(ax, wordings, full_size)
    ax.set_ylim(bottom, 1.0 + headroom)
    return _legend(ax, handles, texts, size, ncols=n_columns)


def _headroom(ax, wordings, full_size):
    """Wording, size and columns of a legend above the unit square, and its height.

    One that fits and leaves the square most of its size, with the largest letters.
    """
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    before = unit_in_inches(ax)[1]
    found = []
    for scale in _LEGEND_SCALES:
        size = _scaled(full_size, scale)
        for texts, extents in wordings:
            for n_columns in range(1, len(texts) + 1):
                columns = np.array_split(extents, n_columns)
                lengths = np.array([_legend_size(part, size) for part in columns])
                width, height = lengths[:, 0].sum() / 72.0, lengths[:, 1].max() / 72.0
                # More height makes the unit smaller, and the legend higher in units.
                for _ in range(5):
                    unit = unit_in_inches(ax)[1]
                    ax.set_ylim(bottom, 1.0 + height / unit)
                ax.set_ylim(bottom, top)
                fit = min(unit * (right - left) / width, 1.0)
                choice = (texts, size, n_columns, height / unit)
                found.append((fit, min(unit / before, 0.75), scale, choice))
    return max(found, key=lambda entry: entry[:3])[3]


def _legend(ax, handles, labels, size, **place):
    return ax.legend(
        handles,
        labels,
        fontsize=size,
        borderpad=_BORDER_PAD,
        borderaxespad=_BORDER_AXES_PAD,
        **{"loc": "upper left", **_SPACING, **place},
    )


def _scaled(size, scale):
    return max(scale * size, min(size, _SMALLEST_FONT))


def _wordings(labels):
    """The labels, and with what is in brackets on a second line, and their extents.

    Those are the width of the longest line at a size of one point, and the number of
    lines.
    """
    broken = [_BRACKETS.sub("\\1\n\\2", label) for label in labels]
    return [
        (
            texts,
            np.array([(text_width(t, 1.0), t.count("\n") + 1) for t in texts]),
        )
        for texts in (labels, broken)
    ]


def _rank(handle, label):
    """Curves first, then what explains the bands, then the diagonal."""
    if label == DIAGONAL:
        return 2
    return 1 if "band" in label or "interval" in label or "sd" in label else 0


def _legend_size(extents, size):
    """Width and height in points, with the distance to the axes."""
    around = 2.0 * (_BORDER_PAD + _BORDER_AXES_PAD)
    width = 1.05 * extents[:, 0].max() + _SPACING["handlelength"]
    width += _SPACING["handletextpad"]
    height = 1.25 * extents[:, 1].sum() + _SPACING["labelspacing"] * (len(extents) - 1)
    return size * (np.array([width, height]) + around)


def _drawn_points(ax):
    """Points on the lines and outlines of the axes, in data units, close together."""
    paths = [
        line.get_xydata() for line in ax.lines if line.get_transform() == ax.transData
    ]
    for collection in ax.collections:
        if collection.get_gid() != _STRIP:
            paths.extend(path.vertices for path in collection.get_paths())
    points = [np.zeros((0, 2))]
    for path in paths:
        path = np.asarray(path, dtype=float)
        path = path[:: max(1, len(path) // 500)]
        share = np.linspace(0.0, 1.0, 3 + 200 // len(path))[:, np.newaxis, np.newaxis]
        between = path[:-1] + share * np.diff(path, axis=0)
        points.append(between.reshape(-1, 2))
    points = np.concatenate(points)
    return points[np.isfinite(points).all(axis=1)]


def _is_free(points, left, right, bottom, top):
    x, y = points.T
    return not ((x > left) & (x < right) & (y > bottom) & (y < top)).any()


def place_panel_legends(axes, own_figure):
    """A legend of its curve on each panel, and one of what all share."""
    shared = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        of_all = [k for k in range(len(labels)) if _rank(handles[k], labels[k]) > 0]
        for k in of_all:
            shared.setdefault(labels[k], handles[k])
            if own_figure or ax is not axes[0]:
                handles[k].set_label("_" + labels[k])
        place_legend(ax)
    bottom = min(ax.get_ylim()[0] for ax in axes)
    top = max(ax.get_ylim()[1] for ax in axes)
    for ax in axes:
        ax.set_ylim(bottom, top)
        set_ticks(ax)
    if own_figure and shared:
        axes[0].figure.legend(
            shared.values(),
            [label.replace("\n", " ") for label in shared],
            loc="outside lower center",
            ncols=len(shared),
            fontsize="medium",
        )


def panels(n_panels):
    """Axes of a new figure, in rows and columns."""
    import matplotlib.pyplot as plt

    n_columns = n_panels if n_panels <= 4 else int(np.ceil(np.sqrt(n_panels)))
    n_rows = -(-n_panels // n_columns)
    _, axes = plt.subplots(
        n_rows,
        n_columns,
        squeeze=False,
        layout="constrained",
        figsize=(2.6 * n_columns + 0.4, 3.0 * n_rows + 0.6),
    )
    axes = axes.ravel()
    for ax in axes[n_panels:]:
        ax.remove()
    return axes[:n_panels]


def label_outer_only(axes):
    """Axis labels and tick labels at the left and at the bottom of the panels only."""
    for k, ax in enumerate(axes):
        spec = ax.get_subplotspec()
        n_columns = spec.get_gridspec().ncols
        if not spec.is_first_col():
            ax.set_ylabel("")
            ax.tick_params(labelleft=False)
        if k + n_columns < len(axes):
            ax.set_xlabel("")
            ax.tick_params(labelbottom=False)
