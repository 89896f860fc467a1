"""Ratios of rankECE and binned errors to the true l2-ECE, as tables and lines."""

from skcal import binned_ece

# Name, label in the figure, colour, marker.
STYLES = {
    "rankECE": ("rankECE", "tab:red", "o"),
    "10 bins": ("10 bins", "tab:blue", "s"),
    "n^(1/3) bins": (r"$n^{1/3}$ bins", "tab:green", "^"),
    "n^(1/2) bins": (r"$\sqrt{n}$ bins", "tab:orange", "v"),
    "n / 10 bins": (r"$n/10$ bins", "tab:purple", "D"),
    "n / 20 bins": (r"$n/20$ bins", "tab:purple", "D"),
}


def binned(n_bins, **options):
    return lambda y, p: binned_ece(y, p, n_bins=n_bins, norm="l2", **options)


def draw_ratios(ax, x, measures, mean, error):
    """A line with a band of one standard error for each measure that has a style.

    Parameters
    ----------
    x : sequence of n numbers
    measures : sequence of str
    mean, error : ndarray of shape (n_measures, n)
    """
    ax.axhline(1, color="0.5", linestyle=":")
    for name, center, half in zip(measures, mean, error, strict=True):
        if name not in STYLES:
            continue
        label, color, marker = STYLES[name]
        ax.plot(x, center, label=label, color=color, marker=marker, markersize=4)
        ax.fill_between(x, center - half, center + half, color=color, alpha=0.2, lw=0)
    ax.set_xscale("log")
