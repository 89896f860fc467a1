"""Time that recalibrators take to fit, beside their peers.

    python examples/benchmarks/speed_recalibrators.py          # print
    python examples/benchmarks/speed_recalibrators.py --full   # more rounds, log losses
    python examples/benchmarks/speed_recalibrators.py --save   # and keep in results/

Every comparison alternates the two contenders in one process, on the same data and one
thread. Times are processor times, subprocesses included, so that other processes on the
machine do not add to them; what counts is the median of the paired ratios. Only
scikit-learn is needed; netcal, betacal and probmetrics (with numba) are compared where
they are installed. Takes about a minute with all of them, with --full five.
"""

import contextlib
import importlib.metadata
import os
import tempfile
import warnings

import numpy as np
from _contenders import MISSING, OURS, peers
from _forecasts import BINARY, forecasts
from _output import publish
from _timing import processor_time, race, shown
from scipy.special import expit, softmax
from scipy.stats import sem
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import KFold

import skcal

BINARY_ROWS = 100_000
BOOSTED_ROWS = 4_000
TOO_SLOW = ("probmetrics spline",)  # a minute a fit
CV_TABLES = 6


# Data ---------------------------------------------------------------------------------


def two_classes(n, seed=0):
    """Over-confident probabilities whose log odds need a bend."""
    rng = np.random.default_rng(seed)
    score = 2 * rng.normal(size=n)
    y = (rng.uniform(size=n) < expit(score + 0.1 * score**2 - 0.3)).astype(np.int64)
    proba = expit(1.5 * score)
    return np.column_stack((1 - proba, proba)), y


def many_classes(n, k, seed=0):
    """Over-confident probabilities of a model that confuses some classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    centres = rng.normal(size=(k, k)) + 3 * np.eye(k)
    return softmax(1.5 * (centres[y] + 2 * rng.normal(size=(n, k))), axis=1), y


def adversarial(n):
    """Scores and means that made isotonic regression take quadratic time."""
    score = (np.arange(n) + 0.5) / n
    falling = np.arange(n)[::-1]
    alternating = np.where(np.arange(n) % 2, falling, falling - n)
    third = np.arange(n // 4)
    ramps = np.concatenate(
        (third, np.arange(n - 2 * third.size) - n // 4, third - third.size)
    )
    for name, target in (("alternating falling", alternating), ("three ramps", ramps)):
        mean = (target - target.min()) / np.ptp(target)
        yield name, score, mean


# Comparisons --------------------------------------------------------------------------


def speed_lines(theirs, full):
    yield f"{'':<29}{'rows':>8}{'k':>4}{'skcal':>10}  {'beside':<29}{'theirs':>10}"
    two, many = two_classes(BINARY_ROWS), many_classes(10_000, 10)
    boosted = two_classes(BOOSTED_ROWS)
    for name, data in (
        ("TemperatureScaling", two),
        ("PlattScaling", two),
        ("BetaCalibration", two),
        ("QuadraticScaling", two),
        ("IsotonicCalibration", two),
        ("IsotonicCalibration, centred", two),
        ("SplineCalibration", two),
        ("HistogramBinning, 10 bins", two),
        ("TemperatureScaling", many),
        ("EnsembleTemperatureScaling", many),
        ("VectorScaling", many),
        ("MatrixScaling", many),
        ("BoostedTemperatureScaling", boosted),
    ):
        k = data[0].shape[1]
        for peer, contender in theirs.items():
            if peer in TOO_SLOW:
                continue
            left_out = "multiclass" if k == 2 else "binary"
            if contender.beside == name and contender.kind != left_out:
                fits = OURS[name].fit, contender.fit
                yield speed_line(name, peer, *fits, *data, 4.0 if full else 0.5)


def speed_line(name, peer, ours, theirs, proba, y, budget):
    our_time, their_time, ratio = race(
        lambda: ours(proba, y),
        lambda: theirs(proba, y),
        budget=budget,
        clock=processor_time,
    )
    relation = f"{ratio:.1f} x faster" if ratio >= 1 else f"{1 / ratio:.2f} x the time"
    return (
        f"{name:<29}{y.size:>8,}{proba.shape[1]:>4}{shown(our_time):>10}  {peer:<29}"
        f"{shown(their_time):>10}   {relation}"
    )


def isotonic_lines(full):
    """Ours takes outcomes: a row each of 0 and 1, weighted, has the mean wanted."""
    for n in (10_000, 100_000):
        for name, score, mean in adversarial(n):
            twice, y = np.repeat(score, 2), np.tile([0, 1], n)
            weight = np.column_stack((1 - mean, mean)).ravel()
            ours, theirs, ratio = race(
                lambda: skcal.IsotonicCalibration().fit(twice, y, weight),  # noqa: B023
                lambda: IsotonicRegression().fit(twice, y, weight),  # noqa: B023
                budget=2.0 if full else 0.5,
            )
            yield (
                f"{name:<22}{2 * n:>8,} rows{shown(ours):>10}  IsotonicRegression"
                f"{shown(theirs):>10}   {ratio:.2f} x"
            )


def boosted_loss_lines(theirs):
    """Five-fold log loss of the boosted recalibrators on real forecasts."""
    peer = "probmetrics CatBoost"
    if peer not in theirs:
        return
    ours, losses = OURS["BoostedTemperatureScaling"], []
    for table in BINARY:
        # A model without probabilities of 0 and 1, which the two read differently.
        part = forecasts(table, "neural_net")
        if len(part["y_calib"]) < BOOSTED_ROWS or len(losses) == CV_TABLES:
            continue
        proba, y = part["proba_calib"][:BOOSTED_ROWS], part["y_calib"][:BOOSTED_ROWS]
        loss = np.zeros(2)
        for train, test in KFold(5).split(y):
            for which, contender in enumerate((ours, theirs[peer])):
                out = contender.fit(proba[train], y[train])(proba[test])
                happened = out[np.arange(test.size), y[test]]
                loss[which] -= np.log(np.maximum(happened, 1e-15)).sum() / y.size
        losses.append((table, *loss))
    yield f"{'':<16}{'skcal':>10}{'theirs':>10}{'difference':>12}"
    for table, our_loss, their_loss in losses:
        yield (
            f"{table:<16}{our_loss:10.5f}{their_loss:10.5f}"
            f"{our_loss - their_loss:12.5f}"
        )
    means = np.array([pair for _, *pair in losses])
    difference = means[:, 0] - means[:, 1]
    yield (
        f"{'mean':<16}{means[:, 0].mean():10.5f}{means[:, 1].mean():10.5f}"
        f"{difference.mean():12.5f} +- {sem(difference):.5f}"
    )


def report(full):
    theirs = dict(peers())
    names = ("numpy", "scipy", "scikit-learn", "catboost", "netcal", "betacal")
    names += ("probmetrics", "splinecalib", "cir-model")
    found = []
    for name in names:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found.append(f"{name} {importlib.metadata.version(name)}")
    yield "With " + ", ".join(found)
    for name, reason in MISSING.items():
        yield f"Left out: {name} ({reason})"
    yield "\nProcessor time of a fit: medians of runs in turns, median ratio of pairs\n"
    yield from speed_lines(theirs, full)
    yield "\nIsotonic regression of inputs that used to take quadratic time\n"
    yield from isotonic_lines(full)
    if not full:
        return
    yield (
        "\nCross-validated log loss of the boosted recalibrators, "
        f"{BOOSTED_ROWS:,} rows of a neural network\n"
    )
    yield from boosted_loss_lines(theirs)


if __name__ == "__main__":
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    scratch = tempfile.TemporaryDirectory()  # some peers write files
    with scratch, contextlib.chdir(scratch.name), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        publish(
            "speed_recalibrators",
            __doc__,
            report,
            full="more rounds, and what boosting does to the log loss",
        )
