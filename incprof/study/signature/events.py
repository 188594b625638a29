"""From a trace to the numbers that phases are found in."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from incprof.analysis.signature.events import Channel, EventKind, ProcessEvents
from incprof.analysis.signature.order import COLLECTIVE, LOCAL, RECEIVE, SEND
from incprof.model import IntArray
from incprof.model.mpi import Call, Message, MpiObject
from incprof.readers.trace import Trace, open_trace

# Calls that look whether something has come: as often as it takes. One that finds nothing is part of the next event.
LOOKING = frozenset({"test", "probe"})


@dataclass
class _Known:
    """Numbers of what a call is, for calls that come again: the reader returns the same object for them."""

    kinds: dict[EventKind, int] = field(default_factory=dict)
    channels: dict[Channel, int] = field(default_factory=dict)
    calls: dict[int, tuple[Call, int, int, int]] = field(default_factory=dict)

    def of(self, call: Call, rank: int) -> tuple[Call, int, int, int]:
        """Return the call itself, so that no other one takes its place, and its kind, role and channel."""
        found = self.calls.get(id(call))
        if found is None:
            if len(self.calls) >= 1 << 16:
                self.calls.clear()
            kind = self.kinds.setdefault(EventKind(call.function, call.site), len(self.kinds))
            role, channel = _partner(call, rank)
            number = -1 if channel is None else self.channels.setdefault(channel, len(self.channels))
            found = self.calls[id(call)] = (call, kind, role, number)
        return found


def process_events(path: str) -> ProcessEvents:
    """Read the trace of a process.

    Raises:
        NoDataError: it cannot be read, or is none.
        IncprofError: it is of a later version.
    """
    with open_trace(path) as trace:
        return _events(trace)


def _events(trace: Trace) -> ProcessEvents:
    known, rank = _Known(), trace.metadata.rank
    ends, work, numbers = list[int](), list[int](), list[tuple[int, int, int]]()
    for event in trace.events():
        call, *which = known.of(event.call, rank)
        if call.kind in LOOKING and call.value == 0:
            continue
        ends.append(event.end_ns)
        work.append(event.work_ns)
        numbers.append((which[0], which[1], which[2]))
    end = np.array(ends, dtype=np.int64)
    # Threads have blocks of their own.
    order = np.argsort(end, kind="stable")
    columns: IntArray = np.array(numbers, dtype=np.int64).reshape(-1, 3)[order]
    tick = np.diff(end[order], prepend=0)
    return ProcessEvents(
        rank=rank,
        app=trace.metadata.app,
        kinds=tuple(known.kinds),
        kind=columns[:, 0],
        tick_s=tick * 1e-9,
        work_s=np.array(work, dtype=np.float64)[order] * 1e-9,
        role=columns[:, 1],
        channel=columns[:, 2],
        channels=tuple(known.channels),
        aet_s=max(trace.end.end_ns, int(end.max(initial=0))) * 1e-9,
        clean=trace.end.how is not None and not (trace.end.damaged or trace.end.torn or trace.end.lost),
        start_mono_ns=start if isinstance(start := trace.metadata.raw.get("start_mono_ns"), int) else None,
    )


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
