"""Which of several known patterns a short excerpt of a series is part of, and where in it (paper, section VI)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.analysis.patterns.subsequence import place_in
from incprof.model import FloatArray

# Mean square of an excerpt from its place in a pattern, as a share of the pattern's variance, up to which it is part of
# it (docs/periods-algorithm.md has the counts behind it). And so many times what the pattern's instances scatter.
NEAR, SCATTER = 0.005, 1.6
# Fewer samples lie in any pattern.
LEAST = 8
# Excerpts are cut to the latest so many periods.
PERIODS = 2
# An excerpt that varies less than this share of the pattern is flat: it would lie in any plateau.
FLAT = 0.15


@dataclass(frozen=True)
class KnownPattern:
    """A pattern of an earlier search. values: (length,). scatter: mean square of a sample of its instances from it."""

    values: FloatArray
    scatter: float

    @property
    def limit(self) -> float:
        """Greatest mean square at which an excerpt is part of the pattern."""
        return max(NEAR * float(self.values.var()), SCATTER * self.scatter)


@dataclass(frozen=True)
class Match:
    """An excerpt in one pattern.

    pattern: its number. begin, end: points of the pattern at which the excerpt begins, and at which its last sample
    lies, 0 .. length - 1. step: mean square of a sample of the excerpt. limit: up to which it is part of the pattern.
    flat: the excerpt varies too little to tell where it lies.
    """

    pattern: int
    begin: int
    end: int
    step: float
    limit: float
    flat: bool

    @property
    def is_part(self) -> bool:
        """Whether the excerpt is part of the pattern."""
        return self.step <= self.limit and not self.flat


def matches(excerpt: FloatArray, patterns: Sequence[KnownPattern]) -> list[Match]:
    """Place the end of an excerpt in each pattern, which goes round; the most alike first, for its limit.

    Args:
        excerpt: (m,) finite values; of more than two periods the latest are taken.
        patterns: known ones, each of at least two points.

    Raises:
        ValueError: the excerpt is too short for any answer.
    """
    if len(excerpt) < LEAST:
        raise ValueError(f"an excerpt has at least {LEAST} samples, this one {len(excerpt)}")
    found = [match_in(excerpt, pattern, number) for number, pattern in enumerate(patterns)]
    return sorted(found, key=lambda match: (not match.is_part, match.step / match.limit if match.limit else np.inf))


def match_in(excerpt: FloatArray, pattern: KnownPattern, number: int = 0) -> Match:
    """Place the end of an excerpt in one pattern."""
    period = len(pattern.values)
    latest = excerpt[-PERIODS * period :]
    turns = -(-len(latest) // period) + 1
    place = place_in(latest, np.tile(pattern.values, turns))
    flat = latest.std() < FLAT * pattern.values.std()
    begin, end = place.begin % period, (place.end - 1) % period
    return Match(number, begin, end, place.distance / len(latest), pattern.limit, bool(flat))
