"""The events of traced processes as arrays, with the source places of their calls."""

from __future__ import annotations

import hashlib
import os
import shlex
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from incprof.errors import IncprofError
from incprof.model import IntArray
from incprof.safe.inputs import open_input
from incprof.symbols.elf import ElfFile
from incprof.systems.mpi.analyse.mpi_events import (
    COLLECTIVE,
    LOCAL,
    RECEIVE,
    SEND,
    Channel,
    EventKind,
    ProcessEvents,
    Work,
    work_of,
)
from incprof.systems.mpi.trace_file import Trace
from incprof.systems.mpi.trace_types import Call, Message, MpiObject, Program, Site, TraceMetadata

# Calls that poll, any number of times. One without a result is part of the next event.
POLLING = frozenset({"test", "probe"})


# File and line of call sites.
Places = Mapping[Site, tuple[str, int]]


class _CallTable:
    """The distinct calls of a process, numbered; equal events have the same number."""

    def __init__(self, trace: Trace, places: Places):
        self.kinds: dict[str, EventKind] = {}
        self.channels: dict[Channel, int] = {}
        self._numbers: dict[str, int] = {}
        self._rows: list[tuple[int, int, int, int, int, int]] = []
        self._rank, self._ranks, self._places = trace.metadata.rank, trace.metadata.ranks, places

    def number_of(self, call: Call) -> int:
        """Record a call: its kind, role and channel, whether all processes take part, and whether it is an event."""
        if counts(call):
            role, channel = _partner(call, self._rank)
            number = -1 if channel is None else self.channels.setdefault(channel, len(self.channels))
            self._rows.append((self._kind(call), role, number, int(is_of_all(call, self._ranks)), 1, _bytes(call)))
        else:
            self._rows.append((0, LOCAL, -1, 0, 0, -1))
        return len(self._rows) - 1

    @property
    def table(self) -> IntArray:
        """The recorded calls, (calls, 6)."""
        return np.array(self._rows, dtype=np.int64).reshape(-1, 6)

    def _kind(self, call: Call) -> int:
        place = self._places.get(call.site) if call.site is not None else None
        kind = EventKind(call.function, call.site, *(place or (None, None)))
        self.kinds.setdefault(kind.key, kind)
        return self._numbers.setdefault(kind.key, len(self._numbers))


def _bytes(call: Call) -> int:
    """Return the bytes of the message that a call sends or requests; -1 without a message."""
    size = call.message.bytes if call.message is not None else None
    return -1 if size is None else min(size, 1 << 62)


def counts(call: Call) -> bool:
    """Return whether a call is an event: a probe or test without a result belongs to the next event."""
    return call.kind not in POLLING or call.value != 0


def is_of_all(call: Call, ranks: int | None) -> bool:
    """Return whether all processes of a run take part in a call and leave it together."""
    is_world = call.where is not None and call.where.kind == "comm" and call.where.size == ranks
    return call.kind == "collective" and is_world and not call.failed


def process_events(path: str, places: Places) -> ProcessEvents:
    """Read the trace of a process. places: source places of its calls, as far as known.

    Raises:
        NoDataError: it cannot be read, or is not a trace.
        IncprofError: it is of a later version.
    """
    with Trace(path, keep_counts=True) as trace:
        calls = _CallTable(trace, places)
        columns_read, pieces = list[tuple[IntArray, IntArray, IntArray]](), list[tuple[int, int, int]]()
        for one in trace.columns(calls.number_of):
            columns_read.append((one.call.astype(np.int32), one.end_ns, one.work_ns))
            pieces.append((one.lane, one.first, len(one.call)))
        call, end, work = (
            np.concatenate([np.zeros(0, dtype=np.int64), *parts])
            for parts in (zip(*columns_read, strict=True) if columns_read else ((), (), ()))
        )
        return _events(trace, calls, call, end, _amounts(trace, pieces, work))


def _amounts(trace: Trace, pieces: list[tuple[int, int, int]], work_ns: IntArray) -> Work:
    """Return the work before each event, (n,). pieces: lane, first event and number of events of each piece."""
    ends: dict[int, int] = {}
    for lane, first, count in pieces:
        ends[lane] = max(ends.get(lane, 0), first + count)
    rows = {lane: trace.counts.of(lane, count) for lane, count in ends.items()}
    counts = [rows[lane][first : first + count] for lane, first, count in pieces]
    empty = np.zeros((0, len(trace.metadata.counters)))
    metadata = trace.metadata
    return work_of(
        work_ns.astype(np.float64) * 1e-9,
        metadata.counters,
        np.concatenate([empty, *counts]),
        metadata.counters_missing,
    )


def _events(trace: Trace, calls: _CallTable, call: IntArray, end: IntArray, work: Work) -> ProcessEvents:
    table = calls.table
    kept = np.flatnonzero(table[call, 4])
    # Threads have blocks of their own.
    order = kept[np.argsort(end[kept], kind="stable")]
    rows, last = table[call[order]], end[order]
    start = trace.metadata.raw.get("start_mono_ns")
    return ProcessEvents(
        rank=trace.metadata.rank,
        ranks=trace.metadata.ranks,
        app=trace.metadata.app,
        kinds=tuple(calls.kinds.values()),
        kind=rows[:, 0].copy(),
        tick_s=np.diff(last, prepend=0) * 1e-9,
        work=replace(work, amount=work.amount[order]),
        bytes=rows[:, 5].copy(),
        together=rows[:, 3].astype(np.bool_),
        role=rows[:, 1].copy(),
        channel=rows[:, 2].copy(),
        channels=tuple(calls.channels),
        aet_s=max(trace.end.end_ns, int(last.max(initial=0))) * 1e-9,
        clean=trace.end.how is not None and not (trace.end.damaged or trace.end.torn or trace.end.lost),
        program=program_of(trace.metadata, (kind.site for kind in calls.kinds.values())),
        start_mono_ns=start if isinstance(start, int) else None,
    )


def sites_of(path: str) -> set[Site]:
    """Return the call sites of a process."""
    sites: set[Site] = set()

    def noted(call: Call) -> int:
        if call.site is not None:
            sites.add(call.site)
        return 0

    with Trace(path) as trace:
        for _ in trace.columns(noted):
            pass
    return sites


def _partner(call: Call, rank: int) -> tuple[int, Channel | None]:
    """Return the role of a call in the order of all processes, and its channel."""
    if call.kind in ("collective", "comm") and call.where is not None:
        return COLLECTIVE, ("all", *call.where.members, *call.where.remote)
    if call.kind in ("send", "isend") and call.message is not None and call.where is not None:
        return message_channel(SEND, call.message, call.where, rank)
    # If a call completes several receives, the first is used: the others are on channels of their own.
    received = [(one.message, one.where) for one in call.completed]
    if call.kind == "receive":
        received = [(call.actual or call.message, call.where)]
    return next(
        (message_channel(RECEIVE, message, where, rank) for message, where in received if message and where),
        (LOCAL, None),
    )


def message_channel(role: int, message: Message, where: MpiObject, rank: int) -> tuple[int, Channel | None]:
    """Return the channel of a message: sender, receiver, communicator and tag."""
    other = message.rank_in(where)
    peer = None if other is None else where.world_rank(other)
    if peer is None:
        return LOCAL, None
    ends = (rank, peer) if role == SEND else (peer, rank)
    return role, ("one", *ends, message.tag, *where.members)


# The identity of a traced program: its arguments, the files that these name, and its binaries.


# Of larger files, only the beginning and the size are compared.
MOST_BYTES = 1 << 26
MOST_ARGUMENTS = 10_000
# Characters of the arguments in a message.
MOST_SHOWN = 60

# Possible differences between a signature and a run, in the words of --accept.
DIFFERENCES = ("arguments", "input", "binary")


def program_of(metadata: TraceMetadata, sites: Iterable[Site | None]) -> Program:
    """Return the program of a traced process. sites: its call sites."""
    argv, cwd = metadata.raw.get("argv"), metadata.raw.get("cwd")
    words = [str(word) for word in argv[1:MOST_ARGUMENTS]] if isinstance(argv, list) else []
    modules = {os.path.basename(one.module): one.build_id for one in sites if one is not None and one.build_id}
    files = files_of(words, cwd if isinstance(cwd, str) else "", metadata.start_unix_ns)
    return Program(tuple(words), files, dict(sorted(modules.items())))


def program_here(path: str, arguments: Sequence[str]) -> Program:
    """Return the program that will run in this directory. path: path of the program."""
    try:
        build_id = ElfFile(path).build_id
    except IncprofError:
        build_id = None
    modules = {os.path.basename(path): build_id} if build_id else {}
    return Program(tuple(arguments), files_of(arguments, os.getcwd(), time.time_ns()), modules)


def files_of(words: Iterable[str], cwd: str, start_unix_ns: int) -> dict[int, str]:
    """Return the digests of the arguments that name a file, alone or after "=", by position.

    Args:
        words: The arguments.
        cwd: Directory of relative paths.
        start_unix_ns: Files written after this time are not input.
    """
    digest_of = {}
    for place, word in enumerate(words):
        names = [word, word.partition("=")[2]] if "=" in word else [word]
        digests = [_digest(os.path.join(cwd, name), start_unix_ns) for name in names if name]
        if any(digests):
            digest_of[place] = next(digest for digest in digests if digest)
    return digest_of


def _digest(path: str, start_unix_ns: int) -> str | None:
    """Return a digest of a file's beginning and size; None if it is not a file, or was written later."""
    try:
        with open_input(path) as file:
            status = os.fstat(file.fileno())
            if status.st_mtime_ns > start_unix_ns:
                return None
            return f"{status.st_size}-{hashlib.blake2b(file.read(MOST_BYTES), digest_size=16).hexdigest()}"
    except OSError:
        return None


def differences(signed: Program, current: Program) -> Iterator[tuple[str, str]]:
    """Yield differences of a run from a signature's program: one of DIFFERENCES, and a line about it."""
    same = len(signed.arguments) == len(current.arguments) and all(
        one == other or (place in signed.files and signed.files[place] == current.files.get(place))
        for place, (one, other) in enumerate(zip(signed.arguments, current.arguments, strict=True))
    )
    if not same:
        signed_arguments = _shown(signed.arguments)
        yield "arguments", f"the arguments are {_shown(current.arguments)}, those of the signature {signed_arguments}"
    else:
        for place, digest in signed.files.items():
            if place < len(current.arguments) and current.files.get(place) != digest:
                yield "input", f"the file {current.arguments[place]} has changed since the signature was made"
    for name, build_id in signed.modules.items():
        other = current.modules.get(name, build_id)
        if other != build_id:
            yield "binary", f"{name} is not the signature's build ({other[:12]}, not {build_id[:12]})"


def other_ranks(ranks: int, ranks_now: int | None) -> Iterator[str]:
    """Yield a line if the number of ranks of a run is known and differs from the signature's."""
    if ranks_now is not None and ranks_now != ranks:
        yield f"it runs on {ranks_now} ranks, but the signature is of {ranks}: run it on {ranks}"


def _shown(arguments: tuple[str, ...]) -> str:
    text = shlex.join(arguments)
    return f"'{text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 3] + '...'}'"
