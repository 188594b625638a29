"""The loops of a growing stream of named events.

Memory is bounded however long the stream is: events are kept as far back as a newly detected loop can reach, and about
MOST_LOOPS loops are kept.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from incprof.systems.periods.dpd_events import Dpd, EventTrace

Key = tuple[int, int]  # period and hash of a loop

# Prediction distances of the paper's Table 3, in events.
AHEAD = (1, 5)
# Events of history that predictions use: of 5 000 recurring events, with a window of 1 024, 88 % are predicted, and 2 %
# without this history. It takes a third of the time.
MEMORY = 16384
# Events per batch: 256 cost a third more each, 65 536 save a tenth.
PIECE = 4096
# Above this number of loops, all but half of it are discarded: those with the fewest events. Their contents are at most
# 8 MiB with a window of 1 024.
MOST_LOOPS = 1024
# Number of windows within which a loop is detected after its first event, and all loops that overlap an episode after
# its end.
REACH = 5
# Number of names whose codes are cached, at most 26 MiB, and their length in characters; longer names are displayed
# truncated, but still distinguished.
MOST_NAMES, LONGEST_NAME = 1 << 16, 200


class LoopStream:
    """Finds loops as events arrive, independent of how they are batched. See `Dpd` for the window and the tolerance."""

    def __init__(self, window: int = 1024, *, tolerance: bool = False) -> None:
        self.window, self.tolerance = window, tolerance
        self.events = self._number_met = self._forgotten = 0
        self._dpd = Dpd(window, tolerance=tolerance, memory=MEMORY)
        self._loops: dict[Key, EventLoop] = {}
        self._completed: dict[Key, EventLoop] = {}  # those with a complete episode, in the order of the latest end
        self._codes: dict[str, int] = {}
        self._kinds: set[int] = set()
        self._names: list[str] = []  # as far back as a newly detected loop can reach
        self._ended: deque[Any] = deque()  # episodes that a later loop may still explain, in the order of their ends
        self._bare = np.zeros(0, dtype=np.bool_)  # which events are in no loop, as far back as that may change
        self._outside = 0  # earlier events that are in no loop
        self._expected = {ahead: (np.zeros(0, np.int64), np.zeros(0, np.uint8)) for ahead in AHEAD}
        self._right = dict.fromkeys(AHEAD, 0)
        self._period = 0
        self._now: Episode | None = None

    def feed(self, names: Sequence[str]) -> list[LoopChange]:
        """Take the next events; return each change of the outermost loop."""
        changes, done = [], 0
        while done < len(names):
            piece = names[done : done + PIECE - self.events % PIECE]
            changes += self._piece(piece)
            done += len(piece)
            if self.events % PIECE == 0:
                self._forget()
        return changes

    def end(self) -> EventLoops:
        """Return all loops, running ones as they are. Nothing may be fed after this."""
        running = self._dpd.loops()[::-1]
        self._settle(running, 0)
        for record in running:
            self._leave(record)
        kinds = len(self._kinds) if len(self._kinds) <= MOST_NAMES else None
        hits = {ahead: right / max(self.events - ahead, 1) for ahead, right in self._right.items()}
        covered = self.events - self._outside - int(self._bare.sum())
        loops = nested(loop for loop in self._loops.values() if loop.episodes)
        return EventLoops(self.events, kinds, self.window, self.tolerance, loops, self._forgotten, covered, hits)

    def _piece(self, names: Sequence[str]) -> list[LoopChange]:
        trace = self._dpd.feed(np.array([self._code(name) for name in names], dtype=np.int64), AHEAD)
        self._score(trace)
        start = self.events
        self.events += len(names)
        self._names += [name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME] + "..." for name in names]
        self._bare = np.concatenate([self._bare, np.ones(len(names), dtype=np.bool_)])
        running = self._dpd.loops()
        records = [*trace.loops, *running[::-1]]
        for record in sorted(records, key=_detection_order):
            self._meet(record)
            if int(record["last"]) >= _enough(record) + 2 * self.window:  # no later loop overlaps it so far
                self._cover(record)
        self._ended.extend(trace.loops)
        self._settle(running, REACH * self.window)
        changes = self._changes(trace, start, records)
        self._names = self._names[max(len(self._names) - 3 * self.window, 0) :]
        over = max(len(self._bare) - 2 * (REACH + 1) * self.window, 0)
        self._outside += int(self._bare[:over].sum())
        self._bare = self._bare[over:]
        return changes

    def _code(self, name: str) -> int:
        """Return a number for a name: always the same one, without storing every name."""
        code = self._codes.get(name)
        if code is None:
            digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            code = int.from_bytes(digest, "little", signed=True)
            if len(self._codes) < MOST_NAMES and len(name) <= LONGEST_NAME:
                self._codes[name] = code
            if len(self._kinds) <= MOST_NAMES:
                self._kinds.add(code)
        return code

    def _score(self, trace: EventTrace) -> None:
        """Compare events with their predictions, including those of the previous batch."""
        for row, ahead in enumerate(AHEAD):
            values, backing = self._expected[ahead]
            values = np.concatenate([values, trace.predicted[row]])
            backing = np.concatenate([backing, trace.backing[row]])
            due = max(len(values) - ahead, 0)
            self._right[ahead] += (
                int(((values[:due] == trace.samples[-due:]) & (backing[:due] > 0)).sum()) if due else 0
            )
            self._expected[ahead] = values[due:], backing[due:]

    def _meet(self, record: Any) -> None:
        """Add a newly detected loop."""
        key, first = _key(record), int(record["first"])
        if key not in self._loops:
            self._number_met += 1
            oldest = self.events - len(self._names)
            at = max(first - oldest, (first - oldest) % key[0])
            content = tuple(self._names[at : at + key[0]])
            self._loops[key] = EventLoop(self._number_met, content, first, int(record["last"]))

    def _settle(self, running: Any, reach: int) -> None:
        """Count the episodes that ended more than `reach` events ago, except those that a later loop explains.

        A repetition across the end of one loop and the begin of another may be detected before that other loop: the
        first four events of `abab(abcd)x6`. It is a loop only if it repeated often enough before the other began.
        """
        episodes = [record for record in (*self._ended, *running) if _repeats_beyond_detection(record)]
        first_events = np.array([record["first"] for record in episodes], dtype=np.int64)
        last_events = np.array([record["last"] for record in episodes], dtype=np.int64)
        order = np.argsort(first_events, kind="stable")
        first_events, last_events = first_events[order], last_events[order]
        while self._ended and int(self._ended[0]["last"]) + reach < self.events:
            record = self._ended.popleft()
            between = slice(*np.searchsorted(first_events, [int(record["first"]) + 1, _enough(record)]))
            if (last_events[between] <= int(record["last"])).all():
                self._leave(record)

    def _cover(self, record: Any) -> None:
        """Mark the events of an episode as part of a loop."""
        oldest = self.events - len(self._bare)
        self._bare[max(int(record["first"]) - oldest, 0) : max(int(record["last"]) + 1 - oldest, 0)] = False

    def _leave(self, record: Any) -> None:
        """Count an episode that has ended, after all that ended before it."""
        key, first, last = _key(record), int(record["first"]), int(record["last"])
        self._cover(record)
        loop = self._loops[key]
        counted = loop.last if loop.episodes else -1  # the end of an episode may be the begin of the next one
        loop.latest, loop.last = first, last
        loop.episodes += 1
        loop.events += last - max(first, counted + 1) + 1
        loop.starts += int(record["starts"])
        loop.whole += int(record["whole"])
        loop.odd += int(record["odd"])
        # The latest episode of a loop lies in this one, or no complete one does.
        for other in reversed(self._completed.values()):
            if other.last < first:
                break
            nearer = other.around is None or other.around.period > loop.period
            if other.latest >= first and other.period < loop.period and nearer:
                other.around = loop
        self._completed.pop(key, None)
        self._completed[key] = loop

    def _changes(self, trace: EventTrace, start: int, records: list[Any]) -> list[LoopChange]:
        """Return the changes in a batch. records: all episodes in it; those of equal period are in order of time."""
        episodes: dict[int, deque[tuple[int, Episode]]] = {}  # with the event at which each was detected
        for record in records:
            episode = Episode(self._loops[_key(record)], int(record["first"]), int(record["last"]))
            episodes.setdefault(episode.loop.period, deque()).append((_detection_order(record)[0], episode))
        edges = np.flatnonzero(np.diff(trace.period, prepend=np.int32(self._period)))
        changes = []
        for at, period in zip((edges + start).tolist(), trace.period[edges].tolist(), strict=True):
            was = self._now and replace(self._now, last=at - 1)
            waiting = episodes.get(period, deque())
            while len(waiting) > 1 and waiting[1][0] <= at:
                waiting.popleft()
            self._now = replace(waiting[0][1], last=at) if period else None
            changes.append(LoopChange(at, was, self._now))
        self._period = int(trace.period[-1])
        return changes

    def _forget(self) -> None:
        """Discard the loops with the fewest events if there are too many, except running ones."""
        if len(self._loops) <= MOST_LOOPS:
            return
        kept = {_key(record) for record in (*self._ended, *self._dpd.loops())}
        dropped = sorted(self._loops, key=lambda key: self._loops[key].events)[: len(self._loops) - MOST_LOOPS // 2]
        for key in dropped:
            if key not in kept:
                self._forgotten += self._loops.pop(key).episodes > 0
                self._completed.pop(key, None)
        ids = {loop.id for loop in self._loops.values()}
        for loop in self._loops.values():
            if loop.around is not None and loop.around.id not in ids:
                loop.around = None


def _key(record: Any) -> Key:
    """Return the key that identifies a loop, from a record of LOOPS."""
    return int(record["period"]), int(record["hash"])


def _repeats_beyond_detection(record: Any) -> bool:
    """Return whether an episode is longer than needed to detect the loop: only then does it explain another one."""
    return int(record["last"]) - int(record["first"]) + 1 > max(2 * int(record["period"]), 3)


def _enough(record: Any) -> int:
    """Return the event at which a loop had repeated often enough to count."""
    return int(record["own"]) + max(2 * int(record["period"]), 3)


def _detection_order(record: Any) -> tuple[int, int]:
    """Return the event at which a loop was detected, and its period: inner loops sort first."""
    return int(record["found"]), int(record["period"])


# Loops of a stream of events: each loop, one episode in a loop, and all loops.


@dataclass(eq=False)
class EventLoop:
    """A loop and its episodes so far: segments of the stream that repeat it, at least twice each.

    Attributes:
        id: 1, 2, ... in the order of detection.
        content: Names of the events of one iteration, (period,).
        first: Index of the first event of its first episode.
        last: Index of the last event of its latest complete episode.
        latest: Index of the first event of that episode; -1 before any episode is complete.
        episodes: Number of complete episodes.
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
    episodes: int = 0
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
class Episode:
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
    was: Episode | None
    now: Episode | None


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
