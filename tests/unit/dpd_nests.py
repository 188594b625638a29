"""Streams of loops within loops that are written down as such, so that their loops are known.

A true loop is one that the nest has, and whose iteration, with all those of the loops within it, comes at least three
times in a row, or four times where there are loops within it: events of its own before or behind it may make the first
and the last iteration of those longer. An odd event halves a loop, which then has nine. Two descriptions of the same
stream are the same answer: `(abc)x10 c` repeated is also `c (abc)x10` and `(cab)x10 c` repeated, so that a loop is
compared whichever of its events comes first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

Content = tuple[int, ...]


def rotated(content: Content) -> Content:
    """Return the same for a loop wherever it begins."""
    return min(content[at:] + content[:at] for at in range(len(content)))


def primitive(content: Content) -> bool:
    """Return whether the content is not a shorter one repeated."""
    return not any(content[at:] + content[:at] == content for at in range(1, len(content)))


@dataclass
class Nest:
    """Draws one stream: `stream`, and the contents of its true loops in `loops`."""

    random: Random
    levels: int
    odd: bool = False
    stream: list[int] = field(default_factory=list)
    loops: set[Content] = field(default_factory=set)
    kinds: int = 0

    def __post_init__(self) -> None:
        """Draw a prologue, an outermost loop, perhaps with an odd event, and an epilogue."""
        main = self._loop(self.levels)
        own = sorted(set(main))
        if self.odd:
            self._disturb(main, own)
        self.stream = [*self._beside(own), *main, *self._beside(own)]

    def _new(self, most: int) -> list[int]:
        """Return events that no other part of the stream has."""
        self.kinds += (count := self.random.randint(1, most))
        return list(range(self.kinds - count, self.kinds))

    def _beside(self, own: list[int]) -> list[int]:
        """Return what is before or after the loop: nothing, events of its own, or one of the loop's."""
        return self.random.choice([[], self._new(4), [self.random.choice(own)]])

    def _disturb(self, main: list[int], own: list[int]) -> None:
        """Replace, add or leave out a single event in the middle third."""
        at = self.random.randrange(len(main) // 3, 2 * len(main) // 3)
        event = self.random.choice([self._new(1)[0], self.random.choice(own)])
        main[at : at + self.random.choice([0, 1])] = self.random.choice([[event], []])

    def _loop(self, level: int) -> list[int]:
        """Return a loop's events, all iterations, and note the loop."""
        while True:
            fewest = (9 if self.odd else 4) if level == self.levels else 3 if level == 1 else 4
            trips = self.random.randint(fewest, fewest + 4)
            known = set(self.loops)
            if level > 1 and level < self.levels and self.random.random() < 0.2:
                return self._growing(level, trips)
            body = self._body(level)
            if primitive(tuple(body)):
                self.loops.add(rotated(tuple(body)))
                return body * trips
            self.loops = known

    def _growing(self, level: int, trips: int) -> list[int]:
        """Return iterations none of which equals another one: their loop goes round five times more each time."""
        inner = self._new(3)
        self.loops.add(rotated(tuple(inner)))
        after, first = self._new(2), self.random.randint(6, 9)
        return [event for trip in range(trips) for event in [*inner * (first + 5 * trip), *after]]

    def _body(self, level: int) -> list[int]:
        """Return an iteration: events, and below the outermost levels loops, which one of their own events may end."""
        if level == 1:
            return self._new(5)
        body = self._new(3) if self.random.random() < 0.5 else []
        for _ in range(self.random.randint(1, 2)):
            inner = self._loop(level - 1)
            own = sorted(set(inner))
            endings = [self._new(3), [self.random.choice(own)], inner[: self.random.randint(1, 3)]]
            body += [*inner, *self.random.choice(endings)]
        return body
