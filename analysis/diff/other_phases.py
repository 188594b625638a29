"""Whether the other side does the work of a phase that it lacks, in other phases or between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from incprof.analysis.diff.match import Group
from incprof.analysis.diff.measure import Measured

# A phase with a smaller share of its work missing is done on the other side, though not as a phase.
STILL = 0.5


def done_elsewhere(runs: Sequence[Measured], group: Group, first: int) -> bool:
    """Return whether the side without a phase does most of its work.

    Args:
        runs: those of A first.
        group: a phase that only one side has.
        first: number of runs of A.
    """
    whole = [np.asarray(run.self_s.sum(axis=0)).ravel() for run in runs]
    sides = [np.mean(part, axis=0) for part in (whole[:first], whole[first:])]
    has, other = sides if any(group.members[:first]) else sides[::-1]
    spent = [
        np.asarray(run.self_s[run.intervals(phases)].sum(axis=0)).ravel()
        for run, phases in zip(runs, group.members, strict=True)
        if phases
    ]
    work = np.mean(spent, axis=0)
    missing = np.minimum(np.maximum(has - other, 0.0), work)
    return bool(missing.sum() < STILL * work.sum())
