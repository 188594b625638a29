"""Timelines, the importers' result: samples of one process over time, and their call paths.

A path has frames of the program only. Library frames below them are represented by the function that was called, as in
a recording: `MPI_Barrier`, with all that it calls.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from incprof.errors import NoDataError
from incprof.model import BoolArray, FloatArray, IntArray, by_first_appearance, positions

if TYPE_CHECKING:
    from incprof.readers.foreign.device_work import DeviceWork

# Limits on the depth of a path, as in the collector: the innermost and the outermost frames are kept.
KEPT = 64
# Limit on the memory used while a profile is read.
MOST_NODES = 20_000_000


class Frame(NamedTuple):
    """Code of a function.

    Attributes:
        name: of the function.
        module: "" is the program.
        own: distinguishes functions of one name in a module, such as by their file.
        file: of the code, "" if unknown.
        line: of the code, 0 if unknown.
        begins: first line of the function, or 0.
        shared: it is not the program's own.
    """

    module: str
    name: str
    file: str = ""
    line: int = 0
    own: str = ""
    begins: int = 0
    shared: bool = False


# Stands for the frames left out between the inner and the outer ones.
ELIDED = Frame("", "", shared=True)


class Paths:
    """Call paths as a trie. Node 0 is the root; a parent comes before its children.

    Attributes:
        parent: of each node.
        frame: of each node, an index of `frames`.
        called: the library function that the frame calls there, an index of `names`, or -1.
        frames: frames by number.
        names: names by number.
    """

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.names: list[str] = []
        self.parent, self.frame, self.called = array("q", [0]), array("q", [-1]), array("q", [-1])
        self._frame: dict[Frame, int] = {}
        self._name: dict[str, int] = {}
        self._node: dict[tuple[int, int, int], int] = {}

    def add(self, stack: Sequence[Frame]) -> tuple[int, str]:
        """Return the node of a stack, outermost frame first, and the library of its innermost frame, or "".

        Raises: MemoryError if there are far too many paths.
        """
        last = max((at for at, frame in enumerate(stack) if not frame.shared), default=-1)
        own = [frame for frame in stack[: last + 1] if not frame.shared]
        if len(own) > 2 * KEPT:
            own[KEPT:-KEPT] = [ELIDED]
        node, below = 0, stack[last + 1 :]
        for at, frame in enumerate(own):
            called = self._number(below[0].name) if below and at == len(own) - 1 else -1
            node = self._child(node, self._of(frame), called)
        return node, below[-1].module if below else ""

    def joined(self, above: int, node: int) -> int:
        """Return a path as continued below another one."""
        frames = list[tuple[int, int]]()
        while node > 0:
            frames.append((self.frame[node], self.called[node]))
            node = self.parent[node]
        for frame, called in reversed(frames):
            above = self._child(above, frame, called)
        return above

    def _of(self, frame: Frame) -> int:
        number = self._frame.setdefault(frame, len(self.frames))
        if number == len(self.frames):
            self.frames.append(frame)
        return number

    def _number(self, name: str) -> int:
        number = self._name.setdefault(name, len(self.names))
        if number == len(self.names):
            self.names.append(name)
        return number

    def _child(self, parent: int, frame: int, called: int) -> int:
        key = (parent, frame, called)
        node = self._node.setdefault(key, len(self.parent))
        if node == len(self.parent):
            if node > MOST_NODES:
                raise MemoryError
            for column, value in zip((self.parent, self.frame, self.called), key, strict=True):
                column.append(value)
        return node


@dataclass
class Timeline:
    """Samples of one process, in any order; all shape (s,).

    Attributes:
        time_s: when each was taken.
        cpu_s: the CPU time that it stands for.
        wall_s: the wall-clock time in which that was spent, before time_s; 0 for a sample taken at an instant.
        thread: any numbers.
        library: an index of `libraries`, or -1.
        tick_s: the time that one sample of the profile stands for.
        edges_s: (n + 1,) interval boundaries, if the profile has its own: then their samples have no order unless
            `ordered`.
        calls: calls of functions in each interval, (interval, frame) to count, if they were counted.
        start_unix_ns: of time 0, or 0.
        lost: when samples were lost, and how many.
        device: kernels and copies of devices, on the clock of the samples.
    """

    app: str
    paths: Paths
    tick_s: float
    pid: int | None = None
    edges_s: FloatArray | None = None
    ordered: bool = True
    start_unix_ns: int = 0
    calls: dict[tuple[int, Frame], int] | None = None
    libraries: list[str] = field(default_factory=list)
    begins_s: float = 0.0
    lost: list[tuple[float, int]] = field(default_factory=list)
    device: DeviceWork | None = None
    _time: array[float] = field(default_factory=lambda: array("d"))
    _cpu: array[float] = field(default_factory=lambda: array("d"))
    _wall: array[float] = field(default_factory=lambda: array("d"))
    _thread: array[int] = field(default_factory=lambda: array("q"))
    _node: array[int] = field(default_factory=lambda: array("q"))
    _library: array[int] = field(default_factory=lambda: array("q"))
    _numbers: dict[str, int] = field(default_factory=dict)

    def add(self, stack: Sequence[Frame], time_s: float, cpu_s: float, *, wall_s: float = 0.0, thread: int = 0) -> None:
        """Add a sample; stack: outermost frame first."""
        self.add_at(*self.paths.add(stack), time_s, cpu_s, wall_s=wall_s, thread=thread)

    def add_at(
        self, node: int, library: str, time_s: float, cpu_s: float, *, wall_s: float = 0.0, thread: int = 0
    ) -> None:
        """Add a sample at a known path, with its library, or ""."""
        number = self._numbers.setdefault(library, len(self.libraries)) if library else -1
        if number == len(self.libraries):
            self.libraries.append(library)
        self._time.append(time_s)
        self._cpu.append(cpu_s)
        self._wall.append(wall_s)
        self._thread.append(thread)
        self._node.append(node)
        self._library.append(number)

    def __len__(self) -> int:
        """Number of samples."""
        return len(self._time)

    def columns(self) -> tuple[FloatArray, FloatArray, FloatArray, IntArray, IntArray, IntArray]:
        """Return time_s, cpu_s, wall_s, thread, node and library of the samples, in order of time."""
        time, cpu, wall = (np.frombuffer(each, dtype=np.float64) for each in (self._time, self._cpu, self._wall))
        thread, node, library = (
            np.frombuffer(each, dtype=np.int64) for each in (self._thread, self._node, self._library)
        )
        order = np.argsort(time, kind="stable")
        return time[order], cpu[order], wall[order], thread[order], node[order], library[order]

    def as_added(self) -> tuple[FloatArray, IntArray, IntArray]:
        """Return time_s, thread and node of the samples, in the order in which they were added."""
        thread, node = (np.frombuffer(each, dtype=np.int64) for each in (self._thread, self._node))
        return np.frombuffer(self._time, dtype=np.float64), thread, node

    def of(self, keep: BoolArray) -> Timeline:
        """Return some of the samples, (s,) in the order in which they were added."""
        numbers = (self._time, self._cpu, self._wall), (self._thread, self._node, self._library)
        seconds = (array("d", np.frombuffer(each, dtype=np.float64)[keep].tobytes()) for each in numbers[0])
        others = (array("q", np.frombuffer(each, dtype=np.int64)[keep].tobytes()) for each in numbers[1])
        selected = replace(self)
        selected._time, selected._cpu, selected._wall = seconds
        selected._thread, selected._node, selected._library = others
        return selected

    def rescale(self, seconds: FloatArray) -> None:
        """Replace cpu_s, in the order in which samples were added."""
        self._cpu = array("d", seconds.astype(np.float64).tobytes())


@dataclass
class Imported:
    """All processes of a profile; the first one is the program.

    Attributes:
        notes: remarks for the user.
        damaged: a part of the input could not be read.
    """

    kind: str
    timelines: list[Timeline]
    notes: list[str] = field(default_factory=list)
    damaged: bool = False


def regular_edges(intervals: int, length_s: float) -> FloatArray:
    """Return the boundaries of intervals of one length, (n + 1,)."""
    return length_s * np.arange(intervals + 1, dtype=np.float64)


def place_series(timeline: Timeline, stacks: Iterable[tuple[int, str, float]], start_s: float, end_s: float) -> None:
    """Add an interval's stacks, (node, library, cpu_s), one after the other over its length: their order is unknown."""
    rows = [row for row in stacks if row[2] > 0]
    total_s = sum(row[2] for row in rows)
    done = 0.0
    for node, library, cpu_s in rows:
        done += cpu_s
        timeline.add_at(node, library, start_s + (end_s - start_s) * done / total_s, cpu_s)


# Quantise a timeline: the ticks of each sample, as whole numbers, and the interval that it belongs to.
#
# Along a thread's accumulated time, each tick belongs to the sample that contains its middle. So rounding loses no
# time, whatever samples stand for; a sample shorter than a tick may get none.


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
        raise NoDataError(f"{timeline.app}: its times are not numbers")
    if cpu.sum() > MOST_TICKS * tick:
        raise NoDataError(f"{timeline.app}: more than {MOST_TICKS} samples: give a lower --rate")
    thread = np.unique(thread, return_inverse=True)[1].astype(np.int64)
    time, thread, rows, weight = _whole_ticks(time, cpu, wall, thread, tick)
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
    edges = edges - begins
    return Ticks(
        begins, tick, edges[:-1], edges[1:], time - begins, interval.astype(np.int64),
        by_first_appearance(thread), node, library, weight, lives, lost,
    )  # fmt: skip


def _interval(edges: FloatArray, time: FloatArray) -> IntArray:
    """Return the interval of each time, (s,); the first or the last one for times outside of all."""
    return np.clip(np.searchsorted(edges[1:], time, side="left"), 0, len(edges) - 2)


def _whole_ticks(
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
    tick_index = positions(copies)
    last = np.maximum(np.repeat(many, copies), 1)
    back = np.where(spread[rows], wall[order][rows] * (last - 1 - tick_index) / last, 0.0)
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


# Typical distance of a thread's samples: the time that one stands for, if the input does not have it.


LEAST_S, MOST_S = 1e-5, 1.0


def usual_distance(time_s: FloatArray, thread: IntArray, default_s: float) -> float:
    """Return the median distance between samples of a thread, both (s,); the default where no thread has two."""
    order = np.lexsort((time_s, thread))
    distance, same = np.diff(time_s[order]), np.diff(thread[order]) == 0
    same &= distance > 0
    return float(np.clip(np.median(distance[same]), LEAST_S, MOST_S)) if same.any() else default_s
