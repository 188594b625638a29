"""The time that an iteration of a loop takes, from the parts of it that samples and looks meet; and calls from that.

n intervals, q chains, s samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.analysis.uncounted.frames import frames_of
from incprof.analysis.uncounted.iterations import Iterated, iterated
from incprof.analysis.uncounted.rhythm import FEWEST, Period, period_of
from incprof.model import LIBRARY, PROFILER, BoolArray, IntArray, IntervalProfile
from incprof.model.calltree import CallTree
from incprof.model.visits import SURE, Visits

# What a period may be off by, with 1.96 standard errors.
EXACT = 0.05
# So many samples in a row are asked: more of them tell no more.
MOST_SAMPLES = 20_000
# A sample may come so much later than it was due, in ticks, without the thread having waited.
LATE = 0.6
# The shortest period on trial: three looks of bursts, and twice the distance of samples where there are none.
SHORTEST_S, TICKS = 0.003, 2.0


@dataclass(frozen=True)
class Timed:
    """Calls that come with the iterations of a loop.

    period: CPU time of an iteration. ticks: (n,) of the loop, on all threads, in the intervals that were asked.
    times: calls in an iteration.
    """

    period: Period
    ticks: IntArray
    times: int
    rate_hz: float

    @property
    def calls(self) -> Visits:
        """How many there were."""
        likely = self.times * float(self.ticks.sum()) / self.rate_hz / self.period.seconds
        off = SURE * self.period.error
        return Visits(round(likely / (1 + off)), likely / max(1 - off, 0.5), likely)

    @property
    def by_interval(self) -> IntArray:
        """The same for each interval, (n,), whole calls."""
        calls = self.times * np.cumsum(self.ticks) / self.rate_hz / self.period.seconds
        return np.diff(np.floor(calls), prepend=0.0).astype(np.int64)


class LoopPeriods:
    """The loops of a run's code, of which the samples of some intervals tell the period."""

    def __init__(self, profile: IntervalProfile, chains: CallTree):
        self.profile = profile
        self._loops = iterated(profile, frames_of(profile, chains)[0]) if profile.metadata.ordered else {}
        samples = profile.samples
        use = np.flatnonzero((samples.kind != PROFILER) | samples.is_look)
        self._use: IntArray = use[np.lexsort((samples.time_s[use], samples.thread[use]))]
        self._interval = profile.interval_of_samples()
        self._waited = self._after_waiting()

    def in_intervals(self, members: IntArray) -> dict[int, Timed]:
        """Return the chains that are called with the iterations of one loop in some intervals: calls in these."""
        wanted = np.zeros(self.profile.n_intervals, dtype=np.bool_)
        wanted[members] = True
        here = wanted[self._interval[self._use]]
        found: dict[int, list[Timed]] = {}
        called: dict[int, int] = {}
        for loop in self._loops.values():
            for chain in loop.calls:
                called[chain] = called.get(chain, 0) + 1
        for loop in self._loops.values():
            surely = {chain: len(ways) for chain, ways in loop.calls.items() if all(ways.values()) and called[chain] == 1}
            if surely and not loop.recursive:
                timed = self._timed(loop, here)
                for chain, times in surely.items() if timed is not None else ():
                    found.setdefault(chain, []).append(Timed(timed[0], timed[1], times, self.profile.metadata.rate_hz))
        return {chain: timed[0] for chain, timed in found.items()}

    def _timed(self, loop: Iterated, here: BoolArray) -> tuple[Period, IntArray] | None:
        """Return the period of a loop, and its ticks in each interval, (n,)."""
        samples, size = self.profile.samples, len(self.profile.paths.parent)
        inside = np.zeros(size, dtype=np.bool_)
        inside[list(loop.place)] = True
        at = np.flatnonzero(inside[samples.node[self._use]] & here)
        rows = self._use[at]
        ticks = np.bincount(self._interval[rows], weights=samples.weight[rows], minlength=self.profile.n_intervals)
        if ticks.sum() < FEWEST:
            return None
        at, rows = at[:MOST_SAMPLES], rows[:MOST_SAMPLES]
        state, execution = self._states(loop, rows)
        new = np.concatenate([[True], np.diff(at) != 1]) | self._waited[at]
        new[1:] |= np.diff(execution) != 0
        looks = bool(samples.is_look[rows].any())
        shortest = SHORTEST_S if looks else TICKS / self.profile.metadata.rate_hz
        found = period_of(samples.time_s[rows], state, np.cumsum(new), shortest)
        return None if found is None or SURE * found.error > EXACT else (found, ticks.astype(np.int64))

    def _states(self, loop: Iterated, rows: Sequence[int] | IntArray) -> tuple[IntArray, IntArray]:
        """Return the part of the iteration that each sample is in, numbered, and the execution of the loop."""
        numbers: dict[tuple[int, ...], int] = {}
        state = np.zeros(len(rows), dtype=np.int64)
        execution = np.zeros(len(rows), dtype=np.int64)
        samples = self.profile.samples
        for i, (node, kind) in enumerate(zip(samples.node[rows].tolist(), samples.kind[rows].tolist(), strict=True)):
            place = loop.place[node]
            # Code outside of loops is one part, wherever a sample met it; calls of libraries are parts of their own.
            part = place.part[:-1] if place.is_open and kind != LIBRARY else place.part
            state[i] = numbers.setdefault(part, len(numbers))
            execution[i] = place.execution
        return state, execution

    def _after_waiting(self) -> BoolArray:
        """Tell of each sample in use, by thread and time, whether its thread had waited since the one before, (s,)."""
        samples, rate = self.profile.samples, self.profile.metadata.rate_hz
        new = np.concatenate([[True], np.diff(samples.thread[self._use]) != 0])
        tick = np.flatnonzero(samples.weight[self._use] > 0)
        time, weight = samples.time_s[self._use[tick]], samples.weight[self._use[tick]]
        off = np.abs(np.diff(time) - weight[1:] / rate) > LATE / rate
        new[tick[1:][off]] = True
        return new
