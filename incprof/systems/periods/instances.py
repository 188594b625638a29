"""From periodic windows to instances that all begin at the same point of their pattern.

A window cuts instances at an arbitrary point, misses the first ones of a region, and stops where a region ends. So each
region's shape is aligned with the shape of the largest region of similar length, all are cut where most instances fit
in, and each is extended on both sides while the next piece resembles the previous ones. Similar pieces elsewhere are
found as well. With `align` off, regions are extended from where the windows cut them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from incprof.analysis._native import native, pointer
from incprof.model import FloatArray, IntArray
from incprof.systems.periods.pattern_result import PatternOptions
from incprof.systems.periods.scan import Run, inner_products

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
    regions: list[IntArray] = []
    kinds = kinds_of(x, runs, options)
    if options.align:
        kinds = [rotate_to_edges(x, kind) for kind in kinds]
    for kind in kinds:
        for region, (run, shift) in enumerate(zip(kind.runs, kind.shifts, strict=True)):
            regions += _followed(x, run.anchor + shift, run.period, kind.limit(region), claims)
    for kind in kinds if options.align else []:
        regions += _missed(x, kind, claims)
    return regions


def _missed(x: FloatArray, kind: Kind, claims: Claims) -> list[IntArray]:
    """Return regions that resemble the kind, but were not detected by a window."""
    regions: list[IntArray] = []
    limit = kind.limit(0, MISSED)
    for place in similar_places(x, kind.shape, limit).tolist():
        if claims.free(place, place + len(kind.shape)):
            regions += _followed(x, place, len(kind.shape), limit, claims)
    return regions


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
        pointer(x), len(x), anchor, int(forward), pointer(shape), period, slack, limit, RATE,
        pointer(starts), room,
    )  # fmt: skip
    kept: list[int] = []
    for start in starts[:count].tolist():
        if not claims.free(start + slack, start + period - slack):
            break
        kept.append(start)
    return kept


# Regions of the same shape: their grouping, alignment and common cut.


# Regions are of one kind if their aligned shapes differ by less than this share of the difference of unlike shapes.
SAME_KIND = 0.5
# Only that many largest regions are aligned: the search for similar places finds the others. A group of lengths with
# more kinds has no meaningful shape.
MOST_RUNS, MOST_KINDS = 1000, 64
# Instances averaged for a region's shape.
AVERAGED = 9
# Edges further than the period divided by this from an instance boundary all count the same.
FAR_EDGE = 8


@dataclass(frozen=True)
class Kind:
    """Regions of one shape.

    Attributes:
        shape: (p,) shape of the largest region, from the point at which instances are cut.
        runs: The regions, largest first.
        shifts: For each region, the offset of an instance's begin from its anchor, in samples.
        spread: For each region, the mean square of instances from their mean.
    """

    shape: FloatArray
    runs: list[Run]
    shifts: list[int]
    spread: list[float]

    def limit(self, region: int, fraction: float = 0.4) -> float:
        """Return the greatest mean square of a piece: `fraction` of the way from instances to unlike pieces."""
        same, unlike = np.sqrt(2 * self.spread[region]), np.sqrt(2 * self.shape.var())
        return float((same + fraction * max(unlike - same, 0.0)) ** 2)


def kinds_of(x: FloatArray, runs: list[Run], options: PatternOptions) -> list[Kind]:
    """Group regions by shape, largest first; each joins the most similar kind, or starts a new one."""
    kinds: list[Kind] = []
    for run in sorted(runs, key=lambda run: (-run.samples, run.boundaries[0]))[:MOST_RUNS]:
        shape, spread = shape_of(x, run)
        fits = [align_rotated(kind.shape, shape) for kind in kinds]
        best = min(range(len(fits)), key=lambda index: fits[index][0], default=-1)
        if best < 0 or fits[best][0] > SAME_KIND:
            if len(kinds) < MOST_KINDS:
                kinds.append(Kind(shape, [run], [0], [spread]))
            continue
        kinds[best].runs.append(run)
        kinds[best].shifts.append(fits[best][1] if options.align else 0)
        kinds[best].spread.append(spread)
    return kinds


def shape_of(x: FloatArray, run: Run) -> tuple[FloatArray, float]:
    """Return the mean of a region's middle instances, and half the mean square difference of consecutive ones."""
    period = run.period
    # The left half of the window covers one period more than the instances that it found.
    starts = np.concatenate([[run.boundaries[0] - period], run.boundaries[:-1]])
    starts = starts[(starts >= 0) & (starts + period <= len(x))]
    middle = max(0, (len(starts) - AVERAGED) // 2)
    pieces = np.stack([x[start : start + period] for start in starts[middle : middle + AVERAGED]])
    if len(pieces) < 2:
        return pieces.mean(axis=0), 0.0
    return pieces.mean(axis=0), float(np.median(np.mean(np.diff(pieces, axis=0) ** 2, axis=1))) / 2


def align_rotated(shape: FloatArray, other: FloatArray) -> tuple[float, int]:
    """Return the difference of two shapes at their best alignment, and the rotation of the other, in samples.

    The difference is the root mean square, as a share of its value for unlike shapes of these means and variances. The
    other's samples from the rotation on resemble the shape's from its begin; the rotation is -p/2 .. p/2.
    """
    period = len(other)
    first = np.interp(np.arange(period) * (len(shape) / period), np.arange(len(shape)), shape)
    products = np.fft.irfft(np.fft.rfft(other) * np.conj(np.fft.rfft(first)), period)
    rotation = int(products.argmax())
    unlike = first.var() + other.var() + (first.mean() - other.mean()) ** 2
    difference = max(float(first @ first + other @ other - 2 * products[rotation]) / period, 0.0)
    relative = float(np.sqrt(difference / unlike)) if unlike > 0 else 0.0
    return relative, rotation - period if rotation > period // 2 else rotation


def rotate_to_edges(x: FloatArray, kind: Kind) -> Kind:
    """Rotate a kind so that its instances begin and end as close as possible to the edges of its regions.

    This fits the most instances in. Edges are inexact, and a region may stop anywhere: distant edges have no influence.
    """
    period = len(kind.shape)
    rotations = np.arange(period)
    pull = np.zeros(period)
    for region, (run, shift) in enumerate(zip(kind.runs, kind.shifts, strict=True)):
        for edge in _extent(x, run, kind.limit(region)):
            distance = (rotations + shift + run.anchor - edge) % period
            pull += np.minimum(np.minimum(distance, period - distance), period / FAR_EDGE)
    best = int(pull.argmin())
    rotation = best - period if best > period // 2 else best
    return replace(kind, shape=np.roll(kind.shape, -rotation), shifts=[shift + rotation for shift in kind.shifts])


def _extent(x: FloatArray, run: Run, limit: float) -> tuple[int, int]:
    """Return the first and the last sample around a region that repeat one period away.

    They maximise the sum of the limit minus the squared difference.
    """
    period, (first, last) = run.period, (int(run.boundaries[0]), int(run.boundaries[-1]))
    start, end = max(first - 3 * period, 0), min(last + 3 * period, len(x))
    margin = limit - (x[start:first] - x[start + period : first + period]) ** 2
    gain = np.cumsum(margin[::-1])
    back = int(gain.argmax()) + 1 if len(gain) and gain.max() > 0 else 0
    right = limit - (x[last:end] - x[last - period : end - period]) ** 2
    gain = np.cumsum(right)
    on = int(gain.argmax()) + 1 if len(gain) and gain.max() > 0 else 0
    return first - back, last + on


def similar_places(x: FloatArray, shape: FloatArray, limit: float) -> IntArray:
    """Return the starts of the pieces of x that are closest to the shape among their neighbours, and within the limit.

    Of places closer than half a period to each other only the best is returned. In order of time.
    """
    period = len(shape)
    if len(x) < period or period < 2:
        return np.zeros(0, dtype=np.int64)
    centre = shape.mean()
    series, pattern = x - centre, shape - centre
    energy = np.concatenate([[0.0], np.cumsum(series * series)])
    difference = energy[period:] - energy[:-period] + pattern @ pattern
    difference = (difference - 2 * inner_products(series, pattern)) / period
    candidates = np.flatnonzero(difference <= limit)
    return _thinned(candidates[np.argsort(difference[candidates], kind="stable")], period // 2)


def _thinned(places: IntArray, reach: int) -> IntArray:
    """Select of places, best first, those at least `reach` from every better selected one; in order of time."""
    if not len(places):
        return places
    blocked = np.zeros(int(places.max()) + 2 * reach + 2, dtype=bool)
    kept = []
    for place in places.tolist():
        if not blocked[place + reach]:
            kept.append(place)
            blocked[place + 1 : place + 2 * reach] = True
            blocked[place + reach] = True
    return np.sort(np.array(kept, dtype=np.int64))
