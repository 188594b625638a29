"""A stream that is still being written: each look decodes what was appended since the one before."""

from __future__ import annotations

import copy
import os
from array import array
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from incprof.errors import NoDataError
from incprof.model import IntervalProfile, Metadata, Module, pooled
from incprof.readers.profile_builder import Parts, build_profile
from incprof.readers.stream import images
from incprof.readers.stream.collect import Collected, Sorter, first_metadata
from incprof.readers.stream.decoder import StreamDecoder
from incprof.readers.stream.follow_nodes import GrowingPaths, GrowingSpace
from incprof.readers.stream.follow_parts import joined, pruned
from incprof.readers.stream.gathered import split
from incprof.readers.stream.library_functions import with_library_functions
from incprof.readers.stream.records import Libs
from incprof.readers.stream.regions import with_regions_joined
from incprof.readers.stream.window import Source
from incprof.readers.symbols.machine_code import MachineCode
from incprof.readers.symbols.table import SymbolTable

# So many intervals are decoded at once at most.
MOST_INTERVALS = 1024
# A file that begins like a stream may become one up to this size.
HEAD_BYTES = 1 << 20
# Another file under the same name is told from the old one by its first bytes: the metadata has pid and start.
KNOWN_BYTES = 4096


@dataclass(frozen=True)
class Look:
    """What came since the look before: intervals (None: no new one). more: look again at once, there are others.

    restarted: the file was replaced or cut short, and is read from its beginning again.
    """

    profile: IntervalProfile | None = None
    more: bool = False
    restarted: bool = False


class Follower:
    """Follows one stream. It is opened for reading at each look, and never written to or locked.

    metadata: None until it has been read. ended: its last image is there. n_intervals: those given out so far. holes:
    damaged places that were skipped. first_kept: the first recorded interval of `window`. restarts: how often it was
    replaced, or grouped anew. ticks: samples of each recorded interval.

    by: so many recorded intervals are given out as one, from the first on; fewer at the end only. flush: nothing more
    comes, though the stream has no end.

    load: symbols of a module. code: its machine code, without which no function of a library is named. keep: about so
    many of the last intervals stay for `window`, none if 0.
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
        """Read the stream from its beginning again, and give out so many recorded intervals as one."""
        self.by = by
        self._start_over()

    def look(self) -> Look:
        """Decode what was appended, as far as it is whole; a file that is not there (yet) has nothing.

        Raises: NoDataError when it cannot be read, or is no stream.
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
        """Decode what lies behind the last position, up to MOST_INTERVALS of it."""
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
        """How many recorded intervals are decoded at once at most."""
        return max(MOST_INTERVALS // self.by, 1) * self.by

    def _whole(self, source: Source) -> int:
        """How many recorded intervals behind the last position may be given out now, if there are as many."""
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
        """Read the metadata, if they are there.

        Raises: NoDataError when it is no stream.
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
        """The profile of the intervals that were found."""
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
        """The profile of the last intervals as they were recorded, without functions of libraries; None before any."""
        if not self._parts:
            return None
        return with_regions_joined(build_profile(joined(self._parts, self._paths.tree), self._space))
