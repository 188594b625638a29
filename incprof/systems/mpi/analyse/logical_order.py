"""The global logical order of a run's events, as in PAS2P: Lamport's clock over all processes.

An event follows the previous one in its process, a receive follows its send, and a collective call follows everything
that its members did before. P processes, n events of one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.model import IntArray

# Dependency of an event: none, none, the send of its message, all members.
LOCAL, SEND, RECEIVE, COLLECTIVE = range(4)


@dataclass(frozen=True)
class Partners:
    """Partners of a process's events.

    Attributes:
        role: (n,) one of the four values above.
        channel: (n,) number of the channel: the same in all processes for sends and receives of one sender, receiver,
            communicator and tag, and for the collective calls of one communicator. Messages in a channel do not
            overtake one another.
    """

    role: IntArray
    channel: IntArray


@dataclass
class _Meeting:
    """A collective call.

    Attributes:
        members: Number of processes that take part.
        waiting: Processes that have arrived.
        latest: Latest logical time of their previous events.
    """

    members: int
    waiting: list[int]
    latest: int = 0


class _Process:
    """A process, and its progress through its events."""

    def __init__(self, partners: Partners) -> None:
        self.role = partners.role.tolist()
        self.channel = partners.channel.tolist()
        self.turn = _turns(partners).tolist()
        self.time: list[int] = []

    def __bool__(self) -> bool:
        """Whether there is another event."""
        return len(self.time) < len(self.role)


def logical_times(processes: Sequence[Partners]) -> list[IntArray]:
    """Return the logical time of every event from 1, (n,) for each process.

    Missing partners, as in a truncated trace, are not waited for.
    """
    order = _Order(processes)
    order.run()
    return [np.array(process.time, dtype=np.int64) for process in order.processes]


class _Order:
    """The queue of processes that can advance."""

    def __init__(self, partners: Sequence[Partners]) -> None:
        self.processes = [_Process(one) for one in partners]
        self._queue = deque(range(len(partners)))
        self._sent: dict[tuple[int, int], int] = {}
        self._waiting: dict[tuple[int, int], int] = {}
        self._meetings: dict[tuple[int, int], _Meeting] = {}
        for process in self.processes:
            for role, channel, turn in zip(process.role, process.channel, process.turn, strict=True):
                if role == COLLECTIVE:
                    self._meetings.setdefault((channel, turn), _Meeting(0, [])).members += 1

    def run(self) -> None:
        """Assign a time to every event."""
        while True:
            while self._queue:
                self._go_on(self._queue.popleft())
            held = [number for number, process in enumerate(self.processes) if process]
            if not held:
                return
            # All wait for one another: the traces are inconsistent, and the first process that waits advances alone.
            self._let_go(min(held, key=lambda number: (self._latest(number), number)))

    def _let_go(self, number: int) -> None:
        """Advance a process past the event that it waits for."""
        process = self.processes[number]
        at = len(process.time)
        key = process.channel[at], process.turn[at]
        if process.role[at] == RECEIVE:
            self._waiting.pop(key, None)
        if process.role[at] == COLLECTIVE:
            meeting = self._meetings[key]
            meeting.waiting.remove(number)
            meeting.members -= 1
            self._end(meeting)
        self._advance(number, self._latest(number))
        self._queue.append(number)

    def _latest(self, number: int) -> int:
        time = self.processes[number].time
        return time[-1] if time else 0

    def _advance(self, number: int, after: int) -> None:
        self.processes[number].time.append(after + 1)

    def _go_on(self, number: int) -> None:
        """Advance a process as far as possible."""
        process = self.processes[number]
        while process:
            at = len(process.time)
            role, key = process.role[at], (process.channel[at], process.turn[at])
            if role == RECEIVE and key not in self._sent:
                self._waiting[key] = number
                return
            if role == COLLECTIVE:
                self._meet(number, self._meetings[key])
                return
            after = self._latest(number)
            self._advance(number, max(after, self._sent[key]) if role == RECEIVE else after)
            if role == SEND:
                self._sent[key] = after + 1
                if key in self._waiting:
                    self._queue.append(self._waiting.pop(key))

    def _meet(self, number: int, meeting: _Meeting) -> None:
        """Arrive at a collective call."""
        meeting.waiting.append(number)
        meeting.latest = max(meeting.latest, self._latest(number))
        self._end(meeting)

    def _end(self, meeting: _Meeting) -> None:
        """Release all members of a collective call once they have arrived."""
        if meeting.waiting and len(meeting.waiting) == meeting.members:
            for member in meeting.waiting:
                self._advance(member, meeting.latest)
            self._queue.extend(meeting.waiting)


def _turns(partners: Partners) -> IntArray:
    """Return the number of earlier events with the same role and channel, (n,)."""
    key = np.stack([partners.role, partners.channel])
    order = np.lexsort(key[::-1])
    ordered = key[:, order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
    start = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    turn = np.empty(len(order), dtype=np.int64)
    turn[order] = np.arange(len(order)) - start
    return turn
