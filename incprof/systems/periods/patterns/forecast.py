"""The next samples of a series that is inside one of its patterns, with an interval from the spread of its instances.

The end of the series is located in its pattern. Each earlier instance that is followed by enough samples is aligned
with the end of the series at that point, shifted by up to a few samples. The samples that followed it predict those to
come: the median over all instances is the forecast, and quantiles are the interval. The interval thus includes the
variation of instance lengths, and the possible end of a region.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray
from incprof.systems.periods.patterns.matching import LEAST, KnownPattern, Match, matches
from incprof.systems.periods.patterns.pattern_result import Pattern

# Probability that a coming sample lies in the interval.
LEVEL = 0.9
# Number of latest instances used, and the greatest shift of each, as a share of the pattern.
MOST, SLACK = 256, 0.05
# Fewer instances yield no interval.
FEWEST = 3


@dataclass(frozen=True)
class Forecast:
    """The next samples.

    Attributes:
        pattern: Number of the pattern.
        position: Point of the pattern at which the latest sample lies.
        values: (ahead,) the forecast.
        low: (ahead,) lower end of the interval that holds a coming sample with probability LEVEL.
        high: (ahead,) its upper end.
        instances: Number of earlier instances used.
    """

    pattern: int
    position: int
    values: FloatArray
    low: FloatArray
    high: FloatArray
    instances: int


def forecast(x: FloatArray, patterns: Sequence[Pattern], ahead: int | None = None, first: int = 0) -> Forecast | None:
    """Forecast the next samples of a series; None if its end lies in no pattern, or too few instances precede it.

    Args:
        x: (n,) the series so far.
        patterns: Its patterns.
        ahead: Samples to forecast; None is the rest of the instance, or one more if it has just ended.
        first: Position of the first sample of x, in the terms of the patterns' positions.
    """
    if len(x) < LEAST or not patterns:
        return None
    best = place_of_end(x, patterns)
    if not best.is_part:
        return None
    pattern = patterns[best.pattern]
    ahead = ahead or max(pattern.length - 1 - best.end, 1)
    followed = followers(x, pattern, best.end, ahead, first)
    if len(followed) < FEWEST:
        return None
    low, middle, high = np.quantile(followed, [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2], axis=0)
    return Forecast(best.pattern, best.end, middle, low, high, len(followed))


def place_of_end(x: FloatArray, patterns: Sequence[Pattern]) -> Match:
    """Locate the end of a series, up to one period of it, in the most similar pattern."""
    known = [KnownPattern(pattern.values, pattern.wgss_per_sample) for pattern in patterns]
    longest = max(pattern.length for pattern in patterns)
    return matches(x[-longest:], known)[0]


def followers(x: FloatArray, pattern: Pattern, position: int, ahead: int, first: int) -> FloatArray:
    """Return the samples that followed the same point of earlier instances, (instances, ahead), latest last."""
    recent, slack = min(pattern.length, len(x)), max(int(SLACK * pattern.length), 1)
    end = x[-recent:]
    found = []
    for start, stop in (pattern.instances[-MOST:] - first).tolist():
        # Samples up to and including the one at `position`, scaled from the pattern's length to this instance's.
        at = start + round((position + 1) / pattern.length * (stop - start))
        places = np.arange(max(at - slack, recent), min(at + slack, len(x) - ahead) + 1)
        if not len(places):
            continue
        earlier = np.stack([x[place - recent : place] for place in places.tolist()])
        best = int(places[((earlier - end) ** 2).sum(axis=1).argmin()])
        found.append(x[best : best + ahead])
    return np.array(found).reshape(len(found), ahead)
