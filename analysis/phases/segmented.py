"""A run cut into stretches in which nothing changes, and which of these do the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from incprof.analysis.options.phases import PhaseOptions
from incprof.analysis.phases.abrupt import without_drifts
from incprof.analysis.phases.groups import Groups, alike_grouped
from incprof.analysis.phases.inclusive import Inclusive
from incprof.analysis.phases.scatter import at_best_lag, inside
from incprof.analysis.phases.stretches import Stretches, Sums, neighbours_joined
from incprof.analysis.phases.turns import in_turn_joined
from incprof.analysis.phases.ways import without_ways
from incprof.model import IntArray

# Where more phases are asked for than there are changes, changes a quarter as large are looked for, so many times.
FINER = 8


@dataclass(frozen=True)
class Segmented:
    """A run cut up: its ticks, stretches of its m intervals, and those that are steps in turn.

    finest: before steps in turn were joined.
    """

    sums: Sums
    finest: Stretches
    stretches: Stretches
    in_turn: Stretches
    options: PhaseOptions

    @cached_property
    def groups(self) -> Groups:
        """Which stretches do the same."""
        return alike_grouped(self.sums, self.stretches, self.options)

    def labels(self, k: int) -> IntArray:
        """Return the group of each interval where there are k, (m,); -1 on the way between two stretches."""
        out = np.full(len(self.sums.ticks.total), -1, dtype=np.int64)
        for place, label in enumerate(self.groups.cut(k).tolist()):
            out[self.stretches.first[place] : self.stretches.end[place]] = label
        return out

    def finest_of_intervals(self) -> IntArray:
        """Return which of the finest stretches each interval is in, (m,)."""
        return np.repeat(np.arange(len(self.finest)), self.finest.length)


def segmented(ticks: Inclusive, options: PhaseOptions) -> Segmented:
    """Cut a run into stretches in which nothing changes. ticks: of intervals that have some."""
    sums = Sums(ticks, at_best_lag(ticks.counts, ticks.total))
    stretches = neighbours_joined(ticks, sums.scatter, options)
    # Inside of stretches, the scatter is seen without the changes.
    more = inside(ticks.counts, ticks.total, stretches.first, stretches.end)
    sums = Sums(ticks, np.maximum(sums.scatter, more))
    finest = neighbours_joined(ticks, sums.scatter, options)
    stretches, in_turn = in_turn_joined(sums, finest, options)
    while True:
        found = without_drifts(sums, without_ways(sums, stretches, options), options)
        if len(found) == len(stretches):
            return Segmented(sums, finest, stretches, in_turn, options)
        stretches = found


def fine_enough(ticks: Inclusive, k: int | None, options: PhaseOptions) -> Segmented:
    """Cut a run into stretches that make at least k groups, of smaller and smaller changes if need be."""
    found = segmented(ticks, options)
    for _ in range(FINER):
        if k is None or len(found.groups.joins) + 1 >= k:
            break
        options = replace(options, beyond=options.beyond / 4.0, named=options.named / 4.0, surely=options.surely / 4.0)
        found = segmented(ticks, replace(options, abrupt=0.0, iteration=0))
    return found
