"""How much two runs' seconds for the same work vary along the runs.

Where both runs did the same number of calls, call number i of one corresponds to call number i of the other. Causes
that make some calls more expensive (a mesh that grows, solvers that converge) are then in both and are not noise.
Otherwise the calls of each run by themselves show how much the time for one varies.
"""

from __future__ import annotations

import numpy as np

from incprof.analysis.compare.log_mean import MIN_INTERVALS
from incprof.analysis.diff.estimates import Estimate, observed
from incprof.model import FloatArray

# Numbers of calls that differ by more than this share are not the same work.
SAME_WORK = 0.01
MOST_BLOCKS = 64


def pace(
    calls_a: FloatArray, seconds_a: FloatArray, calls_b: FloatArray, seconds_b: FloatArray
) -> tuple[Estimate, Estimate] | None:
    """Return the seconds of both runs, with the uncertainty of their pace; None for too few intervals.

    Args:
        calls_a: calls in each interval of one run in order of time, (n,).
        seconds_a: (n,).
        calls_b: the same of the other run, (m,).
        seconds_b: (m,).
    """
    some = [(calls > 0) | (seconds > 0) for calls, seconds in ((calls_a, seconds_a), (calls_b, seconds_b))]
    calls_a, seconds_a, calls_b, seconds_b = (
        calls_a[some[0]], seconds_a[some[0]], calls_b[some[1]], seconds_b[some[1]],
    )  # fmt: skip
    total = float(calls_a.sum()), float(calls_b.sum())
    if min(len(calls_a), len(calls_b)) < MIN_INTERVALS or min(total) <= 0:
        return None
    found = observed(calls_a, seconds_a), observed(calls_b, seconds_b)
    if found[0] is None or found[1] is None:
        return None
    if abs(total[0] - total[1]) <= SAME_WORK * max(total):
        paired = _paired(calls_a, seconds_a, calls_b, seconds_b)
        if paired is not None:
            return paired
    return found[0], found[1]


def _paired(
    calls_a: FloatArray, seconds_a: FloatArray, calls_b: FloatArray, seconds_b: FloatArray
) -> tuple[Estimate, Estimate] | None:
    """Return the seconds with the error of their ratio, half of its variance each."""
    blocks = min(len(calls_a), len(calls_b), MOST_BLOCKS)
    one, other = _in_blocks(calls_a, seconds_a, blocks), _in_blocks(calls_b, seconds_b, blocks)
    if not (one > 0).all():
        return None
    found = observed(one, other)
    if found is None:
        return None
    half, dof = found.variance / found.seconds**2 / 2, found.dof / 2  # of two halves: their sum has found.dof again
    totals = float(seconds_a.sum()), float(seconds_b.sum())
    return Estimate(totals[0], half * totals[0] ** 2, dof), Estimate(totals[1], half * totals[1] ** 2, dof)


def _in_blocks(calls: FloatArray, seconds: FloatArray, blocks: int) -> FloatArray:
    """Return the seconds of equal parts of the calls, (blocks,)."""
    done = np.concatenate([[0.0], np.cumsum(calls)])
    spent = np.concatenate([[0.0], np.cumsum(seconds)])
    # Time without calls belongs to the last of equal positions.
    last = np.append(np.diff(done) > 0, True)
    at = np.interp(np.linspace(0.0, done[-1], blocks + 1), done[last], spent[last])
    at[0], at[-1] = 0.0, spent[-1]
    return np.diff(at)
