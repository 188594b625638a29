"""Loops of a run's code that samples show to recur, and the calls that come with their iterations.

n intervals, p path nodes, q call paths, s samples (also dense ones), by thread and time.
"""

from __future__ import annotations

import numpy as np

from incprof.analysis.uncounted.frames import frames_of
from incprof.analysis.uncounted.iterations import Iterated, iterated
from incprof.analysis.uncounted.loop_calls import EXACT, Repeated
from incprof.analysis.uncounted.loop_run import LoopRun
from incprof.analysis.uncounted.rhythm import FEWEST
from incprof.model import PROFILER, FloatArray, IntArray, IntervalProfile
from incprof.model.calltree import CallTree

# A sample may be this many ticks late without the thread having waited.
LATE = 0.6


class LoopPeriods:
    """Loops of a run's code, with their periods from the samples of some intervals."""

    def __init__(self, profile: IntervalProfile, chains: CallTree):
        self.profile = profile
        self._own = frames_of(profile, chains)[0]
        self._use, self._cpu_s = _on_cpu(profile)
        self._samples = self._below()
        self._loops = iterated(profile, self._own, self._samples, FEWEST) if profile.metadata.ordered else {}
        self._interval = profile.interval_of_samples()

    def in_intervals(self, members: IntArray) -> dict[int, Repeated]:
        """Return the calls, in some intervals, of call paths that one loop calls in each iteration or nearly so."""
        wanted = np.zeros(self.profile.n_intervals, dtype=np.bool_)
        wanted[members] = True
        here = wanted[self._interval[self._use]]
        found: dict[int, Repeated] = {}
        for loop in self._loops.values():
            chains = [chain for chain in loop.calls if self._is_called_there(chain, loop)]
            run = (
                LoopRun.of(self.profile, loop, self._use, self._cpu_s, here) if chains and not loop.recursive else None
            )
            if run is not None:
                calls = {chain: run.calls(loop.calls[chain]) for chain in chains}
                found |= {chain: each for chain, each in calls.items() if each is not None}
        return found

    def _is_called_there(self, chain: int, loop: Iterated) -> bool:
        """Return whether nearly all samples of a call path were below a loop, through calls that come at most once."""
        ways = loop.calls[chain]
        inside = outside = 0
        for node in np.flatnonzero(self._own == chain).tolist():
            place = loop.place.get(node)
            of_it = int(self._samples[node])
            if place is not None and any(place.part[: len(way)] == way for way in ways):
                inside += of_it
            else:
                outside += of_it
        return outside <= EXACT * inside

    def _below(self) -> IntArray:
        """Return the samples, also dense ones, at each path node and below, (p,)."""
        below = np.bincount(self.profile.samples.node[self._use], minlength=len(self.profile.paths.parent))
        for node, parent in reversed(list(enumerate(self.profile.paths.parent.tolist()))[1:]):
            below[parent] += below[node]
        return below


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
    look = samples.is_look[order]
    cpu_s[look] = np.minimum(cpu_s[before] + time - time[before], cpu_s[then])[look]
    use = np.flatnonzero(np.where(look, between, samples.kind[order] != PROFILER))
    return order[use], cpu_s[use]
