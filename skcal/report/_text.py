"""The report as text."""

import textwrap

import numpy as np

from skcal.report._summary import shown_pvalue

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
_AT_MOST = {
    "variational_ece_l1",
    "variational_ece_brier",
    "over_confidence",
    "under_confidence",
    "brier_calibration",
    "log_loss_calibration",
}
TOP_CLASS = "top class"
_WIDTH = 80


def as_text(report, digits):
    """Tables of the parts and classes, the test, and the summary."""
    predictions = report.predictions
    n_samples = f"{report.n_samples:,} forecast{'s' if report.n_samples > 1 else ''}"
    if predictions.is_binary:
        title = f"Calibration of {n_samples} of {predictions.pos_label}"
    else:
        title = f"Calibration of {n_samples} of {len(predictions.classes)} classes"
    lines = [title, ""]
    level = f"{100 * report.settings.confidence_level:g} %"
    head = ("", "value", f"{level} interval", "if calibrated (95 %)")
    for part, rows in report.parts.items():
        table = [_cells(name, row, digits) for name, row in rows.items()]
        lead = {None: "", TOP_CLASS: "Top class"}[part]
        if not predictions.is_binary and part is None:
            lead = "Whole vectors"
        lines += [*_aligned([(lead, *head[1:]), *table]), ""]
    forecast, observed, _ = report.means
    names = ("Mean forecast", "observed frequency")
    if not predictions.is_binary:
        names = ("Mean top probability", "accuracy")
    lines.append(f"{names[0]} {forecast:.{digits}f}, {names[1]} {observed:.{digits}f}.")
    if report.test is not None:
        lines.append(
            f"Test of perfect calibration (rankECE, {report.test.method}): "
            f"{shown_pvalue(report.test.pvalue)}."
        )
    lines.append("")
    if report.classes:
        lines += [*_class_lines(report, digits), ""]
    return "\n".join([*lines, *textwrap.wrap(report.summary, _WIDTH)])


def _class_lines(report, digits):
    tested = report.test is not None
    head = ("Class", "forecast", "observed", "smECE", "if calibrated", "test")
    table = [head if tested else head[:-1]]
    for label, rows in report.classes.items():
        error = rows["smooth_ece"]
        cells = (
            str(label),
            f"{rows['mean_forecast']['value']:.{digits}f}",
            f"{rows['observed_rate']['value']:.{digits}f}",
            f"{error['value']:.{digits}f}",
            _reference(error, digits),
        )
        if tested:
            cells = (*cells, shown_pvalue(rows["rank_ece_test"]["pvalue"]))
        table.append(cells)
    return _aligned(table)


def keyed(name, part):
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
