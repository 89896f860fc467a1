"""Forecasts of real models with a known truth, for the benchmarks of V-ECE.

    python examples/benchmarks/_semisynthetic.py            # fill the cache, list tasks
    python examples/benchmarks/_semisynthetic.py --quick    # a handful of them

A task is a table and a model of `_forecasts.py`. On the calibration part a map C from
forecasts to probabilities is fitted, which from then on is the truth: labels of the
test forecasts are drawn from C(f), several times, and their calibration error E D_f(C)
is known exactly. The maps are fitted by smoothers that are written here, so that no
recalibrator of the package has an advantage by its form. Everything is deterministic
and kept in a cache folder outside the repository.
"""

import argparse
import hashlib
import inspect
import os
import warnings
from itertools import groupby
from typing import NamedTuple

import numpy as np
from _forecasts import BINARY, CACHE, MODELS, MULTICLASS, forecasts
from scipy.interpolate import BSpline
from scipy.special import expit, logit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

# Fewer than 1,900 rows to fit a truth on.
SMALL = ("hmda", "wells", "loan", "cells", "breast", "chile", "leaves", "digits")
MAX_TEST = {True: 4_000, False: 2_000}  # of two classes, of more
DRAWS = 3
QUICK = ("arrests", "spam7", "poverty", "hpc")
LEAST = 1e-4  # forecasts nearer to 0 or 1 share a truth


class Task(NamedTuple):
    """Forecasts, their true probabilities and labels drawn from these."""

    table: str
    model: str
    generator: str
    proba: np.ndarray  # (n_samples,) for two classes, else (n_samples, n_classes)
    truth: np.ndarray  # of the same shape
    labels: np.ndarray  # (DRAWS, n_samples)
    key: str  # of how it was made

    @property
    def name(self):
        return f"{self.table}-{self.model}"

    @property
    def is_binary(self):
        return self.proba.ndim == 1


# Truths for two classes --------------------------------------------------------------


def log_odds(proba):
    return logit(np.clip(proba, LEAST, 1 - LEAST))


def penalised_spline(proba, y, new):
    """P-splines (Eilers and Marx 1996) on the log odds, with the penalty by AIC."""
    x = log_odds(proba)
    low, high = x.min(), x.max() + 1e-6
    step = (high - low) / 20
    knots = low + step * np.arange(-3, 24)

    def basis(x):
        return BSpline.design_matrix(np.clip(x, low, high - 1e-9), knots, 3).toarray()

    columns = basis(x)
    difference = np.diff(np.eye(columns.shape[1]), 2, axis=0)
    best, chosen = np.inf, None
    for penalty in 10.0 ** np.arange(-1, 5):
        roughness = penalty * difference.T @ difference
        roughness += 1e-6 * np.eye(len(roughness))
        coef = np.zeros(columns.shape[1])
        for _ in range(30):
            mean = np.clip(expit(columns @ coef), 1e-9, 1 - 1e-9)
            weighted = columns * (mean * (1 - mean))[:, np.newaxis]
            hessian = weighted.T @ columns
            gradient = columns.T @ (y - mean) - roughness @ coef
            coef += np.linalg.solve(hessian + roughness, gradient)
        deviance = -2 * np.sum(np.log(np.where(y == 1, mean, 1 - mean)))
        freedom = np.trace(np.linalg.solve(hessian + roughness, hessian))
        if deviance + 2 * freedom < best:
            best, chosen = deviance + 2 * freedom, coef
    return expit(basis(log_odds(new)) @ chosen)


def local_linear(proba, y, new):
    """Local linear regression (loess) over the nearest eighth of the log odds."""
    x = log_odds(proba)
    nodes = np.unique(np.quantile(x, np.linspace(0, 1, 101)))
    values = np.empty(nodes.size)
    for j, node in enumerate(nodes):
        distance = np.abs(x - node)
        width = max(np.quantile(distance, 1 / 8), 0.3)
        weight = np.clip(1 - (distance / width) ** 3, 0, None) ** 3
        centre, height = np.average(x, weights=weight), np.average(y, weights=weight)
        spread = np.average((x - centre) ** 2, weights=weight) + 1e-3
        slope = np.average((x - centre) * (y - height), weights=weight) / spread
        values[j] = height + slope * (node - centre)
    rarest = 0.5 / len(y)
    return np.clip(np.interp(log_odds(new), nodes, values), rarest, 1 - rarest)


# Truths for more classes -------------------------------------------------------------


def centred_logs(proba):
    logs = np.log(np.maximum(proba, LEAST))
    return logs - logs.mean(axis=1, keepdims=True)


def smoothed_dirichlet(proba, y, new):
    """A log-linear map of the log probabilities, and a kernel smooth of its residuals.

    The kernel reaches to the nearest twentieth of the rows, 200 at least.
    """
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    linear.fit(centred_logs(proba), y)
    first, first_new = (linear.predict_proba(centred_logs(p)) for p in (proba, new))
    residual = np.eye(proba.shape[1])[y] - first
    n_near = max(200, len(y) // 20)
    near = NearestNeighbors(n_neighbors=n_near).fit(np.sqrt(first))
    truth = np.empty_like(first_new)
    for rows in np.array_split(np.arange(len(new)), max(1, len(new) // 250)):
        distance, index = near.kneighbors(np.sqrt(first_new[rows]))
        reach = distance[:, -1:] + 1e-9
        weight = (1 - (distance / reach) ** 3) ** 3
        weight /= weight.sum(axis=1, keepdims=True)
        correction = np.einsum("ij,ijk->ik", weight, residual[index])
        truth[rows] = first_new[rows] + correction
    truth = np.maximum(truth, LEAST)
    return truth / truth.sum(axis=1, keepdims=True)


def neural_net(proba, y, new):
    """A small neural network on the log probabilities."""
    net = make_pipeline(
        StandardScaler(),
        MLPClassifier(
            (30,), "tanh", alpha=0.01, early_stopping=True, max_iter=60, random_state=0
        ),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        net.fit(centred_logs(proba), y)
    return net.predict_proba(centred_logs(new))


GENERATORS = {
    True: (penalised_spline, local_linear),
    False: (smoothed_dirichlet, neural_net),
}


# Tasks -------------------------------------------------------------------------------


def tables(binary):
    """Names of the tables that are large enough."""
    return [n for n in (BINARY if binary else MULTICLASS) if n not in SMALL]


def tasks(binary, quick=False):
    """All tasks of two classes, or of more. The generators alternate."""
    for i, table in enumerate(tables(binary)):
        if quick and table not in QUICK:
            continue
        for j, model in enumerate(MODELS):
            yield task(table, model, GENERATORS[binary][(i + j) % 2])


def task(table, model, generator):
    """One task, from the cache if it is there."""
    source = [inspect.getsource(part) for part in (generator, log_odds, centred_logs)]
    sizes = (MAX_TEST, DRAWS, LEAST, {**BINARY, **MULTICLASS}[table])
    key = hashlib.sha256(repr((source, sizes)).encode()).hexdigest()[:8]
    file = CACHE / f"truth-{table}-{model}-{generator.__name__}-{key}.npz"
    if not file.exists():
        made = _made(table, model, generator)
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_name(f"{os.getpid()}-{file.name}")
        np.savez(unfinished, **made)
        unfinished.replace(file)
    with np.load(file) as stored:
        return Task(table, model, generator.__name__, **stored, key=key)


def _made(table, model, generator):
    parts = forecasts(table, model)
    seed = int.from_bytes(hashlib.sha256(f"{table}-{model}".encode()).digest()[:4])
    rng = np.random.default_rng(seed)
    n_test = len(parts["y_test"])
    n_rows = min(n_test, MAX_TEST[parts["proba_test"].shape[1] == 2])
    rows = np.sort(rng.choice(n_test, n_rows, replace=False))
    calib, proba = parts["proba_calib"], parts["proba_test"][rows]
    calib, proba = (p / p.sum(axis=1, keepdims=True) for p in (calib, proba))
    if proba.shape[1] == 2:
        calib, proba = calib[:, 1], proba[:, 1]
    truth = generator(calib, parts["y_calib"], proba)
    below = truth if truth.ndim == 2 else np.column_stack((1 - truth, truth))
    below = below.cumsum(axis=1)[:, :-1]
    draws = rng.uniform(size=(DRAWS, len(rows), 1))
    return dict(proba=proba, truth=truth, labels=(draws > below).sum(axis=2))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a handful of tables")
    quick = parser.parse_args().quick
    for binary in (True, False):
        print(f"{'table':<16}{'rows':>6}{'classes':>8}  true L1 error, by model")
        for table, made in groupby(tasks(binary, quick), lambda task: task.table):
            made = list(made)
            errors = [
                np.abs(t.truth - t.proba).reshape(len(t.proba), -1).sum(axis=1).mean()
                for t in made
            ]
            classes = 2 if binary else made[0].proba.shape[1]
            shown = " ".join(f"{error:.3f}" for error in errors)
            print(
                f"{table:<16}{len(made[0].proba):>6}{classes:>8}  {shown}", flush=True
            )


if __name__ == "__main__":
    main()
