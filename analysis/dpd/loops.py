"""What is known of the loops of a stream of events: of each, of a stretch in one, of all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(eq=False)
class EventLoop:
    """A loop, and its visits up to now: stretches of the stream that repeat it, at least twice each.

    Attributes:
        id: 1, 2, ... as loops were first seen.
        content: Names of the events of one iteration, (period,).
        first: First event of its first visit.
        last: Last event of its latest visit that ended.
        latest: First event of that one; -1 as long as none has ended.
        visits: That ended.
        events: In its visits.
        starts: Iterations that were predicted whole: all but the two that it takes to find the loop.
        whole: Of them, those that came as predicted.
        odd: Single events that it went on over.
        around: The shortest loop that one of its visits lies in.
    """

    id: int
    content: tuple[str, ...]
    first: int
    last: int
    latest: int = -1
    visits: int = 0
    events: int = 0
    starts: int = 0
    whole: int = 0
    odd: int = 0
    around: EventLoop | None = None

    @property
    def period(self) -> int:
        """Events of an iteration."""
        return len(self.content)

    @property
    def iterations(self) -> float:
        """Iterations in all visits, with what is begun of one."""
        return self.events / self.period

    @property
    def depth(self) -> int:
        """How many loops are around it."""
        return 0 if self.around is None else 1 + self.around.depth


@dataclass(frozen=True)
class Visit:
    """A stretch in a loop, from its first event to the last one so far, both included."""

    loop: EventLoop
    first: int
    last: int

    @property
    def iterations(self) -> float:
        """Iterations up to now, with what is begun of one."""
        return (self.last - self.first + 1) / self.loop.period


@dataclass(frozen=True)
class LoopChange:
    """The outermost loop, in which the event before was, became another one with the event `at`. None: no loop."""

    at: int
    was: Visit | None
    now: Visit | None


@dataclass(frozen=True)
class EventLoops:
    """The loops of a stream.

    Attributes:
        events: How many there were.
        kinds: How many different ones; None: more than MOST_NAMES.
        window: Periods below it were looked for.
        tolerance: Whether loops went on over single odd events.
        loops: Those with most events first, each followed by those inside of it.
        forgotten: Loops that were not kept.
        covered: Events in loops.
        hits: By how far ahead: the share of events that were predicted rightly, of all that could be; 0 of none.
    """

    events: int
    kinds: int | None
    window: int
    tolerance: bool
    loops: tuple[EventLoop, ...]
    forgotten: int
    covered: int
    hits: dict[int, float]


def nested(loops: Iterable[EventLoop]) -> tuple[EventLoop, ...]:
    """Return loops with most events first, each followed by those inside of it."""
    inside: dict[int, list[EventLoop]] = {}
    for loop in sorted(loops, key=lambda loop: (loop.events, -loop.id)):  # taken from the end
        inside.setdefault(loop.around.id if loop.around else 0, []).append(loop)
    ordered, waiting = [], inside.pop(0, [])
    while waiting:
        ordered.append(waiting.pop())
        waiting += inside.pop(ordered[-1].id, [])
    return tuple(ordered)
