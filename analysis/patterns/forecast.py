"""The next samples of a series that is inside one of its patterns, with an interval from the spread of its instances.

The end of the series is placed in its pattern. Each earlier instance that went on long enough is then laid over the end
of the series at that place, a few samples earlier or later, and what followed there is what may follow here: the median
of all is the forecast, and quantiles are the interval. So it holds what the length of instances varies by, and that a
region may end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.analysis.patterns.matching import LEAST, KnownPattern, Match, matches
from incprof.analysis.patterns.results import Pattern
from incprof.model import FloatArray

# Share of the coming samples that the interval is to hold.
LEVEL = 0.9
# The latest so many instances are looked at, each up to this share of the pattern early or late.
MOST, SLACK = 256, 0.05
# Fewer instances give no interval.
FEWEST = 3


@dataclass(frozen=True)
class Forecast:
    """The next samples.

    pattern: the number of the pattern. position: the point of it at which the latest sample lies. values, low, high:
    (ahead,) the forecast, and the interval that holds a coming sample with probability LEVEL. instances: on how many
    earlier ones it rests.
    """

    pattern: int
    position: int
    values: FloatArray
    low: FloatArray
    high: FloatArray
    instances: int


def forecast(x: FloatArray, patterns: Sequence[Pattern], ahead: int | None = None, first: int = 0) -> Forecast | None:
    """Forecast the next samples of a series; None where its end lies in no pattern, or too few instances went before.

    Args:
        x: (n,) the series as far as it is known.
        patterns: What was found of it.
        ahead: Samples to forecast; None is the rest of the instance, or one more where it has just ended.
        first: Which sample of the patterns' positions x begins with.
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
    """Place the end of a series, as much as a period of it, in the pattern that it is most like."""
    known = [KnownPattern(pattern.values, pattern.wgss_per_sample) for pattern in patterns]
    longest = max(pattern.length for pattern in patterns)
    return matches(x[-longest:], known)[0]


def followers(x: FloatArray, pattern: Pattern, position: int, ahead: int, first: int) -> FloatArray:
    """Return what followed the same point of earlier instances, (instances, ahead), the latest instances last."""
    recent, slack = min(pattern.length, len(x)), max(int(SLACK * pattern.length), 1)
    end = x[-recent:]
    found = []
    for start, stop in (pattern.instances[-MOST:] - first).tolist():
        # The samples up to and with the one at `position`, were this instance as long as the pattern.
        at = start + round((position + 1) / pattern.length * (stop - start))
        places = np.arange(max(at - slack, recent), min(at + slack, len(x) - ahead) + 1)
        if not len(places):
            continue
        earlier = np.stack([x[place - recent : place] for place in places.tolist()])
        best = int(places[((earlier - end) ** 2).sum(axis=1).argmin()])
        found.append(x[best : best + ahead])
    return np.array(found).reshape(len(found), ahead)
