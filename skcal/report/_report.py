"""The report: of all rows, and of each group."""

from dataclasses import replace
from numbers import Integral

import numpy as np

from skcal._predictions import check_groups, check_predictions
from skcal.report._event import Event
from skcal.report._rows import Settings, bound_row, class_rows, loss_rows, make_row
from skcal.report._summary import summary
from skcal.report._text import TOP_CLASS, as_text, keyed


def calibration_report(
    y_true,
    y_proba,
    *,
    output_dict=False,
    sample_weight=None,
    groups=None,
    pos_label=None,
    labels=None,
    recalibrator=None,
    confidence_level=0.95,
    n_resamples=1000,
    digits=4,
    n_jobs=None,
    random_state=0,
):
    """Text report of the calibration of predicted probabilities.

    Every measure with its interval and with what perfectly calibrated forecasts would
    show by chance, the test of perfect calibration, the parts of over- and
    under-confidence, and a sentence that says what it means.

    Read more in the :ref:`User Guide <report>`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or \
            (n_samples, n_classes)
        Predicted probabilities in [0, 1]. One column is the positive class's; more are
        the classes' in sorted order, and their rows sum to one.
    output_dict : bool, default=False
        Return a dictionary instead of text.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights. rankECE and its test take none and are left out then.
    groups : array-like of shape (n_samples,), default=None
        Subgroups of the rows: one block for each beside that of all rows.
    pos_label : int, float, bool or str, default=None
        Label of the positive class. By default 1 where the labels are within {0, 1} or
        {-1, 1}, and the second label in sorted order where `y_proba` has two columns or
        `labels` is given. Has no effect with three or more classes.
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order. Give them where `y_true` may lack a class.
    recalibrator : object, default=None
        What :class:`VariationalECE` recalibrates with; None is its default.
        :class:`BetaCalibration` is quicker for very many rows.
    confidence_level : float, default=0.95
        Level of the intervals.
    n_resamples : int, default=1000
        Number of bootstrap replicates, and of simulations of calibrated forecasts.
    digits : int, default=4
        Number of digits after the point.
    n_jobs : int, default=None
        Number of threads. The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Seed of folds, replicates and simulations.

    Returns
    -------
    report : str or dict
        The text; or a dictionary by row of dictionaries by column, for
        ``pandas.DataFrame(report).T``. The columns are `value`; `low` and `high`, the
        interval; `reference_mean` and `reference_high`, mean and 95 % quantile of
        perfectly calibrated forecasts; and `pvalue`, for the test. NaN is what there is
        not. The row `summary` has the column `text`. Rows of a part have its name
        behind a colon, as in ``"smooth_ece: top class"`` or ``"smooth_ece: b"`` for the
        class b; with `groups` the dictionary is one of such dictionaries by group, that
        of all rows under None.

    Raises
    ------
    ValueError
        If the input is invalid.

    See Also
    --------
    smooth_ece : The first row.
    rank_ece_test : The test.
    ReliabilityDisplay : The picture.

    Notes
    -----
    The interval of V-ECE is that of its expectation, a lower bound of the error: its
    lower end bounds the error, its upper end does not. For calibrated forecasts it
    averages zero or less, and the reference quantile is that of a mean of zero with the
    estimate's standard error. Brier score and log loss have a normal interval, and the
    reference is exact in mean and variance.

    References
    ----------
    .. [1] J. Błasiok and P. Nakkiran, "Smooth ECE", 2023 (smECE).
    .. [2] A. Chatterjee and R. F. Barber, "A Ranking Approach for Measuring
       Calibration", 2026 (rankECE and its test).
    .. [3] E. Berta, S. Braun, F. Bach, M. I. Jordan and D. Holzmüller, "V-ECE:
       Estimating General Expected Calibration Errors", 2026.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal import BetaCalibration, calibration_report
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.uniform(size=2_000)
    >>> y_true = rng.uniform(size=2_000) < 0.25 + 0.5 * y_proba
    >>> report = calibration_report(y_true, y_proba, recalibrator=BetaCalibration())
    >>> print(report.splitlines()[0])
    Calibration of 2,000 forecasts of True
    >>> print(report.splitlines()[-2])
    Miscalibrated (p < 0.0001). Over-confident: forecasts are more extreme than the
    """
    if not isinstance(digits, Integral) or isinstance(digits, bool) or digits < 0:
        raise ValueError(f"digits must be an integer of at least 0. Got {digits!r}.")
    predictions = check_predictions(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
    )
    settings = Settings(
        recalibrator, confidence_level, n_resamples, n_jobs, random_state
    )
    blocks = {None: predictions}
    if groups is not None:
        groups = check_groups(groups, predictions.n_samples)
        for group in sorted(set(groups.tolist())):
            rows = np.flatnonzero(groups == group)
            blocks[group] = _subset(predictions, rows, group)
    reports = {group: _Report(block, settings) for group, block in blocks.items()}
    if output_dict:
        tables = {group: report.as_dict() for group, report in reports.items()}
        return tables[None] if groups is None else tables
    texts = []
    for group, report in reports.items():
        title = "" if group is None else f"Group {group}: "
        texts.append(title + as_text(report, digits))
    return "\n\n".join(texts) + "\n"


def _subset(predictions, rows, group):
    weight = predictions.sample_weight
    if weight is not None:
        weight = weight[rows]
        if not weight.any():
            raise ValueError(
                f"Group {group!r} has rows of weight zero only. Leave it out."
            )
    return replace(
        predictions,
        proba=predictions.proba[rows],
        codes=predictions.codes[rows],
        sample_weight=weight,
    )


class _Report:
    """The rows of one block, and what they say.

    Parameters
    ----------
    predictions : Predictions
        What is reported on.
    settings : Settings
        How.
    """

    def __init__(self, predictions, settings):
        self.predictions = predictions
        self.settings = settings
        self.n_samples = predictions.n_samples
        event = Event(predictions, settings)
        self.classes = {}
        if predictions.is_binary:
            losses = loss_rows(predictions, event.error, settings)
            self.parts = {None: {**event.rows(), **losses}}
        else:
            error = settings.variational_ece(predictions, "canonical")
            losses = loss_rows(predictions, error, settings)
            l1 = bound_row(error.value["l1"], error.standard_error["l1"], settings)
            self.parts = {
                None: {"variational_ece_l1": l1, **losses},
                TOP_CLASS: event.rows(),
            }
            self.classes = class_rows(predictions, settings)
        self.test = event.test
        self.means = event.means
        self.summary = summary(event)

    def as_dict(self):
        table = {}
        for part, rows in self.parts.items():
            for name, row in rows.items():
                table[keyed(name, part)] = row
        part = None if self.predictions.is_binary else TOP_CLASS
        forecast, observed, _ = self.means
        table[keyed("mean_forecast", part)] = make_row(forecast)
        table[keyed("observed_rate", part)] = make_row(observed)
        if self.test is not None:
            row = make_row(self.test.statistic, pvalue=self.test.pvalue)
            table[keyed("rank_ece_test", part)] = row
        for label, rows in self.classes.items():
            for name, row in rows.items():
                table[keyed(name, label)] = row
        table["n_samples"] = make_row(float(self.n_samples))
        table["summary"] = {"text": self.summary}
        return table
