"""Phase-TA: the periodicities of a series of samples, with a pattern for each (periods-and-models.md)."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from incprof.model import FloatArray, IntArray
from incprof.systems.periods.patterns import dtw
from incprof.systems.periods.patterns.aligned_instances import Claims, trace_group
from incprof.systems.periods.patterns.average import average, medoid
from incprof.systems.periods.patterns.cluster import clusters
from incprof.systems.periods.patterns.groups import length_groups
from incprof.systems.periods.patterns.pattern_result import Pattern, PatternOptions, Patterns
from incprof.systems.periods.patterns.plain import UP, allowed, carriers, lags, usual
from incprof.systems.periods.patterns.regions import runs_of
from incprof.systems.periods.patterns.scan import Scan, noise_level
from incprof.systems.periods.patterns.tune import coverage, covered_by_chance, tune


def is_credible(x: FloatArray, instances: IntArray, pattern: FloatArray) -> bool:
    """Return whether consecutive instances are closer than chance makes them, given their number of independent values.

    In random series some segments resemble the next one, the more so the shorter or smoother they are. So few or smooth
    instances must be very alike, while many may be noisy.

    Args:
        x: (n,) the series.
        instances: (q, 2) ranges in order.
        pattern: (p,) the medoid of the instances.
    """
    apart, variance, count = 0.0, 0.0, 0
    for (start, middle), (second, end) in zip(instances[:-1].tolist(), instances[1:].tolist(), strict=True):
        if middle == second:
            length = min(middle - start, end - second)
            apart += float(np.mean((x[start : start + length] - x[second : second + length]) ** 2))
            variance += float(x[start:middle].var() + x[second:end].var()) / 2
            count += 1
    if not count or not variance > 0:
        return False
    values = count * min(len(pattern) / correlated(pattern), carriers(pattern))
    return math.sqrt(apart / (2 * variance)) <= credible(values)


def credible(values: float) -> float:
    """Return the greatest credible distance of neighbours, as a share of the usual one, from the number of values."""
    return max(min(0.3 * values / 15, 0.3), 1 - 4.35 / math.sqrt(values))


def correlated(pattern: FloatArray) -> int:
    """Return the least rotation of a pattern that is about as unlike it as any other; its length if there is none."""
    centred = pattern - pattern.mean()
    power = float(centred @ centred)
    if not power > 0:
        return len(pattern)
    likeness = np.fft.irfft(np.abs(np.fft.rfft(centred)) ** 2, len(centred))[: len(centred) // 2 + 1] / power
    # Unlike pieces are sqrt(2) times their deviation apart: this equals f divided by its usual value.
    turns = np.flatnonzero(np.sqrt(np.maximum(1 - likeness, 0)) >= UP)
    return int(turns[0]) if len(turns) else len(pattern)


# Number of windows whose allowed dip is evaluated, for the report.
LOOKED_AT = 8


def find_patterns(series: FloatArray, options: PatternOptions | None = None) -> Patterns:
    """Find the periodicities of a series, and a representative pattern of each.

    Args:
        series: (n,) finite values, at equal distances in time.
        options: Parameters; all have defaults.

    Returns:
        Patterns by coverage, descending; empty if nothing repeats. The result is the same to the last byte for any
        number of threads.

    Raises:
        ValueError: the series is not one-dimensional, or holds values that are not finite.
    """
    options = options or PatternOptions()
    x, scale = _scaled(series)
    noise = noise_level(x)
    found, tuning = tune(x, options, noise)
    if found is None:
        return Patterns(len(x), 0, (), 0.0, 0.0, 0.0, noise * scale, 0.0, (), options)
    detected = coverage(found, len(x), options)
    chance = covered_by_chance(x, found.window, options)
    theta = _theta(x, found, noise, options)
    none = Patterns(len(x), found.window, tuning, detected, *chance, noise * scale, theta, (), options)
    if not none.beyond_chance:
        return none
    patterns = [
        pattern for regions in _instances(x, found, options) for pattern in _patterns_of(x, regions, scale, options)
    ]
    patterns.sort(key=lambda pattern: (-pattern.share, int(pattern.instances[0, 0])))
    return replace(none, patterns=tuple(patterns))


def _scaled(series: FloatArray) -> tuple[FloatArray, float]:
    """Return the series as contiguous doubles over a power of two, so that no square overflows, and that power."""
    x = np.ascontiguousarray(series, dtype=np.float64)
    if x.ndim != 1:
        raise ValueError(f"a series has one dimension, this one {x.ndim}")
    if not np.isfinite(x).all():
        raise ValueError("the series holds values that are not finite")
    largest = float(np.abs(x).max(initial=0.0))
    if 1e-30 < largest < 1e30 or largest == 0:
        return x, 1.0
    scale = float(2.0 ** np.floor(np.log2(largest)))
    return x / scale, scale


def _instances(x: FloatArray, found: Scan, options: PatternOptions) -> list[list[IntArray]]:
    """Return the regions of each group of lengths as arrays of instances, (q, 2) each."""
    claims = Claims(len(x))
    groups = length_groups(found.periods, found.periods, len(x), options)
    return [trace_group(x, runs_of(found, np.sort(group), options), options, claims) for group in groups]


def _patterns_of(x: FloatArray, regions: list[IntArray], scale: float, options: PatternOptions) -> list[Pattern]:
    """Cluster the instances of one group of lengths, and average each cluster."""
    if not regions:
        return []
    instances = np.concatenate(regions)
    instances = instances[np.argsort(instances[:, 0], kind="stable")]
    packed = dtw.slices(x, instances)
    after = np.flatnonzero(instances[1:, 0] == instances[:-1, 1])
    labels = clusters(packed, np.column_stack([after, after + 1]), options)
    patterns = []
    for label in range(int(labels.max(initial=-1)) + 1):
        members = instances[labels == label]
        own_regions, inside = regions_of(members)
        members = members[inside]
        share = float((members[:, 1] - members[:, 0]).sum()) / len(x)
        if len(own_regions) and share >= options.cluster_share:
            mine = dtw.slices(x, members)
            middle = mine[medoid(mine, options)]
            if not is_credible(x, members, middle):
                continue
            result = average(mine, middle, options)
            history = tuple(value * scale * scale for value in result.history)
            patterns.append(Pattern(result.values * scale, members, own_regions, history[-1], history, share))
    return patterns


def regions_of(instances: IntArray) -> tuple[IntArray, IntArray]:
    """Return the runs of at least two consecutive instances, (r, 2), and for each instance whether it is in one, (q,).

    A single occurrence is not a periodic instance.
    """
    breaks = np.flatnonzero(instances[1:, 0] != instances[:-1, 1]) + 1
    parts = [part for part in np.split(np.arange(len(instances)), breaks) if len(part) > 1]
    inside = np.zeros(len(instances), dtype=bool)
    for part in parts:
        inside[part] = True
    ends = [(instances[part[0], 0], instances[part[-1], 1]) for part in parts]
    return np.array(ends, dtype=np.int64).reshape(-1, 2), inside


def _theta(x: FloatArray, found: Scan, noise: float, options: PatternOptions) -> float:
    """Return the median greatest dip allowed for periodic windows, as a share of the usual distance."""
    if not len(found.starts):
        return 0.0
    chosen = np.unique(np.linspace(0, len(found.starts) - 1, LOOKED_AT).round().astype(np.int64))
    thetas = []
    for start in np.clip(found.starts[chosen], found.window, len(x) - found.window).tolist():
        f = lags(x[start - found.window : start + found.window], options.metric)
        half = x[start : start + found.window]
        thetas.append(allowed(f, carriers(half), noise, options)[0] / usual(f))
    return float(np.median(thetas))
