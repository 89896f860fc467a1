"""Test of perfect calibration by rankECE."""

from dataclasses import replace
from numbers import Integral

import numpy as np
from joblib import Parallel, delayed
from scipy.special import ndtr
from sklearn.utils import check_random_state

from skcal._core.ranks import block_products, null_moments, tie_blocks
from skcal._predictions import check_option, check_positive, check_predictions
from skcal.inference._results import RankECETestResult
from skcal.metrics._rank import randomly_ranked

_METHODS = ("auto", "asymptotic", "finite-sample", "monte-carlo")
# The resamples come in streams of random numbers of this many at least, whatever
# `n_jobs`.
_MOST_STREAMS = 8
_STREAM = 500
_CHUNK = 1 << 18
# "auto" simulates where that is cheap, or the null distribution visibly skewed: at a
# skewness of 0.1 the normal limit rejects 5.3 % at the level of 5 %.
_FEW_FORECASTS = 1_000
_LARGEST_SKEWNESS = 0.1


def rank_ece_test(
    y_true,
    y_proba,
    *,
    method="auto",
    variance="exact",
    n_resamples=9_999,
    pos_label=None,
    labels=None,
    multiclass="confidence",
    random_state=0,
    n_jobs=None,
):
    """Test of perfect calibration by the rank calibration error.

    The null hypothesis is that every outcome happens with its forecast probability,
    independently of the others. `rank_ece` then averages zero and is positive
    otherwise, so large values speak against calibration.

    Read more in the :ref:`User Guide <tests>`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or \
            (n_samples, n_classes)
        Predicted probabilities in [0, 1]. One column is the positive class's; more are
        the classes' in sorted order, and their rows sum to one.
    method : {"auto", "asymptotic", "finite-sample", "monte-carlo"}, default="auto"
        Where the p-value comes from.

        - "monte-carlo" draws outcomes with the forecast probabilities: valid for any
          number of rows and any forecasts, ties included.
        - "asymptotic" is the normal limit, for many rows and events that are not rare,
          see the notes.
        - "finite-sample" inverts Bernstein's inequality: valid always, with much less
          power.
        - "auto" is "asymptotic" for more than 1,000 distinct forecasts and a null
          distribution with a skewness below 0.1, else "monte-carlo".

    variance : {"exact", "plug-in"}, default="exact"
        Variance of the statistic for "asymptotic": the exact one given the forecasts,
        or the paper's estimate of its limit, which is never smaller.
    n_resamples : int, default=9999
        Number of draws for "monte-carlo"; the smallest possible p-value is
        ``1 / (n_resamples + 1)``.
    pos_label : int, float, bool or str, default=None
        Label of the positive class. By default 1 where the labels are within {0, 1} or
        {-1, 1}, and the second label in sorted order where `y_proba` has two columns or
        `labels` is given. Has no effect with three or more classes.
    labels : array-like of shape (n_classes,), default=None
        All labels in sorted order. Give them where `y_true` may lack a class.
    multiclass : {"confidence", "classwise"}, default="confidence"
        With three or more classes, test the top class's probability against its being
        right, or each class against the rest with Holm's correction. Two classes are
        always tested by the positive class's probability.
    random_state : int, RandomState instance or None, default=0
        Seed of the draws of "monte-carlo", and of the order of tied rows for the other
        methods. With None the p-value differs from call to call.
    n_jobs : int, default=None
        Number of threads for "monte-carlo". The result does not depend on it.

    Returns
    -------
    result : RankECETestResult
        Frozen, with the attributes

        - `statistic` : float, rankECE divided by its standard deviation under the null
          hypothesis given the forecasts.
        - `pvalue` : float, one-sided; for "classwise" the smallest of the classes'.
        - `method` : str, the method that was used, "mixed" where classes differ.
        - `rank_ece` : float, the error itself; for "classwise" the mean.
        - `n_samples` : int
        - `by_class` : dict of label to such a result, with Holm-adjusted p-values, for
          "classwise" with three or more classes; else None.

    Raises
    ------
    ValueError
        If the input or an option is invalid.

    See Also
    --------
    rank_ece : The error itself.
    skce_test : Test by a kernel, for whole vectors of probabilities too.
    rank_ece_upper_bound : For accepting a model rather than rejecting it.
    rank_ece_sample_size : Number of rows that an error needs to be found.

    Notes
    -----
    The result does not depend on the order of the rows. Forecasts that are all 0 or 1
    leave nothing to chance: the p-value is 1 if all are right and 0 (with an infinite
    statistic) if any is wrong. Beside other forecasts, which may have been rounded to 0
    or 1, such rows count like all others.

    **Ties.** "monte-carlo" tests the expectation over all orders of the tied rows. With
    many ties that is far from normal (for a constant forecast it is a shifted
    chi-squared variable), so the other methods draw one order: given that, their
    argument holds as without ties. They lose power by it; prefer "monte-carlo".

    **Rare events.** Pairs of neighbours that are both events are rarer still, and their
    number is not normal: with 0.15 of them expected there is one in 14 % of the
    samples, ``1 - exp(-0.15)``, and one is enough for "asymptotic" to reject.

    **Weights** have no place here. A weight of k stands for k rows in an estimate, but
    k copies of a row are not k observations.

    References
    ----------
    .. [1] A. Chatterjee and R. F. Barber, "A Ranking Approach for Measuring
       Calibration", 2026, section 3.2 and appendix F.
       `arXiv:2609.13100 <https://arxiv.org/abs/2609.13100>`_

    Examples
    --------
    >>> import numpy as np
    >>> from skcal import rank_ece_test
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.uniform(size=2_000)
    >>> calibrated = rng.uniform(size=2_000) < y_proba
    >>> rank_ece_test(calibrated, y_proba)
    RankECETestResult(statistic=0.24..., pvalue=0.40..., method='asymptotic', ...)
    >>> shifted = rng.uniform(size=2_000) < 0.1 + 0.9 * y_proba
    >>> rank_ece_test(shifted, y_proba).pvalue < 0.05
    True
    """
    check_option("method", method, _METHODS)
    check_option("variance", variance, ("exact", "plug-in"))
    check_positive("n_resamples", n_resamples, Integral)
    predictions = check_predictions(y_true, y_proba, pos_label=pos_label, labels=labels)
    results = [
        _test(problem, method, variance, n_resamples, random_state, n_jobs)
        for problem in predictions.binary_problems(multiclass)
    ]
    if predictions.is_binary or multiclass == "confidence":
        return results[0]
    return _corrected(results, predictions.classes.tolist())


def _test(problem, method, variance, n_resamples, random_state, n_jobs):
    blocks = tie_blocks(problem.outcome, problem.forecast)
    null_variance, third = null_moments(blocks.size, blocks.forecast)
    if method == "auto":
        normal = (
            blocks.size.size > _FEW_FORECASTS
            and abs(third) <= _LARGEST_SKEWNESS * null_variance**1.5
        )
        method = "asymptotic" if normal else "monte-carlo"

    if method == "monte-carlo":
        total = float(block_products(blocks.events, blocks.size, blocks.forecast))
    else:
        if blocks.size.size < problem.forecast.shape[0]:
            residual = randomly_ranked(problem, random_state)
        else:
            residual = blocks.events - blocks.forecast
        products = residual[:-1] * residual[1:]
        total = float(products.sum())
        spread = np.repeat(blocks.forecast * (1.0 - blocks.forecast), blocks.size)
        pair_variance = spread[:-1] * spread[1:]
        null_variance = float(pair_variance.sum())
        if method == "asymptotic" and variance == "plug-in":
            null_variance = float(spread @ spread)

    if null_variance == 0:
        # Nothing is left to chance: the outcomes are as forecast, or cannot be.
        wrong = _is_impossible(blocks)
        statistic, pvalue = (np.inf, 0.0) if wrong else (0.0, 1.0)
    else:
        statistic = total / np.sqrt(null_variance)
        if method == "asymptotic":
            pvalue = ndtr(-statistic)
        elif method == "finite-sample":
            pvalue = _bernstein_pvalue(total, pair_variance)
        else:
            # Outcomes that are equally extreme must not be told apart by rounding.
            threshold = total - 1e-10 * np.sqrt(null_variance)
            n_extreme = _count_extreme(
                blocks, threshold, n_resamples, random_state, n_jobs
            )
            pvalue = (1 + n_extreme) / (1 + n_resamples)
    n_samples = problem.forecast.shape[0]
    return RankECETestResult(
        float(statistic), float(pvalue), method, total / n_samples, n_samples
    )


def _is_impossible(blocks):
    """Whether an outcome has the forecast probability zero."""
    zero, one = blocks.forecast == 0, blocks.forecast == 1
    return bool(
        (blocks.events[zero] > 0).any() or (blocks.events[one] < blocks.size[one]).any()
    )


def _bernstein_pvalue(total, pair_variance):
    """Bound on the probability of a total this large, valid for any forecasts.

    Every other pair of neighbours is independent of the rest, so the odd and the even
    pairs both obey Bernstein's inequality: their sums exceed sqrt(2 v L) + L / 3 with
    probability exp(-L) at most. With L = log(2 / p) for both parts, the p that puts the
    threshold at the total solves a quadratic equation in sqrt(L).
    """
    if total <= 0:
        return 1.0
    slope = sum(np.sqrt(2.0 * pair_variance[part::2].sum()) for part in (0, 1))
    root = (np.sqrt(slope**2 + 8.0 * total / 3.0) - slope) * 0.75
    return min(1.0, 2.0 * float(np.exp(-(root**2))))


# Monte Carlo --------------------------------------------------------------------------


def _count_extreme(blocks, threshold, n_resamples, random_state, n_jobs):
    """Number of simulated totals that are at or above the threshold."""
    seed = check_random_state(random_state).randint(2**31 - 1, size=4)
    n_streams = int(np.clip(n_resamples // _STREAM, 1, _MOST_STREAMS))
    streams = np.random.SeedSequence(seed.tolist()).spawn(n_streams)
    shares = [len(part) for part in np.array_split(range(n_resamples), n_streams)]
    counts = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_count_in_stream)(blocks, threshold, share, stream)
        for share, stream in zip(shares, streams, strict=True)
    )
    return sum(counts)


def _count_in_stream(blocks, threshold, n_resamples, stream):
    # Each kind of draw has a generator of its own, which goes through the resamples one
    # after the other: the chunks leave no trace.
    uniform, binomial = map(np.random.default_rng, stream.spawn(2))
    forecast, size = blocks.forecast, blocks.size
    single = size == 1
    chunk = max(1, _CHUNK // size.size)
    count = 0
    for start in range(0, n_resamples, chunk):
        n_rows = min(chunk, n_resamples - start)
        if single.all():
            events = uniform.random((n_rows, size.size)) < forecast
        else:
            events = np.empty((n_rows, size.size))
            events[:, single] = (
                uniform.random((n_rows, single.sum())) < forecast[single]
            )
            events[:, ~single] = binomial.binomial(
                size[~single], forecast[~single], (n_rows, (~single).sum())
            )
        count += int(np.sum(block_products(events, size, forecast) >= threshold))
    return count


# Several classes ----------------------------------------------------------------------


def _corrected(results, labels):
    adjusted = holm([result.pvalue for result in results])
    by_class = {
        label: replace(result, pvalue=pvalue)
        for label, result, pvalue in zip(labels, results, adjusted, strict=True)
    }
    methods = {result.method for result in results}
    return RankECETestResult(
        max(result.statistic for result in results),
        min(adjusted),
        methods.pop() if len(methods) == 1 else "mixed",
        float(np.mean([result.rank_ece for result in results])),
        results[0].n_samples,
        by_class,
    )


def holm(pvalues):
    """Holm's adjusted p-values, valid however the tests depend on each other."""
    pvalues = np.asarray(pvalues, dtype=np.float64)
    order = np.argsort(pvalues)
    factor = np.arange(pvalues.size, 0, -1)
    adjusted = np.empty_like(pvalues)
    adjusted[order] = np.minimum(np.maximum.accumulate(factor * pvalues[order]), 1.0)
    return adjusted.tolist()
