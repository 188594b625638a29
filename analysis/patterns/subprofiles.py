"""How long a profile has to be for its pattern to stand for the whole run: the paper's section IV-C and Figure 5."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.analysis.patterns import dtw, find_patterns
from incprof.analysis.patterns.average import wgss
from incprof.analysis.patterns.nodes import turned
from incprof.analysis.patterns.results import PatternOptions, Patterns
from incprof.model import FloatArray


@dataclass(frozen=True)
class SubProfile:
    """A part of a series: its first sample, the instances of its foremost pattern, and WGSS of that pattern.

    instances: 0 where the part has no pattern. wgss: from the reference's instances; None without a pattern.
    """

    start: int
    instances: int
    wgss: float | None


@dataclass(frozen=True)
class SubProfiles:
    """The parts of one length.

    samples: the length. reference: WGSS of the reference pattern from its own instances. parts: none where this length
    does not fit behind the initialisation.
    """

    samples: int
    reference: float
    parts: tuple[SubProfile, ...]

    @property
    def increases(self) -> FloatArray:
        """Return by what share WGSS of each part with a pattern exceeds the reference, (p,)."""
        values = np.array([part.wgss for part in self.parts if part.wgss is not None])
        return values / self.reference - 1 if self.reference > 0 else np.where(values > 0, np.inf, 0.0)

    @property
    def mean_instances(self) -> float:
        """Return the mean number of instances of the parts with a pattern."""
        counts = [part.instances for part in self.parts if part.wgss is not None]
        return float(np.mean(counts)) if counts else 0.0


def compare_sub_profiles(
    x: FloatArray, whole: Patterns, lengths: Sequence[int], offsets: int, options: PatternOptions
) -> list[SubProfiles]:
    """Compare the patterns of parts of a series with the pattern of all of it, for each length.

    Parts begin anywhere from the first instance of the reference on: what comes before is initialisation. The pattern
    of a part is turned to where the reference begins: a part may cut its instances elsewhere.

    Args:
        x: (n,) the series.
        whole: What was found of it; its foremost pattern is the reference.
        lengths: Of the parts, samples.
        offsets: Parts of each length.
        options: Of the search. seed: of the offsets too.

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
