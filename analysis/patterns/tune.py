"""The window: the L whose instances cover most of the series, on a geometric grid, then by bisection around the best.

Coverage has several maxima as a function of L, which bisection alone would miss. Ties go to the smaller L, and what
covers nearly as much is a tie: a large window also covers what lies between two regions, and tells less where they end.
"""

from __future__ import annotations

import numpy as np

from incprof.analysis.patterns.groups import length_groups
from incprof.analysis.patterns.results import SMALLEST_WINDOW, PatternOptions, Tried
from incprof.analysis.patterns.scan import Scan, noise_level, scan
from incprof.analysis.threads import spread
from incprof.model import FloatArray

GRID = 1.15
# Share of the greatest coverage that is as good as all of it.
NEARLY = 0.9
# Of a long series so many values in random order tell what chance does.
SHUFFLED = 65_536
# Near its place is within so many windows.
NEAR = 16


def tune(x: FloatArray, options: PatternOptions, noise: float) -> tuple[Scan | None, tuple[Tried, ...]]:
    """Return the scan of the best window, None when x is too short for any, and every (L, coverage) tried, by L."""
    largest = min(options.longest_window, len(x) // 2)
    if options.window is not None:
        grid = [options.window] if options.window <= len(x) // 2 else []
    else:
        grid = window_grid(SMALLEST_WINDOW, largest)
    scans: dict[int, Scan] = {}
    covered: dict[int, float] = {}

    def visit(window: int) -> None:
        result = scan(x, window, options, noise)
        scans[window] = result
        covered[window] = coverage(result, len(x), options)

    spread(visit, sorted(grid, reverse=True), options.threads)
    if not grid:
        return None, ()
    best = _best(covered)
    while options.window is None and covered[best] > 0:
        around = _between(best, covered)
        if not around:
            break
        spread(visit, around, options.threads)
        best = _best(covered)
    return scans[best], tuple(Tried(window, covered[window]) for window in sorted(covered))


def window_grid(smallest: int, largest: int) -> list[int]:
    """Return the windows that are tried first, each about 15 % larger than the one before."""
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
    """Return the share of the series in instances of groups of lengths that are not marginal."""
    groups = length_groups(found.periods, found.periods, samples, options)
    return float(sum(found.periods[group].sum() for group in groups)) / samples


def covered_by_chance(x: FloatArray, window: int, options: PatternOptions) -> tuple[float, float]:
    """Return what a window covers of the same values in random orders, by accident: mean and standard deviation.

    Every other order leaves a value near its place: a series may vary little, and repeat by accident, for a while only.
    """
    draw = np.random.default_rng(options.seed)
    size = max(min(len(x), SHUFFLED), 20 * window)
    blocks = (len(x), NEAR * window)
    orders = [_in_random_order(x, blocks[number % 2], draw)[:size].copy() for number in range(options.shuffles)]
    covered = np.zeros(len(orders))

    def visit(index: int) -> None:
        found = scan(orders[index], window, options, noise_level(orders[index]))
        covered[index] = coverage(found, len(orders[index]), options)

    spread(visit, range(len(orders)), options.threads)
    return (float(covered.mean()), float(covered.std())) if len(covered) else (0.0, 0.0)


def _in_random_order(x: FloatArray, block: int, draw: np.random.Generator) -> FloatArray:
    """Return the values of each block in random order."""
    parts = [draw.permutation(x[start : start + block]) for start in range(0, len(x), block)]
    return np.concatenate(parts)


def _best(covered: dict[int, float]) -> int:
    """Return the smallest window that covers nearly as much as any."""
    enough = NEARLY * max(covered.values())
    return min(window for window, share in covered.items() if share >= enough)


def _between(best: int, covered: dict[int, float]) -> list[int]:
    """Return the untried windows halfway from the best to its tried neighbours."""
    tried = np.array(sorted(covered))
    at = int(np.searchsorted(tried, best))
    neighbours = [int(tried[side]) for side in (at - 1, at + 1) if 0 <= side < len(tried)]
    halfway = {(best + other) // 2 for other in neighbours}
    # One part in fifty is as fine as it need be: the instances change little from there.
    close = max(1, best // 50)
    return sorted(window for window in halfway if window not in covered and abs(window - best) >= close)
