"""Common checks on everything that skcal.recalibration exports."""

import inspect

import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_get_feature_names_out_error,
    check_param_validation,
    check_set_output_transform,
    check_transformer_get_feature_names_out,
    check_transformer_get_feature_names_out_pandas,
    parametrize_with_checks,
)
from sklearn.utils.fixes import parse_version

import skcal.recalibration
from skcal.recalibration._base import BaseRecalibrator
from skcal.recalibration._classifier import RecalibratedClassifierCV
from skcal.recalibration._crossfit import ProbabilityTransformer
from tests.common_checks import IdentityOneVsRest, IdentityRecalibrator, all_checks

# What a recalibrator cannot be built without.
ARGUMENTS = {}


def recalibrators():
    """One of each exported recalibrator, and the simplest there can be."""
    found = [IdentityRecalibrator, IdentityOneVsRest]
    for name in skcal.recalibration.__all__:
        exported = getattr(skcal.recalibration, name)
        if inspect.isclass(exported) and issubclass(exported, BaseRecalibrator):
            found.append(exported)
    return [kind(**ARGUMENTS.get(kind.__name__, {})) for kind in found]


# Recalibrators, on probabilities ------------------------------------------------------

CROSS_FITTED = "its inner folds separate repetitions of a row, by design"

EXPECTED_FAILURES = {
    "BoostedTemperatureScaling": {"check_sample_weight_equivalence": CROSS_FITTED},
    "StackedRecalibrator": {"check_sample_weight_equivalence": CROSS_FITTED},
    "KernelCalibration": {
        "check_no_training_data_kept": "a kernel regression is its training data"
    },
}


def cases():
    for recalibrator in recalibrators():
        kind = type(recalibrator).__name__
        for name, check in all_checks().items():
            reason = EXPECTED_FAILURES.get(kind, {}).get(name)
            marks = [] if reason is None else [pytest.mark.xfail(reason=reason)]
            for n_classes in (2, 3):
                case_id = f"{kind}-{n_classes}-{name}"
                yield pytest.param(
                    recalibrator, n_classes, check, id=case_id, marks=marks
                )


@pytest.mark.parametrize(("recalibrator", "n_classes", "check"), list(cases()))
def test_on_probabilities(recalibrator, n_classes, check, request):
    fixtures = {
        name: request.getfixturevalue(name)
        for name in inspect.signature(check).parameters
        if name not in ("recalibrator", "n_classes")
    }
    check(clone(recalibrator), n_classes, **fixtures)


# scikit-learn's own -------------------------------------------------------------------


def parametrize(estimators, failures):
    """scikit-learn's checks, with expected failures by the name of the class."""
    # Since scikit-learn 1.8 there is an argument for strictness. Before that, pytest's
    # xfail_strict in pyproject.toml says the same.
    strict = {}
    if parse_version(sklearn.__version__) >= parse_version("1.8"):
        strict = {"xfail_strict": True}
    mark = parametrize_with_checks(
        estimators,
        expected_failed_checks=lambda e: failures.get(type(e).__name__, {}),
        **strict,
    ).mark
    # pytest wants a list and scikit-learn gives a generator.
    names, generator = mark.args
    return pytest.mark.parametrize(names, list(generator), **mark.kwargs)


CROSS_FIT = "fit_transform is cross-fitted by design"
TRANSFORMER_FAILURES = {
    "ProbabilityTransformer": {
        "check_transformer_general": CROSS_FIT,
        "check_transformer_data_not_an_array": CROSS_FIT,
    }
}


def meta_estimators():
    return [
        RecalibratedClassifierCV(GaussianNB()),
        RecalibratedClassifierCV(RidgeClassifier()),
        RecalibratedClassifierCV(RidgeClassifier(), ensemble=False),
        ProbabilityTransformer(RidgeClassifier()),
        ProbabilityTransformer(RidgeClassifier(), method="decision_function"),
    ]


def quiet(test):
    """The checks fit labels that no feature tells, which recalibrators warn of, and
    labels and weights that scikit-learn itself warns of before it refuses them."""
    for message in (
        "The scores rank the labels in reverse",
        "invalid value encountered in cast",
        "divide by zero encountered in log",
    ):
        test = pytest.mark.filterwarnings(f"ignore:{message}")(test)
    return test


@quiet
@parametrize(meta_estimators(), TRANSFORMER_FAILURES)
def test_meta_estimator(estimator, check):
    check(estimator)


@quiet
@parametrize(meta_estimators(), TRANSFORMER_FAILURES)
def test_meta_estimator_with_routing(estimator, check):
    with sklearn.config_context(enable_metadata_routing=True):
        estimator.estimator.set_fit_request(sample_weight=True)
        check(estimator)


@quiet
@pytest.mark.parametrize("estimator", meta_estimators())
def test_meta_estimator_beyond_check_estimator(estimator):
    name = type(estimator).__name__
    checks = [check_param_validation, check_dataframe_column_names_consistency]
    if hasattr(estimator, "transform"):
        checks += [
            check_get_feature_names_out_error,
            check_transformer_get_feature_names_out,
            check_transformer_get_feature_names_out_pandas,
            check_set_output_transform,
        ]
    for check in checks:
        check(name, estimator)
