"""What README.md, CONTRIBUTING.md and the docs print runs as it stands there."""

import contextlib
import doctest
import io
import re
import textwrap
from pathlib import Path

import pytest

root = Path(__file__).parents[1]
guide = sorted((root / "docs").rglob("user_guide/*.rst"))


def run(block, namespace, name):
    """What a block of code prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, name, "exec"), namespace)
    return printed.getvalue()


def test_readme():
    text = (root / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert blocks
    namespace = {}
    for block in blocks:
        run(block, namespace, "README.md")


def test_get_started(tmp_path, monkeypatch):
    """One flow, pasted block by block; a text block is what the code above prints."""
    monkeypatch.chdir(tmp_path)
    text = (root / "docs/get_started.rst").read_text(encoding="utf-8")
    blocks = re.findall(
        r"^\.\. code-block:: (python|text)\n\n((?:   .*\n|\n)+)", text, flags=re.M
    )
    assert len(blocks) > 10
    namespace, printed = {}, ""
    for kind, block in blocks:
        block = textwrap.dedent(block)
        if kind == "text":
            assert printed.split() == block.split()
            printed = ""
        else:
            assert printed == "", "what is printed is shown"
            printed = run(block, namespace, "get_started.rst")
    assert printed == ""
    assert [path.name for path in tmp_path.iterdir()] == ["forest.png"]


@pytest.mark.parametrize("page", guide, ids=lambda page: page.stem)
def test_user_guide(page):
    result = doctest.testfile(
        str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert result.failed == 0


def test_there_is_a_guide():
    assert len(guide) > 5
