"""The communication between the ranks of a run: what is drawn of it, and where all of it can be cut."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from incprof.model import BoolArray, FloatArray, IntArray
from incprof.systems.mpi.analyse.event_phases import EventPhase
from incprof.systems.mpi.analyse.mpi_events import Channel
from incprof.systems.mpi.analyse.signature import ProcessSignature, Signature
from incprof.systems.mpi.trace_types import TraceSummary

# Greatest number of rows and columns drawn; beyond it neighbouring ranks share a cell.
MOST_CELLS = 64


@dataclass(frozen=True)
class PlaceTime:
    """Calls of one function from one place, in all processes.

    Attributes:
        function: The function.
        file: Source file; None if unknown.
        line: Source line; None if unknown.
        calls: Number of calls.
        seconds: Time in the calls.
        bytes: Bytes sent and received.
    """

    function: str
    file: str | None
    line: int | None
    calls: int
    seconds: float
    bytes: int


@dataclass(frozen=True)
class Communication:
    """Communication of p processes in c cells.

    Attributes:
        signature: Signature of the run.
        ranks: (p,) ranks of the rows.
        ends_s: (p,) duration of each process, in seconds.
        parts: (p, PARTS) the phase of each part of each process's time, with common numbers for equal phases: the
            representative's own number if it has the phase. -1 for none.
        phases: Number of common phase numbers.
        cells: (c + 1,) ranks of MPI_COMM_WORLD at which the rows and columns of `bytes` begin.
        bytes: (c, c) bytes of messages from the row's ranks to the column's.
        places: Calls by time, descending.
        seconds: Total time of all processes.
        mpi_s: Part of it in MPI, in seconds.
    """

    signature: Signature
    ranks: tuple[int, ...]
    ends_s: FloatArray
    parts: IntArray
    phases: int
    cells: IntArray
    bytes: FloatArray
    places: tuple[PlaceTime, ...]
    seconds: float
    mpi_s: float


def communication(signature: Signature, summaries: Sequence[TraceSummary]) -> Communication:
    """Combine a run's signature and its processes' calls for drawings."""
    processes = signature.processes
    numbers: dict[tuple[str, ...], int] = {}
    for phase in signature.process.phases_found.phases:
        numbers.setdefault(_identity(signature.process, phase), phase.id)
    following = len(signature.process.phases_found.phases)
    rows = []
    for process in processes:
        own = []
        for phase in process.phases_found.phases:
            number = numbers.setdefault(_identity(process, phase), following)
            following += number == following
            own.append(phase.id if process is signature.process else number)
        rows.append(np.array([*own, -1], dtype=np.int64)[process.parts])
    cells, moved = _matrix(summaries)
    return Communication(
        signature=signature,
        ranks=tuple(process.rank for process in processes),
        ends_s=np.array([process.phases_found.aet_s for process in processes]),
        parts=np.stack(rows),
        phases=following,
        cells=cells,
        bytes=moved,
        places=_places(summaries),
        seconds=sum(each.elapsed_ns for each in summaries) * 1e-9,
        mpi_s=sum(each.mpi_ns for each in summaries) * 1e-9,
    )


def _identity(process: ProcessSignature, phase: EventPhase) -> tuple[str, ...]:
    """Return the key of a phase that is common to all processes: its calls, independent of where it begins."""
    return tuple(sorted({process.kinds[kind].key for kind in phase.kinds}))


def _matrix(summaries: Sequence[TraceSummary]) -> tuple[IntArray, FloatArray]:
    """Return the first ranks of the cells, and the bytes of messages between cells.

    Each message is counted by its sender and its receiver; since a trace may be missing, the larger sum is used.
    """
    rank_numbers = [rank for each in summaries for call in each.calls for rank in call.peers]
    rank_numbers += [each.metadata.rank for each in summaries] + [(each.metadata.ranks or 1) - 1 for each in summaries]
    size = max(rank_numbers, default=0) + 1
    cells: IntArray = np.arange(min(size, MOST_CELLS) + 1) * size // min(size, MOST_CELLS)
    sent, received = np.zeros((2, len(cells) - 1, len(cells) - 1))
    for each in summaries:
        own = _cell(cells, each.metadata.rank)
        for call in each.calls:
            for rank, amount in call.peers.items():
                partner, bytes_sent = _cell(cells, rank), call.sent.get(rank, 0)
                sent[own, partner] += bytes_sent
                received[partner, own] += amount - bytes_sent
    moved: FloatArray = np.maximum(sent, received)
    return cells, moved


def _cell(cells: IntArray, rank: int) -> int:
    return int(np.searchsorted(cells, rank, side="right")) - 1


def _places(summaries: Sequence[TraceSummary]) -> tuple[PlaceTime, ...]:
    """Sum the calls of all processes by function and place."""
    sums: defaultdict[tuple[str, str | None, int | None, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    for each in summaries:
        for call in each.calls:
            address = call.site.address if call.site is not None and call.line is None else 0
            own = sums[call.function, call.file, call.line, address]
            own[0] += call.calls
            own[1] += call.time_ns
            own[2] += call.bytes
    times = [
        PlaceTime(function, file, line, calls, time_ns * 1e-9, moved)
        for (function, file, line, _), (calls, time_ns, moved) in sums.items()
    ]
    return tuple(sorted(times, key=lambda one: (-one.seconds, one.function, one.file or "", one.line or 0)))


# A consistent cut of a run: events after which every process can stop without any waiting for another.
#
# A receive needs its send to have started, a completed send needs its receive to have been posted (a large message
# waits for it), and a collective call needs all of its members. With these constraints and the order within each
# process, the least cut after given events is the fixed point (Chandy and Lamport, ACM TOCS 3, 1985). Each process's
# events count from 0.


@dataclass
class Endpoint:
    """One end of a channel, in the order of its messages.

    Attributes:
        begins: For each message, the event that starts the send, or posts the receive.
        completes: For each message, the event that completes it; -1 if unknown.
    """

    begins: list[int] = field(default_factory=list)
    completes: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class ProcessMessages:
    """Messages between a process and the others, up to some event.

    Attributes:
        rank: Rank of the process.
        sends: By channel, a tuple of a word, the sending rank, the receiving rank, and further keys of the message.
        receives: Likewise.
        meetings: For each group of processes, the events that are its collective calls.
        members: For each group, its ranks.
        stops: (n,) whether the process can be stopped after the event, because counting calls identifies it.
        is_whole: Whether there are no later events.
    """

    rank: int
    sends: Mapping[Channel, Endpoint]
    receives: Mapping[Channel, Endpoint]
    meetings: Mapping[Channel, Sequence[int]]
    members: Mapping[Channel, tuple[int, ...]]
    stops: BoolArray
    is_whole: bool


class MoreEventsNeededError(Exception):
    """The cut lies after the known events of a process."""


def consistent_cut(
    processes: Sequence[ProcessMessages], done: Sequence[int], *, no_pending: bool = False
) -> list[int] | None:
    """Return the number of events of each process before the least consistent cut at which all can be stopped.

    Args:
        processes: All processes of the run, by rank.
        done: Least number of events of each process before the cut.
        no_pending: Whether all messages sent before the cut must have been received before it.

    Returns:
        Number of events of each process; None if some process has no later event at which it can be stopped.

    Raises:
        MoreEventsNeededError: the result depends on events that are not in `processes`.
    """
    needs = _needs(processes, no_pending=no_pending)
    cut = [0] * len(processes)
    required = {place: count for place, count in enumerate(done) if count > 0}
    while required:
        place, count = required.popitem()
        if count <= cut[place]:
            continue
        stop = _next_stop(processes[place], count)
        if stop is None:
            return None
        events, others, counts = needs[place]
        first, last = np.searchsorted(events, [cut[place], stop])
        cut[place] = stop
        for other, needed in zip(others[first:last].tolist(), counts[first:last].tolist(), strict=True):
            if needed > cut[other]:
                required[other] = max(needed, required.get(other, 0))
    return cut


def _next_stop(process: ProcessMessages, count: int) -> int | None:
    """Return the number of events up to the first one, from `count` - 1 on, at which a process can stop."""
    later = np.flatnonzero(process.stops[count - 1 :])
    if len(later):
        return count + int(later[0])
    if not process.is_whole:
        raise MoreEventsNeededError
    return None


def _needs(processes: Sequence[ProcessMessages], *, no_pending: bool) -> list[tuple[IntArray, IntArray, IntArray]]:
    """Return the needs of each process's events: the event, another process, and the number of events needed there."""
    needs_of: list[list[tuple[int, int, int]]] = [[] for _ in processes]
    place_of: dict[object, int] = {process.rank: place for place, process in enumerate(processes)}
    no_endpoint = Endpoint()
    for channel in dict.fromkeys(channel for one in processes for channel in (*one.sends, *one.receives)):
        sender, receiver = place_of.get(channel[1]), place_of.get(channel[2])
        if sender is None or receiver is None:
            continue
        sends = processes[sender].sends.get(channel, no_endpoint)
        receives = processes[receiver].receives.get(channel, no_endpoint)
        _add_needs(needs_of[receiver], receives.completes, sender, sends.begins, processes[sender])
        _add_needs(needs_of[sender], sends.completes, receiver, receives.begins, processes[receiver])
        if no_pending:
            _add_needs(needs_of[sender], sends.begins, receiver, receives.completes, processes[receiver])
    for place, process in enumerate(processes):
        for group, events in process.meetings.items():
            members = process.members[group]
            # Each member needs the next one, so transitively all of them.
            following = place_of.get(members[(members.index(process.rank) + 1) % len(members)])
            if following is not None:
                their_events = processes[following].meetings.get(group, ())
                _add_needs(needs_of[place], events, following, their_events, processes[following])
    columns = []
    for needs in needs_of:
        table = np.array(sorted(needs), dtype=np.int64).reshape(-1, 3)
        columns.append((table[:, 0], table[:, 1], table[:, 2]))
    return columns


def _add_needs(
    into: list[tuple[int, int, int]],
    events: Sequence[int],
    other: int,
    their_events: Sequence[int],
    process: ProcessMessages,
) -> None:
    """Add that each of some events (-1: none) needs the corresponding event of another process."""
    unreachable = len(process.stops) + 1
    for number, event in enumerate(events):
        partner = their_events[number] if number < len(their_events) else -1
        if event >= 0 and (partner >= 0 or not process.is_whole):
            into.append((event, other, partner + 1 if partner >= 0 else unreachable))
