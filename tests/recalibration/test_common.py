"""Common checks on everything that skcal.recalibration exports."""

import inspect

import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_estimator,
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
from skcal.recalibration._quadratic import QuadraticScaling
from skcal.recalibration._temperature import TemperatureScaling
from skcal.recalibration._transformer import ProbabilityTransformer
from tests.common_checks import IdentityOneVsRest, IdentityRecalibrator, all_checks

# Arguments that make the slower ones quick; their own tests try the defaults.
ARGUMENTS = {
    "BoostedTemperatureScaling": {"iterations": 2, "cv": 2},
    "StackedRecalibrator": {
        "recalibrators": [TemperatureScaling(), QuadraticScaling()],
        "cv": 2,
    },
}


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


# scikit-learn's own, on logits -------------------------------------------------------

# Most of these checks make data that no recalibrator takes: as recalibrators can take
# one column they get the first of several features, with labels of three classes, or
# with code that needs two dimensions, or several features with another number of
# classes.
OTHER_COLUMNS = "as many columns as classes are needed"
OTHER_WORDS = "an error is raised as it should, in the words of skcal._predictions"
LOGITS_FAILURES = {
    "check_classifier_data_not_an_array": OTHER_COLUMNS,
    "check_classifiers_classes": OTHER_COLUMNS,
    "check_classifiers_train": OTHER_COLUMNS,
    "check_complex_data": OTHER_WORDS,
    "check_dict_unchanged": OTHER_COLUMNS,
    "check_dont_overwrite_parameters": OTHER_COLUMNS,
    "check_dtype_object": OTHER_COLUMNS,
    "check_estimator_sparse_array": OTHER_WORDS,
    "check_estimator_sparse_matrix": OTHER_WORDS,
    "check_estimator_sparse_tag": OTHER_COLUMNS,
    "check_estimators_empty_data_messages": OTHER_WORDS,
    "check_estimators_fit_returns_self": OTHER_COLUMNS,
    "check_estimators_nan_inf": OTHER_COLUMNS,
    "check_estimators_overwrite_params": OTHER_COLUMNS,
    "check_f_contiguous_array_estimator": OTHER_COLUMNS,
    "check_fit2d_1feature": OTHER_COLUMNS,
    "check_fit2d_1sample": OTHER_COLUMNS,
    "check_fit2d_predict1d": OTHER_COLUMNS,
    "check_fit_score_takes_y": OTHER_COLUMNS,
    "check_methods_sample_order_invariance": OTHER_COLUMNS,
    "check_methods_subset_invariance": OTHER_COLUMNS,
    "check_n_features_in": OTHER_COLUMNS,
    "check_n_features_in_after_fitting": OTHER_COLUMNS,
    "check_positive_only_tag_during_fit": OTHER_COLUMNS,
    "check_readonly_memmap_input": OTHER_COLUMNS,
    "check_requires_y_none": OTHER_WORDS,
    "check_sample_weight_equivalence_on_dense_data": OTHER_COLUMNS,
    "check_sample_weights_list": OTHER_COLUMNS,
    "check_sample_weights_not_an_array": OTHER_COLUMNS,
    "check_supervised_y_2d": OTHER_COLUMNS,
    "check_transformer_data_not_an_array": OTHER_COLUMNS,
    "check_transformer_general": OTHER_COLUMNS,
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "recalibrator", recalibrators(), ids=lambda r: type(r).__name__
)
def test_on_logits(recalibrator):
    results = check_estimator(
        clone(recalibrator).set_params(input="logits"), on_fail=None, on_skip=None
    )
    ran = {result["check_name"] for result in results}
    # scikit-learn 1.6 runs it for estimators that take no sparse data.
    ran -= {"check_sample_weight_equivalence_on_sparse_data"}
    failed = {r["check_name"] for r in results if r["status"] == "failed"}
    assert failed & ran == set(LOGITS_FAILURES) & ran


# scikit-learn's own, on meta-estimators ----------------------------------------------


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
        RecalibratedClassifierCV(GaussianNB(), cv=3),
        RecalibratedClassifierCV(RidgeClassifier(), cv=3),
        RecalibratedClassifierCV(RidgeClassifier(), cv=3, ensemble=False),
        ProbabilityTransformer(RidgeClassifier(), method="decision_function"),
        ProbabilityTransformer(RidgeClassifier()),
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
@parametrize([meta_estimators()[j] for j in (1, 2, 4)], TRANSFORMER_FAILURES)
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
