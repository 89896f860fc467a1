"""Spline calibration against a generic optimiser, its limits and known truths."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

import skcal.recalibration._spline_fit as module
from skcal._core.pooling import pool_ties
from skcal.recalibration import BetaCalibration, PlattScaling
from skcal.recalibration._spline import SplineCalibration
from skcal.recalibration._spline_curve import evaluate
from tests.recalibration.fits import slope_at

CRITERIA = ["reml", "gcv", "loo"]


def wave(z):
    return 0.7 * z + 0.6 * np.sin(z)


def draw(n=300, seed=0, truth=wave, decimals=None):
    rng = np.random.default_rng(seed)
    z = rng.normal(-0.5, 2.0, n)
    if decimals is not None:
        z = z.round(decimals)
    return z, (rng.uniform(size=n) < expit(truth(z))).astype(int)


def spline(**options):
    return SplineCalibration(input="logits", **options)


def event(recalibrator, z):
    return recalibrator.transform(z)[:, 1]


def curve(recalibrator, z):
    return evaluate(recalibrator.calibrators_[0], np.asarray(z, float))


def objective(knots, z, y, weight, penalty):
    """The penalised loss as documented, of a natural spline's values at the knots."""
    total = weight.sum()
    mean = np.average(z, weights=weight)
    variance = np.average((z - mean) ** 2, weights=weight)

    def value(values):
        f = CubicSpline(knots, values, bc_type="natural")
        # The second derivative is linear between knots: Simpson's rule is exact.
        middles = 0.5 * (knots[1:] + knots[:-1])
        ends, within = f(knots, 2) ** 2, f(middles, 2) ** 2
        bent = np.sum(np.diff(knots) * (ends[1:] + 4 * within + ends[:-1])) / 6
        at = f(z)
        moved = at - z - np.average(at - z, weights=weight)
        spread = np.average(moved**2, weights=weight)
        loss = -np.average(log_expit(np.where(y == 1, at, -at)), weights=weight)
        return (
            loss + 0.5 * penalty * variance**1.5 * bent + spread / variance / total / 2
        )

    return value


# -- the optimum ------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [1e-5, 1e-3, 0.1, 10.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_reaches_the_optimum_of_the_documented_loss(penalty, weighted):
    z, y = draw(120)
    weight = np.ones(120)
    if weighted:
        weight = np.random.default_rng(1).exponential(size=120)
    ours = spline(penalty=penalty, n_knots=10, monotone=False, pseudo_count=0)
    knots, values, *_ = ours.fit(z, y, sample_weight=weight).calibrators_[0]
    loss = objective(knots, z, y, weight, penalty)
    found = loss(values)
    for start in (knots, np.zeros_like(knots)):
        best = minimize(loss, start, method="BFGS", options={"gtol": 1e-9}).fun
        assert found <= best * (1 + 1e-8)
    assert slope_at(loss, values) < 1e-8


def test_slopes_belong_to_the_values():
    z, y = draw()
    knots, values, slopes, *_ = spline().fit(z, y).calibrators_[0]
    natural = CubicSpline(knots, values, bc_type="natural")
    assert_allclose(slopes, natural(knots, 1), atol=1e-9)
    assert (np.diff(knots) > 0).all()


@pytest.mark.parametrize("penalty", [1e-5, 1e-3])
def test_reaches_the_constrained_optimum(penalty):
    # A truth that falls in between, so that the bounds hold some coefficients.
    z, y = draw(400, truth=lambda z: 0.5 * z + 1.5 * np.sin(2 * z))
    options = spline(penalty=penalty, n_knots=12, pseudo_count=0)
    ours = options.fit(z, y)
    rows = module.condensed(*pool_ties(z, y.astype(float), np.ones(400)))
    knots = ours.calibrators_[0].knots
    problem = module.SplineProblem(rows, knots, options, 0.0)
    _, parameters = problem.fit()
    assert (parameters[1:] == 1e-3).any()
    evaluate = problem.penalised_loss(penalty)
    best = minimize(
        lambda x: evaluate(x)[:2],
        problem.identity,
        jac=True,
        method="L-BFGS-B",
        bounds=[(None, None)] + [(1e-3, None)] * (parameters.size - 1),
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 10_000},
    )
    loss, gradient, _ = evaluate(parameters)
    assert loss <= best.fun * (1 + 1e-8)
    free = problem._free(parameters)
    assert np.abs(gradient[free]).max() < 1e-8
    assert (gradient[~free] > -1e-8).all()


@pytest.mark.parametrize("tails", [False, True])
def test_condensed_rows_have_the_loss_of_all_rows(tails, monkeypatch):
    z, y = draw(20_000)
    if tails:
        z[:50] = np.linspace(-36, 36, 50)
    few = spline(penalty=1e-4).fit(z, y)
    monkeypatch.setattr(module, "_MANY_SCORES", np.inf)
    all_rows = spline(penalty=1e-4).fit(z, y)
    grid = np.linspace(-6, 6, 200)
    assert_allclose(curve(few, grid), curve(all_rows, grid), atol=1e-6)
    assert log_loss(y, event(few, z)) == pytest.approx(
        log_loss(y, event(all_rows, z)), rel=1e-9
    )


# -- the penalty ------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [1e4, 1e6, 1e12])
def test_heavy_penalty_is_platt_scaling(penalty):
    z, y = draw(2000)
    ours = spline(penalty=penalty, pseudo_count=0).fit(z, y)
    _, _, slopes, _, freedom = ours.calibrators_[0]
    assert np.ptp(slopes) < 1e-4
    assert freedom == pytest.approx(2, abs=0.01)
    # The weak prior of slope one moves the line by about 1 / 2000.
    platt = LogisticRegression(C=np.inf, tol=1e-10).fit(z[:, np.newaxis], y)
    assert slopes[0] == pytest.approx(platt.coef_[0, 0], abs=2e-3)
    assert event(ours, z).mean() == pytest.approx(y.mean(), rel=1e-9)


def test_degrees_of_freedom_fall_as_the_penalty_grows():
    z, y = draw(500)
    freedom = [
        spline(penalty=penalty, monotone=False).fit(z, y).calibrators_[0][-1]
        for penalty in np.geomspace(1e-9, 1e5, 15)
    ]
    assert (np.diff(freedom) < 0).all()
    assert 15 < freedom[0] < 31
    assert freedom[-1] == pytest.approx(2, abs=0.02)


def test_penalty_does_not_depend_on_weights_unit_or_number_of_rows():
    z, y = draw(500)
    options = {"penalty": 1e-3, "monotone": False, "pseudo_count": 0}
    once = curve(spline(**options).fit(z, y), z)
    thousand = spline(**options).fit(z, y, sample_weight=np.full(500, 1000))
    # Only the prior of one row's worth weighs less.
    assert_allclose(curve(thousand, z), once, atol=0.1)


@pytest.mark.parametrize("penalty", CRITERIA)
def test_chosen_penalty_is_the_criterions_best(penalty):
    z, y = draw(400)
    options = spline(penalty=penalty, pseudo_count=0)
    rows = module.condensed(*pool_ties(z, y.astype(float), np.ones(400)))
    knots = module.place_knots(np.sort(z), np.ones(400), rows.scale, 30)
    problem = module.SplineProblem(rows, knots, options, 0.0)
    chosen, parameters = problem.fit()
    best = problem.criterion(chosen, parameters)
    for other in np.geomspace(1e-8, 10, 28):
        assert best <= problem.criterion(
            other, problem.solve(other, parameters)
        ) + 1e-3 * abs(best)


def test_leave_one_out_loss_is_close_to_refits():
    z, y = draw(80)
    options = spline(penalty="loo", pseudo_count=0, monotone=False)
    rows = module.condensed(*pool_ties(z, y.astype(float), np.ones(80)))
    knots = module.place_knots(np.sort(z), np.ones(80), rows.scale, 10)
    problem = module.SplineProblem(rows, knots, options, 0.0)
    penalty = 1e-2
    fitted = problem.solve(penalty, problem.identity)
    losses = []
    order = np.argsort(z)
    for i, happened in enumerate(y[order]):
        weight = np.ones(80)
        weight[i] = 1e-12
        short = rows._replace(events=weight * rows.events, others=weight * rows.others)
        refit = module.SplineProblem(short, knots, options, 0.0)
        log_odds = refit.log_odds_at(
            rows.position, refit.solve(penalty, refit.identity)
        )[i]
        losses.append(-log_expit(log_odds if happened else -log_odds))
    approximate = problem.criterion(penalty, fitted)
    assert approximate == pytest.approx(np.mean(losses), rel=0.02)
    assert approximate > problem.loss(fitted)[0] * 1.02


@pytest.mark.parametrize("truth", ["line", "wave", "flat top"])
def test_held_out_loss_against_platt_and_beta(truth):
    shape = {
        "line": lambda z: 0.5 * z + 0.3,
        "wave": wave,
        "flat top": lambda z: 3 * np.tanh(z / 2),
    }[truth]
    excess = {"spline": [], "platt": [], "beta": []}
    z_new, _ = draw(4000, seed=99)
    proba_new = expit(shape(z_new))

    def expected_loss(q):
        return -np.mean(proba_new * np.log(q) + (1 - proba_new) * np.log1p(-q))

    for seed in range(4):
        z, y = draw(1000, seed=seed, truth=shape)
        for name, recalibrator in (
            ("spline", spline()),
            ("platt", PlattScaling(input="logits")),
            ("beta", BetaCalibration(input="logits")),
        ):
            loss = expected_loss(event(recalibrator.fit(z, y), z_new))
            excess[name].append(loss - expected_loss(proba_new))
    ours, platt, beta = (np.mean(excess[k]) for k in ("spline", "platt", "beta"))
    if truth == "line":
        assert ours < 2 * platt + 1e-4
    else:
        assert ours < 0.6 * min(platt, beta)


# -- no harm ----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("pseudo_count", [0, 0.25, 5])
def test_never_worse_than_the_identity_on_its_own_rows(seed, pseudo_count):
    rng = np.random.default_rng(seed)
    n = [5, 12, 40, 200][seed % 4]
    z, y = draw(n, seed=seed, truth=lambda z: z)
    if seed % 3 == 0:
        z[: n // 3] = np.where(y[: n // 3] == 1, 36.0, -36.0)
    weight = rng.integers(1, 4, n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = spline(pseudo_count=pseudo_count, labels=[0, 1])
        ours.fit(z, y, sample_weight=weight)

    def loss(log_odds):
        return -np.sum(weight * log_expit(np.where(y == 1, log_odds, -log_odds)))

    before = loss(z)
    after = before if ours.calibrators_[0] is None else loss(curve(ours, z))
    assert after <= before * (1 + 1e-9) + 1e-12


def test_identity_stays_where_scores_are_calibrated():
    z, y = draw(20_000, truth=lambda z: z)
    grid = np.linspace(-4, 3, 50)
    assert_allclose(event(spline().fit(z, y), grid), expit(grid), atol=0.03)


def test_monotone():
    z, y = draw(200, truth=lambda z: 1.5 * np.sin(2 * z))
    grid = np.linspace(-12, 12, 5001)
    rising = curve(spline(penalty=1e-4).fit(z, y), grid)
    assert np.diff(rising).min() == pytest.approx(1e-3 * 24 / 5000, rel=1e-2)
    falling = curve(spline(penalty=1e-4, monotone=False).fit(z, y), grid)
    assert (np.diff(falling) < -0.01).any()


def test_keeps_the_order_of_the_scores():
    z, y = draw(1000)
    repaired = event(spline().fit(z, y), z)
    assert roc_auc_score(y, repaired) == pytest.approx(roc_auc_score(y, z), abs=1e-12)


def test_reversed_scores_give_the_base_rate_and_a_warning():
    z, y = draw(300, truth=lambda z: -z)
    with pytest.warns(UserWarning, match="in reverse"):
        ours = spline(pseudo_count=0).fit(z, y)
    assert_allclose(event(ours, np.linspace(-5, 5, 11)), y.mean())
    turned = spline(monotone=False).fit(z, y)
    assert roc_auc_score(y, event(turned, z)) > 0.8


def test_beyond_the_knots_in_straight_lines():
    z, y = draw(300)
    ours = spline().fit(z, y)
    knots, values, slopes, *_ = ours.calibrators_[0]
    far = knots[-1] + np.array([1.0, 10.0, 50.0])
    assert_allclose(curve(ours, far), values[-1] + slopes[-1] * (far - knots[-1]))
    far = knots[0] - np.array([1.0, 10.0, 50.0])
    assert_allclose(curve(ours, far), values[0] + slopes[0] * (far - knots[0]))


# -- odd data ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("penalty", "pseudo_count"),
    [("reml", 0), ("gcv", 0), ("loo", 0), (1e-6, 0), ("reml", 0.25)],
)
@pytest.mark.parametrize("width", [1e-3, 1.0, 100.0])
def test_separable_scores_c3(penalty, pseudo_count, width):
    z = width * np.linspace(-1, 1, 60)
    y = (z > 0).astype(int)
    ours = spline(penalty=penalty, pseudo_count=pseudo_count).fit(z, y)
    repaired = event(ours, z)
    assert np.isfinite(curve(ours, z)).all()
    assert log_loss(y, repaired) < min(log_loss(y, expit(z)) + 1e-12, 0.7)
    assert roc_auc_score(y, repaired) == pytest.approx(1)


@pytest.mark.parametrize("penalty", CRITERIA)
def test_two_rows_and_ten_rows(penalty):
    ours = SplineCalibration(penalty=penalty).fit([0, 1], [0, 1])
    assert_allclose(ours.transform([0.0, 1.0]), np.eye(2), atol=1e-6)
    z, y = draw(10, seed=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        repaired = event(spline(penalty=penalty).fit(z, y), z)
    assert 0 < repaired.min() <= repaired.max() < 1


@pytest.mark.parametrize("penalty", [*CRITERIA, 1e-6])
def test_certain_and_right(penalty):
    z = np.linspace(900, 1000, 40) * np.tile([-1, 1], 20)
    repaired = event(spline(penalty=penalty).fit(z, z > 0), z)
    assert_allclose(repaired, z > 0, atol=1e-12)


def test_constant_scores_get_the_base_rate_c4():
    ours = SplineCalibration().fit(np.full(100, 0.3), np.arange(100) < 50)
    assert_allclose(ours.transform([0.1, 0.3, 0.9])[:, 1], 0.5)


def test_one_class_keeps_its_probability():
    ours = SplineCalibration().fit([0.3, 0.6], [1, 1])
    assert_allclose(ours.transform([0.3, 0.7])[:, 1], [0.3, 0.7])


def test_ties_and_lumps_at_0_and_1():
    rng = np.random.default_rng(0)
    p = rng.binomial(20, rng.beta(0.5, 0.8, 2000)) / 20
    y = (rng.uniform(size=2000) < 0.1 + 0.8 * p).astype(int)
    ours = SplineCalibration().fit(p, y)
    levels = np.linspace(0, 1, 21)
    assert_allclose(ours.transform(levels)[:, 1], 0.1 + 0.8 * levels, atol=0.06)


def test_narrow_scores_with_far_outliers():
    rng = np.random.default_rng(0)
    z = np.append(-4.0 + 1e-3 * rng.normal(size=3000), [-36.0, 36.0])
    y = np.append(rng.uniform(size=3000) < 0.3, [0, 1]).astype(int)
    repaired = event(spline().fit(z, y), z)
    assert np.isfinite(repaired).all()
    assert repaired[:3000].mean() == pytest.approx(y[:3000].mean(), abs=1e-3)


# -- what all share ---------------------------------------------------------------


@pytest.mark.parametrize("penalty", CRITERIA)
def test_order_and_repetition(penalty):
    z, y = draw(200, decimals=1)
    weight = np.random.default_rng(0).integers(0, 4, 200)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(200), weight))
    expected = spline(penalty=penalty).fit(z, y, sample_weight=weight)
    ours = spline(penalty=penalty).fit(z[rows], y[rows])
    assert_allclose(event(ours, z), event(expected, z), rtol=1e-6)


def test_order_and_repetition_of_many_rows():
    z, y = draw(5000)
    weight = np.random.default_rng(0).integers(0, 4, 5000)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(5000), weight))
    expected = spline().fit(z, y, sample_weight=weight)
    ours = spline().fit(z[rows], y[rows])
    assert_allclose(event(ours, z), event(expected, z), rtol=1e-6)


def test_classes_change_places():
    z, y = draw(300)
    ours, turned = spline().fit(z, y), spline().fit(-z, 1 - y)
    assert_allclose(event(turned, -z), 1 - event(ours, z), rtol=1e-5)


def test_three_classes_and_an_absent_one():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1, 1, 2], 500)
    y = (rng.uniform(size=(500, 1)) > proba.cumsum(axis=1)[:, :2]).sum(axis=1)
    ours = SplineCalibration().fit(proba, y)
    assert len(ours.calibrators_) == 3
    columns = np.column_stack(
        [
            SplineCalibration().fit(proba[:, k], y == k).transform(proba[:, k])[:, 1]
            for k in range(3)
        ]
    )
    expected = columns / columns.sum(axis=1, keepdims=True)
    assert_allclose(ours.transform(proba), expected, rtol=1e-5)
    ours = SplineCalibration(labels=[0, 1, 2]).fit(proba[y > 0], y[y > 0])
    assert ours.calibrators_[0] is None


def test_float32():
    z, y = draw(300)
    p = expit(z).astype(np.float32)
    repaired = SplineCalibration().fit(p, y).transform(p)
    assert repaired.dtype == np.float32
    assert_allclose(repaired, spline().fit(z, y).transform(z), atol=1e-4)


def test_logits_of_100_keep_their_precision():
    z, y = draw(300)
    ours = spline(penalty=1.0).fit(100 * z / np.abs(z).max(), y)
    assert_allclose(logit(event(ours, [-1.0])), curve(ours, [-1.0]))
    assert np.isfinite(ours.transform([-1000.0, 1000.0])).all()


@pytest.mark.parametrize("unit", [1e3, 1e5, 1e8, 1e12])
def test_decision_functions_in_any_unit(unit):
    """Linear models on raw features have scores of 1e5; their curve is as good."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=500)
    y = (rng.uniform(size=500) < expit(1.5 * z + 0.5)).astype(int)
    options = {"penalty": 1.0, "input": "logits"}
    expected = SplineCalibration(**options).fit(z, y).transform(z)
    curve = SplineCalibration(**options).fit(unit * z, y)
    assert_allclose(curve.transform(unit * z), expected, atol=0.01)
    assert np.all(np.diff(curve.transform(unit * np.sort(z))[:, 1]) > 0)
    # With a free choice of smoothness, too.
    chosen = SplineCalibration(input="logits").fit(unit * z, y).transform(unit * z)
    assert_allclose(chosen, expected, atol=0.05)


def test_pickle_holds_the_curve_only():
    fitted = [spline().fit(*draw(n)) for n in (200, 20_000)]
    sizes = [len(pickle.dumps(ours)) for ours in fitted]
    assert sizes[1] < 1.2 * sizes[0]
    restored = pickle.loads(pickle.dumps(fitted[0]))
    z, _ = draw(50)
    assert_array_equal(restored.transform(z), fitted[0].transform(z))
