"""Data and a patient generic optimiser, to test smooth parametric fits against."""

import numpy as np
from scipy.optimize import approx_fprime, minimize
from scipy.special import log_softmax, softmax


def draw(n_classes, n_samples=400, scale=1.5, temperature=2.0, seed=0):
    """Logits `temperature` times too large, and labels that all occur."""
    rng = np.random.default_rng(seed)
    logits = scale * rng.normal(size=(n_samples, n_classes))
    y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)
    return temperature * logits, y


def log_loss(proba, y, weight=None):
    with np.errstate(divide="ignore"):
        losses = -np.log(proba[np.arange(len(y)), y])
    return np.average(losses, weights=weight)


def logits_loss(logits, y, weight=None):
    losses = -log_softmax(logits, axis=1)[np.arange(len(y)), y]
    return np.average(losses, weights=weight)


def long_run(function, starts, bounds=None):
    """The smallest value that several generic optimisers reach from several starts."""
    best = np.inf
    for start in starts:
        found = minimize(
            function,
            start,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": 5000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-9},
        )
        best = min(best, found.fun)
        if len(start) < 5:
            polished = minimize(function, found.x, method="Nelder-Mead", bounds=bounds)
            best = min(best, polished.fun)
    return best


def slope_at(function, parameters):
    """Largest entry of the gradient, by central differences."""
    step = 1e-5
    forward = approx_fprime(parameters, function, step)
    backward = approx_fprime(parameters, function, -step)
    return np.abs(0.5 * (forward + backward)).max()


def repeated(logits, y, seed=1):
    """Integer weights, zeros among them, and the rows repeated so many times."""
    weight = np.random.default_rng(seed).integers(4, size=len(y)).astype(float)
    times = weight.astype(int)
    return weight, np.repeat(logits, times, axis=0), np.repeat(y, times)


def identity_loss(logits, y, weight=None):
    return log_loss(softmax(logits, axis=1), y, weight)
