"""Patterns while samples arrive, and of several nodes."""

import numpy as np
import pytest

from incprof.systems.periods.analyse import FIRST, PatternStream
from incprof.systems.periods.pattern_result import PatternOptions
from incprof.systems.periods.pattern_uses import agreements, mean_step, rotated
from incprof.systems.periods.phase_ta import find_patterns
from tests.unit.dtw_reference import by_definition
from tests.unit.made_series import SHAPES, instance, profile, shape


def test_a_stream_ends_with_the_answer_of_the_whole_series():
    truth = profile(12_000, SHAPES["NEMO"], seed=1)
    stream = PatternStream()
    counts = []
    for at in range(0, len(truth.values), 500):
        if stream.feed(truth.values[at : at + 500]):
            counts.append(stream.result.instances)
    assert counts
    assert max(counts) > counts[0]
    final, whole = stream.search(), find_patterns(truth.values)
    assert final.summary == whole.summary
    assert final.patterns[0].instances.tolist() == whole.patterns[0].instances.tolist()


def test_instances_join_between_searches():
    draw = np.random.default_rng(2)
    pattern = shape(100, draw)
    series = np.concatenate([instance(pattern, 0.0, draw) for _ in range(40)]) + 0.01 * draw.standard_normal(4000)
    stream = PatternStream()
    stream.feed(series[: FIRST + 6])
    before = stream.result.patterns[0]
    assert stream.feed(series[FIRST + 6 : FIRST + 306])
    after = stream.result.patterns[0]
    assert len(after.instances) == len(before.instances) + 3
    assert len(after.regions) == len(before.regions) == 1
    assert after.wgss > before.wgss
    assert not np.array_equal(after.values, before.values)
    np.testing.assert_allclose(after.values, before.values, atol=0.05)


def test_what_is_unlike_does_not_join():
    draw = np.random.default_rng(3)
    series = np.tile(shape(100, draw), 30) + 0.01 * draw.standard_normal(3000)
    stream = PatternStream()
    stream.feed(series[: FIRST + 6])
    before = stream.result.instances
    assert not stream.feed(draw.uniform(0, 1, 300))
    assert stream.result.instances == before


def test_memory_is_bounded_and_positions_count_from_the_beginning():
    draw = np.random.default_rng(4)
    series = np.tile(shape(50, draw), 200) + 0.01 * draw.standard_normal(10_000)
    stream = PatternStream(PatternOptions(), memory=3000)
    for at in range(0, 10_000, 1000):
        stream.feed(series[at : at + 1000])
    assert stream.samples == 10_000
    instances = stream.search().patterns[0].instances
    assert instances.min() >= 7000
    assert instances.max() <= 10_000
    assert stream.result.coverage <= 1


def test_a_bad_value_takes_nothing_with_it():
    stream = PatternStream()
    with pytest.raises(ValueError, match="finite"):
        stream.feed(np.array([1.0, np.nan]))
    assert stream.samples == 0


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 4), (6, 1), (7, 5), (30, 41)])
def test_the_mean_step_of_an_alignment(rows, columns):
    draw = np.random.default_rng(rows)
    a, b = draw.random(rows), draw.random(columns)
    pairs = by_definition(a, b) / mean_step(a, b)
    assert pairs == pytest.approx(round(pairs))
    assert max(rows, columns) <= round(pairs) <= rows + columns - 1
    assert mean_step(a, a) == 0


def node(seed, pattern, noise=0.01):
    draw = np.random.default_rng(seed)
    lead = draw.uniform(0.3, 1.0, int(draw.integers(5, 200)))
    pieces = [lead, *(instance(pattern, 0.0, draw) for _ in range(40))]
    series = np.concatenate(pieces)
    return find_patterns(series + noise * draw.standard_normal(len(series)))


def test_nodes_of_one_run_agree_within_one_percent_and_others_do_not():
    pattern, other = shape(120, np.random.default_rng(5)), shape(120, np.random.default_rng(6))
    pairs = agreements([node(1, pattern), node(2, pattern), find_patterns(np.zeros(50)), node(3, other)])
    assert [(pair.first, pair.second, pair.same) for pair in pairs] == [(0, 1, True), (0, 3, False), (1, 3, False)]


@pytest.mark.slow
@pytest.mark.parametrize(("length", "turn"), [(120, 7), (117, -50), (124, 0)])
def test_a_pattern_is_turned_to_where_warping_is_cheapest(length, turn):
    draw = np.random.default_rng(7)
    one = shape(120, draw)
    other = np.roll(np.interp(np.linspace(0, 119, length), np.arange(120), one), turn)
    best = min(by_definition(one, np.roll(other, -by)) for by in range(length))
    assert by_definition(one, rotated(one, other)) == pytest.approx(best)
