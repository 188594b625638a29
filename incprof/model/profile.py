"""The recorded run, once its files have been read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from incprof.model.arrays import BoolArray, FloatArray, IntArray, distinct
from incprof.model.calltree import CallTree, CodeLoops, build
from incprof.model.functions import Function
from incprof.safe.printable import encodable

if TYPE_CHECKING:
    import pandas as pd
    from scipy.sparse import csr_array


from dataclasses import field

from incprof.model.functions import Module


@dataclass(frozen=True, slots=True)
class Process:
    """One recorded process of a run: a rank, or a child of one.

    Attributes:
        path: its stream.
        series: it left a gmon file per interval instead, and `path` is their directory.
        life: which program it is of those that the process ran by exec and whose files carry its pid, from 1.
    """

    rank: int
    pid: int | None
    path: str
    primary: bool = True
    series: bool = False
    life: int = 1


@dataclass(frozen=True, slots=True)
class Metadata:
    """How a process was recorded.

    Attributes:
        raw: the metadata object as written (docs/reference/formats.md, kind 1).
        pooled: number of recorded intervals merged into one of `interval_s`.
        call_s: cost of counting a call, seconds, as measured at the start of the recording; None if it was not
            measured.
        ordered: the samples of an interval are in the order in which they were taken; imported profiles may lack an
            order.
        has_waits: the program hardly used a processor, and its samples include what it waited for.
    """

    app: str
    exe: str | None
    rank: int
    ranks: int | None
    interval_s: float
    rate_hz: float
    modules: tuple[Module, ...] = ()
    raw: dict[str, object] = field(default_factory=dict)
    pooled: int = 1
    call_s: float | None = None
    ordered: bool = True
    has_waits: bool = False


@dataclass(frozen=True, slots=True)
class Program:
    """Processes of a job that ran the same program, of one launcher if they are ranks.

    Attributes:
        name: of the program, as it was started.
        processes: the one with the most CPU time first.
        pids: of each, None if not recorded.
        cpu_s: recorded CPU time of each, seconds.
        spans_s: start and end of each, in seconds since the start of the job's first process.
        ranked: a launcher numbered them.
    """

    name: str
    processes: tuple[Process, ...]
    pids: tuple[int | None, ...]
    cpu_s: tuple[float, ...]
    spans_s: tuple[tuple[float, float], ...]
    ranked: bool = False

    @property
    def is_crowded(self) -> bool:
        """True if one of its ranks has several processes."""
        return len(self.processes) > len({process.rank for process in self.processes})


@dataclass(frozen=True)
class Run:
    """A run directory: its processes in order of (rank, children last).

    Attributes:
        programs: all programs in the directory, the one with the most CPU time first, if there are several processes;
            `processes` are those of one of them.
        workers: `processes` are not a launcher's ranks, but ran side by side, and were numbered by their pids.
    """

    directory: str
    app: str
    processes: tuple[Process, ...]
    programs: tuple[Program, ...] = ()
    workers: bool = False

    @property
    def is_job(self) -> bool:
        """True if there are several programs, or a rank of one has several processes."""
        return len(self.programs) > 1 or any(program.is_crowded for program in self.programs)

    @property
    def ranks(self) -> tuple[int, ...]:
        """The distinct ranks, ascending."""
        return tuple(sorted({p.rank for p in self.processes}))


# Sample kinds (docs/reference/formats.md, kind 7).
OWN, LIBRARY, PROFILER, UNKNOWN = range(4)

# Function indices of path nodes without a function (docs/reference/formats.md, kind 6).
ROOT, ELIDED, BROKEN = -1, -2, -3


@dataclass(frozen=True)
class Arcs:
    """Calls per interval as a long table, all shape (m,): one row per (interval, caller, callee), in that order.

    `caller` is -1 if it lies outside the known functions. `count` has 64 bits, the others 32.
    """

    interval: IntArray
    caller: IntArray
    callee: IntArray
    count: IntArray


@dataclass(frozen=True)
class PathTree:
    """Call paths as a trie; all shape (p,). Node 0 is the root; a parent comes before its children.

    `function` indexes the profile's functions, or is ROOT, ELIDED or BROKEN (outer frames unknown: not unwound, or lost
    with a damaged part of the file). `address` is the sampled instruction (leaf) or the call instruction's last byte.
    """

    parent: IntArray
    function: IntArray
    address: IntArray


@dataclass(frozen=True)
class Inlined:
    """Inlined functions at the addresses of call paths: at node i function[first[i]:first[i + 1]], outermost first.

    Attributes:
        first: (p + 1,).
        function: (m,) indices of the profile's functions.
        beside: for an inlined function, by its index, functions called about as often as it from the same loop;
            functions without such data are missing.
    """

    first: IntArray
    function: IntArray
    beside: Mapping[int, tuple[int, ...]]

    def by_node(self) -> dict[int, list[int]]:
        """Return the functions at each path node that has any."""
        function = self.function.tolist()
        nodes = np.flatnonzero(np.diff(self.first))
        return {node: function[self.first[node] : self.first[node + 1]] for node in nodes.tolist()}

    def nodes_of(self, function: int) -> IntArray:
        """Return the path nodes at which a function is inlined, ascending, each once."""
        places = np.flatnonzero(self.function == function)
        return distinct(np.searchsorted(self.first, places, side="right") - 1)


@dataclass(frozen=True)
class Samples:
    """The samples in time order; all shape (s,).

    `kind` has 8 bits, the other numbers 32: a day of samples is long. Samples of dense sampling windows (recording.md)
    have no weight; their kind is PROFILER, because they count for nothing that is measured in time.

    Attributes:
        time_s: since the start of the run.
        weight: in ticks.
        kind: OWN, LIBRARY, PROFILER or UNKNOWN.
        library: module id of LIBRARY samples, else -1.
    """

    time_s: FloatArray
    thread: IntArray
    node: IntArray
    kind: IntArray
    weight: IntArray
    library: IntArray

    @property
    def is_dense(self) -> BoolArray:
        """Return whether samples belong to dense sampling windows, (s,)."""
        dense: BoolArray = (self.weight == 0) & (self.kind == PROFILER)
        return dense


@dataclass(frozen=True)
class Counters:
    """Per-interval counters, all shape (n,); seconds where the name ends in `_s` (docs/reference/formats.md, kind 2).

    Attributes:
        profiler_s: time in the profiler's hooks: calls times the cost of one, or the time of its samples if that is
            longer.
        suspended_s: time before the interval in which the process was stopped or the machine asleep; not a part of the
            interval's duration.
        delayed_s: time in which the first thread was ready to run, without a processor.
    """

    cpu_s: FloatArray
    thread_s: FloatArray
    collector_s: FloatArray
    handler_s: FloatArray
    profiler_s: FloatArray
    samples: IntArray
    lost: IntArray
    broken: IntArray
    threads: IntArray
    skipped: IntArray
    shortened: IntArray
    suspended_s: FloatArray
    delayed_s: FloatArray

    @property
    def own_s(self) -> FloatArray:
        """CPU time of the profiler in each interval, (n,): its hooks, its thread, its signal handler."""
        return self.profiler_s + self.collector_s + self.handler_s

    @property
    def own_known(self) -> bool:
        """True if the profiler measured its own CPU time: its thread always takes some."""
        return bool(self.own_s.any())


def overhead_pct(own_s: float, cpu_s: float) -> float | None:
    """Return the profiler's CPU seconds in percent of the program's, which is the rest of `cpu_s`.

    None if the profiler did not measure its own; infinite if nothing is left for the program.
    """
    if own_s <= 0:
        return None
    return 100.0 * own_s / (cpu_s - own_s) if own_s < cpu_s else inf


@dataclass(frozen=True)
class IntervalProfile:
    """One process, interval by interval. n intervals, f functions, p path nodes.

    Attributes:
        start_s: (n,) seconds since the start of the run.
        end_s: (n,) seconds since the start of the run.
        self_s: sparse (n, f), seconds of self time (library time included, see the reader's `libs`).
        calls: sparse (n, f), calls of the function.
        paths: empty if the input has none (gmon directories).
        samples: empty if the input has none.
        arcs: empty if the input has none.
        inlined: functions that have self time, but no frame of their own on the paths; None if they were not looked up.
        code_loops: loops of the machine code; None if it was not analysed, as for runs whose calls are counted.
        warnings: problems of the input, a line each.
        damaged: data was dropped (exit code 5).
    """

    metadata: Metadata
    start_s: FloatArray
    end_s: FloatArray
    functions: tuple[Function, ...]
    self_s: csr_array
    calls: csr_array
    arcs: Arcs
    paths: PathTree
    samples: Samples
    counters: Counters
    warnings: tuple[str, ...] = ()
    damaged: bool = False
    inlined: Inlined | None = None
    code_loops: CodeLoops | None = None

    def __repr__(self) -> str:
        """Return one line: all fields would fill pages."""
        about = f"{self.metadata.app!r}, rank {self.metadata.rank}, {self.n_intervals} intervals"
        return f"<IntervalProfile: {about}, {len(self.functions)} functions, {len(self.samples.time_s)} samples>"

    @property
    def n_intervals(self) -> int:
        """Number of intervals."""
        return len(self.end_s)

    @property
    def counted(self) -> bool:
        """True if calls were counted: without -pg, call counts are estimated from samples."""
        return not self.metadata.modules or any(module.app and module.counts for module in self.metadata.modules)

    @cached_property
    def counts_of(self) -> BoolArray:
        """Return whether calls of each function are counted, (f,): not those of a library built without -pg."""
        uncounted = {m.name for m in self.metadata.modules if m.app and not m.counts}
        counted = self.counted
        return np.array([counted and f.module not in uncounted for f in self.functions], dtype=np.bool_)

    @property
    def off_cpu_s(self) -> FloatArray:
        """Thread time off the CPU per interval, shape (n,), seconds."""
        busy = self.counters.cpu_s - self.counters.collector_s
        return np.maximum(self.counters.thread_s - busy, 0.0)

    @property
    def overhead_pct(self) -> float | None:
        """The profiler's addition to the process's CPU time, percent of the program's own.

        None if the recording did not measure it, as in gmon files and imported profiles; infinite if the profiler took
        all of it.
        """
        return overhead_pct(float(self.counters.own_s.sum()), float(self.counters.cpu_s.sum()))

    def interval_of_samples(self) -> IntArray:
        """Interval index of each sample, shape (s,)."""
        time, last = self.samples.time_s, max(self.n_intervals - 1, 0)
        if np.any(time[1:] < time[:-1]):
            return np.minimum(np.searchsorted(self.end_s, time, side="left"), last).astype(np.int64)
        # Searching a few boundaries among many samples is much faster than the reverse.
        until = np.searchsorted(time, self.end_s[:-1], side="right")
        edges = np.concatenate([[0], until, [len(time)]])
        return np.repeat(np.arange(last + 1, dtype=np.int64), np.diff(edges))

    @cached_property
    def tree(self) -> CallTree:
        """The call tree. Inlined functions that were looked up are children of the functions around them."""
        inlined = {} if self.inlined is None else self.inlined.by_node()
        return build(self.paths.parent, self.paths.function, inlined)

    @cached_property
    def innermost(self) -> IntArray:
        """The function with the self time of each path node, (p,): the innermost of those inlined there, if any."""
        if self.inlined is None or not len(self.inlined.function):
            return self.paths.function
        first = self.inlined.first
        return np.where(np.diff(first) > 0, self.inlined.function[first[1:] - 1], self.paths.function)

    @cached_property
    def own_tree(self) -> CallTree:
        """The call tree without functions that take no heartbeat: libraries, the standard library, comprehensions."""
        return self.tree.without([not function.takes_beats for function in self.functions])

    @cached_property
    def own_node(self) -> IntArray:
        """Tree node of the program itself that each path node counts for, (p,): for a library's node, its caller.

        The time of a path node is spent at this place in the source.
        """
        imported = np.array([*(function.imported for function in self.functions), False], dtype=np.bool_)
        foreign = imported[np.maximum(self.paths.function, -1)]
        return np.where(foreign, self.paths.parent, np.arange(len(foreign))).astype(np.int64)

    def inclusive_s(self) -> csr_array:
        """Inclusive seconds per interval and path node: sparse (n, p). PROFILER samples are left out."""
        from scipy.sparse import csr_array

        n, p = self.n_intervals, len(self.paths.parent)
        use = self.samples.kind != PROFILER
        tick = 1.0 / self.metadata.rate_hz
        row, node = self.interval_of_samples()[use], self.samples.node[use]
        seconds = self.samples.weight[use] * tick
        rows, cols, values = [], [], []
        while len(node):
            rows.append(row)
            cols.append(node)
            values.append(seconds)
            up = node > 0
            row, seconds, node = row[up], seconds[up], self.paths.parent[node[up]]
        if not rows:
            return csr_array((n, p), dtype=np.float64)
        coords = (np.concatenate(rows), np.concatenate(cols))
        return csr_array((np.concatenate(values), coords), shape=(n, p))

    def to_pandas(self) -> pd.DataFrame:
        """Long table of the non-zero entries, by interval and function.

        Columns: interval (from 0), start_s, end_s (seconds since the start of the run), function, module, self_s
        (seconds), calls.
        """
        import pandas as pd

        both = (abs(self.self_s) + abs(self.calls)).tocoo()
        row, col = both.row, both.col
        order = np.lexsort((col, row))
        row, col = row[order], col[order]
        return pd.DataFrame(
            {
                "interval": row.astype(np.int64),
                "start_s": self.start_s[row],
                "end_s": self.end_s[row],
                "function": [encodable(self.functions[c].name) for c in col],
                "module": [encodable(self.functions[c].module) for c in col],
                "self_s": _values_at(self.self_s, row, col),
                "calls": _values_at(self.calls, row, col),
            }
        )


def _values_at(matrix: csr_array, row: IntArray, col: IntArray) -> npt.NDArray[np.generic]:
    """Return a sparse matrix's entries at positions that are sorted by (row, col) and cover all non-zero ones."""
    entries = matrix.tocoo()
    width = np.int64(matrix.shape[1])
    positions = row.astype(np.int64) * width + col
    values = np.zeros(len(positions), dtype=entries.data.dtype)
    use = entries.data != 0
    place = entries.row[use].astype(np.int64) * width + entries.col[use]
    values[np.searchsorted(positions, place)] = entries.data[use]
    return values
