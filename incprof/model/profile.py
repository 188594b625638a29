"""What a recorded run is, once its files have been read.

Times are seconds, addresses are link-time addresses of their module, and every array says its shape. Nothing here
reads files or computes phases.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from incprof.model.arrays import BoolArray, FloatArray, IntArray, distinct
from incprof.model.calltree import CallTree, build
from incprof.model.code_loops import CodeLoops
from incprof.printable import encodable

if TYPE_CHECKING:
    import pandas as pd
    from scipy.sparse import csr_array


# Sample kinds (docs/formats.md, kind 7).
OWN, LIBRARY, PROFILER, UNKNOWN = range(4)

# Mangled names of what lies in namespaces of the C++ library: std, its containers and streams, __gnu_cxx, __cxxabiv1.
STANDARD = re.compile(r"_Z+(?:N[KVr]*[RO]?)?(?:S[tabsiod]|9__gnu_cxx|10__cxxabiv1)")

# Function indices of path nodes that stand for no function (docs/formats.md, kind 6).
ROOT, ELIDED, BROKEN = -1, -2, -3


@dataclass(frozen=True, slots=True)
class Code:
    """A function of an interpreted language. name: as the language spells it, with what encloses it. line: its first.

    version: the interpreter's, 0x30b for 3.11. table: which instructions are on which line, as that version has it.
    """

    name: str
    line: int
    version: int
    table: bytes


@dataclass(frozen=True, slots=True)
class Module:
    """A loaded ELF object. `app`: its functions are kept as frames. `counts`: of those, calls of some are counted.

    imports: functions of libraries that the code at an address calls, where the recording says so.
    code: it is no object, but this function of the file `path`, and addresses are distances from its first instruction.
    map: it is code that was made in the run, whose names are in this file of the run's `symbols` (perf's map files).
    """

    id: int
    path: str
    build_id: str | None
    low: int
    high: int
    app: bool
    counts: bool = True
    imports: Mapping[int, str] = field(default_factory=dict, hash=False, compare=False)
    code: Code | None = None
    map: str | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """A function: identity is (module, mangled name); `name` is for people. `file` and `line` are None without -g.

    address: 0 for one that was inlined wherever it was sampled. system: it came with the system, the compiler or an
    installed package, and no heartbeat is put there. imported: it is one of a shared library, or a whole library,
    that a function of the program called: no heartbeat can go there. code: that of an interpreted language; its
    `address` is 0.
    """

    module: str
    mangled: str
    name: str
    address: int
    file: str | None = None
    line: int | None = None
    system: bool = False
    imported: bool = False
    code: Code | None = None

    @property
    def is_code(self) -> bool:
        """False for what only keeps time that no function of the program has: `MPI_Barrier`, `[libm.so.6]`."""
        return not self.imported and not self.name.startswith("[")

    @property
    def is_mark(self) -> bool:
        """Whether it is no function: a stretch that the program has marked, or what ran on a device, of an import."""
        return self.name.startswith("[") and not (self.imported or self.is_nameless)

    @property
    def is_nameless(self) -> bool:
        """Whether it stands for all code of a module that no symbol names, such as `[unknown in app]`."""
        return self.name.startswith("[unknown in ")

    @property
    def is_library(self) -> bool:
        """Whether it is none of the program's own: of a library, a package or a header, or a mark."""
        return self.imported or self.is_mark or self.system or STANDARD.match(self.mangled) is not None


@dataclass(frozen=True, slots=True)
class Process:
    """One recorded process of a run: a rank, or a child of one.

    path: its stream. series: it has left a gmon file for each interval instead, and `path` is their directory.
    life: which of the programs that a process has become by exec, of those whose files bear its pid, from 1.
    """

    rank: int
    pid: int | None
    path: str
    primary: bool = True
    series: bool = False
    life: int = 1


@dataclass(frozen=True, slots=True)
class Metadata:
    """How a process was recorded. `raw` holds the metadata object as written (docs/formats.md, kind 1).

    pooled: recorded intervals that are taken as one of `interval_s`.
    call_s: what counting a call takes, seconds, as the recording measured it at its start; None where it did not.
    ordered: the samples of an interval are in the order in which they were taken; imported profiles may have none.
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


@dataclass(frozen=True, slots=True)
class Program:
    """Processes of a job that ran the same program, of one launcher where they are ranks.

    Attributes:
        name: of the program, as it was started.
        processes: that with the most CPU time first.
        pids: of each, None where it is not known.
        cpu_s: CPU time of each, as far as it is on record, seconds.
        ranked: a launcher has numbered them.
    """

    name: str
    processes: tuple[Process, ...]
    pids: tuple[int | None, ...]
    cpu_s: tuple[float, ...]
    ranked: bool = False

    @property
    def is_crowded(self) -> bool:
        """Whether one of its ranks has several processes."""
        return len(self.processes) > len({process.rank for process in self.processes})


@dataclass(frozen=True)
class Run:
    """A run directory: its processes in order of (rank, children last).

    Attributes:
        programs: all that the directory holds, that with the most CPU time first, where there are several processes;
            `processes` are those of one of them.
        workers: `processes` are no ranks of a launcher's, but worked side by side, and were numbered by their pids.
    """

    directory: str
    app: str
    processes: tuple[Process, ...]
    programs: tuple[Program, ...] = ()
    workers: bool = False

    @property
    def is_job(self) -> bool:
        """Whether there are several programs, or a rank of one has several processes."""
        return len(self.programs) > 1 or any(program.is_crowded for program in self.programs)

    @property
    def ranks(self) -> tuple[int, ...]:
        """The distinct ranks, ascending."""
        return tuple(sorted({p.rank for p in self.processes}))


@dataclass(frozen=True)
class Arcs:
    """Calls per interval as a long table, all shape (m,): one row per (interval, caller, callee), in that order.

    `caller` is -1 when it lies outside the known functions. `count` has 64 bits, the others 32.
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


def module_label(path: str) -> str:
    """The name of a module where it stands for what runs in it: `[libm.so.6]`; the kernel's `[vdso]` has its own."""
    name = path.rpartition("/")[2]
    return name if name.startswith("[") else f"[{name}]"


@dataclass(frozen=True)
class Inlined:
    """Inlined functions at the addresses of call paths: at node i function[first[i]:first[i + 1]], outermost first.

    first: (p + 1,). function: (m,) indexes the profile's functions. beside: functions that are called about as often as
    an inlined one, from the same loop, by its index; those that nothing is known of are missing.
    """

    first: IntArray
    function: IntArray
    beside: Mapping[int, tuple[int, ...]]

    def by_node(self) -> dict[int, list[int]]:
        """The functions at the path nodes that have some."""
        function = self.function.tolist()
        nodes = np.flatnonzero(np.diff(self.first))
        return {node: function[self.first[node] : self.first[node + 1]] for node in nodes.tolist()}

    def nodes_of(self, function: int) -> IntArray:
        """The path nodes that a function is inlined at, ascending; each once."""
        places = np.flatnonzero(self.function == function)
        return distinct(np.searchsorted(self.first, places, side="right") - 1)


@dataclass(frozen=True)
class Samples:
    """The samples in time order; all shape (s,). `time_s` is since the start of the run, `weight` in ticks.

    `kind` is OWN, LIBRARY, PROFILER or UNKNOWN; `library` is the module id of LIBRARY samples, else -1. `kind` has 8
    bits, the other numbers 32: a day of them is long. Looks of bursts (docs/collector.md) have no weight; PROFILER is
    their kind, as they count for nothing that is reckoned in time.
    """

    time_s: FloatArray
    thread: IntArray
    node: IntArray
    kind: IntArray
    weight: IntArray
    library: IntArray

    @property
    def is_look(self) -> BoolArray:
        """Whether they are looks of bursts, (s,)."""
        looks: BoolArray = (self.weight == 0) & (self.kind == PROFILER)
        return looks


@dataclass(frozen=True)
class Counters:
    """Per-interval counters, all shape (n,); seconds where the name ends in `_s` (docs/formats.md, kind 2).

    profiler_s: in the profiler's hooks: calls times what one costs, or the time of its samples if that is more.
    suspended_s: time before the interval in which the process stood still, and the machine's sleep in it. It is no part
    of the interval's duration.
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

    @property
    def own_s(self) -> FloatArray:
        """CPU time of the profiler in each interval, (n,): its hooks, its thread, its signal handler."""
        return self.profiler_s + self.collector_s + self.handler_s

    @property
    def own_known(self) -> bool:
        """Whether the profiler measured its own CPU time: its thread alone always takes some."""
        return bool(self.own_s.any())


def overhead_pct(own_s: float, cpu_s: float) -> float | None:
    """Return what the profiler's CPU seconds are in percent of the program's, which took the rest of `cpu_s`.

    None where the profiler did not measure its own; infinite where it leaves nothing to the program.
    """
    if own_s <= 0:
        return None
    return 100.0 * own_s / (cpu_s - own_s) if own_s < cpu_s else inf


@dataclass(frozen=True)
class IntervalProfile:
    """One process, interval by interval. n intervals, f functions, p path nodes.

    start_s, end_s: (n,) seconds since the start of the run.
    self_s: sparse (n, f), seconds of self time (library time included, see the reader's `libs`).
    calls: sparse (n, f), calls of the function.
    paths, samples, arcs: empty where the input has none (gmon directories).
    inlined: functions that have no frame of their own on the paths; None where they were not looked up.
    code_loops: of the machine code; None where nobody has looked, as in runs whose calls are counted.
    warnings: what was wrong with the input, a line each. damaged: data was dropped (exit code 5).
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
        """One line: all fields would be pages."""
        about = f"{self.metadata.app!r}, rank {self.metadata.rank}, {self.n_intervals} intervals"
        return f"<IntervalProfile: {about}, {len(self.functions)} functions, {len(self.samples.time_s)} samples>"

    @property
    def n_intervals(self) -> int:
        """Number of intervals."""
        return len(self.end_s)

    @property
    def counted(self) -> bool:
        """Whether calls were counted: without -pg, samples alone say how often something is called."""
        return not self.metadata.modules or any(module.app and module.counts for module in self.metadata.modules)

    @cached_property
    def counts_of(self) -> BoolArray:
        """Whether calls of each function are counted, (f,): not those of a library that was built without -pg."""
        uncounted = {PurePath(m.path).name for m in self.metadata.modules if m.app and not m.counts}
        counted = self.counted
        return np.array([counted and f.module not in uncounted for f in self.functions], dtype=np.bool_)

    @property
    def off_cpu_s(self) -> FloatArray:
        """Thread time off the CPU per interval, shape (n,), seconds."""
        busy = self.counters.cpu_s - self.counters.collector_s
        return np.maximum(self.counters.thread_s - busy, 0.0)

    @property
    def overhead_pct(self) -> float | None:
        """By how much the profiler has raised the process's CPU time, percent of the program's own.

        None where the recording did not measure it, as in gmon files and imported profiles; infinite where the profiler
        took all of it.
        """
        return overhead_pct(float(self.counters.own_s.sum()), float(self.counters.cpu_s.sum()))

    def interval_of_samples(self) -> IntArray:
        """Interval index of each sample, shape (s,)."""
        time, last = self.samples.time_s, max(self.n_intervals - 1, 0)
        if np.any(time[1:] < time[:-1]):
            return np.minimum(np.searchsorted(self.end_s, time, side="left"), last).astype(np.int64)
        # Looking up a few borders among many samples is much faster than the other way round.
        until = np.searchsorted(time, self.end_s[:-1], side="right")
        edges = np.concatenate([[0], until, [len(time)]])
        return np.repeat(np.arange(last + 1, dtype=np.int64), np.diff(edges))

    @cached_property
    def tree(self) -> CallTree:
        """The call tree. Inlined functions that were looked up are called by those that they were inlined into."""
        inlined = {} if self.inlined is None else self.inlined.by_node()
        return build(self.paths.parent, self.paths.function, inlined)

    @cached_property
    def own_tree(self) -> CallTree:
        """The call tree without libraries, packages and the standard library's templates: no heartbeat goes there."""
        return self.tree.without([function.is_library for function in self.functions])

    @cached_property
    def own_node(self) -> IntArray:
        """The node of the program's own code that each path node stands for, (p,): of a library's, that of its caller.

        That is where its time is in the source.
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
    """Entries of a sparse matrix at positions that are sorted by (row, col) and hold all its non-zero ones."""
    entries = matrix.tocoo()
    width = np.int64(matrix.shape[1])
    wanted = row.astype(np.int64) * width + col
    values = np.zeros(len(wanted), dtype=entries.data.dtype)
    use = entries.data != 0
    place = entries.row[use].astype(np.int64) * width + entries.col[use]
    values[np.searchsorted(wanted, place)] = entries.data[use]
    return values
