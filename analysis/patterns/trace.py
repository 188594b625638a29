"""From periodic windows to instances that all begin at the same point of their pattern.

A window cuts its instances wherever it happens to lie, misses the first ones of a region and breaks off where a region
ends. So each region's shape is laid over the shape of the largest region of similar length, all are cut where most
instances fit in, and each is followed to both sides for as long as the next piece looks like the ones before. What
looks like it elsewhere is found as well. With `align` off regions are followed from where the windows cut them.
"""

from __future__ import annotations

import numpy as np

from incprof.analysis._native import ffi, native
from incprof.analysis.patterns.dtw import doubles
from incprof.analysis.patterns.results import PatternOptions
from incprof.analysis.patterns.runs import Run
from incprof.analysis.patterns.shapes import Kind, cut_at_the_edges, kinds_of, similar_places
from incprof.model import FloatArray, IntArray

# The next piece may begin this share of the period early or late, and the shape follows the pieces at this rate.
SLACK = 0.05
RATE = 0.1
# How near to its kind, on the way to no likeness, a region must be that no window has found.
MISSED = 0.25


class Claims:
    """Samples that already belong to an instance. Owns an array of n flags."""

    def __init__(self, samples: int):
        self.taken = np.zeros(samples, dtype=bool)

    def free(self, start: int, end: int) -> bool:
        """Tell whether no sample of a range is taken, but for its rims."""
        return not self.taken[start:end].any()

    def take(self, instances: IntArray) -> None:
        """Mark instances."""
        for start, end in instances.tolist():
            self.taken[start:end] = True


def trace_group(x: FloatArray, runs: list[Run], options: PatternOptions, claims: Claims) -> list[IntArray]:
    """Return the instances of each region of one group of lengths, (q, 2) each, none with samples in `claims`.

    Args:
        x: (n,) the series.
        runs: The group's periodic regions as the windows gave them.
        options: align, shortest.
        claims: Samples of other groups; the new instances are added.
    """
    found: list[IntArray] = []
    kinds = kinds_of(x, runs, options)
    if options.align:
        kinds = [cut_at_the_edges(x, kind) for kind in kinds]
    for kind in kinds:
        for region, (run, shift) in enumerate(zip(kind.runs, kind.shifts, strict=True)):
            found += _followed(x, run.anchor + shift, run.period, kind.limit(region), claims)
    for kind in kinds if options.align else []:
        found += _missed(x, kind, claims)
    return found


def _missed(x: FloatArray, kind: Kind, claims: Claims) -> list[IntArray]:
    """Return regions where no window was periodic, but which look like the kind."""
    found: list[IntArray] = []
    limit = kind.limit(0, MISSED)
    for place in similar_places(x, kind.shape, limit).tolist():
        if claims.free(place, place + len(kind.shape)):
            found += _followed(x, place, len(kind.shape), limit, claims)
    return found


def _followed(x: FloatArray, anchor: int, period: int, limit: float, claims: Claims) -> list[IntArray]:
    """Return the region around an instance at `anchor`, unless it is taken already or has no second instance."""
    slack = int(SLACK * period)
    if anchor < 0 or anchor + period > len(x) or not claims.free(anchor + slack, anchor + period - slack):
        return []
    shape = x[anchor : anchor + period]
    before = _follow(x, anchor, False, shape.copy(), slack, limit, claims)[::-1]
    after = _follow(x, anchor, True, shape.copy(), slack, limit, claims)
    starts = np.array([*before, anchor, *after], dtype=np.int64)
    if len(starts) < 2:
        return []
    instances = np.column_stack([starts, np.append(starts[1:], min(starts[-1] + period, len(x)))])
    # A neighbouring region that begins within the slack wins.
    for side, row in ((0, 0), (1, -1)):
        start, end = instances[row]
        taken = np.flatnonzero(claims.taken[start:end])
        if len(taken):
            instances[row, side] = start + taken[-1] + 1 if side == 0 else start + taken[0]
    claims.take(instances)
    return [instances]


def _follow(
    x: FloatArray, anchor: int, forward: bool, shape: FloatArray, slack: int, limit: float, claims: Claims
) -> list[int]:
    """Return the starts of what follows or precedes an instance, nearest first, up to what is taken."""
    period = len(shape)
    room = (len(x) - anchor if forward else anchor) // max(period - slack, 1) + 1
    starts = np.zeros(room, dtype=np.int64)
    count = native().incprof_trace(
        doubles(x), len(x), anchor, int(forward), doubles(shape), period, slack, limit, RATE,
        ffi.from_buffer("int64_t[]", starts), room,
    )  # fmt: skip
    kept: list[int] = []
    for start in starts[:count].tolist():
        if not claims.free(start + slack, start + period - slack):
            break
        kept.append(start)
    return kept
