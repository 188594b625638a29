"""Segments of one state, and the runs between the times at which a node is idle."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

import numpy as np

from incprof.model import FloatArray, IntArray
from incprof.systems.nodes.analyse.node_states import Stretch

# A node that is idle for this long has ended its run.
PAUSE_S = 10.0


def stretches_of(times: FloatArray, labels: IntArray, watts: FloatArray | None, period_s: float) -> tuple[Stretch, ...]:
    """Join neighbouring rows of one state. Gaps between rows belong to the segment before.

    Args:
        times: (rows,) ends of the rows.
        labels: (rows,).
        watts: (rows,) or None; NaN counts as the mean of the segment.
        period_s: Length of the first row.
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
    """Return the runs: the parts between idle segments of at least `PAUSE_S`; everything if a node is never idle."""
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
