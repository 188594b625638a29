"""The pattern that contains a short excerpt of a series, and its position in it (paper, section VI)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray


@dataclass(frozen=True)
class Place:
    """The part of a longer series that a short one resembles most.

    Attributes:
        begin: Begin of its range.
        end: End of its range, exclusive.
        distance: DTW2, the sum of squared differences along the alignment.
    """

    begin: int
    end: int
    distance: float


def place_in(short: FloatArray, longer: FloatArray) -> Place:
    """Return the part of the longer series with the least DTW2 from the whole short one; the first of equal parts.

    Args:
        short: (m,), m at least 1.
        longer: (n,), n at least 1. The alignment may begin and end anywhere in it (Müller 2007, subsequence DTW).
    """
    rows, columns = len(short), len(longer)
    # By anti-diagonals, whose cells are independent. Row i is stored at i + 1; row 0 may begin in any column.
    cost = [np.full(rows + 1, np.inf) for _ in range(2)]
    begin = [np.zeros(rows + 1, dtype=np.int64) for _ in range(2)]
    least, place = np.inf, (0, 1)
    for diagonal in range(rows + columns - 1):
        i = np.arange(max(0, diagonal - columns + 1), min(rows, diagonal + 1))
        j = diagonal - i
        # Predecessors: diagonal, previous column, previous row.
        choice = np.stack([cost[0][i], cost[1][i], cost[1][i + 1]])
        since = np.stack([begin[0][i], begin[1][i], begin[1][i + 1]])
        best = choice.argmin(axis=0)
        at = np.arange(len(i))
        before, started = choice[best, at], since[best, at]
        before[i == 0], started[i == 0] = 0.0, j[i == 0]
        now, starts = np.full(rows + 1, np.inf), np.zeros(rows + 1, dtype=np.int64)
        now[i + 1] = (short[i] - longer[j]) ** 2 + before
        starts[i + 1] = started
        cost, begin = [cost[1], now], [begin[1], starts]
        if diagonal >= rows - 1 and now[rows] < least:
            least, place = float(now[rows]), (int(starts[rows]), diagonal - rows + 2)
    return Place(*place, least)


# An excerpt is part of a pattern up to this mean square distance, as a share of the pattern's variance
# (periods-and-models.md has the measurements), or up to this multiple of the scatter of the pattern's instances.
NEAR, SCATTER = 0.005, 1.6
# Fewer samples fit any pattern.
LEAST = 8
# Excerpts are cut to this number of latest periods.
PERIODS = 2
# An excerpt that varies less than this share of the pattern is flat: it would match any plateau.
FLAT = 0.15


@dataclass(frozen=True)
class KnownPattern:
    """A pattern from an earlier search.

    Attributes:
        values: (length,).
        scatter: Mean squared deviation of its instances from it, per sample.
    """

    values: FloatArray
    scatter: float

    @property
    def limit(self) -> float:
        """Greatest mean square distance at which an excerpt is part of the pattern."""
        return max(NEAR * float(self.values.var()), SCATTER * self.scatter)


@dataclass(frozen=True)
class Match:
    """An excerpt in one pattern.

    Attributes:
        pattern: Number of the pattern.
        begin: Point of the pattern at which the excerpt begins, 0 .. length - 1.
        end: Point at which its last sample lies, 0 .. length - 1.
        step: Mean square distance per sample of the excerpt.
        limit: Greatest mean square distance at which it is part of the pattern.
        flat: Whether the excerpt varies too little to be located.
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
    """Locate the end of an excerpt in each pattern, which repeats; most similar first, relative to the limits.

    Args:
        excerpt: (m,) finite values; only the latest two periods are used.
        patterns: Known patterns, each of at least two points.

    Raises:
        ValueError: the excerpt is too short.
    """
    if len(excerpt) < LEAST:
        raise ValueError(f"an excerpt has at least {LEAST} samples, this one {len(excerpt)}")
    found = [match_in(excerpt, pattern, number) for number, pattern in enumerate(patterns)]
    return sorted(found, key=lambda match: (not match.is_part, match.step / match.limit if match.limit else np.inf))


def match_in(excerpt: FloatArray, pattern: KnownPattern, number: int = 0) -> Match:
    """Locate the end of an excerpt in one pattern."""
    period = len(pattern.values)
    latest = excerpt[-PERIODS * period :]
    turns = -(-len(latest) // period) + 1
    place = place_in(latest, np.tile(pattern.values, turns))
    flat = latest.std() < FLAT * pattern.values.std()
    begin, end = place.begin % period, (place.end - 1) % period
    return Match(number, begin, end, place.distance / len(latest), pattern.limit, bool(flat))
