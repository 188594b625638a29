"""Calls of each step per iteration of its driver's loop, from the calls counted by the ends of intervals.

Counts are exact, so steps of one loop cannot drift apart: of two that are called once in each iteration, one is ahead
of the other by one call or not at all. n intervals, m steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.analysis.options.step_thresholds import STEPS, StepOptions
from incprof.model import FloatArray, IntArray

NONE = np.iinfo(np.int64).min // 2


@dataclass(frozen=True)
class Recurrence:
    """The loop behind some steps.

    Attributes:
        reference: the step that represents an iteration.
        every: (m,) see Step, 0 if unknown.
        times: (m,) see Step, 0 if unknown.
        per_iteration: (m,) mean calls per iteration, 0 where the step does not continue as long as the reference.
        lead: (s, m) calls of each step less those of the reference, at the end of each interval of the phase.
        lead_after: (m,) the same at the end of the run.
        low: (m,) the lower of two neighbouring values of a lead: the lead is one higher while a step has been called in
            the current or last iteration of the reference. NONE if it has only one value.
    """

    reference: int
    every: IntArray
    times: IntArray
    per_iteration: FloatArray
    lead: IntArray
    lead_after: IntArray
    low: IntArray

    def ahead(self, lead: IntArray) -> IntArray:
        """Return 1 where a step has been called since the reference was, 0 where not, -1 where unknown."""
        bit = lead - self.low
        return np.where((self.low != NONE) & ((bit == 0) | (bit == 1)), bit, -1)


def find_recurrence(
    counts: IntArray,
    members: IntArray,
    share: FloatArray,
    lanes: int,
    holds: Sequence[bool],
    options: StepOptions = STEPS,
) -> Recurrence | None:
    """Find the loop that calls the steps; None if no step is called often enough.

    Args:
        counts: (n, m) calls in each interval.
        members: (s,) the intervals of the phase, ascending.
        share: (m,) of the steps' time.
        lanes: number of threads that run the loop, each for itself.
        holds: (m,) whether a step recurs for most of the driver's time.
        options: thresholds.
    """
    in_phase = counts[members].sum(axis=0)
    total = np.cumsum(counts, axis=0)
    totals = [total[members], _since_visit(total, members)]
    reference = _reference(totals, in_phase, share, lanes, holds, options)
    if reference is None:
        return None
    m = counts.shape[1]
    every, times, per_iteration = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64), np.zeros(m)
    lead = total - total[:, [reference]]
    low = np.full(m, NONE, dtype=np.int64)
    for step in np.flatnonzero(in_phase).tolist():
        every[step], times[step] = _ratio(totals, in_phase, (step, reference), lanes, options)
        if every[step]:
            per_iteration[step] = times[step] / every[step]
        elif _together(counts[members][:, [step, reference]], options):
            per_iteration[step] = in_phase[step] / in_phase[reference]
        # With several threads, each may be ahead of the others.
        if every[step] == times[step] == lanes == 1:
            low[step] = _low(lead[members, step])
    return Recurrence(reference, every, times, per_iteration, lead[members], lead[-1], low)


def _since_visit(total: IntArray, members: IntArray) -> IntArray:
    """Return the calls since the last entry into the phase, (s, m), from those since the run began, (n, m)."""
    new = np.diff(members, prepend=-2) > 1
    entered = members[np.flatnonzero(new)[np.cumsum(new) - 1]]
    before: IntArray = np.where((entered > 0)[:, None], total[np.maximum(entered - 1, 0)], 0)
    return total[members] - before


def _reference(
    totals: Sequence[IntArray],
    calls: IntArray,
    share: FloatArray,
    lanes: int,
    holds: Sequence[bool],
    options: StepOptions,
) -> int | None:
    """Return the largest of the equally frequent steps that make up the iteration.

    totals: see _ratio. calls: (m,) in the phase.
    """
    often = [step for step in np.flatnonzero(calls >= options.fewest).tolist() if holds[step]]
    best: tuple[float, float, int] | None = None
    called = int((calls > 0).sum())
    for step in often:
        once = [other for other in often if _ratio(totals, calls, (other, step), lanes, options) == (1, 1)]
        times = [_ratio(totals, calls, (other, step), lanes, options)[1] for other in often if other not in once]
        # A loop is identified by its number of steps, some called several times, and the time of those called once.
        along = len(once) + sum(1 < number <= options.several for number in times)
        weight = along * (len(once) / called + float(share[once].sum()))
        key = (round(weight, 9), float(share[step]), -step)
        best = key if best is None or key > best else best
    return None if best is None else -best[2]


def _together(counts: IntArray, options: StepOptions) -> bool:
    """Return whether two steps, (s, 2), go on side by side, however irregularly: neither ends before the other."""
    part = np.cumsum(counts, axis=0) / counts.sum(axis=0)
    return bool(np.abs(part[:, 0] - part[:, 1]).max() <= options.aside + 1 / counts.sum(axis=0).min())


def _ratio(
    totals: Sequence[IntArray], calls: IntArray, pair: tuple[int, int], lanes: int, options: StepOptions
) -> tuple[int, int]:
    """Return (every, times) of a step, (0, 0) if its calls do not keep pace with those of the reference (pair).

    totals: calls up to the ends of the phase's intervals, since the run began and since the phase was entered. A loop
    that starts again may call a step once more; a phase may be cut out of a loop anywhere.
    """
    step, reference = pair
    mine, base = int(calls[step]), int(calls[reference])
    times, every = max(round(mine / base), 1), max(round(base / mine), 1)
    if every > 1 and mine < options.fewest:
        return 0, 0
    width = max(times, every) * lanes
    lead = (every * total[:, step] - times * total[:, reference] for total in totals)
    return (every, times) if any(_keeps_within(values, width, options.agree) for values in lead) else (0, 0)


def _keeps_within(values: IntArray, width: int, agree: float) -> bool:
    """Return whether nearly all values lie within a range of this width."""
    ordered = np.sort(values)
    inside = np.searchsorted(ordered, ordered + width, side="right") - np.arange(len(ordered))
    return bool(inside.max() >= agree * len(ordered))


def _low(lead: IntArray) -> int:
    """Return the lower of the two neighbouring values of a lead; NONE if it has only one."""
    values, counts = np.unique(lead, return_counts=True)
    neighbours = np.flatnonzero(np.diff(values) == 1)
    if not len(neighbours):
        return NONE
    return int(values[neighbours[np.argmax(counts[neighbours] + counts[neighbours + 1])]])
