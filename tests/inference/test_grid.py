"""Resampled cell sums against the rows that they stand for."""

import numpy as np
import pytest

from skcal import binned_ece, smooth_ece
from skcal._core.replicates import binned_errors, fixed_points, l1_norms
from skcal._core.smoothing import MomentGrid, Spectrum
from skcal._predictions import BinaryProblem
from skcal.inference._grid import categorize, uniform_cells
from skcal.inference._on_cells import on_cells


def sample(n, seed=0, power=1.5, weighted=False, digits=None):
    rng = np.random.default_rng(seed)
    f = rng.beta(0.8, 1.2, size=n)
    if digits is not None:
        f = np.round(f, digits)
    y = (rng.uniform(size=n) < f**power).astype(int)
    weight = rng.choice([0.5, 1.0, 3.0], size=n) if weighted else None
    return BinaryProblem(y, f, weight)


def by_category(cells, counts_of_rows):
    categories = cells.categories
    return np.array(
        [
            np.bincount(categories.of_row, counts, categories.n_rows.size)
            for counts in counts_of_rows
        ]
    )


def bootstrap_rows(n, n_resamples, seed=1):
    rng = np.random.default_rng(seed)
    drawn = rng.integers(n, size=(n_resamples, n))
    return np.array([np.bincount(rows, minlength=n) for rows in drawn], dtype=float)


SMOOTH = [{}, {"scale": "logit"}, {"bandwidth": 0.07}]
BINNED = [
    {},
    {"n_bins": 4, "norm": "l2"},
    {"n_bins": 7, "norm": "max"},
    {"n_bins": 10, "norm": "l2", "debias": True},
    {"n_bins": "sqrt", "strategy": "quantile"},
    {"n_bins": 5, "strategy": "quantile", "norm": "l2"},
]


# Against the rows ---------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("params", SMOOTH)
def test_smooth_errors_of_few_distinct_forecasts_are_those_of_the_rows(
    params, weighted
):
    """Rows of a category are equal: nothing is lost but the arithmetic's 1e-5."""
    problem = sample(400, digits=2, weighted=weighted)
    cells = on_cells("smooth_ece", problem, params)
    counts = bootstrap_rows(400, 10)
    ours = cells.errors(cells.resampled(by_category(cells, counts)))
    for value, weight in zip(ours, counts, strict=True):
        if weighted:
            weight = weight * problem.weight
        exact = smooth_ece(
            problem.outcome, problem.forecast, sample_weight=weight, **params
        )
        assert value == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("n", [300, 5_000])
def test_smooth_errors_of_distinct_forecasts_are_nearly_those_of_the_rows(n):
    """Rows stand at their category's mean place, which is off at random: by less than
    a thirtieth of the replicates' own spread."""
    problem = sample(n)
    cells = on_cells("smooth_ece", problem, {})
    counts = bootstrap_rows(n, 20)
    ours = cells.errors(cells.resampled(by_category(cells, counts)))
    exact = np.array(
        [
            smooth_ece(problem.outcome, problem.forecast, sample_weight=weight)
            for weight in counts
        ]
    )
    assert np.sqrt(np.mean((ours - exact) ** 2)) < exact.std() / 30
    assert ours == pytest.approx(exact, rel=3e-3)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("params", BINNED)
def test_binned_errors_of_few_distinct_forecasts_are_those_of_the_rows(
    params, weighted
):
    problem = sample(300, digits=2, weighted=weighted)
    cells = on_cells("binned_ece", problem, params)
    counts = bootstrap_rows(300, 10)
    ours = cells.errors(cells.resampled(by_category(cells, counts)))
    for value, weight in zip(ours, counts, strict=True):
        if weighted:
            weight = weight * problem.weight
        fixed = params
        if params.get("n_bins") == "sqrt":
            # The sum of the weights changes from one replicate to the next.
            fixed = params | {"n_bins": cells.n_bins}
        exact = binned_ece(
            problem.outcome, problem.forecast, sample_weight=weight, **fixed
        )
        assert value == pytest.approx(exact, abs=1e-10)


@pytest.mark.parametrize("params", BINNED)
def test_binned_errors_of_distinct_forecasts_are_nearly_those_of_the_rows(params):
    problem = sample(4_000)
    cells = on_cells("binned_ece", problem, params)
    counts = bootstrap_rows(4_000, 20)
    ours = cells.errors(cells.resampled(by_category(cells, counts)))
    exact = np.array(
        [
            binned_ece(
                problem.outcome, problem.forecast, sample_weight=weight, **params
            )
            for weight in counts
        ]
    )
    assert np.sqrt(np.mean((ours - exact) ** 2)) < exact.std() / 10


@pytest.mark.parametrize(
    ("name", "params"),
    [("smooth_ece", p) for p in SMOOTH] + [("binned_ece", p) for p in BINNED[:3]],
)
def test_the_sample_itself_has_its_own_error(name, params):
    problem = sample(2_000, weighted=True)
    cells = on_cells(name, problem, params)
    metric = {"smooth_ece": smooth_ece, "binned_ece": binned_ece}[name]
    exact = metric(
        problem.outcome, problem.forecast, sample_weight=problem.weight, **params
    )
    assert cells.truth() == pytest.approx(exact, rel=1e-5)


def test_forecasts_of_zero_and_one_on_the_logit_scale():
    f = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 0.3, 0.6, 1e-30])
    y = np.array([0, 1, 0, 1, 0, 1, 0, 1])
    cells = on_cells("smooth_ece", BinaryProblem(y, f, None), {"scale": "logit"})
    assert cells.truth() == pytest.approx(smooth_ece(y, f, scale="logit"), rel=1e-5)


@pytest.mark.parametrize("width", [1e-3, 1e-5])
def test_forecasts_in_a_corner(width):
    """The grid zooms in on forecasts whose errors are small."""
    rng = np.random.default_rng(0)
    f = width * rng.uniform(size=3_000)
    y = (rng.uniform(size=3_000) < 2 * f).astype(int)
    cells = on_cells("smooth_ece", BinaryProblem(y, f, None), {})
    assert cells.truth() == pytest.approx(smooth_ece(y, f), rel=1e-4, abs=1e-6)


# Draws --------------------------------------------------------------------------------


def categories(problem, n_cells=32, **options):
    cell, place = uniform_cells(problem.forecast, n_cells)
    return categorize(problem, cell, place, n_cells, **options)


@pytest.mark.parametrize("n", [60, 20_000])
def test_counts_are_multinomial(n):
    """Few rows a category and many are drawn in different ways.

    Each of about 60 means and variances is off by five standard errors with a
    probability below 1e-6, if they were normal; the variances' are not quite.
    """
    held = categories(sample(n))
    counts = held.bootstrap_counts(4_000, np.random.default_rng(0))
    assert (counts.sum(axis=1) == n).all()
    share = held.n_rows / n
    variance = n * share * (1 - share)
    assert np.abs(counts.mean(axis=0) - held.n_rows).max() < 5 * np.sqrt(
        variance.max() / 4_000
    )
    assert counts.var(axis=0) == pytest.approx(variance, rel=0.25)


def test_strata_keep_their_rows():
    problem = sample(500)
    stratum = (problem.forecast > 0.4).astype(int) + problem.outcome
    held = categories(problem, stratum=stratum)
    counts = held.bootstrap_counts(50, np.random.default_rng(0))
    for s in range(3):
        drawn = counts[:, held.stratum == s].sum(axis=1)
        assert (drawn == np.sum(stratum == s)).all()


def test_calibrated_events_have_the_moments_of_the_rows_draws():
    """Mean residual zero and the variance of the Bernoulli draws, to the cell's width.

    Five standard errors of 64 means; 4,000 draws put a variance within 20 %.
    """
    problem = sample(20_000)
    held = categories(problem, 64, by_outcome=False)
    events = held.calibrated_counts(4_000, np.random.default_rng(0))
    f = problem.forecast
    expected = np.bincount(held.of_row, f)
    variance = np.bincount(held.of_row, f * (1 - f))
    assert np.all(
        np.abs(events.mean(axis=0) - expected) < 5 * np.sqrt(variance / 4_000)
    )
    assert events.var(axis=0) == pytest.approx(variance, rel=0.2)
    binomial = held.n_rows * held.forecast * (1 - held.forecast)
    assert np.all(binomial >= variance * (1 - 1e-9))
    assert np.all(variance >= binomial * (1 - 1 / 64))


def test_weights_of_a_category_are_alike():
    rng = np.random.default_rng(0)
    problem = sample(2_000)._replace(weight=rng.lognormal(sigma=1.5, size=2_000))
    held = categories(problem)
    for category in range(held.n_rows.size):
        weight = problem.weight[held.of_row == category]
        if weight.max() > 1e-3 * problem.weight.max():
            assert weight.max() <= 1.25 * weight.min() * (1 + 1e-9)
    total = held.n_rows @ held.mass[0]
    assert total == pytest.approx(problem.weight.sum())


def test_cells_do_not_depend_on_the_order_of_the_rows():
    problem = sample(1_000, digits=3, weighted=True)
    shuffled = np.random.default_rng(3).permutation(1_000)
    there = BinaryProblem(*(values[shuffled] for values in problem))
    one, other = categories(problem), categories(there)
    for name in ("cell", "outcome", "n_rows", "mass", "forecast_mass"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-12)


# Many at once against one at a time ---------------------------------------------------


@pytest.mark.parametrize("sigma", [0.01, 0.05, 0.4])
def test_norms_are_those_of_single_spectra(sigma):
    coefficients = []
    for seed in range(8):
        problem = sample(3_000, seed=seed, power=1.0)
        grid = MomentGrid(1024)
        grid.add(problem.forecast, (problem.outcome - problem.forecast) / 3_000)
        coefficients.append(grid.spectrum().coefficients)
    sigmas = sigma * np.linspace(1, 1.5, 8)
    norms, slopes = l1_norms(np.array(coefficients), sigmas)
    for row, s, norm, slope in zip(coefficients, sigmas, norms, slopes, strict=True):
        value, its_slope = Spectrum(row, 1.0).l1_norm(s)
        assert norm == pytest.approx(value, rel=2e-6)
        assert slope == pytest.approx(its_slope, rel=5e-3, abs=1e-9)


def test_fixed_points_from_any_start():
    coefficients = []
    for power in (1.0, 1.2, 3.0):
        problem = sample(1_000, power=power)
        grid = MomentGrid(1024)
        grid.add(problem.forecast, problem.outcome - problem.forecast)
        coefficients.append(grid.spectrum().coefficients)
    expected = [
        smooth_ece(problem.outcome, problem.forecast)
        for problem in (sample(1_000, power=power) for power in (1.0, 1.2, 3.0))
    ]
    weight, none = np.full(3, 1_000.0), np.zeros(3)
    for start in (1e-6, 0.02, 0.5, 2.0):
        values = fixed_points(np.array(coefficients), none, weight, 1.0, 0.003, start)
        assert values == pytest.approx(expected, rel=1e-5)


def test_no_residual_is_no_error():
    values = fixed_points(np.zeros((2, 512)), np.zeros(2), np.ones(2), 1.0, 0.005, 0.1)
    assert values.tolist() == [0.0, 0.0]


def test_an_error_below_the_floor_is_that_at_the_floor():
    coefficients = np.zeros((1, 512))
    coefficients[0, 0] = 1e-4
    values = fixed_points(coefficients, np.zeros(1), np.ones(1), 1.0, 0.005, 0.1)
    assert values == pytest.approx([1e-4])


def test_empty_bins_add_nothing():
    mass = np.array([[2.0, 0.0, 1.0]])
    outcome = np.array([[1.0, 0.0, 1.0]])
    residual = np.array([[0.5, 0.0, 0.25]])
    assert binned_errors(mass, outcome, residual, "l1", False) == pytest.approx(0.25)
    assert binned_errors(mass, outcome, residual, "max", False) == pytest.approx(0.25)
    # The bin of two rows: 0.25^2 - 0.25; the bin of one row counts as 0.
    assert binned_errors(mass, outcome, residual, "l2", True) == pytest.approx(
        2 / 3 * (0.0625 - 0.25)
    )
