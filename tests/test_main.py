"""The shell command: what it prints, writes and returns."""

import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import skcal
from skcal import calibration_report
from skcal.__main__ import main
from skcal.metrics._variational import _held_out
from skcal.recalibration import TemperatureScaling


@pytest.fixture(autouse=True)
def _quick_recalibrator(monkeypatch):
    monkeypatch.setattr(_held_out, "BoostedTemperatureScaling", TemperatureScaling)


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    f = rng.uniform(size=200)
    g = rng.dirichlet([1, 1, 1], 200)
    pd.DataFrame(
        {
            "y": (rng.uniform(size=200) < f).astype(int),
            "word": np.where(rng.uniform(size=200) < f, "yes", "no"),
            "kind": np.array(["a", "b", "c"])[rng.integers(3, size=200)],
            "p": f,
            "percent": 100 * f,
            "pa": g[:, 0],
            "pb": g[:, 1],
            "pc": g[:, 2],
            "w": rng.uniform(size=200),
            "site": np.repeat(["n", "s"], 100),
        }
    ).to_csv(tmp_path / "predictions.csv", index=False)
    return tmp_path


def run(folder, *options, file="predictions.csv"):
    return main(["report", str(folder / file), *options])


def test_report(folder, capsys):
    assert run(folder, "--target", "y", "--proba", "p") == 0
    table = pd.read_csv(folder / "predictions.csv")
    assert capsys.readouterr().out == calibration_report(table["y"], table["p"])


@pytest.mark.parametrize(
    "options",
    [
        ["--target", "word", "--proba", "p", "--pos-label", "yes"],
        ["--target", "word", "--proba", "p", "--labels", "no", "yes"],
        ["--target", "y", "--proba", "p", "--pos-label", "1", "--weight", "w"],
        ["--target", "kind", "--proba", "pa", "pb", "pc", "--groups", "site"],
        ["--target", "y", "--proba", "p", "--labels", "0", "1", "--seed", "3"],
    ],
    ids=["word", "labels", "weight", "classes and groups", "numbers and seed"],
)
def test_options(folder, capsys, options):
    assert run(folder, *options, "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report) == {"all", "n", "s"} if "--groups" in options else True
    one = report.get("all", report)
    assert one["n_samples"]["value"] == 200
    assert one["n_samples"]["low"] is None


def test_parquet_and_picture(folder, capsys):
    pytest.importorskip("pyarrow")
    table = pd.read_csv(folder / "predictions.csv")
    table.to_parquet(folder / "predictions.parquet")
    picture = folder / "diagram.png"
    options = ["--target", "y", "--proba", "p", "--plot", str(picture)]
    assert run(folder, *options, file="predictions.parquet") == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "Calibration of 200 forecasts" in capsys.readouterr().out


def test_picture_of_groups(folder):
    picture = folder / "diagram.pdf"
    options = ["--groups", "site", "--plot", str(picture)]
    assert run(folder, "--target", "y", "--proba", "p", *options) == 0
    assert picture.read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("options", "file", "message"),
    [
        (["--target", "z", "--proba", "p"], "predictions.csv", "no column 'z'; it has"),
        (["--target", "y", "--proba", "q"], "predictions.csv", "no column 'q'"),
        (["--target", "y", "--proba", "percent"], "predictions.csv", "divide by 100"),
        (["--target", "word", "--proba", "p"], "predictions.csv", "pos_label"),
        (
            ["--target", "y", "--proba", "p", "--pos-label", "yes"],
            "predictions.csv",
            "--pos-label must be a number",
        ),
        (["--target", "y", "--proba", "p"], "nothing.csv", "there is no file"),
        (["--target", "y", "--proba", "p"], "words.txt", "must be a .csv or .parquet"),
        (["--target", "y", "--proba", "p"], "empty.csv", "cannot be read"),
        (["--target", "y", "--proba", "p"], "broken.parquet", "cannot be read|pyarrow"),
        (["--target", "y", "--proba", "p"], "holes.csv", "contains NaN"),
        (
            ["--target", "y", "--proba", "p", "--plot", "nowhere/diagram.png"],
            "predictions.csv",
            "there is no directory nowhere for --plot",
        ),
        (
            ["--target", "y", "--proba", "p", "--plot", "diagram.jpgg"],
            "predictions.csv",
            "cannot write .jpgg files; the ending must be one of",
        ),
        (
            ["--target", "y", "--proba", "p", "--groups", "country"],
            "namibia.csv",
            "--groups country: 1 of 2 values are missing, the first at row 1.*NA",
        ),
        (["--target", "a", "--proba", "p"], "namibia.csv", "--target a: 1 of 2.*row 0"),
        (["--target", "y", "--proba", "p"], "semicolons.csv", "not separated by comm"),
        (
            ["--target", "word", "--proba", "yes", "no"],
            "swapped.csv",
            "in the sorted order of the labels",
        ),
        (
            ["--target", "y", "--proba", "p", "--plot", "."],
            "predictions.csv",
            "is a directory",
        ),
        (
            ["--target", "y", "--proba", "p", "--groups", "g", "--json"],
            "all.csv",
            "rename the group",
        ),
    ],
)
def test_mistakes_give_one_line(folder, capsys, options, file, message, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "words.txt").write_text("y p\n")
    (folder / "namibia.csv").write_text("y,p,country,a\n1,0.5,ZA,\n0,0.5,NA,1\n")
    (folder / "semicolons.csv").write_text("y;p\n1;0.5\n0;0.5\n")
    (folder / "swapped.csv").write_text("word,no,yes\nno,0.6,0.4\nyes,0.3,0.7\n")
    (folder / "empty.csv").write_text("")
    (folder / "broken.parquet").write_text("not one")
    (folder / "holes.csv").write_text("y,p\n0,0.3\n1,\n")
    (folder / "all.csv").write_text("y,p,g\n0,0.3,all\n1,0.4,some\n")
    assert run(folder, *options, file=file) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("skcal: error: ")
    assert err.count("\n") == 1
    assert re.search(message, err), err


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"skcal {skcal.__version__}\n"


def test_as_a_module(folder):
    command = [sys.executable, "-m", "skcal", "report"]
    done = subprocess.run(
        [*command, str(folder / "nothing.csv"), "--target", "y", "--proba", "p"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "there is no file" in done.stderr
    usage = subprocess.run(command, capture_output=True, text=True, check=False)
    assert usage.returncode == 2
    assert "Traceback" not in usage.stderr
