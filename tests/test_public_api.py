"""The names, signatures and docstrings that users rely on."""

import importlib
import inspect
import pkgutil
import re
from importlib import metadata

import pytest
from numpydoc.validate import validate

import skcal

# The contract: what follows (y_true, y_proba) is keyword-only, with these defaults.
SIGNATURES = {
    "smooth_ece": {
        "sample_weight": None,
        "pos_label": None,
        "labels": None,
        "multiclass": "confidence",
        "scale": "linear",
        "bandwidth": None,
    },
    "rank_ece": {
        "pos_label": None,
        "labels": None,
        "multiclass": "confidence",
        "n_neighbors": 1,
        "ties": "average",
        "random_state": None,
    },
    "variational_ece": {
        "divergence": "l1",
        "recalibrator": None,
        "cv": 5,
        "direction": None,
        "estimate": "variational",
        "sample_weight": None,
        "pos_label": None,
        "labels": None,
        "multiclass": "canonical",
        "n_jobs": None,
        "random_state": 0,
        "groups": None,
    },
    "plugin_ece": {
        "recalibrator": inspect.Parameter.empty,
        "divergence": "l1",
        "cv": None,
        "direction": None,
        "sample_weight": None,
        "pos_label": None,
        "labels": None,
        "multiclass": "canonical",
        "n_jobs": None,
        "random_state": 0,
        "groups": None,
    },
    "rank_ece_test": {
        "method": "auto",
        "variance": "exact",
        "n_resamples": 9_999,
        "pos_label": None,
        "labels": None,
        "multiclass": "confidence",
        "random_state": 0,
        "n_jobs": None,
    },
    "skce_test": {
        "estimator": "unbiased",
        "kernel": "gaussian",
        "bandwidth": None,
        "method": "monte-carlo",
        "n_resamples": 999,
        "pos_label": None,
        "labels": None,
        "multiclass": "canonical",
        "random_state": 0,
    },
    "rank_ece_upper_bound": {
        "confidence_level": 0.95,
        "pos_label": None,
        "labels": None,
        "multiclass": "confidence",
    },
    "binned_ece": {
        "n_bins": 15,
        "strategy": "uniform",
        "norm": "l1",
        "debias": False,
        "sample_weight": None,
        "pos_label": None,
        "labels": None,
        "multiclass": "confidence",
    },
}
PROMISED = [
    *SIGNATURES,
    "BinnedECEAccumulator",
    "ReliabilityDisplay",
    "SmoothECEAccumulator",
    "VariationalECE",
    "bootstrap_interval",
    "calibrated_reference",
    "compare_calibration",
    "make_forecasts",
    "neg_binned_ece_scorer",
    "neg_rank_ece_scorer",
    "neg_smooth_ece_scorer",
    "neg_variational_ece_scorer",
    "rank_ece_sample_size",
]
PUBLIC_MODULES = sorted(
    module.name
    for module in pkgutil.iter_modules(skcal.__path__)
    if not module.name.startswith("_")
)
# Stays in its module: a plain name would say too little at the top.
NOT_AT_THE_TOP = {"SCORERS"}


@pytest.mark.parametrize("name", PROMISED)
def test_promised_names_are_there(name):
    assert name in skcal.__all__
    assert getattr(skcal, name) is not None


@pytest.mark.parametrize("module", PUBLIC_MODULES)
def test_top_level_has_what_the_modules_offer(module):
    module = importlib.import_module(f"skcal.{module}")
    assert module.__doc__
    for name in module.__all__:
        assert hasattr(module, name)
        if name not in NOT_AT_THE_TOP:
            assert getattr(skcal, name) is getattr(module, name)


def test_all_is_complete():
    assert len(set(skcal.__all__)) == len(skcal.__all__)
    public = {
        name
        for name, value in vars(skcal).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert public == set(skcal.__all__)


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures(name):
    parameters = inspect.signature(getattr(skcal, name)).parameters
    y_true, y_proba, *rest = parameters.values()
    assert (y_true.name, y_proba.name) == ("y_true", "y_proba")
    for parameter in (y_true, y_proba):
        assert parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        assert parameter.default is parameter.empty
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in rest)
    assert {p.name: p.default for p in rest} == SIGNATURES[name]
    assert [p.name for p in rest] == list(SIGNATURES[name])


@pytest.mark.parametrize("name", ["SmoothECEAccumulator", "BinnedECEAccumulator"])
def test_accumulators_share_their_interface(name):
    cls = getattr(skcal, name)
    update = inspect.signature(cls.update).parameters
    assert list(update) == ["self", "y_true", "y_proba", "sample_weight"]
    assert update["sample_weight"].default is None
    assert list(inspect.signature(cls.merge).parameters) == ["self", "other"]
    assert list(inspect.signature(cls.compute).parameters) == ["self"]
    kinds = {p.kind for p in inspect.signature(cls).parameters.values()}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}


def test_version_is_that_of_the_installed_package():
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+|rc\d+)?", skcal.__version__)
    try:
        installed = metadata.version("skcal")
    except metadata.PackageNotFoundError:
        pytest.skip("running from the source tree")
    assert installed == skcal.__version__


# Docstrings ---------------------------------------------------------------------------

# numpydoc's checks, by https://numpydoc.readthedocs.io/en/latest/validation.html.
FOR_ALL = {
    "GL03",  # two blank lines
    "GL05",  # tabs
    "GL06",  # unknown section
    "GL07",  # sections in another order
    "GL08",  # no docstring
    "GL09",  # deprecation before the summary
    "GL10",  # reST directives without ::
    "SS01",  # no summary
    "SS02",  # summary starts without a capital
    "SS03",  # summary ends without a period
    "SS04",  # summary has leading spaces
    "SS06",  # summary longer than a line
    "PR01",  # parameters that are not documented
    "PR02",  # unknown parameters
    "PR03",  # parameters in another order
    "PR04",  # parameters without a type
    "PR07",  # parameters without a description
    "PR10",  # no space before the colon
    "RT01",  # no Returns section
    "RT03",  # return value without a description
    "RT04",  # its description starts without a capital
    "RT05",  # its description ends without a period
    "SA02",  # See Also without a period
    "SA03",  # See Also without a capital
    "SA04",  # See Also without a description
}
FOR_FUNCTIONS_AND_CLASSES = {"SA01", "EX01"}  # no See Also, no Examples
# Well-known names start in lower case: smECE.
SMALL_LETTERS = {"SS02", "RT04"}


def _documented():
    """Dotted names of public functions, classes and their public methods."""
    for name in skcal.__all__:
        item = getattr(skcal, name)
        if not (inspect.isclass(item) or inspect.isfunction(item)):
            continue  # scorer objects
        home = f"{item.__module__}.{name}"
        yield home, True
        if inspect.isclass(item):
            for member, value in inspect.getmembers(item, callable):
                package = getattr(value, "__module__", None) or ""
                if not member.startswith("_") and package.startswith("skcal"):
                    yield f"{home}.{member}", False


@pytest.mark.parametrize(("name", "top"), list(_documented()))
def test_docstring(name, top):
    checked = FOR_ALL | (FOR_FUNCTIONS_AND_CLASSES if top else set())
    result = validate(name)
    problems = [
        (code, message) for code, message in result["errors"] if code in checked
    ]
    if name.endswith("Result"):
        # Users get these and do not make them: their fields are attributes.
        problems = [problem for problem in problems if problem[0] != "PR01"]
    if "smECE" in result["docstring"]:
        problems = [problem for problem in problems if problem[0] not in SMALL_LETTERS]
    assert problems == []


@pytest.mark.parametrize("name", SIGNATURES)
def test_measures_say_where_they_come_from(name):
    doc = inspect.getdoc(getattr(skcal, name))
    assert "References" in doc
    assert "Raises" in doc
    page = name if hasattr(skcal.metrics, name) else ""
    assert f":ref:`User Guide <{page}" in doc


@pytest.mark.parametrize("name", skcal.__all__)
def test_defaults_in_docstrings_are_those_of_the_signature(name):
    item = getattr(skcal, name)
    if not (inspect.isclass(item) or inspect.isfunction(item)):
        pytest.skip("a scorer object")
    functions = [item]
    if inspect.isclass(item):
        functions += [
            value
            for member, value in inspect.getmembers(item, callable)
            if not member.startswith("_")
            and (getattr(value, "__module__", None) or "").startswith("skcal")
        ]
    for function in functions:
        # A type that goes on after a backslash is one line here, unless the docstring
        # is raw: then numpydoc would take the rest of it for the description.
        doc = inspect.getdoc(function) or ""
        for parameter in inspect.signature(function).parameters.values():
            stated = re.search(
                rf"^{parameter.name} : .*default=(\S+)$", doc, flags=re.MULTILINE
            )
            if parameter.default is parameter.empty or parameter.name == "self":
                assert stated is None, parameter.name
            else:
                assert stated, f"{function.__qualname__}: {parameter.name}"
                default = parameter.default
                text = f'"{default}"' if isinstance(default, str) else repr(default)
                assert stated[1] == text, parameter.name
