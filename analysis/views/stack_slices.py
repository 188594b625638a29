"""Samples as nested slices of time, for flame charts in trace viewers.

A sample stands for the ticks before it. Closely consecutive samples of a thread in the same function form one slice of
it. If that is still too much to draw, samples within a short span of time are sorted by their stacks: each function
keeps its time within the span, and the order of functions within it is lost. Times are whole microseconds, so that
nested slices stay nested. s samples, g groups of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.views.stacks import Frame, StackSeries
from incprof.model import IntArray, distinct

# A thread without a sample for longer than this many ticks was not running: slices end there.
JOIN_TICKS = 4
# The first span to try, in ticks, and the factor to increase it.
FIRST_TICKS, GROWTH = 8, 4


@dataclass(frozen=True)
class Slice:
    """A frame for a period of time.

    Attributes:
        begin_us: wall time since the start of the run.
        end_us: likewise.
        cpu_begin_us: CPU time of the thread's samples before it.
        cpu_us: CPU time of the samples in it and below.
        depth: 0 is the outermost.
        frame: the frame.
    """

    begin_us: int
    end_us: int
    cpu_begin_us: int
    cpu_us: int
    depth: int
    frame: Frame


@dataclass(frozen=True)
class ThreadSlices:
    """The slices of a thread.

    Attributes:
        thread: its number.
        slices: in order of their ends.
        span_us: the order within a span of this length is lost; 0 if it is kept throughout.
    """

    thread: int
    slices: tuple[Slice, ...]
    span_us: int


@dataclass(frozen=True)
class _Groups:
    """Merged samples of a thread.

    Attributes:
        begin: (g,) microseconds.
        end: (g,) microseconds.
        cpu: (g,) CPU time in them, microseconds.
        stack: (g,) index of the stack.
    """

    begin: IntArray
    end: IntArray
    cpu: IntArray
    stack: IntArray


def thread_slices(series: StackSeries, rate_hz: float, most: int) -> tuple[ThreadSlices, ...]:
    """Return the slices of each thread that has samples, by thread.

    Args:
        series: the samples.
        rate_hz: ticks per second.
        most: approximate limit of the number of slices, all threads together.
    """
    threads = distinct(series.thread)
    share = max(most // max(len(threads), 1), 16)
    rank = _stack_order(series)
    found = []
    for thread in threads.tolist():
        mine = series.thread == thread
        begin, end, cpu = placed(series.time_s[mine], series.weight[mine], rate_hz)
        slices, span = _slices(series, begin, end, cpu, series.stack[mine], rank, round(1e6 / rate_hz), share)
        found.append(ThreadSlices(thread, tuple(slices), span))
    return tuple(found)


def placed(time_s: np.ndarray, weight: np.ndarray, rate_hz: float) -> tuple[IntArray, IntArray, IntArray]:
    """Give each sample of a thread the time of its ticks, before the sample and after the time of the sample before.

    Args:
        time_s: (s,) time of the sample, ascending.
        weight: (s,) ticks.
        rate_hz: ticks per second.

    Returns:
        begin, end, and CPU time (s,) in microseconds; end is begin plus the CPU time.
    """
    done = np.round(np.cumsum(weight) * (1e6 / rate_hz)).astype(np.int64)
    cpu = np.diff(done, prepend=0)
    wanted = np.maximum(np.round(time_s * 1e6).astype(np.int64) - cpu, 0)
    # Delay of each sample if there were no gaps between the samples before.
    end = np.maximum.accumulate(wanted - (done - cpu)) + done if len(done) else done
    return end - cpu, end, cpu


def _slices(
    series: StackSeries,
    begin: IntArray,
    end: IntArray,
    cpu: IntArray,
    stack: IntArray,
    rank: IntArray,
    tick: int,
    most: int,
) -> tuple[list[Slice], int]:
    """Return the slices of one thread, and the span that was needed to keep their number within the limit."""
    span = 0
    while True:
        groups = _spanned(begin, end, cpu, stack, rank, span) if span else _joined(begin, end, cpu, stack, tick)
        # A span longer than the run does not help.
        last = span > int(end[-1] - begin[0])
        if len(groups.begin) <= most or last:
            slices = nested(series, groups, tick * JOIN_TICKS if not span else max(tick * JOIN_TICKS, span))
            if len(slices) <= most or last:
                return slices, span
        span = span * GROWTH if span else tick * FIRST_TICKS


def _joined(begin: IntArray, end: IntArray, cpu: IntArray, stack: IntArray, tick: int) -> _Groups:
    """Merge consecutive samples with the same stack."""
    near = (stack[1:] == stack[:-1]) & (begin[1:] - end[:-1] <= tick * JOIN_TICKS)
    first = np.flatnonzero(np.concatenate([[True], ~near]))
    last = np.concatenate([first[1:], [len(stack)]]) - 1
    return _Groups(begin[first], end[last], np.add.reduceat(cpu, first), stack[first])


def _spanned(begin: IntArray, end: IntArray, cpu: IntArray, stack: IntArray, rank: IntArray, span: int) -> _Groups:
    """Merge samples of a span with the same stack, in the order of stacks, one after the other."""
    cell = begin // span
    order = np.lexsort((rank[stack], cell))
    cell, stack, cpu = cell[order], stack[order], cpu[order]
    same = (cell[1:] == cell[:-1]) & (stack[1:] == stack[:-1])
    first = np.flatnonzero(np.concatenate([[True], ~same]))
    group_cpu, group_cell = np.add.reduceat(cpu, first), cell[first]
    opens = np.flatnonzero(np.concatenate([[True], group_cell[1:] != group_cell[:-1]]))
    before = np.cumsum(group_cpu) - group_cpu
    members = np.diff(np.append(opens, len(first)))
    # Samples of a thread do not overlap: placed side by side from the first one's begin, they end before the next
    # span's.
    _, entry = np.unique(begin // span, return_index=True)
    start = np.repeat(begin[entry] - before[opens], members) + before
    return _Groups(start, start + group_cpu, group_cpu, stack[first])


def nested(series: StackSeries, groups: _Groups, join: int) -> list[Slice]:
    """Return the slices of groups in time order; gaps of up to `join` microseconds do not end a slice."""
    slices: list[Slice] = []
    stack: tuple[Frame, ...] = ()
    opened: list[tuple[int, int]] = []  # begin and CPU time before, of each frame of the stack
    end = spent = 0

    def close(depth: int) -> None:
        while len(opened) > depth:
            begin, before = opened.pop()
            slices.append(Slice(begin, end, before, spent - before, len(opened), stack[len(opened)]))

    rows = zip(
        groups.begin.tolist(), groups.end.tolist(), groups.cpu.tolist(), groups.stack.tolist(), strict=True
    )  # fmt: skip
    for begin, until, cpu, index in rows:
        now = series.stacks[index]
        close(_common(stack, now) if begin - end <= join else 0)
        opened.extend((begin, spent) for _ in now[len(opened) :])
        stack, end, spent = now, until, spent + cpu
    close(0)
    return slices


def _common(one: tuple[Frame, ...], other: tuple[Frame, ...]) -> int:
    """Return how many frames two stacks have in common, from the outermost on."""
    for depth, (frame, same) in enumerate(zip(one, other, strict=False)):
        if frame is not same and frame != same:
            return depth
    return min(len(one), len(other))


def _stack_order(series: StackSeries) -> IntArray:
    """Return the rank of each stack in an order that keeps those with the same outer frames together."""
    number: dict[Frame, int] = {}
    keys = [tuple(number.setdefault(frame, len(number)) for frame in stack) for stack in series.stacks]
    order = np.argsort(np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64))
    return order.astype(np.int64)
