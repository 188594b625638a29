"""Follow a stream that is still being written: each update decodes the data appended since the last."""

from __future__ import annotations

import copy
import os
from array import array
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from incprof.errors import NoDataError
from incprof.model import (
    Arcs,
    Counters,
    Function,
    IntervalProfile,
    Metadata,
    Module,
    PathTree,
    Process,
    Run,
    Samples,
    distinct,
    pooled,
)
from incprof.readers.profile_builder import CallTable, Parts, SelfTime, build_profile
from incprof.readers.run import SERIES, streams
from incprof.readers.stream import stream_files
from incprof.readers.stream.coded_records import NODE_BYTES, ByteArray, NodeDecoder, Nodes
from incprof.readers.stream.collect import MAX_MODULES, MOST_BYTES, Collected, Sorter, first_metadata
from incprof.readers.stream.decoder import ONLY_ROOT, StreamDecoder, extended, path_tree
from incprof.readers.stream.inlined import with_code_loops, with_inlined
from incprof.readers.stream.interval_images import WAITS, IntervalImage
from incprof.readers.stream.library_functions import with_library_functions
from incprof.readers.stream.records import Libs
from incprof.readers.stream.stream_files import Source, split
from incprof.readers.stream.stream_profile import with_regions_joined
from incprof.readers.stream.waits import MAIN_THREAD, called_of, decode
from incprof.safe.jsonstore import InMemory
from incprof.symbols.function_space import FunctionSpace, IntArray, NumberArray
from incprof.symbols.function_table import SymbolTable
from incprof.symbols.modules import MachineCode, SymbolLoader
from incprof.symbols.symbol_files import module_key

# Most intervals decoded at once.
MOST_INTERVALS = 1024
# A file whose contents so far begin like a stream may become one, up to this size.
HEAD_BYTES = 1 << 20
# A replaced file is detected by its first bytes: the metadata contains pid and start.
KNOWN_BYTES = 4096


def joined(parts: Sequence[Parts], tree: PathTree) -> Parts:
    """Join consecutive parts (at least one), with the tree that contains all of their samples.

    The result shares nothing that building a profile modifies.
    """
    lengths = [len(part.end_s) for part in parts]
    firsts = (np.cumsum(lengths) - lengths).tolist()
    calls = CallTable()
    self_time: list[SelfTime] = []
    for part, first in zip(parts, firsts, strict=True):
        arcs = part.calls.arcs()
        calls.add(Arcs(arcs.interval + first, arcs.caller, arcs.callee, arcs.count))
        self_time += [SelfTime(time.interval + first, time.function, time.seconds) for time in part.self_time]
    samples = Samples(*(np.concatenate([getattr(p.samples, f.name) for p in parts]) for f in fields(Samples)))
    return replace(
        parts[-1],
        start_s=np.concatenate([part.start_s for part in parts]),
        end_s=np.concatenate([part.end_s for part in parts]),
        counters=Counters(*(np.concatenate([getattr(p.counters, f.name) for p in parts]) for f in fields(Counters))),
        self_time=self_time,
        calls=calls,
        paths=extended(tree, int(samples.node.max(initial=0)) + 1),
        samples=samples,
    )


def pruned(parts: Parts) -> Parts:
    """Return the same, restricted to tree nodes on the path of a sample."""
    tree, samples = parts.paths, parts.samples
    used = np.zeros(len(tree.parent), dtype=bool)
    used[0] = True
    front = distinct(samples.node)
    while len(front := front[~used[front]]):
        used[front] = True
        front = distinct(tree.parent[front])
    place = np.cumsum(used) - 1
    smaller = PathTree(place[tree.parent[used]], tree.function[used], tree.address[used])
    return replace(parts, paths=smaller, samples=replace(samples, node=place[samples.node].astype(np.int32)))


@dataclass(frozen=True)
class NewData:
    """The data appended since the last update.

    Attributes:
        profile: the new intervals; None if there are none.
        more: further data is available; update again at once.
        restarted: the file was replaced or cut short, and is read from its beginning again.
    """

    profile: IntervalProfile | None = None
    more: bool = False
    restarted: bool = False


class Follower:
    """Follows one stream. It is opened for reading at each update, and never written to or locked.

    Attributes:
        metadata: None until it has been read.
        ended: its last image was read.
        n_intervals: number of intervals returned so far.
        holes: damaged places that were skipped.
        first_kept: the first recorded interval of `window`.
        restarts: number of times it was replaced, or regrouped.
        ticks: samples of each recorded interval.
        by: number of recorded intervals merged into one, from the first on; fewer at the end only.
        flush: no more data will come, though the stream has no end.
        wait: what the main thread mostly waited for in the last interval: the library function that the program
            called, if known, and the program's function that called it. Empty if it did not wait, or nothing is known.
        load: returns the symbols of a module.
        code: returns its machine code, required to name functions of libraries.
        keep: approximate number of last intervals kept for `window`, none if 0.
    """

    def __init__(
        self, path: str, load: Callable[[Module], SymbolTable], *, libs: Libs = "caller", keep: int = 0,
        code: Callable[[Module], MachineCode | None] = lambda module: None, by: int = 1,
    ):  # fmt: skip
        self.path = path
        self.by = by
        self.keep = keep
        self.restarts = -1
        self._load, self._libs, self._code = load, libs, code
        self._start_over()

    def _start_over(self) -> None:
        self.metadata: Metadata | None = None
        self.restarts += 1
        self.ended = self.flush = False
        self.wait: tuple[Function, ...] = ()
        self.ticks: array[float] = array("d")
        self.n_intervals = self.first_kept = self.holes = 0
        self._position = self._end_ns = 0
        self._beginning, self._size = b"", -1
        self._file: tuple[int, int] | None = None
        self._parts: deque[Parts] = deque()
        self._sorter: Sorter | None = None

    def regroup(self, by: int) -> None:
        """Read the stream from its beginning again, with `by` recorded intervals merged into one."""
        self.by = by
        self._start_over()

    def poll(self) -> NewData:
        """Decode the complete part of the appended data; a missing file has none (yet).

        Raises: NoDataError if it cannot be read, or is not a stream.
        """
        try:
            status = os.stat(split(self.path)[0])
        except FileNotFoundError:
            return NewData()
        except OSError as error:
            raise NoDataError(f"{self.path}: cannot be read: {error.strerror}") from error
        this, restarted = (status.st_dev, status.st_ino), False
        if self._file not in (None, this) or status.st_size < self._position:
            restarted = True
        elif status.st_size == self._size and not self.flush:
            return NewData()
        with Source(self.path) as source:
            changed = source.size < self._position or not source.peek(0, KNOWN_BYTES).startswith(self._beginning)
            if restarted or changed:
                restarted = True
                self._start_over()
            self._file, self._size = this, status.st_size
            return replace(self._take(source), restarted=restarted)

    def _take(self, source: Source) -> NewData:
        """Decode the data after the last position, at most MOST_INTERVALS."""
        if self.metadata is None and not self._begin(source):
            return NewData()
        assert self.metadata is not None
        assert self._sorter is not None
        collected = Collected(source, self.metadata, self._sorter.collected.modules, before_ns=self._end_ns)
        most = self._available_intervals(source)
        if most == 0:
            return NewData()
        self._sorter.collected = collected
        more, waits = False, b""
        for image in stream_files.walk(source, collected.damage, self._position):
            self.holes += image.after_hole
            complete = self._sorter.take(image)
            self._position = image.offset + image.length
            if image.kind == WAITS:
                waits = source.bytes_at(image.offset, min(image.length, MOST_BYTES))
            if complete and collected.n_intervals == most:
                more = most == self._most_intervals and self._position < source.size
                break
        self._size = -1 if more else self._size
        self.ended = collected.ended or (self.ended and not collected.n_intervals)
        new = NewData(self._decode(collected), more)
        if collected.n_intervals:
            self.wait = self._longest_wait(waits)
        return new

    def _longest_wait(self, payload: bytes) -> tuple[Function, ...]:
        """Return where the main thread waited longest, from an image of waits: see `wait`."""
        decoded = decode([IntervalImage(0, 0, 0, payload)])
        spans = decoded.spans[(decoded.spans[:, 2] == MAIN_THREAD) & (decoded.spans[:, 5] & 3 > 0)]
        waited = np.bincount(spans[:, 6], weights=spans[:, 3], minlength=1)
        waited[0] = 0.0  # at an unknown place
        if not waited.any():
            return ()
        node, frames = decoded.sites[int(waited.argmax()) - 1]
        while 0 < node < len(self._paths.tree.parent) and self._paths.tree.function[node] < 0:
            node = int(self._paths.tree.parent[node])
        own = self._paths.tree.function[node : node + 1]  # none if it is lost
        module, address = (np.array([frame[i] for frame in frames], dtype) for i, dtype in enumerate("lQ"))
        code = [self._space.describe(number)[0] for number in self._space.resolve(module, address).reshape(-1, 1)]
        name = called_of([function.name for function in code])
        called = [function for function in code if name and function.name.split("@", 1)[0] == name][-1:]
        return (*called, *(self._space.describe(np.array([number]))[0] for number in own if number >= 0))

    @property
    def _most_intervals(self) -> int:
        """Return the most recorded intervals decoded at once."""
        return max(MOST_INTERVALS // self.by, 1) * self.by

    def _available_intervals(self, source: Source) -> int:
        """Return how many recorded intervals after the last position can be returned now."""
        if self.by == 1:
            return self._most_intervals
        assert self.metadata is not None
        assert self._sorter is not None
        trial = copy.copy(self._sorter)
        trial.pending = list(trial.pending)
        trial.collected = Collected(source, self.metadata, dict(trial.collected.modules), before_ns=self._end_ns)
        for image in stream_files.walk(source, trial.collected.damage, self._position):
            trial.take(image)
            if trial.collected.n_intervals == self._most_intervals:
                return self._most_intervals
        n = trial.collected.n_intervals
        return self._most_intervals if trial.collected.ended or self.flush else n - n % self.by

    def _begin(self, source: Source) -> bool:
        """Read the metadata, if present.

        Raises: NoDataError if it is not a stream.
        """
        head = source.bytes_at(0, stream_files.HEADER.size)
        try:
            self.metadata = first_metadata(source) if head else None
        except NoDataError:
            hopeful = stream_files.MAGIC.startswith(head[: len(stream_files.MAGIC)]) and not head.endswith(bytes(12))
            if source.size >= HEAD_BYTES or not (hopeful or len(head) < len(stream_files.MAGIC)):
                raise
        if self.metadata is None:
            return False
        self._beginning = source.peek(0, KNOWN_BYTES)
        modules = {module.id: module for module in self.metadata.modules}
        self._sorter = Sorter(Collected(source, self.metadata, modules))
        self._space = GrowingSpace(self.metadata.modules, self._load)
        self._paths = GrowingPaths(self._space)
        return True

    def _decode(self, collected: Collected) -> IntervalProfile | None:
        """Return the profile of the collected intervals."""
        modules = tuple(collected.modules[number] for number in sorted(collected.modules))
        if self._space.add_modules(modules):
            self._paths.look_up_all()
        collected.bad_images += self._paths.add(collected.nodes, collected.source.size)
        if not collected.n_intervals:
            return None
        self._end_ns = collected.end_ns
        collected.metadata = replace(collected.metadata, modules=modules)
        parts = StreamDecoder(collected, self._space, self._libs, arcs=False).decode_with(
            self._paths.nodes, self._paths.tree
        )
        parts.warnings = []
        self._parts.append(parts)
        profile = build_profile(pruned(joined([parts], self._paths.tree)), self._space)
        self.ticks.extend((np.asarray(profile.self_s.sum(axis=1)).ravel() * profile.metadata.rate_hz).tolist())
        while self._parts and len(self.ticks) - self.first_kept - len(self._parts[0].end_s) >= self.keep * self.by:
            self.first_kept += len(self._parts.popleft().end_s)
        profile = pooled(with_library_functions(profile, self._libs, self._code), self.by)
        self.n_intervals += profile.n_intervals
        return profile

    def window(self) -> IntervalProfile | None:
        """Return the profile of the last intervals as recorded, without functions of libraries; None before any."""
        if not self._parts:
            return None
        return with_regions_joined(build_profile(joined(self._parts, self._paths.tree), self._space))


# The call paths of a growing stream: nodes and their functions, looked up once.


class GrowingSpace(FunctionSpace):
    """A FunctionSpace to which modules are added later: every possible module has its number from the start."""

    def __init__(self, modules: Sequence[Module], load: Callable[[Module], SymbolTable]):
        super().__init__(modules, load)
        self._reserve(np.arange(MAX_MODULES, dtype=np.int64))

    def add_modules(self, modules: Sequence[Module]) -> bool:
        """Add new modules; return whether there were any."""
        new = [module for module in modules if not self.has_module(module.id)]
        self._modules.update({module.id: module for module in new})
        return bool(new)

    def library(self, module: IntArray) -> NumberArray:
        """Return numbers that stand for whole modules, same shape; unknown modules share one."""
        is_known = np.isin(module, np.fromiter(self._modules, dtype=np.int64))
        return super().library(np.where(is_known, module, -1))


class GrowingPaths:
    """The trie of a stream as far as it has been read.

    Attributes:
        nodes: as written.
        tree: with functions of the space.
    """

    def __init__(self, space: FunctionSpace):
        self._space = space
        self._decoder = NodeDecoder()
        zero: IntArray = np.zeros(1, dtype=np.int64)
        self.nodes = Nodes(zero, zero, zero, np.zeros(1, dtype=bool), False)
        self.tree = PathTree(zero, ONLY_ROOT, zero)

    def add(self, payloads: Sequence[ByteArray | None], file_size: int) -> int:
        """Add node images in file order; return how many of them are damaged."""
        if not payloads:
            return 0
        old = self.nodes
        new, bad = self._decoder.decode(payloads, file_size // NODE_BYTES)
        parent, module, address, lost = (
            np.concatenate([getattr(old, name), getattr(new, name)]) for name in ("parent", "module", "address", "lost")
        )
        self.nodes = Nodes(parent, module, address, lost, new.more_lost)
        self.tree = path_tree(self.nodes, self._space, self.tree.function)
        return bad

    def look_up_all(self) -> None:
        """Look up every node again, because more modules are known."""
        self.tree = path_tree(self.nodes, self._space)


# Follow a run directory that is still being written: its streams, as they appear.


class SharedSymbols:
    """Symbols for all processes of a run; those that processes share are read once."""

    def __init__(self, directory: str, exe: str | None):
        self._loader = SymbolLoader(directory, exe, nameless=True)
        self._tables: dict[tuple[bool, str], SymbolTable] = {}
        self._machine: dict[tuple[bool, str], MachineCode | None] = {}

    def load(self, module: Module) -> SymbolTable:
        """Return the symbols of a module; a program without any is one nameless function."""
        key = (module.id == 0, module.map or module_key(module))
        if key not in self._tables:
            self._tables[key] = self._loader.load(module)
        return self._tables[key]

    def machine_code(self, module: Module) -> MachineCode | None:
        """Return the machine code of a module, if its binary exists here."""
        key = (module.id == 0, module_key(module))
        if key not in self._machine:
            elf = self._loader.code(module)
            self._machine[key] = MachineCode(elf) if elf else None
        return self._machine[key]


class RunFollower:
    """Follows the streams of a directory, which need not exist yet.

    Attributes:
        rank: follow only this one.
        processes: those found so far, in order of (rank, children last), with the follower of each.
        by: number of recorded intervals merged into one.
    """

    def __init__(self, directory: str, *, rank: int | None = None, libs: Libs = "caller", exe: str | None = None):
        self.directory = directory
        self.processes: list[tuple[Process, Follower]] = []
        self._rank, self._libs, self._exe, self.by = rank, libs, exe, 1
        self._answers = InMemory()
        self._symbols = SharedSymbols(directory, exe)
        self._followers: dict[str, Follower] = {}

    def scan(self) -> None:
        """Look for new streams.

        Raises: NoDataError if the directory is a file, cannot be read, or holds a recording in another form.
        """
        try:
            names = sorted(os.listdir(self.directory))
        except FileNotFoundError:
            return
        except OSError as error:
            raise NoDataError(f"{self.directory}: {error.strerror}: give the directory of a run") from error
        found_streams = streams(self.directory, names)
        if not found_streams and any(SERIES.fullmatch(name) for name in names):
            raise NoDataError(f"{self.directory}: gmon files cannot be followed: record with INCPROF_FORMAT=stream")
        found_streams.sort(key=lambda p: (p.rank, not p.primary, p.pid or 0, p.path))
        for process in found_streams:
            if process.path not in self._followers and self._rank in (None, process.rank):
                self._followers[process.path] = Follower(
                    process.path, self._symbols.load, libs=self._libs, code=self._symbols.machine_code, by=self.by,
                )  # fmt: skip
        self.processes = [
            (process, self._followers[process.path]) for process in found_streams if process.path in self._followers
        ]

    def regroup(self, by: int) -> None:
        """Read all streams from their beginning again, with `by` recorded intervals merged into one."""
        self.by = by
        for follower in self._followers.values():
            follower.regroup(by)

    def finished(self, window: IntervalProfile) -> IntervalProfile:
        """Return a follower's window with inlined and library functions, as `read_profile` would return it.

        May take seconds. May run concurrently with everything but itself. Results from the binaries are looked up once.
        """
        run = Run(self.directory, window.metadata.app, ())
        profile = with_library_functions(window, self._libs, self._symbols.machine_code)
        profile = with_inlined(run, profile, self._libs, exe=self._exe, stores=self._answers)
        return with_code_loops(run, profile, exe=self._exe, stores=self._answers)
