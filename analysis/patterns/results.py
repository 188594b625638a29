"""What the search for periods is asked, and what it answers. n samples; instances are half-open ranges of samples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from incprof.model import FloatArray, IntArray

Metric = Literal["l2", "l1"]

# Shorter "periods" are runs of equal values.
SHORTEST = 2
SMALLEST_WINDOW, LONGEST_WINDOW = 2, 10_000
# Nothing is claimed unless the windows cover this many times what they cover of the same values in random orders, and
# this many of their standard deviations more.
BEYOND_CHANCE, DEVIATIONS = 2.0, 4.0
# From so many instances on a pattern stands for the whole run (paper, section IV-C): some 10 minutes at 5 ms.
ENOUGH_INSTANCES = 100


@dataclass(frozen=True)
class PatternOptions:
    """Every parameter, with the paper's default where the paper has one (docs/periods-algorithm.md).

    window: L, half the sliding window, in samples; None tunes it. longest_window: where tuning ends. slide: how far the
    window goes on where nothing repeats; None is half of L. metric: of the window from its shifted copies. theta:
    greatest dip that is a period, as a share of the usual distance; None sets it by noise and chance. depth: what a
    member of the family reaches of the deepest dip. shortest: least period, samples.

    align: cut the instances of all regions at the same point of the pattern, extend the regions and look for missed
    ones; without it, only what the windows gave, and extended by whole instances.

    alpha: least share of the series that a group of lengths covers. length_tolerance: how close a group's lengths lie.
    cluster_share: least share that a cluster covers. gap: least ratio of two merges between which clusters are cut.
    ceiling: greatest mean step of DTW within a cluster, as a share of the range of values.

    iterations, patience, decrease: averaging stops after so many iterations, or after `patience` of them that lower
    WGSS by less than `decrease`. medoid_sample: the medoid of a larger cluster is that of so many of its instances.

    shuffles: random orders that tell what chance covers; 0 asks nothing. seed: of these orders.

    exact: full distance matrix, scipy's linkage, plain numpy instead of the kernels. threads: None is one per core.
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
    """One window that tuning tried: L, and the share of the series that its instances cover.

    sampled: the share is an estimate from parts of a long series.
    """

    window: int
    coverage: float
    sampled: bool = False


@dataclass(frozen=True)
class Pattern:
    """A periodicity.

    values: (length,) the representative pattern. instances: (q, 2) start and end, in order. regions: (r, 2) maximal
    runs of instances that follow each other, at least two each. wgss: sum of DTW2 of the pattern from the instances.
    history: WGSS before the first iteration and after each. share: of the series that the instances cover.
    """

    values: FloatArray
    instances: IntArray
    regions: IntArray
    wgss: float
    history: tuple[float, ...]
    share: float

    @property
    def length(self) -> int:
        """Samples of the pattern."""
        return len(self.values)

    @property
    def has_enough_instances(self) -> bool:
        """Whether the pattern rests on at least the paper's 100 instances."""
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
    """The answer for one series of n samples: patterns by share, largest first.

    window: the L that was used; 0 when the series is too short for any. tuning: every window tried, by L. detected: the
    share that the windows alone covered with `window`. by_chance, chance_spread: mean and deviation of the
    same of the series' values in random orders.
    noise: standard deviation of a sample, estimated. theta: median over the periodic windows of the dip that was
    allowed them; 0 without any.
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
        """Whether windows cover more than chance explains."""
        far = max(BEYOND_CHANCE * self.by_chance, self.by_chance + DEVIATIONS * self.chance_spread)
        return self.detected > far

    @property
    def coverage(self) -> float:
        """Share of the series inside periodic instances."""
        return sum(pattern.share for pattern in self.patterns)

    @property
    def instances(self) -> int:
        """Instances of all patterns."""
        return sum(len(pattern.instances) for pattern in self.patterns)

    @property
    def regions(self) -> int:
        """Regions of all patterns."""
        return sum(len(pattern.regions) for pattern in self.patterns)

    @property
    def summary(self) -> str:
        """The paper's `#rp(#i)[#pa]`: patterns, instances, mean instances in a region."""
        each = round(self.instances / self.regions) if self.regions else 0
        return f"{len(self.patterns)}({self.instances})[{each}]"
