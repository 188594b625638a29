"""Time warping and its averages: the kernels against the definition, and against dtaidistance."""

from itertools import pairwise

import numpy as np
import pytest
from dtaidistance import dtw as peer
from dtaidistance import dtw_barycenter as peer_barycenter
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.systems.periods import dtw
from incprof.systems.periods.dtw import average, fast_step, medoid, wgss
from incprof.systems.periods.pattern_result import PatternOptions
from tests.unit.dtw_reference import by_definition, plain_step

VALUES = st.floats(-1e6, 1e6, allow_subnormal=False) | st.sampled_from([0.0, 1.0, -1.0])
SERIES = st.lists(VALUES, min_size=1, max_size=12).map(lambda values: np.array(values, dtype=float))


def some(seed, count=40, longest=30):
    draw = np.random.default_rng(seed)
    return [draw.standard_normal(int(length)) for length in draw.integers(1, longest, count)]


@given(st.lists(SERIES, min_size=2, max_size=6), st.booleans())
@settings(max_examples=150, deadline=None)
def test_distances_are_those_of_the_definition(series, squared):
    packed = dtw.pack(series)
    left, right = np.triu_indices(len(series))
    expected = [by_definition(series[i], series[j], squared=squared) for i, j in zip(left, right, strict=True)]
    got = dtw.distances(packed, left, right, squared=squared)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-9)
    assert (dtw.bounds(packed, left, right, squared=squared) <= np.array(expected) * (1 + 1e-12) + 1e-9).all()


@pytest.mark.parametrize("count", [2, 8, 9, 33, 65])
def test_batches_of_any_size_and_threads_give_the_same_bytes(count):
    packed = dtw.pack(some(count, count, 50))
    one = dtw.matrix(packed, threads=1)
    assert one.tobytes() == dtw.matrix(packed, threads=3).tobytes()
    alone = [
        dtw.distances(packed, np.array([i]), np.array([j]))[0] for i, j in zip(*np.triu_indices(count, 1), strict=True)
    ]
    assert one.tolist() == alone


def bent(seed, count=20):
    """Series of one shape with different lengths and noises: narrow bands hold some of the best alignments only."""
    draw = np.random.default_rng(seed)
    shape = np.cumsum(draw.standard_normal(100))
    lengths = draw.integers(60, 160, count).tolist()
    where = (np.sort(draw.uniform(0, 99, length)) for length in lengths)
    return [np.interp(at, np.arange(100), shape) + draw.uniform(0, 2) * draw.standard_normal(len(at)) for at in where]


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_columns_that_are_left_out_change_no_distance_and_no_average(seed, squared):
    series = bent(seed, 20 if seed else 8)
    packed = dtw.pack(series)
    left, right = np.triu_indices(len(series), 1)
    expected = [by_definition(series[i], series[j], squared=squared) for i, j in zip(left, right, strict=True)]
    np.testing.assert_allclose(dtw.distances(packed, left, right, squared=squared), expected, rtol=1e-12)
    fast, slow = fast_step(packed, series[0]), plain_step(packed, series[0])
    np.testing.assert_allclose(fast[0], slow[0], rtol=1e-12)
    np.testing.assert_allclose(fast[1], slow[1], rtol=1e-12)


def test_a_limit_leaves_what_lies_within_it_alone():
    packed = dtw.pack([one + (5 if number % 2 else 0) for number, one in enumerate(some(1, 60, 90))])
    left, right = np.triu_indices(60, 1)
    full = dtw.distances(packed, left, right)
    limit = float(np.median(full))
    cut = dtw.distances(packed, left, right, limit=limit)
    assert (cut[full <= limit] == full[full <= limit]).all()
    assert (cut[full > limit] > limit).all()
    assert np.isinf(cut).any()
    alike = dtw.pack(some(1, 60, 90))
    given_up = dtw.distances(alike, left, right, limit=3.0)
    assert np.isinf(given_up).sum() > (dtw.bounds(alike, left, right) > 3.0).sum()


def test_the_bound_is_worth_something():
    draw = np.random.default_rng(0)
    packed = dtw.pack([draw.random(100), draw.random(100) + 10])
    zero, one = np.zeros(1, int), np.ones(1, int)
    assert dtw.bounds(packed, zero, one)[0] > 0.8 * dtw.distances(packed, zero, one)[0]


def test_distances_are_those_of_dtaidistance():
    series = some(2, 14, 60)
    packed = dtw.pack(series)
    left, right = np.triu_indices(len(series), 1)
    pairs = list(zip(left.tolist(), right.tolist(), strict=True))
    absolute = [peer.distance(series[i], series[j], inner_dist="euclidean") for i, j in pairs]
    np.testing.assert_allclose(dtw.distances(packed, left, right), absolute, rtol=1e-12)
    square = [peer.distance(series[i], series[j]) ** 2 for i, j in pairs]
    np.testing.assert_allclose(dtw.distances(packed, left, right, squared=True), square, rtol=1e-12)


def test_an_iteration_is_that_of_dtaidistance():
    draw = np.random.default_rng(3)
    series = [np.sin(np.linspace(0, 6, 40 + k)) + 0.1 * draw.standard_normal(40 + k) for k in range(9)]
    theirs = peer_barycenter.dba([np.array(one) for one in series], np.array(series[4]), use_c=False)
    ours, _ = fast_step(dtw.pack(series), series[4])
    np.testing.assert_allclose(ours, theirs, rtol=1e-10)


@given(st.integers(0, 10_000), st.integers(1, 70), st.integers(1, 25))
@settings(max_examples=40, deadline=None)
def test_an_iteration_is_that_of_the_definition(seed, count, points):
    series = some(seed, count, 20)
    pattern = np.random.default_rng(seed + 1).standard_normal(points)
    packed = dtw.pack(series)
    ours, distances = fast_step(packed, pattern, 2)
    plain, expected = plain_step(packed, pattern)
    np.testing.assert_allclose(distances, expected, rtol=1e-10)
    np.testing.assert_allclose(ours, plain, rtol=1e-9, atol=1e-12)
    assert wgss(packed, pattern) == pytest.approx(expected.sum())


def test_equal_costs_take_the_same_way_as_the_definition():
    series = [np.array(values, dtype=float) for values in ([0, 0, 1, 1], [0, 1, 1, 0], [1, 1, 1], [0, 0, 0, 0, 1])]
    pattern = np.array([0.0, 0.0, 1.0, 1.0, 0.0])
    np.testing.assert_array_equal(fast_step(dtw.pack(series), pattern)[0], plain_step(dtw.pack(series), pattern)[0])


def test_long_alignments_are_done_in_blocks():
    draw = np.random.default_rng(4)
    pattern, series = draw.standard_normal(1100).cumsum(), draw.standard_normal(1000).cumsum()
    packed = dtw.pack([series])
    ours, distances = fast_step(packed, pattern)
    plain, expected = plain_step(packed, pattern)
    np.testing.assert_allclose(distances, expected, rtol=1e-9)
    np.testing.assert_allclose(ours, plain, rtol=1e-9)


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_wgss_never_rises(seed):
    packed = dtw.pack(some(seed, 12, 25))
    result = average(packed, packed[seed % 12], PatternOptions(decrease=1e-9, patience=40))
    history = np.array(result.history)
    assert (np.diff(history) <= 1e-12 * history[0]).all()
    assert history[-1] == pytest.approx(wgss(packed, result.values), rel=1e-12)


def test_averaging_stops_as_in_the_paper():
    packed = dtw.pack(some(5, 30, 40))
    start = packed[medoid(packed, PatternOptions())]
    history = average(packed, start, PatternOptions()).history
    slow = [1 - now / before < 0.025 for before, now in pairwise(history)]
    assert len(history) <= 32
    assert slow[-5:] == [True] * 5
    assert [True] * 5 not in [slow[at : at + 5] for at in range(len(slow) - 5)]
    for most in (1, 3):
        assert len(average(packed, start, PatternOptions(iterations=most)).history) == most + 1


def test_threads_do_not_change_a_byte_of_an_average():
    packed = dtw.pack(some(6, 200, 40))
    one, two = (average(packed, packed[0], PatternOptions(threads=n)) for n in (1, 2))
    assert one.values.tobytes() == two.values.tobytes()
    assert one.history == two.history


def test_the_medoid_is_the_nearest_to_all_others():
    series = some(7, 20, 20)
    packed = dtw.pack(series)
    sums = [sum(by_definition(one, other) for other in series) for one in series]
    assert medoid(packed, PatternOptions()) == int(np.argmin(sums))
    assert medoid(packed, PatternOptions(exact=True)) == int(np.argmin(sums))
