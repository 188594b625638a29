"""From periodic windows to instances that all begin at the same point of their pattern.

A window cuts instances at an arbitrary point, misses the first ones of a region, and stops where a region ends. So each
region's shape is aligned with the shape of the largest region of similar length, all are cut where most instances fit
in, and each is extended on both sides while the next piece resembles the previous ones. Similar pieces elsewhere are
found as well. With `align` off, regions are extended from where the windows cut them.
"""

from __future__ import annotations

import numpy as np

from incprof.analysis._native import ffi, native
from incprof.model import FloatArray, IntArray
from incprof.systems.periods.patterns.dtw import doubles
from incprof.systems.periods.patterns.pattern_result import PatternOptions
from incprof.systems.periods.patterns.regions import Run
from incprof.systems.periods.patterns.shapes import Kind, cut_at_the_edges, kinds_of, similar_places

# Share of the period by which the next piece may begin early or late, and the rate at which the shape adapts to the
# pieces.
SLACK = 0.05
RATE = 0.1
# Greatest distance from its kind of a region that no window found: 0 is that of its instances, 1 that of unlike pieces.
MISSED = 0.25


class Claims:
    """Flags of samples that already belong to an instance. Owns an array of n flags."""

    def __init__(self, samples: int):
        self.taken = np.zeros(samples, dtype=bool)

    def free(self, start: int, end: int) -> bool:
        """Return whether no sample of a range is taken."""
        return not self.taken[start:end].any()

    def take(self, instances: IntArray) -> None:
        """Mark instances."""
        for start, end in instances.tolist():
            self.taken[start:end] = True


def trace_group(x: FloatArray, runs: list[Run], options: PatternOptions, claims: Claims) -> list[IntArray]:
    """Return the instances of each region of one group of lengths, (q, 2) each, none with samples in `claims`.

    Args:
        x: (n,) the series.
        runs: The group's periodic regions as detected by the windows.
        options: Uses align and shortest.
        claims: Samples taken by other groups; the new instances are added.
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
    """Return regions that resemble the kind, but were not detected by a window."""
    found: list[IntArray] = []
    limit = kind.limit(0, MISSED)
    for place in similar_places(x, kind.shape, limit).tolist():
        if claims.free(place, place + len(kind.shape)):
            found += _followed(x, place, len(kind.shape), limit, claims)
    return found


def _followed(x: FloatArray, anchor: int, period: int, limit: float, claims: Claims) -> list[IntArray]:
    """Return the region around an instance at `anchor`, unless the instance is taken or has no second one."""
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
    """Return the starts of the pieces that follow or precede an instance, nearest first, up to the first taken one."""
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
