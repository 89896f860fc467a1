"""The shared solvers: optima, bounds, precision and honest failure."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_softmax
from sklearn.exceptions import ConvergenceWarning

from skcal.recalibration._newton import (
    MultinomialLoss,
    is_constant,
    logistic_loss,
    newton,
    penalised,
    restricted,
    separable_line,
    truncated_newton,
    vector_loss,
)
from tests.recalibration.fits import draw, long_run


def quadratic(matrix, centre):
    def evaluate(x):
        away = x - centre
        return 1.0 + 0.5 * away @ matrix @ away, matrix @ away, matrix

    return evaluate


def numeric(evaluate, x, step=1e-6):
    """Gradient and Hessian by central differences."""
    eye = step * np.eye(len(x))
    gradient = [(evaluate(x + e)[0] - evaluate(x - e)[0]) / (2 * step) for e in eye]
    hessian = [(evaluate(x + e)[1] - evaluate(x - e)[1]) / (2 * step) for e in eye]
    return np.array(gradient), np.array(hessian)


def test_bounds_are_the_constrained_optimum():
    rng = np.random.default_rng(0)
    for _ in range(15):
        root = rng.normal(size=(4, 4))
        matrix, centre = root @ root.T + 0.1 * np.eye(4), rng.normal(size=4)
        lower = np.where(rng.uniform(size=4) < 0.7, 0.0, -np.inf)
        evaluate = quadratic(matrix, centre)
        found, loss = newton(evaluate, np.ones(4), "test", lower)
        assert np.all(found >= lower)
        bounds = [(None if np.isinf(low) else low, None) for low in lower]
        best = long_run(lambda x, f=evaluate: f(x)[0], [np.ones(4)], bounds)
        assert loss <= best + 1e-9


@pytest.mark.parametrize("size", [1.0, 30.0])
def test_logistic_derivatives(size):
    rng = np.random.default_rng(0)
    design = np.stack([np.ones(50), rng.normal(size=50), rng.normal(size=50)])
    share = rng.dirichlet(np.ones(50))
    evaluate = logistic_loss(design, rng.uniform(size=50), share)
    evaluate = penalised(evaluate, np.ones(3), np.array([0.0, 1.0, 2.0]))
    x = size * np.array([0.1, 0.7, -0.4])
    gradient, hessian = numeric(evaluate, x)
    assert_allclose(evaluate(x)[1], gradient, rtol=1e-6, atol=1e-8)
    assert_allclose(evaluate(x)[2], hessian, rtol=1e-5, atol=1e-8)


def test_logistic_loss_is_exact_where_it_is_tiny():
    design = np.array([[50.0, -60.0]])
    loss, gradient, _ = logistic_loss(design, np.array([1.0, 0.0]), np.full(2, 0.5))(
        np.ones(1)
    )
    assert_allclose(loss, 0.5 * (np.exp(-50.0) + np.exp(-60.0)), rtol=1e-12)
    assert_allclose(
        gradient, -0.5 * (50 * np.exp(-50.0) + 60 * np.exp(-60.0)), rtol=1e-12
    )


def test_vector_derivatives():
    logits, y = draw(3, 40)
    share = np.random.default_rng(0).dirichlet(np.ones(40))
    evaluate = vector_loss(0.5 * logits.T, logits.T, y, share)
    x = np.array([0.3, -0.2, 0.1, 0.5, 0.0, -1.0])
    gradient, hessian = numeric(evaluate, x)
    assert_allclose(evaluate(x)[1], gradient, rtol=1e-6, atol=1e-8)
    assert_allclose(evaluate(x)[2], hessian, rtol=1e-5, atol=1e-8)


def multinomial(n_classes, n_samples, strength):
    logits, y = draw(n_classes, n_samples)
    features = np.vstack([logits.T, np.ones(n_samples)])
    share = np.random.default_rng(0).dirichlet(np.ones(n_samples))
    shape = (n_classes, n_classes + 1)
    strengths = np.full(shape, strength)
    problem = MultinomialLoss(0.5 * logits.T, features, y, share, strengths)

    def direct(flat):
        parameters = flat.reshape(shape)
        logit = (0.5 * logits.T + parameters @ features).T
        loss = -share @ log_softmax(logit, axis=1)[np.arange(n_samples), y]
        return loss + 0.5 * strength * np.sum(parameters**2)

    return problem, direct, shape


# Many rows are several blocks, the last of them with rows of weight zero.
@pytest.mark.parametrize("n_samples", [30, 20_000])
def test_multinomial_derivatives(n_samples):
    problem, direct, shape = multinomial(4, n_samples, 0.01)
    rng = np.random.default_rng(1)
    parameters, direction = 0.2 * rng.normal(size=(2, *shape))
    loss, gradient = problem.at(parameters)
    assert_allclose(loss, direct(parameters.ravel()), rtol=1e-12)
    image = problem.curved(direction)
    step = 1e-6
    high, low = (problem.at(parameters + s * direction) for s in (step, -step))
    change = np.sum(gradient * direction)
    assert_allclose((high[0] - low[0]) / (2 * step), change, rtol=1e-6)
    assert_allclose((high[1] - low[1]) / (2 * step), image, rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("strength", [1e-4, 1.0])
def test_truncated_newton_reaches_the_optimum(strength):
    problem, direct, shape = multinomial(4, 300, strength)
    found, loss = truncated_newton(problem, np.zeros(shape), "test")
    best = long_run(direct, [np.zeros(np.prod(shape))])
    assert loss <= best * (1 + 1e-9)
    assert np.abs(problem.at(found)[1]).max() < 1e-8


def test_start_far_out_where_the_loss_is_linear():
    design = np.array([[1.0, 1.0, 1.0, 1.0]])
    evaluate = logistic_loss(design, np.array([1.0, 0, 0, 0]), np.full(4, 0.25))
    found, _ = newton(evaluate, np.array([5000.0]), "test")
    assert_allclose(found, np.log(1 / 3), rtol=1e-9)


def test_no_minimum_warns_and_is_finite():
    design = np.array([[-1.0, 1.0]])
    slow = restricted(
        logistic_loss(design, np.array([0.0, 1.0]), np.full(2, 0.5)),
        np.array([[1.0]]),
        np.zeros(1),
    )

    def shifted(x):
        loss, gradient, hessian = slow(x)
        return loss - 0.1 * x[0], gradient - 0.1, hessian

    with pytest.warns(ConvergenceWarning, match=r"fit of Test did not converge"):
        found, _ = newton(shifted, np.zeros(1), "Test")
    assert np.isfinite(found).all()


def test_small_helpers():
    assert is_constant(np.full(3, 1e5))
    assert is_constant(np.array([0.3, 0.3 + 1e-16]))
    assert not is_constant(np.array([0.0, 1e-3]))
    z = np.array([-2.0, -1.0, 1.0, 2.0])
    assert separable_line(z, np.array([0.0, 0, 1, 1])) == (7.5, 0.0)
    assert separable_line(z, np.array([0.0, 1, 0, 1])) is None
    assert separable_line(np.zeros(2), np.array([0.0, 1.0])) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert separable_line(1e4 * z, np.array([0.0, 0, 1, 1]))[0] == 1.0


@pytest.mark.parametrize("n_rows", [1, 8192, 8193, 30_000])
def test_logistic_loss_in_blocks_is_that_of_all_rows(n_rows):
    rng = np.random.default_rng(0)
    z, target = rng.normal(size=n_rows), rng.uniform(size=n_rows)
    share = rng.uniform(size=n_rows)
    share /= share.sum()
    design = np.stack([np.ones(n_rows), z, z**2])
    eta = design.T @ [0.3, -0.8, 0.2]
    proba = 1 / (1 + np.exp(-eta))
    loss, gradient, hessian = logistic_loss(design, target, share)(
        np.array([0.3, -0.8, 0.2])
    )
    cross = -target * np.log(proba) - (1 - target) * np.log(1 - proba)
    assert_allclose(loss, share @ cross, rtol=1e-12)
    assert_allclose(gradient, design @ (share * (proba - target)), atol=1e-13)
    assert_allclose(
        hessian, design * (share * proba * (1 - proba)) @ design.T, rtol=1e-12
    )
