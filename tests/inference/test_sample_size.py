"""The number of rows against the power that they give, and its formula."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from skcal import rank_ece_sample_size, rank_ece_test

UNIFORM = np.linspace(0, 1, 1001)


def over_confident(f, error):
    return f + np.where(f <= 0.5, error, -error)


@pytest.mark.parametrize(
    ("forecasts", "error", "power"),
    [
        (lambda rng, n: rng.random(n), 0.1, 0.8),
        (lambda rng, n: rng.random(n), 0.2, 0.5),
        (lambda rng, n: rng.beta(0.3, 0.7, n), 0.1, 0.9),
        (lambda rng, n: rng.beta(4, 2, n), 0.15, 0.8),
    ],
)
@pytest.mark.simulation
def test_power_is_reached(forecasts, error, power):
    rng = np.random.default_rng(0)
    n = rank_ece_sample_size(error**2, forecasts(rng, 50_000), power=power)
    n_draws = 1000
    found = 0
    for _ in range(n_draws):
        f = forecasts(rng, n)
        y = rng.random(n) < over_confident(f, error)
        found += rank_ece_test(y, f, method="asymptotic").pvalue <= 0.05
    # 3 standard errors, and 2 % for the normal approximation of the alternative
    assert found / n_draws == pytest.approx(
        power, abs=0.02 + 3 * math.sqrt(power * (1 - power) / n_draws)
    )


def test_formula():
    f = np.array([0.1, 0.4, 0.8])
    error = 0.05
    true = np.array([0.15, 0.45, 0.75])
    v = true * (1 - true)
    null = math.sqrt(np.mean((f * (1 - f)) ** 2))
    other = math.sqrt(np.mean(v**2) + 4 * error**2 * np.mean(v))
    reach = norm.isf(0.01) * null + norm.ppf(0.9) * other
    expected = 1 + math.ceil((reach / error**2) ** 2)
    n = rank_ece_sample_size(error**2, f, power=0.9, significance_level=0.01)
    assert n == expected
    assert type(n) is int


def test_harder_tasks_need_more_rows():
    base = rank_ece_sample_size(0.01, UNIFORM)
    assert rank_ece_sample_size(0.0025, UNIFORM) > 10 * base
    assert rank_ece_sample_size(0.01, UNIFORM, power=0.9) > base
    assert rank_ece_sample_size(0.01, UNIFORM, significance_level=0.01) > base
    near_ends = rank_ece_sample_size(0.01, UNIFORM**6)
    assert near_ends < base


def test_no_power_needs_no_rows():
    assert rank_ece_sample_size(0.2, UNIFORM, power=1e-9) == 1


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((0, UNIFORM), {}, "rank_ece"),
        ((0.3, UNIFORM), {}, "at most 0.25"),
        ((0.01, UNIFORM), {"power": 1}, "power"),
        ((0.01, UNIFORM), {"significance_level": 0}, "significance_level"),
        ((0.01, [0.2, 1.3]), {}, "y_proba"),
        ((0.01, [[0.2, 0.8]]), {}, "one event"),
        ((0.01, [0, 1, 1]), {}, "only 0 and 1"),
    ],
)
def test_arguments_are_checked(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        rank_ece_sample_size(*arguments, **options)
