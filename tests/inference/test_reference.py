"""What a measure would be by chance, against outcomes drawn row by row."""

from functools import partial

import numpy as np
import pytest
from scipy.stats import binom, ks_2samp
from sklearn.metrics import brier_score_loss, log_loss

from skcal import binned_ece, calibrated_reference, rank_ece, smooth_ece


def differ(one, other):
    """A Kolmogorov-Smirnov test that finds equal ones different once in 1,000.

    Equal values are to stay equal in spite of rounding.
    """
    return ks_2samp(np.round(one, 9), np.round(other, 9)).pvalue < 1e-3


def by_rows(metric, f, n_draws, seed=1, **params):
    rng = np.random.default_rng(seed)
    return [metric(rng.uniform(size=f.size) < f, f, **params) for _ in range(n_draws)]


@pytest.mark.parametrize(
    ("metric", "params"),
    [
        (smooth_ece, {}),
        (smooth_ece, {"scale": "logit"}),
        (smooth_ece, {"bandwidth": 0.05}),
        (binned_ece, {}),
        (binned_ece, {"norm": "l2", "debias": True}),
        (binned_ece, {"norm": "max", "n_bins": 5, "strategy": "quantile"}),
    ],
)
@pytest.mark.parametrize("n", [50, 600])
def test_cells_and_rows_have_one_distribution(metric, params, n):
    f = np.random.default_rng(0).beta(0.4, 0.8, size=n)
    rows = by_rows(metric, f, 400, **params)
    cells = calibrated_reference(metric, f, n_resamples=2_000, random_state=0, **params)
    assert not differ(rows, cells.distribution)


def test_weights():
    rng = np.random.default_rng(0)
    f, weight = rng.uniform(size=200), rng.lognormal(size=200)
    rows = by_rows(smooth_ece, f, 300, sample_weight=weight)
    cells = calibrated_reference(smooth_ece, f, sample_weight=weight, random_state=0)
    assert not differ(rows, cells.distribution)


@pytest.mark.parametrize("multiclass", ["confidence", "classwise"])
@pytest.mark.parametrize("metric", [smooth_ece, binned_ece])
def test_three_classes(metric, multiclass):
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1, 0.5, 0.5], size=150)
    rows = []
    for _ in range(300):
        chance = rng.uniform(size=(150, 1))
        y = (chance > np.cumsum(proba, axis=1)[:, :2]).sum(axis=1)
        rows.append(metric(y, proba, multiclass=multiclass, labels=[0, 1, 2]))
    cells = calibrated_reference(metric, proba, multiclass=multiclass, random_state=0)
    assert not differ(rows, cells.distribution)


@pytest.mark.parametrize("metric", [rank_ece, brier_score_loss])
def test_other_measures(metric):
    """400 means: five standard errors; rankECE averages zero."""
    f = np.random.default_rng(0).uniform(size=100)
    result = calibrated_reference(metric, f, n_resamples=400, random_state=0)
    expected = 0.0 if metric is rank_ece else np.mean(f * (1 - f))
    assert abs(result.mean - expected) < 5 * result.standard_deviation / 20


def test_labels_of_other_measures():
    proba = np.random.default_rng(0).dirichlet([1, 1, 1], size=60)
    words = ["high", "low", "middle"]
    result = calibrated_reference(
        log_loss, proba, labels=words, n_resamples=20, random_state=0
    )
    assert result.mean > 0
    many = calibrated_reference(rank_ece, proba[:5], n_resamples=20, random_state=0)
    assert np.isfinite(many.distribution).all()


def test_result():
    f = np.random.default_rng(0).uniform(size=100)
    result = calibrated_reference(
        smooth_ece, f, quantiles=[0.1, 0.9], n_resamples=99, random_state=0
    )
    draws = result.distribution
    assert draws.shape == (99,)
    assert result.mean == pytest.approx(draws.mean())
    assert result.standard_deviation == pytest.approx(draws.std(ddof=1))
    assert result.quantiles == pytest.approx(
        {0.1: np.quantile(draws, 0.1), 0.9: np.quantile(draws, 0.9)}
    )
    assert result.pvalue(1.0) == 0.01
    assert result.pvalue(draws.min()) == 1.0
    assert result.pvalue(np.median(draws)) == 0.51
    assert repr(result).startswith("CalibratedReference(mean=0.0")
    with pytest.raises(AttributeError):
        result.mean = 0.0
    one = calibrated_reference(
        smooth_ece, f, quantiles=0.5, n_resamples=99, random_state=0
    )
    assert list(one.quantiles) == [0.5]


@pytest.mark.simulation
def test_level_of_the_pvalue():
    """Of 200 calibrated samples 10 are rejected at 5 %; more than 21 once in 2,000."""
    assert binom.sf(21, 200, 0.05) < 1 / 2_000
    rejected = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        f = rng.beta(0.5, 1.5, size=80)
        y = rng.uniform(size=80) < f
        reference = calibrated_reference(
            smooth_ece, f, n_resamples=99, random_state=seed
        )
        rejected += reference.pvalue(smooth_ece(y, f)) <= 0.05
    assert rejected <= 21


@pytest.mark.parametrize(
    ("metric", "options"),
    [(smooth_ece, {}), (partial(binned_ece, n_bins=4), {}), (rank_ece, {})],
)
def test_order_of_the_rows_and_number_of_jobs(metric, options):
    f = np.round(np.random.default_rng(0).uniform(size=120), 2)
    one = calibrated_reference(metric, f, n_resamples=60, random_state=0)
    shuffled = np.random.default_rng(1).permutation(f)
    other = calibrated_reference(
        metric, shuffled, n_resamples=60, random_state=0, n_jobs=2
    )
    assert one.distribution == pytest.approx(other.distribution, rel=1e-9)


def test_two_columns_are_the_second_one():
    f = np.random.default_rng(0).uniform(size=100)
    options = {"n_resamples": 20, "random_state": 0}
    for metric in (smooth_ece, rank_ece):
        one = calibrated_reference(metric, f, **options)
        two = calibrated_reference(metric, np.column_stack([1 - f, f]), **options)
        assert one.mean == pytest.approx(two.mean)


def test_certain_forecasts_have_no_error():
    result = calibrated_reference(smooth_ece, [0.0, 1.0, 1.0], random_state=0)
    assert result.mean == 0.0
    assert result.pvalue(0.0) == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quantiles": [0.5, 95]}, "quantiles must be a number between 0 and 1"),
        ({"n_resamples": 1.5}, "n_resamples must be a positive integer"),
        ({"sample_weight": [1.0]}, "sample_weight must have shape"),
        ({"pos_label": 1}, "pos_label has no use"),
        ({"scale": "log"}, "scale must be one of"),
    ],
)
def test_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        calibrated_reference(smooth_ece, [0.2, 0.7], **options)
    with pytest.raises(ValueError, match="labels must name all 2"):
        calibrated_reference(rank_ece, [0.2, 0.7], labels=[1, 2, 3])
