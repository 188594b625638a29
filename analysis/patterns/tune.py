"""The window: the L whose instances cover most of the series, on a geometric grid, then by bisection around the best.

Coverage has several maxima as a function of L, which bisection alone would miss. Ties go to the smaller L, and what
covers nearly as much is a tie: a large window also covers what lies between two regions, and tells less where they end.

Of a long series the windows are compared on parts of it, the same ones for windows of similar length, and only the best
ones slide over all of it.
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
# A series of so many samples is long: windows are compared on an eighth of it, or on so many samples at least, in parts
# of at least 16 windows. All of it is looked at if no window covers so much there: what is periodic for a short while
# may lie in no part.
LONG = 1 << 18
PARTS, LEAST_PARTS, PART_WINDOWS, SHORTEST_PART = 8, 1 << 16, 16, 4096
ENOUGH = 0.25
# By an estimate so much of the best is as good as it: the smallest such window slides over the whole series too.
NEAR_BEST = 0.8


def tune(x: FloatArray, options: PatternOptions, noise: float) -> tuple[Scan | None, tuple[Tried, ...]]:
    """Return the scan of the best window, None when x is too short for any, and every (L, coverage) tried, by L."""
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
    """Return what each window covers, of the grid and around the best of it, and unless `sampled` the scans."""
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
    """Return the parts of a long series that stand for it, spread evenly: where each begins and ends."""
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
    # The first half of a window reaches nothing, in a part as in the whole, and its last step is cut off halfway.
    reached = sum(end - start - window - window // 2 for start, end in parts)
    groups = length_groups(periods, periods, reached, options)
    share = float(sum(periods[group].sum() for group in groups)) / reached
    return min(share, 1.0) * (len(x) - window) / len(x)


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
    orders = [_in_random_order(x, blocks[number % 2], size, draw) for number in range(options.shuffles)]
    covered = np.zeros(len(orders))

    def visit(index: int) -> None:
        found = scan(orders[index], window, options, noise_level(orders[index]))
        covered[index] = coverage(found, len(orders[index]), options)

    spread(visit, range(len(orders)), options.threads)
    return (float(covered.mean()), float(covered.std())) if len(covered) else (0.0, 0.0)


def _in_random_order(x: FloatArray, block: int, size: int, draw: np.random.Generator) -> FloatArray:
    """Return the first `size` values of a series whose blocks are each in random order."""
    if block >= len(x) > size:
        return x[draw.choice(len(x), size, replace=False)]
    starts = range(0, min(size, len(x)), block)
    return np.concatenate([draw.permutation(x[start : start + block]) for start in starts])[:size]


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
