"""Summaries of heartbeats against the durations that they were made of."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.analysis.heartbeats import deviation, summarise
from incprof.analysis.heartbeats.summaries import Grid, Span
from tests.unit.ekgfiles import beats

FIELDS = ("process", "interval", "thread", "id", "count", "pulses", "sum_ns", "min_ns", "max_ns", "open", "open_ns",
          "executions", "busy_ns")  # fmt: skip
ROW = np.dtype([*((name, np.int64) for name in FIELDS), ("sumsq_ns2", np.float64)])
MS = 1_000_000


def table(*rows):
    """Rows as summarise takes them: (process, interval, row of `beats`); all time is busy by default."""
    found = np.zeros(len(rows), dtype=ROW)
    for at, (process, interval, row) in enumerate(rows):
        full = {"process": process, "interval": interval, "busy_ns": row["sum_ns"], "executions": 0} | row
        found[at] = tuple(full[name] for name in ROW.names)
    return found


def span(rank=0, intervals=4, *, later_s=0.0, length_s=1.0):
    ends = np.arange(1, intervals + 1) * length_s
    return Span(rank, later_s, ends - length_s, ends)


durations = st.lists(st.integers(1, 10**10), min_size=1, max_size=20)


@settings(deadline=None)
@given(st.lists(durations, min_size=1, max_size=8))
def test_a_heartbeat_is_the_sum_of_its_beats(intervals):
    rows = table(*((0, at, beats(0, 5, each)) for at, each in enumerate(intervals)))
    (found,) = summarise(rows, [span(intervals=len(intervals))], {5: ("solve", 1)})
    every = [duration / 1e9 for each in intervals for duration in each]
    assert (found.id, found.name, found.count, found.pulses) == (5, "solve", len(every), 0)
    assert found.mean_s == pytest.approx(statistics.fmean(every))
    assert (found.min_s, found.max_s) == (min(every), max(every))
    assert found.std_s == pytest.approx(statistics.pstdev(every), abs=1e-6 * max(every))
    assert found.rate_hz == pytest.approx(len(every) / len(intervals))
    assert found.busy_pct == pytest.approx(100 * sum(every) / len(intervals))
    # One entry for each beat: the mean of its interval.
    means = sorted(m for each in intervals for m in [statistics.fmean(each) / 1e9] * len(each))
    assert found.p5_s == pytest.approx(means[math.ceil(0.05 * len(means)) - 1])
    assert found.p95_s == pytest.approx(means[math.ceil(0.95 * len(means)) - 1])
    assert found.series.count.tolist() == [len(each) for each in intervals]
    assert found.series.mean_s.tolist() == pytest.approx([statistics.fmean(each) / 1e9 for each in intervals])


def test_the_deviation_of_nearly_equal_beats_is_not_rounding():
    """Squares of 1e10 ns have 20 digits, a double has 16: the remainder is noise."""
    base = 10**10
    rows = table(*((0, at, beats(0, 1, [base + at] * 1000)) for at in range(3)))
    assert deviation(rows) == pytest.approx(statistics.pstdev([0, 1, 2]) / 1e9)
    assert deviation(table((0, 0, beats(0, 1, [base] * 7)))) == 0.0
    wrong = table((0, 0, beats(0, 1, [10, 20]) | {"sumsq_ns2": 1e30}))
    assert deviation(wrong) == pytest.approx(5e-9)


def test_two_ranks_with_two_threads():
    rows = table(
        (0, 0, beats(0, 1, [300 * MS])), (0, 0, beats(1, 1, [100 * MS])), (0, 1, beats(0, 1, [300 * MS])),
        (1, 0, beats(0, 1, [200 * MS])),
    )  # fmt: skip
    (found,) = summarise(rows, [span(0, 2), span(1, 2)], {})
    assert (found.ranks, found.threads, found.count, found.name, found.rate_factor) == (2, 3, 4, None, 1)
    assert found.rate_hz == pytest.approx(1.0)  # 4 in 2 s of each of 2 ranks
    assert found.busy_pct == pytest.approx(100 * 0.9 / 4)
    assert found.imbalance_ranks == pytest.approx(0.7 / 0.45 - 1)
    assert found.imbalance_threads == pytest.approx(0.6 / 0.3 - 1)
    assert found.series.busy_pct.tolist() == pytest.approx([30.0, 15.0])


def test_a_rank_without_the_heartbeat_counts_for_the_ranks_but_not_for_the_threads():
    (found,) = summarise(table((0, 0, beats(0, 1, [300 * MS]))), [span(0, 1), span(1, 1), span(2, 1)], {})
    assert found.imbalance_ranks == pytest.approx(2.0)
    assert found.imbalance_threads == 0.0
    assert (found.ranks, found.rate_hz, found.busy_pct) == (1, pytest.approx(1 / 3), pytest.approx(10.0))


def test_a_forked_child_adds_beats_to_its_rank_but_no_time():
    rows = table((0, 0, beats(0, 1, [500 * MS])), (1, 0, beats(0, 1, [900 * MS])))
    (found,) = summarise(rows, [span(0, 2), span(0, 1, later_s=1.0)], {})
    assert (found.ranks, found.threads) == (1, 2)
    assert found.rate_hz == pytest.approx(1.0)
    assert found.busy_pct == pytest.approx(70.0)
    assert found.series.count.tolist() == [1, 1]


def test_the_rate_factor_scales_busy_time_but_not_the_count():
    (found,) = summarise(table((0, 0, beats(0, 1, [5 * MS, 5 * MS]))), [span(0, 1)], {1: ("a", 10)})
    assert (found.count, found.rate_hz, found.rate_factor) == (2, 2.0, 10)
    assert found.busy_pct == pytest.approx(10.0)
    assert found.series.busy_pct.tolist() == pytest.approx([10.0])


def test_pulses_have_a_rate_and_no_duration():
    (found,) = summarise(table((0, 1, beats(0, 1, pulses=8))), [span(0, 4)], {})
    assert (found.count, found.pulses, found.rate_hz, found.busy_pct) == (0, 8, 2.0, 0.0)
    missing = (found.mean_s, found.min_s, found.max_s, found.std_s, found.p5_s, found.p95_s, found.imbalance_ranks)
    assert missing == (None,) * 7
    assert found.series.pulses.tolist() == [0, 8, 0, 0]
    assert np.isnan(found.series.mean_s).all()


def test_beats_in_progress_are_those_of_the_last_interval():
    rows = table(
        (0, 0, beats(0, 1, running=[700 * MS])), (0, 1, beats(0, 1, running=[1700 * MS])),
        (0, 1, beats(1, 1, running=[200 * MS, 100 * MS])), (1, 0, beats(0, 1, running=[5 * MS])),
    )  # fmt: skip
    (found,) = summarise(rows, [span(0, 2), span(1, 2)], {})
    assert (found.open, found.open_s) == (3, 1.7)
    assert found.series.open.tolist() == [2, 3]
    assert found.count == 0


def test_a_heartbeat_without_rows_is_there():
    found = summarise(table((0, 0, beats(0, 4, [5]))), [span(0, 2)], {9: ("never", 1), 4: ("once", 1)})
    assert [(beat.id, beat.count) for beat in found] == [(4, 1), (9, 0)]
    assert (found[1].mean_s, found[1].busy_pct, found[1].ranks, found[1].threads) == (None, 0.0, 0, 0)
    assert found[1].series.count.tolist() == [0, 0]


def test_no_rows_and_no_intervals():
    assert summarise(table(), [], {}) == []
    (found,) = summarise(table(), [span(intervals=0)], {1: (None, 1)})
    assert (found.rate_hz, found.busy_pct, len(found.series.end_s)) == (0.0, 0.0, 0)


def test_the_grid_of_one_process_is_its_intervals():
    ends = np.array([1.0, 2.1, 7.0])
    grid = Grid([Span(0, 0.0, np.array([0.0, 1.0, 6.0]), ends)], 1.0)
    assert grid.end_s.tolist() == ends.tolist()
    assert grid.wall_s == pytest.approx(3.1)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 50), st.integers(1, 30), st.floats(0, 0.3)), min_size=2, max_size=5),
    st.sampled_from([0.01, 0.25, 1.0, 10.0]),
)
def test_intervals_of_a_process_have_neighbouring_cells(processes, step_s):
    spans, rows = [], []
    for at, (later, intervals, late) in enumerate(processes):
        # Every end is a little late, by less than half of an interval.
        ends = (np.arange(1, intervals + 1) + late) * step_s
        spans.append(Span(at, later, np.concatenate([[0.0], ends[:-1]]), ends))
        rows += [(at, interval, beats(0, 1, [5])) for interval in range(intervals)]
    (found,) = summarise(table(*rows), spans, {}, interval_s=step_s)
    assert found.series.count.sum() == len(rows)
    grid = Grid(spans, step_s)
    for at, each in enumerate(spans):
        cells = grid.cell(table(*((at, interval, beats(0, 1)) for interval in range(len(each.end_s)))))
        ends = grid.end_s[cells]
        assert np.diff(ends) == pytest.approx(np.full(len(ends) - 1, step_s))
        # Half of a step because starts differ, and what the process is late.
        assert np.abs(ends - each.start_s - each.end_s).max() <= 0.85 * step_s
    assert grid.wall_s == pytest.approx(sum(each.end_s[-1] for each in spans))


def test_an_unobserved_time_has_no_cells():
    """A machine that slept, or numbers made up to fill the memory."""
    spans = [span(0, 2), Span(1, 0.0, np.array([0.0, 9e9]), np.array([1.0, 9e9 + 1]))]
    grid = Grid(spans, 1.0)
    assert len(grid.end_s) == 3
    assert grid.cell_wall_s.tolist() == pytest.approx([2.0, 1.0, 1.0])


def test_ids_and_threads_of_any_size():
    rows = table(
        (0, 0, beats(2**62, 2**63 - 1, [5])), (0, 0, beats(2**62 + 1, 2**63 - 1, [7])), (0, 0, beats(0, 0, [9]))
    )
    found = summarise(rows, [span()], {})
    assert [(beat.id, beat.count, beat.threads) for beat in found] == [(0, 1, 1), (2**63 - 1, 2, 2)]


def test_thinned_beats_count_for_those_that_were_skipped():
    """Two intervals of a second: 100 beats of 1 ms, all recorded, then 1000 of 0.5 ms, of which 10 were."""
    first, second = beats(0, 1, [MS] * 100), beats(0, 1, [MS // 2] * 10)
    rows = table((0, 0, first | {"executions": 100}), (0, 1, second | {"executions": 1000}))
    (found,) = summarise(rows, [span(0, 2)], {1: ("a", 1)}, costs=[(100.0, 1.0)])
    assert (found.count, found.executions, found.thinned, found.bounded) == (110, 1100, True, 0)
    assert found.rate_factor == pytest.approx(10)
    assert found.mean_s == pytest.approx((100 * 1e-3 + 1000 * 0.5e-3) / 1100)
    assert found.std_s == pytest.approx(statistics.pstdev([1e-3] * 100 + [0.5e-3] * 1000))
    assert found.series.busy_pct.tolist() == pytest.approx([10, 50])
    assert found.series.factor.tolist() == [1, 100]
    assert found.series.mean_s.tolist() == pytest.approx([1e-3, 0.5e-3])
    assert found.cost_pct == pytest.approx(100 * (110 * 100e-9 + 990 * 1e-9) / 2)


def test_a_recorded_beat_that_waited_for_a_processor_does_not_make_more_time_than_there_is():
    """1 in 100 is recorded, and takes 81 ms instead of 1 us: that would be 813 % of the thread."""
    waited = beats(0, 1, [81_300_000, 1000]) | {"executions": 200}
    rows = table((0, 0, beats(0, 1, [1000] * 2) | {"executions": 200}), (0, 1, waited), (0, 1, waited | {"thread": 1}))
    (found,) = summarise(rows, [span(0, 2)], {1: ("a", 100)})
    assert found.bounded == 2
    assert found.series.busy_pct.tolist() == pytest.approx([0.02, 200])
    assert not found.thinned
    assert found.rate_factor == 100
