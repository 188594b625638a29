"""Consecutive instances, joined to regions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.model import IntArray
from incprof.systems.periods.patterns.pattern_result import PatternOptions
from incprof.systems.periods.patterns.scan import Scan


@dataclass(frozen=True)
class Run:
    """A region as detected by the windows.

    Attributes:
        boundaries: (q + 1,) begins of its q instances, and the end of the last one.
    """

    boundaries: IntArray

    @property
    def period(self) -> int:
        """Median length of its instances."""
        lengths = np.diff(self.boundaries)
        return int(np.sort(lengths)[len(lengths) // 2])

    @property
    def samples(self) -> int:
        """Number of samples from the first instance to the last."""
        return int(self.boundaries[-1] - self.boundaries[0])

    @property
    def anchor(self) -> int:
        """Start of its middle instance."""
        return int(self.boundaries[(len(self.boundaries) - 1) // 2])


def runs_of(found: Scan, members: IntArray, options: PatternOptions) -> list[Run]:
    """Join adjacent instances of one group of lengths with similar lengths, in order of time.

    Args:
        found: All instances.
        members: Indices of the group's instances, ascending.
        options: Uses length_tolerance.
    """
    starts, periods = found.starts[members], found.periods[members]
    ratio = np.abs(np.log(periods[1:] / periods[:-1]))
    apart = (starts[1:] != starts[:-1] + periods[:-1]) | (ratio > np.log1p(options.length_tolerance))
    parts = np.split(np.arange(len(members)), np.flatnonzero(apart) + 1)
    return [Run(np.append(starts[part], starts[part[-1]] + periods[part[-1]])) for part in parts if len(part)]
