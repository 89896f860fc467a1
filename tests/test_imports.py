"""The rooms of the package: who imports whom, and what an import costs.

Every room imports from those above it in `ROOMS` only, so that each can be read, tested
and replaced knowing nothing of what is built on it.
"""

import ast
import os
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import pytest

import skcal

PACKAGE = Path(skcal.__file__).parent
ROOMS = [
    "_sklearn",
    "_core",
    "divergences",
    "_predictions",
    "accumulators",
    "recalibration",
    "metrics",
    "inference",
    "scorers",
    "displays",
    "report",
    "__main__",
    "datasets",
]
MODULES = sorted(p.relative_to(PACKAGE).as_posix() for p in PACKAGE.rglob("*.py"))
every_module = pytest.mark.parametrize("module", MODULES)
# Nothing else in metrics knows of recalibration.
EDGE = "metrics/_variational/_held_out.py"
inner_modules = pytest.mark.parametrize(
    "module", [module for module in MODULES if module != "__init__.py"]
)


def room_of(module):
    return module.removesuffix(".py").split("/")[0]


def imported_names(module):
    """Dotted names a module imports, inside its functions too, with their lines."""
    path = PACKAGE / module
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                package = ["skcal", *Path(module).parts[:-1]]
                source = ".".join([*package[: len(package) - node.level + 1], source])
            for alias in node.names:
                yield f"{source.strip('.')}.{alias.name}", node.lineno


def from_package(module, package):
    """Those imported names that belong to a package, each split at its dots."""
    for name, line in imported_names(module):
        parts = name.split(".")
        if parts[0] == package:
            yield parts, line


def test_there_are_modules_to_look_at():
    assert "metrics/_smooth.py" in MODULES
    assert ["skcal", "_core", "smoothing", "MomentGrid"] in [
        parts for parts, _ in from_package("metrics/_curve.py", "skcal")
    ]


@inner_modules
def test_every_module_is_in_a_known_room(module):
    assert room_of(module) in ROOMS


def test_the_table_of_rooms_is_true():
    """CONTRIBUTING.md shows the rooms in their order, folders with a slash."""
    contributing = Path(__file__).parents[1] / "CONTRIBUTING.md"
    text = contributing.read_text(encoding="utf-8")
    table = text.split("must not depend on |\n")[1].split("\n\n")[0]
    shown = [line.split("`")[1] for line in table.splitlines()[1:]]
    assert [room_of(name) for name in shown] == ROOMS
    folders = {name.rstrip("/") for name in shown if name.endswith("/")}
    assert folders == {module.split("/")[0] for module in MODULES if "/" in module}


@inner_modules
def test_rooms_import_from_rooms_above_only(module):
    room = room_of(module)
    above = set(takewhile(lambda other: other != room, ROOMS)) | {room}
    for parts, line in from_package(module, "skcal"):
        # The root holds everything: importing a name from it imports from below.
        assert len(parts) > 1, f"{module}:{line} imports skcal itself"
        assert parts[1] in above, f"{module}:{line} imports {'.'.join(parts)}"


@inner_modules
def test_datasets_serve_examples_and_tests_only(module):
    if room_of(module) == "datasets":
        pytest.skip("itself")
    imported = [parts for parts, _ in from_package(module, "skcal")]
    assert ["skcal", "datasets"] not in [parts[:2] for parts in imported]


@inner_modules
def test_the_only_edge_from_metrics_to_recalibration(module):
    if room_of(module) != "metrics" or module == EDGE:
        pytest.skip("may import it, or is no metric")
    imported = [parts[:2] for parts, _ in from_package(module, "skcal")]
    assert ["skcal", "recalibration"] not in imported


@pytest.mark.parametrize("module", [m for m in MODULES if room_of(m) == "_core"])
def test_core_is_pure_numerics(module):
    assert list(from_package(module, "sklearn")) == []
    source = (PACKAGE / module).read_text(encoding="utf-8")
    nodes = ast.walk(ast.parse(source))
    used = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    assert not used & {"random", "default_rng", "RandomState"}


@every_module
def test_private_names_of_scikit_learn_come_from_one_file(module):
    if module == "_sklearn.py":
        pytest.skip("the one file")
    for parts, line in from_package(module, "sklearn"):
        private = [part for part in parts if part.startswith("_")]
        assert not private, f"{module}:{line} imports {'.'.join(parts)}"


@every_module
def test_heavy_packages_are_imported_where_they_are_used(module):
    tree = ast.parse((PACKAGE / module).read_text(encoding="utf-8"))
    heavy = {"catboost", "matplotlib", "pandas", "polars"}
    for node in tree.body:
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        assert not heavy & {name.split(".")[0] for name in names}, node.lineno


def _run(code):
    paths = [str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_import_loads_nothing_heavy():
    loaded = _run(
        "import sys, sklearn.base\n"
        "before = {name.split('.')[0] for name in sys.modules}\n"
        "import skcal\n"
        "print(*{name.split('.')[0] for name in sys.modules} - before)\n"
    ).split()
    assert "skcal" in loaded
    # scikit-learn itself loads pandas where it is installed; the others it does not.
    assert not {"catboost", "matplotlib", "pandas", "polars"} & set(loaded)


def test_measures_work_without_pandas_polars_and_matplotlib():
    """Optional packages that the test environment has must not be needed (I15)."""
    printed = _run(
        "import sys\n"
        "for name in ('catboost', 'matplotlib', 'pandas', 'polars', 'pyarrow'):\n"
        "    sys.modules[name] = None\n"
        "import skcal\n"
        "y, p = [0, 1, 1], [0.2, 0.6, 0.9]\n"
        "names = ['no', 'yes', 'yes']\n"
        "print(skcal.smooth_ece(y, p) > 0, skcal.rank_ece(y, p) < 1)\n"
        "print(skcal.binned_ece(names, p, pos_label='yes') > 0)\n"
        "print(skcal.SmoothECEAccumulator().update(y, p).compute() > 0)\n"
        "try:\n"
        "    skcal.ReliabilityDisplay.from_predictions(y, p)\n"
        "except ImportError as error:\n"
        "    print('matplotlib' in str(error))\n"
    )
    assert printed.split() == ["True"] * 5


def test_import_changes_no_warning_filters_and_prints_nothing():
    printed = _run(
        "import warnings, sklearn.metrics, scipy.fft\n"
        "before = list(warnings.filters)\n"
        "import skcal\n"
        "assert warnings.filters == before\n"
    )
    assert printed == ""
