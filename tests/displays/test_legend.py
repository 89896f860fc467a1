"""Counts, strips and legends: that nothing hides anything."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skcal import ReliabilityDisplay
from tests.displays.samples import KINDS, P, Y, every_kind


def test_bins_show_their_counts():
    display = ReliabilityDisplay.from_predictions(Y, P, kind="binned", n_bins=8)
    counts, edges = np.histogram(P, bins=8, range=(0, 1))
    assert_array_equal(display.bin_edges, edges)
    assert_array_equal(display.rows, counts[counts > 0])
    texts = [text.get_text() for text in display.ax_.texts]
    assert texts == [str(count) for count in counts if count]
    assert_allclose(display.density, counts * 8 / Y.size)


@every_kind
def test_strip_by_outcome(kind):
    display = ReliabilityDisplay.from_predictions(Y, P, kind=kind, strip="outcome")
    assert_allclose(display.outcome_density.sum(axis=0), display.density)
    if kind != "smooth":
        widths = np.diff(display.bin_edges) if kind == "binned" else 1 / 40
        shares = (display.outcome_density * widths).sum(axis=1)
        assert_allclose(shares, [np.mean(Y == 0), np.mean(Y == 1)])
    assert {"event", "none"} <= {text.get_text() for text in display.ax_.texts}
    plain = ReliabilityDisplay.from_predictions(Y, P, kind=kind, strip=None)
    assert plain.density_ is None


def _extent(artist):
    heights = np.concatenate([path.vertices[:, 1] for path in artist.get_paths()])
    return heights.min(), heights.max()


def test_strips_of_several_models_do_not_collide():
    _, ax = plt.subplots()
    extents = []
    for power in (1, 2, 3):
        display = ReliabilityDisplay.from_predictions(Y, P**power, ax=ax)
        extents.append(_extent(display.density_))
    for (_, higher), (lower, _) in zip(extents[1:], extents, strict=False):
        assert higher < lower
    assert extents[-1][0] >= ax.get_ylim()[0]
    assert ax.get_yticks().min() >= 0


@pytest.mark.parametrize(
    ("size", "n_models"),
    [
        ((3.0, 3.2), 1),
        ((3.0, 3.2), 2),
        ((5.0, 3.0), 1),
        ((6.4, 4.8), 1),
        ((6.4, 4.8), 4),
        ((10.0, 7.5), 2),
        ((10.0, 7.5), 4),
    ],
    ids=str,
)
def test_legends_hide_no_data(size, n_models):
    figure, ax = plt.subplots(figsize=size, layout="constrained")
    for k in range(n_models):
        display = ReliabilityDisplay.from_predictions(
            Y, P ** (0.6 + 0.5 * k), name=f"Model number {k}", ax=ax, n_resamples=20
        )
    figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    paths = [line.get_xydata() for line in ax.lines]
    paths += [path.vertices for c in ax.collections for path in c.get_paths()]
    points = ax.transData.transform(np.concatenate(paths))
    points = points[np.isfinite(points).all(axis=1)]
    hidden = (points > legend.min) & (points < legend.max)
    assert not hidden.all(axis=1).any()
    # And it stays on the axes.
    box = ax.get_window_extent()
    assert legend.x0 >= box.x0
    assert legend.x1 <= box.x1 + 0.02 * box.width
    assert legend.y1 <= box.y1
    assert display.line_.get_label() in ax.get_legend_handles_labels()[1]


@pytest.mark.parametrize("layout", [None, "constrained"])
def test_legend_of_many_groups_is_beside_the_diagram(layout):
    rng = np.random.default_rng(0)
    groups = rng.integers(10, size=Y.size)
    with plt.rc_context({"figure.constrained_layout.use": layout is not None}):
        few = ReliabilityDisplay.from_predictions(Y, P)
        many = ReliabilityDisplay.from_predictions(Y, P, groups=groups)
    for display in (few, many):
        display.figure_.canvas.draw()
    legend, diagram = (
        artist.get_window_extent() for artist in (many.ax_.get_legend(), many.ax_)
    )
    assert diagram.x1 <= legend.x0
    assert legend.x1 <= many.figure_.bbox.x1
    sides = [d.ax_.transData.transform([(0, 0), (1, 1)]) for d in (few, many)]
    widths = [side[1, 0] - side[0, 0] for side in sides]
    assert widths[1] > 0.6 * widths[0]


def test_number_of_artists_does_not_grow_with_the_rows():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=100_000)
    y = rng.uniform(size=p.size) < p
    for kind in KINDS:
        ax = ReliabilityDisplay.from_predictions(y, p, kind=kind, n_resamples=20).ax_
        assert len(ax.get_children()) < 50
        sizes = [len(path.vertices) for c in ax.collections for path in c.get_paths()]
        sizes += [line.get_xdata().size for line in ax.lines]
        assert sum(sizes) < 20_000
