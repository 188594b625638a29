"""Find the loops in a stream of names: functions, system calls, addresses, MPI operations.

    incprof loops calls.txt
    incprof loops trace.csv --column region
    strace ./app 2>&1 >/dev/null | sed 's/(.*//' | incprof loops --follow -

Each line of EVENTS is an event; only equality counts. Loops are found within loops, in one pass, by the dynamic
periodicity detector. `incprof help loops` explains the output.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from incprof.command.helping import expert
from incprof.command.terminal import text_width, warn
from incprof.errors import NoDataError, UsageError
from incprof.model import FloatArray
from incprof.readers.series.columns import Wanted, position
from incprof.readers.series.text_tables import LONGEST_LINE, Form, form_of
from incprof.study.following import followed, name_of
from incprof.systems.periods.dpd_values import PeriodChange as PeriodChange
from incprof.systems.periods.dpd_values import PeriodStream
from incprof.systems.periods.dpd_values import SeriesPeriods as SeriesPeriods
from incprof.systems.periods.parameters import add_follow_arguments, read_source, sample_range, wanted_of, whole
from incprof.systems.periods.read import Rows
from incprof.systems.periods.stream_loops import EventLoops as EventLoops
from incprof.systems.periods.stream_loops import LoopChange as LoopChange
from incprof.systems.periods.stream_loops import LoopStream

NAME = "loops"
# Arguments that the detector accepts for both events and numbers.
OF_BOTH = frozenset("verb run debug series column range json force follow idle events method window".split())
OF_EVENTS = OF_BOTH | {"tolerance"}
OF_NUMBERS = OF_BOTH | {"time", "interval", "rank", "exe", "most"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `incprof loops`."""
    parser.add_argument("series", metavar="EVENTS", help="text, a line for each event; - is standard input")
    parser.add_argument("--column", metavar="NAME", help="the field of a line that is the event: a name, or a number")
    parser.add_argument("--range", type=sample_range, metavar="A:B", default=(0, None), help="only events A to B")
    parser.add_argument("--window", type=whole(2), metavar="L", help="find loops of fewer events than this (1024)")
    parser.add_argument(
        "--tolerance", action="store_const", const=True, help="a loop continues across a single odd event"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object, schema incprof.loops/1")
    add_follow_arguments(parser)
    parser.set_defaults(events=True, method=None, time=None, interval=None, most=None)


def run(args: argparse.Namespace) -> int:
    """Read the events, and print the loops."""
    if args.follow and args.range != (0, None):
        raise UsageError("--range does not go with --follow")
    if not 0 <= args.idle < 1e9:
        raise UsageError(f"--idle {args.idle:g}: expected seconds from 0 on")
    return detect(args)


def add_detect_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `incprof periods` that select the detector."""
    group = parser.add_argument_group("periodicity detector", "`incprof help dpd` explains the method")
    group.add_argument("--events", action="store_true", help="find loops of events, as incprof loops does")
    group.add_argument("--method", choices=("patterns", "dpd"), help="dpd: only the period, and since when (patterns)")
    group.add_argument("--tolerance", action="store_const", const=True, help="as of incprof loops")
    expert(*group._group_actions)


def check_detect(args: argparse.Namespace) -> None:
    """Refuse arguments that the detector does not support.

    Raises:
        UsageError: an argument is for patterns, or for numbers where there are events.
    """
    taken = OF_EVENTS if args.events else OF_NUMBERS
    given = [name for name, value in vars(args).items() if value is not None and value != [] and name not in taken]
    if args.events and args.method == "patterns":
        given.append("method patterns")
    if given:
        name = "no-align" if given[0] == "align" else given[0].replace("_", "-")
        raise UsageError(f"--{name} does not go with {'--events' if args.events else '--method dpd'}")


def detect(args: argparse.Namespace) -> int:
    """Print each change if the text is followed, and a summary at the end."""
    from incprof.systems.periods.loops_answer import as_line, change_line, write_answer

    found: EventLoops | SeriesPeriods
    name, width, wanted, idle = "events", text_width(), wanted_of(args), args.idle if args.follow else 0.0

    def hear(change: LoopChange | PeriodChange) -> None:
        if args.follow:
            print(as_line(args.series, name, change) if args.json else change_line(change, width), flush=True)

    if args.events:
        found = loops_of(args.series, wanted, args.window, tolerance=bool(args.tolerance), idle_s=idle, hear=hear)
    elif args.follow:
        name, found = follow_periods(args.series, wanted, args.window, idle, hear)
    else:
        series = read_source(args.series, args)
        warn(series.notes)
        name, found = series.name, periods_of(series.values, args.window)
    if args.json:
        print(as_line(args.series, name, found))
    else:
        write_answer(args.series, name, found, sys.stdout, width=width)
    return 0


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
