"""Choose the window: the L whose instances cover most, on a geometric grid, then by bisection around the best.

Coverage has several maxima as a function of L, which bisection alone would miss. Of windows with nearly the same
coverage the smallest is chosen: a large window also covers the gap between two regions, and locates their ends less
precisely.

In a long series the windows are compared on parts of it, the same for windows of similar length. Only the best ones
slide over all of it.
"""

from __future__ import annotations

import numpy as np

from incprof.analysis.thread_pool import spread
from incprof.model import FloatArray
from incprof.systems.periods.patterns.groups import length_groups
from incprof.systems.periods.patterns.pattern_result import SMALLEST_WINDOW, PatternOptions, Tried
from incprof.systems.periods.patterns.scan import Scan, noise_level, scan

GRID = 1.15
# Windows with at least this share of the greatest coverage count as equal.
NEARLY = 0.9
# Greatest number of values, of a long series, that are shuffled to estimate chance.
SHUFFLED = 65_536
# Every other random order moves values only within this number of windows.
NEAR = 16
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
            near = min(window for window, share in estimated.items() if share >= NEAR_BEST * most)
            chosen = sorted({near, _best(estimated), max(estimated, key=lambda window: estimated[window])})
            scans = {window: scan(x, window, options, noise) for window in chosen}
            covered = {window: coverage(found, len(x), options) for window, found in scans.items()}
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

    def visit(window: int) -> None:
        if sampled:
            covered[window] = estimated_coverage(x, window, options, noise)
        else:
            result = scan(x, window, options, noise)
            scans[window] = result
            covered[window] = coverage(result, len(x), options)

    spread(visit, sorted(grid, reverse=True), options.threads)
    best = _best(covered)
    while options.window is None and covered[best] > 0:
        around = _between(best, covered)
        if not around:
            break
        spread(visit, around, options.threads)
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


def coverage(found: Scan, samples: int, options: PatternOptions) -> float:
    """Return the share of the series in instances, of groups of lengths that are not marginal."""
    groups = length_groups(found.periods, found.periods, samples, options)
    return float(sum(found.periods[group].sum() for group in groups)) / samples


def covered_by_chance(x: FloatArray, window: int, options: PatternOptions) -> tuple[float, float]:
    """Return the coverage of a window by chance, on the same values in random orders: mean and standard deviation.

    Every other order keeps values near their place: a slowly varying series may repeat by chance for a short while.
    """
    draw = np.random.default_rng(options.seed)
    size = max(min(len(x), SHUFFLED), 20 * window)
    blocks = (len(x), NEAR * window)
    orders = [_in_random_order(x, blocks[number % 2], size, draw) for number in range(options.shuffles)]
    covered = np.zeros(len(orders))

    def visit(index: int) -> None:
        found = scan(orders[index], window, options, noise_level(orders[index]))
        covered[index] = coverage(found, len(orders[index]), options)

    spread(visit, range(len(orders)), options.threads)
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
