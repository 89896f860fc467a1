"""Rank calibration error (rankECE)."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state

from skcal._core.ordering import canonical_order
from skcal._core.ranks import lagged_products, mean_lagged_dot
from skcal._predictions import check_option, check_positive
from skcal.metrics._reduction import mean_over_problems


def rank_ece(
    y_true,
    y_proba,
    *,
    pos_label=None,
    labels=None,
    multiclass="confidence",
    n_neighbors=1,
    ties="average",
    random_state=None,
):
    """Rank calibration error (rankECE), an estimate of the squared calibration error.

    The rows are sorted by their forecast f and the residuals ``y - f`` of neighbours
    are multiplied: neighbours share a true residual and have independent noise, so the
    mean product estimates the mean squared calibration error, with no bins and no
    bandwidth. It is at most the squared calibration error in expectation and averages
    zero under perfect calibration, so single values may be negative; they are not
    clipped.

    Read more in the :ref:`User Guide <rank_ece>`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or \
            (n_samples, n_classes)
        Predicted probabilities in [0, 1]. One column is the positive class's; more are
        the classes' in sorted order, and their rows sum to one.
    pos_label : int, float, bool or str, default=None
        Label of the positive class. By default 1 where the labels are within {0, 1} or
        {-1, 1}, and the second label in sorted order where `y_proba` has two columns or
        `labels` is given. Has no effect with three or more classes.
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order. Give them where `y_true` may lack a class.
    multiclass : {"confidence", "classwise"}, default="confidence"
        With three or more classes, measure the top class's probability against its
        being right, or take the mean of the one-vs-rest errors. Two classes are always
        measured by the positive class's probability.
    n_neighbors : int, default=1
        Mean of the products with the next 1 to `n_neighbors` rows in rank. More
        neighbours add a little bias where calibration changes fast and take off much
        variance.
    ties : {"average", "random"}, default="average"
        Equal forecasts count by the exact expectation over their random orders, or in
        one random order as in the paper's appendix F.
    random_state : int, RandomState instance or None, default=None
        Seed of ``ties="random"``.

    Returns
    -------
    error : float
        On the scale of a squared probability; 0 is perfect, and the square root of a
        positive value compares with `smooth_ece`. One row alone gives 0.0.

    Raises
    ------
    ValueError
        If the input is invalid or has no more rows than `n_neighbors`.

    See Also
    --------
    smooth_ece : Smooth calibration error.
    binned_ece : Binned calibration error; ``norm="l2"`` compares with this one.

    Notes
    -----
    There is no `sample_weight`: neighbours in rank have no natural weighted version.

    References
    ----------
    .. [1] A. Chatterjee and R. F. Barber, "A Ranking Approach for Measuring
       Calibration", 2026, section 2 and appendix F.
       `arXiv:2609.13100 <https://arxiv.org/abs/2609.13100>`_

    Examples
    --------
    >>> import numpy as np
    >>> from skcal import rank_ece
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.uniform(size=10_000)
    >>> shifted = rng.uniform(size=10_000) < 0.2 + 0.8 * y_proba
    >>> round(rank_ece(shifted, y_proba), 3)  # E[0.04 (1 - f)^2] = 0.0133
    0.012
    """
    check_positive("n_neighbors", n_neighbors, Integral)
    check_option("ties", ties, ("average", "random"))

    def measure(problem):
        n_samples = problem.forecast.shape[0]
        if n_samples == 1 and n_neighbors == 1:
            return 0.0
        if n_neighbors >= n_samples:
            raise ValueError(
                f"n_neighbors={n_neighbors} needs at least {n_neighbors + 1} rows. Got "
                f"{n_samples}."
            )
        if ties == "random":
            total = mean_lagged_dot(randomly_ranked(problem, random_state), n_neighbors)
        else:
            total = lagged_products(problem.outcome, problem.forecast, n_neighbors)
        return total / n_samples

    return mean_over_problems(
        measure, multiclass, y_true, y_proba, pos_label=pos_label, labels=labels
    )


def randomly_ranked(problem, random_state):
    """Residuals by rank, ties in an order that depends on the seed and rows only."""
    outcome, forecast, _ = problem.as_float64()
    order = canonical_order(forecast, outcome)
    outcome, forecast = outcome[order], forecast[order]
    chance = check_random_state(random_state).uniform(size=order.size)
    return (outcome - forecast)[np.lexsort((chance, forecast))]
