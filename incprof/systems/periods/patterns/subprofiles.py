"""The profile length from which a pattern represents the whole run: the paper's section IV-C and Figure 5."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray
from incprof.systems.periods.patterns import dtw, find_patterns
from incprof.systems.periods.patterns.average import wgss
from incprof.systems.periods.patterns.node_agreement import turned
from incprof.systems.periods.patterns.pattern_result import PatternOptions, Patterns


@dataclass(frozen=True)
class SubProfile:
    """A part of a series.

    Attributes:
        start: Its first sample.
        instances: Number of instances of its foremost pattern; 0 without a pattern.
        wgss: WGSS of that pattern from the reference's instances; None without a pattern.
    """

    start: int
    instances: int
    wgss: float | None


@dataclass(frozen=True)
class SubProfiles:
    """The parts of one length.

    Attributes:
        samples: The length, in samples.
        reference: WGSS of the reference pattern from its own instances.
        parts: The parts; empty if the length does not fit after the initialisation.
    """

    samples: int
    reference: float
    parts: tuple[SubProfile, ...]

    @property
    def increases(self) -> FloatArray:
        """Return the relative increase over the reference of WGSS, for each part with a pattern, (p,)."""
        values = np.array([part.wgss for part in self.parts if part.wgss is not None])
        return values / self.reference - 1 if self.reference > 0 else np.where(values > 0, np.inf, 0.0)

    @property
    def mean_instances(self) -> float:
        """Return the mean number of instances of parts with a pattern."""
        counts = [part.instances for part in self.parts if part.wgss is not None]
        return float(np.mean(counts)) if counts else 0.0


def compare_sub_profiles(
    x: FloatArray, whole: Patterns, lengths: Sequence[int], offsets: int, options: PatternOptions
) -> list[SubProfiles]:
    """Compare the patterns of parts of a series with the pattern of the whole series, for each length.

    Parts begin at random places from the first instance of the reference on: earlier samples are initialisation. The
    pattern of a part is rotated to the begin of the reference, since its instances may be cut at another point.

    Args:
        x: (n,) the series.
        whole: Its patterns; the foremost one is the reference.
        lengths: Lengths of the parts, in samples.
        offsets: Number of parts of each length.
        options: Options of the search; seed also selects the offsets.

    Raises:
        ValueError: the series has no pattern.
    """
    if not whole.patterns:
        raise ValueError("the series has no pattern to compare with")
    reference = whole.patterns[0]
    packed = dtw.slices(x, reference.instances)
    least = wgss(packed, reference.values, threads=options.threads)
    draw = np.random.default_rng(options.seed)
    first = int(reference.instances[0, 0])
    found = []
    for length in lengths:
        room = len(x) - length - first
        starts = draw.integers(first, first + room + 1, offsets).tolist() if room >= 0 else []
        parts = []
        for start in starts:
            patterns = find_patterns(x[start : start + length], options).patterns
            if not patterns:
                parts.append(SubProfile(start, 0, None))
                continue
            own = wgss(packed, turned(reference.values, patterns[0].values), threads=options.threads)
            parts.append(SubProfile(start, len(patterns[0].instances), own))
        found.append(SubProfiles(length, least, tuple(parts)))
    return found
