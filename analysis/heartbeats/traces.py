"""Prepare heartbeats over time for plots: the busiest of them, with no more points than a plot can show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.analysis.heartbeats.summaries import BeatSummary, FloatArray

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
