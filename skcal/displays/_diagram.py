"""The drawing of a reliability diagram: curves together, of folds, or on panels."""

from typing import NamedTuple

import numpy as np

from skcal.displays._axes import (
    arrange,
    label_outer_only,
    panels,
    set_ticks,
    settle_layout,
)
from skcal.displays._curves import curves_of_display, mean_density
from skcal.displays._legend import place_legend, place_panel_legends
from skcal.displays._parts import (
    draw_band,
    draw_counts,
    draw_diagonal,
    draw_intervals,
    draw_label_of_band,
    draw_line,
    draw_ranges,
    draw_strip,
    draw_widths,
    thin_line,
)

_ERROR_NAMES = {"smooth": "smECE", "binned": "ECE", "isotonic": "MCB"}
_STRIP_HEIGHT, _STRIPS_HEIGHT = 0.09, 0.25


class Look(NamedTuple):
    """Choices of a drawing."""

    strip: str | None
    decomposition: str | None
    ref_line: bool


class Diagram:
    """A display on its way to paper.

    Parameters
    ----------
    display : ReliabilityDisplay
        What is drawn.
    name : str, list of str or None
        Name in the legend, or one for each curve.
    curve_kwargs : dict, list of dict or None
        Keyword arguments of the lines, or of each line.
    kwargs : dict
        More keyword arguments of all lines.
    look : Look
        Which parts are drawn.
    """

    def __init__(self, display, name, curve_kwargs, kwargs, look):
        self.display = display
        self.kind = display.kind
        self.curves = curves_of_display(display)
        self.name = name
        self.own_styles = isinstance(curve_kwargs, (list, tuple))
        self.styles = _styles(curve_kwargs, kwargs, len(self.curves))
        self.look = look

    def draw(self, ax):
        """Draw it, and return the attributes of the display: the artists by name."""
        several = self.display.several
        if several == "classes" and (ax is None or np.ndim(ax) > 0):
            return self._on_panels(ax)
        own_figure = ax is None
        if own_figure:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots()
        line = draw_diagonal(ax) if self.look.ref_line else None
        mean_line = None
        if several == "folds":
            drawn, mean_line = self._folds(ax)
        else:
            drawn = self._together(ax)
        arrange(ax, *self._axis_labels())
        place_legend(ax, own_figure)
        set_ticks(ax)
        curve, strip = self.curves[0], drawn[0]["density_"]
        if len(drawn) == 1 and strip and curve.bin_edges is not None:
            counts = np.zeros(curve.density.size)
            counts[curve.density > 0] = curve.rows
            draw_counts(ax, strip, curve.bin_edges, counts)
        return self._attributes(drawn, ax, ax.figure, line, mean_line)

    def _attributes(self, drawn, ax, figure, ref_line, mean_line=None):
        found = dict(ax_=ax, figure_=figure, ref_line_=ref_line, mean_line_=mean_line)
        for part in ("line_", "confidence_", "consistency_", "density_"):
            artists = [artists_of_curve[part] for artists_of_curve in drawn]
            found[part] = artists[0] if self.display.several is None else artists
        return found

    def _together(self, ax):
        labels = [
            self._label(curve, curve_name(self.name, self.display.curve_names, k))
            for k, curve in enumerate(self.curves)
        ]
        height = min(_STRIP_HEIGHT, _STRIPS_HEIGHT / len(self.curves))
        return [
            self._curve(ax, curve, label, style, self.look.strip, height)
            for curve, label, style in zip(
                self.curves, labels, self.styles, strict=True
            )
        ]

    def _label(self, curve, name):
        if not isinstance(self.kind, str):
            text = type(self.kind).__name__
        elif self.look.decomposition is not None and curve.decomposition is not None:
            parts = curve.decomposition[self.look.decomposition]
            text = (
                f"MCB {parts.miscalibration:.3f}, DSC {parts.discrimination:.3f}, "
                f"UNC {parts.uncertainty:.3f}"
            )
        elif curve.calibration_error is not None:
            digits = 4 if self.kind == "isotonic" else 3
            text = f"{_ERROR_NAMES[self.kind]} = {curve.calibration_error:.{digits}f}"
            if curve.error_interval is not None:
                low, high = curve.error_interval
                text += f" [{low:.{digits}f}, {high:.{digits}f}]"
        else:
            return name
        return text if name is None else f"{name} ({text})"

    def _axis_labels(self):
        display = self.display
        if display.multiclass == "confidence":
            return "Confidence", "Observed accuracy"
        event = ""
        if display.pos_label is not None:
            event = f" (positive class: {display.pos_label})"
        return f"Predicted probability{event}", f"Observed frequency{event}"

    def _curve(self, ax, curve, label, style, strip, height):
        """A curve with its bands and its strip, by the display's attributes."""
        smooth, binned = self.kind == "smooth", self.kind == "binned"
        default = {"marker": "o", "markersize": 4.5} if binned else {}
        if smooth and curve.density is not None:
            default["linewidth"] = thin_line()
        if label is not None:
            default["label"] = label
        line = draw_line(
            ax, curve.prob_pred, curve.prob_true, {**default, **style}, smooth
        )
        color = line.get_color()
        drawn = {"line_": line, "confidence_": None, "consistency_": None}
        if smooth and curve.density is not None:
            draw_widths(ax, line, curve.density)
        level = f"{100 * self.display.confidence_level:g} %"
        if curve.confidence_band is not None:
            if binned:
                text = f"{level} Wilson intervals"
                artist = draw_intervals(ax, curve.confidence_band, color)
            else:
                text = f"{level} confidence band"
                artist = draw_band(ax, curve.confidence_band, color, False, smooth)
            drawn["confidence_"] = artist
            draw_label_of_band(ax, text, False, binned)
        if curve.consistency_band is not None:
            band = curve.consistency_band
            if binned:
                artist = draw_ranges(ax, band, color)
            else:
                artist = draw_band(ax, band, color, True, smooth)
            drawn["consistency_"] = artist
            text = f"{level} consistency band (if calibrated)"
            draw_label_of_band(ax, text, True)
        drawn["density_"] = _draw_strip(ax, curve, color, strip, height)
        return drawn

    def _folds(self, ax):
        default = {"linewidth": 0.8, "alpha": 0.6, "marker": None}
        display, name, own_styles = self.display, self.name, self.own_styles
        drawn = []
        for k, (curve, style) in enumerate(zip(self.curves, self.styles, strict=True)):
            if drawn and not own_styles:
                style = {"color": drawn[0]["line_"].get_color(), **style}
            label = None
            if own_styles:
                fold = name[k] if isinstance(name, (list, tuple)) else None
                label = self._label(curve, fold or display.curve_names[k])
            drawn.append(self._curve(ax, curve, label, {**default, **style}, None, 0.0))
        color = "0.5" if own_styles else drawn[0]["line_"].get_color()
        at, mean, deviation = display.mean_curve
        label = "Mean" if name is None or own_styles else str(name)
        errors = display.calibration_error
        if isinstance(self.kind, str) and errors is not None and errors[0] is not None:
            error = _ERROR_NAMES[self.kind]
            label += f" ({error} = {np.mean(errors):.3f} ± {np.std(errors):.3f})"
        (mean_line,) = ax.plot(
            at, mean, color=color, linewidth=2.2, zorder=2.5, label=label
        )
        spread = (at, mean - deviation, mean + deviation)
        draw_band(ax, spread, color, False, False)
        draw_label_of_band(ax, f"Mean ± sd of {len(self.curves)} folds", False)
        whole = mean_density(self.curves)
        if whole is not None:
            drawn[0]["density_"] = _draw_strip(
                ax, whole, color, self.look.strip, _STRIP_HEIGHT
            )
        return drawn, mean_line

    def _on_panels(self, ax):
        n_curves = len(self.curves)
        own_figure = ax is None
        if own_figure:
            axes = panels(n_curves)
        else:
            axes = np.asarray(ax, dtype=object).ravel()
            if axes.size < n_curves:
                raise ValueError(
                    f"ax has {axes.size} axes for {n_curves} classes. Pass one per "
                    "class, a single Axes for all classes together, or None."
                )
        axes = axes[:n_curves]
        drawn, references = [], []
        for k, (panel, curve) in enumerate(zip(axes, self.curves, strict=True)):
            references.append(draw_diagonal(panel) if self.look.ref_line else None)
            own = self.name[k] if isinstance(self.name, (list, tuple)) else self.name
            label = self._label(curve, own)
            drawn.append(
                self._curve(
                    panel,
                    curve,
                    label,
                    self.styles[k],
                    self.look.strip,
                    _STRIP_HEIGHT,
                )
            )
            arrange(panel, *self._axis_labels())
            panel.set_title(self.display.curve_names[k], fontsize="medium")
        place_panel_legends(axes, own_figure)
        if own_figure:
            label_outer_only(axes)
            settle_layout(axes[0].figure)
        return self._attributes(drawn, axes, axes[0].figure, references[0])


def curve_name(name, curve_names, k):
    """Name of a curve in the legend, None where it has none."""
    if isinstance(name, (list, tuple)):
        return name[k]
    if curve_names is None:
        return name
    own = curve_names[k]
    return own if name is None else f"{name}, {own}"


def _draw_strip(ax, curve, color, strip, height):
    densities = None if strip is None else [curve.density]
    if strip == "outcome" and curve.outcome_density is not None:
        densities = list(curve.outcome_density)
    if densities is None or densities[0] is None:
        return None
    at, edges = curve.density_at, curve.bin_edges
    if edges is None and at[0] > 0.0:
        # A histogram of equal cells around these points.
        edges = np.append(at - at[0], 1.0)
    return draw_strip(ax, at, densities, height, color, edges)


def _styles(curve_kwargs, kwargs, n_curves):
    """Keyword arguments of each curve's line."""
    if isinstance(curve_kwargs, (list, tuple)):
        if len(curve_kwargs) != n_curves:
            raise ValueError(
                "curve_kwargs must be None, a dictionary or a list with one for each "
                f"of the {n_curves} curves. Got {len(curve_kwargs)}."
            )
    else:
        curve_kwargs = [curve_kwargs or {}] * n_curves
    return [{**_normalised(own), **_normalised(kwargs)} for own in curve_kwargs]


def _normalised(kwargs):
    """Keyword arguments of a line with aliases such as ``c`` spelled out."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return normalize_kwargs(kwargs, Line2D)
