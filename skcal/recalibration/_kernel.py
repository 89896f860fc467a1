"""Kernel regression on the simplex, with Beta and Dirichlet kernels."""

from numbers import Real

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from skcal._sklearn import Interval
from skcal.recalibration._base import BaseRecalibrator
from skcal.recalibration._kernel_grid import (
    NARROWEST,
    Grid,
    grid_criterion,
    is_gridded,
)
from skcal.recalibration._kernel_rows import (
    criterion,
    left_out_shares,
    log_proba_of,
    pooled,
    shares_near,
)

# The highest power of ten that a bandwidth may be, the steps down from it, and to what
# fineness the best is refined.
_WIDEST, _STEP, _FINENESS = 1.0, 0.5, 0.1
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
    depends on the number of rows; the grid is finer than the kernels.
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
        self._rows = pooled(scores, codes, weight)
        if self.bandwidth is not None:
            self.bandwidth_ = float(self.bandwidth)
        elif self._rows.n_present > 1:
            self.bandwidth_ = _best_bandwidth(self._rows)
        else:
            self.bandwidth_ = 10.0**_WIDEST
        self._grid = None
        if is_gridded(self._rows, self.bandwidth_):
            self._grid = Grid(self._rows, self.bandwidth_)

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
            shares = left_out_shares(rows, self.bandwidth_, index, codes, left_out)
        else:
            log_odds = scores[:, 1] - scores[:, 0]
            sums, rest = self._grid.sums_left_out(log_odds, codes, left_out)
            shares = softmax(sums, axis=1)
            few = rest < _ALONE
            shares[few] = left_out_shares(
                rows, self.bandwidth_, index[few], codes[few], left_out[few]
            )
        alone = ~(shares.sum(axis=1) > 0.0)
        shares[alone] = softmax(scores[alone], axis=1)
        return self._with_absent(scores, shares)

    def _shares(self, scores):
        if self._grid is None:
            return shares_near(self._rows, self.bandwidth_, log_proba_of(scores))
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


def _best_bandwidth(rows):
    """The bandwidth with the least leave-one-out log loss of the training rows."""
    if is_gridded(rows, 10.0**NARROWEST):
        loss = grid_criterion(rows)
    else:
        loss = criterion(rows)
    found = {}
    for power in np.arange(_WIDEST, NARROWEST - 0.5 * _STEP, -_STEP):
        found[power] = loss(10.0**power)
        # Narrower ones cost more, and two worse ones in a row tell enough.
        last = list(found.values())[-3:]
        if len(last) == 3 and last[0] < last[1] < last[2]:
            break
    best = min(found, key=found.get)
    bounds = max(best - _STEP, NARROWEST), min(best + _STEP, _WIDEST)
    refined = minimize_scalar(
        lambda power: loss(10.0**power),
        bounds=bounds,
        method="bounded",
        options={"xatol": _FINENESS},
    )
    return 10.0 ** float(refined.x if refined.fun < found[best] else best)
