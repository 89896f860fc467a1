"""Binned calibration error from sums that add up over batches."""

from numbers import Integral

import numpy as np

from skcal._core.binning import bin_sums, calibration_error, uniform_bins
from skcal._core.smoothing import CHUNK
from skcal._predictions import check_option
from skcal.accumulators._base import Accumulator

NORMS = ("l1", "l2", "max")


class BinSums:
    """Weight, outcome and forecast sums of one binary problem per uniform bin."""

    __slots__ = ("n_bins", "sums")

    def __init__(self, n_bins):
        self.n_bins = n_bins
        self.sums = np.zeros((3, n_bins))

    @property
    def weight(self):
        return self.sums[0].sum()

    def update(self, problem):
        for outcome, forecast, weight in problem.chunks(CHUNK):
            index = uniform_bins(forecast, self.n_bins)
            self.sums += bin_sums(index, outcome, forecast, weight, self.n_bins)

    def merge(self, other):
        self.sums += other.sums


class BinnedECEAccumulator(Accumulator):
    """Binned calibration error of a stream, in constant memory.

    Batches may come in any order and accumulators may be merged; the result is that of
    :func:`skcal.binned_ece` with uniform bins on all rows at once. Quantile bins depend
    on the whole distribution of forecasts and cannot be merged.

    Parameters
    ----------
    n_bins : int, default=15
        Number of uniform bins of [0, 1].
    norm : {"l1", "l2", "max"}, default="l1"
        Mean absolute, mean squared or largest absolute gap, see
        :func:`skcal.binned_ece`.
    debias : bool, default=False
        Take off the sampling variance of each squared gap; needs ``norm="l2"``.
    pos_label : int, float, bool or str, default=None
        Label of the positive class.
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order. Give them wherever a batch may lack a class.
    multiclass : {"confidence", "classwise"}, default="confidence"
        Reduction of three or more classes to binary problems.

    Attributes
    ----------
    n_samples_ : int
        Number of rows seen.

    See Also
    --------
    skcal.binned_ece : The same of arrays in memory.
    SmoothECEAccumulator : Smooth calibration error of a stream.

    Examples
    --------
    >>> from skcal import BinnedECEAccumulator
    >>> accumulator = BinnedECEAccumulator(n_bins=10)
    >>> accumulator.update([0, 1], [0.25, 0.75]).update([1, 1], [0.25, 0.75])
    BinnedECEAccumulator(n_samples=4)
    >>> accumulator.compute()
    0.25
    """

    def __init__(
        self,
        *,
        n_bins=15,
        norm="l1",
        debias=False,
        pos_label=None,
        labels=None,
        multiclass="confidence",
    ):
        super().__init__(pos_label=pos_label, labels=labels, multiclass=multiclass)
        if not isinstance(n_bins, Integral) or n_bins < 1:
            raise ValueError(
                "n_bins of an accumulator must be a positive integer: its bins are "
                f"fixed before the number of rows is known. Got {n_bins!r} instead."
            )
        check_norm(norm, debias)
        self.n_bins = n_bins
        self.norm = norm
        self.debias = debias

    def _new_sums(self):
        return BinSums(self.n_bins)

    def _value(self, sums):
        return calibration_error(sums.sums, self.norm, self.debias)

    def _configuration(self):
        own = {"n_bins": self.n_bins, "norm": self.norm, "debias": self.debias}
        return {**own, **super()._configuration()}


def check_norm(norm, debias):
    check_option("norm", norm, NORMS)
    if not isinstance(debias, (bool, np.bool_)):
        raise ValueError(f"debias must be True or False. Got {debias!r} instead.")
    if debias and norm != "l2":
        raise ValueError(
            f"debias=True estimates the squared error and needs norm='l2'. Got "
            f"norm={norm!r} instead."
        )
