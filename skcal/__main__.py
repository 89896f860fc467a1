"""The shell command: ``python -m skcal report FILE --target y --proba p``."""

import argparse
import json
import math
import sys
from importlib import import_module
from pathlib import Path

_BAD_INPUT = 2


def main(arguments=None):
    """Run the command.

    Returns
    -------
    status : int
        0, or 2 where the input is at fault.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        _report(options)
    except (_Complaint, ValueError, OSError) as error:
        text = " ".join(str(error).split())
        print(f"{parser.prog}: error: {text}", file=sys.stderr)
        return _BAD_INPUT
    return 0


class _Complaint(Exception):
    """What is wrong with the file or the options."""


def _parser():
    parser = argparse.ArgumentParser(
        prog="skcal", description="How calibrated are these predictions?"
    )
    version = import_module("skcal").__version__
    parser.add_argument("--version", action="version", version=f"%(prog)s {version}")
    commands = parser.add_subparsers(dest="command", required=True)
    report = commands.add_parser(
        "report",
        help="print a calibration report",
        description="Print a report of the calibration of predictions in a file.",
    )
    report.add_argument("file", type=Path, help="CSV (.csv, .csv.gz) or Parquet file")
    report.add_argument("--target", required=True, help="column of the true labels")
    report.add_argument(
        "--proba",
        required=True,
        nargs="+",
        metavar="COLUMN",
        help="column of the positive class's probability, or those of all classes in "
        "the sorted order of their labels",
    )
    report.add_argument("--pos-label", help="label of the positive class")
    report.add_argument(
        "--labels", nargs="+", help="all labels in sorted order, if some are missing"
    )
    report.add_argument("--weight", metavar="COLUMN", help="column of sample weights")
    report.add_argument(
        "--groups", metavar="COLUMN", help="column of subgroups, one block for each"
    )
    report.add_argument(
        "--plot", type=Path, metavar="PICTURE", help="write the reliability diagram"
    )
    report.add_argument("--json", action="store_true", help="print JSON, not text")
    report.add_argument(
        "--seed", type=int, default=0, help="seed of folds and resamples (default: 0)"
    )
    return parser


def _report(options):
    from skcal.report import calibration_report

    table = _read(options.file)
    proba = _columns(table, options.proba, options.file)
    y_true = _columns(table, [options.target], options.file)[options.target]
    kind = y_true.dtype.kind
    known = {
        "pos_label": _as_label(options.pos_label, kind, "--pos-label"),
        "labels": options.labels
        and [_as_label(label, kind, "--labels") for label in options.labels],
    }
    optional = {
        name: _columns(table, [column], options.file)[column].to_numpy()
        for name, column in (
            ("sample_weight", options.weight),
            ("groups", options.groups),
        )
        if column is not None
    }
    _check_missing(options, y_true, optional.get("groups"))
    if options.json and "all" in map(str, optional.get("groups", [])):
        raise _Complaint(
            "--json calls the block of all rows 'all', as one of the groups is called: "
            "rename the group"
        )
    if options.plot is not None:
        _check_picture(options.plot)
    y_true = y_true.to_numpy()
    # As a frame where its columns have names, which may be those of the classes.
    y_proba = proba if proba.shape[1] > 1 else proba.to_numpy()[:, 0]
    report = calibration_report(
        y_true,
        y_proba,
        output_dict=options.json,
        random_state=options.seed,
        **known,
        **optional,
    )
    if options.plot is not None:
        _draw(options, y_true, y_proba, known, optional)
    if options.json:
        print(json.dumps(_without_nan(report), indent=2))
    else:
        print(report, end="")


def _check_picture(path):
    """Complain before the report is made, which takes its time."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    if path.is_dir():
        raise _Complaint(f"{path} is a directory; --plot needs a file name")
    if not path.parent.is_dir():
        raise _Complaint(f"there is no directory {path.parent} for --plot {path}")
    known = sorted(FigureCanvasAgg.get_supported_filetypes())
    ending = path.suffix[1:].lower()
    if ending and ending not in known:
        raise _Complaint(
            f"--plot cannot write .{ending} files; the ending must be one of "
            f"{', '.join(known)}"
        )


def _check_missing(options, y_true, groups):
    """Complain of missing labels and groups, with the words that count as such."""
    import pandas as pd

    for option, column, values in (
        ("--target", options.target, y_true),
        ("--groups", options.groups, groups),
    ):
        missing = [] if values is None else pd.isna(values).tolist()
        if any(missing):
            raise _Complaint(
                f"{option} {column}: {sum(missing)} of {len(missing)} values are "
                f"missing, the first at row {missing.index(True)}. Empty cells are, "
                "and in CSV files the words NA, N/A, None, null and nan: drop these "
                "rows, or rename what is a name"
            )


def _read(path):
    try:
        import pandas as pd
    except ImportError as error:
        raise _Complaint(
            "reading files needs pandas: pip install pandas (and pyarrow for Parquet)"
        ) from error
    if not path.is_file():
        raise _Complaint(f"there is no file {path}")
    name = path.name.lower()
    if name.endswith((".parquet", ".pq")):
        read = pd.read_parquet
    elif name.endswith((".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zip")):
        read = pd.read_csv
    else:
        raise _Complaint(f"{path} must be a .csv or .parquet file")
    try:
        return read(path)
    except ImportError as error:
        raise _Complaint(
            f"reading {path} needs pyarrow: pip install pyarrow"
        ) from error
    except Exception as error:  # parsers raise errors of many kinds
        raise _Complaint(f"{path} cannot be read: {error}") from error


def _columns(table, names, path):
    missing = [name for name in names if name not in table.columns]
    if missing:
        advice = ""
        if len(table.columns) == 1 and ({";", "\t"} & set(str(table.columns[0]))):
            advice = ". Its columns are not separated by commas: convert it first"
        raise _Complaint(
            f"{path} has no column {', '.join(map(repr, missing))}; it has "
            f"{', '.join(map(repr, table.columns))}{advice}"
        )
    return table[names]


def _as_label(text, kind, option):
    """A label from the command line, of the kind that the file's labels have."""
    if text is None or kind not in "biuf":
        return text
    if kind == "b":
        if text not in ("True", "False"):
            raise _Complaint(f"{option} must be True or False, not {text!r}")
        return text == "True"
    try:
        return int(text) if kind in "iu" else float(text)
    except ValueError as error:
        raise _Complaint(
            f"{option} must be a number as the labels are, not {text!r}"
        ) from error


def _draw(options, y_true, y_proba, known, optional):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from skcal.displays import ReliabilityDisplay

    figure = Figure(figsize=(5, 5), layout="constrained")
    FigureCanvasAgg(figure)
    ReliabilityDisplay.from_predictions(
        y_true, y_proba, ax=figure.add_subplot(), **known, **optional
    )
    figure.savefig(options.plot, dpi=200)


def _without_nan(value):
    """JSON has no NaN: null is what there is not. Keys are text."""
    if isinstance(value, dict):
        return {
            "all" if key is None else str(key): _without_nan(item)
            for key, item in value.items()
        }
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


if __name__ == "__main__":
    sys.exit(main())
