"""Phase-TA: the periodicities of a series of samples, and a pattern for each. docs/periods-algorithm.md."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from incprof.analysis.patterns import dtw
from incprof.analysis.patterns.average import average, medoid
from incprof.analysis.patterns.cluster import clusters
from incprof.analysis.patterns.evidence import is_credible
from incprof.analysis.patterns.groups import length_groups
from incprof.analysis.patterns.plain import allowed, carriers, lags, usual
from incprof.analysis.patterns.results import Pattern, PatternOptions, Patterns
from incprof.analysis.patterns.runs import runs_of
from incprof.analysis.patterns.scan import Scan, noise_level
from incprof.analysis.patterns.trace import Claims, trace_group
from incprof.analysis.patterns.tune import coverage, covered_by_chance, tune
from incprof.model import FloatArray, IntArray

# Windows whose allowed dip is looked at, for the report.
LOOKED_AT = 8


def find_patterns(series: FloatArray, options: PatternOptions | None = None) -> Patterns:
    """Find what repeats in a series, and the representative pattern of each periodicity.

    Args:
        series: (n,) finite values, at equal distances in time.
        options: Parameters; all have defaults.

    Returns:
        Patterns, the one that covers most first; none where nothing repeats. Same input, same bytes, however many
        threads.

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
    """Return the regions of each group of lengths, as instances, (q, 2) each."""
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
    """Return the runs of at least two instances that follow each other, (r, 2), and which instances lie in one, (q,).

    An occurrence by itself is no periodic instance.
    """
    breaks = np.flatnonzero(instances[1:, 0] != instances[:-1, 1]) + 1
    parts = [part for part in np.split(np.arange(len(instances)), breaks) if len(part) > 1]
    inside = np.zeros(len(instances), dtype=bool)
    for part in parts:
        inside[part] = True
    ends = [(instances[part[0], 0], instances[part[-1], 1]) for part in parts]
    return np.array(ends, dtype=np.int64).reshape(-1, 2), inside


def _theta(x: FloatArray, found: Scan, noise: float, options: PatternOptions) -> float:
    """Return the median dip that periodic windows were allowed, as a share of the usual distance."""
    if not len(found.starts):
        return 0.0
    chosen = np.unique(np.linspace(0, len(found.starts) - 1, LOOKED_AT).round().astype(np.int64))
    thetas = []
    for start in np.clip(found.starts[chosen], found.window, len(x) - found.window).tolist():
        f = lags(x[start - found.window : start + found.window], options.metric)
        half = x[start : start + found.window]
        thetas.append(allowed(f, carriers(half), noise, options)[0] / usual(f))
    return float(np.median(thetas))
