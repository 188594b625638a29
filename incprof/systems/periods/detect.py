"""Loops in a stream of events and periods of a series, by the dynamic periodicity detector: whole or growing input."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from incprof.errors import NoDataError
from incprof.model import FloatArray
from incprof.readers.series.columns import Wanted, position
from incprof.readers.series.form import LONGEST_LINE, Form, form_of
from incprof.study.following import followed, name_of
from incprof.systems.periods.dpd.changing_period import PeriodChange as PeriodChange
from incprof.systems.periods.dpd.changing_period import PeriodStream
from incprof.systems.periods.dpd.changing_period import SeriesPeriods as SeriesPeriods
from incprof.systems.periods.dpd.stream import LoopStream
from incprof.systems.periods.dpd.stream_loops import EventLoops as EventLoops
from incprof.systems.periods.dpd.stream_loops import LoopChange as LoopChange
from incprof.systems.periods.row_batches import Rows

# A file that contains one is not text.
NUL = "\0"


class Words:
    """Reads events one by one. Without a column, the whole line is the event."""

    def __init__(self, where: str, column: str | None):
        self.where, self.column = where, column
        self.lines = 0
        self._form: Form | None = None
        self._at = 0

    def batches(self, lines: Iterable[str], size: int) -> Iterator[list[str]]:
        """Yield events as they arrive, at most `size` at once. An empty line means that no more have arrived yet.

        Raises:
            NoDataError: a line has no such field, has a NUL, or is too long.
            UsageError: there is no such column.
        """
        waiting: list[str] = []
        for line in lines:
            if (word := self._word(line)) is not None:
                waiting.append(word)
            if waiting and (len(waiting) >= size or not line):
                yield waiting
                waiting = []
        if waiting:
            yield waiting

    def _word(self, line: str) -> str | None:
        """Return the event of a line; None for comments, empty lines, and the header of the column."""
        if not line:
            return None
        self.lines += 1
        if len(line) > LONGEST_LINE or NUL in line:
            what = "holds a NUL" if NUL in line else f"is longer than {LONGEST_LINE} characters"
            raise NoDataError(f"{self.where}: line {self.lines} {what}: no text with an event in each line")
        kept = line.strip()
        if not kept or kept.startswith("#"):
            return None
        if self.column is None:
            return kept
        if self._form is None:
            self._form = form_of(line)
            if self._begin(self._form.fields(line), self.column):
                return None
        fields = self._form.fields(line)
        if self._at >= len(fields):
            raise NoDataError(f"{self.where}: line {self.lines} has no field {self._at + 1}: {kept[:40]!r}")
        return fields[self._at]

    def _begin(self, fields: list[str], column: str) -> bool:
        """Find the column in the first line. Return whether that line is a header: only if the column is a name."""
        numbered = [str(at + 1) for at in range(len(fields))]
        header = not re.fullmatch("[0-9]+", column)
        self._at = position(fields if header else numbered, column, self.where)
        return header


# Events or samples per batch.
BATCH = 4096
# The longest window of the paper, and one that also works under noise (docs/understand/periods-and-models.md).
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
        path: Path of a text file; `-` is standard input.
        wanted: The column (None: a whole line is an event), and the range of events.
        window: Only periods shorter than this are detected, in events.
        tolerance: Whether loops continue across a single odd event.
        idle_s: Seconds without a new line after which a file counts as ended.
        hear: Called with each change of the outermost loop, as soon as it is detected.

    Raises:
        NoDataError: there is no event, or the input is not text.
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
    """Yield the events in the wanted range."""
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
    """Return the name of a column and its periods while it grew; arguments and errors as for `loops_of`."""
    stream, rows = PeriodStream(window or VALUES_WINDOW), Rows(name_of(path), wanted)
    with followed(path, idle_s) as lines:
        for change in chain.from_iterable(map(stream.feed, rows.batches(lines, BATCH))):
            hear(change)
    if not stream.samples:
        raise NoDataError(f"{name_of(path)}: no sample")
    return rows.name, stream.end()


def periods_of(values: FloatArray, window: int | None) -> SeriesPeriods:
    """Return the periods of a whole series, (n,), over time.

    Raises:
        UsageError: the window is out of its range.
    """
    stream = PeriodStream(window or VALUES_WINDOW)
    stream.feed(values)
    return stream.end()
