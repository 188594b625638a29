"""What importers make of a profile: samples in time of one process, and the call paths that they lie on.

A path has frames of the program alone. A library's frames below them are told by the function that was called, as in a
recording: `MPI_Barrier`, with all that it calls.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from incprof.model import BoolArray, FloatArray, IntArray

# Of a path, as the collector keeps it: the innermost and the outermost ones.
KEPT = 64
# Of a name, and of all that has to be kept in memory while a profile is read.
LONGEST_NAME, MOST_NODES = 4000, 20_000_000


class Frame(NamedTuple):
    """Code of a function. Functions of one name in a module are told apart by `own`, such as their file.

    module: "" is the program.

    file, line: where the code is, "" and 0 where that is not known. begins: the line at which the function begins, or
    0. shared: it is no program's own.
    """

    module: str
    name: str
    file: str = ""
    line: int = 0
    own: str = ""
    begins: int = 0
    shared: bool = False


# Frames left out of a path, between its inner and its outer ones.
ELIDED = Frame("", "", shared=True)


class Paths:
    """Call paths as a trie. Node 0 is the root; a parent comes before its children.

    parent, frame: of each node. called: the function of a library that the frame calls there, or -1. frames, names:
    what these numbers stand for.
    """

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.names: list[str] = []
        self.parent, self.frame, self.called = array("q", [0]), array("q", [-1]), array("q", [-1])
        self._frame: dict[Frame, int] = {}
        self._name: dict[str, int] = {}
        self._node: dict[tuple[int, int, int], int] = {}

    def add(self, stack: Sequence[Frame]) -> tuple[int, str]:
        """The node of a stack, outermost frame first, and the library that its innermost frame lies in, or "".

        Raises: MemoryError when there are far too many paths.
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

    time_s: when each was taken. cpu_s: the time that it stands for. wall_s: how long it took to spend that, before
    time_s; 0 for a sample that was taken at a moment. thread: any numbers. library: an index of `libraries`, or -1.
    tick_s: what one sample of the profile stands for. edges_s: (n + 1,) where its intervals begin and end, if it has
    any of its own: then their samples are in no order unless `ordered`. calls: calls of functions in each interval,
    (interval, frame) to count, where they were counted. start_unix_ns: of time 0, or 0. lost: when samples were lost,
    and how many.
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
        """Add a sample at a path that is known, with the library that it lies in, or ""."""
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
        """time_s, cpu_s, wall_s, thread, node and library of the samples, in order of time."""
        time, cpu, wall = (np.frombuffer(each, dtype=np.float64) for each in (self._time, self._cpu, self._wall))
        thread, node, library = (
            np.frombuffer(each, dtype=np.int64) for each in (self._thread, self._node, self._library)
        )
        order = np.argsort(time, kind="stable")
        return time[order], cpu[order], wall[order], thread[order], node[order], library[order]

    def as_added(self) -> tuple[FloatArray, IntArray, IntArray]:
        """time_s, thread and node of the samples, in the order in which they were added."""
        thread, node = (np.frombuffer(each, dtype=np.int64) for each in (self._thread, self._node))
        return np.frombuffer(self._time, dtype=np.float64), thread, node

    def of(self, keep: BoolArray) -> Timeline:
        """Some of the samples, (s,) in the order in which they were added."""
        numbers = (self._time, self._cpu, self._wall), (self._thread, self._node, self._library)
        seconds = (array("d", np.frombuffer(each, dtype=np.float64)[keep].tobytes()) for each in numbers[0])
        others = (array("q", np.frombuffer(each, dtype=np.int64)[keep].tobytes()) for each in numbers[1])
        found = replace(self)
        found._time, found._cpu, found._wall = seconds
        found._thread, found._node, found._library = others
        return found

    def rescale(self, seconds: FloatArray) -> None:
        """Replace cpu_s, in the order in which samples were added."""
        self._cpu = array("d", seconds.astype(np.float64).tobytes())


@dataclass
class Imported:
    """All processes of a profile; the first one is the program.

    notes: what has to be said of it. damaged: a part of the input could not be read.
    """

    kind: str
    timelines: list[Timeline]
    notes: list[str] = field(default_factory=list)
    damaged: bool = False


def regular_edges(intervals: int, length_s: float) -> FloatArray:
    """Where intervals of one length begin and end, (n + 1,)."""
    return length_s * np.arange(intervals + 1, dtype=np.float64)


def place_series(timeline: Timeline, stacks: Iterable[tuple[int, str, float]], start_s: float, end_s: float) -> None:
    """Add an interval's stacks, (node, library, cpu_s), one after the other over its length: no order is known."""
    rows = [row for row in stacks if row[2] > 0]
    whole = sum(row[2] for row in rows)
    done = 0.0
    for node, library, cpu_s in rows:
        done += cpu_s
        timeline.add_at(node, library, start_s + (end_s - start_s) * done / whole, cpu_s)
