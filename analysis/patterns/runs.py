"""Instances that follow each other, joined to regions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.analysis.patterns.results import PatternOptions
from incprof.analysis.patterns.scan import Scan
from incprof.model import IntArray


@dataclass(frozen=True)
class Run:
    """A region as the windows gave it.

    boundaries: (q + 1,) where its q instances begin, and where the last one ends.
    """

    boundaries: IntArray

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
    """Join instances of one group of lengths that touch and have similar lengths, in order of time.

    Args:
        found: All instances.
        members: Indices of the group's instances, ascending.
        options: length_tolerance.
    """
    starts, periods = found.starts[members], found.periods[members]
    ratio = np.abs(np.log(periods[1:] / periods[:-1]))
    apart = (starts[1:] != starts[:-1] + periods[:-1]) | (ratio > np.log1p(options.length_tolerance))
    parts = np.split(np.arange(len(members)), np.flatnonzero(apart) + 1)
    return [Run(np.append(starts[part], starts[part[-1]] + periods[part[-1]])) for part in parts if len(part)]
