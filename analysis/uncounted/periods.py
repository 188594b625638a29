"""The time that an iteration of a loop takes, from the parts of it that samples and looks meet; and calls from that.

n intervals, p path nodes, q chains, m samples and looks below a loop, by thread and time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from incprof.analysis.uncounted.frames import frames_of
from incprof.analysis.uncounted.known import SEEN_AGAIN
from incprof.analysis.uncounted.iterations import Iterated, Part, Place, iterated
from incprof.analysis.uncounted.rhythm import FEWEST, Period, period_of
from incprof.model import LIBRARY, PROFILER, BoolArray, IntArray, IntervalProfile
from incprof.model.calltree import CallTree
from incprof.model.visits import SURE, Visits, visits

# What a period may be off by, with 1.96 standard errors; and what samples may miss of a part that is in each iteration.
EXACT = 0.05
# So many samples in a row are asked for a period: more of them tell no more.
MOST_SAMPLES = 20_000
# A sample may come so much later than it was due, in ticks, without the thread having waited.
LATE = 0.6
# The shortest period on trial: three looks of bursts, and twice the distance of samples where there are none.
SHORTEST_S, TICKS = 0.003, 2.0


@dataclass(frozen=True)
class Repeated:
    """Calls that come with the iterations of a loop; times: (n,) the likely ones in each interval."""

    visits: Visits
    times: IntArray


def joined(parts: Sequence[Repeated]) -> Repeated:
    """Return the calls of several chains, or by several ways, as one."""
    low, calls = (sum(getattr(each.visits, name) for each in parts) for name in ("seen", "calls"))
    high = float(sum(each.visits.high or 0.0 for each in parts))
    return Repeated(Visits(low, high, float(calls)), np.sum([each.times for each in parts], axis=0))


class LoopPeriods:
    """The loops of a run's code, of which the samples of some intervals tell the period."""

    def __init__(self, profile: IntervalProfile, chains: CallTree):
        self.profile = profile
        self._own = frames_of(profile, chains)[0]
        self._loops = iterated(profile, self._own) if profile.metadata.ordered else {}
        samples = profile.samples
        use = np.flatnonzero((samples.kind != PROFILER) | samples.is_look)
        self._use: IntArray = use[np.lexsort((samples.time_s[use], samples.thread[use]))]
        self._interval = profile.interval_of_samples()

    def in_intervals(self, members: IntArray) -> dict[int, Repeated]:
        """Return the calls, in some intervals, of chains that one loop calls in each iteration or nearly so."""
        wanted = np.zeros(self.profile.n_intervals, dtype=np.bool_)
        wanted[members] = True
        here = wanted[self._interval[self._use]]
        found: dict[int, Repeated] = {}
        for loop in self._loops.values():
            chains = [chain for chain in loop.calls if self._is_called_there(chain, loop)]
            run = _Run.of(self, loop, here) if chains and not loop.recursive else None
            for chain in chains if run is not None else ():
                calls = run.calls(loop.calls[chain])
                if calls is not None:
                    found[chain] = calls
        return found

    def _is_called_there(self, chain: int, loop: Iterated) -> bool:
        """Tell whether nearly all that samples saw of a chain was below one loop, by ways that come at most once."""
        ways = loop.calls[chain]
        inside = outside = 0
        for node in np.flatnonzero(self._own == chain).tolist():
            place = loop.place.get(node)
            of_it = int(self._samples_below[node])
            if place is not None and any(place.part[: len(way)] == way for way in ways):
                inside += of_it
            else:
                outside += of_it
        return outside <= EXACT * inside

    @cached_property
    def _samples_below(self) -> IntArray:
        """The samples and looks at each path node and below, (p,)."""
        below = np.bincount(self.profile.samples.node[self._use], minlength=len(self.profile.paths.parent))
        for node, parent in reversed(list(enumerate(self.profile.paths.parent.tolist()))[1:]):
            below[parent] += below[node]
        return below

    @cached_property
    def _waited(self) -> BoolArray:
        """Tell of each sample in use, by thread and time, whether its thread had waited since the one before, (s,)."""
        samples, rate = self.profile.samples, self.profile.metadata.rate_hz
        new = np.concatenate([[True], np.diff(samples.thread[self._use]) != 0])
        tick = np.flatnonzero(samples.weight[self._use] > 0)
        time, weight = samples.time_s[self._use[tick]], samples.weight[self._use[tick]]
        off = np.abs(np.diff(time) - weight[1:] / rate) > LATE / rate
        new[tick[1:][off]] = True
        return new


@dataclass(frozen=True)
class _Run:
    """A loop in some intervals. period: None where it is not regular, or too slow for that.

    ticks: (n,) of the loop, on all threads. interval, node: (m,) of its samples. places: of its path nodes.
    """

    period: Period | None
    ticks: IntArray
    rate_hz: float
    interval: IntArray
    node: IntArray
    places: dict[int, Place]

    @classmethod
    def of(cls, periods: LoopPeriods, loop: Iterated, here: BoolArray) -> _Run | None:
        """Ask the samples in use, those that are `here`; None where they are too few."""
        profile, samples = periods.profile, periods.profile.samples
        inside = np.zeros(len(profile.paths.parent), dtype=np.bool_)
        inside[list(loop.place)] = True
        at = np.flatnonzero(inside[samples.node[periods._use]] & here)
        rows = periods._use[at]
        ticks = np.bincount(periods._interval[rows], weights=samples.weight[rows], minlength=profile.n_intervals)
        if ticks.sum() < FEWEST:
            return None
        asked, first = rows[:MOST_SAMPLES], at[:MOST_SAMPLES]
        state, execution, once = _states(loop, samples.node[asked], samples.kind[asked] == LIBRARY)
        new = np.concatenate([[True], np.diff(first) != 1]) | periods._waited[first]
        new[1:] |= np.diff(execution) != 0
        rate = profile.metadata.rate_hz
        shortest = SHORTEST_S if bool(samples.is_look[asked].any()) else TICKS / rate
        found = period_of(samples.time_s[asked], state, np.cumsum(new), once, shortest)
        if found is not None and SURE * found.error > EXACT:
            found = None
        return cls(found, ticks.astype(np.int64), rate, periods._interval[rows], samples.node[rows], loop.place)

    @cached_property
    def iterations(self) -> Repeated | None:
        """How many there were; None where nobody can tell."""
        if self.period is None:
            return self._as_seen()
        upto = np.cumsum(self.ticks) / self.rate_hz / self.period.seconds
        off = SURE * self.period.error
        visits = Visits(round(upto[-1] / (1 + off)), float(upto[-1] / (1 - off)), float(upto[-1]))
        return Repeated(visits, np.diff(np.floor(upto), prepend=0.0).astype(np.int64))

    def _as_seen(self) -> Repeated | None:
        """Return the iterations as samples see them."""
        times, inside = self._most_entered(())
        seen = int(times.sum())
        found = visits(seen, inside, len(self.node))
        return Repeated(found, times) if found.is_known and seen >= SEEN_AGAIN else None

    def calls(self, ways: dict[Part, int]) -> Repeated | None:
        """Return the calls by some ways, each at most once an iteration; None where they are not in nearly each."""
        most = self.iterations
        if most is None:
            return None
        known = [most if sure == 0 else self._seen(way[:sure], most.visits) for way, sure in ways.items()]
        parts = [each for each in known if each is not None]
        return joined(parts) if len(parts) == len(known) else None

    def _seen(self, start: Part, most: Visits) -> Repeated | None:
        """Return how often samples see the start of a part; None where it is not in nearly each iteration."""
        times, _ = self._most_entered(start)
        number = int(times.sum())
        if number < (1 - EXACT) * most.calls:
            return None
        return Repeated(Visits(number, max(most.high or 0.0, float(number)), float(number)), times)

    def _most_entered(self, start: Part) -> tuple[IntArray, int]:
        """Of all that begins like a part, and so comes at most as often, return what samples saw entered most often.

        Returns:
            How often in each interval, (n,), and its samples.
        """
        nodes, place = np.unique(self.node, return_inverse=True)
        parts = [self.places[node].part for node in nodes.tolist()]
        best, inside = np.zeros(len(self.ticks), dtype=np.int64), 0
        for depth in range(max(len(start), 1), max(map(len, parts)) + 1):
            numbers: dict[Part, int] = {}
            known = [numbers.setdefault(part[:depth], len(numbers))
                     if len(part) >= depth and part[: len(start)] == start else -1 for part in parts]  # fmt: skip
            part = np.array(known)[place]
            new = (part >= 0) & (part != np.concatenate([[-1], part[:-1]]))
            entered = np.bincount(part[new], minlength=1)
            if entered.max() > best.sum():
                most = int(entered.argmax())
                best = np.bincount(self.interval[new & (part == most)], minlength=len(best))
                inside = int(np.count_nonzero(part == most))
        return best, inside


def _states(loop: Iterated, nodes: IntArray, in_library: BoolArray) -> tuple[IntArray, IntArray, BoolArray]:
    """Return the part of the iteration that each sample is in, numbered, and the execution of the loop, (m,) each.

    The third: for each part, whether it comes at most once.
    """
    numbers: dict[tuple[Part, bool], int] = {}
    state, execution = np.zeros(len(nodes), dtype=np.int64), np.zeros(len(nodes), dtype=np.int64)
    for i, (node, library) in enumerate(zip(nodes.tolist(), in_library.tolist(), strict=True)):
        place = loop.place[node]
        # Code outside of loops is one part, wherever a sample met it; calls of libraries are parts of their own.
        once = library or not place.is_open
        state[i] = numbers.setdefault((place.part if once else place.part[:-1], once), len(numbers))
        execution[i] = place.execution
    return state, execution, np.array([once for _, once in numbers], dtype=np.bool_)
