"""Loops of a run's code that samples show to come again and again, and the calls that come with them.

n intervals, p path nodes, q chains, s samples and looks, by thread and time.
"""

from __future__ import annotations

import numpy as np

from incprof.analysis.uncounted.frames import frames_of
from incprof.analysis.uncounted.iterations import Iterated, iterated
from incprof.analysis.uncounted.loop_run import LoopRun
from incprof.analysis.uncounted.repeated import EXACT, Repeated
from incprof.analysis.uncounted.rhythm import FEWEST
from incprof.model import PROFILER, FloatArray, IntArray, IntervalProfile
from incprof.model.calltree import CallTree

# A sample may come so much later than it was due, in ticks, without the thread having waited.
LATE = 0.6


class LoopPeriods:
    """The loops of a run's code, of which the samples of some intervals tell the period."""

    def __init__(self, profile: IntervalProfile, chains: CallTree):
        self.profile = profile
        self._own = frames_of(profile, chains)[0]
        self._use, self._cpu_s = _on_cpu(profile)
        self._samples = self._below()
        self._loops = iterated(profile, self._own, self._samples, FEWEST) if profile.metadata.ordered else {}
        self._interval = profile.interval_of_samples()

    def in_intervals(self, members: IntArray) -> dict[int, Repeated]:
        """Return the calls, in some intervals, of chains that one loop calls in each iteration or nearly so."""
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
        """Tell whether nearly all that samples saw of a chain was below one loop, by ways that come at most once."""
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
        """The samples and looks at each path node and below, (p,)."""
        below = np.bincount(self.profile.samples.node[self._use], minlength=len(self.profile.paths.parent))
        for node, parent in reversed(list(enumerate(self.profile.paths.parent.tolist()))[1:]):
            below[parent] += below[node]
        return below


def _on_cpu(profile: IntervalProfile) -> tuple[IntArray, FloatArray]:
    """Return the samples and looks that tell when they were, by thread and time, and when, in CPU time of theirs, (s,).

    Each sample is as many ticks of CPU time after the one before as it counts. A look lies as long after a sample as it
    came, where the thread had not to wait until the next one.
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
