"""From a trace to the numbers that phases are found in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from incprof.analysis.signature.events import Channel, EventKind, ProcessEvents
from incprof.analysis.signature.order import COLLECTIVE, LOCAL, RECEIVE, SEND
from incprof.analysis.signature.work import Work, work_of
from incprof.model import IntArray
from incprof.model.mpi import Call, Message, MpiObject, Site
from incprof.readers.trace import Trace, open_trace
from incprof.study.signature.columns import columns
from incprof.study.signature.program import program_of

# Calls that look whether something has come: as often as it takes. One that finds nothing is part of the next event.
LOOKING = frozenset({"test", "probe"})


# File and line of call sites.
Places = Mapping[Site, tuple[str, int]]


class _Known:
    """What different calls are, by the number that each is given: one for all events that are alike."""

    def __init__(self, trace: Trace, places: Places):
        self.kinds: dict[str, EventKind] = {}
        self.channels: dict[Channel, int] = {}
        self._numbers: dict[str, int] = {}
        self._rows: list[tuple[int, int, int, int, int, int]] = []
        self._rank, self._ranks, self._places = trace.metadata.rank, trace.metadata.ranks, places

    def number_of(self, call: Call) -> int:
        """Note what a call is: its kind, role and channel, whether all take part in it, and whether it counts."""
        if counts(call):
            role, channel = _partner(call, self._rank)
            number = -1 if channel is None else self.channels.setdefault(channel, len(self.channels))
            self._rows.append((self._kind(call), role, number, int(is_of_all(call, self._ranks)), 1, _bytes(call)))
        else:
            self._rows.append((0, LOCAL, -1, 0, 0, -1))
        return len(self._rows) - 1

    @property
    def table(self) -> IntArray:
        """What was noted, (calls, 6)."""
        return np.array(self._rows, dtype=np.int64).reshape(-1, 6)

    def _kind(self, call: Call) -> int:
        place = self._places.get(call.site) if call.site is not None else None
        kind = EventKind(call.function, call.site, *(place or (None, None)))
        self.kinds.setdefault(kind.key, kind)
        return self._numbers.setdefault(kind.key, len(self._numbers))


def _bytes(call: Call) -> int:
    """Return the bytes of the message that a call sends or asks for; -1 where it has none."""
    size = call.message.bytes if call.message is not None else None
    return -1 if size is None else min(size, 1 << 62)


def counts(call: Call) -> bool:
    """Tell whether a call is an event: one that looks for something, and finds nothing, belongs to the next event."""
    return call.kind not in LOOKING or call.value != 0


def is_of_all(call: Call, ranks: int | None) -> bool:
    """Tell whether all processes of a run take part in a call, and all come out of it at once."""
    whole = call.where is not None and call.where.kind == "comm" and call.where.size == ranks
    return call.kind == "collective" and whole and not call.failed


def process_events(path: str, places: Places) -> ProcessEvents:
    """Read the trace of a process. places: of its calls, as far as they are known.

    Raises:
        NoDataError: it cannot be read, or is none.
        IncprofError: it is of a later version.
    """
    with open_trace(path, keep_counts=True) as trace:
        known = _Known(trace, places)
        found, stretches = list[tuple[IntArray, IntArray, IntArray]](), list[tuple[int, int, int]]()
        for one in columns(trace, known.number_of):
            found.append((one.call.astype(np.int32), one.end_ns, one.work_ns))
            stretches.append((one.lane, one.first, len(one.call)))
        call, end, work = (
            np.concatenate([np.zeros(0, dtype=np.int64), *parts])
            for parts in (zip(*found, strict=True) if found else ((), (), ()))
        )
        return _events(trace, known, call, end, _amounts(trace, stretches, work))


def _amounts(trace: Trace, stretches: list[tuple[int, int, int]], work_ns: IntArray) -> Work:
    """Return the work before each event, (n,). stretches: lane, first event and number of events of each stretch."""
    ends: dict[int, int] = {}
    for lane, first, count in stretches:
        ends[lane] = max(ends.get(lane, 0), first + count)
    rows = {lane: trace.counts.of(lane, count) for lane, count in ends.items()}
    counts = [rows[lane][first : first + count] for lane, first, count in stretches]
    empty = np.zeros((0, len(trace.metadata.counters)))
    known = trace.metadata
    return work_of(
        work_ns.astype(np.float64) * 1e-9, known.counters, np.concatenate([empty, *counts]), known.counters_missing
    )


def _events(trace: Trace, known: _Known, call: IntArray, end: IntArray, work: Work) -> ProcessEvents:
    table = known.table
    kept = np.flatnonzero(table[call, 4])
    # Threads have blocks of their own.
    order = kept[np.argsort(end[kept], kind="stable")]
    rows, last = table[call[order]], end[order]
    start = trace.metadata.raw.get("start_mono_ns")
    return ProcessEvents(
        rank=trace.metadata.rank,
        ranks=trace.metadata.ranks,
        app=trace.metadata.app,
        kinds=tuple(known.kinds.values()),
        kind=rows[:, 0].copy(),
        tick_s=np.diff(last, prepend=0) * 1e-9,
        work=replace(work, amount=work.amount[order]),
        bytes=rows[:, 5].copy(),
        together=rows[:, 3].astype(np.bool_),
        role=rows[:, 1].copy(),
        channel=rows[:, 2].copy(),
        channels=tuple(known.channels),
        aet_s=max(trace.end.end_ns, int(last.max(initial=0))) * 1e-9,
        clean=trace.end.how is not None and not (trace.end.damaged or trace.end.torn or trace.end.lost),
        program=program_of(trace.metadata, (kind.site for kind in known.kinds.values())),
        start_mono_ns=start if isinstance(start, int) else None,
    )


def sites_of(path: str) -> set[Site]:
    """Return where the calls of a process are."""
    sites: set[Site] = set()

    def noted(call: Call) -> int:
        if call.site is not None:
            sites.add(call.site)
        return 0

    with open_trace(path) as trace:
        for _ in columns(trace, noted):
            pass
    return sites


def _partner(call: Call, rank: int) -> tuple[int, Channel | None]:
    """Return the role of a call in the order of all processes, and whom it meets."""
    if call.kind in ("collective", "comm") and call.where is not None:
        return COLLECTIVE, ("all", *call.where.members, *call.where.remote)
    if call.kind in ("send", "isend") and call.message is not None and call.where is not None:
        return message_channel(SEND, call.message, call.where, rank)
    # Of a call that completes several receives, the first: the others are on channels of their own.
    came = [(one.message, one.where) for one in call.completed]
    if call.kind == "receive":
        came = [(call.actual or call.message, call.where)]
    return next(
        (message_channel(RECEIVE, message, where, rank) for message, where in came if message and where), (LOCAL, None)
    )


def message_channel(role: int, message: Message, where: MpiObject, rank: int) -> tuple[int, Channel | None]:
    """Return the channel of a message: sender, receiver, communicator and tag."""
    other = message.rank_in(where)
    peer = None if other is None else where.world_rank(other)
    if peer is None:
        return LOCAL, None
    ends = (rank, peer) if role == SEND else (peer, rank)
    return role, ("one", *ends, message.tag, *where.members)
