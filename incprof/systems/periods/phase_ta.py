"""Phase-TA: the periodicities of a series of samples, with a pattern for each (periods-and-models.md)."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from incprof.analysis.thread_pool import spread
from incprof.model import FloatArray, IntArray
from incprof.systems.periods import dtw
from incprof.systems.periods.dtw import average, clusters, medoid
from incprof.systems.periods.instances import Claims, trace_group
from incprof.systems.periods.pattern_result import SMALLEST_WINDOW, Pattern, PatternOptions, Patterns, Tried
from incprof.systems.periods.scan import (
    UP,
    Scan,
    carriers,
    greatest_dip,
    length_groups,
    noise_level,
    runs_of,
    scan,
)


def is_credible(x: FloatArray, instances: IntArray, pattern: FloatArray) -> bool:
    """Return whether consecutive instances are closer than chance makes them, given their number of independent values.

    In random series some segments resemble the next one, the more so the shorter or smoother they are. So few or smooth
    instances must be very alike, while many may be noisy.

    Args:
        x: (n,) the series.
        instances: (q, 2) ranges in order.
        pattern: (p,) the medoid of the instances.
    """
    squared_difference, variance, count = 0.0, 0.0, 0
    for (start, middle), (second, end) in zip(instances[:-1].tolist(), instances[1:].tolist(), strict=True):
        if middle == second:
            length = min(middle - start, end - second)
            squared_difference += float(np.mean((x[start : start + length] - x[second : second + length]) ** 2))
            variance += float(x[start:middle].var() + x[second:end].var()) / 2
            count += 1
    if not count or not variance > 0:
        return False
    values = count * min(len(pattern) / correlated(pattern), carriers(pattern))
    return math.sqrt(squared_difference / (2 * variance)) <= credible(values)


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
    rotations = np.flatnonzero(np.sqrt(np.maximum(1 - likeness, 0)) >= UP)
    return int(rotations[0]) if len(rotations) else len(pattern)


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
    best, tuning = tune(x, options, noise)
    if best is None:
        return Patterns(len(x), 0, (), 0.0, 0.0, 0.0, noise * scale, 0.0, (), options)
    detected = coverage(best, len(x), options)
    chance = covered_by_chance(x, best.window, options)
    theta = _theta(x, best, noise, options)
    none = Patterns(len(x), best.window, tuning, detected, *chance, noise * scale, theta, (), options)
    if not none.beyond_chance:
        return none
    patterns = [
        pattern for regions in _instances(x, best, options) for pattern in _patterns_of(x, regions, scale, options)
    ]
    patterns.sort(key=lambda pattern: (-pattern.share, int(pattern.instances[0, 0])))
    return replace(none, patterns=tuple(patterns))


def _scaled(series: FloatArray) -> tuple[FloatArray, float]:
    """Return the series as contiguous doubles over a power of two, so that no square overflows, and that power."""
    x = np.ascontiguousarray(series, dtype=np.float64)
    if x.ndim != 1:
        raise ValueError(f"a series has one dimension, but this one has {x.ndim}")
    if not np.isfinite(x).all():
        raise ValueError("the series holds values that are not finite")
    largest = float(np.abs(x).max(initial=0.0))
    if 1e-30 < largest < 1e30 or largest == 0:
        return x, 1.0
    scale = float(2.0 ** np.floor(np.log2(largest)))
    return x / scale, scale


def _instances(x: FloatArray, scanned: Scan, options: PatternOptions) -> list[list[IntArray]]:
    """Return the regions of each group of lengths as arrays of instances, (q, 2) each."""
    claims = Claims(len(x))
    groups = length_groups(scanned.periods, scanned.periods, len(x), options)
    return [trace_group(x, runs_of(scanned, np.sort(group), options), options, claims) for group in groups]


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
            slices = dtw.slices(x, members)
            middle = slices[medoid(slices, options)]
            if not is_credible(x, members, middle):
                continue
            result = average(slices, middle, options)
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


def _theta(x: FloatArray, scanned: Scan, noise: float, options: PatternOptions) -> float:
    """Return the median greatest dip allowed for periodic windows, as a share of the usual distance."""
    if not len(scanned.starts):
        return 0.0
    looked_at = np.unique(np.linspace(0, len(scanned.starts) - 1, LOOKED_AT).round().astype(np.int64))
    centres = np.clip(scanned.starts[looked_at], scanned.window, len(x) - scanned.window).tolist()
    windows = [x[centre - scanned.window : centre + scanned.window] for centre in centres]
    return float(np.median([greatest_dip(window, options, noise) for window in windows]))


# Choose the window: the L whose instances cover most, on a geometric grid, then by bisection around the best.
#
# Coverage has several maxima as a function of L, which bisection alone would miss. Of windows with nearly the same
# coverage the smallest is chosen: a large window also covers the gap between two regions, and locates their ends less
# precisely.
#
# In a long series the windows are compared on parts of it, the same for windows of similar length. Only the best ones
# slide over all of it.


GRID = 1.15
# Windows with at least this share of the greatest coverage count as equal.
NEARLY = 0.9
# Greatest number of values, of a long series, that are shuffled to estimate chance.
SHUFFLED = 65_536
# Every other random order moves values only within this number of windows.
SHUFFLE_WINDOWS = 16
# From this length on a series is long: windows are compared on an eighth of it, or on LEAST_PARTS samples at least, in
# parts of at least 16 windows. The whole series is used if no window covers ENOUGH of the parts: a short periodic
# segment may lie in none of them.
LONG = 1 << 18
PARTS, LEAST_PARTS, PART_WINDOWS, SHORTEST_PART = 8, 1 << 16, 16, 4096
ENOUGH = 0.25
# By an estimate this share of the best counts as equal: the smallest such window slides over the whole series too.
NEAR_BEST = 0.8


def tune(x: FloatArray, options: PatternOptions, noise: float) -> tuple[Scan | None, tuple[Tried, ...]]:
    """Return the scan of the best window (None: x is too short for any), and every (L, coverage) tried, by L."""
    largest = min(options.longest_window, len(x) // 2)
    if options.window is not None:
        grid = [options.window] if options.window <= len(x) // 2 else []
    else:
        grid = window_grid(SMALLEST_WINDOW, largest)
    if not grid:
        return None, ()
    if len(grid) > 1 and len(x) >= LONG and not options.exact:
        estimated = _covered(x, grid, options, noise, sampled=True)[0]
        most = max(estimated.values())
        if most >= ENOUGH:
            smallest_good = min(window for window, share in estimated.items() if share >= NEAR_BEST * most)
            candidates = sorted({smallest_good, _best(estimated), max(estimated, key=lambda window: estimated[window])})
            scans = {window: scan(x, window, options, noise) for window in candidates}
            covered = {window: coverage(scanned, len(x), options) for window, scanned in scans.items()}
            tried = {window: Tried(window, share, True) for window, share in estimated.items()}
            tried |= {window: Tried(window, share) for window, share in covered.items()}
            return scans[_best(covered)], tuple(tried[window] for window in sorted(tried))
    covered, scans = _covered(x, grid, options, noise, sampled=False)
    return scans[_best(covered)], tuple(Tried(window, covered[window]) for window in sorted(covered))


def _covered(
    x: FloatArray, grid: list[int], options: PatternOptions, noise: float, *, sampled: bool
) -> tuple[dict[int, float], dict[int, Scan]]:
    """Return the coverage of each window, on the grid and around its best, and unless `sampled` the scans."""
    scans: dict[int, Scan] = {}
    covered: dict[int, float] = {}

    def evaluate(window: int) -> None:
        if sampled:
            covered[window] = estimated_coverage(x, window, options, noise)
        else:
            result = scan(x, window, options, noise)
            scans[window] = result
            covered[window] = coverage(result, len(x), options)

    spread(evaluate, sorted(grid, reverse=True), options.threads)
    best = _best(covered)
    while options.window is None and covered[best] > 0:
        around = _between(best, covered)
        if not around:
            break
        spread(evaluate, around, options.threads)
        best = _best(covered)
    return covered, scans


def parts_of(samples: int, window: int) -> list[tuple[int, int]]:
    """Return the begin and end of parts that represent a long series, spread evenly."""
    length = SHORTEST_PART
    while length < PART_WINDOWS * window:
        length *= 2
    length = min(length, samples)
    count = max(max(samples // PARTS, LEAST_PARTS) // length, 1)
    starts = np.linspace(0, samples - length, count + 2).round().astype(np.int64)[1:-1].tolist()
    return [(start, start + length) for start in starts]


def estimated_coverage(x: FloatArray, window: int, options: PatternOptions, noise: float) -> float:
    """Estimate the share of a long series that a window covers, from parts of it."""
    parts = parts_of(len(x), window)
    periods = np.concatenate([scan(x[start:end], window, options, noise).periods for start, end in parts])
    # No instance lies in the first half of a window, in a part as in the whole, nor in about half of its last step.
    reached = sum(end - start - window - window // 2 for start, end in parts)
    groups = length_groups(periods, periods, reached, options)
    share = float(sum(periods[group].sum() for group in groups)) / reached
    return min(share, 1.0) * (len(x) - window) / len(x)


def window_grid(smallest: int, largest: int) -> list[int]:
    """Return the windows to try first, each about 15 % larger than the one before."""
    grid: list[int] = []
    at = float(smallest)
    while round(at) <= largest:
        if not grid or round(at) > grid[-1]:
            grid.append(round(at))
        at = max(at * GRID, at + 1)
    if grid and grid[-1] != largest:
        grid.append(largest)
    return grid


def coverage(scanned: Scan, samples: int, options: PatternOptions) -> float:
    """Return the share of the series in instances, of groups of lengths that are not marginal."""
    groups = length_groups(scanned.periods, scanned.periods, samples, options)
    return float(sum(scanned.periods[group].sum() for group in groups)) / samples


def covered_by_chance(x: FloatArray, window: int, options: PatternOptions) -> tuple[float, float]:
    """Return the coverage of a window by chance, on the same values in random orders: mean and standard deviation.

    Every other order keeps values near their place: a slowly varying series may repeat by chance for a short while.
    """
    draw = np.random.default_rng(options.seed)
    size = max(min(len(x), SHUFFLED), 20 * window)
    blocks = (len(x), SHUFFLE_WINDOWS * window)
    orders = [_in_random_order(x, blocks[number % 2], size, draw) for number in range(options.shuffles)]
    covered = np.zeros(len(orders))

    def evaluate(index: int) -> None:
        scanned = scan(orders[index], window, options, noise_level(orders[index]))
        covered[index] = coverage(scanned, len(orders[index]), options)

    spread(evaluate, range(len(orders)), options.threads)
    return (float(covered.mean()), float(covered.std())) if len(covered) else (0.0, 0.0)


def _in_random_order(x: FloatArray, block: int, size: int, draw: np.random.Generator) -> FloatArray:
    """Return the first `size` values of a series whose blocks are each shuffled."""
    if block >= len(x) > size:
        return x[draw.choice(len(x), size, replace=False)]
    starts = range(0, min(size, len(x)), block)
    return np.concatenate([draw.permutation(x[start : start + block]) for start in starts])[:size]


def _best(covered: dict[int, float]) -> int:
    """Return the smallest window that covers nearly as much as any other."""
    enough = NEARLY * max(covered.values())
    return min(window for window, share in covered.items() if share >= enough)


def _between(best: int, covered: dict[int, float]) -> list[int]:
    """Return the untried windows halfway from the best to its tried neighbours."""
    tried = np.array(sorted(covered))
    at = int(np.searchsorted(tried, best))
    neighbours = [int(tried[side]) for side in (at - 1, at + 1) if 0 <= side < len(tried)]
    halfway = {(best + other) // 2 for other in neighbours}
    # One part in fifty is fine enough: the instances change little below that.
    close = max(1, best // 50)
    return sorted(window for window in halfway if window not in covered and abs(window - best) >= close)
