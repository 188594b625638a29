"""Timelines, the importers' result: samples of one process over time, and their call paths.

A path has frames of the program only. Library frames below them are represented by the function that was called, as in
a recording: `MPI_Barrier`, with all that it calls.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from incprof.model import BoolArray, FloatArray, IntArray

# Limits on the depth of a path, as in the collector: the innermost and the outermost frames are kept.
KEPT = 64
# Limits on the length of a name, and on the memory used while a profile is read.
LONGEST_NAME, MOST_NODES = 4000, 20_000_000


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
    whole = sum(row[2] for row in rows)
    done = 0.0
    for node, library, cpu_s in rows:
        done += cpu_s
        timeline.add_at(node, library, start_s + (end_s - start_s) * done / whole, cpu_s)
