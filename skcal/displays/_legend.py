"""The legend of a reliability diagram: where it hides nothing, in letters that fit."""

import re

import numpy as np

from skcal.displays._axes import (
    MARGIN,
    SMALLEST_FONT,
    STRIP,
    font_size,
    lowest_strip,
    set_ticks,
    text_width,
    unit_in_inches,
)
from skcal.displays._parts import DIAGONAL

# Sizes of a legend that are tried before there is made room for it.
_LEGEND_SCALES = (1.0, 0.9, 0.8, 0.7, 0.6)
# A legend whose headroom would leave less of the diagram's size is put beside it.
_LEAST_KEPT = 0.6
_BORDER_PAD, _BORDER_AXES_PAD = 0.3, 0.5
_SPACING = {"labelspacing": 0.3, "handlelength": 1.6, "handletextpad": 0.6}
_BRACKETS = re.compile(r"^(.+) \((.+)\)$")


def place_legend(ax, own_figure=False):
    """A legend in a corner where nothing is, or else in headroom made for it.

    Where that would leave little of the diagram, it is beside it in a figure of ours.
    """
    handles, labels = ax.get_legend_handles_labels()
    if not labels:
        return None
    order = sorted(range(len(labels)), key=lambda k: _rank(labels[k]))
    handles, labels = [handles[k] for k in order], [labels[k] for k in order]
    full_size = font_size("legend.fontsize")
    wordings = _wordings(labels)
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    floor = -MARGIN if lowest_strip(ax) == 0.0 else 0.0
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
    fit, kept, _, choice = _headroom(ax, wordings, full_size)
    if own_figure and (fit < 1.0 or kept < _LEAST_KEPT):
        return _beside(ax, handles, *wordings[0], full_size)
    texts, size, n_columns, headroom = choice
    ax.set_ylim(bottom, 1.0 + headroom)
    return _legend(ax, handles, texts, size, ncols=n_columns)


def _headroom(ax, wordings, full_size):
    """A legend above the unit square that leaves most of it, in the largest letters.

    Returns
    -------
    fit, kept, scale : float
        The share of the legend that fits in the axes' width, what the square keeps of
        its size (at most 3/4), and the scale of the letters.
    choice : tuple
        Wording, size and number of columns of the legend, and its height.
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
    return max(found, key=lambda entry: entry[:3])


def _beside(ax, handles, texts, extents, size):
    """A legend on the right of the axes, and a figure that is wider by as much."""
    figure = ax.figure
    before = figure.get_figwidth()
    after = before + _legend_size(extents, size)[0] / 72.0
    figure.set_figwidth(after)
    if figure.get_layout_engine() is None:
        place = figure.subplotpars
        share = before / after
        figure.subplots_adjust(left=place.left * share, right=place.right * share)
    return _legend(ax, handles, texts, size, bbox_to_anchor=(1.0, 1.0))


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
    return max(scale * size, min(size, SMALLEST_FONT))


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


def _rank(label):
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
        if collection.get_gid() != STRIP:
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
        of_all = [k for k in range(len(labels)) if _rank(labels[k]) > 0]
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
