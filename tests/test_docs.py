"""What README.md and the user guide print runs as it stands there."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

root = Path(__file__).parents[1]
guide = sorted((root / "docs").rglob("user_guide/*.rst"))


def test_readme():
    text = (root / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert blocks
    namespace = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), namespace)


@pytest.mark.parametrize("page", guide, ids=lambda page: page.stem)
def test_user_guide(page):
    result = doctest.testfile(
        str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert result.failed == 0


def test_there_is_a_guide():
    assert len(guide) > 5


def test_features_exist():
    text = (root / "docs" / "features.rst").read_text(encoding="utf-8")
    names = set(re.findall(r":\w+:`~(skcal[\w.]+)`", text))
    assert len(names) > 20
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name
