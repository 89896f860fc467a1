"""Axes of reliability diagrams: limits, ticks, panels, and what room text has."""

from functools import lru_cache

import numpy as np

STRIP = "skcal strip"
# Margin around the unit square, in data units.
MARGIN = 0.02
SMALLEST_FONT = 5.5


def lowest_strip(ax):
    strips = [artist for artist in ax.collections if artist.get_gid() == STRIP]
    ends = [path.vertices[:, 1].min() for s in strips for path in s.get_paths()]
    return min(ends, default=0.0)


def arrange(ax, xlabel, ylabel):
    """Limits that show everything, equal units, axis labels."""
    bottom = lowest_strip(ax)
    ax.set(
        xlim=(-MARGIN, 1 + MARGIN),
        ylim=(bottom - MARGIN, 1 + MARGIN),
        aspect="equal",
    )
    unit, _ = unit_in_inches(ax)
    size = font_size("axes.labelsize")
    for setter, text in ((ax.set_xlabel, xlabel), (ax.set_ylabel, ylabel)):
        room = 72.0 * unit * 1.1
        setter(text, fontsize=_fitted(size, text_width(text, size), room))


def set_ticks(ax):
    """As many ticks within [0, 1] as there is room for."""
    unit = unit_in_inches(ax)[0] / font_size("xtick.labelsize")
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


def font_size(key):
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties

    return FontProperties(size=rcParams[key]).get_size_in_points()


def _fitted(size, width, room):
    return max(min(size, SMALLEST_FONT), size * min(1.0, room / max(width, 1e-9)))


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


def settle_layout(figure):
    """Lay out panels of equal aspect, which takes constrained layout several passes.

    After one, as the first file that is saved has it, titles are cut off and axis
    labels are under the figure's legend.
    """
    for _ in range(3):
        figure.get_layout_engine().execute(figure)
