"""From a trace to the numbers that phases are found in."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from incprof.analysis.signature.events import Channel, EventKind, ProcessEvents
from incprof.analysis.signature.order import COLLECTIVE, LOCAL, RECEIVE, SEND
from incprof.model import IntArray
from incprof.model.mpi import Call, Message, MpiObject, Site
from incprof.readers.trace import Trace, open_trace

# Calls that look whether something has come: as often as it takes. One that finds nothing is part of the next event.
LOOKING = frozenset({"test", "probe"})
# Different calls whose numbers are kept at hand.
MOST_CALLS = 1 << 16


# File and line of call sites.
Places = Mapping[Site, tuple[str, int]]


class _Known:
    """Numbers of what a call is, for calls that come again: the reader returns the same object for them."""

    def __init__(self, trace: Trace, places: Places):
        self.kinds: dict[str, EventKind] = {}
        self.channels: dict[Channel, int] = {}
        self._numbers: dict[str, int] = {}
        self._calls: dict[int, tuple[Call, tuple[int, int, int, int]]] = {}
        self._rank, self._ranks, self._places = trace.metadata.rank, trace.metadata.ranks, places

    def of(self, call: Call) -> tuple[int, int, int, int]:
        """Return the kind of a call, its role and channel, and whether all take part in it."""
        found = self._calls.get(id(call))
        if found is None:
            if len(self._calls) >= MOST_CALLS:
                self._calls.clear()
            role, channel = _partner(call, self._rank)
            number = -1 if channel is None else self.channels.setdefault(channel, len(self.channels))
            # The call itself is kept, so that no other object gets its address.
            found = self._calls[id(call)] = (call, (self._kind(call), role, number, int(self._is_of_all(call))))
        return found[1]

    def _kind(self, call: Call) -> int:
        place = self._places.get(call.site) if call.site is not None else None
        kind = EventKind(call.function, call.site, *(place or (None, None)))
        self.kinds.setdefault(kind.key, kind)
        return self._numbers.setdefault(kind.key, len(self._numbers))

    def _is_of_all(self, call: Call) -> bool:
        whole = call.where is not None and call.where.kind == "comm" and call.where.size == self._ranks
        return call.kind == "collective" and whole and not call.failed


def process_events(path: str, places: Places) -> ProcessEvents:
    """Read the trace of a process. places: of its calls, as far as they are known.

    Raises:
        NoDataError: it cannot be read, or is none.
        IncprofError: it is of a later version.
    """
    with open_trace(path) as trace:
        known = _Known(trace, places)
        ends, work, numbers = list[int](), list[int](), list[tuple[int, int, int, int]]()
        for event in trace.events():
            call = event.call
            if call.kind in LOOKING and call.value == 0:
                continue
            ends.append(event.end_ns)
            work.append(event.work_ns)
            numbers.append(known.of(call))
        return _events(trace, known, np.array(ends, dtype=np.int64), work, numbers)


def _events(
    trace: Trace, known: _Known, end: IntArray, work: list[int], numbers: list[tuple[int, int, int, int]]
) -> ProcessEvents:
    # Threads have blocks of their own.
    order = np.argsort(end, kind="stable")
    columns: IntArray = np.array(numbers, dtype=np.int64).reshape(-1, 4)[order]
    start = trace.metadata.raw.get("start_mono_ns")
    return ProcessEvents(
        rank=trace.metadata.rank,
        app=trace.metadata.app,
        kinds=tuple(known.kinds.values()),
        kind=columns[:, 0],
        tick_s=np.diff(end[order], prepend=0) * 1e-9,
        work_s=np.array(work, dtype=np.float64)[order] * 1e-9,
        together=columns[:, 3].astype(np.bool_),
        role=columns[:, 1],
        channel=columns[:, 2],
        channels=tuple(known.channels),
        aet_s=max(trace.end.end_ns, int(end.max(initial=0))) * 1e-9,
        clean=trace.end.how is not None and not (trace.end.damaged or trace.end.torn or trace.end.lost),
        start_mono_ns=start if isinstance(start, int) else None,
    )


def sites_of(path: str) -> set[Site]:
    """Return where the calls of a process are."""
    with open_trace(path) as trace:
        return {event.call.site for event in trace.events() if event.call.site is not None}


def _partner(call: Call, rank: int) -> tuple[int, Channel | None]:
    """Return the role of a call in the order of all processes, and whom it meets."""
    if call.kind in ("collective", "comm") and call.where is not None:
        return COLLECTIVE, ("all", *call.where.members, *call.where.remote)
    if call.kind in ("send", "isend") and call.message is not None and call.where is not None:
        return _channel(SEND, call.message, call.where, rank)
    # Of a call that completes several receives, the first: the others are on channels of their own.
    came = [(one.message, one.where) for one in call.completed]
    if call.kind == "receive":
        came = [(call.actual or call.message, call.where)]
    return next(
        (_channel(RECEIVE, message, where, rank) for message, where in came if message and where), (LOCAL, None)
    )


def _channel(role: int, message: Message, where: MpiObject, rank: int) -> tuple[int, Channel | None]:
    """Return the channel of a message: sender, receiver, communicator and tag."""
    other = message.rank_in(where)
    peer = None if other is None else where.world_rank(other)
    if peer is None:
        return LOCAL, None
    ends = (rank, peer) if role == SEND else (peer, rank)
    return role, ("one", *ends, message.tag, *where.members)
