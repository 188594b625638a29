"""Intervals of a phase that a loop covers, and its period, from the calls of one of its steps in each interval.

n intervals, s intervals of the phase, which come in runs without a gap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from incprof.model import BoolArray, FloatArray, IntArray

# A loop has ended if no call comes for this many times the mean distance between calls. Of calls at random times, one
# in 20 000 is so late.
FAR = 10.0
# At most this many intervals of another phase only interrupt a loop.
INTERRUPTED = 2
# Standard deviation of the distance of two calls whose intervals are known, in intervals.
BLUR = 6**-0.5


@dataclass(frozen=True)
class Spans:
    """Recurrence of a step.

    Attributes:
        covered: (s,) intervals from its first call to its last one, without long gaps.
        seconds: wall time of these.
        calls: calls in that time.
        error: relative error of the period, seconds / calls.
    """

    covered: BoolArray
    seconds: float
    calls: int
    error: float


def spans_of(counts: IntArray, members: IntArray, width_s: FloatArray, ticks: FloatArray) -> Spans:
    """Compute the spans of a step.

    Args:
        counts: (n,) its calls in each interval.
        members: (s,) the intervals of the phase, ascending.
        width_s: (n,) length of each interval, seconds.
        ticks: (n,) of the step's driver. A driver that waits, or whose processor others have, has not ended its loop.
    """
    whole = _bridged(members)
    found = _spans(counts[whole], whole, width_s[whole], ticks[whole])
    return replace(found, covered=found.covered[np.searchsorted(whole, members)])


def _bridged(members: IntArray) -> IntArray:
    """Add intervals between two of a phase that are too few for an episode of another one."""
    gap = np.diff(members)
    short = np.flatnonzero((gap > 1) & (gap <= INTERRUPTED + 1))
    between = [np.arange(members[i] + 1, members[i + 1]) for i in short.tolist()]
    return np.sort(np.concatenate([members, *between]))


def _spans(counts: IntArray, members: IntArray, width_s: FloatArray, ticks: FloatArray) -> Spans:
    """Compute the spans of a step in some intervals, members; all other arguments, (s,), are of these."""
    stretch = np.cumsum(np.diff(members, prepend=members[:1]) > 1)
    at = np.flatnonzero(counts)
    covered = np.zeros(len(members), dtype=np.bool_)
    if not len(at):
        return Spans(covered, 0.0, 0, np.inf)
    together = np.diff(stretch[at]) == 0
    gap, used = np.diff(at), np.diff(np.cumsum(ticks)[at])
    calls = max(int(counts[at[1:]][together].sum()), 1)
    usual = max(float(gap[together].sum()) / calls, 1.0)
    long = (gap > FAR * usual) & (used > FAR * max(float(used[together].sum()) / calls, 1.0))
    cut = np.flatnonzero(~together | long) + 1
    elapsed = np.concatenate([[0.0], np.cumsum(width_s)])
    total = np.concatenate([[0], np.cumsum(counts)])
    # The time until the next call is due is covered as well.
    due = float(np.median(gap[together])) if together.any() else 1.0
    reach = int(np.ceil(due)) if due > 1 else 0
    slow, fast = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
    for run in np.split(at, cut):
        first, last = int(run[0]), int(run[-1])
        own = np.flatnonzero(stretch == stretch[first])
        covered[max(first - reach, int(own[0])) : min(last + max(reach, 1), int(own[-1])) + 1] = True
        # From one call to another one, each somewhere in its interval; or only the intervals between these.
        for sums, end in ((slow, last), (fast, last - 1)):
            if end > first:
                sums[0] += float(elapsed[end + 1] - elapsed[first + 1])
                sums[1] += float(total[end + 1] - total[first + 1])
                sums[2] += 1
    usual_s = float(width_s.mean())
    by_ends = _sum(slow, BLUR * usual_s / slow[0] if slow[0] else np.inf)
    by_inner = _sum(fast, BLUR / fast[1] if fast[1] else np.inf)
    seconds, calls, error = min(by_inner, by_ends, key=lambda found: found[2])
    return Spans(covered, seconds, calls, error)


def _sum(sums: list[float], error: float) -> tuple[float, int, float]:
    """Return seconds, calls and relative error of several runs of calls."""
    return sums[0], int(sums[1]), error * max(sums[2], 1.0) ** 0.5 if sums[1] else np.inf
