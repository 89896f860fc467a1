"""What README.md, CONTRIBUTING.md and the docs print runs as it stands there."""

import contextlib
import doctest
import importlib
import inspect
import io
import re
import sys
import textwrap
from pathlib import Path

import pytest
from sklearn.base import clone

from tests.common_checks import all_checks
from tests.divergences import test_divergences

root = Path(__file__).parents[1]
guide = sorted((root / "docs").rglob("user_guide/*.rst"))


def run(block, namespace, name):
    """What a block of code prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, name, "exec"), namespace)
    return printed.getvalue()


def python_blocks(page):
    text = (root / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert blocks
    return blocks


def test_readme():
    blocks = python_blocks("README.md")
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


def test_features_exist():
    text = (root / "docs" / "features.rst").read_text(encoding="utf-8")
    names = set(re.findall(r":\w+:`~(skcal[\w.]+)`", text))
    assert len(names) > 20
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name


# The recipes of CONTRIBUTING.md -------------------------------------------------------


@pytest.fixture(scope="module")
def recipes(tmp_path_factory):
    """A module with all code of the page, so that what it defines can be pickled."""
    path = tmp_path_factory.mktemp("contributing") / "recipes.py"
    path.write_text("\n\n".join(python_blocks("CONTRIBUTING.md")), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(path.parent)
        patch.setattr(sys, "dont_write_bytecode", True)
        yield importlib.import_module("recipes")
        del sys.modules["recipes"]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", all_checks())
def test_the_recipe_of_a_recalibrator(name, n_classes, recipes, request):
    check = all_checks()[name]
    fixtures = {
        fixture: request.getfixturevalue(fixture)
        for fixture in inspect.signature(check).parameters
        if fixture not in ("recalibrator", "n_classes")
    }
    check(clone(recipes.BaseRateShrinkage()), n_classes, **fixtures)


def test_the_example_of_the_recalibrator(recipes):
    assert doctest.testmod(recipes).failed == 0


@pytest.mark.parametrize("n_columns", [1, 2, 3, 6])
@pytest.mark.parametrize(
    "check",
    [
        test_divergences.test_expected_value_is_the_divergence_for_the_truth_and_less_otherwise,
        test_divergences.test_the_formula_of_the_base_class_holds_for_all,
        test_divergences.test_gradients_are_slopes,
        test_divergences.test_at_the_forecast,
        test_divergences.test_at_zero_and_one,
    ],
    ids=lambda check: check.__name__,
)
def test_the_recipe_of_a_divergence(check, n_columns, recipes):
    check(recipes.Tolerant(), n_columns)
