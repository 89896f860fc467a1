"""Streams: the same numbers as the one-shot functions, however the rows arrive."""

import pickle
import warnings
from functools import partial, reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skcal import BinnedECEAccumulator, SmoothECEAccumulator, binned_ece, smooth_ece

TOLERANCE = 1e-9

# An accumulator and the function it must agree with.
PAIRS = {
    "smooth": (SmoothECEAccumulator, smooth_ece),
    "smooth-logit": (
        partial(SmoothECEAccumulator, scale="logit"),
        partial(smooth_ece, scale="logit"),
    ),
    "smooth-bandwidth": (
        partial(SmoothECEAccumulator, bandwidth=0.05),
        partial(smooth_ece, bandwidth=0.05),
    ),
    "smooth-small-bandwidth": (
        partial(SmoothECEAccumulator, bandwidth=1e-3),
        partial(smooth_ece, bandwidth=1e-3),
    ),
    "smooth-logit-wide-bandwidth": (
        partial(SmoothECEAccumulator, scale="logit", bandwidth=5.0),
        partial(smooth_ece, scale="logit", bandwidth=5.0),
    ),
    "binned": (BinnedECEAccumulator, binned_ece),
    "binned-l2": (
        partial(BinnedECEAccumulator, n_bins=7, norm="l2"),
        partial(binned_ece, n_bins=7, norm="l2"),
    ),
    "binned-debiased": (
        partial(BinnedECEAccumulator, n_bins=4, norm="l2", debias=True),
        partial(binned_ece, n_bins=4, norm="l2", debias=True),
    ),
    "binned-max": (
        partial(BinnedECEAccumulator, n_bins=3, norm="max"),
        partial(binned_ece, n_bins=3, norm="max"),
    ),
}
MAIN = ["smooth", "smooth-logit", "binned"]
every_pair = pytest.mark.parametrize("pair", PAIRS)
main_pairs = pytest.mark.parametrize("pair", MAIN)
both_classes = pytest.mark.parametrize(
    "new", [SmoothECEAccumulator, BinnedECEAccumulator]
)


def draw_smooth(rng, n):
    p = rng.uniform(size=n)
    return p, rng.uniform(size=n) < p**1.5


def draw_atomic(rng, n):
    p = rng.choice([0.0, 0.1, 0.35, 1.0], size=n)
    return p, rng.uniform(size=n) < 0.2 + 0.6 * p


def draw_extreme(rng, n):
    p = rng.beta(0.02, 0.02, size=n)
    return p, rng.uniform(size=n) < p


def draw_rare(rng, n):
    p = rng.beta(0.5, 200, size=n)
    return p, rng.uniform(size=n) < 2 * p


DRAWS = [draw_smooth, draw_atomic, draw_extreme, draw_rare]


def _sample(draw=draw_smooth, n=500, seed=0):
    rng = np.random.default_rng(seed)
    p, y = draw(rng, n)
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], size=n)
    return y.astype(int), p, weight


def _fill(new, rows, y, p, weight=None):
    """An accumulator with the given groups of rows, one update each."""
    accumulator = new()
    for group in rows:
        part = None if weight is None else weight[group]
        accumulator.update(y[group], p[group], sample_weight=part)
    return accumulator


# Equal to the one-shot functions ------------------------------------------------------


@every_pair
@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("weighted", [False, True])
def test_batches_equal_one_shot(pair, draw, weighted):
    new, measure = PAIRS[pair]
    for n, seed in ((10, 0), (5000, 1)):
        y, p, weight = _sample(draw, n, seed)
        weight = weight + 0.25 if weighted else None
        groups = np.array_split(np.arange(n), 3)
        accumulator = _fill(new, groups, y, p, weight)
        assert accumulator.compute() == pytest.approx(
            measure(y, p, sample_weight=weight), abs=TOLERANCE
        )
        assert accumulator.n_samples_ == n


@pytest.mark.parametrize("pair", ["smooth", "binned"])
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_any_batching_order_and_merging(pair, data):
    new, measure = PAIRS[pair]
    n = data.draw(st.integers(2, 30))
    y, p, weight = _sample(data.draw(st.sampled_from(DRAWS)), n)
    weight[0] = 1.0
    order = np.array(data.draw(st.permutations(range(n))))
    cuts = sorted(data.draw(st.lists(st.integers(1, n - 1), max_size=4, unique=True)))
    groups = np.split(order, cuts)
    expected = pytest.approx(measure(y, p, sample_weight=weight), abs=TOLERANCE)

    assert _fill(new, groups, y, p, weight).compute() == expected
    parts = [_fill(new, [group], y, p, weight) for group in groups]
    assert reduce(lambda a, b: a.merge(b), parts).compute() == expected


@every_pair
def test_merge_is_commutative_and_associative(pair):
    new, _ = PAIRS[pair]
    y, p, weight = _sample()
    thirds = np.array_split(np.arange(len(y)), 3)

    def part(k):
        return _fill(new, [thirds[k]], y, p, weight)

    values = [
        part(0).merge(part(1)).merge(part(2)).compute(),
        part(2).merge(part(0)).merge(part(1)).compute(),
        part(0).merge(part(1).merge(part(2))).compute(),
        new().merge(part(0)).merge(new()).merge(part(2).merge(part(1))).compute(),
    ]
    assert np.ptp(values) < 1e-12


@main_pairs
def test_merge_leaves_the_other_alone(pair):
    new, _ = PAIRS[pair]
    y, p, _ = _sample()
    first, second = (_fill(new, [rows], y, p) for rows in (slice(200), slice(200, 500)))
    before = second.compute()
    fresh = new().merge(second)
    fresh.update(y[:50], p[:50])
    assert first.merge(second) is first
    assert first.n_samples_ == 500
    # No state is shared: filling the merged ones does not fill the source.
    assert second.compute() == before
    assert second.n_samples_ == 300


@main_pairs
def test_merge_with_itself_doubles_every_row(pair):
    new, measure = PAIRS[pair]
    y, p, weight = _sample()
    accumulator = _fill(new, [slice(None)], y, p, weight)
    accumulator.merge(accumulator)
    assert accumulator.compute() == pytest.approx(
        measure(y, p, sample_weight=2 * weight), abs=TOLERANCE
    )
    assert accumulator.n_samples_ == 1000


@main_pairs
def test_compute_does_not_end_the_stream(pair):
    new, measure = PAIRS[pair]
    y, p, _ = _sample()
    accumulator = new()
    for stop in (100, 300, 500):
        rows = slice(accumulator.n_samples_, stop)
        accumulator.update(y[rows], p[rows])
        for _ in range(2):
            assert accumulator.compute() == pytest.approx(
                measure(y[:stop], p[:stop]), abs=TOLERANCE
            )


@main_pairs
@pytest.mark.parametrize("multiclass", ["confidence", "classwise"])
def test_multiclass_with_batches_that_lack_classes(pair, multiclass):
    new, measure = PAIRS[pair]
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([0.5, 1, 2], size=300)
    y = np.array(["a", "b", "c"])[[rng.choice(3, p=q) for q in proba]]
    options = {"labels": ["a", "b", "c"], "multiclass": multiclass}
    # Sorted by label: the first and last batches hold one class only.
    groups = np.array_split(np.argsort(y), 20)
    accumulator = _fill(partial(new, **options), groups, y, proba)
    assert accumulator.compute() == pytest.approx(
        measure(y, proba, **options), abs=TOLERANCE
    )


@main_pairs
@pytest.mark.parametrize(
    "options",
    [{"pos_label": "yes"}, {"labels": ["no", "yes"]}, {"pos_label": "no"}],
    ids=str,
)
def test_string_labels(pair, options):
    new, measure = PAIRS[pair]
    y, p, _ = _sample()
    names = np.where(y == 1, "yes", "no")
    groups = np.array_split(np.argsort(y, kind="stable"), 10)
    assert _fill(partial(new, **options), groups, names, p).compute() == pytest.approx(
        measure(names, p, **options), abs=TOLERANCE
    )


@main_pairs
def test_batches_of_any_container_and_shape(pair):
    new, measure = PAIRS[pair]
    y, p, _ = _sample(n=90)
    accumulator = new()
    accumulator.update(y[:30].tolist(), p[:30].tolist())
    accumulator.update(y[30:60].astype(bool), np.column_stack([1 - p, p])[30:60])
    accumulator.update(y[60:].astype(float), p[60:, np.newaxis])
    assert accumulator.compute() == pytest.approx(measure(y, p), abs=TOLERANCE)


@pytest.mark.parametrize("seed", range(4))
def test_random_merge_trees_near_the_limits_of_the_grid(seed):
    """Errors of 1e-4 to 1e-3, where one-shot needs finer grids than it starts with."""
    rng = np.random.default_rng(seed)
    n = [1000, 20_000, 200_000, 400_000][seed]
    p = rng.beta(2, 600, size=n)
    y = rng.uniform(size=n) < p
    parts = [
        _fill(SmoothECEAccumulator, [rows], y, p)
        for rows in np.array_split(rng.permutation(n), 4)
    ]
    value = parts[0].merge(parts[1]).merge(parts[2].merge(parts[3])).compute()
    assert value == pytest.approx(smooth_ece(y, p), abs=TOLERANCE)


@pytest.mark.parametrize("end", [0.0, 1.0])
@pytest.mark.parametrize("mirrored", [False, True])
def test_a_row_at_infinity_beside_a_narrow_well_calibrated_sample(end, mirrored):
    """On a logit grid around the other rows, a place for 0 and 1 need not exist."""
    p = np.r_[end, np.linspace(0.60, 0.61, 40_000)]
    y = np.r_[end == 1, np.arange(40_000) % 5 < 3]
    if mirrored:
        p, y = 1 - p, ~y
    accumulator = SmoothECEAccumulator(scale="logit").update(y, p)
    for order in (slice(None), slice(None, None, -1)):
        assert smooth_ece(y[order], p[order], scale="logit") == pytest.approx(
            accumulator.compute(), abs=TOLERANCE
        )


@pytest.mark.parametrize(
    ("scale", "a", "b"), [("logit", 0.3, 500), ("linear", 0.02, 3500)]
)
def test_an_error_below_the_grids_resolution_is_not_wrong_in_silence(scale, a, b):
    """Calibrated forecasts of rare events: the true value is up to a quarter higher."""
    rng = np.random.default_rng(0)
    p = rng.beta(a, b, size=400_000)
    y = rng.uniform(size=400_000) < p
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        streamed = SmoothECEAccumulator(scale=scale).update(y, p).compute()
    expected = smooth_ece(y, p, scale=scale)
    assert caught or streamed == pytest.approx(expected, rel=1e-6)


def test_well_calibrated_large_stream():
    """Two million calibrated rows; the null error falls with the cube root of n."""
    rng = np.random.default_rng(0)
    smooth, binned = SmoothECEAccumulator(), BinnedECEAccumulator()
    kept = []
    for _ in range(20):
        p = rng.uniform(size=100_000)
        y = rng.uniform(size=100_000) < p
        smooth.update(y, p)
        binned.update(y, p)
        kept.append((y, p))
    y, p = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    assert smooth.n_samples_ == 2_000_000
    assert smooth.compute() == pytest.approx(smooth_ece(y, p), abs=TOLERANCE)
    assert binned.compute() == pytest.approx(binned_ece(y, p), abs=TOLERANCE)
    assert smooth.compute() == pytest.approx(0.28 * 2_000_000 ** (-1 / 3), rel=0.5)


# Zero weights and no data -------------------------------------------------------------


@every_pair
def test_batch_of_zero_weight_changes_nothing(pair):
    new, measure = PAIRS[pair]
    y, p, _ = _sample()
    accumulator = new()
    accumulator.update(y[:50], 1 - p[:50], sample_weight=np.zeros(50))
    accumulator.update(y, p)
    accumulator.update(y[:50], 1 - p[:50], sample_weight=np.zeros(50))
    assert accumulator.compute() == pytest.approx(measure(y, p), abs=TOLERANCE)


@both_classes
def test_nothing_to_compute(new):
    accumulator = new()
    with pytest.raises(ValueError, match=r"positive weight.*call update"):
        accumulator.compute()
    accumulator.update([0, 1], [0.25, 0.75], sample_weight=[0, 0])
    with pytest.raises(ValueError, match="positive weight"):
        accumulator.compute()
    with pytest.raises(ValueError, match="positive weight"):
        new().merge(new()).compute()


@both_classes
def test_empty_batch_is_refused(new):
    with pytest.raises(ValueError, match="empty"):
        new().update([], [])


# Failures -----------------------------------------------------------------------------

BAD_BATCHES = {
    "NaN": ([0, 1], [0.5, np.nan]),
    "range": ([0, 1], [0.5, 1.5]),
    "length": ([0, 1, 1], [0.5, 0.5]),
    "labels": (["a", "b"], [0.5, 0.5]),
    "columns": ([0, 1, 2], np.full((3, 3), 1 / 3)),
    "weights": ([0, 1], [0.5, 0.5], [1, -1]),
    "short-weights": ([0, 1], [0.5, 0.5], [1]),
    "empty": ([], []),
}


@main_pairs
@pytest.mark.parametrize("bad", BAD_BATCHES)
def test_failed_update_leaves_the_state_unchanged(pair, bad):
    new, _ = PAIRS[pair]
    y, p, _ = _sample()
    accumulator = _fill(new, [slice(None)], y, p)
    before, state = accumulator.compute(), pickle.dumps(accumulator)
    with pytest.raises(ValueError, match=r"\w"):
        accumulator.update(*BAD_BATCHES[bad])
    assert accumulator.compute() == before
    assert pickle.dumps(accumulator) == state
    accumulator.update(y, p)
    assert accumulator.n_samples_ == 1000


@both_classes
@pytest.mark.parametrize("bad", ["NaN", "length", "empty"])
def test_failed_first_update_does_not_fix_the_number_of_classes(new, bad):
    accumulator = new()
    with pytest.raises(ValueError, match=r"\w"):
        accumulator.update(*BAD_BATCHES[bad])
    accumulator.update([0, 1, 2], np.full((3, 3), 1 / 3))
    assert accumulator.n_samples_ == 3


@both_classes
@pytest.mark.parametrize(
    ("first", "second"),
    [
        # Alone, 1 is the positive class of {0, 1}; after {1, 2} it is the negative one.
        (([1, 2, 2], [0.5, 0.25, 0.75]), ([1, 1, 1], [0.5, 0.25, 0.75])),
        ((["no", "yes", "no"], [0.5, 0.25, 0.75]), (["no", "maybe"], [0.5, 0.25])),
        (([0, 1, 1], [0.5, 0.25, 0.75]), ([1, 2, 2], [0.5, 0.25, 0.75])),
    ],
    ids=["1/2-then-1", "no/yes-then-no/maybe", "0/1-then-1/2"],
)
def test_batches_of_other_classes_are_refused(new, first, second):
    """Columns whose classes are read off each batch must not change their meaning."""

    def columns(batch):
        y, p = np.array(batch[0]), np.array(batch[1])
        return y, np.column_stack([1 - p, p])

    accumulator = new().update(*columns(first))
    before = accumulator.compute()
    with pytest.raises(ValueError, match=r"class|label"):
        accumulator.update(*columns(second))
    assert accumulator.compute() == before
    with pytest.raises(ValueError, match=r"class|label"):
        accumulator.merge(new().update(*columns(second)))
    assert accumulator.compute() == before


@both_classes
@pytest.mark.parametrize(
    "batches",
    [([-1, 1], [1, 1]), ([1, 1], [-1, 1]), ([-1, -1], [1, 1]), ([True, True], [0, 1])],
    ids=str,
)
def test_batches_of_one_class_that_fit_the_others(new, batches):
    """In {0, 1} and in {-1, 1} alike 1 is positive, so a batch of ones fits both."""
    p = np.array([0.25, 0.75])
    streamed = new()
    for batch in batches:
        streamed.update(batch, p)
    merged = new().update(batches[0], p).merge(new().update(batches[1], p))
    expected = new().update(np.concatenate(batches) > 0, np.r_[p, p]).compute()
    assert streamed.compute() == pytest.approx(expected, abs=1e-12)
    assert merged.compute() == pytest.approx(expected, abs=1e-12)


@both_classes
@pytest.mark.parametrize("labels", [[0, "1"], ["a", float("nan")], ["b", "a"], 5])
def test_invalid_labels_are_not_made_valid_by_storing_them(new, labels):
    y = [str(label) for label in labels] if isinstance(labels, list) else [0, 1]
    with pytest.raises(ValueError, match="labels"):
        new(labels=labels).update(y, [0.25, 0.75])


@both_classes
@pytest.mark.parametrize("multiclass", ["confidence", "classwise"])
def test_batches_of_three_other_classes_are_refused(new, multiclass):
    proba = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]])
    accumulator = new(multiclass=multiclass).update([0, 1, 2], proba)
    with pytest.raises(ValueError, match=r"class|label"):
        accumulator.update([1, 2, 3], proba)
    with pytest.raises(ValueError, match=r"class|label"):
        accumulator.merge(new(multiclass=multiclass).update(["a", "b", "c"], proba))


@both_classes
@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ({}, {"pos_label": 0}),
        ({"labels": [0, 1]}, {"labels": [1, 2]}),
        ({"multiclass": "confidence"}, {"multiclass": "classwise"}),
    ],
    ids=["pos_label", "labels", "multiclass"],
)
def test_merge_of_other_configurations(new, mine, theirs):
    with pytest.raises(ValueError, match="configuration"):
        new(**mine).merge(new(**theirs))


@pytest.mark.parametrize(
    ("what", "mine", "theirs"),
    [
        ("scale", SmoothECEAccumulator(), SmoothECEAccumulator(scale="logit")),
        ("bandwidth", SmoothECEAccumulator(), SmoothECEAccumulator(bandwidth=0.1)),
        ("n_cells", SmoothECEAccumulator(), SmoothECEAccumulator(n_cells=1024)),
        ("n_bins", BinnedECEAccumulator(), BinnedECEAccumulator(n_bins=10)),
        ("norm", BinnedECEAccumulator(), BinnedECEAccumulator(norm="max")),
        (
            "debias",
            BinnedECEAccumulator(norm="l2"),
            BinnedECEAccumulator(norm="l2", debias=True),
        ),
    ],
    ids=["scale", "bandwidth", "n_cells", "n_bins", "norm", "debias"],
)
def test_merge_of_other_parameters(what, mine, theirs):
    for accumulator in (mine, theirs):
        accumulator.update([0, 1], [0.25, 0.75])
    before = mine.compute()
    with pytest.raises(
        ValueError, match=f"configuration.*{what}=.* into {what}=.*same"
    ):
        mine.merge(theirs)
    assert mine.compute() == before


@both_classes
def test_labels_of_another_container_are_the_same_configuration(new):
    first = new(labels=[0, 1]).update([0], [0.25])
    assert first.merge(new(labels=np.array([0, 1])).update([1], [0.75])).n_samples_ == 2


@both_classes
@pytest.mark.parametrize("other", [None, 3, "word"])
def test_merge_with_something_else(new, other):
    with pytest.raises(ValueError, match=f"another {new.__name__}"):
        new().merge(other)


def test_merge_of_the_two_classes():
    with pytest.raises(ValueError, match="another SmoothECEAccumulator"):
        SmoothECEAccumulator().merge(BinnedECEAccumulator())


@both_classes
def test_merge_of_another_number_of_classes(new):
    two = new().update([0, 1], [0.25, 0.75])
    three = new().update([0, 1, 2], np.full((3, 3), 1 / 3))
    before = two.compute()
    with pytest.raises(ValueError, match="number of classes"):
        two.merge(three)
    assert two.compute() == before
    assert two.n_samples_ == 2


@both_classes
def test_another_number_of_columns_says_what_came_before(new):
    accumulator = new().update([0, 1, 2], np.full((3, 3), 1 / 3))
    with pytest.raises(ValueError, match=r"1 probability column.*had 3"):
        accumulator.update([0, 1], [0.25, 0.75])


@pytest.mark.parametrize(
    ("new", "parameters", "message"),
    [
        (SmoothECEAccumulator, {"scale": "log"}, "scale must be one of.*'log'"),
        (SmoothECEAccumulator, {"bandwidth": 0}, "bandwidth=0"),
        (SmoothECEAccumulator, {"bandwidth": -1.0}, "bandwidth=-1.0"),
        (SmoothECEAccumulator, {"bandwidth": np.nan}, "bandwidth=nan"),
        (SmoothECEAccumulator, {"bandwidth": np.inf}, "bandwidth=inf"),
        (SmoothECEAccumulator, {"bandwidth": 1e-9}, "at least.*n_cells=65536"),
        (SmoothECEAccumulator, {"bandwidth": "wide"}, "bandwidth='wide'"),
        (SmoothECEAccumulator, {"n_cells": 0}, "n_cells"),
        (SmoothECEAccumulator, {"n_cells": 10.5}, "n_cells"),
        (SmoothECEAccumulator, {"n_cells": "many"}, "n_cells"),
        (SmoothECEAccumulator, {"multiclass": "top"}, "multiclass.*'top'"),
        (BinnedECEAccumulator, {"multiclass": "top"}, "multiclass.*'top'"),
        (BinnedECEAccumulator, {"n_bins": 0}, "n_bins"),
        (BinnedECEAccumulator, {"n_bins": 2.5}, "n_bins"),
        (BinnedECEAccumulator, {"n_bins": "sqrt"}, "n_bins.*'sqrt'"),
        (BinnedECEAccumulator, {"norm": "l3"}, "norm must be one of.*'l3'"),
        (BinnedECEAccumulator, {"debias": True}, "norm='l2'"),
    ],
)
def test_invalid_parameters(new, parameters, message):
    with pytest.raises(ValueError, match=message):
        new(**parameters)


# State --------------------------------------------------------------------------------


@every_pair
def test_pickles_continue_the_stream(pair):
    new, measure = PAIRS[pair]
    y, p, weight = _sample()
    first = _fill(new, [slice(250)], y, p, weight)
    copy = pickle.loads(pickle.dumps(first))
    assert copy.compute() == first.compute()
    copy.update(y[250:], p[250:], sample_weight=weight[250:])
    assert copy.compute() == pytest.approx(
        measure(y, p, sample_weight=weight), abs=TOLERANCE
    )
    assert first.n_samples_ == 250
    # Results from another process merge with those of this one.
    assert first.merge(copy).n_samples_ == 750


@pytest.mark.parametrize("pair", ["smooth", "smooth-logit", "binned"])
def test_size_does_not_grow_with_n(pair):
    new, _ = PAIRS[pair]
    sizes = []
    for n in (10, 1000, 100_000):
        y, p, _ = _sample(n=n)
        sizes.append(len(pickle.dumps(_fill(new, [slice(None)], y, p))))
    # A few bytes of a larger counter.
    assert max(sizes) - min(sizes) < 64


@both_classes
def test_arguments_are_not_kept_or_modified(new):
    y, p, weight = _sample(n=50)
    originals = [a.copy() for a in (y, p, weight)]
    accumulator = new().update(y, p, sample_weight=weight)
    before = accumulator.compute()
    for array, original in zip((y, p, weight), originals, strict=True):
        np.testing.assert_array_equal(array, original)
        array[:] = 0
    assert accumulator.compute() == before


@both_classes
def test_changing_the_list_of_labels_afterwards_changes_nothing(new):
    labels = ["no", "yes"]
    accumulator = new(labels=labels).update(["no"], [0.25])
    labels[:] = ["yes", "zebra"]
    accumulator.update(["no"], [0.25])
    assert accumulator.compute() == pytest.approx(0.25)


@both_classes
def test_update_and_merge_return_the_accumulator(new):
    accumulator = new()
    assert accumulator.update([0, 1], [0.25, 0.75]) is accumulator
    assert accumulator.merge(new()) is accumulator
    assert type(accumulator.compute()) is float
    assert repr(accumulator) == f"{new.__name__}(n_samples=2)"
