"""A consistent cut of a run: events after which every process can stop without any waiting for another.

A receive needs its send to have started, a completed send needs its receive to have been posted (a large message waits
for it), and a collective call needs all of its members. With these constraints and the order within each process, the
least cut after given events is the fixed point (Chandy and Lamport, ACM TOCS 3, 1985). Each process's events count from
0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from incprof.model import BoolArray, IntArray
from incprof.systems.mpi.analyse.mpi_events import Channel


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
    processes: Sequence[ProcessMessages], done: Sequence[int], *, quiet: bool = False
) -> list[int] | None:
    """Return the number of events of each process before the least consistent cut at which all can be stopped.

    Args:
        processes: All processes of the run, by rank.
        done: Least number of events of each process before the cut.
        quiet: Whether all messages sent before the cut must have been received before it.

    Returns:
        Number of events of each process; None if some process has no later event at which it can be stopped.

    Raises:
        MoreEventsNeededError: the result depends on events that are not in `processes`.
    """
    needs = _needs(processes, quiet=quiet)
    cut = [0] * len(processes)
    wanted = {place: count for place, count in enumerate(done) if count > 0}
    while wanted:
        place, count = wanted.popitem()
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
                wanted[other] = max(needed, wanted.get(other, 0))
    return cut


def _next_stop(process: ProcessMessages, count: int) -> int | None:
    """Return the number of events up to the first one, from `count` - 1 on, at which a process can stop."""
    later = np.flatnonzero(process.stops[count - 1 :])
    if len(later):
        return count + int(later[0])
    if not process.is_whole:
        raise MoreEventsNeededError
    return None


def _needs(processes: Sequence[ProcessMessages], *, quiet: bool) -> list[tuple[IntArray, IntArray, IntArray]]:
    """Return the needs of each process's events: the event, another process, and the number of events needed there."""
    found: list[list[tuple[int, int, int]]] = [[] for _ in processes]
    place_of: dict[object, int] = {process.rank: place for place, process in enumerate(processes)}
    nothing = Endpoint()
    for channel in dict.fromkeys(channel for one in processes for channel in (*one.sends, *one.receives)):
        sender, receiver = place_of.get(channel[1]), place_of.get(channel[2])
        if sender is None or receiver is None:
            continue
        sends = processes[sender].sends.get(channel, nothing)
        receives = processes[receiver].receives.get(channel, nothing)
        _add_needs(found[receiver], receives.completes, sender, sends.begins, processes[sender])
        _add_needs(found[sender], sends.completes, receiver, receives.begins, processes[receiver])
        if quiet:
            _add_needs(found[sender], sends.begins, receiver, receives.completes, processes[receiver])
    for place, process in enumerate(processes):
        for group, events in process.meetings.items():
            members = process.members[group]
            # Each member needs the next one, so transitively all of them.
            following = place_of.get(members[(members.index(process.rank) + 1) % len(members)])
            if following is not None:
                theirs = processes[following].meetings.get(group, ())
                _add_needs(found[place], events, following, theirs, processes[following])
    columns = []
    for needs in found:
        table = np.array(sorted(needs), dtype=np.int64).reshape(-1, 3)
        columns.append((table[:, 0], table[:, 1], table[:, 2]))
    return columns


def _add_needs(
    into: list[tuple[int, int, int]], mine: Sequence[int], other: int, theirs: Sequence[int], process: ProcessMessages
) -> None:
    """Add that each of some events (-1: none) needs the corresponding event of another process."""
    beyond = len(process.stops) + 1
    for number, event in enumerate(mine):
        partner = theirs[number] if number < len(theirs) else -1
        if event >= 0 and (partner >= 0 or not process.is_whole):
            into.append((event, other, partner + 1 if partner >= 0 else beyond))
