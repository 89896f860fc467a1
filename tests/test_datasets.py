"""Made forecasts: their truths against quadrature and closed forms, their samples."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, logit
from scipy.stats import beta, kstest, triang

from skcal import make_forecasts, rank_ece
from skcal.datasets import _CURVES

NAMES = sorted(_CURVES)


def formula(name, z):
    """The curves one number at a time, as the paper prints them."""
    numbers = range(1, 11)
    if name == "spikes":
        bumps = (
            (0.3 if i % 2 else -0.3)
            * np.exp(-((z - (0.01 + 0.98 * (i - 1) / 9)) ** 2) / (2 * 0.02**2))
            for i in numbers
        )
        return z + sum(bumps)
    if name == "random_fourier":
        # The numbers a_1, b_1, a_2, b_2, ... before their division by k.
        normal = np.random.RandomState(4).standard_normal(20)
        waves = (
            normal[2 * k - 2] / k * np.sin(2 * np.pi * k * z)
            + normal[2 * k - 1] / k * np.cos(2 * np.pi * k * z)
            for k in numbers
        )
        return 0.5 + 0.25 * sum(waves)
    if name == "weierstrass":
        waves = (0.5**k * np.cos(3**k * np.pi * z) for k in range(10))
        return 0.15 + 0.5 * z + 0.25 * sum(waves)
    return {
        "calibrated": lambda: z,
        "overconfident": lambda: expit(0.5 * logit(z)),
        "underconfident": lambda: expit(2 * logit(z)),
        "linear": lambda: 0.5 * z + 0.3,
        "quadratic": lambda: 0.8 * z**2 - 0.2 * z + 0.2,
        "gaussian": lambda: (
            np.exp(-((z - 0.5) ** 2) / (2 * 0.5**2)) / np.sqrt(2 * np.pi * 0.5**2)
        ),
        "staircase": lambda: int(10 * z) / 11 + 0.05,
        "sawtooth": lambda: 0.75 * (10 * z - int(10 * z) + 0.1),
        "increasing_frequency": lambda: (
            0.15 + 0.7 * z + 0.5 * np.sin(40 * np.pi * z**2)
        ),
        "power": lambda: z - z**4,
        "zigzag": lambda: z + 0.25 * (1 if int(10 * z) % 2 == 0 else -1),
        "oscillating": lambda: (
            z + 0.2 * (1 if np.floor(20 * (z - 0.2) / 0.6) % 2 == 0 else -1)
        ),
    }[name]()


@pytest.mark.parametrize("name", NAMES)
def test_curves_are_their_formulas(name):
    # No multiple of a tenth, where some of them jump.
    z = np.linspace(0.0013, 0.9987, 370)
    data = make_forecasts(10, curve=name)
    expected = np.clip([formula(name, value) for value in z], 0, 1)
    np.testing.assert_allclose(data.curve(z), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("ab", [(1, 1), (0.3, 0.7), (2.5, 4)])
def test_errors_are_integrals(ab):
    """The midpoint rule over quantiles, in which no density blows up."""
    f = beta(*ab).ppf((np.arange(400_000) + 0.5) / 400_000)
    for name in NAMES:
        data = make_forecasts(10, curve=name, forecasts=ab)
        gap = np.abs(data.curve(f) - f)
        # A jump inside a cell costs 1 / 400,000 at most, and few curves jump.
        assert data.l1 == pytest.approx(gap.mean(), abs=5e-6), name
        assert data.l2 == pytest.approx((gap**2).mean(), abs=5e-6), name


@pytest.mark.parametrize("name", ["overconfident", "underconfident", "zigzag"])
def test_errors_to_eight_digits(name):
    def gap(z):
        return abs(min(max(formula(name, z), 0), 1) - z)

    data = make_forecasts(10, curve=name)
    edges = np.linspace(0, 1, 21)
    for power, error in ((1, data.l1), (2, data.l2)):
        pieces = (
            quad(lambda z, power=power: gap(z) ** power, low, high, epsabs=1e-12)[0]
            for low, high in pairwise(edges)
        )
        assert error == pytest.approx(sum(pieces), abs=1e-9)


def test_closed_forms():
    linear = make_forecasts(10, curve="linear")  # C(f) - f = 0.3 - 0.5 f
    assert linear.l1 == pytest.approx(0.13, rel=1e-9)
    assert linear.l2 == pytest.approx(0.07 / 3, rel=1e-12)
    quadratic = make_forecasts(10)  # C(f) - f = 0.8 f^2 - 1.2 f + 0.2
    assert quadratic.l2 == pytest.approx(2.6 / 75, rel=1e-12)
    zero = 0.75 - np.sqrt(0.3125)

    def integral(f):
        return 0.8 / 3 * f**3 - 0.6 * f**2 + 0.2 * f

    assert quadratic.l1 == pytest.approx(2 * integral(zero) - integral(1), rel=1e-8)
    calibrated = make_forecasts(10, curve="calibrated")
    assert calibrated.l1 == calibrated.l2 == 0
    np.testing.assert_array_equal(calibrated.true_proba, calibrated.y_proba)


@pytest.mark.parametrize("exponent", [1, 4, 15])
@pytest.mark.parametrize(
    "ab", [(0.02, 0.98), (0.15, 0.85), (3, 0.5), (1e5, 1e5), (0.5, 1e5)]
)
def test_moments_of_beta_distributions(exponent, ab):
    """With C(f) = f - f^k the errors are moments: E f^k and E f^(2 k)."""
    a, b = ab
    params = {"exponent": exponent}
    data = make_forecasts(10, curve="power", curve_params=params, forecasts=ab)
    for error, k in ((data.l1, exponent), (data.l2, 2 * exponent)):
        expected = np.prod((a + np.arange(k)) / (a + b + np.arange(k)))
        assert error == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("m", [1, 100, 1000])
def test_oscillation_of_the_paper(m):
    """With forecasts between c and 1 - c the residual is c or -c everywhere."""
    c = 0.2
    data = make_forecasts(
        200,
        curve="oscillating",
        curve_params={"amplitude": c, "n_periods": m},
        forecasts=lambda u: c + (1 - 2 * c) * u,
        random_state=0,
    )
    assert data.l1 == pytest.approx(c, rel=1e-9)
    assert data.l2 == pytest.approx(c**2, rel=1e-9)
    period = np.floor(2 * m * (data.y_proba - c) / (1 - 2 * c))
    np.testing.assert_allclose(
        data.true_proba - data.y_proba, c * (-1) ** period, rtol=1e-9
    )


def test_temperature_is_the_one_that_repairs():
    for name in ("overconfident", "underconfident"):
        params = {"temperature": 1.3}
        data = make_forecasts(curve=name, curve_params=params, random_state=0)
        expected = logit(data.y_proba) / 1.3
        np.testing.assert_allclose(logit(data.true_proba), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("forecasts", "cdf"),
    [
        ("uniform", "uniform"),
        ((2, 5), beta(2, 5).cdf),
        (triang(0.3).ppf, triang(0.3).cdf),
    ],
)
def test_samples_follow_the_distribution(forecasts, cdf):
    """Error probability below 1e-5 for each assertion, had the seed been random."""
    n = 20_000
    data = make_forecasts(n, curve="spikes", forecasts=forecasts, random_state=0)
    assert kstest(data.y_proba, cdf).pvalue > 1e-5
    truth = data.true_proba
    noise = np.sqrt(np.sum(truth * (1 - truth)))
    assert abs((data.y_true - truth).sum()) < 4.5 * noise
    half = data.y_proba < np.median(data.y_proba)
    assert abs((data.y_true - truth)[half].sum()) < 4.5 * noise
    gap = np.abs(truth - data.y_proba)
    for error, value in ((data.l1, gap), (data.l2, gap**2)):
        assert abs(value.mean() - error) < 4.5 * value.std() / np.sqrt(n)
    # rankECE's own bound at that level, and its bias, are far smaller than this.
    assert rank_ece(data.y_true, data.y_proba) == pytest.approx(data.l2, abs=0.01)


def test_a_callable_is_the_named_curve():
    named = make_forecasts(curve="linear", random_state=3)
    own = make_forecasts(curve=lambda f: 0.3 + 0.5 * f, random_state=3)
    for key in ("y_true", "y_proba", "true_proba"):
        np.testing.assert_array_equal(named[key], own[key])
    assert own.l1 == pytest.approx(named.l1, rel=1e-14)
    step = make_forecasts(curve=lambda f: np.where(f < np.sqrt(0.5), 0.2, 0.9))
    at = np.sqrt(0.5)
    expected = (0.2**3 + (at - 0.2) ** 3 + (0.9 - at) ** 3 + 0.1**3) / 3
    assert step.l2 == pytest.approx(expected, abs=0.7e-4)


def test_an_array_is_drawn_from():
    values = [0.1, 0.1, 0.4, 1]
    data = make_forecasts(8_000, curve="linear", forecasts=values, random_state=0)
    counts = {f: np.mean(data.y_proba == f) for f in (0.1, 0.4, 1)}
    # Five standard deviations.
    assert counts[0.1] == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(8_000))
    assert sum(counts.values()) == 1
    assert data.l1 == pytest.approx(np.mean([0.25, 0.25, 0.1, 0.2]))
    assert data.l2 == pytest.approx(np.mean([0.25**2, 0.25**2, 0.1**2, 0.2**2]))


def test_shape_types_and_seeds():
    data = make_forecasts(random_state=0)
    assert set(data) == {"y_true", "y_proba", "true_proba", "l1", "l2", "curve"}
    assert data.y_true.shape == data.y_proba.shape == data.true_proba.shape == (1_000,)
    assert data.y_true.dtype.kind == "i"
    assert set(data.y_true) == {0, 1}
    assert isinstance(data.l1, float)
    np.testing.assert_array_equal(data.curve(data.y_proba), data.true_proba)
    again = make_forecasts(random_state=np.random.RandomState(0))
    np.testing.assert_array_equal(again.y_true, data.y_true)
    other = make_forecasts(random_state=1)
    assert not np.array_equal(other.y_proba, data.y_proba)
    assert (other.l1, other.l2) == (data.l1, data.l2)
    thawed = pickle.loads(pickle.dumps(data))
    np.testing.assert_array_equal(thawed.curve([0.1, 0.9]), data.curve([0.1, 0.9]))


def test_float32_callables_give_float64():
    data = make_forecasts(
        curve=lambda f: f.astype(np.float32), forecasts=lambda u: u.astype(np.float32)
    )
    assert data.y_proba.dtype == data.true_proba.dtype == np.float64


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_samples": 0}, "n_samples must be a positive integer. Got n_samples=0"),
        ({"n_samples": 10.0}, "n_samples must be a positive integer"),
        ({"curve": "cubic"}, "curve must be one of .*'quadratic'.* Got 'cubic'"),
        ({"curve": None}, "curve must be one of .* Got None"),
        ({"curve": lambda f: 2 * f}, r"the output of curve must lie in \[0, 1\]"),
        ({"curve": lambda f: f * np.nan}, "Input the output of curve contains NaN"),
        ({"curve": lambda f: f[1:]}, "curve must return a probability for each"),
        ({"curve": lambda f: 0.5}, r"curve must return .* Got shape \(\) instead"),
        (
            {"curve": abs, "curve_params": {"exponent": 2}},
            "curve_params are those of a named curve",
        ),
        ({"curve_params": 3}, "curve_params must be a dict or None. Got 3"),
        (
            {"curve": "power", "curve_params": {"k": 2}},
            r"'power' has the parameters \['exponent'\]. Got 'k'",
        ),
        ({"curve_params": {"exponent": 2}}, r"has the parameters \[\]"),
        (
            {"curve": "power", "curve_params": {"exponent": -1}},
            r"curve_params\['exponent'\] must be a positive number",
        ),
        (
            {"curve": "oscillating", "curve_params": {"n_periods": 2.5}},
            r"curve_params\['n_periods'\] must be a positive integer",
        ),
        (
            {"curve": "oscillating", "curve_params": {"amplitude": 0.5}},
            "must be below 0.5. Got 0.5",
        ),
        ({"forecasts": "normal"}, "forecasts must be one of .* Got 'normal'"),
        ({"forecasts": (1, 2, 3)}, r"\(a, b\), the parameters of a beta"),
        ({"forecasts": (0, 1)}, r"forecasts\[0\] must be a positive number"),
        ({"forecasts": (1, 1e6)}, "may not exceed 100,000"),
        ({"forecasts": None}, "forecasts must be array-like. Got None"),
        ({"forecasts": []}, "forecasts is empty"),
        ({"forecasts": [0.1, 1.2]}, r"forecasts must lie in \[0, 1\]"),
        ({"forecasts": [[0.1, 0.9]]}, "forecasts must be one-dimensional"),
        ({"forecasts": lambda u: 3 * u}, "the output of forecasts must lie in"),
        ({"random_state": "x"}, "cannot be used to seed"),
    ],
)
def test_errors_say_what_was_found(options, message):
    with pytest.raises(ValueError, match=message):
        make_forecasts(**options)
