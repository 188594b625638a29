"""What repeats in series: of one that is whole, of several, of one that still grows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from incprof.analysis.patterns import find_patterns as find_patterns
from incprof.analysis.patterns.forecast import Forecast as Forecast
from incprof.analysis.patterns.forecast import forecast as forecast
from incprof.analysis.patterns.matching import KnownPattern, Match, matches
from incprof.analysis.patterns.nodes import agreements as agreements
from incprof.analysis.patterns.results import PatternOptions as PatternOptions
from incprof.analysis.patterns.results import Patterns as Patterns
from incprof.analysis.patterns.stream import PatternStream
from incprof.analysis.patterns.subprofiles import SubProfiles as SubProfiles
from incprof.analysis.patterns.subprofiles import compare_sub_profiles as compare_sub_profiles
from incprof.errors import NoDataError
from incprof.model import FloatArray
from incprof.readers.series.columns import Wanted
from incprof.readers.series.pattern_file import read_known_patterns
from incprof.readers.series.rows import Rows
from incprof.study.following import followed, name_of

# Rows that are taken at once.
BATCH = 4096


@dataclass(frozen=True)
class Known:
    """What is known of a series so far. name: of its column. forecast: if one was asked for and is possible."""

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
    """Feed rows to the stream as they come, and yield what changes; what is known at the end comes last.

    An interrupt (Ctrl-C) is an end like any other.

    Args:
        path: of a file; `-` is standard input.
        wanted: which column.
        options: of the search.
        idle_s: a file ends so long after a line.
        ahead: samples to forecast with each change: 0 is the rest of the instance, None asks for no forecast.

    Raises:
        NoDataError: nothing has come.
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
    """Return what is known now."""
    return Known(name, stream.result, None if ahead is None else stream.forecast(ahead or None))
