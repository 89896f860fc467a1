"""The report on a single event."""

import numpy as np
from scipy.special import ndtri

from skcal.inference import bootstrap_interval, rank_ece_test
from skcal.metrics import binned_ece, rank_ece, smooth_ece
from skcal.report._rows import (
    LEVEL,
    bound_row,
    codes_known,
    make_row,
    means,
    resampled_row,
)


class Event:
    """A single event: that of two classes, or that the top class is right."""

    def __init__(self, predictions, settings):
        self.settings = settings
        self.weight = predictions.sample_weight
        self.is_binary = predictions.is_binary
        self.data = predictions.codes, predictions.proba
        self.options = codes_known(predictions)
        (self.problem,) = predictions.binary_problems("confidence")
        self.means = means(self.problem)
        self.test = None
        if self.weight is None:
            self.test = rank_ece_test(
                *self.data,
                **self.options,
                random_state=settings.random_state,
                n_jobs=settings.n_jobs,
            )
        self.error = settings.variational_ece(predictions, "confidence")
        self.interval = self._resampled(smooth_ece)

    def rows(self):
        rows = {"smooth_ece": self.interval}
        if self.test is not None:
            rows["rank_ece"] = self._rank_row()
        error = self.error
        for name, value, spread in (
            ("variational_ece_l1", error.value, error.standard_error),
            ("over_confidence", error.over, error.over_standard_error),
            ("under_confidence", error.under, error.under_standard_error),
        ):
            rows[name] = bound_row(value["l1"], spread["l1"], self.settings)
        rows["binned_ece"] = self._resampled(binned_ece)
        return rows

    def _resampled(self, metric):
        return resampled_row(
            metric, *self.data, self.weight, self.options, self.settings
        )

    def _rank_row(self):
        test = self.test
        interval = bootstrap_interval(
            rank_ece,
            *self.data,
            confidence_level=self.settings.confidence_level,
            random_state=self.settings.random_state,
            **self.options,
        )
        spread = 0.0
        if np.isfinite(test.statistic) and test.statistic != 0:
            spread = test.rank_ece / test.statistic
        return make_row(
            interval.value,
            interval.low,
            interval.high,
            0.0,
            float(ndtri(1.0 - LEVEL)) * spread,
        )
