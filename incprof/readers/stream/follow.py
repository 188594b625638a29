"""Follow a stream that is still being written: each look decodes the data appended since the one before."""

from __future__ import annotations

import copy
import os
from array import array
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from incprof.errors import NoDataError
from incprof.model import Arcs, Counters, IntervalProfile, Metadata, Module, PathTree, Samples, distinct, pooled
from incprof.readers.call_table import CallTable
from incprof.readers.profile_builder import Parts, SelfTime, build_profile
from incprof.readers.stream import images
from incprof.readers.stream.collect import Collected, Sorter, first_metadata
from incprof.readers.stream.decoder import StreamDecoder
from incprof.readers.stream.follow_nodes import GrowingPaths, GrowingSpace
from incprof.readers.stream.library_functions import with_library_functions
from incprof.readers.stream.node_files import split
from incprof.readers.stream.paths import extended
from incprof.readers.stream.records import Libs
from incprof.readers.stream.regions import with_regions_joined
from incprof.readers.stream.window import Source
from incprof.symbols.machine_code import MachineCode
from incprof.symbols.table import SymbolTable

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
class Look:
    """The data appended since the look before.

    Attributes:
        profile: the new intervals; None if there are none.
        more: further data is available; look again at once.
        restarted: the file was replaced or cut short, and is read from its beginning again.
    """

    profile: IntervalProfile | None = None
    more: bool = False
    restarted: bool = False


class Follower:
    """Follows one stream. It is opened for reading at each look, and never written to or locked.

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
        self.ticks: array[float] = array("d")
        self.n_intervals = self.first_kept = self.holes = 0
        self._position = self._end_ns = 0
        self._known, self._size = b"", -1
        self._file: tuple[int, int] | None = None
        self._parts: deque[Parts] = deque()
        self._sorter: Sorter | None = None

    def regroup(self, by: int) -> None:
        """Read the stream from its beginning again, with `by` recorded intervals merged into one."""
        self.by = by
        self._start_over()

    def look(self) -> Look:
        """Decode the complete part of the appended data; a missing file has none (yet).

        Raises: NoDataError if it cannot be read, or is not a stream.
        """
        try:
            found = os.stat(split(self.path)[0])
        except FileNotFoundError:
            return Look()
        except OSError as error:
            raise NoDataError(f"{self.path}: cannot be read: {error.strerror}") from error
        this, restarted = (found.st_dev, found.st_ino), False
        if self._file not in (None, this) or found.st_size < self._position:
            restarted = True
        elif found.st_size == self._size and not self.flush:
            return Look()
        with Source(self.path) as source:
            changed = source.size < self._position or not source.peek(0, KNOWN_BYTES).startswith(self._known)
            if restarted or changed:
                restarted = True
                self._start_over()
            self._file, self._size = this, found.st_size
            return replace(self._take(source), restarted=restarted)

    def _take(self, source: Source) -> Look:
        """Decode the data after the last position, at most MOST_INTERVALS."""
        if self.metadata is None and not self._begin(source):
            return Look()
        assert self.metadata is not None
        assert self._sorter is not None
        found = Collected(source, self.metadata, self._sorter.found.modules, before_ns=self._end_ns)
        most = self._whole(source)
        if most == 0:
            return Look()
        self._sorter.found = found
        more = False
        for image in images.walk(source, found.damage, self._position):
            self.holes += image.after_hole
            complete = self._sorter.take(image)
            self._position = image.offset + image.length
            if complete and found.n_intervals == most:
                more = most == self._most and self._position < source.size
                break
        self._size = -1 if more else self._size
        self.ended = found.ended or (self.ended and not found.n_intervals)
        return Look(self._decode(found), more)

    @property
    def _most(self) -> int:
        """Return the most recorded intervals decoded at once."""
        return max(MOST_INTERVALS // self.by, 1) * self.by

    def _whole(self, source: Source) -> int:
        """Return how many recorded intervals after the last position can be returned now."""
        if self.by == 1:
            return self._most
        assert self.metadata is not None
        assert self._sorter is not None
        trial = copy.copy(self._sorter)
        trial.pending = list(trial.pending)
        trial.found = Collected(source, self.metadata, dict(trial.found.modules), before_ns=self._end_ns)
        for image in images.walk(source, trial.found.damage, self._position):
            trial.take(image)
            if trial.found.n_intervals == self._most:
                return self._most
        n = trial.found.n_intervals
        return self._most if trial.found.ended or self.flush else n - n % self.by

    def _begin(self, source: Source) -> bool:
        """Read the metadata, if present.

        Raises: NoDataError if it is not a stream.
        """
        head = source.bytes_at(0, images.HEADER.size)
        try:
            self.metadata = first_metadata(source) if head else None
        except NoDataError:
            hopeful = images.MAGIC.startswith(head[: len(images.MAGIC)]) and not head.endswith(bytes(12))
            if source.size >= HEAD_BYTES or not (hopeful or len(head) < len(images.MAGIC)):
                raise
        if self.metadata is None:
            return False
        self._known = source.peek(0, KNOWN_BYTES)
        modules = {module.id: module for module in self.metadata.modules}
        self._sorter = Sorter(Collected(source, self.metadata, modules))
        self._space = GrowingSpace(self.metadata.modules, self._load)
        self._paths = GrowingPaths(self._space)
        return True

    def _decode(self, found: Collected) -> IntervalProfile | None:
        """Return the profile of the collected intervals."""
        modules = tuple(found.modules[number] for number in sorted(found.modules))
        if self._space.learn(modules):
            self._paths.look_up_again()
        found.bad_images += self._paths.add(found.nodes, found.source.size)
        if not found.n_intervals:
            return None
        self._end_ns = found.end_ns
        found.metadata = replace(found.metadata, modules=modules)
        parts = StreamDecoder(found, self._space, self._libs, arcs=False).decode_with(
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
