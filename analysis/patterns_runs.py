"""Periodic windows that follow each other, joined to regions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.patterns_results import PatternOptions
from incprof.analysis.patterns_scan import Scan
from incprof.model import IntArray


@dataclass(frozen=True)
class Run:
    """A region as the windows gave it.

    boundaries: (q + 1,) where its q instances begin, and where the last one ends. windows: (w,) indices of the scan.
    """

    boundaries: IntArray
    windows: IntArray

    @property
    def period(self) -> int:
        """The median length of its instances."""
        lengths = np.diff(self.boundaries)
        return int(np.sort(lengths)[len(lengths) // 2])

    @property
    def samples(self) -> int:
        """Samples from the first instance to the last."""
        return int(self.boundaries[-1] - self.boundaries[0])

    @property
    def anchor(self) -> int:
        """The start of the instance in its middle."""
        return int(self.boundaries[(len(self.boundaries) - 1) // 2])


def runs_of(found: Scan, members: IntArray, options: PatternOptions) -> list[Run]:
    """Join windows of one group of lengths that touch and have similar periods, in order of time.

    Args:
        found: All periodic windows.
        members: Indices of the group's windows, ascending.
        options: length_tolerance.
    """
    starts, periods, counts = found.starts[members], found.periods[members], found.counts[members]
    ends = starts + periods * counts
    ratio = periods[1:] / periods[:-1]
    apart = (starts[1:] != ends[:-1]) | (np.abs(np.log(ratio)) > np.log1p(options.length_tolerance))
    runs: list[Run] = []
    for part in np.split(np.arange(len(members)), np.flatnonzero(apart) + 1):
        if not len(part):
            continue
        lengths = np.repeat(periods[part], counts[part])
        boundaries = np.concatenate([[starts[part[0]]], starts[part[0]] + np.cumsum(lengths)]).astype(np.int64)
        runs.append(Run(boundaries, members[part]))
    return runs
