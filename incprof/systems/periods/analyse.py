"""The repeating patterns of one whole series, of several series, and of a series that still grows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from incprof.errors import NoDataError
from incprof.model import FloatArray
from incprof.readers.series.columns import Wanted
from incprof.study.following import followed, name_of
from incprof.systems.periods.pattern_file import read_known_patterns
from incprof.systems.periods.patterns import find_patterns as find_patterns
from incprof.systems.periods.patterns.forecast import Forecast as Forecast
from incprof.systems.periods.patterns.forecast import forecast as forecast
from incprof.systems.periods.patterns.matching import KnownPattern, Match, matches
from incprof.systems.periods.patterns.node_agreement import agreements as agreements
from incprof.systems.periods.patterns.pattern_result import PatternOptions as PatternOptions
from incprof.systems.periods.patterns.pattern_result import Patterns as Patterns
from incprof.systems.periods.patterns.stream import PatternStream
from incprof.systems.periods.patterns.subprofiles import SubProfiles as SubProfiles
from incprof.systems.periods.patterns.subprofiles import compare_sub_profiles as compare_sub_profiles
from incprof.systems.periods.row_batches import Rows

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
    known = [KnownPattern(pattern, scatter) for pattern, scatter in read_known_patterns(path)]
    try:
        return matches(values, known)
    except ValueError as error:
        raise NoDataError(str(error)) from error


def follow_patterns(
    path: str, wanted: Wanted, options: PatternOptions, idle_s: float, ahead: int | None = None
) -> Iterator[Known]:
    """Feed rows to the stream as they arrive. Yield each change, and the final state last.

    An interrupt (Ctrl-C) ends the stream like the end of a file.

    Args:
        path: Path of a file; `-` is standard input.
        wanted: The column.
        options: Options of the search.
        idle_s: Seconds without a new line after which a file counts as ended.
        ahead: Samples to forecast with each change: 0 is the rest of the instance, None makes no forecast.

    Raises:
        NoDataError: no sample arrived.
    """
    stream, rows = PatternStream(options), Rows(name_of(path), wanted)
    with followed(path, idle_s) as lines:
        for values in rows.batches(lines, BATCH):
            if stream.feed(values):
                yield _known(rows.name, stream, ahead)
    if not stream.samples:
        raise NoDataError(f"{name_of(path)}: no sample")
    stream.search()
    yield _known(rows.name, stream, ahead)


def _known(name: str, stream: PatternStream, ahead: int | None) -> Known:
    """Return the current state of the stream."""
    return Known(name, stream.result, None if ahead is None else stream.forecast(ahead or None))
