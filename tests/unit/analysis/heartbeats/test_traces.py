from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.analysis.heartbeats.summaries import begins, busiest, trace
from tests.unit.beatmaker import beat

NONE = float("nan")


def same(found, expected):
    np.testing.assert_allclose(found, expected)


def test_values_are_those_of_the_intervals():
    found = trace(beat(1, "s", [2, 0, 4], [0.1, NONE, 0.2]), 1.0)
    same(found.begin_s, [0, 1, 2])
    same(found.end_s, [1, 2, 3])
    same(found.count.middle, [2, NONE, 4])
    same(found.duration_s.middle, [0.1, NONE, 0.2])
    assert np.isnan(found.count.progress).all()


def test_a_long_beat_leaves_no_gap():
    found = trace(beat(1, "s", [1, 0, 0, 1, 1], [0.5, NONE, NONE, 2.4, 0.5], opens=[1, 1, 1, 0, 0]), 1.0)
    same(found.count.progress, [NONE, 1, 1, NONE, NONE])
    same(found.duration_s.progress, [NONE, 2.4, 2.4, NONE, NONE])
    shown = [a if np.isnan(b) else b for a, b in zip(found.duration_s.progress, found.duration_s.middle, strict=True)]
    assert not np.isnan(shown).any()


def test_a_beat_without_an_end_lasts_to_its_last_observation():
    found = trace(replace(beat(1, "s", [1, 0, 0, 0], [0.5] * 4, opens=[1] * 4), open_s=3.2), 1.0)
    same(found.duration_s.progress, [NONE, 3.2, 3.2, 3.2])
    dropped = trace(beat(1, "s", [1, 0, 0, 0, 0, 1], [0.5] * 6, opens=[1, 1, 1, 0, 0, 0]), 1.0)
    same(dropped.duration_s.progress, [NONE, 2, 2, NONE, NONE, NONE])


def test_a_long_beat_that_ends_among_short_ones_is_not_as_short_as_they():
    found = trace(beat(1, "s", [1, 0, 0, 0, 100], [0.5, NONE, NONE, NONE, 0.01], opens=[1, 1, 1, 1, 0]), 1.0)
    same(found.duration_s.progress, [NONE, 2, 2, 2, NONE])


def test_pulses_are_counted_where_there_is_nothing_else():
    found = trace(beat(1, "s", [0, 0], pulses=[3, 0]), 1.0)
    same(found.count.middle, [3, NONE])
    assert np.isnan(found.duration_s.middle).all()


def test_cells_that_are_left_out_are_a_gap():
    same(begins(np.array([1.0, 2.0, 5.0, 5.4]), 1.0), [0, 1, 4, 5])
    assert len(begins(np.zeros(0), 1.0)) == 0


@given(st.lists(st.integers(0, 9), min_size=1, max_size=300), st.integers(1, 50))
def test_bins_hold_the_extremes_of_what_is_in_them(counts, bins):
    found = trace(beat(1, "s", counts, np.arange(1, len(counts) + 1) / 1e3), 1.0, bins)
    n = min(bins, len(counts))
    assert len(found.begin_s) == len(found.count.low) == n
    assert found.end_s[-1] == len(counts)
    same(found.begin_s[1:], found.end_s[:-1])
    for at in range(n):
        inside = np.array(counts[round(found.begin_s[at]) : round(found.end_s[at])])
        inside = inside[inside > 0]
        expected = (inside.min(), inside.max(), inside.mean()) if inside.size else (NONE, NONE, NONE)
        same([found.count.low[at], found.count.high[at], found.count.middle[at]], expected)


def test_progress_shows_in_a_bin_in_which_nothing_ended():
    counts, opens = [1, 1, 0, 0, 0, 0, 1, 1], [0, 1, 1, 1, 1, 1, 0, 0]
    found = trace(beat(1, "s", counts, [0.1, 0.1, NONE, NONE, NONE, NONE, 4.5, 0.1], opens=opens), 1.0, bins=4)
    same(found.count.progress, [NONE, 1, 1, NONE])
    same(found.duration_s.progress, [NONE, 4.5, 4.5, NONE])
    same(found.duration_s.high, [0.1, NONE, NONE, 4.5])


def test_the_foremost_take_most_time():
    beats = [beat(i, None, [1], 0.01 * (i % 5)) for i in range(1, 12)]
    shown, others = busiest(beats, 3)
    assert ([b.id for b in shown], others) == ([4, 9, 3], 8)
    assert busiest([beat(1), beat(2, None, [1])])[1] == 0


def test_nothing_there():
    found = trace(beat(1), 1.0)
    assert len(found.begin_s) == len(found.count.middle) == 0
    assert busiest([]) == ([], 0)


def test_a_second_of_an_hour_is_not_lost():
    means = np.full(3600, 1e-3)
    means[1234] = 1.0
    found = trace(beat(1, None, [10] * 3600, means), 1.0)
    assert len(found.begin_s) == 500
    assert found.duration_s.high.max() == pytest.approx(1.0)
