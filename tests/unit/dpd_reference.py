"""The detector of loops in plain numpy: what `dpd` is checked against, and short enough to be read.

The same results but for hashes; single odd events are not tolerated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incprof.systems.periods.dpd_events import LOOPS, Loops, Rule

RUN_MOST = 65534
LOOPS_KNOWN = 768
LEVELS = 32


@dataclass
class Level:
    """A loop that is there; `loop` is one element of LOOPS, `phase` that of the sample to come."""

    loop: Loops
    phase: int = 0
    counts: bool = False


class DpdReference:
    """One stream; the arguments are those of `Dpd`."""

    def __init__(self, window: int = 100, *, rule: Rule = "adaptive", matches: int | None = None) -> None:
        self.rule, self.given = rule, matches
        self.count = 0
        self.past = np.zeros(0, dtype=np.int64)  # the latest first, no more than the window
        self.run = np.zeros(0, dtype=np.int64)
        self.levels: list[Level] = []  # the longest period first
        self.ended: list[Loops] = []
        self.visits: list[tuple[int, int, int]] = []  # of those that ended and lie in no other: first, last, period
        self.ids: dict[bytes, tuple[int, int]] = {}
        self.again = False
        self._set(window)

    def _set(self, window: int) -> None:
        self.window = window
        lags = np.arange(1, window)
        self.needed = np.maximum(lags, 2) if self.rule == "adaptive" else np.full(window - 1, self.given or window)
        self.past = self.past[:window]
        kept = self.run[: window - 1]
        self.run = np.concatenate([kept, np.zeros(window - 1 - len(kept), dtype=np.int64)])

    def resize(self, window: int) -> None:
        """Set the window."""
        old = self.window
        self._set(window)
        self.run[old - 1 :] = 0
        for level in reversed(list(self.levels)):
            period = int(level.loop["period"])
            if period >= window or self.run[period - 1] < self.needed[period - 1]:
                self._end(level)
        self.again = True

    def sample(self, value: int) -> tuple[int, bool]:
        """Feed one sample; return the outermost period or 0, and whether the sample is the first one of a period."""
        same = np.zeros(self.window - 1, dtype=np.bool_)
        before = self.past[: self.window - 1]
        same[: len(before)] = before == value
        self.run = np.where(same, np.minimum(self.run + 1, RUN_MOST), 0)
        self.past = np.concatenate([[value], self.past])[: self.window]
        index, self.count = self.count, self.count + 1
        for level in reversed(list(self.levels)):
            if self.run[level.loop["period"] - 1]:
                _advance(level, index)
            else:
                self._end(level)
        reached = self.run >= self.needed if self.again else self.run == self.needed
        self.again = False
        for lag in (np.flatnonzero(reached) + 1).tolist():
            self._consider(lag, index)
        self._count(index)
        counted = self.counted()
        if not counted:
            return 0, False
        outermost = counted[0]
        return int(outermost["period"]), bool(outermost["starts"] and outermost["start"] == index)

    def feed(self, samples: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Feed samples, shape (n,); return period and start as in EventTrace."""
        known = [self.sample(value) for value in samples.tolist()]
        periods, starts = [one[0] for one in known], [one[1] for one in known]
        return np.asarray(periods, dtype=np.int32), np.asarray(starts, dtype=np.bool_)

    def loops(self) -> Loops:
        """Return all loops: those that ended, as they did, and those that the stream is in, the outermost first."""
        found = [*self.ended, *self.counted()]
        return np.concatenate([one.reshape(1) for one in found]) if found else np.zeros(0, dtype=LOOPS)

    def predict(self, ahead: int) -> tuple[int, int]:
        """Return the predicted sample and 2 within a loop, 1 outside of one; 0, 0 where nothing matches."""
        counted = self.counted()
        if not counted and not self.run.any():
            return 0, 0
        lag = int(counted[0]["period"]) if counted else int(np.argmax(self.run)) + 1
        return int(self.past[lag - 1 - (ahead - 1) % lag]), 2 if counted else 1

    def _consider(self, lag: int, index: int) -> None:
        """A lag has as many matches as it needs: it is a level unless it consists of periods of one."""
        run = int(self.run[lag - 1])
        low = index + 1 - lag - (run if run < RUN_MOST else int(self.needed[lag - 1]))
        for level in self.levels:
            period = int(level.loop["period"])
            if lag == period or (lag % period == 0 and level.loop["first"] <= low):
                return
        if len(self.levels) == LEVELS:
            return
        loop = np.zeros((), dtype=LOOPS)
        loop["period"], loop["first"], loop["last"] = lag, low, index
        loop["own"] = self._own(lag, low)
        self.levels.append(Level(loop))
        self.levels.sort(key=lambda level: -int(level.loop["period"]))

    def _visit(self, index: int) -> tuple[int, int, int] | None:
        """Return the earliest visit that has ended and that a sample is in."""
        return next((visit for visit in self.visits if visit[0] <= index <= visit[1]), None)

    def _after(self, first: int) -> int:
        """Return the first sample from the begin of a visit on that an earlier one does not have."""
        visit = self._visit(first)
        return visit[1] + 1 if visit and visit[0] < first else first

    def _own(self, lag: int, low: int) -> int:
        """Return the first sample from `low` on that is in no visit which is cut off there or longer a period later."""
        visit = self._visit(low)
        if visit and visit[0] == low and visit[2] < lag:
            back = self.count - (low + lag)
            if visit[2] <= back < len(self.past) and self.past[back] == self.past[back - visit[2]]:
                return visit[1] + 1
        return self._after(low)

    def _count(self, index: int) -> None:
        """Let levels count that went round for long enough, not counting a visit within that goes on."""
        inner = index + 1
        for level in reversed(self.levels):
            period = int(level.loop["period"])
            before = self._visit(index - period)
            end = self._after(before[0]) + period if before and before[2] < period else index + 1
            if not level.counts and level.loop["own"] + period + self.needed[period - 1] <= min(inner, end):
                level.counts = True
                level.loop["starts"], level.loop["whole"], level.loop["found"] = 0, 0, index
                level.loop["id"], level.loop["visits"] = self._identify(period)
            if level.counts:
                inner = min(inner, self._after(int(level.loop["first"])))

    def counted(self) -> list[Loops]:
        """Return the loops that the stream is in, the outermost first."""
        return [level.loop for level in self.levels if level.counts]

    def _identify(self, period: int) -> tuple[int, int]:
        """Return the id and the number of visits of the loop whose latest period ends with the latest sample."""
        content = self.past[:period]
        key = min(np.roll(content, shift).tobytes() for shift in range(period))
        if key not in self.ids and len(self.ids) == LOOPS_KNOWN:
            return 0, 1
        number, visits = self.ids.get(key, (len(self.ids) + 1, 0))
        self.ids[key] = number, visits + 1
        return self.ids[key]

    def _end(self, level: Level) -> None:
        self.levels.remove(level)
        if not level.counts:
            return
        self.ended.append(level.loop)
        first, last = int(level.loop["first"]), int(level.loop["last"])
        if last - first + 1 <= max(2 * level.loop["period"], 3):
            return  # it explains nothing
        self.visits = [visit for visit in self.visits if visit[0] < first]
        if all(visit[1] < last for visit in self.visits):
            self.visits.append((first, last, int(level.loop["period"])))
        for other in self.levels:
            if first < other.loop["first"] and last >= other.loop["own"]:
                other.loop["own"] = last + 1


def _advance(level: Level, index: int) -> None:
    loop = level.loop
    loop["last"] = index
    if level.phase == 0:
        loop["start"] = index
        loop["starts"] += 1
    level.phase += 1
    if level.phase == loop["period"]:
        level.phase = 0
        loop["whole"] += loop["starts"] > 0
