"""Kernel regression on the simplex, with Beta and Dirichlet kernels."""

from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, log_expit, log_softmax, softmax
from sklearn.utils.validation import check_is_fitted

from skcal._core.pooling import cells_of, two_point_rule
from skcal._sklearn import Interval
from skcal.recalibration._base import BaseRecalibrator

# Multiplications per block of rows, which bounds the memory. OpenBLAS uses one thread
# up to 2**18, and waiting for a second one costs far more than such products do.
_BLOCK = 1 << 18
# Log densities this far below the highest count as this far: in sums they are nothing,
# and numbers below 1e-308 are a hundred times slower.
_FAINT = -700.0
# Powers of ten among which the bandwidth is looked for, then refined to this fineness.
_WIDEST, _NARROWEST, _STEP, _FINENESS = 1.0, -4.0, 0.5, 0.1
# Distinct scores of two classes from which the kernels are summed on a grid.
_MANY_SCORES = 1000
# Cells and nodes of the grid per standard deviation of the kernel, and the nodes'
# largest distance in log odds.
_CELLS, _NODES, _LOG_ODDS_STEP = 16.0, 8.0, 0.0625
# Cells in log odds in which the leave-one-out loss is summed.
_LOSS_CELLS = 2048
# Probabilities are within these log odds.
_REACH = 37.0
# Rows that choose the bandwidth times rows they are compared with, three classes up.
_MOST_PAIRS = 2e7
# A row alone in its neighbourhood is left out exactly, not on the grid.
_ALONE = 1e-2


class KernelCalibration(BaseRecalibrator):
    r"""Kernel calibration: the mean outcome of the training rows with like scores.

    A kernel regression of the labels on the whole probability vector, with Beta kernels
    for two classes and Dirichlet kernels for more, which know the borders of the
    simplex. It assumes nothing but smoothness; with more than a few classes that takes
    very many rows. The training rows are the model: this is the one recalibrator that
    keeps them, and its pickle grows with them.

    Read more in the :ref:`User Guide <kernel_calibration>`.

    Parameters
    ----------
    bandwidth : float, default=None
        Bandwidth h of the kernels. A kernel centred at p has about the variance
        h p (1 - p). None takes, between 1e-4 and 10, the one with the least log loss of
        the training rows, each left out in turn.
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order. Give them where `y` may lack a class.
    input : {"proba", "logits"}, default="proba"
        What is given to `fit` and `transform`: probabilities, or logits.

    Attributes
    ----------
    bandwidth_ : float
        Bandwidth that was given or found.
    classes_ : ndarray of shape (n_classes,)
        The labels in sorted order.
    n_features_in_ : int
        Number of columns seen during `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns seen during `fit`, where they have string names.

    See Also
    --------
    SplineCalibration : A smooth map that needs no training rows once fitted.

    Notes
    -----
    With training scores :math:`p_i`, one-hot labels :math:`y_i` and weights
    :math:`w_i`,

    .. math::
        g(p) = \frac{\sum_i w_i\, y_i\, k_h(p; p_i)}{\sum_i w_i\, k_h(p; p_i)},
        \qquad k_h(p; p_i) \propto
        \prod_c \frac{p_c^{\,p_{ic} / h}}{\Gamma(p_{ic} / h + 1)},

    where :math:`k_h(\cdot\,; p_i)` is the density of the Dirichlet distribution with
    parameters :math:`p_i / h + 1`, whose mode is :math:`p_i`; a Beta distribution for
    two classes. A class that the training labels lack keeps its probability, and the
    others share the rest.

    `transform` of a training row counts the row itself, so it is optimistic there;
    :meth:`leave_one_out` is not. A weight of k is k rows, of which one is left out.

    m rows cost m times the number of distinct training rows; memory stays flat. For
    two classes and more than 1,000 distinct scores the sums are taken on a grid in
    score, of training rows condensed to a few thousand points, in a time that hardly
    depends on the number of rows: probabilities are then accurate to 1e-5 or better.
    For three classes or more an evenly spaced part of the rows chooses the bandwidth,
    where all of them would need more than 2e7 kernel values for each one tried.

    References
    ----------
    .. [1] T. Popordanoska, R. Sayer and M. B. Blaschko, "A Consistent and
       Differentiable Lp Canonical Calibration Error Estimator", NeurIPS 2022.
       `arXiv:2210.07810 <https://arxiv.org/abs/2210.07810>`_
    .. [2] S. X. Chen, "Beta Kernel Estimators for Density Functions", Computational
       Statistics & Data Analysis 31(2), 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.recalibration import KernelCalibration
    >>> rng = np.random.default_rng(0)
    >>> proba = rng.uniform(size=5_000)
    >>> y = rng.uniform(size=5_000) < proba**2
    >>> kernel = KernelCalibration().fit(proba, y)
    >>> kernel.transform([0.2, 0.5, 0.9])[:, 1].round(1)
    array([0. , 0.3, 0.8])
    """

    _parameter_constraints: dict = {
        **BaseRecalibrator._parameter_constraints,
        "bandwidth": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(self, *, bandwidth=None, labels=None, input="proba"):
        self.bandwidth = bandwidth
        self.labels = labels
        self.input = input

    def _fit_scores(self, scores, codes, weight):
        self._rows = _pooled(scores, codes, weight)
        if self.bandwidth is not None:
            self.bandwidth_ = float(self.bandwidth)
        elif self._rows.n_present > 1:
            self.bandwidth_ = _best_bandwidth(self._rows)
        else:
            self.bandwidth_ = 10.0**_WIDEST
        self._grid = None
        if _is_gridded(self._rows, self.bandwidth_):
            self._grid = _Grid(self._rows, self.bandwidth_)

    def _apply_scores(self, scores):
        return self._with_absent(scores, self._shares(scores))

    def leave_one_out(self):
        """Repaired probabilities of the training rows, each from all others.

        Returns
        -------
        repaired : ndarray of shape (n_rows, n_classes)
            One row for each training row of positive weight, in the order of `fit`. A
            row without any other keeps its probabilities.
        """
        check_is_fitted(self)
        rows = self._rows
        index, codes, left_out = rows.index, rows.codes, np.minimum(rows.weight, 1.0)
        scores = rows.scores[index]
        if self._grid is None:
            shares = _left_out_shares(rows, self.bandwidth_, index, codes, left_out)
        else:
            log_odds = scores[:, 1] - scores[:, 0]
            sums, rest = self._grid.sums_left_out(log_odds, codes, left_out)
            shares = softmax(sums, axis=1)
            few = rest < _ALONE
            shares[few] = _left_out_shares(
                rows, self.bandwidth_, index[few], codes[few], left_out[few]
            )
        alone = ~(shares.sum(axis=1) > 0.0)
        shares[alone] = softmax(scores[alone], axis=1)
        return self._with_absent(scores, shares)

    def _shares(self, scores):
        if self._grid is None:
            return _shares(self._rows, self.bandwidth_, _log_proba(scores))
        return softmax(self._grid.sums(scores[:, 1] - scores[:, 0]), axis=1)

    def _with_absent(self, scores, shares):
        """Classes that the training labels lack keep their probabilities."""
        absent = ~self._rows.present
        if not absent.any():
            return shares
        proba = softmax(scores, axis=1)
        if self._rows.n_present == 1:
            return proba
        kept = proba[:, absent].sum(axis=1, keepdims=True)
        shares = shares * (1.0 - kept)
        shares[:, absent] = proba[:, absent]
        return shares


class _Rows(NamedTuple):
    """Training rows: what is distinct among them, and which each of them is."""

    scores: np.ndarray  # of the distinct rows, (n_distinct, n_classes)
    mass: np.ndarray  # their weight by class, (n_distinct, n_classes)
    index: np.ndarray  # of each row among the distinct ones, (n_rows,)
    codes: np.ndarray
    weight: np.ndarray

    @property
    def present(self):
        return self.mass.any(axis=0)

    @property
    def n_present(self):
        return int(np.count_nonzero(self.present))


def _pooled(scores, codes, weight):
    if scores.shape[1] == 2:
        distinct, index = np.unique(scores[:, 1], return_inverse=True)
        distinct = np.column_stack([-distinct, distinct])
    else:
        distinct, index = np.unique(scores, axis=0, return_inverse=True)
    index = index.ravel()
    n_classes = scores.shape[1]
    cell = index * n_classes + codes
    mass = np.bincount(cell, weight, distinct.shape[0] * n_classes)
    return _Rows(distinct, mass.reshape(-1, n_classes), index, codes, weight)


def _log_proba(scores):
    if scores.shape[1] == 2:
        # Exact however close to 0 and 1.
        log_odds = scores[:, 1] - scores[:, 0]
        return np.column_stack([log_expit(-log_odds), log_expit(log_odds)])
    return log_softmax(scores, axis=1)


# Row by row ---------------------------------------------------------------------------


class _Kernels(NamedTuple):
    """Dirichlet log densities as functions of log probabilities: linear ones."""

    slope: np.ndarray
    intercept: np.ndarray

    @classmethod
    def around(cls, proba, bandwidth):
        slope = proba / bandwidth
        norm = gammaln(slope.sum(axis=1) + slope.shape[1])
        return cls(slope, norm - gammaln(slope + 1.0).sum(axis=1))

    def log_densities(self, log_proba):
        """Yield blocks of points and the kernels' log densities there.

        They have shape (n_points, n_kernels) and are overwritten by the next block.
        """
        n_points, n_kernels = log_proba.shape[0], self.intercept.size
        size = max(1, min(_BLOCK // self.slope.size, n_points))
        buffer = np.empty((size, n_kernels))
        for start in range(0, n_points, size):
            block = slice(start, min(start + size, n_points))
            density = buffer[: block.stop - start]
            np.matmul(log_proba[block], self.slope.T, out=density)
            density += self.intercept
            yield block, density


def _exp(density):
    """Exponentials relative to each row's highest, in place."""
    np.maximum(density, _FAINT, out=density)
    return np.exp(density, out=density)


def _shares(rows, bandwidth, log_proba):
    """Shares of the classes among the training rows near each point."""
    kernels = _Kernels.around(np.exp(_log_proba(rows.scores)), bandwidth)
    shares = np.empty(log_proba.shape)
    for block, density in kernels.log_densities(log_proba):
        density -= density.max(axis=1, keepdims=True)
        shares[block] = _exp(density) @ rows.mass
    return shares / shares.sum(axis=1, keepdims=True)


def _left_out_shares(rows, bandwidth, index, codes, left_out):
    """The same at training rows, less a part of the row's own weight.

    Parameters
    ----------
    index, codes : ndarray of shape (n_points,)
        Distinct rows, and the class of the one left out.
    left_out : ndarray of shape (n_points,)
        The weight left out.

    Returns
    -------
    shares : ndarray of shape (n_points, n_classes)
        Zeros where nothing is left.
    """
    log_proba = _log_proba(rows.scores)
    kernels = _Kernels.around(np.exp(log_proba), bandwidth)
    shares = np.empty((index.size, rows.mass.shape[1]))
    for block, density in kernels.log_densities(log_proba[index]):
        own = index[block]
        at = np.arange(own.size)
        # The row itself apart from the others: no difference of nearly equal sums.
        itself = density[at, own]
        density[at, own] = -np.inf
        highest = np.maximum(density.max(axis=1), -1e300)
        density -= highest[:, np.newaxis]
        _exp(density)
        density[at, own] = 0.0
        others = density @ rows.mass
        rest = rows.mass[own]
        rest[at, codes[block]] -= left_out[block]
        np.maximum(rest, 0.0, out=rest)
        # Relative to what is denser, the others or itself where some of it is left: no
        # product overflows then, whatever the weights.
        ahead = np.where(rest.any(axis=1), itself - highest, -np.inf)[:, np.newaxis]
        shares[block] = others * np.exp(np.maximum(-np.maximum(ahead, 0.0), _FAINT))
        shares[block] += rest * np.exp(np.minimum(ahead, 0.0))
    total = shares.sum(axis=1, keepdims=True)
    return np.divide(shares, total, out=np.zeros_like(shares), where=total > 0.0)


# Bandwidth ----------------------------------------------------------------------------


def _best_bandwidth(rows):
    """The bandwidth with the least leave-one-out log loss of the training rows."""
    if _is_gridded(rows, 10.0**_NARROWEST):
        loss = _grid_criterion(rows)
    else:
        loss = _criterion(rows)
    found = {}
    for power in np.arange(_WIDEST, _NARROWEST - 0.5 * _STEP, -_STEP):
        found[power] = loss(10.0**power)
        # Narrower ones cost more, and two worse ones in a row tell enough.
        last = list(found.values())[-3:]
        if len(last) == 3 and last[0] < last[1] < last[2]:
            break
    best = min(found, key=found.get)
    bounds = max(best - _STEP, _NARROWEST), min(best + _STEP, _WIDEST)
    refined = minimize_scalar(
        lambda power: loss(10.0**power),
        bounds=bounds,
        method="bounded",
        options={"xatol": _FINENESS},
    )
    return 10.0 ** float(refined.x if refined.fun < found[best] else best)


def _mean_left_out(weight):
    """Weight of one row, in the mean over the rows that the weights stand for."""
    return float(np.sum(weight * np.minimum(weight, 1.0)) / np.sum(weight))


def _criterion(rows):
    n_distinct = rows.mass.shape[0]
    step = max(1, int(np.ceil(n_distinct**2 / _MOST_PAIRS)))
    index, codes = np.nonzero(rows.mass[::step])
    index *= step
    mass = rows.mass[index, codes]
    left_out = np.minimum(_mean_left_out(rows.weight), mass)
    eps = np.finfo(np.float64).eps

    def loss(bandwidth):
        shares = _left_out_shares(rows, bandwidth, index, codes, left_out)
        own = shares[np.arange(index.size), codes]
        return -float(mass @ np.log(np.maximum(own, eps)))

    return loss


# Two classes on a grid ----------------------------------------------------------------


def _is_gridded(rows, bandwidth):
    return (
        rows.mass.shape[1] == 2
        and rows.n_present == 2
        and rows.mass.shape[0] > _MANY_SCORES
        and bandwidth >= 0.99 * 10.0**_NARROWEST
    )


def _angle(log_odds):
    """Arc sine of the root of a probability: kernels have sd sqrt(h) / 2 in it."""
    return np.arctan(np.exp(0.5 * np.clip(log_odds, -700.0, 700.0)))


def _condensed(centres, bandwidth):
    """Angles and weights of each class, in place of many few with the same moments."""
    width = 0.5 * np.sqrt(bandwidth) / _CELLS
    return [
        two_point_rule(at, mass, ((at - at.min()) / width).astype(np.intp))
        for at, mass in centres
    ]


def _centres(rows):
    """Angles and weights of the rows of each class, condensed as far as any may be."""
    angle = _angle(rows.scores[:, 1] - rows.scores[:, 0])
    by_class = [(angle[mass > 0.0], mass[mass > 0.0]) for mass in rows.mass.T]
    return _condensed(by_class, 10.0**_NARROWEST)


class _Grid:
    """Sums of Beta kernels by class, as curves through nodes in log odds."""

    def __init__(self, rows, bandwidth, centres=None):
        self.bandwidth = bandwidth
        self.centres = _condensed(
            _centres(rows) if centres is None else centres, bandwidth
        )
        nodes = _nodes(bandwidth)
        self.curve = CubicSpline(nodes, self._sums(nodes))

    def _sums(self, log_odds):
        """Logarithms of the sums, shape (n_points, 2), point by point."""
        log_proba = np.column_stack([log_expit(-log_odds), log_expit(log_odds)])
        sums = np.empty((log_odds.size, 2))
        for k, (angle, mass) in enumerate(self.centres):
            proba = np.column_stack([np.cos(angle) ** 2, np.sin(angle) ** 2])
            kernels = _Kernels.around(proba, self.bandwidth)
            for block, density in kernels.log_densities(log_proba):
                highest = density.max(axis=1)
                density -= highest[:, np.newaxis]
                sums[block, k] = highest + np.log(_exp(density) @ mass)
        return sums

    def sums(self, log_odds):
        """The same from the curves, where they reach."""
        sums = self.curve(log_odds)
        outside = np.abs(log_odds) > _REACH
        if outside.any():
            sums[outside] = self._sums(log_odds[outside])
        return sums

    def sums_left_out(self, log_odds, codes, left_out):
        """The same less a part of a kernel at the point itself, in its class's sum.

        Returns
        -------
        sums : ndarray of shape (n_points, 2)
        rest : ndarray of shape (n_points,)
            What is left of the sum, as a share; too small a share is not accurate.
        """
        sums = self.sums(log_odds)
        log_proba = np.column_stack([log_expit(-log_odds), log_expit(log_odds)])
        kernels = _Kernels.around(np.exp(log_proba), self.bandwidth)
        itself = np.einsum("ij,ij->i", log_proba, kernels.slope) + kernels.intercept
        at = np.arange(log_odds.size)
        itself += np.log(left_out) - sums[at, codes]
        rest = -np.expm1(np.minimum(itself, 0.0))
        np.maximum(rest, 1e-300, out=rest)
        sums[at, codes] += np.log(rest)
        return sums, rest


def _nodes(bandwidth):
    """Log odds that resolve the kernels in angle, and log odds themselves."""
    fine = np.linspace(-_REACH, _REACH, 1 << 14)
    step = 0.5 * np.sqrt(bandwidth) / _NODES
    level = _angle(fine) / step + fine / _LOG_ODDS_STEP
    n_nodes = int(level[-1] - level[0]) + 2
    return np.interp(np.linspace(level[0], level[-1], n_nodes), level, fine)


def _grid_criterion(rows):
    centres = _centres(rows)
    log_odds = rows.scores[:, 1] - rows.scores[:, 0]
    cell = cells_of(log_odds, rows.mass.sum(axis=1), _LOSS_CELLS)
    points, masses = zip(
        *(two_point_rule(log_odds, mass, cell) for mass in rows.mass.T), strict=True
    )
    codes = np.repeat([0, 1], [len(at) for at in points])
    points, masses = np.concatenate(points), np.concatenate(masses)
    left_out = _mean_left_out(rows.weight)
    most = -np.log(np.finfo(np.float64).eps)

    def loss(bandwidth):
        grid = _Grid(rows, bandwidth, centres)
        sums, _ = grid.sums_left_out(points, codes, left_out)
        margin = (2 * codes - 1) * (sums[:, 1] - sums[:, 0])
        return float(masses @ np.minimum(-log_expit(margin), most))

    return loss
