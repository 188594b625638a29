"""Loops of a stream of events: each loop, one episode in a loop, and all loops."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(eq=False)
class EventLoop:
    """A loop and its episodes so far: segments of the stream that repeat it, at least twice each.

    Attributes:
        id: 1, 2, ... in the order of detection.
        content: Names of the events of one iteration, (period,).
        first: Index of the first event of its first episode.
        last: Index of the last event of its latest complete episode.
        latest: Index of the first event of that episode; -1 before any episode is complete.
        visits: Number of complete episodes.
        events: Number of events in its episodes.
        starts: Iterations that were predicted whole: all but the two needed to find the loop.
        whole: Those of them that came as predicted.
        odd: Single events that it continued across.
        around: The shortest loop that encloses one of its episodes.
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
        """Number of events in an iteration."""
        return len(self.content)

    @property
    def iterations(self) -> float:
        """Number of iterations in all episodes, including the fraction of an unfinished one."""
        return self.events / self.period

    @property
    def depth(self) -> int:
        """Number of enclosing loops."""
        return 0 if self.around is None else 1 + self.around.depth


@dataclass(frozen=True)
class Visit:
    """An episode of a loop.

    Attributes:
        loop: The loop.
        first: Index of its first event.
        last: Index of its last event so far.
    """

    loop: EventLoop
    first: int
    last: int

    @property
    def iterations(self) -> float:
        """Number of iterations so far, including the fraction of an unfinished one."""
        return (self.last - self.first + 1) / self.loop.period


@dataclass(frozen=True)
class LoopChange:
    """A change of the outermost loop.

    Attributes:
        at: First event after the change.
        was: The episode before; None: no loop.
        now: The episode after; None: no loop.
    """

    at: int
    was: Visit | None
    now: Visit | None


@dataclass(frozen=True)
class EventLoops:
    """The loops of a stream.

    Attributes:
        events: Number of events.
        kinds: Number of different events; None: more than MOST_NAMES.
        window: Only periods shorter than this were detected, in events.
        tolerance: Whether loops continued across single odd events.
        loops: By number of events, descending; each is followed by the loops inside it.
        forgotten: Number of loops that were discarded.
        covered: Number of events in loops.
        hits: By distance ahead: the share of predictable events that were predicted correctly; 0 without any.
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
    """Return loops by number of events, descending; each is followed by the loops inside it."""
    inside: dict[int, list[EventLoop]] = {}
    for loop in sorted(loops, key=lambda loop: (loop.events, -loop.id)):  # taken from the end
        inside.setdefault(loop.around.id if loop.around else 0, []).append(loop)
    ordered, waiting = [], inside.pop(0, [])
    while waiting:
        ordered.append(waiting.pop())
        waiting += inside.pop(ordered[-1].id, [])
    return tuple(ordered)
