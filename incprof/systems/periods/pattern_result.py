"""Options and results of the search for periods. n samples; instances are half-open ranges of samples."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np

from incprof.model import FloatArray, IntArray

Metric = Literal["l2", "l1"]

# Shorter "periods" are runs of equal values.
SHORTEST = 2
SMALLEST_WINDOW, LONGEST_WINDOW = 2, 10_000
# The windows must cover this multiple of what they cover of the same values in random orders, and this number of their
# standard deviations more.
BEYOND_CHANCE, DEVIATIONS = 2.0, 4.0
# A pattern with this many instances represents the whole run (paper, section IV-C): some 10 minutes at 5 ms.
ENOUGH_INSTANCES = 100


@dataclass(frozen=True)
class PatternOptions:
    """All parameters, with the paper's defaults where the paper has one (docs/understand/periods-and-models.md).

    Attributes:
        window: L, half the sliding window, in samples; None tunes it.
        longest_window: Where tuning ends, in samples.
        slide: Step of the window where nothing repeats, in samples; None is half of L.
        metric: Distance between the window and its shifted copies.
        theta: Greatest dip that is a period, as a share of the usual distance; None sets it by noise and chance.
        depth: Share of the deepest dip that a member of its family must reach.
        shortest: Least period, in samples.
        align: Cut the instances of all regions at the same point of the pattern, extend the regions and search for
            missed ones. Without it, regions are those of the windows, extended by whole instances.
        alpha: Least share of the series that a group of lengths covers.
        length_tolerance: Greatest relative difference of the lengths in a group.
        cluster_share: Least share of the series that a cluster covers.
        gap: Least ratio of two merges between which clusters are cut.
        ceiling: Greatest mean DTW step within a cluster, as a share of the range of values.
        iterations: Greatest number of averaging iterations.
        patience: Averaging stops after this many iterations in a row that lower WGSS by less than `decrease`.
        decrease: Relative decrease of WGSS below which an iteration is slow.
        medoid_sample: Number of instances among which the medoid of a larger cluster is searched; 0: all.
        shuffles: Random orders that estimate the coverage by chance; 0 skips this test.
        seed: Seed of these orders.
        exact: No estimates of windows, the medoid of all instances, full distance matrix, scipy's linkage.
        threads: Number of threads; None is one per core.
    """

    window: int | None = None
    longest_window: int = LONGEST_WINDOW
    slide: int | None = None
    metric: Metric = "l2"
    theta: float | None = None
    depth: float = 0.75
    shortest: int = SHORTEST
    align: bool = True
    alpha: float = 0.05
    length_tolerance: float = 0.10
    cluster_share: float = 0.01
    gap: float = 1.5
    ceiling: float = 0.10
    iterations: int = 31
    patience: int = 5
    decrease: float = 0.025
    medoid_sample: int = 64
    shuffles: int = 20
    seed: int = 0
    exact: bool = False
    threads: int | None = None


@dataclass(frozen=True)
class Tried:
    """One window that tuning tried.

    Attributes:
        window: L, in samples.
        coverage: Share of the series that its instances cover.
        sampled: Whether the share is an estimate from parts of a long series.
    """

    window: int
    coverage: float
    sampled: bool = False


@dataclass(frozen=True)
class Pattern:
    """A periodicity.

    Attributes:
        values: (length,) the representative pattern.
        instances: (q, 2) start and end, in order.
        regions: (r, 2) maximal runs of consecutive instances, at least two each.
        wgss: Sum of DTW2 of the instances from the pattern.
        history: WGSS before the first iteration and after each.
        share: Share of the series that the instances cover.
    """

    values: FloatArray
    instances: IntArray
    regions: IntArray
    wgss: float
    history: tuple[float, ...]
    share: float

    @property
    def length(self) -> int:
        """Number of samples in the pattern."""
        return len(self.values)

    @property
    def has_enough_instances(self) -> bool:
        """Whether the pattern has at least the paper's 100 instances."""
        return len(self.instances) >= ENOUGH_INSTANCES

    @property
    def wgss_per_instance(self) -> float:
        """WGSS over the number of instances."""
        return self.wgss / len(self.instances)

    @property
    def wgss_per_sample(self) -> float:
        """WGSS over the number of samples of all instances."""
        return self.wgss / float((self.instances[:, 1] - self.instances[:, 0]).sum())


@dataclass(frozen=True)
class Patterns:
    """The result for one series: patterns by share, largest first.

    Attributes:
        samples: n, the length of the series.
        window: The L that was used; 0 if the series is too short for any.
        tuning: Every window tried, by L.
        detected: Share that the windows alone covered with `window`.
        by_chance: Mean share covered of the series' values in random orders.
        chance_spread: Standard deviation of that share.
        noise: Estimated standard deviation of the noise in a sample.
        theta: Median over the periodic windows of the greatest dip allowed; 0 without any.
        patterns: The patterns.
        options: The options used.
    """

    samples: int
    window: int
    tuning: tuple[Tried, ...]
    detected: float
    by_chance: float
    chance_spread: float
    noise: float
    theta: float
    patterns: tuple[Pattern, ...]
    options: PatternOptions = field(default_factory=PatternOptions)

    @property
    def beyond_chance(self) -> bool:
        """Whether the windows cover significantly more than by chance."""
        limit = max(BEYOND_CHANCE * self.by_chance, self.by_chance + DEVIATIONS * self.chance_spread)
        return self.detected > limit

    @property
    def coverage(self) -> float:
        """Share of the series inside periodic instances."""
        return sum((pattern.share for pattern in self.patterns), 0.0)

    @property
    def instances(self) -> int:
        """Number of instances of all patterns."""
        return sum(len(pattern.instances) for pattern in self.patterns)

    @property
    def regions(self) -> int:
        """Number of regions of all patterns."""
        return sum(len(pattern.regions) for pattern in self.patterns)

    @property
    def summary(self) -> str:
        """The paper's `#rp(#i)[#pa]`: patterns, instances, mean instances in a region."""
        each = round(self.instances / self.regions) if self.regions else 0
        return f"{len(self.patterns)}({self.instances})[{each}]"


# Segments of a pattern on different levels, such as those that wait for memory (paper, Figure 3 and section VI).


Level = Literal["low", "middle", "high"]
# A segment is low or high if its mean differs from the pattern's by this number of the pattern's standard deviations.
LEVEL_DEVIATIONS = 0.5
# Least share of the pattern's variance that a change of level removes, and the least number of points in a segment.
LEAST_GAIN, SHORTEST_SEGMENT = 0.01, 2


@dataclass(frozen=True)
class Segment:
    """A segment of a pattern.

    Attributes:
        begin: Its first point.
        end: The point after its last.
        mean: Mean of its values.
        share: Share of the pattern's points.
        level: Whether the mean is low, middle or high within the pattern.
    """

    begin: int
    end: int
    mean: float
    share: float
    level: Level


def segments_of(pattern: Pattern) -> tuple[Segment, ...]:
    """Cut a pattern at changes of its level; neighbouring segments of one level are merged."""
    values = pattern.values
    length, mean, spread = len(values), float(values.mean()), float(values.std())
    if not spread > 0:
        return (Segment(0, length, mean, 1.0, "middle"),)
    edges = [0, *level_changes(values), length]
    segments: list[Segment] = []
    for begin, end in pairwise(edges):
        level = _level(float(values[begin:end].mean()), mean, spread)
        if segments and segments[-1].level == level:
            begin = segments.pop().begin
        segments.append(Segment(begin, end, float(values[begin:end].mean()), (end - begin) / length, level))
    return tuple(segments)


def _level(value: float, mean: float, spread: float) -> Level:
    """Return the level of a segment from its mean, and the mean and deviation of the pattern."""
    if abs(value - mean) < LEVEL_DEVIATIONS * spread:
        return "middle"
    return "low" if value < mean else "high"


def level_changes(values: FloatArray) -> list[int]:
    """Return the points at which the level changes, ascending: binary segmentation by least squares.

    A pattern is the average of many instances. Its noise is small, so the threshold for a change is a share of its
    variance, not a multiple of the noise.
    """
    sums = np.concatenate([[0.0], np.cumsum(values - values.mean())])
    least = LEAST_GAIN * float(((values - values.mean()) ** 2).sum())
    open_parts, changes = [(0, len(values))], []
    while open_parts:
        begin, end = open_parts.pop()
        at = np.arange(begin + SHORTEST_SEGMENT, end - SHORTEST_SEGMENT + 1)
        if not len(at):
            continue
        left = (sums[at] - sums[begin]) / (at - begin)
        right = (sums[end] - sums[at]) / (end - at)
        gain = (left - right) ** 2 * (at - begin) * (end - at) / (end - begin)
        best = int(gain.argmax())
        if gain[best] > least:
            changes.append(int(at[best]))
            open_parts += [(begin, int(at[best])), (int(at[best]), end)]
    return sorted(changes)
