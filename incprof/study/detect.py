"""What the dynamic periodicity detector says of a stream of events or of a series of numbers: whole, or growing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from incprof.analysis.dpd.loops import EventLoops as EventLoops
from incprof.analysis.dpd.loops import LoopChange as LoopChange
from incprof.analysis.dpd.stream import LoopStream
from incprof.analysis.dpd.stretches import PeriodChange as PeriodChange
from incprof.analysis.dpd.stretches import PeriodStream
from incprof.analysis.dpd.stretches import SeriesPeriods as SeriesPeriods
from incprof.errors import NoDataError
from incprof.model import FloatArray
from incprof.readers.series.columns import Wanted
from incprof.readers.series.events import Words
from incprof.readers.series.rows import Rows
from incprof.study.following import followed, name_of

# Events or samples that are taken at once.
BATCH = 4096
# The longest window of the paper, and one that is right under noise too (docs/dpd.md).
EVENTS_WINDOW, VALUES_WINDOW = 1024, 400


def loops_of(
    path: str,
    wanted: Wanted,
    window: int | None,
    *,
    tolerance: bool,
    idle_s: float,
    hear: Callable[[LoopChange], object],
) -> EventLoops:
    """Return the loops of a stream of events.

    Args:
        path: of text; `-` is standard input.
        wanted: the column, None where a whole line is an event, and which events.
        window: periods below it are looked for.
        tolerance: whether loops go on over a single odd event.
        idle_s: a file ends so long after a line.
        hear: hears of each change of the outermost loop, as it is seen.

    Raises:
        NoDataError: there is no event, or what is there is no text.
        UsageError: the window is out of its range, or there is no such column.
    """
    stream, words = LoopStream(window or EVENTS_WINDOW, tolerance=tolerance), Words(name_of(path), wanted.column)
    with followed(path, idle_s) as lines:
        for names in _cut(words.batches(lines, BATCH), wanted):
            for change in stream.feed(names):
                hear(change)
    if not stream.events:
        raise NoDataError(f"{name_of(path)}: no event" + (" in that range" if words.lines else ""))
    return stream.end()


def _cut(batches: Iterable[list[str]], wanted: Wanted) -> Iterator[list[str]]:
    """Yield the events that are meant."""
    start = 0
    for names in batches:
        end = None if wanted.last is None else max(wanted.last - start, 0)
        yield names[max(wanted.first - start, 0) : end]
        start += len(names)
        if wanted.last is not None and start >= wanted.last:
            return


def follow_periods(
    path: str, wanted: Wanted, window: int | None, idle_s: float, hear: Callable[[PeriodChange], object]
) -> tuple[str, SeriesPeriods]:
    """Return the name of a column and the periods that it had while it grew; arguments and errors as of `loops_of`."""
    stream, rows = PeriodStream(window or VALUES_WINDOW), Rows(name_of(path), wanted)
    with followed(path, idle_s) as lines:
        for change in chain.from_iterable(map(stream.feed, rows.batches(lines, BATCH))):
            hear(change)
    if not stream.samples:
        raise NoDataError(f"{name_of(path)}: no sample")
    return rows.name, stream.end()


def periods_of(values: FloatArray, window: int | None) -> SeriesPeriods:
    """Return the periods that a whole series, (n,), has over time.

    Raises:
        UsageError: the window is out of its range.
    """
    stream = PeriodStream(window or VALUES_WINDOW)
    stream.feed(values)
    return stream.end()
