"""Loops of a run's code that samples show to recur, and the calls that come with their iterations.

n intervals, p path nodes, q call paths, s samples (also dense ones), by thread and time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from incprof.analysis.uncounted.rhythm import FEWEST, Period, period_of
from incprof.analysis.uncounted.sampled_calls import frames_of
from incprof.model import LIBRARY, OUTSIDE_LOOPS, PROFILER, BoolArray, CodeLoops, FloatArray, IntArray, IntervalProfile
from incprof.model.calltree import CallTree, inclusive
from incprof.model.time_use import SURE, CallEstimate, estimate_calls

# A sample may be this many ticks late without the thread having waited.
LATE = 0.6


class LoopPeriods:
    """Loops of a run's code, with their periods from the samples of some intervals."""

    def __init__(self, profile: IntervalProfile, chains: CallTree):
        self.profile = profile
        self._own = frames_of(profile, chains)[0]
        self._use, self._cpu_s = _on_cpu(profile)
        # At each path node and below, (p,); also dense ones.
        own = np.bincount(profile.samples.node[self._use], minlength=len(profile.paths.parent))
        self._samples = inclusive(profile.paths.parent, own).astype(np.int64)
        self._loops = iterated(profile, self._own, self._samples, FEWEST) if profile.metadata.ordered else {}
        self._interval = profile.interval_of_samples()

    def in_intervals(self, members: IntArray) -> dict[int, Repeated]:
        """Return the calls, in some intervals, of call paths that one loop calls in each iteration or nearly so."""
        selected = np.zeros(self.profile.n_intervals, dtype=np.bool_)
        selected[members] = True
        in_selection = selected[self._interval[self._use]]
        calls_of_chain: dict[int, Repeated] = {}
        for loop in self._loops.values():
            chains = [chain for chain in loop.calls if self._is_called_there(chain, loop)]
            run = (
                LoopRun.of(self.profile, loop, self._use, self._cpu_s, in_selection)
                if chains and not loop.recursive
                else None
            )
            if run is not None:
                calls = {chain: run.calls(loop.calls[chain]) for chain in chains}
                calls_of_chain |= {chain: each for chain, each in calls.items() if each is not None}
        return calls_of_chain

    def _is_called_there(self, chain: int, loop: Iterated) -> bool:
        """Return whether nearly all samples of a call path were below a loop, through calls that come at most once."""
        paths = loop.calls[chain]
        inside = outside = 0
        for node in np.flatnonzero(self._own == chain).tolist():
            place = loop.place.get(node)
            samples = int(self._samples[node])
            if place is not None and any(place.part[: len(path)] == path for path in paths):
                inside += samples
            else:
                outside += samples
        return outside <= EXACT * inside


def _on_cpu(profile: IntervalProfile) -> tuple[IntArray, FloatArray]:
    """Return the samples with a known time, by thread and time, and their times in CPU time of the thread, (s,).

    Each sample is as many ticks of CPU time after the one before as it counts. A dense sample keeps its distance to the
    sample before it, if the thread did not wait until the next one.
    """
    samples, rate = profile.samples, profile.metadata.rate_hz
    order = np.lexsort((samples.time_s, samples.thread))
    time, thread, weight = samples.time_s[order], samples.thread[order], samples.weight[order]
    cpu_s = np.cumsum(weight) / rate
    ticks = np.flatnonzero(weight > 0)
    if not len(ticks):
        return order[:0], cpu_s[:0]
    after = np.searchsorted(ticks, np.arange(len(order)))
    before, then = ticks[np.maximum(after - 1, 0)], ticks[np.minimum(after, len(ticks) - 1)]
    between = (thread[before] == thread) & (thread[then] == thread) & (before < then)
    between &= time[then] - time[before] <= cpu_s[then] - cpu_s[before] + LATE / rate
    is_dense = samples.is_dense[order]
    cpu_s[is_dense] = np.minimum(cpu_s[before] + time - time[before], cpu_s[then])[is_dense]
    use = np.flatnonzero(np.where(is_dense, between, samples.kind[order] != PROFILER))
    return order[use], cpu_s[use]


# A loop in some intervals of a run: the duration of an iteration, and the calls of its callees.
#
# n intervals, m samples (also dense ones) below the loop, by thread and time.


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
        cls, profile: IntervalProfile, loop: Iterated, use: IntArray, cpu_s: FloatArray, in_selection: BoolArray
    ) -> LoopRun | None:
        """Analyse some samples; None if they are too few.

        Args:
            profile: the run.
            loop: of its code.
            use: (s,) indices of samples, by thread and time.
            cpu_s: (s,) times in their thread's CPU time.
            in_selection: (s,) which of them to use.
        """
        samples, interval = profile.samples, profile.interval_of_samples()
        inside = np.zeros(len(profile.paths.parent), dtype=np.bool_)
        inside[list(loop.place)] = True
        at = np.flatnonzero(inside[samples.node[use]] & in_selection)
        rows = use[at]
        ticks = np.bincount(interval[rows], weights=samples.weight[rows], minlength=profile.n_intervals)
        if ticks.sum() < FEWEST:
            return None
        limited, first = rows[:MOST_SAMPLES], at[:MOST_SAMPLES]
        state, execution, once = _states(loop, samples.node[limited], samples.kind[limited] == LIBRARY)
        new = np.concatenate([[True], (np.diff(first) != 1) | (np.diff(execution) != 0)])
        new[1:] |= np.diff(samples.thread[limited]) != 0
        rate = profile.metadata.rate_hz
        shortest = SHORTEST_S if bool(samples.is_dense[limited].any()) else TICKS / rate
        period = period_of(cpu_s[first], state, np.cumsum(new), once, shortest)
        if period is not None and SURE * period.error > EXACT:
            period = None
        upto = np.cumsum(samples.weight[rows], dtype=np.int64)
        thread = samples.thread[rows]
        return cls(period, ticks.astype(np.int64), rate, interval[rows], samples.node[rows], thread, upto, loop.place)

    @cached_property
    def iterations(self) -> Repeated | None:
        """Number of iterations; None if unknown."""
        if self.period is None:
            return self._from_entries()
        upto = np.cumsum(self.ticks) / self.rate_hz / self.period.seconds
        off = SURE * self.period.error + LOST
        low, high = upto[-1] / (1 + off) - 1, upto[-1] / (1 - off) + 1  # the first and the last may be partial
        estimate = CallEstimate(max(math.floor(low), 1), float(high), float(upto[-1]))
        return Repeated(estimate, np.diff(np.floor(upto), prepend=0.0).astype(np.int64))

    def _from_entries(self) -> Repeated | None:
        """Return the iterations that samples show, if at even distances; otherwise some may be missed in between."""
        entered, inside = self._most_entered(())
        gap = np.diff(self.upto[entered])[np.diff(self.thread[entered]) == 0]
        if len(gap) < EVEN_TIMES - 1 or gap.std(ddof=1) > EVEN * gap.mean():
            return None
        estimate = estimate_calls(len(entered), inside, len(self.node))
        return Repeated(estimate, self._times(entered)) if estimate.is_known else None

    def _times(self, entered: IntArray) -> IntArray:
        return np.bincount(self.interval[entered], minlength=len(self.ticks))

    def calls(self, paths: dict[Part, int]) -> Repeated | None:
        """Return the calls through some parts, each at most once per iteration; None if they are not in nearly each."""
        most = self.iterations
        if most is None:
            return None
        counts = [most if sure == 0 else self._occurrences(path[:sure], most.estimate) for path, sure in paths.items()]
        parts = [each for each in counts if each is not None]
        return joined(parts) if len(parts) == len(counts) else None

    def _occurrences(self, start: Part, most: CallEstimate) -> Repeated | None:
        """Return the occurrences of the start of a part in samples; None if it is not in nearly each iteration."""
        entered, _ = self._most_entered(start)
        number = len(entered)
        if number < (1 - EXACT) * most.calls:
            return None
        return Repeated(CallEstimate(number, max(most.high or 0.0, float(number)), float(number)), self._times(entered))

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
            numbers_of_parts = [numbers.setdefault(part[:depth], len(numbers))
                     if len(part) >= depth and part[: len(start)] == start else -1 for part in parts]  # fmt: skip
            part = np.array(numbers_of_parts)[place]
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


# Positions of samples within an iteration of a loop, from their call paths. p path nodes, q call paths.
#
# Calls by a loop's code outside of inner loops, and by these callees outside of loops, come at most once in an
# iteration. So each path leads, from a loop on its stack, through calls that come once to a part of the iteration: an
# inner loop, or code outside of loops. The parts follow one another, and recur with the next iteration.


# A loop in a calling context: the loop, and the call path of the function that it is in.
Key = tuple[int, int]
# Addresses of calls that come once, ending in the address of the part; an inner loop is negative.
Part = tuple[int, ...]


@dataclass(frozen=True)
class Place:
    """Position of a path node in an iteration.

    Attributes:
        execution: the path node that called the loop's function.
        part: of the iteration.
        is_open: only calls that come once lead there, and no loop, and no address that calls several functions.
        sure: length of the prefix of the part whose execution implies that of the rest.
    """

    execution: int
    part: Part
    is_open: bool
    sure: int


@dataclass
class Iterated:
    """A loop where it is called from one call path.

    Attributes:
        place: position of each sampled path node below it.
        calls: call paths that its iterations call at most once, by part, with `sure` of each.
        recursive: whether it runs within itself.
    """

    place: dict[int, Place] = field(default_factory=dict)
    calls: dict[int, dict[Part, int]] = field(default_factory=dict)
    recursive: bool = False


def iterated(profile: IntervalProfile, own: IntArray, samples: IntArray, fewest: int) -> dict[Key, Iterated]:
    """Return the loops with at least so many samples; none for code that is not available.

    Args:
        profile: the run.
        own: (p,) call path of the function of each path node's frame, 0 where it is left out.
        samples: (p,) at each path node and below.
        fewest: samples that a loop needs.
    """
    loops = profile.code_loops
    if loops is None:
        return {}
    out: dict[Key, Iterated] = {}
    parent, address = profile.paths.parent.tolist(), profile.paths.address.astype(np.int64).tolist()
    top, always = loops.outermost().tolist(), loops.always.tolist()
    several = _several(profile)
    met: dict[Key, int] = {}
    for node in np.flatnonzero((own > 0) & (loops.at > 0)).tolist():
        for loop, _ in _around(loops, node):
            met[loop, int(own[node])] = met.get((loop, int(own[node])), 0) + int(samples[node])
    places: list[dict[Key, Place]] = [{}]
    for node in range(1, len(parent)):
        chain = int(own[node])
        places_here: dict[Key, Place] = {}
        for key, above in places[parent[node]].items():
            places_here[key] = above
            if above.is_open:
                is_recursion = 0 < chain <= own[parent[node]]
                if chain and not is_recursion:
                    out[key].calls.setdefault(chain, {})[above.part] = above.sure
                part = (*above.part, -top[node] if top[node] > 0 else address[node])
                is_open = top[node] == OUTSIDE_LOOPS and not several[node] and not is_recursion
                places_here[key] = Place(above.execution, part, is_open, above.sure if always[node] else len(part))
        for loop, inner in _around(loops, node) if chain else ():
            key = loop, chain
            if met[key] < fewest:
                continue
            out.setdefault(key, Iterated()).recursive |= key in places_here
            part = (-inner if inner else address[node],)
            places_here[key] = Place(parent[node], part, not inner and not several[node], 0 if always[node] else 1)
        for key, place in places_here.items():
            out[key].place[node] = place
        places.append(places_here)
    return out


def _several(profile: IntervalProfile) -> list[bool]:
    """Return for each path node whether its address calls different functions at different times."""
    function: dict[int, int] = {}
    out = [False] * len(profile.paths.parent)
    for node, parent in enumerate(profile.paths.parent.tolist()[1:], start=1):
        called = int(profile.paths.function[node])
        out[parent] |= function.setdefault(parent, called) != called
    return out


def _around(loops: CodeLoops, node: int) -> list[tuple[int, int]]:
    """Return the loops that a path node's address lies in, each with the next one inside, 0 for the innermost."""
    enclosing, inner, loop = [], 0, max(int(loops.at[node]), 0)
    while loop:
        enclosing.append((loop, inner))
        inner, loop = loop, int(loops.around[loop])
    return enclosing


# Calls that recur with the iterations of a loop. n intervals, q call paths.


# Largest relative error of a period, at 1.96 standard errors; largest share that samples may miss of a part in each
# iteration; and largest share of a call path's time that may be elsewhere.
EXACT = 0.05


@dataclass(frozen=True)
class Repeated:
    """Calls that recur with the iterations of a loop.

    Attributes:
        estimate: their number.
        times: (n,) estimated calls in each interval.
    """

    estimate: CallEstimate
    times: IntArray


def calls_of(nodes: Sequence[int], ticks: FloatArray, repeated: Mapping[int, Repeated]) -> Repeated | None:
    """Return the calls of some call paths together; None if those with known calls have too little of the time.

    ticks: (q,) inclusive ticks of each call path.
    """
    parts = [repeated[node] for node in nodes if node in repeated]
    covered = sum(float(ticks[node]) for node in nodes if node in repeated)
    if not parts or covered < (1 - EXACT) * float(ticks[list(nodes)].sum()):
        return None
    return joined(parts)


def joined(parts: Sequence[Repeated]) -> Repeated:
    """Return several calls as one."""
    low, calls = (sum(getattr(each.estimate, name) for each in parts) for name in ("low", "calls"))
    high = float(sum(each.estimate.high or 0.0 for each in parts))
    return Repeated(CallEstimate(low, high, float(calls)), np.sum([each.times for each in parts], axis=0))
