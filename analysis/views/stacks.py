"""Samples as call stacks, for flame graph tools.

A stack is a tuple of frames, outermost first; a frame is a function index >= 0 or an index into the extra names.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.model import (
    BROKEN,
    ELIDED,
    LIBRARY,
    PROFILER,
    UNKNOWN,
    BoolArray,
    FloatArray,
    IntArray,
    IntervalProfile,
    distinct,
    module_label,
)
from incprof.model.calltree import inclusive


@dataclass(frozen=True)
class Frame:
    """A frame of a stack.

    Attributes:
        name: of the function.
        file: of the function; None if unknown.
        line: of the function; None if unknown.
    """

    name: str
    file: str | None = None
    line: int | None = None


Stack = tuple[Frame, ...]


@dataclass(frozen=True)
class StackSeries:
    """Stacks over time.

    Attributes:
        stacks: the distinct ones.
        stack: (s,) index of each sample's stack, in time order.
        thread: (s,) its thread.
        weight: (s,) ticks.
        time_s: (s,) since the start of the run.
    """

    stacks: tuple[Stack, ...]
    stack: IntArray
    thread: IntArray
    weight: FloatArray
    time_s: FloatArray


def stack_series(profile: IntervalProfile, keep: BoolArray | None = None, *, libraries: bool = True) -> StackSeries:
    """Return the samples of the intervals in `keep` (n,), all by default. Samples in the profiler are left out.

    libraries: whether to keep samples that were taken in a library.

    A profile without samples (gmon files) gives a stack of one frame for each function and interval, one after the
    other from the interval's start on.
    """
    keep = np.ones(profile.n_intervals, dtype=np.bool_) if keep is None else keep
    if not len(profile.samples.time_s):
        return _flat_series(profile, keep)
    samples = profile.samples
    use = (samples.kind != PROFILER) & keep[profile.interval_of_samples()]
    if not libraries:
        use &= samples.kind != LIBRARY
    keys = np.stack([samples.node[use], samples.kind[use], samples.library[use]])
    distinct, index = np.unique(keys, axis=1, return_inverse=True)
    names = _Namer(profile)
    stacks = tuple(names.stack(node, kind, library) for node, kind, library in distinct.T.tolist())
    return StackSeries(
        stacks,
        index.ravel().astype(np.int64),
        samples.thread[use],
        samples.weight[use].astype(np.float64),
        samples.time_s[use],
    )


def _flat_series(profile: IntervalProfile, keep: BoolArray) -> StackSeries:
    """Turn self times into stacks of one frame."""
    table = profile.self_s.tocoo()
    row, column = table.row, table.col
    use = keep[row] & (table.data > 0)
    row, column, seconds = row[use], column[use], table.data[use]
    order = np.lexsort((column, row))
    row, column, seconds = row[order], column[order], seconds[order]
    used, index = np.unique(column, return_inverse=True)
    done = np.cumsum(seconds)
    # Time before the first one of the same interval.
    earlier = (done - seconds)[np.searchsorted(row, row, side="left")] if len(row) else done
    frames = _function_frames(profile)
    return StackSeries(
        tuple((frames[c],) for c in used.tolist()),
        index.ravel().astype(np.int64),
        np.zeros(len(order), dtype=np.int64),
        seconds * profile.metadata.rate_hz,
        profile.start_s[row] + done - earlier,
    )


def _function_frames(profile: IntervalProfile) -> list[Frame]:
    """Return a frame for each function."""
    return [Frame(f.name, f.file, f.line) for f in profile.functions]


class _Namer:
    """Turns path nodes into stacks; each node's path is built once, from its parent's."""

    def __init__(self, profile: IntervalProfile):
        self.frames = _function_frames(profile)
        self.parent = profile.paths.parent.tolist()
        self.function = profile.paths.function.tolist()
        modules = profile.metadata.modules
        self.inlined = {} if profile.inlined is None else profile.inlined.by_node()
        # Samples in a linkage stub of the program itself belong to its caller.
        self.library = {m.id: () if m.app else (Frame(module_label(m.name)),) for m in modules}
        self.stacks: dict[int, Stack] = {0: ()}

    def stack(self, node: int, kind: int, library: int) -> Stack:
        """Return the stack of a sample; a library is its innermost frame."""
        path = self._path(node)
        if kind == LIBRARY:
            inner = self.library.get(library, (Frame("[library]"),))
            # Whole libraries may be functions already: `[libm.so.6]` of `--libs separate`.
            inner = () if path and inner and path[-1].name == inner[0].name else inner
            return (*path, *inner) or (Frame("[unknown]"),)
        return path if path and kind != UNKNOWN else (*path, Frame("[unknown]"))

    def _path(self, node: int) -> Stack:
        """Return the frames from the root to a node."""
        missing = []
        while node not in self.stacks:
            missing.append(node)
            node = self.parent[node]
        for child in reversed(missing):
            inner = (self._frame(function) for function in self.inlined.get(child, ()))
            self.stacks[child] = (*self.stacks[self.parent[child]], self._frame(self.function[child]), *inner)
        return self.stacks[missing[0]] if missing else self.stacks[node]

    def _frame(self, function: int) -> Frame:
        """Return a function's frame, or that of a marker."""
        if function >= 0:
            return self.frames[function]
        return {ELIDED: Frame("[...]"), BROKEN: Frame("[broken]")}.get(function, Frame("[unknown]"))


# Samples as nested slices of time, for flame charts in trace viewers.
#
# A sample stands for the ticks before it. Closely consecutive samples of a thread in the same function form one slice
# of it. If that is still too much to draw, samples within a short span of time are sorted by their stacks: each
# function keeps its time within the span, and the order of functions within it is lost. Times are whole microseconds,
# so that nested slices stay nested. s samples, g groups of them.


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
    out = []
    for thread in threads.tolist():
        of_thread = series.thread == thread
        begin, end, cpu = placed(series.time_s[of_thread], series.weight[of_thread], rate_hz)
        slices, span = _slices(series, begin, end, cpu, series.stack[of_thread], rank, round(1e6 / rate_hz), share)
        out.append(ThreadSlices(thread, tuple(slices), span))
    return tuple(out)


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
    nominal = np.maximum(np.round(time_s * 1e6).astype(np.int64) - cpu, 0)
    # Delay of each sample if there were no gaps between the samples before.
    end = np.maximum.accumulate(nominal - (done - cpu)) + done if len(done) else done
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
    is_same = (stack[1:] == stack[:-1]) & (begin[1:] - end[:-1] <= tick * JOIN_TICKS)
    first = np.flatnonzero(np.concatenate([[True], ~is_same]))
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
    end = cpu_end = 0

    def close(depth: int) -> None:
        while len(opened) > depth:
            begin, before = opened.pop()
            slices.append(Slice(begin, end, before, cpu_end - before, len(opened), stack[len(opened)]))

    rows = zip(
        groups.begin.tolist(), groups.end.tolist(), groups.cpu.tolist(), groups.stack.tolist(), strict=True
    )  # fmt: skip
    for begin, until, cpu, index in rows:
        now = series.stacks[index]
        close(_common(stack, now) if begin - end <= join else 0)
        opened.extend((begin, cpu_end) for _ in now[len(opened) :])
        stack, end, cpu_end = now, until, cpu_end + cpu
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


# Call stacks as a tree with the time of each node, whole and by phase.


# Readers of trees recurse. Deeper frames count for the frame at this depth.
DEEPEST = 150


@dataclass(frozen=True)
class StackTree:
    """Nodes in depth-first order, a parent before its children; q nodes.

    Attributes:
        frames: (q,) frames.
        parent: (q,), -1 for outermost frames.
        own_s: (q, 1 + k) self seconds of each node: of the whole, then of each phase.
    """

    frames: tuple[Frame, ...]
    parent: IntArray
    own_s: FloatArray

    @property
    def inclusive_s(self) -> FloatArray:
        """Inclusive seconds of each node, (q, 1 + k)."""
        return inclusive(self.parent, self.own_s.T).T


def stack_tree(
    profile: IntervalProfile, labels: IntArray, phases: int, keep: BoolArray | None = None, *, libraries: bool = True
) -> StackTree:
    """Return the tree of a run's samples.

    Args:
        profile: n intervals.
        labels: (n,) phase ids from 0, -1 for none.
        phases: number of phases.
        keep: (n,) intervals to use, all by default.
        libraries: whether to keep samples that were taken in a library.
    """
    keep = np.ones(profile.n_intervals, dtype=np.bool_) if keep is None else keep
    series = stack_series(profile, keep, libraries=libraries)
    frames, parent, node_of = _nodes(series)
    own = np.zeros((len(frames), 1 + phases))
    _add(own[:, 0], series, node_of)
    for phase in range(phases):
        _add(own[:, 1 + phase], stack_series(profile, keep & (labels == phase), libraries=libraries), node_of)
    return StackTree(tuple(frames), np.array(parent, dtype=np.int64), own / profile.metadata.rate_hz)


def _nodes(series: StackSeries) -> tuple[list[Frame], list[int], dict[Stack, int]]:
    """Return the frame and the parent of each node, and the node of each stack. Equal stacks give equal order."""
    number_of: dict[tuple[int, Frame], int] = {}
    frames: list[Frame] = []
    parent: list[int] = []
    node_of: dict[Stack, int] = {}
    for stack in sorted(set(series.stacks), key=lambda stack: [(frame.name, frame.file or "") for frame in stack]):
        node = -1
        for frame in stack[:DEEPEST]:
            above, node = node, number_of.setdefault((node, frame), len(frames))
            if node == len(frames):
                frames.append(frame)
                parent.append(above)
        node_of[stack] = node
    return frames, parent, node_of


def _add(ticks: FloatArray, series: StackSeries, node_of: dict[Stack, int]) -> None:
    """Add the ticks of samples to their nodes."""
    if len(series.stack):
        nodes = np.array([node_of[stack] for stack in series.stacks], dtype=np.int64)
        np.add.at(ticks, nodes[series.stack], series.weight)
