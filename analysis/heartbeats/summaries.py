"""Summaries of heartbeats after a run."""

from __future__ import annotations

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
