"""Rows of one state in a row, and the runs between the times at which a node is idle."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

import numpy as np

from incprof.analysis.dna.results import Stretch
from incprof.model import FloatArray, IntArray

# A node that is idle for so long has ended its run.
PAUSE_S = 10.0


def stretches_of(times: FloatArray, labels: IntArray, watts: FloatArray | None, period_s: float) -> tuple[Stretch, ...]:
    """Join neighbouring rows of one state. Rows that are missing belong to the stretch that is open then.

    Args:
        times: (rows,) at which rows end.
        labels: (rows,).
        watts: (rows,) or None; what is NaN is as the mean of its stretch.
        period_s: length of the first row.
    """
    if not len(times):
        return ()
    first = np.concatenate([[0], np.flatnonzero(np.diff(labels)) + 1, [len(labels)]])
    begins = np.concatenate([[times[0] - period_s], times[first[1:-1] - 1]])
    ends = times[first[1:] - 1]
    joules: list[float | None] = [None] * len(begins)
    if watts is not None:
        for at, (low, high) in enumerate(pairwise(first.tolist())):
            own = watts[low:high]
            mean = float(np.nanmean(own)) if np.isfinite(own).any() else float("nan")
            joules[at] = mean * float(ends[at] - begins[at]) if np.isfinite(mean) else None
    return tuple(
        Stretch(int(labels[row]), float(b), float(e), j)
        for row, b, e, j in zip(first[:-1], begins, ends, joules, strict=True)
    )


def without_idle(stretches: Sequence[Stretch], idle: Collection[int]) -> list[tuple[Stretch, ...]]:
    """The runs: what lies between idle stretches of `PAUSE_S` at least; all of it where a node never is idle."""
    runs: list[list[Stretch]] = [[]]
    for stretch in stretches:
        if stretch.state in idle and (stretch.seconds >= PAUSE_S or not runs[-1]):
            runs.append([])
        else:
            runs[-1].append(stretch)
    for run in runs:
        while run and run[-1].state in idle:
            run.pop()
    return [tuple(run) for run in runs if run]
