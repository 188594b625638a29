import numpy as np
import pytest

from incprof.systems.heartbeats.history import QUANTILES, limit, quantiles, slow_segments
from tests.unit.beatmaker import series


def found(counts, means, limit_s=1.5, interval_s=1.0, **more):
    return slow_segments(1, "s", series(counts, np.asarray(means), interval_s=interval_s, **more), limit_s, interval_s)


def spans(slow):
    return [(segment.start_s, segment.end_s, segment.intervals) for segment in slow.segments]


def test_slow_intervals_are_merged_over_one_that_is_not():
    slow = found([1] * 10, [1, 1, 2, 2, 1, 2, 1, 1, 2, 1])
    assert spans(slow) == [(2, 6, 3), (8, 9, 1)]
    assert (slow.slow, slow.intervals) == (4, 10)
    assert slow.segments[0].mean_s == pytest.approx(2)


def test_intervals_in_which_no_beat_ended_part_nothing():
    slow = found([1, 1, 0, 0, 0, 1, 1], [1, 2, 9, 9, 9, 3, 1], opens=[0, 0, 1, 1, 1, 0, 0])
    assert spans(slow) == [(1, 6, 2)]
    assert slow.intervals == 4


def test_the_mean_is_that_of_the_beats():
    (segment,) = found([9, 1], [2, 4]).segments
    assert segment.mean_s == pytest.approx((9 * 2 + 4) / 10)


def test_nothing_is_slow():
    slow = found([1] * 5, [1] * 5)
    assert (slow.slow, slow.segments, slow.notable) == (0, (), False)
    assert found([0] * 5, [1] * 5).intervals == 0


def test_the_scattered_hundredth_is_not_notable_and_a_segment_is():
    means = np.ones(600)
    means[[10, 110, 210, 310, 410, 510]] = 2
    assert not found([1] * 600, means).notable
    means[11] = 2
    assert found([1] * 600, means).notable


def test_quantiles_of_the_intervals_with_beats():
    spread = quantiles(series([1, 0, 1, 1], np.array([1.0, 9.0, 3.0, 2.0])))
    assert spread.tolist() == pytest.approx(np.quantile([1, 2, 3], QUANTILES).tolist())
    assert np.isnan(quantiles(series([0, 0], 1.0))).all()


def test_a_poor_run_does_not_raise_the_limit():
    assert limit([1.0, 1.1, 0.9, 7.0, 1.0]) == 1.0
