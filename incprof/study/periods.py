"""What repeats in series: of one that is whole, of several, of one that still grows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from incprof.analysis.patterns import find_patterns as find_patterns
from incprof.analysis.patterns.nodes import agreements as agreements
from incprof.analysis.patterns.results import PatternOptions as PatternOptions
from incprof.analysis.patterns.results import Patterns as Patterns
from incprof.analysis.patterns.stream import PatternStream
from incprof.errors import NoDataError
from incprof.readers.series.columns import Wanted
from incprof.readers.series.rows import Rows
from incprof.study.following import followed, name_of

# Rows that are taken at once.
BATCH = 4096


@dataclass(frozen=True)
class Known:
    """What is known of a series so far. name: of its column."""

    name: str
    found: Patterns


def follow_patterns(path: str, wanted: Wanted, options: PatternOptions, idle_s: float) -> Iterator[Known]:
    """Feed rows to the stream as they come, and yield what changes; what is known at the end comes last.

    An interrupt (Ctrl-C) is an end like any other.

    Args:
        path: of a file; `-` is standard input.
        wanted: which column.
        options: of the search.
        idle_s: a file ends so long after a line.

    Raises:
        NoDataError: nothing has come.
    """
    stream, rows = PatternStream(options), Rows(name_of(path), wanted)
    with followed(path, idle_s) as lines:
        for values in rows.batches(lines, BATCH):
            if stream.feed(values):
                yield Known(rows.name, stream.result)
    if not stream.samples:
        raise NoDataError(f"{name_of(path)}: no sample")
    stream.search()
    yield Known(rows.name, stream.result)
