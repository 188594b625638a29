"""A loop in some intervals of a run: the duration of an iteration, and the calls of its callees.

n intervals, m samples (also dense ones) below the loop, by thread and time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from incprof.analysis.uncounted.iterations import Iterated, Part, Place
from incprof.analysis.uncounted.loop_calls import EXACT, Repeated, joined
from incprof.analysis.uncounted.rhythm import FEWEST, Period, period_of
from incprof.model import LIBRARY, BoolArray, FloatArray, IntArray, IntervalProfile
from incprof.model.visits import SURE, Visits, visits

# Most samples in a row that are searched for a period: further ones add nothing.
MOST_SAMPLES = 10_000
# Occurrences at such even distances, and so many, are complete: of 100 000 sequences without a rhythm, 6 in 1000 are as
# even. The spread of the distances is relative to their mean.
EVEN, EVEN_TIMES = 0.4, 9
# Share of a thread's CPU time that samples missed at most, in 15 runs on a busy machine.
LOST = 0.01
# Shortest period to try: three dense samples, and twice the distance of samples if there are none.
SHORTEST_S, TICKS = 0.003, 2.0


@dataclass(frozen=True)
class LoopRun:
    """A loop in some intervals.

    Attributes:
        period: None if it is irregular, or too long for the autocorrelation.
        ticks: (n,) of the loop, on all threads.
        rate_hz: ticks per second.
        interval: (m,) of its samples.
        node: (m,) of its samples.
        thread: (m,) of its samples.
        upto: (m,) ticks up to each.
        places: of its path nodes.
    """

    period: Period | None
    ticks: IntArray
    rate_hz: float
    interval: IntArray
    node: IntArray
    thread: IntArray
    upto: IntArray
    places: dict[int, Place]

    @classmethod
    def of(
        cls, profile: IntervalProfile, loop: Iterated, use: IntArray, cpu_s: FloatArray, here: BoolArray
    ) -> LoopRun | None:
        """Analyse some samples; None if they are too few.

        Args:
            profile: the run.
            loop: of its code.
            use: (s,) indices of samples, by thread and time.
            cpu_s: (s,) times in their thread's CPU time.
            here: (s,) which of them to use.
        """
        samples, interval = profile.samples, profile.interval_of_samples()
        inside = np.zeros(len(profile.paths.parent), dtype=np.bool_)
        inside[list(loop.place)] = True
        at = np.flatnonzero(inside[samples.node[use]] & here)
        rows = use[at]
        ticks = np.bincount(interval[rows], weights=samples.weight[rows], minlength=profile.n_intervals)
        if ticks.sum() < FEWEST:
            return None
        asked, first = rows[:MOST_SAMPLES], at[:MOST_SAMPLES]
        state, execution, once = _states(loop, samples.node[asked], samples.kind[asked] == LIBRARY)
        new = np.concatenate([[True], (np.diff(first) != 1) | (np.diff(execution) != 0)])
        new[1:] |= np.diff(samples.thread[asked]) != 0
        rate = profile.metadata.rate_hz
        shortest = SHORTEST_S if bool(samples.is_look[asked].any()) else TICKS / rate
        found = period_of(cpu_s[first], state, np.cumsum(new), once, shortest)
        if found is not None and SURE * found.error > EXACT:
            found = None
        upto = np.cumsum(samples.weight[rows], dtype=np.int64)
        thread = samples.thread[rows]
        return cls(found, ticks.astype(np.int64), rate, interval[rows], samples.node[rows], thread, upto, loop.place)

    @cached_property
    def iterations(self) -> Repeated | None:
        """Number of iterations; None if unknown."""
        if self.period is None:
            return self._as_seen()
        upto = np.cumsum(self.ticks) / self.rate_hz / self.period.seconds
        off = SURE * self.period.error + LOST
        low, high = upto[-1] / (1 + off) - 1, upto[-1] / (1 - off) + 1  # the first and the last may be partial
        visits = Visits(max(math.floor(low), 1), float(high), float(upto[-1]))
        return Repeated(visits, np.diff(np.floor(upto), prepend=0.0).astype(np.int64))

    def _as_seen(self) -> Repeated | None:
        """Return the iterations that samples show, if at even distances; otherwise some may be missed in between."""
        entered, inside = self._most_entered(())
        gap = np.diff(self.upto[entered])[np.diff(self.thread[entered]) == 0]
        if len(gap) < EVEN_TIMES - 1 or gap.std(ddof=1) > EVEN * gap.mean():
            return None
        found = visits(len(entered), inside, len(self.node))
        return Repeated(found, self._times(entered)) if found.is_known else None

    def _times(self, entered: IntArray) -> IntArray:
        return np.bincount(self.interval[entered], minlength=len(self.ticks))

    def calls(self, ways: dict[Part, int]) -> Repeated | None:
        """Return the calls through some parts, each at most once per iteration; None if they are not in nearly each."""
        most = self.iterations
        if most is None:
            return None
        known = [most if sure == 0 else self._seen(way[:sure], most.visits) for way, sure in ways.items()]
        parts = [each for each in known if each is not None]
        return joined(parts) if len(parts) == len(known) else None

    def _seen(self, start: Part, most: Visits) -> Repeated | None:
        """Return the occurrences of the start of a part in samples; None if it is not in nearly each iteration."""
        entered, _ = self._most_entered(start)
        number = len(entered)
        if number < (1 - EXACT) * most.calls:
            return None
        return Repeated(Visits(number, max(most.high or 0.0, float(number)), float(number)), self._times(entered))

    def _most_entered(self, start: Part) -> tuple[IntArray, int]:
        """Return the occurrences of the most frequent part with the given start, all of which come at most as often.

        Returns:
            The first sample of each occurrence, ascending, and the number of samples in the part.
        """
        nodes, place = np.unique(self.node, return_inverse=True)
        parts = [self.places[node].part for node in nodes.tolist()]
        best, inside = np.zeros(0, dtype=np.int64), 0
        for depth in range(max(len(start), 1), max(map(len, parts)) + 1):
            numbers: dict[Part, int] = {}
            known = [numbers.setdefault(part[:depth], len(numbers))
                     if len(part) >= depth and part[: len(start)] == start else -1 for part in parts]  # fmt: skip
            part = np.array(known)[place]
            new = (part >= 0) & (part != np.concatenate([[-1], part[:-1]]))
            entered = np.bincount(part[new], minlength=1)
            if entered.max() > len(best):
                most = int(entered.argmax())
                best, inside = np.flatnonzero(new & (part == most)), int(np.count_nonzero(part == most))
        return best, inside


def _states(loop: Iterated, nodes: IntArray, in_library: BoolArray) -> tuple[IntArray, IntArray, BoolArray]:
    """Return the number of each sample's part of the iteration, and the execution of the loop, (m,) each.

    The third: for each part, whether it comes at most once.
    """
    numbers: dict[tuple[Part, bool], int] = {}
    state, execution = np.zeros(len(nodes), dtype=np.int64), np.zeros(len(nodes), dtype=np.int64)
    for i, (node, library) in enumerate(zip(nodes.tolist(), in_library.tolist(), strict=True)):
        place = loop.place[node]
        # Code outside of loops is one part, wherever it was sampled; calls of libraries are parts of their own.
        once = library or not place.is_open
        state[i] = numbers.setdefault((place.part if once else place.part[:-1], once), len(numbers))
        execution[i] = place.execution
    return state, execution, np.array([once for _, once in numbers], dtype=np.bool_)
