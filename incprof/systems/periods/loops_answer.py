"""Loops of a stream of names, as text and as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import chain, groupby
from typing import TextIO

from rich.cells import cell_len

from incprof.errors import NoDataError
from incprof.model import FloatArray
from incprof.model.section import Column, Table
from incprof.readers.series import SeriesRequest, position
from incprof.readers.series.text_tables import LONGEST_LINE, Form, followed, form_of, name_of
from incprof.report.render.json import fields, significant
from incprof.report.render.plain import plain_table
from incprof.report.render.text import console_for
from incprof.report.words.formatting import fitted
from incprof.safe.printable import printable
from incprof.systems.periods.dpd_values import PeriodChange, PeriodSegment, PeriodStream, PeriodSum, SeriesPeriods
from incprof.systems.periods.read import Rows
from incprof.systems.periods.stream_loops import Episode, EventLoop, EventLoops, LoopChange, LoopStream

# Rows of a table; JSON has all of them.
MOST_ROWS = 20
# Marks an iteration that is too long for its line.
MORE = ", ..."


def write_answer(source: str, name: str, summary: EventLoops | SeriesPeriods, out: TextIO, *, width: int = 100) -> None:
    """Write the final summary. name: name of a series' column."""
    if isinstance(summary, EventLoops):
        write_loops(source, summary, out, width=width)
    else:
        write_periods(source, name, summary, out, width=width)


def write_loops(source: str, loops_found: EventLoops, out: TextIO, *, width: int = 100) -> None:
    """Write the loops of a stream of events, inner loops indented under their outer one."""
    console = console_for(out, width=max(width, 80), colour=False, terminal=False)
    kinds = "1 kind" if loops_found.kinds == 1 else f"{loops_found.kinds or 'many'} kinds"
    console.print(f"{source}, {loops_found.events} events of {kinds}, window {loops_found.window}", soft_wrap=True)
    if not loops_found.loops:
        console.print(
            f"no loop: nothing of less than {loops_found.window} events occurred twice in a row", soft_wrap=True
        )
        return
    covered, hits = (
        _percent(loops_found.covered, loops_found.events),
        [f"{100 * hit:.2f} %" for hit in loops_found.hits.values()],
    )
    starts, whole = (sum(getattr(loop, name) for loop in loops_found.loops) for name in ("starts", "whole"))
    count = len(loops_found.loops) + loops_found.forgotten
    loops = (
        f"{count} loops, {covered} % of the events in one" if count > 1 else f"1 loop, {covered} % of the events in it"
    )
    console.print(loops, soft_wrap=True)
    predicted = f"predicted {hits[0]} of the next events, {hits[1]} of the fifth, {whole} of {starts} iterations whole"
    console.print(predicted + "\n", soft_wrap=True)
    most = sorted(loops_found.loops, key=lambda loop: -loop.events)[:MOST_ROWS]
    rows = [loop for loop in loops_found.loops if loop in most]
    for line in plain_table(_loops(rows, loops_found)):
        console.print(line, soft_wrap=True)
    console.print()
    for loop in rows:
        number = f"{loop.id:>4}  "
        console.print(number + contents(loop.content, max(width, 80) - len(number)), soft_wrap=True)
    if count > len(most):
        console.print(f"{count - len(most)} more of fewer events", soft_wrap=True)


def _loops(rows: Sequence[EventLoop], loops_found: EventLoops) -> Table:
    """Return a row for each loop."""
    columns = (
        Column("Loop", lambda loop: "  " * min(loop.depth, 8) + str(loop.id)),
        Column("Period", lambda loop: loop.period, "count"),
        Column("Episodes", lambda loop: loop.episodes, "count"),
        Column("Iterations", lambda loop: f"{loop.iterations:.1f}", "number"),
        Column("Share %", lambda loop: _percent(loop.events, loops_found.events), "%"),
        Column("First", lambda loop: loop.first, "count"),
        Column("Last", lambda loop: loop.last, "count"),
        Column("Whole %", lambda loop: _percent(loop.whole, loop.starts) if loop.starts else None, "%"),
    )
    return Table(columns, rows)


def contents(names: Sequence[str], room: int) -> str:
    """Return the names of events in at most `room` columns; consecutive equal names are merged."""
    text = ""
    for name, same in groupby(names):
        count = sum(1 for _ in same)
        part = (", " if text else "") + printable(name) + (f" x {count}" if count > 1 else "")
        if cell_len(text + part) > room - len(MORE):
            return (text or fitted(part, room - len(MORE))) + MORE
        text += part
    return text


def change_line(change: LoopChange | PeriodChange, width: int) -> str:
    """Return a change of the outermost loop, or of the period, as a line."""
    was = _over(change.was) if change.was else ""
    if change.now is None:
        return f"{change.at:>9}  ends     {was}"
    line = f"{change.at:>9}  " + (f"changes  {was}; now " if was else "begins   ")
    if isinstance(change.now, PeriodSegment):
        return f"{line}period {change.now.period}, confidence {_confidence(change.now.confidence)}"
    line += f"loop {change.now.loop.id}, period {change.now.loop.period}, from {change.now.first}: "
    return line + contents(change.now.loop.content, max(width - len(line), 24))


def _over(was: Episode | PeriodSegment) -> str:
    """Return the loop or period that has ended."""
    if isinstance(was, PeriodSegment):
        return f"period {was.period}, {was.first} to {was.last}"
    return f"loop {was.loop.id}, {was.iterations:.1f} iterations, {was.first} to {was.last}"


def write_periods(source: str, name: str, periods_found: SeriesPeriods, out: TextIO, *, width: int = 100) -> None:
    """Write the periods of a series over time."""
    console = console_for(out, width=max(width, 80), colour=False, terminal=False)
    console.print(f"{source}, {name}, {periods_found.samples} samples, window {periods_found.window}", soft_wrap=True)
    if not periods_found.periods:
        console.print(f"no period of less than {periods_found.window} samples", soft_wrap=True)
        return
    console.print(f"{100 * periods_found.coverage:.2f} % periodic", soft_wrap=True)
    share, samples = (
        _percent(periods_found.predicted, periods_found.samples),
        f"{periods_found.low:.3g} to {periods_found.high:.3g}",
    )
    console.print(
        f"predicted {share} % of the samples, off by {periods_found.off:.3g} on the mean; they are {samples}\n",
        soft_wrap=True,
    )
    for line in plain_table(_periods(periods_found)):
        console.print(line, soft_wrap=True)
    if len(periods_found.periods) > MOST_ROWS:
        console.print(f"{len(periods_found.periods) - MOST_ROWS} more of fewer samples", soft_wrap=True)


def _periods(periods_found: SeriesPeriods) -> Table:
    """Return a row for each period."""
    columns = (
        Column("Period", lambda each: each.period, "count"),
        Column("Segments", lambda each: each.stretches, "count"),
        Column("Samples", lambda each: each.samples, "count"),
        Column("Share %", lambda each: _percent(each.samples, periods_found.samples), "%"),
        Column("First", lambda each: each.first, "count"),
        Column("Last", lambda each: each.last, "count"),
        Column("Confidence", lambda each: _confidence(each.confidence), "number"),
    )
    return Table(columns, periods_found.periods[:MOST_ROWS])


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f}"


def _confidence(value: float) -> str:
    return "exact" if value == float("inf") else f"{value:.3g}"


# Loops of events and periods over time as JSON, schemas incprof.loops/1 and incprof.period/1 (periods.md).


LOOPS, LOOP_CHANGE = "incprof.loops/1", "incprof.loops.change/1"
PERIODS, PERIOD_CHANGE = "incprof.period/1", "incprof.period.change/1"
_round = partial(significant, digits=9)
_fields = partial(fields, number=_round)

Row = dict[str, object]


def as_line(source: str, name: str, result: EventLoops | SeriesPeriods | LoopChange | PeriodChange) -> str:
    """Return a change, or the final summary, as a JSON object in one line. name: name of a series' column."""
    if isinstance(result, EventLoops):
        row = loops_dict(source, result)
    else:
        row = periods_dict(source, name, result) if isinstance(result, SeriesPeriods) else change_dict(result)
    return json.dumps(row, ensure_ascii=False, allow_nan=False)


def loops_dict(source: str, loops_found: EventLoops) -> Row:
    """Return all results for a stream of events. Positions count events from 0; `last` is included."""
    return {
        "schema": LOOPS,
        "source": source,
        **_fields(loops_found, "events kinds window tolerance"),
        "coverage_pct": _pct(loops_found.covered, loops_found.events),
        "hit_rate_pct": {str(ahead): _round(100 * hit) for ahead, hit in loops_found.hits.items()},
        "forgotten": loops_found.forgotten,
        "loops": [
            {
                "id": loop.id,
                "around": loop.around.id if loop.around else None,
                **_fields(loop, "depth period content visits=episodes iterations events"),
                "share_pct": _pct(loop.events, loops_found.events),
                **_fields(loop, "first last predicted=starts whole odd"),
            }
            for loop in loops_found.loops
        ],
    }


def change_dict(change: LoopChange | PeriodChange) -> Row:
    """Return a change of the outermost loop, or of the period."""
    schema = LOOP_CHANGE if isinstance(change, LoopChange) else PERIOD_CHANGE
    was, now = (None if each is None else _now(each) for each in (change.was, change.now))
    return {"schema": schema, "at": change.at, "was": was, "now": now}


def _now(each: Episode | PeriodSegment) -> Row:
    """Return an episode or a segment."""
    if isinstance(each, PeriodSegment):
        return _segment(each)
    return _fields(each, "id=loop.id period=loop.period first last iterations content=loop.content")


def periods_dict(source: str, name: str, periods_found: SeriesPeriods) -> Row:
    """Return the periods of a series over time."""
    return {
        "schema": PERIODS,
        "series": {"source": source, "column": name, "samples": periods_found.samples},
        "window": periods_found.window,
        "coverage_pct": _round(100 * periods_found.coverage),
        "predicted_pct": _pct(periods_found.predicted, periods_found.samples),
        **_fields(periods_found, "mean_error=off"),
        "range": [_round(periods_found.low), _round(periods_found.high)],
        "periods": [_segment(each) for each in periods_found.periods],
    }


def _segment(each: PeriodSum | PeriodSegment) -> Row:
    """Return a period or a segment. confidence: null where it is infinite."""
    return {**asdict(each), "confidence": _round(each.confidence)}


def _pct(part: int, whole: int) -> float | None:
    return _round(100 * part / whole)


# Loops in a stream of events and periods of a series, by the dynamic periodicity detector: whole or growing input.


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
            raise NoDataError(f"{self.where}: line {self.lines} {what}: expected text with an event in each line")
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
    request: SeriesRequest,
    window: int | None,
    *,
    tolerance: bool,
    idle_s: float,
    on_change: Callable[[LoopChange], object],
) -> EventLoops:
    """Return the loops of a stream of events.

    Args:
        path: Path of a text file; `-` is standard input.
        request: The column (None: a whole line is an event), and the range of events.
        window: Only periods shorter than this are detected, in events.
        tolerance: Whether loops continue across a single odd event.
        idle_s: Seconds without a new line after which a file counts as ended.
        on_change: Called with each change of the outermost loop, as soon as it is detected.

    Raises:
        NoDataError: there is no event, or the input is not text.
        UsageError: the window is out of its range, or there is no such column.
    """
    stream, words = LoopStream(window or EVENTS_WINDOW, tolerance=tolerance), Words(name_of(path), request.column)
    with followed(path, idle_s) as lines:
        for names in _cut(words.batches(lines, BATCH), request):
            for change in stream.feed(names):
                on_change(change)
    if not stream.events:
        raise NoDataError(f"{name_of(path)}: no event" + (" in that range" if words.lines else ""))
    return stream.end()


def _cut(batches: Iterable[list[str]], request: SeriesRequest) -> Iterator[list[str]]:
    """Yield the events in the wanted range."""
    start = 0
    for names in batches:
        end = None if request.last is None else max(request.last - start, 0)
        yield names[max(request.first - start, 0) : end]
        start += len(names)
        if request.last is not None and start >= request.last:
            return


def follow_periods(
    path: str, request: SeriesRequest, window: int | None, idle_s: float, on_change: Callable[[PeriodChange], object]
) -> tuple[str, SeriesPeriods]:
    """Return the name of a column and its periods while it grew; arguments and errors as for `loops_of`."""
    stream, rows = PeriodStream(window or VALUES_WINDOW), Rows(name_of(path), request)
    with followed(path, idle_s) as lines:
        for change in chain.from_iterable(map(stream.feed, rows.batches(lines, BATCH))):
            on_change(change)
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
