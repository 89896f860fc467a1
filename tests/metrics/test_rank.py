"""rankECE against the enumeration of every order, closed forms and its limit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import skcal
from skcal.datasets import make_forecasts
from skcal.metrics import rank_ece
from tests.references import rank_ece_enumerated, rank_ece_of_every_order

# Forecasts with every kind of tie: none, blocks inside and at either end, all equal,
# and blocks that lags of 2 to 4 reach across.
FORECASTS = {
    "one row": [0.3],
    "two rows": [0.7, 0.3],
    "tied pair": [0.3, 0.3],
    "no ties": [0.9, 0.1, 0.4, 0.65, 0.2, 0.55, 0.0],
    "block first": [0.1, 0.1, 0.1, 0.4, 0.6, 0.9],
    "block inside": [0.1, 0.4, 0.4, 0.4, 0.6, 0.9, 1.0],
    "block last": [0.1, 0.4, 0.9, 0.9, 0.9],
    "pairs": [0.2, 0.2, 0.5, 0.5, 0.8, 0.8],
    "single row between blocks": [0.2, 0.2, 0.2, 0.5, 0.8, 0.8, 0.8],
    "uneven blocks": [0.2, 0.2, 0.2, 0.2, 0.5, 0.5, 0.8],
    "small blocks": [0.1, 0.2, 0.2, 0.3, 0.4, 0.4, 0.5],
    "all equal": [0.35] * 7,
    "ends": [0.0, 0.0, 1.0, 1.0, 1.0],
}
CASES = [
    pytest.param(np.array(f), n_neighbors, id=f"{name}, {n_neighbors}")
    for name, f in FORECASTS.items()
    for n_neighbors in range(1, 5)
    if n_neighbors < max(len(f), 2)
]


def draw(seed, n, power=1.0, digits=None):
    """Forecasts (rounded, to tie them) whose true probability is f**power."""
    rng = np.random.default_rng(seed)
    f = rng.random(n)
    if digits is not None:
        f = f.round(digits)
    return f, (rng.random(n) < f**power).astype(int)


@pytest.mark.parametrize(("f", "n_neighbors"), CASES)
def test_average_is_the_mean_over_every_order(f, n_neighbors):
    for seed in range(5):
        y = np.random.default_rng(seed).integers(0, 2, len(f))
        value = rank_ece(y, f, n_neighbors=n_neighbors)
        expected = rank_ece_enumerated(f, y, n_neighbors)
        assert value == pytest.approx(expected, rel=1e-12, abs=1e-14)


few_values = st.sampled_from([0.0, 0.25, 0.3, 0.5, 1.0])
tiny_samples = st.lists(st.tuples(few_values, st.booleans()), min_size=2, max_size=6)


@settings(deadline=None, max_examples=100)
@given(rows=tiny_samples, data=st.data())
def test_any_tiny_sample(rows, data):
    f, y = map(np.array, zip(*rows, strict=True))
    n_neighbors = data.draw(st.integers(1, len(f) - 1))
    value = rank_ece(y.astype(int), f, n_neighbors=n_neighbors)
    expected = rank_ece_enumerated(f, y, n_neighbors)
    assert value == pytest.approx(expected, rel=1e-12, abs=1e-14)


# -- closed forms -----------------------------------------------------------------


@pytest.mark.parametrize("n_neighbors", [1, 3])
def test_constant_forecast(n_neighbors):
    # Two rows are as likely at any lag; n - lag of the n places have such a partner.
    f, y = np.full(50, 0.4), np.repeat([1, 0], [30, 20])
    w = y - f
    mean_product = (w.sum() ** 2 - np.sum(w**2)) / (50 * 49)
    lags = np.arange(1, n_neighbors + 1)
    expected = np.mean((50 - lags) / 50) * mean_product
    value = rank_ece(y, f, n_neighbors=n_neighbors)
    assert value == pytest.approx(expected, rel=1e-12)


def test_can_be_negative():
    # neighbours of opposite residual: (0.5 * -0.6) / 2
    value = rank_ece([1, 0], [0.5, 0.6])
    assert value == pytest.approx(-0.15, rel=1e-12)
    assert type(value) is float


def test_perfect_forecast_is_zero():
    assert rank_ece([0, 1, 1, 0], [0.0, 1.0, 1.0, 0.0]) == 0.0


def test_one_row_has_no_neighbour():
    assert rank_ece([1], [0.3]) == 0.0


# -- random ties ------------------------------------------------------------------


@pytest.mark.parametrize("n_neighbors", [1, 2])
def test_random_ties_reach_every_order_and_no_other_value(n_neighbors):
    f = np.array([0.2, 0.2, 0.2, 0.5, 0.5, 0.9])
    y = np.array([1, 0, 0, 1, 0, 1])
    possible = rank_ece_of_every_order(f, y, n_neighbors)
    # The rarest value has at least 1 order in 6, so 200 draws miss it with
    # probability (5/6)^200 = 1e-16.
    drawn = {
        round(rank_ece(y, f, n_neighbors=n_neighbors, ties="random", random_state=s), 9)
        for s in range(200)
    }
    assert drawn == {round(value, 9) for value in possible}


@pytest.mark.parametrize("n_neighbors", [1, 3])
def test_random_ties_average_out(n_neighbors):
    f, y = draw(0, 60, digits=1)
    values = [
        rank_ece(y, f, n_neighbors=n_neighbors, ties="random", random_state=seed)
        for seed in range(1000)
    ]
    expected = rank_ece(y, f, n_neighbors=n_neighbors)
    # 5 standard errors: a right implementation fails with probability 6e-7.
    standard_error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - expected) < 5 * standard_error


def test_random_ties_are_reproducible():
    f, y = draw(1, 60, digits=1)

    def value(seed):
        return rank_ece(y, f, ties="random", random_state=seed)

    assert value(3) == value(3)
    assert len({value(seed) for seed in range(20)}) > 1
    states = [np.random.RandomState(4) for _ in range(2)]
    assert value(states[0]) == value(states[1])


def test_random_ties_do_not_depend_on_row_order():
    f, y = draw(2, 60, digits=1)
    value = rank_ece(y, f, ties="random", random_state=0)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(f))
        shuffled = rank_ece(y[order], f[order], ties="random", random_state=0)
        assert shuffled == pytest.approx(value, abs=1e-14)


def test_ties_setting_is_immaterial_without_ties():
    f, y = draw(3, 60)
    random = rank_ece(y, f, ties="random", random_state=0)
    assert random == pytest.approx(rank_ece(y, f), rel=1e-12)


# -- properties -------------------------------------------------------------------


@pytest.mark.parametrize("n_neighbors", [1, 4])
@pytest.mark.parametrize("digits", [None, 1])
def test_order_of_rows_is_immaterial(digits, n_neighbors):
    f, y = draw(4, 100, digits=digits)
    value = rank_ece(y, f, n_neighbors=n_neighbors)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(f))
        shuffled = rank_ece(y[order], f[order], n_neighbors=n_neighbors)
        assert shuffled == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("n_neighbors", [1, 4])
@pytest.mark.parametrize("digits", [None, 1])
def test_swapping_the_classes(digits, n_neighbors):
    f, y = draw(5, 100, digits=digits)
    f = np.round(f * 1024) / 1024  # so that 1 - f is exact
    value = rank_ece(y, f, n_neighbors=n_neighbors)
    swapped = rank_ece(1 - y, 1 - f, n_neighbors=n_neighbors)
    assert swapped == pytest.approx(value, rel=1e-10)


@pytest.mark.parametrize("n_neighbors", [1, 4])
def test_tends_to_the_squared_calibration_error(n_neighbors):
    # f uniform, P(y = 1 | f) = f^2: the l2 error is int (f^2 - f)^2 df = 1/30. One
    # standard error at n = 200,000 and lag 1 is 4.9e-4 (smaller with more lags), so
    # 5 of them fail a right implementation with probability 6e-7.
    f, y = draw(6, 200_000, power=2)
    value = rank_ece(y, f, n_neighbors=n_neighbors)
    assert value == pytest.approx(1 / 30, abs=5 * 4.9e-4)


@pytest.mark.parametrize("n_periods", [2, 20, 60])
def test_expectation_where_the_error_changes_its_sign(n_periods):
    """The paper's example 4.1, whose expectation is known up to terms of order 1 / n.

    Five standard errors: error probability below 1e-6, had the seed been random.
    """
    n, c, n_samples = 200, 0.3, 400
    data = make_forecasts(
        n * n_samples,
        curve="oscillating",
        curve_params={"amplitude": c, "n_periods": n_periods},
        forecasts=lambda u: c + (1 - 2 * c) * u,
        random_state=0,
    )
    samples = (part.reshape(n_samples, n) for part in (data.y_true, data.y_proba))
    values = np.array([rank_ece(y, f) for y, f in zip(*samples, strict=True)])
    scale = 4 * n_periods / n
    expected = c**2 * (1 - scale * np.tanh(1 / scale))
    error = values.std() / np.sqrt(values.size)
    assert abs(values.mean() - expected) < 5 * error + 2 * c**2 / n


@pytest.mark.parametrize("digits", [None, 1])
def test_unbiased_when_calibrated(digits):
    # mean 0 within 5 standard errors: wrongly fails with probability 6e-7
    values = [
        rank_ece(y, f) for f, y in (draw(seed, 100, 1.0, digits) for seed in range(500))
    ]
    assert abs(np.mean(values)) < 5 * np.std(values) / np.sqrt(len(values))


def test_more_neighbours_mean_less_variance():
    # Under calibration products at different lags are uncorrelated: variance / m.
    samples = [draw(seed, 100) for seed in range(400)]
    one = np.var([rank_ece(y, f) for f, y in samples])
    four = np.var([rank_ece(y, f, n_neighbors=4) for f, y in samples])
    # 0.25 expected; a ratio of two variances from 400 draws has a relative standard
    # error of 10 %, so these limits are 4 or more of them away
    assert 0.15 < four / one < 0.4


# -- input forms ------------------------------------------------------------------


@pytest.mark.parametrize("n_neighbors", [5, 6, 100])
def test_too_many_neighbours(n_neighbors):
    with pytest.raises(ValueError, match="n_neighbors"):
        rank_ece([0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5], n_neighbors=n_neighbors)


def test_no_neighbours():
    with pytest.raises(ValueError, match="n_neighbors"):
        rank_ece([0, 1, 0], [0.1, 0.2, 0.3], n_neighbors=0)


def draw_multiclass(seed=7, n=120, n_classes=3):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(n_classes), n)
    return rng.integers(0, n_classes, n), proba


def test_multiclass_confidence():
    y, proba = draw_multiclass()
    correct = (proba.argmax(axis=1) == y).astype(int)
    expected = rank_ece(correct, proba.max(axis=1))
    assert rank_ece(y, proba) == pytest.approx(expected, rel=1e-12)


def test_multiclass_classwise():
    y, proba = draw_multiclass()
    one_vs_rest = [rank_ece((y == k).astype(int), proba[:, k]) for k in range(3)]
    value = rank_ece(y, proba, multiclass="classwise")
    assert value == pytest.approx(np.mean(one_vs_rest), rel=1e-12)


def test_binary_forms_agree():
    f, y = draw(8, 50)
    value = rank_ece(y, f)
    both = np.column_stack([1 - f, f])
    assert rank_ece(y, both) == pytest.approx(value, rel=1e-12)
    words = np.where(y == 1, "spam", "ham")
    assert rank_ece(words, f, pos_label="spam") == value


def test_importable_from_the_top():
    assert skcal.rank_ece is rank_ece
