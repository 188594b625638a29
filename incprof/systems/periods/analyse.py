"""The repeating patterns of one whole series, of several series, and of a series that still grows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from incprof.errors import NoDataError
from incprof.model import FloatArray, IntArray
from incprof.readers.series import SeriesRequest
from incprof.readers.series.text_tables import followed, name_of
from incprof.safe.inputs import read_input
from incprof.safe.printable import parse_json
from incprof.systems.periods import dtw
from incprof.systems.periods.dtw import fast_step
from incprof.systems.periods.pattern_result import Pattern, PatternOptions, Patterns
from incprof.systems.periods.pattern_uses import (
    Forecast,
    KnownPattern,
    Match,
    forecast,
    matches,
)
from incprof.systems.periods.phase_ta import find_patterns, regions_of
from incprof.systems.periods.read import Rows

# Rows per batch.
BATCH = 4096


@dataclass(frozen=True)
class Known:
    """The patterns found in a series so far.

    Attributes:
        name: Name of the series' column.
        found: The patterns.
        forecast: The forecast, if it was requested and is possible.
    """

    name: str
    found: Patterns
    forecast: Forecast | None = None


def match_excerpt(values: FloatArray, path: str) -> list[Match]:
    """Place the end of an excerpt in each pattern of a file that `incprof periods --json` wrote, the most alike first.

    Raises:
        NoDataError: the file holds no patterns, or the excerpt is too short.
    """
    patterns = [KnownPattern(pattern, scatter) for pattern, scatter in read_known_patterns(path)]
    try:
        return matches(values, patterns)
    except ValueError as error:
        raise NoDataError(str(error)) from error


def follow_patterns(
    path: str, request: SeriesRequest, options: PatternOptions, idle_s: float, ahead: int | None = None
) -> Iterator[Known]:
    """Feed rows to the stream as they arrive. Yield each change, and the final state last.

    An interrupt (Ctrl-C) ends the stream like the end of a file.

    Args:
        path: Path of a file; `-` is standard input.
        request: The column.
        options: Options of the search.
        idle_s: Seconds without a new line after which a file counts as ended.
        ahead: Samples to forecast with each change: 0 is the rest of the instance, None makes no forecast.

    Raises:
        NoDataError: no sample arrived.
    """
    stream, rows = PatternStream(options), Rows(name_of(path), request)
    with followed(path, idle_s) as lines:
        for values in rows.batches(lines, BATCH):
            if stream.feed(values):
                yield _state(rows.name, stream, ahead)
    if not stream.samples:
        raise NoDataError(f"{name_of(path)}: no sample")
    stream.search()
    yield _state(rows.name, stream, ahead)


def _state(name: str, stream: PatternStream, ahead: int | None) -> Known:
    """Return the current state of the stream."""
    return Known(name, stream.result, None if ahead is None else stream.forecast(ahead or None))


# Patterns of a series that still grows.


# Length at the first search, and the growth of the series until the next one, so that all searches together take a few
# times as long as the last one.
FIRST, GROWTH = 1024, 1.5
# Ten minutes at 5 ms. From this length on, the paper's patterns represent the whole run.
MEMORY = 120_000


class PatternStream:
    """Finds patterns as samples arrive.

    The last `memory` samples are searched again each time the series has grown by half. Between searches, only new
    samples are processed: instances of the known patterns are continued from the last one, and each is added to the
    average of its pattern. Owns a copy of the samples in memory.
    """

    def __init__(self, options: PatternOptions | None = None, *, memory: int = MEMORY):
        self.options = options or PatternOptions()
        self.memory = memory
        self.result = Patterns(0, 0, (), 0.0, 0.0, 0.0, 0.0, 0.0, (), self.options)
        self.samples = 0
        self._kept: FloatArray = np.zeros(0)
        self._next_search = FIRST
        self._last_instance_end = 0

    def feed(self, values: FloatArray) -> bool:
        """Take new samples, shape (n,), finite; return whether `result` has changed.

        Raises:
            ValueError: a value is not finite; none of `values` was taken.
        """
        values = np.asarray(values, dtype=np.float64)
        if values.ndim != 1 or not np.isfinite(values).all():
            raise ValueError("expected finite values in one dimension")
        self._kept = np.concatenate([self._kept, values])[-self.memory :]
        self.samples += len(values)
        if self.samples >= self._next_search:
            self.search()
            return True
        return self._follow_all()

    def search(self) -> Patterns:
        """Search all samples in memory now. Positions in the result count from the first sample of the stream."""
        patterns = find_patterns(self._kept, self.options)
        first = self.samples - len(self._kept)
        moved = tuple(_moved(pattern, first) for pattern in patterns.patterns)
        self.result = replace(patterns, samples=self.samples, patterns=moved)
        self._next_search = max(int(GROWTH * self.samples), FIRST)
        if self.samples >= self.memory:
            self._next_search = self.samples + self.memory // 2
        self._last_instance_end = max((int(pattern.instances[-1, 1]) for pattern in moved), default=self.samples)
        return self.result

    def forecast(self, ahead: int | None = None) -> Forecast | None:
        """Forecast the next samples from the current patterns; ahead: None is the rest of the instance."""
        return forecast(self._kept, self.result.patterns, ahead, self.samples - len(self._kept))

    def _follow_all(self) -> bool:
        """Add the instances completed since, where a pattern continues; return whether there are any."""
        patterns = list(self.result.patterns)
        changed = False
        for number, pattern in enumerate(patterns):
            following = self._following(pattern)
            if len(following):
                patterns[number] = self._joined(pattern, following)
                self._last_instance_end = int(following[-1, 1])
                changed = True
        shared = tuple(self._shared(pattern) for pattern in patterns)
        self.result = replace(self.result, samples=self.samples, patterns=shared)
        return changed

    def _following(self, pattern: Pattern) -> IntArray:
        """Return the instances of a pattern that follow its last one, if the stream was processed up to it, (q, 2)."""
        first, start = self.samples - len(self._kept), int(pattern.instances[-1, 1])
        room = (self.samples - start) // pattern.length
        if start != self._last_instance_end or start < first or room < 1:
            return np.zeros((0, 2), dtype=np.int64)
        starts = start + pattern.length * np.arange(room)
        pieces = (self._kept[at - first : at - first + pattern.length] for at in starts.tolist())
        packed = dtw.pack([pattern.values, *pieces])
        zeros = np.zeros(room, dtype=np.int64)
        distances = dtw.distances(packed, zeros, np.arange(1, room + 1), squared=True, threads=self.options.threads)
        like = distances <= _usual_distance(pattern)
        count = room if like.all() else int(like.argmin())
        return np.column_stack([starts, starts + pattern.length])[:count]

    def _joined(self, pattern: Pattern, following: IntArray) -> Pattern:
        """Return a pattern with more instances added to its average, regions and WGSS."""
        packed = dtw.slices(self._kept, following - (self.samples - len(self._kept)))
        refined, distances = fast_step(packed, pattern.values, self.options.threads)
        weight = len(following) / (len(pattern.instances) + len(following))
        values = pattern.values + weight * (refined - pattern.values)
        instances = np.concatenate([pattern.instances, following])
        total = pattern.wgss + float(distances.sum())
        return replace(pattern, values=values, instances=instances, regions=regions_of(instances)[0], wgss=total)

    def _shared(self, pattern: Pattern) -> Pattern:
        """Return a pattern with its share of the samples so far."""
        covered = float((pattern.instances[:, 1] - pattern.instances[:, 0]).sum())
        remembered = min(self.samples, self.memory)
        return replace(pattern, share=min(covered / remembered, 1.0))


def _usual_distance(pattern: Pattern) -> float:
    """Return the greatest DTW2 of an instance: a few times the mean over instances."""
    spread = float(((pattern.values - pattern.values.mean()) ** 2).sum())
    return min(4 * pattern.wgss_per_instance + 1e-9 * spread, 0.25 * spread + pattern.wgss_per_instance)


def _moved(pattern: Pattern, by: int) -> Pattern:
    """Return a pattern with all positions shifted by `by` samples."""
    return replace(pattern, instances=pattern.instances + by, regions=pattern.regions + by)


# The patterns in a file that `incprof periods --json` wrote.


SCHEMA = "incprof.periods/1"
# Larger than any output for a series that `periods` accepts; patterns are no longer than its longest window.
MOST_BYTES, MOST_POINTS, MOST_PATTERNS = 1 << 28, 10_000, 1000
# Series with larger values are refused too.
LARGEST = 1e100


def read_known_patterns(path: str) -> list[tuple[FloatArray, float]]:
    """Return for each pattern its values, (length,), and the mean squared deviation of its instances per sample.

    Raises:
        NoDataError: the file cannot be read, is not such an output, or has no pattern.
    """
    try:
        answer = parse_json(read_input(path, MOST_BYTES))
    except (OSError, ValueError) as error:
        raise NoDataError(f"{path}: {getattr(error, 'strerror', None) or 'not JSON'}: expected the output of "
                          "incprof periods --json") from error  # fmt: skip
    patterns = answer.get("patterns") if isinstance(answer, dict) and answer.get("schema") == SCHEMA else None
    if not isinstance(patterns, list):
        raise NoDataError(f"{path}: not the output of incprof periods --json (schema {SCHEMA})")
    if not 0 < len(patterns) <= MOST_PATTERNS:
        raise NoDataError(f"{path}: {len(patterns)} patterns: expected 1 to {MOST_PATTERNS}")
    return [_pattern(path, number, each) for number, each in enumerate(patterns)]


def _pattern(path: str, number: int, pattern: Any) -> tuple[FloatArray, float]:
    """Return one pattern's values and scatter."""
    values = pattern.get("values") if isinstance(pattern, dict) else None
    if not isinstance(values, list) or not 2 <= len(values) <= MOST_POINTS or not all(map(_is_number, values)):
        raise NoDataError(f"{path}: pattern {number} has no values: expected 2 to {MOST_POINTS} numbers")
    scatter = pattern.get("wgss_per_sample")
    if not _is_number(scatter) or scatter < 0:
        raise NoDataError(f"{path}: pattern {number} has no wgss_per_sample")
    return np.array(values, dtype=np.float64), float(scatter)


def _is_number(value: object) -> bool:
    """Return whether a value is a number that a series may hold."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) <= LARGEST
        and math.isfinite(value)
    )
