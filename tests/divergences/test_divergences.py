"""Divergences against textbook formulas, their definition and finite differences."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skcal.divergences import (
    L1,
    L2,
    Divergence,
    KullbackLeibler,
    LInf,
    Lp,
    SquaredEuclidean,
)
from skcal.divergences._names import check_divergence
from tests import references

DIVERGENCES = [
    L1(),
    L2(),
    LInf(),
    Lp(1.5),
    Lp(3),
    SquaredEuclidean(),
    KullbackLeibler(),
]
every_divergence = pytest.mark.parametrize("divergence", DIVERGENCES, ids=repr)
every_width = pytest.mark.parametrize("n_columns", [1, 2, 3, 6])


def draw(seed, n_rows, n_columns):
    """Forecasts, probabilities and the truth: vectors, or a column for one event."""
    rng = np.random.default_rng(seed)
    if n_columns == 1:
        return rng.uniform(size=(3, n_rows, 1))
    return rng.dirichlet(np.ones(n_columns), (3, n_rows))


def outcomes(n_columns):
    """All that can happen, as rows."""
    return np.eye(n_columns) if n_columns > 1 else np.array([[0.0], [1.0]])


def chances(truth):
    return truth if truth.shape[1] > 1 else np.hstack([1 - truth, truth])


@every_width
@every_divergence
def test_textbook_formulas(divergence, n_columns):
    f, z, _ = draw(0, 40, n_columns)
    expected = [
        references.divergence(divergence.name, *rows) for rows in zip(f, z, strict=True)
    ]
    assert_allclose(divergence.value(f, z), expected, rtol=1e-12, atol=1e-15)
    for happened in outcomes(n_columns):
        y = np.tile(happened, (40, 1))
        tangents = [
            references.divergence_tangent(divergence.name, *rows)
            for rows in zip(f, z, y, strict=True)
        ]
        assert_allclose(
            divergence.variational_value(f, z, y), tangents, rtol=1e-11, atol=1e-13
        )


@every_width
@every_divergence
def test_expected_value_is_the_divergence_for_the_truth_and_less_otherwise(
    divergence, n_columns
):
    """The definition: the mean over outcomes, exactly, not by simulation."""

    def expected(f, z, truth):
        return sum(
            chances(truth)[:, k]
            * divergence.variational_value(f, z, np.tile(y, (f.shape[0], 1)))
            for k, y in enumerate(outcomes(n_columns))
        )

    f, z, truth = draw(1, 500, n_columns)
    error = divergence.value(f, truth)
    assert_allclose(expected(f, truth, truth), error, rtol=1e-9, atol=1e-12)
    for other in (z, f, 0.5 * (truth + f), 0.5 * (truth + z)):
        assert np.all(expected(f, other, truth) <= error + 1e-12)


@every_width
@every_divergence
def test_the_formula_of_the_base_class_holds_for_all(divergence, n_columns):
    f, z, truth = draw(2, 100, n_columns)
    y = outcomes(n_columns)[chances(truth).argmax(axis=1)]
    assert_allclose(
        divergence.variational_value(f, z, y),
        Divergence.variational_value(divergence, f, z, y),
        rtol=1e-10,
        atol=1e-12,
    )


@every_width
@every_divergence
def test_gradients_are_slopes(divergence, n_columns):
    f, z, _ = draw(3, 300, n_columns)
    divergence.check(f, z, finite_differences=True)


@every_width
@every_divergence
def test_at_the_forecast(divergence, n_columns):
    f, _, _ = draw(4, 50, n_columns)
    y = outcomes(n_columns)[np.zeros(50, dtype=int)]
    # The sum of rounded numbers is another number; its rounding has no sign to count.
    rounded = (f * 3.0) / 3.0 + 1e-16
    for z in (f, rounded):
        assert_allclose(divergence.value(f, z), 0.0, atol=1e-15)
        assert_allclose(divergence.variational_value(f, z, y), 0.0, atol=1e-12)


@every_width
@every_divergence
def test_at_zero_and_one(divergence, n_columns):
    """Certain forecasts, right and wrong; certain probabilities; finite values."""
    certain = outcomes(n_columns)
    n_kinds = certain.shape[0]
    f = np.repeat(certain, n_kinds**2, axis=0)
    z = np.tile(np.repeat(certain, n_kinds, axis=0), (n_kinds, 1))
    y = np.tile(certain, (n_kinds**2, 1))
    with np.errstate(all="raise"):
        value = divergence.value(f, z)
        tangent = divergence.variational_value(f, z, y)
    assert np.isfinite(value).all()
    assert np.isfinite(tangent).all()
    assert np.all(value >= 0)
    same = (f == z).all(axis=1)
    assert_allclose(value[same], 0.0, atol=1e-14)
    # The tangent at a certain and right probability is the divergence.
    right = (z == y).all(axis=1)
    assert_allclose(tangent[right], value[right], rtol=1e-12, atol=1e-14)
    divergence.check(f, z)


@settings(deadline=None, max_examples=100)
@given(
    f=st.floats(0, 1),
    z=st.floats(0, 1),
    y=st.sampled_from([0.0, 1.0]),
    p=st.floats(1, 50),
)
def test_of_one_event_all_norms_are_the_absolute_difference(f, z, y, p):
    f, z, y = (np.array([[x]]) for x in (f, z, y))
    values = [norm.value(f, z)[0] for norm in (L1(), L2(), LInf(), Lp(p))]
    tangents = [
        norm.variational_value(f, z, y)[0] for norm in (L1(), L2(), LInf(), Lp(p))
    ]
    assert_allclose(values, abs(f - z)[0, 0], rtol=1e-15, atol=1e-12)
    assert len(set(tangents)) == 1


def test_tied_coordinates_of_the_largest_difference():
    """What one class gains another loses: which of them counts is not up to order."""
    f = np.array([[0.2, 0.3, 0.5]])
    z = np.array([[0.3, 0.3, 0.4]])
    forwards = LInf().gradient(f, z)
    backwards = LInf().gradient(f[:, ::-1], z[:, ::-1])[:, ::-1]
    assert_allclose(forwards, [[0.5, 0.0, -0.5]])
    assert_array_equal(forwards, backwards)


@pytest.mark.parametrize("p", [1, 1.5, 2, 7, 400, np.inf])
def test_norms_of_tiny_and_of_very_different_gaps(p):
    f = np.array([[0.2, 0.3, 0.5], [0.2, 0.3, 0.5]])
    z = f + np.array([[1e-9, -1e-9, 0.0], [0.3, -0.3 + 1e-10, -1e-10]])
    with np.errstate(all="raise", under="ignore"):
        assert_allclose(Lp(p).value(f, z), Lp(p).value(0 * f, z - f), rtol=1e-6)
        assert np.abs(Lp(p).gradient(f, z)).max() <= 1.0 + 1e-12
    divergence = Lp(p)
    divergence.check(f, z)


def test_kullback_leibler_clips_as_the_log_loss():
    eps = np.finfo(float).eps
    f, y = np.array([[0.0], [1.0]]), np.array([[1.0], [0.0]])
    assert_allclose(KullbackLeibler().loss(f, y), -np.log(eps))
    assert_allclose(KullbackLeibler().value(f, y), -np.log(eps), rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "cls"),
    [
        ("l1", L1),
        ("l2", L2),
        ("linf", LInf),
        ("brier", SquaredEuclidean),
        ("kl", KullbackLeibler),
    ],
)
def test_names(name, cls):
    assert type(check_divergence(name)) is cls
    assert cls().name == name
    assert repr(cls()) == f"{cls.__name__}()"
    assert type(pickle.loads(pickle.dumps(cls()))) is cls


def test_names_of_norms_and_of_new_divergences():
    assert Lp(3).name == "l3"
    assert repr(Lp(2.5)) == "Lp(2.5)"
    assert Lp(np.inf).name == "linf"

    class Squared(SquaredEuclidean):
        pass

    assert Squared().name == "squared"


@pytest.mark.parametrize("p", [0.5, -1, np.nan, "2", None, True])
def test_order_of_a_norm(p):
    with pytest.raises(ValueError, match="p must be a number of at least 1"):
        Lp(p)


@pytest.mark.parametrize("divergence", ["L1", "euclid", None, 1, ["l1"]])
def test_unknown_divergence(divergence):
    with pytest.raises(ValueError, match=r"must be one of .*'l1'"):
        check_divergence(divergence)
