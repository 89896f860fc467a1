"""Bars, intervals and points of calibration errors."""

from skcal.displays._error_estimates import measure_title

_MARKERS = "os^D"
# Colour-blind safe, and the same as for over- and under-confidence in the guide.
_OVER, _UNDER, _REST = "C1", "C0", "0.75"


def total(estimate):
    """Where the point is: the error, or the whole loss."""
    return estimate.value + (estimate.refinement or 0.0)


def draw_estimate(ax, estimate, at, height, index, several):
    """One error: its parts as bars, then interval and point."""
    start = 0.0
    if estimate.refinement is not None:
        start = estimate.refinement
        ax.barh(at, start, height, color=_REST, label="refinement", lw=0)
        ax.barh(
            at,
            max(estimate.value, 0.0),
            height,
            left=start,
            color=_OVER,
            label="calibration",
            lw=0,
        )
    elif estimate.over is not None:
        left = 0.0
        for part, color, label in (
            (estimate.over, _OVER, "over-confident"),
            (estimate.under, _UNDER, "under-confident"),
        ):
            width = max(part, 0.0)
            ax.barh(
                at, width, height, left=left, color=color, alpha=0.55, label=label, lw=0
            )
            left += width
    elif estimate.reference is not None:
        ax.barh(
            at,
            estimate.reference,
            height,
            color=_REST,
            alpha=0.5,
            label="95 % of calibrated models",
            lw=0,
        )
    color = f"C{index}" if several else text_colour()
    ax.hlines(at, start + estimate.low, start + estimate.high, color=color, lw=1.5)
    ax.plot(
        start + estimate.value,
        at,
        _MARKERS[index % len(_MARKERS)],
        color=color,
        ms=5,
        label=measure_title(estimate.measure) if several else None,
    )


def text_colour():
    """The colour of text, light in dark styles."""
    from matplotlib import rcParams

    return rcParams["text.color"]
