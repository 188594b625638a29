"""Quantise a timeline: the ticks of each sample, as whole numbers, and the interval that it belongs to.

Along a thread's accumulated time, each tick belongs to the sample that contains its middle. So rounding loses no time,
whatever samples stand for; a sample shorter than a tick may get none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.errors import NoDataError
from incprof.model import FloatArray, IntArray
from incprof.readers.foreign.timeline import Timeline, regular_edges

# A larger profile would not fit into memory afterwards.
MOST_TICKS, MOST_INTERVALS = 200_000_000, 10_000_000
# Rounding error allowed at the end of an interval's last tick, in parts of a tick.
ROUNDING = 1e-6


class TooLittleError(NoDataError):
    """A timeline holds less than one tick."""


@dataclass(frozen=True)
class Ticks:
    """Samples in order of time, all shape (s,), and intervals, shape (n,). Times are seconds since the first begins.

    Attributes:
        lives: for each thread, the beginning of its first sample and the end of its last one, shape (t, 2).
        lost: lost samples in each interval, shape (n,).
    """

    begins_s: float
    tick_s: float
    start_s: FloatArray
    end_s: FloatArray
    time_s: FloatArray
    interval: IntArray
    thread: IntArray
    node: IntArray
    library: IntArray
    weight: IntArray
    lives: FloatArray
    lost: IntArray


def in_ticks(timeline: Timeline, interval_s: float, tick_s: float | None = None) -> Ticks:
    """Cut a timeline into intervals of `interval_s`, or its own. tick_s: overrides the time that its samples stand for.

    Raises: NoDataError if it is empty, or far too large.
    """
    tick = tick_s or timeline.tick_s
    time, cpu, wall, thread, node, library = timeline.columns()
    if not (np.isfinite(time).all() and np.isfinite(cpu).all() and np.isfinite(wall).all()):
        raise NoDataError(f"{timeline.app}: times in it are no numbers")
    if cpu.sum() > MOST_TICKS * tick:
        raise NoDataError(f"{timeline.app}: more than {MOST_TICKS} samples: give a lower --rate")
    thread = np.unique(thread, return_inverse=True)[1].astype(np.int64)
    time, thread, rows, weight = _whole(time, cpu, wall, thread, tick)
    node, library = node[rows], library[rows]
    if timeline.edges_s is not None:
        begins, edges = float(timeline.edges_s[0]), timeline.edges_s
    elif not len(time):
        raise TooLittleError(f"{timeline.app}: no samples in it")
    else:
        begins = min(float(timeline.begins_s), float(time[0]) - tick) if timeline.begins_s else float(time[0]) - tick
        n = max(int(np.ceil((float(time[-1]) - begins) / interval_s - ROUNDING)), 1)
        if n > MOST_INTERVALS:
            raise NoDataError(f"{timeline.app}: {n} intervals of {interval_s:g} s: give longer ones with -i")
        edges = begins + regular_edges(n, interval_s)
        edges[-1] = max(float(time[-1]), edges[-2] + ROUNDING * tick) if n > 1 else float(time[-1])
    interval = _interval(edges, time - ROUNDING * tick)
    lost = np.zeros(len(edges) - 1, dtype=np.int64)
    for at, count in timeline.lost:
        lost[_interval(edges, np.array([at]))] += count
    lives = _lives(time - begins, thread, tick)
    order, first = np.unique(thread, return_index=True)
    place = np.empty(int(order.max(initial=-1)) + 1, dtype=np.int64)
    place[order[np.argsort(first)]] = np.arange(len(order))
    edges = edges - begins
    return Ticks(
        begins, tick, edges[:-1], edges[1:], time - begins, interval.astype(np.int64), place[thread], node, library,
        weight, lives, lost,
    )  # fmt: skip


def _interval(edges: FloatArray, time: FloatArray) -> IntArray:
    """Return the interval of each time, (s,); the first or the last one for times outside of all."""
    return np.clip(np.searchsorted(edges[1:], time, side="left"), 0, len(edges) - 2)


def _whole(
    time: FloatArray, cpu: FloatArray, wall: FloatArray, thread: IntArray, tick: float
) -> tuple[FloatArray, IntArray, IntArray, IntArray]:
    """Return time, thread, row and weight of samples of whole ticks: long samples become one for each tick."""
    order = np.argsort(thread, kind="stable")
    total = np.cumsum(np.maximum(cpu[order], 0.0)) / tick
    start = np.concatenate([[0.0], total[:-1]]) if len(total) else total
    first = np.flatnonzero(np.diff(thread[order], prepend=-1) != 0)
    base = np.repeat(start[first], np.diff(np.append(first, len(order))))
    low, high = np.rint(start - base + ROUNDING), np.rint(total - base + ROUNDING)
    many = (high - low).astype(np.int64)
    spread = wall[order] > 0
    weight = np.where(spread, 1, many)
    copies = np.where(spread, many, many > 0)
    rows = np.repeat(np.arange(len(order)), copies)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(copies) - copies, copies)
    last = np.maximum(np.repeat(many, copies), 1)
    back = np.where(spread[rows], wall[order][rows] * (last - 1 - within) / last, 0.0)
    at = time[order][rows] - back
    again = np.argsort(at, kind="stable")
    rows = rows[again]
    return at[again], thread[order][rows], order[rows], weight[rows]


def _lives(time: FloatArray, thread: IntArray, tick: float) -> FloatArray:
    """Return when each thread was first and last seen, shape (t, 2)."""
    lives = np.empty((int(thread.max(initial=-1)) + 1, 2))
    lives[:, 0], lives[:, 1] = np.inf, -np.inf
    np.minimum.at(lives[:, 0], thread, time - tick)
    np.maximum.at(lives[:, 1], thread, time)
    return lives
