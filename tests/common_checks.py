"""scikit-learn's estimator checks, restated on probabilities.

scikit-learn's own checks feed columns that are neither probabilities nor one per class,
so most of them cannot say anything about a recalibrator. These have the same names
where they check the same, and take a recalibrator and a number of classes. Those that
scikit-learn lacks are at the end.
"""

import inspect
import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax
from sklearn.base import clone, is_classifier
from sklearn.exceptions import (
    ConvergenceWarning,
    InconsistentVersionWarning,
    NotFittedError,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from skcal.recalibration._base import BaseRecalibrator, OneVsRestRecalibrator

N_ROWS = 60


def logits_and_labels(n_classes, n_samples=N_ROWS, seed=0):
    """Over-confident logits, and labels 0 to n_classes - 1 that all occur."""
    rng = np.random.default_rng(seed)
    logits = 1.5 * rng.normal(size=(n_samples, n_classes))
    cumulative = softmax(0.6 * logits, axis=1).cumsum(axis=1)
    y = (rng.uniform(size=(n_samples, 1)) > cumulative[:, :-1]).sum(axis=1)
    y[:n_classes] = np.arange(n_classes)
    return logits, y


def proba_and_labels(n_classes, n_samples=N_ROWS, seed=0):
    logits, y = logits_and_labels(n_classes, n_samples, seed)
    return softmax(logits, axis=1), y


def assert_valid(proba, shape):
    assert proba.shape == shape
    assert np.isfinite(proba).all()
    assert proba.min() >= 0
    assert proba.max() <= 1
    assert_allclose(proba.sum(axis=1), 1, atol=1e-6)


# The interface ------------------------------------------------------------------------


def check_estimator_cloneable(recalibrator, n_classes):
    for name, value in recalibrator.get_params(deep=False).items():
        assert repr(clone(recalibrator).get_params(deep=False)[name]) == repr(value)


def check_parameters_default_constructible(recalibrator, n_classes):
    signature = inspect.signature(type(recalibrator))
    for name, parameter in signature.parameters.items():
        if name in ("labels", "input"):
            assert parameter.kind is parameter.KEYWORD_ONLY
    assert signature.parameters["labels"].default is None
    assert signature.parameters["input"].default == "proba"
    assert set(recalibrator._parameter_constraints) == set(signature.parameters)


def check_estimator_repr(recalibrator, n_classes):
    assert type(recalibrator).__name__ in repr(recalibrator)
    assert type(recalibrator).__name__ in recalibrator._repr_html_()


def check_no_attributes_set_in_init(recalibrator, n_classes):
    assert set(vars(clone(recalibrator))) == set(recalibrator.get_params(deep=False))


def check_mixin_order(recalibrator, n_classes):
    order = [c.__name__ for c in type(recalibrator).__mro__]
    assert order.index("ClassifierMixin") < order.index("BaseEstimator")
    assert order.index("TransformerMixin") < order.index("BaseEstimator")


def check_valid_tag_types(recalibrator, n_classes):
    tags = get_tags(recalibrator)
    assert is_classifier(recalibrator)
    assert tags.target_tags.required
    assert tags.transformer_tags.preserves_dtype == ["float64", "float32"]


def check_set_params(recalibrator, n_classes):
    recalibrator.set_params(labels=[0, 1], input="logits")
    assert recalibrator.get_params()["labels"] == [0, 1]
    assert recalibrator.get_params()["input"] == "logits"


def check_param_validation(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    message = rf"The '{{}}' parameter of {type(recalibrator).__name__} must be"
    for name, constraints in recalibrator._parameter_constraints.items():
        if constraints == "no_validation":
            continue
        wrong = clone(recalibrator).set_params(**{name: object()})
        with pytest.raises(ValueError, match=message.format(name)):
            wrong.fit(proba, y)


def check_estimators_fit_returns_self(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    assert recalibrator.fit(proba, y) is recalibrator


def check_estimators_unfitted(recalibrator, n_classes):
    proba, _ = proba_and_labels(n_classes)
    for method in ("transform", "predict_proba", "predict"):
        with pytest.raises(NotFittedError):
            getattr(recalibrator, method)(proba)
    with pytest.raises(NotFittedError):
        recalibrator.get_feature_names_out()


def check_dont_overwrite_parameters(recalibrator, n_classes):
    """I3: what `fit` adds ends in an underscore, and no argument is replaced."""
    proba, y = proba_and_labels(n_classes)
    before = recalibrator.get_params(deep=False)
    hashed = joblib.hash(before)
    recalibrator.fit(proba, y)
    after = recalibrator.get_params(deep=False)
    assert all(after[name] is value for name, value in before.items())
    assert joblib.hash(after) == hashed
    added = set(vars(recalibrator)) - set(before)
    assert all(name.endswith("_") or name.startswith("_") for name in added), added


def check_dict_unchanged(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    recalibrator.fit(proba, y)
    before = joblib.hash(vars(recalibrator))
    for method in ("transform", "predict_proba", "predict"):
        getattr(recalibrator, method)(proba)
        assert joblib.hash(vars(recalibrator)) == before


def check_fit_idempotent(recalibrator, n_classes):
    """I3: a second fit is the same as the first, whatever was fitted between."""
    proba, y = proba_and_labels(n_classes)
    first = recalibrator.fit(proba, y).transform(proba)
    other, y_other = proba_and_labels(5 - n_classes, seed=1)
    recalibrator.fit(pd.DataFrame(other, columns=list("abc")[: 5 - n_classes]), y_other)
    assert_array_equal(recalibrator.fit(proba, y).transform(proba), first)
    assert recalibrator.n_features_in_ == n_classes
    assert not hasattr(recalibrator, "feature_names_in_")


def check_fit_check_is_fitted(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    recalibrator.fit(proba, y)
    assert_array_equal(recalibrator.classes_, np.arange(n_classes))
    assert recalibrator.n_features_in_ == n_classes


def check_estimators_pickle(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    expected = recalibrator.fit(proba, y).transform(proba)
    restored = pickle.loads(pickle.dumps(recalibrator))
    assert_array_equal(restored.transform(proba), expected)


def check_readonly_memmap_input(recalibrator, n_classes, tmp_path):
    proba, y = proba_and_labels(n_classes)
    expected = clone(recalibrator).fit(proba, y, np.ones(len(y))).transform(proba)
    path = tmp_path / "arrays"
    joblib.dump((proba, y, np.ones(len(y))), path)
    mapped, y, weight = joblib.load(path, mmap_mode="r")
    assert_array_equal(recalibrator.fit(mapped, y, weight).transform(mapped), expected)


def check_pipeline_consistency(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    pipeline = make_pipeline(clone(recalibrator)).fit(proba, y)
    recalibrator.fit(proba, y)
    assert_array_equal(pipeline.predict_proba(proba), recalibrator.predict_proba(proba))
    assert pipeline.score(proba, y) == recalibrator.score(proba, y)


# What goes in -------------------------------------------------------------------------


def check_estimators_nan_inf(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    for value, found in ((np.nan, "NaN"), (np.inf, "infinity")):
        bad = proba.copy()
        bad[3, 1] = value
        with pytest.raises(ValueError, match=found):
            recalibrator.fit(bad, y)
    recalibrator.fit(proba, y)
    with pytest.raises(ValueError, match="infinity"):
        recalibrator.transform(bad)


def check_estimators_out_of_range(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\]"):
        recalibrator.fit(100 * proba, y)


def check_swapped_arguments(recalibrator, n_classes):
    """The order of the measures, labels first, is the wrong one here."""
    proba, y = proba_and_labels(n_classes)
    with pytest.raises(ValueError, match=r"^proba must hold.*\(proba, y\)"):
        recalibrator.fit(np.asarray(y).astype(str), proba)
    codes = np.arange(len(proba)) % 2
    with pytest.raises(ValueError, match=r"^y must hold class.*\(proba, y\)"):
        recalibrator.fit(codes, proba[:, 1])


def check_logits_for_probabilities(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    with pytest.raises(ValueError, match=r'^proba must lie in.*input="logits"'):
        recalibrator.fit(np.log(np.clip(proba, 1e-9, 1.0)), y)


def check_column_order(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    names = [str(label) for label in np.unique(y)][::-1]
    with pytest.raises(ValueError, match=r"columns of proba.*sorted order.*Reorder"):
        recalibrator.fit(pd.DataFrame(proba, columns=names), y)


def check_complex_data(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    with pytest.raises(ValueError, match="real numbers"):
        recalibrator.fit(proba + 0j, y)


def check_dtype_object(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    expected = clone(recalibrator).fit(proba, y).transform(proba)
    boxed = proba.astype(object)
    assert_array_equal(recalibrator.fit(boxed, y).transform(boxed), expected)
    boxed[0, 0] = "0.5"
    with pytest.raises(ValueError, match="real numbers"):
        recalibrator.fit(boxed, y)


def check_estimators_empty_data_messages(recalibrator, n_classes):
    with pytest.raises(ValueError, match="0 sample"):
        recalibrator.fit(np.empty((0, n_classes)), np.empty(0))


def check_supervised_y_no_nan(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    y = y.astype(float)
    y[0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        recalibrator.fit(proba, y)


def check_classifiers_regression_target(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    with pytest.raises(ValueError, match="continuous"):
        recalibrator.fit(proba, y + np.linspace(0, 0.5, len(y)))


def check_n_features_in(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    recalibrator.fit(proba, y)
    more = np.full((3, n_classes + 1), 1 / (n_classes + 1))
    with pytest.raises(ValueError, match=r"features|classes and got scores of"):
        recalibrator.transform(more)


def check_fit1d(recalibrator, n_classes):
    """Two classes in one column, in any of the ways to write it."""
    proba, y = proba_and_labels(2)
    expected = clone(recalibrator).fit(proba, y).transform(proba)
    for column in (proba[:, 1], proba[:, 1:], proba[:, 1].tolist()):
        recalibrator.fit(column, y)
        assert_allclose(recalibrator.transform(column), expected, rtol=1e-12)
        assert recalibrator.n_features_in_ == 1
    recalibrator.fit(pd.Series(proba[:, 1]), y)
    assert_allclose(recalibrator.transform(pl.Series(proba[:, 1])), expected)


def check_classifier_data_not_an_array(recalibrator, n_classes):
    """I16: lists and data frames of any make give the same as arrays."""
    proba, y = proba_and_labels(n_classes)
    names = [f"p{k}" for k in range(n_classes)]
    expected = clone(recalibrator).fit(proba, y).transform(proba)
    for X, target in (
        (proba.tolist(), y.tolist()),
        (pd.DataFrame(proba, columns=names), pd.Series(y)),
        (pl.DataFrame(proba, schema=names), pl.Series(y)),
        (np.asfortranarray(proba), y[:, np.newaxis]),
    ):
        fitted = clone(recalibrator).fit(X, target)
        assert_allclose(fitted.transform(X), expected, rtol=1e-12)


def check_dataframe_column_names_consistency(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    frame = pd.DataFrame(proba, columns=[f"p{k}" for k in range(n_classes)])
    recalibrator.fit(frame, y)
    assert_array_equal(recalibrator.feature_names_in_, frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        recalibrator.transform(frame.rename(columns={"p0": "q0"}))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        recalibrator.transform(proba)


def check_estimators_dtypes(recalibrator, n_classes):
    """Probabilities of 0 and 1 may come as integers or booleans."""
    _, y = proba_and_labels(n_classes)
    certain = np.eye(n_classes)[np.where(np.arange(len(y)) % 5, y, 1)]
    expected = clone(recalibrator).fit(certain, y).transform(certain)
    for dtype in (np.int32, np.int64, bool):
        fitted = clone(recalibrator).fit(certain.astype(dtype), y)
        assert_allclose(fitted.transform(certain.astype(dtype)), expected, rtol=1e-12)


# What comes out -----------------------------------------------------------------------


def check_classifiers_train(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    recalibrator.fit(proba, y)
    for new in (proba, *proba_and_labels(n_classes, 7, seed=1)[:1]):
        repaired = recalibrator.predict_proba(new)
        assert_valid(repaired, new.shape)
        assert_array_equal(repaired, recalibrator.transform(new))
        assert_array_equal(recalibrator.predict(new), repaired.argmax(axis=1))


def check_classifiers_classes(recalibrator, n_classes):
    """I16: labels of any sortable kind survive."""
    proba, y = proba_and_labels(n_classes)
    expected = clone(recalibrator).fit(proba, y).transform(proba)
    names = np.array(["absent", "maybe", "yes"])[:n_classes]
    for classes in (
        names,
        names.astype(object),
        np.arange(n_classes) + 5,
        np.arange(n_classes) * 2.0 - 1.0,
    ):
        fitted = clone(recalibrator).fit(proba, classes[y])
        assert_allclose(fitted.transform(proba), expected, rtol=1e-12)
        assert_array_equal(fitted.classes_, classes)
        assert set(fitted.predict(proba)) <= set(classes)
    for target in (
        pd.Series(names[y], dtype="category"),
        pd.Series(names[y], dtype="string"),
        pl.Series(names[y].tolist()),
    ):
        fitted = clone(recalibrator).fit(proba, target)
        assert_allclose(fitted.transform(proba), expected, rtol=1e-12)
        assert fitted.classes_.tolist() == names.tolist()


def check_transformer_general(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    together = clone(recalibrator).fit_transform(proba, y)
    assert_array_equal(recalibrator.fit(proba, y).transform(proba), together)


def check_transformer_preserve_dtypes(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    repaired = recalibrator.fit(proba, y).transform(proba)
    assert repaired.dtype == np.float64
    single = proba.astype(np.float32)
    assert recalibrator.transform(single).dtype == np.float32
    of_single = recalibrator.fit(single, y).transform(single)
    assert of_single.dtype == np.float32
    assert_allclose(of_single, repaired, atol=2e-4)


def check_methods_subset_invariance(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    whole = recalibrator.fit(proba, y).transform(proba)
    parts = [recalibrator.transform(proba[i : i + 7]) for i in range(0, len(y), 7)]
    assert_allclose(np.vstack(parts), whole, rtol=1e-12, atol=1e-15)
    assert_allclose(recalibrator.transform(proba[:1]), whole[:1], rtol=1e-12)


def check_methods_sample_order_invariance(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    whole = recalibrator.fit(proba, y).transform(proba)
    reverse = recalibrator.transform(proba[::-1])[::-1]
    assert_allclose(reverse, whole, rtol=1e-12, atol=1e-15)


def check_fit_sample_order_invariance(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    proba = proba.round(1)
    proba /= proba.sum(axis=1, keepdims=True)
    expected = clone(recalibrator).fit(proba, y).transform(proba)
    order = np.random.default_rng(0).permutation(len(y))
    recalibrator.fit(proba[order], y[order])
    assert_allclose(recalibrator.transform(proba), expected, rtol=1e-6, atol=1e-9)


def check_transformer_get_feature_names_out(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    names = np.array(["absent", "maybe", "yes"])[:n_classes]
    recalibrator.fit(proba, names[y])
    prefix = type(recalibrator).__name__.lower()
    shown = recalibrator.get_feature_names_out()
    assert shown.dtype == object
    assert shown.tolist() == [f"{prefix}_{name}" for name in names]


def check_set_output_transform(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    expected = clone(recalibrator).fit(proba, y).transform(proba)
    for container, make in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        recalibrator.set_output(transform=container)
        for shown in (
            recalibrator.fit_transform(proba, y),
            recalibrator.fit(proba, y).transform(proba),
        ):
            assert isinstance(shown, make)
            assert list(shown.columns) == recalibrator.get_feature_names_out().tolist()
            assert_allclose(shown.to_numpy(), expected)
    # What a classifier predicts stays an array.
    assert isinstance(recalibrator.predict_proba(proba), np.ndarray)


# Weights ------------------------------------------------------------------------------


def check_sample_weights_not_an_array(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    weight = np.arange(len(y)) % 3 + 1.0
    expected = clone(recalibrator).fit(proba, y, weight).transform(proba)
    for given in (weight.tolist(), pd.Series(weight), pl.Series(weight)):
        fitted = clone(recalibrator).fit(proba, y, sample_weight=given)
        assert_array_equal(fitted.transform(proba), expected)


def check_sample_weights_shape(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    for weight in (np.ones((len(y), 2)), np.ones(len(y) - 1), 1.0):
        with pytest.raises(ValueError, match="sample_weight"):
            recalibrator.fit(proba, y, sample_weight=weight)


def check_sample_weights_not_overwritten(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    weight = np.arange(len(y)) % 3 + 1.0
    given = (proba.copy(), y.copy(), weight.copy())
    recalibrator.fit(*given)
    for array, before in zip(given, (proba, y, weight), strict=True):
        assert_array_equal(array, before)


def check_all_zero_sample_weights_error(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    with pytest.raises(ValueError, match="at least one non-zero"):
        recalibrator.fit(proba, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match="negative"):
        recalibrator.fit(proba, y, sample_weight=np.full(len(y), -1.0))


def check_sample_weights_of_one(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    expected = clone(recalibrator).fit(proba, y).transform(proba)
    recalibrator.fit(proba, y, sample_weight=np.ones(len(y), dtype=int))
    assert_array_equal(recalibrator.transform(proba), expected)


def check_sample_weight_equivalence(recalibrator, n_classes):
    """W11: a weight of k counts as k repetitions."""
    proba, y = proba_and_labels(n_classes)
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), weight)
    expected = clone(recalibrator).fit(proba[repeated], y[repeated]).transform(proba)
    recalibrator.fit(proba, y, sample_weight=weight)
    assert_allclose(recalibrator.transform(proba), expected, rtol=1e-6, atol=1e-9)


def check_sample_weight_zero_is_absence(recalibrator, n_classes):
    """W11: a weight of 0 counts as the absence of the row."""
    proba, y = proba_and_labels(n_classes)
    weight = (np.random.default_rng(0).uniform(size=len(y)) < 0.7).astype(float)
    weight[: 2 * n_classes] = 1.0
    kept = weight > 0
    expected = clone(recalibrator).fit(proba[kept], y[kept]).transform(proba)
    recalibrator.fit(proba, y, sample_weight=weight)
    assert_allclose(recalibrator.transform(proba), expected, rtol=1e-9, atol=1e-12)


# Beyond scikit-learn's ----------------------------------------------------------------


def check_vast_and_minute_weights(recalibrator, n_classes):
    """Sums and squares of weights may overflow and vanish without a warning."""
    proba, y = proba_and_labels(n_classes)
    for size in (1e-200, 1e200):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            recalibrator.fit(proba, y, sample_weight=np.full(len(y), size))
            assert_valid(recalibrator.transform(proba), proba.shape)


def check_logits_input(recalibrator, n_classes):
    """The scale of the input is told, and makes no difference beyond rounding."""
    logits, y = logits_and_labels(n_classes)
    proba = softmax(logits, axis=1)
    expected = clone(recalibrator).fit(proba, y).transform(proba)
    recalibrator.set_params(input="logits")
    repaired = recalibrator.fit(logits, y).transform(logits)
    assert_allclose(repaired, expected, rtol=1e-5, atol=1e-7)
    if n_classes == 2:
        log_odds = logits[:, 1] - logits[:, 0]
        one_column = recalibrator.fit(log_odds, y).transform(log_odds)
        assert_allclose(one_column, repaired, rtol=1e-6, atol=1e-9)


def check_extreme_logits(recalibrator, n_classes):
    """Logits of +-100 and their probabilities of exactly 0 and 1 give no NaN."""
    logits, y = logits_and_labels(n_classes)
    logits *= 100.0 / np.abs(logits).max()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        proba = softmax(logits, axis=1)
        assert_valid(recalibrator.fit(proba, y).transform(proba), proba.shape)
        recalibrator.set_params(input="logits").fit(logits, y)
        assert_valid(recalibrator.transform(logits), logits.shape)


def check_vast_logits(recalibrator, n_classes):
    """Decision functions have no unit: nothing overflows, whatever they are in."""
    logits, y = logits_and_labels(n_classes)
    recalibrator.set_params(input="logits")
    for unit in (1e6, 1e30, 1e200, 5e307 / np.abs(logits).max()):
        for given in (unit * logits, unit + logits):
            with warnings.catch_warnings():
                # The fit may give up, with a warning, but not fail.
                warnings.simplefilter("ignore", ConvergenceWarning)
                warnings.filterwarnings("ignore", "The scores rank|The best temp")
                recalibrator.fit(given, y)
                assert_valid(recalibrator.transform(given), logits.shape)


def check_separable(recalibrator, n_classes):
    """C3: scores that tell the classes apart without an error, and always wrongly."""
    _, y = proba_and_labels(n_classes)
    sharpness = np.linspace(1, 8, len(y))[:, np.newaxis]
    right = softmax(sharpness * np.eye(n_classes)[y], axis=1)
    wrong = softmax(sharpness * np.eye(n_classes)[(y + 1) % n_classes], axis=1)
    with warnings.catch_warnings():
        # A warning is welcome here; that all of it is finite is checked.
        warnings.simplefilter("ignore")
        for proba in (right, wrong, np.eye(n_classes)[y]):
            recalibrator.fit(proba, y)
            assert_valid(recalibrator.transform(proba), proba.shape)


def check_few_rows(recalibrator, n_classes):
    """C3: one row of each class, and ten rows."""
    for n_samples in (n_classes, 10):
        proba, y = proba_and_labels(n_classes, n_samples)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            recalibrator.fit(proba, y)
        new, _ = proba_and_labels(n_classes, 50, seed=1)
        assert_valid(recalibrator.transform(new), new.shape)


def check_constant_score(recalibrator, n_classes):
    """C4: a constant score does not crash."""
    _, y = proba_and_labels(n_classes)
    proba = np.full((len(y), n_classes), 0.3)
    proba[:, -1] = 1.0 - 0.3 * (n_classes - 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        recalibrator.fit(proba, y)
    new, _ = proba_and_labels(n_classes, 50, seed=1)
    assert_valid(recalibrator.transform(proba), proba.shape)
    assert_valid(recalibrator.transform(new), new.shape)


def check_classifiers_one_label(recalibrator, n_classes):
    """C2: training labels of one class, with the class list given."""
    proba, _ = proba_and_labels(n_classes)
    with pytest.raises(ValueError, match="Pass labels="):
        recalibrator.fit(proba, np.full(N_ROWS, 7))
    recalibrator.set_params(labels=list(range(n_classes)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        recalibrator.fit(proba, np.ones(N_ROWS, dtype=int))
    assert_array_equal(recalibrator.classes_, np.arange(n_classes))
    assert_valid(recalibrator.transform(proba), proba.shape)


def check_class_missing(recalibrator, n_classes):
    """C2: training labels that lack one class of three or more."""
    proba, y = proba_and_labels(n_classes + 1)
    kept = y != 1
    with pytest.raises(ValueError, match="Pass labels="):
        recalibrator.fit(proba[kept], y[kept])
    recalibrator.set_params(labels=list(range(n_classes + 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        recalibrator.fit(proba[kept], y[kept])
    assert_valid(recalibrator.transform(proba), proba.shape)


def check_many_classes(recalibrator, n_classes):
    n_classes *= 8
    proba, y = proba_and_labels(n_classes, 40 * n_classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        recalibrator.fit(proba, y)
    assert_valid(recalibrator.transform(proba), proba.shape)


def check_no_training_data_kept(recalibrator, n_classes):
    """A pickle does not grow with the rows."""
    few, y_few = proba_and_labels(n_classes, 500)
    many, y_many = proba_and_labels(n_classes, 2500)
    grown = len(pickle.dumps(recalibrator.fit(many, y_many)))
    assert grown < 1.5 * len(pickle.dumps(recalibrator.fit(few, y_few))) + 2000


def check_version_in_pickle(recalibrator, n_classes):
    proba, y = proba_and_labels(n_classes)
    state = recalibrator.fit(proba, y).__getstate__()
    assert "_skcal_version" in state
    state["_skcal_version"] = "0.0.0"
    with pytest.warns(InconsistentVersionWarning, match=r"0\.0\.0"):
        clone(recalibrator).__setstate__(state)


def check_grid_search(recalibrator, n_classes):
    """I1: probability scores work in a search, on string labels as well."""
    proba, y = proba_and_labels(n_classes, 90)
    scoring = ["neg_log_loss", "neg_brier_score"]
    if n_classes > 2:
        # scikit-learn 1.6 has no Brier score of more than two classes, and the Brier
        # scorer wants to know the positive one of two strings.
        y, scoring = np.array(["absent", "maybe", "yes"])[y], scoring[:1]
    search = GridSearchCV(
        recalibrator.set_params(labels=np.unique(y)),
        {"input": ["proba"]},
        scoring=scoring,
        refit=scoring[0],
        cv=2,
        error_score="raise",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(proba, y)
    for name in scoring:
        assert np.isfinite(search.cv_results_[f"mean_test_{name}"]).all()


def check_never_prints(recalibrator, n_classes, capfd, tmp_path, monkeypatch):
    """Nothing printed, no file written."""
    monkeypatch.chdir(tmp_path)
    proba, y = proba_and_labels(n_classes)
    recalibrator.fit(proba, y).transform(proba)
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


def all_checks():
    """The checks by name, in the order of this file."""
    return {
        name: check for name, check in globals().items() if name.startswith("check_")
    }


class IdentityRecalibrator(BaseRecalibrator):
    """Gives probabilities back: the least that a recalibrator can be."""

    def __init__(self, *, labels=None, input="proba"):
        self.labels = labels
        self.input = input

    def _fit_scores(self, scores, codes, weight):
        pass

    def _apply_scores(self, scores):
        return softmax(scores, axis=1)


class IdentityOneVsRest(OneVsRestRecalibrator):
    """The same, one event at a time."""

    def __init__(self, *, labels=None, input="proba"):
        self.labels = labels
        self.input = input

    def _fit_event(self, log_odds, event, weight):
        return "identity"

    def _apply_event(self, learned, log_odds):
        return expit(log_odds)
