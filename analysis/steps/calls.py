"""How often each step is called in an iteration of its driver's loop, from the calls counted by the ends of intervals.

Counts are exact, so that steps of one loop cannot drift apart: of two that are called once in each iteration, one is
ahead of the other by one call or not at all. n intervals, m steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.options.steps import STEPS, StepOptions
from incprof.model import FloatArray, IntArray, IntervalProfile

NONE = np.iinfo(np.int64).min // 2


@dataclass(frozen=True)
class Recurrence:
    """The loop behind some steps.

    reference: the step that stands for an iteration. every, times: (m,) see Step, 0 where unknown. iterations,
    period_s: of the loop.
    lead: (s, m) calls of each step less those of the reference, at the end of each interval of the phase; lead_after:
    (m,) at the end of the run. low: (m,) the lower of two neighbouring values that a lead takes: it is one more while a
    step has been called in the iteration that the reference is in, or was in last. NONE where it takes but one.
    """

    reference: int
    every: IntArray
    times: IntArray
    iterations: int
    period_s: float
    lead: IntArray
    lead_after: IntArray
    low: IntArray

    def ahead(self, lead: IntArray) -> IntArray:
        """Return 1 where a step has been called since the reference was, 0 where not, -1 where it cannot be told."""
        bit = lead - self.low
        return np.where((self.low != NONE) & ((bit == 0) | (bit == 1)), bit, -1)


def calls_of_steps(profile: IntervalProfile, callers: Sequence[int], steps: Sequence[int]) -> IntArray:
    """Return the calls of each step in every interval, shape (n, m): by its driver where that is known.

    Args:
        profile: n intervals.
        callers: the driver, then what it was inlined into: the first that calls any of the steps counts.
        steps: m functions.
    """
    arcs, place = profile.arcs, np.full(len(profile.functions) + 1, -1)
    place[list(steps)] = np.arange(len(steps))
    if not len(arcs.interval):
        # A long run may be read without who called whom.
        return np.asarray(csr_array(profile.calls)[:, list(steps)].toarray(), dtype=np.int64)
    counts = np.zeros((profile.n_intervals, len(steps)), dtype=np.int64)
    for caller in callers:
        use = (arcs.caller == caller) & (place[arcs.callee] >= 0)
        if use.any():
            np.add.at(counts, (arcs.interval[use], place[arcs.callee[use]]), arcs.count[use])
            break
    return counts


def find_recurrence(
    counts: IntArray,
    members: IntArray,
    width_s: FloatArray,
    share: FloatArray,
    lanes: int,
    options: StepOptions = STEPS,
) -> Recurrence | None:
    """Find the loop that calls the steps; None where no step is called often enough to tell.

    Args:
        counts: (n, m) calls in each interval.
        members: (s,) the intervals of the phase, ascending.
        width_s: (n,) length of each interval.
        share: (m,) of the phase's time.
        lanes: threads that run the loop, each for itself.
        options: thresholds.
    """
    in_phase = counts[members].sum(axis=0)
    reference = _reference(in_phase, share, int((np.diff(members) > 1).sum()) + lanes, options)
    if reference is None:
        return None
    total = np.cumsum(counts, axis=0)
    m = counts.shape[1]
    every, times = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64)
    lead = total - total[:, [reference]]
    low = np.full(m, NONE, dtype=np.int64)
    for step in np.flatnonzero(in_phase).tolist():
        every[step], times[step] = _ratio(total[members], in_phase, (step, reference), lanes, options)
        # Of several threads, each may be ahead of the others.
        if every[step] == times[step] == lanes == 1:
            low[step] = _low(lead[members, step])
    whole = _whole(members)
    iterations = int(counts[whole, reference].sum())
    if not iterations:
        whole, iterations = members, int(in_phase[reference])
    period = float(width_s[whole].sum()) * lanes / iterations
    if not period > 0:
        return None
    return Recurrence(reference, every, times, int(in_phase[reference]), period, lead[members], lead[-1], low)


def _reference(calls: IntArray, share: FloatArray, slack: int, options: StepOptions) -> int | None:
    """Return the largest of the steps that are called equally often, of those that make up the iteration."""
    often = np.flatnonzero(calls >= options.fewest)
    if not len(often):
        return None
    mine, theirs = calls[often][:, None], calls[often][None, :]
    ratio = np.clip(np.rint(theirs / mine), 1, options.several)
    along = np.abs(theirs - ratio * mine) <= ratio * slack
    # A loop is known by the number of its steps, some called several times, and by the time of those called once.
    weight = along.sum(axis=1) * ((along & (ratio == 1)) * share[often]).sum(axis=1)
    best = np.lexsort((often, -share[often], -np.round(weight, 9)))[0]
    return int(often[best])


def _ratio(
    total: IntArray, calls: IntArray, pair: tuple[int, int], lanes: int, options: StepOptions
) -> tuple[int, int]:
    """Return (every, times) of a step, (0, 0) where its calls do not keep step with those of the reference (pair)."""
    step, reference = pair
    mine, base = int(calls[step]), int(calls[reference])
    step_total, base_total = total[:, step], total[:, reference]
    if mine >= base:
        times = round(mine / base)
        return (1, times) if _keeps_within(step_total - times * base_total, times * lanes, options.agree) else (0, 0)
    every = round(base / mine)
    if every == 1:
        return (1, 1) if _keeps_within(step_total - base_total, lanes, options.agree) else (0, 0)
    regular = _keeps_within(every * step_total - base_total, every * lanes, options.agree)
    return (every, 1) if mine >= options.fewest and regular else (0, 0)


def _keeps_within(values: IntArray, width: int, agree: float) -> bool:
    """Tell whether nearly all values lie within a range of this width."""
    ordered = np.sort(values)
    inside = np.searchsorted(ordered, ordered + width, side="right") - np.arange(len(ordered))
    return bool(inside.max() >= agree * len(ordered))


def _low(lead: IntArray) -> int:
    """Return the lower of the two neighbouring values that a lead takes; NONE if it takes but one."""
    values, counts = np.unique(lead, return_counts=True)
    neighbours = np.flatnonzero(np.diff(values) == 1)
    if not len(neighbours):
        return NONE
    return int(values[neighbours[np.argmax(counts[neighbours] + counts[neighbours + 1])]])


def _whole(members: IntArray) -> IntArray:
    """Return the intervals that have neighbours of the same phase: no other phase reaches into them."""
    if len(members) < 3:
        return members[:0]
    inner = (np.diff(members[:-1]) == 1) & (np.diff(members[1:]) == 1)
    return np.asarray(members[1:-1][inner], dtype=np.int64)
