"""A report of a classifier's calibration, the sibling of `classification_report`."""

import textwrap
from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np
from scipy.special import ndtri

from skcal._predictions import check_groups, check_predictions
from skcal.inference import bootstrap_interval, calibrated_reference, rank_ece_test
from skcal.metrics import VariationalECE, binned_ece, rank_ece, smooth_ece

__all__ = ["calibration_report"]

# The level of the report's decisions in words, and of the reference column.
_LEVEL = 0.05
COLUMNS = ("value", "low", "high", "reference_mean", "reference_high", "pvalue")
_NAMES = {
    "smooth_ece": "smECE",
    "rank_ece": "rankECE (squared)",
    "variational_ece_l1": "V-ECE, L1",
    "over_confidence": "  over-confident",
    "under_confidence": "  under-confident",
    "variational_ece_brier": "V-ECE, Brier",
    "binned_ece": "ECE, 15 bins",
    "brier_score": "Brier score",
    "brier_calibration": "  calibration",
    "brier_refinement": "  refinement",
    "log_loss": "Log loss",
    "log_loss_calibration": "  calibration",
    "log_loss_refinement": "  refinement",
}
# Proper losses: row, stem of the rows of its parts, divergence.
_LOSSES = (("brier_score", "brier", "brier"), ("log_loss", "log_loss", "kl"))
_AT_MOST = {
    "variational_ece_l1",
    "variational_ece_brier",
    "over_confidence",
    "under_confidence",
    "brier_calibration",
    "log_loss_calibration",
}
_TOP_CLASS = "top class"
_WIDTH = 80


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
    settings = _Settings(
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
        texts.append(title + report.as_text(digits))
    return "\n\n".join(texts) + "\n"


@dataclass(frozen=True)
class _Settings:
    recalibrator: object
    confidence_level: float
    n_resamples: int
    n_jobs: int | None
    random_state: object

    @property
    def drawing(self):
        return {
            "n_resamples": self.n_resamples,
            "n_jobs": self.n_jobs,
            "random_state": self.random_state,
        }

    @property
    def deviations(self):
        """Half the width of a normal interval, in standard errors."""
        return float(ndtri(0.5 + 0.5 * self.confidence_level))

    def variational_ece(self, predictions, multiclass):
        return VariationalECE(
            divergence=["l1", "brier", "kl"],
            recalibrator=self.recalibrator,
            multiclass=multiclass,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            **_codes_known(predictions),
        ).evaluate(
            predictions.codes,
            predictions.proba,
            sample_weight=predictions.sample_weight,
        )


def _codes_known(predictions):
    """What the measures must be told where codes stand for more than two labels."""
    if predictions.is_binary:
        return {}
    return {"labels": np.arange(predictions.proba.shape[1])}


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
    """The rows of one block, as numbers and as text.

    Parameters
    ----------
    predictions : Predictions
        What is reported on.
    settings : _Settings
        How.
    """

    def __init__(self, predictions, settings):
        self.predictions = predictions
        self.settings = settings
        self.n_samples = predictions.n_samples
        event = _Event(predictions, settings)
        self.classes = {}
        if predictions.is_binary:
            losses = _loss_rows(predictions, event.error, settings)
            self.parts = {None: {**event.rows(), **losses}}
        else:
            error = settings.variational_ece(predictions, "canonical")
            losses = _loss_rows(predictions, error, settings)
            l1 = _bound_row(error.value["l1"], error.standard_error["l1"], settings)
            self.parts = {
                None: {"variational_ece_l1": l1, **losses},
                _TOP_CLASS: event.rows(),
            }
            self.classes = _class_rows(predictions, settings)
        self.test = event.test
        self.means = event.means
        self.summary = event.summary()

    def as_dict(self):
        table = {}
        for part, rows in self.parts.items():
            for name, row in rows.items():
                table[_keyed(name, part)] = row
        part = None if self.predictions.is_binary else _TOP_CLASS
        forecast, observed, _ = self.means
        table[_keyed("mean_forecast", part)] = _row(forecast)
        table[_keyed("observed_rate", part)] = _row(observed)
        if self.test is not None:
            row = _row(self.test.statistic, pvalue=self.test.pvalue)
            table[_keyed("rank_ece_test", part)] = row
        for label, rows in self.classes.items():
            for name, row in rows.items():
                table[_keyed(name, label)] = row
        table["n_samples"] = _row(float(self.n_samples))
        table["summary"] = {"text": self.summary}
        return table

    def as_text(self, digits):
        predictions = self.predictions
        n_samples = f"{self.n_samples:,} forecast{'s' if self.n_samples > 1 else ''}"
        if predictions.is_binary:
            title = f"Calibration of {n_samples} of {predictions.pos_label}"
        else:
            title = f"Calibration of {n_samples} of {len(predictions.classes)} classes"
        lines = [title, ""]
        level = f"{100 * self.settings.confidence_level:g} %"
        head = ("", "value", f"{level} interval", "if calibrated (95 %)")
        for part, rows in self.parts.items():
            table = [_cells(name, row, digits) for name, row in rows.items()]
            lead = {None: "", _TOP_CLASS: "Top class"}[part]
            if not predictions.is_binary and part is None:
                lead = "Whole vectors"
            lines += [*_aligned([(lead, *head[1:]), *table]), ""]
        forecast, observed, _ = self.means
        names = ("Mean forecast", "observed frequency")
        if not predictions.is_binary:
            names = ("Mean top probability", "accuracy")
        lines.append(
            f"{names[0]} {forecast:.{digits}f}, {names[1]} {observed:.{digits}f}."
        )
        if self.test is not None:
            lines.append(
                f"Test of perfect calibration (rankECE, {self.test.method}): "
                f"{_shown_pvalue(self.test.pvalue)}."
            )
        lines.append("")
        if self.classes:
            lines += [*self._class_lines(digits), ""]
        return "\n".join([*lines, *textwrap.wrap(self.summary, _WIDTH)])

    def _class_lines(self, digits):
        tested = self.test is not None
        head = ("Class", "forecast", "observed", "smECE", "if calibrated", "test")
        table = [head if tested else head[:-1]]
        for label, rows in self.classes.items():
            error = rows["smooth_ece"]
            cells = (
                str(label),
                f"{rows['mean_forecast']['value']:.{digits}f}",
                f"{rows['observed_rate']['value']:.{digits}f}",
                f"{error['value']:.{digits}f}",
                _reference(error, digits),
            )
            if tested:
                cells = (*cells, _shown_pvalue(rows["rank_ece_test"]["pvalue"]))
            table.append(cells)
        return _aligned(table)


class _Event:
    """A single event: that of two classes, or that the top class is right."""

    def __init__(self, predictions, settings):
        self.settings = settings
        self.weight = predictions.sample_weight
        self.is_binary = predictions.is_binary
        self.data = predictions.codes, predictions.proba
        self.options = _codes_known(predictions)
        (self.problem,) = predictions.binary_problems("confidence")
        self.means = _means(self.problem)
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
            rows[name] = _bound_row(value["l1"], spread["l1"], self.settings)
        rows["binned_ece"] = self._resampled(binned_ece)
        return rows

    def _resampled(self, metric):
        return _resampled_row(
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
        return _row(
            interval.value,
            interval.low,
            interval.high,
            0.0,
            float(ndtri(1.0 - _LEVEL)) * spread,
        )

    def summary(self):
        """What the numbers say, as cautious as they are."""
        value = self.error.value["l1"]
        spread = self.error.standard_error["l1"]
        # Either of two tests may find something, at half the level each.
        normal = float(ndtri(1.0 - 0.5 * _LEVEL))
        by_test = self.test is not None and self.test.pvalue < 0.5 * _LEVEL
        # Chance of either sign looks like an error to V-ECE.
        by_bound = value > float(ndtri(1.0 - 0.25 * _LEVEL)) * spread
        evidence = "" if self.test is None else f" ({_shown_pvalue(self.test.pvalue)})"
        if by_bound and not by_test:
            bound = value - normal * spread
            evidence = f" (the L1 error is above {bound:.3f}, by V-ECE)"
        if not (by_test or by_bound):
            n_samples = self.problem.forecast.shape[0]
            rows = "this row" if n_samples == 1 else f"these {n_samples:,} rows"
            said = [
                f"Not shown to be miscalibrated{evidence}. An smECE of up to "
                f"{self.interval['high']:.3f} is not ruled out by {rows}."
            ]
            return " ".join(said + self._caveats())
        said = [f"Miscalibrated{evidence}.", self._direction(normal)]
        forecast, observed, spread = self.means
        excess = abs(forecast - observed)
        if self.is_binary and excess > normal * spread:
            verb = "exceed" if forecast > observed else "fall short of"
            low, high = excess - normal * spread, excess + normal * spread
            said.append(
                f"Predicted probabilities {verb} the observed frequency by "
                f"{excess:.3f} on average (95 % interval {low:.3f} to {high:.3f})."
            )
        return " ".join(said + self._caveats())

    def _caveats(self):
        """Resampling equal outcomes, or recalibrating by them, shows no uncertainty."""
        if 0.0 < self.means[1] < 1.0:
            return []
        what = "All outcomes are the same"
        if not self.is_binary:
            often = "always" if self.means[1] > 0.0 else "never"
            what = f"The top class is {often} right"
        return [f"{what}: the intervals are too short, and V-ECE may miss the error."]

    def _direction(self, normal):
        over, under = self.error.over["l1"], self.error.under["l1"]
        is_over = over > normal * self.error.over_standard_error["l1"]
        is_under = under > normal * self.error.under_standard_error["l1"]
        if is_over and is_under:
            return (
                f"Over-confident in places, by {over:.3f} on average over all rows, "
                f"and under-confident in others, by {under:.3f}."
            )
        if not (is_over or is_under):
            return "Which way is not clear from these rows."
        if self.is_binary:
            how = "extreme" if is_over else "timid"
            what = f"forecasts are more {how} than the truth"
        else:
            what = f"top probabilities are too {'high' if is_over else 'low'}"
        name, size = ("Over", over) if is_over else ("Under", under)
        return f"{name}-confident: {what}, by about {size:.3f} on average."


def _resampled_row(metric, y_true, y_proba, weight, options, settings):
    interval = bootstrap_interval(
        metric,
        y_true,
        y_proba,
        confidence_level=settings.confidence_level,
        sample_weight=weight,
        **options,
        **settings.drawing,
    )
    reference = calibrated_reference(
        metric,
        y_proba,
        quantiles=(1.0 - _LEVEL,),
        sample_weight=weight,
        **options,
        **settings.drawing,
    )
    return _row(
        interval.value,
        interval.low,
        interval.high,
        reference.mean,
        reference.quantiles[1.0 - _LEVEL],
    )


def _loss_rows(predictions, error, settings):
    """V-ECE of the Brier score, and proper losses with their parts."""
    normal = settings.deviations
    calibration = {
        name: _bound_row(error.value[name], error.standard_error[name], settings)
        for name in ("brier", "kl")
    }
    rows = {"variational_ece_brier": calibration["brier"]}
    for row, stem, name in _LOSSES:
        value, spread, mean, chance = _loss(predictions, row)
        rows[row] = _row(
            value,
            value - normal * spread,
            value + normal * spread,
            mean,
            mean + float(ndtri(1.0 - _LEVEL)) * chance,
        )
        rows[f"{stem}_calibration"] = calibration[name]
        rows[f"{stem}_refinement"] = _row(error.refinement[name])
    return rows


def _loss(predictions, name):
    """Mean loss, its standard error, and mean and spread for calibrated forecasts."""
    proba = np.asarray(predictions.proba, dtype=np.float64)
    if predictions.is_binary:
        proba = np.column_stack([1.0 - proba, proba])
    weight = _weights(predictions.sample_weight, proba.shape[0])
    # The loss of each row for each class that may happen.
    if name == "brier_score":
        happened = np.sum(proba**2, axis=1, keepdims=True) - 2.0 * proba + 1.0
        if predictions.is_binary:
            # That of one event, half of the sum over both classes.
            happened *= 0.5
    else:
        happened = -np.log(np.maximum(proba, np.finfo(np.float64).eps))
    codes = np.asarray(predictions.codes, dtype=np.intp)
    loss = np.take_along_axis(happened, codes[:, np.newaxis], axis=1)[:, 0]
    mean = np.einsum("ij,ij->i", proba, happened)
    variance = np.einsum("ij,ij->i", proba, (happened - mean[:, np.newaxis]) ** 2)
    value, spread = _mean_and_error(loss, weight)
    total = weight.sum()
    return (
        value,
        spread,
        float(weight @ mean / total),
        float(np.sqrt(weight**2 @ variance) / total),
    )


def _class_rows(predictions, settings):
    """One class against the rest, for each."""
    tests = None
    if predictions.sample_weight is None:
        tests = rank_ece_test(
            predictions.codes,
            predictions.proba,
            multiclass="classwise",
            random_state=settings.random_state,
            n_jobs=settings.n_jobs,
            **_codes_known(predictions),
        ).by_class
    classes = {}
    problems = predictions.binary_problems("classwise")
    for k, (label, problem) in enumerate(
        zip(predictions.classes.tolist(), problems, strict=True)
    ):
        forecast, observed, _ = _means(problem)
        classes[label] = {
            "smooth_ece": _resampled_row(
                smooth_ece,
                problem.outcome.astype(np.intp),
                problem.forecast,
                problem.weight,
                {},
                settings,
            ),
            "mean_forecast": _row(forecast),
            "observed_rate": _row(observed),
        }
        if tests is not None:
            classes[label]["rank_ece_test"] = _row(
                tests[k].statistic, pvalue=tests[k].pvalue
            )
    return classes


# Numbers ------------------------------------------------------------------------------


def _row(
    value, low=np.nan, high=np.nan, mean=np.nan, reference=np.nan, *, pvalue=np.nan
):
    numbers = (value, low, high, mean, reference, pvalue)
    return dict(zip(COLUMNS, map(float, numbers), strict=True))


def _bound_row(value, spread, settings):
    """A variational estimate, which averages zero at most for calibrated forecasts."""
    normal, chance = settings.deviations, float(ndtri(1.0 - _LEVEL)) * spread
    return _row(value, value - normal * spread, value + normal * spread, 0.0, chance)


def _weights(sample_weight, n_samples):
    if sample_weight is None:
        return np.ones(n_samples)
    return np.asarray(sample_weight, dtype=np.float64)


def _mean_and_error(values, weight):
    total = weight.sum()
    mean = float(weight @ values / total)
    counted = np.count_nonzero(weight)
    stretch = counted / (counted - 1.0) if counted > 1 else np.nan
    spread = np.sqrt(stretch * np.sum((weight * (values - mean)) ** 2)) / total
    return mean, float(spread)


def _means(problem):
    """Mean forecast, mean outcome, and the standard error of their difference."""
    outcome, forecast, weight = problem.as_float64()
    weight = _weights(weight, outcome.shape[0])
    observed, _ = _mean_and_error(outcome, weight)
    excess, spread = _mean_and_error(forecast - outcome, weight)
    return observed + excess, observed, spread


# Text ---------------------------------------------------------------------------------


def _keyed(name, part):
    return name if part is None else f"{name}: {part}"


def _cells(name, row, digits):
    interval = ""
    if np.isfinite(row["low"]):
        interval = f"[{row['low']:.{digits}f}, {row['high']:.{digits}f}]"
    return (
        _NAMES[name],
        f"{row['value']:.{digits}f}",
        interval,
        _reference(row, digits, at_most=name in _AT_MOST),
    )


def _reference(row, digits, at_most=False):
    if not np.isfinite(row["reference_high"]):
        return ""
    high = f"(< {row['reference_high']:.{digits}f})"
    return f"<= 0 {high}" if at_most else f"{row['reference_mean']:.{digits}f} {high}"


def _aligned(table):
    """Lines of a table, its first column to the left and the others to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for cells in table:
        first, *others = (
            cell.ljust(width) if j == 0 else cell.rjust(width)
            for j, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        lines.append("  ".join([first, *others]).rstrip())
    return lines


def _shown_pvalue(pvalue):
    return "p < 0.0001" if pvalue < 1e-4 else f"p = {pvalue:.3g}"
