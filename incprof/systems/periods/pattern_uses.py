"""What patterns are used for: matching, forecasts, agreement of nodes, and profiles of single patterns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from incprof.model import FloatArray
from incprof.systems.periods import dtw
from incprof.systems.periods.dtw import wgss
from incprof.systems.periods.instances import align_rotated
from incprof.systems.periods.pattern_result import Pattern, PatternOptions, Patterns
from incprof.systems.periods.phase_ta import find_patterns


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
    located = [match_in(excerpt, pattern, number) for number, pattern in enumerate(patterns)]
    return sorted(located, key=lambda match: (not match.is_part, match.step / match.limit if match.limit else np.inf))


def match_in(excerpt: FloatArray, pattern: KnownPattern, number: int = 0) -> Match:
    """Locate the end of an excerpt in one pattern."""
    period = len(pattern.values)
    latest = excerpt[-PERIODS * period :]
    repetitions = -(-len(latest) // period) + 1
    place = place_in(latest, np.tile(pattern.values, repetitions))
    flat = latest.std() < FLAT * pattern.values.std()
    begin, end = place.begin % period, (place.end - 1) % period
    return Match(number, begin, end, place.distance / len(latest), pattern.limit, bool(flat))


# The next samples of a series that is inside one of its patterns, with an interval from the spread of its instances.
#
# The end of the series is located in its pattern. Each earlier instance that is followed by enough samples is aligned
# with the end of the series at that point, shifted by up to a few samples. The samples that followed it predict those
# to come: the median over all instances is the forecast, and quantiles are the interval. The interval thus includes
# the variation of instance lengths, and the possible end of a region.


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


def forecast(x: FloatArray, patterns: Sequence[Pattern], horizon: int | None = None, first: int = 0) -> Forecast | None:
    """Forecast the next samples of a series; None if its end lies in no pattern, or too few instances precede it.

    Args:
        x: (n,) the series so far.
        patterns: Its patterns.
        horizon: Samples to forecast; None is the rest of the instance, or one more if it has just ended.
        first: Position of the first sample of x, in the terms of the patterns' positions.
    """
    if len(x) < LEAST or not patterns:
        return None
    best = place_of_end(x, patterns)
    if not best.is_part:
        return None
    pattern = patterns[best.pattern]
    horizon = horizon or max(pattern.length - 1 - best.end, 1)
    followed = followers(x, pattern, best.end, horizon, first)
    if len(followed) < FEWEST:
        return None
    low, middle, high = np.quantile(followed, [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2], axis=0)
    return Forecast(best.pattern, best.end, middle, low, high, len(followed))


def place_of_end(x: FloatArray, patterns: Sequence[Pattern]) -> Match:
    """Locate the end of a series, up to one period of it, in the most similar pattern."""
    known_patterns = [KnownPattern(pattern.values, pattern.wgss_per_sample) for pattern in patterns]
    longest = max(pattern.length for pattern in patterns)
    return matches(x[-longest:], known_patterns)[0]


def followers(x: FloatArray, pattern: Pattern, position: int, horizon: int, first: int) -> FloatArray:
    """Return the samples that followed the same point of earlier instances, (instances, ahead), latest last."""
    recent, slack = min(pattern.length, len(x)), max(int(SLACK * pattern.length), 1)
    end = x[-recent:]
    continuations = []
    for start, stop in (pattern.instances[-MOST:] - first).tolist():
        # Samples up to and including the one at `position`, scaled from the pattern's length to this instance's.
        at = start + round((position + 1) / pattern.length * (stop - start))
        places = np.arange(max(at - slack, recent), min(at + slack, len(x) - horizon) + 1)
        if not len(places):
            continue
        earlier = np.stack([x[place - recent : place] for place in places.tolist()])
        best = int(places[((earlier - end) ** 2).sum(axis=1).argmin()])
        continuations.append(x[best : best + horizon])
    return np.array(continuations).reshape(len(continuations), horizon)


# Test whether several nodes of one run have the same pattern: the paper's 1 % rule (section IV-B).


# Two patterns are the same up to this mean alignment step, as a share of the mean of both.
SAME = 0.01
# The rotation with the least DTW is searched within this share of the period around that of least Euclidean distance.
AROUND = 0.03


@dataclass(frozen=True)
class Agreement:
    """Two series, by number.

    Attributes:
        first: Number of the first series.
        second: Number of the second series.
        step: Mean step of the DTW alignment of their foremost patterns, in the unit of the series.
        mean: Mean of both patterns.
    """

    first: int
    second: int
    step: float
    mean: float

    @property
    def same(self) -> bool:
        """Whether the mean step is at most 1 % of the mean."""
        return self.step <= SAME * abs(self.mean)


def agreements(results: list[Patterns]) -> list[Agreement]:
    """Compare the foremost patterns of all pairs of series that have one.

    Instances may be cut at any point of the period; so one pattern is first rotated to match the other.
    """
    some = [(number, result.patterns[0].values) for number, result in enumerate(results) if result.patterns]
    out = []
    for (first, one), (second, other) in combinations(some, 2):
        step = mean_step(one, rotated(one, other))
        out.append(Agreement(first, second, step, float(np.concatenate([one, other]).mean())))
    return out


def rotated(pattern: FloatArray, other: FloatArray) -> FloatArray:
    """Return the other pattern, rotated to the least DTW from the first one, where DTW aligns their begins."""
    middle, reach = align_rotated(pattern, other)[1], int(AROUND * len(other)) + 1
    rotations = sorted(range(middle - reach, middle + reach + 1), key=lambda rotation: abs(rotation - middle))
    packed = dtw.pack([pattern, *(np.roll(other, -rotation) for rotation in rotations)])
    right = np.arange(1, len(packed))
    return packed[1 + int(dtw.distances(packed, np.zeros_like(right), right).argmin())]


def mean_step(a: FloatArray, b: FloatArray) -> float:
    """Return DTW(a, b) per aligned pair; of equally good alignments, that with the fewest pairs is used."""
    rows, columns = len(a), len(b)
    # By anti-diagonals, whose cells are independent: index i of a diagonal is row i.
    before: tuple[FloatArray, FloatArray] = (np.full(rows + 1, np.inf), np.full(rows + 1, np.inf))
    pairs = (np.zeros(rows + 1), np.zeros(rows + 1))
    total = steps = np.inf
    for diagonal in range(rows + columns - 1):
        low, high = max(0, diagonal - columns + 1), min(rows, diagonal + 1)
        i = np.arange(low, high)
        cost = np.abs(a[i] - b[diagonal - i])
        # Row i of a diagonal is stored at i + 1: the left cell is row i of the last one, the cell above row i - 1.
        choice = np.stack([before[0][i], before[1][i], before[1][i + 1]])
        number = np.stack([pairs[0][i], pairs[1][i], pairs[1][i + 1]])
        if diagonal == 0:
            choice[0] = 0.0
        best = np.lexsort((number.T, choice.T), axis=1)[:, 0] if len(i) else np.zeros(0, dtype=np.int64)
        at = np.arange(len(i))
        now, count = np.full(rows + 1, np.inf), np.zeros(rows + 1)
        now[i + 1] = cost + choice[best, at]
        count[i + 1] = number[best, at] + 1
        before, pairs = (before[1], now), (pairs[1], count)
        total, steps = now[rows], count[rows]
    return float(total / steps)


# The profile length from which a pattern represents the whole run: the paper's section IV-C and Figure 5.


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
    compared = []
    for length in lengths:
        room = len(x) - length - first
        starts = draw.integers(first, first + room + 1, offsets).tolist() if room >= 0 else []
        parts = []
        for start in starts:
            patterns = find_patterns(x[start : start + length], options).patterns
            if not patterns:
                parts.append(SubProfile(start, 0, None))
                continue
            own = wgss(packed, rotated(reference.values, patterns[0].values), threads=options.threads)
            parts.append(SubProfile(start, len(patterns[0].instances), own))
        compared.append(SubProfiles(length, least, tuple(parts)))
    return compared
