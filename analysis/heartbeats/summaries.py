"""Summaries of heartbeats after a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class BeatSeries:
    """A heartbeat over time, on the grid that all heartbeats of the run share.

    Only the cells with events are kept, so that thousands of ids over a long run stay small; the properties expand
    them.

    Attributes:
        end_s: End of each cell of the grid, in seconds since the start of the run, shape (m,).
        at: The cells that are kept, ascending, shape (k,).
        counts: Beats that ended in each of these, shape (k,).
        pulse_counts: Pulses, shape (k,).
        sums_s: Sum of the durations of the beats that ended, shape (k,). With different rate factors in a cell, scaled
            to the mean over all beats, including skipped ones.
        busy_pcts: As BeatSummary.busy_pct, within the cell, shape (k,).
        opens: Beats in progress at the end, shape (k,).
        factors: Number of beats for each recorded one, shape (k,).
    """

    end_s: FloatArray
    at: IntArray = field(repr=False)
    counts: IntArray = field(repr=False)
    pulse_counts: IntArray = field(repr=False)
    sums_s: FloatArray = field(repr=False)
    busy_pcts: FloatArray = field(repr=False)
    opens: IntArray = field(repr=False)
    factors: FloatArray = field(repr=False)

    @property
    def count(self) -> IntArray:
        """Beats that ended, shape (m,)."""
        return self._spread(self.counts)

    @property
    def pulses(self) -> IntArray:
        """Pulses, shape (m,)."""
        return self._spread(self.pulse_counts)

    @property
    def factor(self) -> FloatArray:
        """Number of beats for each recorded one; 1 where none was, shape (m,)."""
        factor = np.ones(len(self.end_s))
        factor[self.at] = self.factors
        return factor

    @property
    def mean_s(self) -> FloatArray:
        """Mean duration of the beats that ended; NaN where none did, seconds, shape (m,)."""
        mean = np.full(len(self.end_s), np.nan)
        some = self.counts > 0
        mean[self.at[some]] = self.sums_s[some] / self.counts[some]
        return mean

    @property
    def busy_pct(self) -> FloatArray:
        """Time that passed in beats, in percent of the wall time of a rank, shape (m,)."""
        busy = np.zeros(len(self.end_s))
        busy[self.at] = self.busy_pcts
        return busy

    @property
    def open(self) -> IntArray:
        """Beats in progress at the end of the cell, shape (m,)."""
        return self._spread(self.opens)

    def _spread(self, values: IntArray) -> IntArray:
        """Expand values of the cells that are kept to all cells, shape (m,)."""
        whole = np.zeros(len(self.end_s), dtype=np.int64)
        whole[self.at] = values
        return whole


@dataclass(frozen=True)
class BeatSummary:
    """A heartbeat over the whole run. Seconds are seconds of single beats, all ranks and threads together.

    Attributes:
        id: Its number.
        name: None without one.
        count: Beats recorded that ended.
        pulses: Pulses recorded: beats without a duration.
        executions: All beats and pulses, including skipped ones; an estimate.
        mean_s: Mean duration; this and the next five are None where no beat ended.
        min_s: Shortest.
        max_s: Longest.
        std_s: Standard deviation of the durations (of the population).
        p5_s: 5 % of the beats were in intervals (of a thread) with a mean duration up to this.
        p95_s: 95 % of them.
        rate_hz: Recorded beats (pulses, where there is no beat) per second of wall time, average of the ranks.
        busy_pct: Time that passed in beats, in percent of wall time, average of the ranks; times the rate factor,
            because as much passed in the beats that were not recorded. Threads add up: it may be above 100, but no
            thread has more than its wall time.
        bounded: Number of intervals of a thread in which the recorded beats stood for more than its wall time, which
            was used instead: one of them had waited for a processor.
        rate_factor: 1 beat in so many was recorded; for a thinned one an average, which need not be whole.
        thinned: Whether the library recorded fewer beats than configured, because they cost too much.
        cost_pct: Cost of recording and skipping the beats, in percent of the wall time of their threads in the
            intervals that have some; None if the cost of a beat is unknown.
        open: Beats in progress at the end of the run.
        open_s: Age of the oldest of them; 0 where there is none.
        ranks: Number of ranks that have this heartbeat.
        threads: Number of threads that have it, over all processes.
        imbalance_ranks: Busy time of the busiest rank over the mean of all ranks, less 1; None where no time passed.
        imbalance_threads: Likewise of the threads that have this heartbeat.
        series: Over time.
    """

    id: int
    name: str | None
    count: int
    pulses: int
    executions: int
    mean_s: float | None
    min_s: float | None
    max_s: float | None
    std_s: float | None
    p5_s: float | None
    p95_s: float | None
    rate_hz: float
    busy_pct: float
    bounded: int
    rate_factor: float
    thinned: bool
    cost_pct: float | None
    open: int
    open_s: float
    ranks: int
    threads: int
    imbalance_ranks: float | None
    imbalance_threads: float | None
    series: BeatSeries


@dataclass(frozen=True)
class BeatRun:
    """The run of the heartbeats, or the selected part of it.

    Attributes:
        app: Name of the program.
        ranks: Number of ranks.
        processes: Number of processes: more than ranks where a rank forked.
        threads: Number of threads that have heartbeats.
        intervals: Number of intervals of the longest process.
        interval_s: Intended length of an interval.
        start_s: Start of the first interval, in seconds since the run's start.
        duration_s: Wall time from there to the end of the last interval.
        clean: Whether every process ended cleanly.
        counters: `dropped`, `unmatched`, `abandoned`, `lost_intervals`, `lost_rows`: sums over intervals and processes.
    """

    app: str
    ranks: int
    processes: int
    threads: int
    intervals: int
    interval_s: float
    start_s: float
    duration_s: float
    clean: bool
    counters: dict[str, int]


# Prepare heartbeats over time for plots: the busiest of them, with no more points than a plot can show.


MOST = 8
BINS = 500


@dataclass(frozen=True)
class Trace:
    """A figure over time, in bins of one interval or several; NaN where there is nothing.

    Attributes:
        low: Least value in each bin, shape (b,).
        middle: Mean of its values, shape (b,).
        high: Largest value, shape (b,).
        progress: Value to draw where no beat ended in the bin, but some are in progress, shape (b,).
    """

    low: FloatArray
    middle: FloatArray
    high: FloatArray
    progress: FloatArray


@dataclass(frozen=True)
class BeatTrace:
    """A heartbeat to draw.

    Attributes:
        id: Its number.
        name: None without one.
        begin_s: Start of each bin, in seconds since the start of the run, shape (b,).
        end_s: End of each bin, shape (b,).
        count: Beats.
        duration_s: Durations, seconds.
    """

    id: int
    name: str | None
    begin_s: FloatArray
    end_s: FloatArray
    count: Trace
    duration_s: Trace


def busiest(beats: Sequence[BeatSummary], most: int = MOST) -> tuple[list[BeatSummary], int]:
    """Return the heartbeats that take most time, then those with most beats, and the number of all others."""
    some = [beat for beat in beats if beat.count or beat.pulses or beat.open]
    order = sorted(some, key=lambda beat: (-beat.busy_pct, -beat.count - beat.pulses, beat.id))
    return order[:most], max(len(some) - most, 0)


def trace(beat: BeatSummary, interval_s: float, bins: int = BINS, *, executions: bool = False) -> BeatTrace:
    """Return a heartbeat over time.

    Beats in progress are drawn with their number, at the duration that they will have: the mean of the interval in
    which they end, unless they have lasted longer by then; at the end of the run, the age of the oldest.

    Args:
        beat: The heartbeat.
        interval_s: Intended length of an interval.
        bins: Number of bins at most.
        executions: Whether to include skipped beats.
    """
    series = beat.series
    end = series.end_s
    begin = begins(end, interval_s)
    ended, running = series.count > 0, series.open > 0
    number = (series.count if beat.count or beat.open else series.pulses).astype(np.float64)
    if executions:
        number *= series.factor
    waiting = running & ~ended
    edges = np.arange(min(bins, len(end)) + 1) * len(end) // max(min(bins, len(end)), 1)
    count = _trace(np.where(number > 0, number, np.nan), np.where(waiting, series.open, np.nan), edges)
    duration = _trace(series.mean_s, _durations_to_be(beat, waiting, begin), edges)
    return BeatTrace(beat.id, beat.name, begin[edges[:-1]], end[edges[1:] - 1], count, duration)


def begins(end_s: FloatArray, interval_s: float) -> FloatArray:
    """Return the start of each cell: the end of the one before, unless cells between them are left out, shape (m,)."""
    before = np.concatenate([[-np.inf], end_s[:-1]]) if len(end_s) else end_s
    starts: FloatArray = np.where(end_s - before < 1.5 * interval_s, before, end_s - interval_s)
    return np.maximum(starts, 0.0)


def _durations_to_be(beat: BeatSummary, waiting: np.ndarray, begin_s: FloatArray) -> FloatArray:
    """Return the duration to draw in cells where beats are in progress and none ends; NaN elsewhere, shape (m,)."""
    result = np.full(len(waiting), np.nan)
    mean, end_s = beat.series.mean_s, beat.series.end_s
    bounds = np.flatnonzero(np.diff(np.concatenate([[0], waiting.astype(np.int8), [0]])))
    for first, after in zip(bounds[::2].tolist(), bounds[1::2].tolist(), strict=True):
        if after == len(mean):
            come_to = beat.open_s
        elif np.isnan(mean[after]):  # dropped: its thread ended, or recording was switched off
            come_to = float(end_s[after - 1] - begin_s[first])
        else:  # in progress at the end of the first cell, and at that of the last
            come_to = max(float(mean[after]), float(end_s[after - 1] - end_s[first]))
        result[first:after] = come_to
    return result


def _trace(values: FloatArray, progress: FloatArray, edges: np.ndarray) -> Trace:
    """Return values per bin, for the cells between its edges."""
    if len(edges) == len(values) + 1:
        return Trace(values, values, values, progress)
    some = ~np.isnan(values)
    start = edges[:-1]
    number = np.add.reduceat(some.astype(np.int64), start)
    low = np.minimum.reduceat(np.where(some, values, np.inf), start)
    high = np.maximum.reduceat(np.where(some, values, -np.inf), start)
    total = np.add.reduceat(np.where(some, values, 0.0), start)
    most = np.maximum.reduceat(np.where(np.isnan(progress), -np.inf, progress), start)
    there = number > 0
    nothing = np.full(len(start), np.nan)
    return Trace(
        low=np.where(there, low, nothing),
        middle=np.divide(total, number, out=nothing.copy(), where=there),
        high=np.where(there, high, nothing),
        progress=np.where(~there & np.isfinite(most), most, nothing),
    )


# Time shared by a run's processes: their wall time, and a grid that aligns their intervals.


@dataclass(frozen=True)
class Span:
    """Recorded time of a process.

    Attributes:
        rank: Its rank.
        start_s: Its start, in seconds since the start of the run.
        begin_s: Start of each interval since the process's start, ascending, shape (n,).
        end_s: End of each interval, shape (n,).
    """

    rank: int
    start_s: float
    begin_s: FloatArray
    end_s: FloatArray


class Grid:
    """Cells of time that the intervals of all processes are assigned to.

    With one process, the cells are its intervals. Several processes start at different times, so each is moved to the
    nearest multiple of the interval, and each of its intervals is assigned to the cell of its middle. Cells without an
    interval of any process are left out.

    Attributes:
        end_s: End of each cell in seconds since the start of the run, ascending, shape (m,).
        cell_wall_s: Sum over the ranks of the recorded time in each cell, shape (m,).
        wall_s: Sum over the ranks of the recorded time; processes of a rank at the same time count once.
        ranks: Number of ranks.
        rank_index: For each process, the index of its rank among the ranks, shape (p,).
    """

    def __init__(self, spans: Sequence[Span], step_s: float):
        ranks, self.rank_index = np.unique(np.array([s.rank for s in spans], dtype=np.int64), return_inverse=True)
        self.ranks = len(ranks)
        self._first = np.cumsum([0] + [len(s.end_s) for s in spans])
        self._length_s = np.concatenate([np.zeros(0), *(s.end_s - s.begin_s for s in spans)])
        self._last = np.diff(self._first) - 1
        if len(spans) == 1:
            numbers = np.arange(len(spans[0].end_s))
            self.end_s: FloatArray = spans[0].start_s + spans[0].end_s
        else:
            numbers = np.concatenate([np.zeros(0), *(_numbers(span, step_s) for span in spans)])
            self.end_s = ((np.unique(numbers) + 1) * step_s).astype(np.float64)
        self._cells = np.unique(numbers, return_inverse=True)[1]
        self.cell_wall_s = np.zeros(len(self.end_s))
        for rank in range(self.ranks):
            mine = np.flatnonzero(self.rank_index == rank).tolist()
            at = np.concatenate([np.arange(self._first[p], self._first[p + 1]) for p in mine])
            begin = np.concatenate([spans[p].start_s + spans[p].begin_s for p in mine])
            end = np.concatenate([spans[p].start_s + spans[p].end_s for p in mine])
            np.add.at(self.cell_wall_s, self._cells[at], _new_time(begin, end))
        self.wall_s = float(self.cell_wall_s.sum())

    def cell(self, rows: NDArray[np.void]) -> IntArray:
        """Return the cell of each row, from its `process` and `interval`, shape (n,)."""
        cells: IntArray = self._cells[self._first[rows["process"]] + rows["interval"]]
        return cells

    def length_s(self, rows: NDArray[np.void]) -> FloatArray:
        """Return the length of the interval of each row, shape (n,)."""
        length: FloatArray = self._length_s[self._first[rows["process"]] + rows["interval"]]
        return length

    def is_last(self, rows: NDArray[np.void]) -> NDArray[np.bool_]:
        """Return which rows are of the last interval of their process, shape (n,)."""
        last: NDArray[np.bool_] = rows["interval"] == self._last[rows["process"]]
        return last


def _numbers(span: Span, step_s: float) -> FloatArray:
    """Return the number of each interval's cell, shape (n,)."""
    middle = (span.begin_s + span.end_s) / 2
    numbers: FloatArray = np.round(span.start_s / step_s) + np.floor(middle / step_s)
    return numbers


def _new_time(begin: FloatArray, end: FloatArray) -> FloatArray:
    """Return the part of each interval that no earlier interval covers, shape (n,)."""
    order = np.argsort(begin, kind="stable")
    reached = np.concatenate([[-np.inf], np.maximum.accumulate(end[order])])[: len(end)]
    new = np.empty(len(end))
    new[order] = np.maximum(end[order] - np.maximum(begin[order], reached), 0)
    return new
