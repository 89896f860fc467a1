"""The measurements and the docs that show them know of each other."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

root = Path(__file__).parents[1]
benchmarks = root / "examples" / "benchmarks"
pages = {
    page: page.read_text(encoding="utf-8")
    for page in sorted((root / "docs").rglob("*.rst"))
    if not {"_build", "generated", "gallery"} & set(page.parts)
}
docs = "\n".join(pages.values())
scripts = sorted(
    file.stem for file in benchmarks.glob("*.py") if not file.stem.startswith("_")
)


@pytest.mark.parametrize("script", scripts)
def test_docs_have_the_command_of_each_measurement(script):
    command = rf"^ *python examples/benchmarks/{script}\.py( --full)? --save$"
    assert re.search(command, docs, flags=re.MULTILINE)


@pytest.mark.parametrize("script", scripts)
def test_each_measurement_says_how_to_run_it(script):
    text = (benchmarks / f"{script}.py").read_text(encoding="utf-8")
    first = text.split('"""')[1]
    assert f"python examples/benchmarks/{script}.py" in first
    rest = text.split('"""', 2)[2]
    assert ("--full" in first) == ("full=" in rest or '"--full"' in rest)


@pytest.mark.parametrize(
    "result", sorted((benchmarks / "results").iterdir()), ids=lambda file: file.stem
)
def test_docs_show_each_result(result):
    assert any(result.stem.startswith(script) for script in scripts)
    assert f"examples/benchmarks/results/{result.name}" in docs


@pytest.mark.parametrize(
    "image", sorted((root / "docs" / "images").iterdir()), ids=lambda file: file.stem
)
def test_each_picture_is_shown(image):
    readme = (root / "README.md").read_text(encoding="utf-8")
    assert f"images/{image.name}" in docs + readme


def test_readme_shows_what_the_quickstart_prints(tmp_path):
    script = root / "examples" / "quickstart.py"
    result = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0
    assert not result.stderr
    readme = (root / "README.md").read_text(encoding="utf-8")
    table = readme.split("```text\n")[1].split("```")[0]
    assert table in result.stdout
    assert (tmp_path / "reliability.png").exists()
