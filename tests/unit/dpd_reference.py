"""The detector of loops in plain numpy: what `dpd` is checked against, and short enough to be read.

The same results but for hashes; single odd events are not tolerated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incprof.analysis.dpd import Rule
from incprof.analysis.dpd.results import LOOPS, Loops

RUN_MOST = 65534
LOOPS_KNOWN = 768
LEVELS = 32


@dataclass
class Level:
    """A loop that is there; `loop` is one element of LOOPS, `phase` that of the sample to come."""

    loop: Loops
    phase: int = 0


class DpdReference:
    """One stream; the arguments are those of `Dpd`."""

    def __init__(self, window: int = 100, *, rule: Rule = "adaptive", matches: int | None = None) -> None:
        self.rule, self.given = rule, matches
        self.count = 0
        self.past = np.zeros(0, dtype=np.int64)  # the latest first, no more than the window
        self.run = np.zeros(0, dtype=np.int64)
        self.levels: list[Level] = []  # the longest period first
        self.ended: list[Loops] = []
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
        if not self.levels:
            return 0, False
        outermost = self.levels[0].loop
        return int(outermost["period"]), bool(outermost["starts"] and outermost["start"] == index)

    def feed(self, samples: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Feed samples, shape (n,); return period and start as in EventTrace."""
        known = [self.sample(value) for value in samples.tolist()]
        periods, starts = [one[0] for one in known], [one[1] for one in known]
        return np.asarray(periods, dtype=np.int32), np.asarray(starts, dtype=np.bool_)

    def loops(self) -> Loops:
        """Return all loops: those that ended, as they did, and those that the stream is in, the outermost first."""
        found = [*self.ended, *(level.loop for level in self.levels)]
        return np.concatenate([one.reshape(1) for one in found]) if found else np.zeros(0, dtype=LOOPS)

    def predict(self, ahead: int) -> tuple[int, int]:
        """Return the predicted sample and 2 within a loop, 1 outside of one; 0, 0 where nothing matches."""
        if not self.run.any():
            return 0, 0
        lag = int(np.argmax(self.run)) + 1
        return int(self.past[lag - 1 - (ahead - 1) % lag]), 2 if self.levels else 1

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
        loop["id"], loop["visits"] = self._identify(lag)
        self.levels.append(Level(loop))
        self.levels.sort(key=lambda level: -int(level.loop["period"]))

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
        self.ended.append(level.loop)
        self.levels.remove(level)


def _advance(level: Level, index: int) -> None:
    loop = level.loop
    loop["last"] = index
    if level.phase == 0:
        loop["start"] = index
        loop["starts"] += 1
    level.phase += 1
    if level.phase == loop["period"]:
        level.phase = 0
        loop["whole"] += 1
