"""Tables of text: the output of `incprof sample`, `perf stat -I`, LDMS's store_csv, other CSV with a header line."""

from __future__ import annotations

import codecs
import csv
import io
import math
import os
import re
import select
import signal
import stat
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from incprof.errors import NoDataError
from incprof.readers.series import counts_by_event, is_perf
from incprof.readers.series.node_columns import Columns, Kind, Table, numbers, own_kind, tables_of, understood
from incprof.safe.inputs import open_series, read_input
from incprof.safe.printable import printable

LARGEST = 1 << 30
OWN = re.compile(r"# incprof sample \d+: ")
BEGUN = re.compile(r"# begun: (\d{1,12}\.\d{6}) s since 1970 on (\S+)")
KIND = re.compile(r"# column: (.+): (interval|level|share|ratio|watts)$")
MISSING = re.compile(r"# not available: (.+?): (.*)")
SCALED = re.compile(r"# note: (.*scaled to the whole)")
SIMULATED = re.compile(r"#\s*simulated: (.+)")
STARTED = re.compile(r"# started on (\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})")
# Numbers in incprof's own files are rates already, except these.
OWN_KINDS = {
    "interval": Kind.AMOUNT,
    "level": Kind.GAUGE,
    "share": Kind.GAUGE,
    "ratio": Kind.GAUGE,
    "watts": Kind.GAUGE,
}
MOST_NOTES = 20
# CPU3, or S0-D0-C1 and the number of its processors, after the time.
OF_A_PROCESSOR = re.compile(r"^(\s*\d+\.\d+)(\s+|[,;])(?:CPU\d+|[SN]\d+(?:-[DC]\d+)*(?:\s+|[,;])\d+)(?:\s+|[,;])")


def read_text(path: str) -> list[Table]:
    """Read a file of text.

    Raises:
        NoDataError: it contains no row.
        UsageError: no column holds times.
        OSError: it cannot be read.
    """
    comments: list[str] = []
    lines = _rows(read_input(path, LARGEST), comments)
    head = next(lines, None)
    if head is None:
        raise NoDataError(f"{path}: empty")
    if is_perf(_of_all_processors(head)):
        return [_perf(path, head, lines, comments)]
    if number(form_of(head).fields(head)[0]) is not None and (names := _header_of_separate_file(path)) is not None:
        lines, head = _with_first(head, lines), names
    if comments and OWN.match(comments[0]):
        return [_own(path, head, lines, comments)]
    columns, notes = _columns(path, head, lines)
    return tables_of(path, columns, simulated=_simulated(comments), notes=notes)


def _rows(data: bytes, comments: list[str]) -> Iterator[str]:
    """Yield the lines without comments, which go into `comments`. LDMS's header line begins like a comment."""
    for raw in io.BytesIO(data):
        line = raw.decode("utf-8", "replace").replace("\0", "?").lstrip("\ufeff")
        if line.startswith("#") and not line.startswith("#Time"):
            comments.append(line.rstrip("\r\n"))
        elif line.strip():
            yield line.lstrip("#")


def _with_first(first: str, lines: Iterator[str]) -> Iterator[str]:
    yield first
    yield from lines


def _header_of_separate_file(path: str) -> str | None:
    """Return the header line that LDMS wrote into a separate file."""
    place = Path(path)
    for file_name in (f"{place.name}.HEADER", place.name.replace(".", ".HEADER.", 1)):
        header = place.with_name(file_name)
        if file_name != place.name and header.is_file():
            names = read_input(header, 1 << 20).decode("utf-8", "replace").strip().splitlines()
            return names[0].lstrip("#") + "\n" if names else None
    return None


def _columns(path: str, head: str, lines: Iterator[str]) -> tuple[Columns, tuple[str, ...]]:
    """Read the rows below a header line, each column as it is, and notes on them."""
    import pandas as pd

    form = form_of(head)
    if not form.header:
        raise NoDataError(f"{path}: its first line has to name the columns, one of them the time")
    rows, count = io.BytesIO(), 0
    for line in lines:
        if line.endswith("\n") or len(form.fields(line)) >= len(form.names):
            rows.write(line.encode("utf-8", "replace"))
            count += 1
    rows.seek(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about columns of several types
            frame = pd.read_csv(
                rows,
                sep=form.separator or r"\s+",
                names=list(range(len(form.names))),
                header=None,
                index_col=False,
                decimal="," if form.separator == ";" else ".",
                on_bad_lines="skip",
                low_memory=False,
                skipinitialspace=True,
            )
    except (ValueError, OverflowError, MemoryError) as error:
        raise NoDataError(f"{path}: no table: {printable(str(error).splitlines()[0])[:120]}") from None
    columns: Columns = {}
    for at, name in enumerate(form.names):
        columns.setdefault(name, frame[at].to_numpy())
    left_out = count - len(frame)
    return columns, (f"{left_out} lines have more fields than there are names: left out",) if left_out > 0 else ()


def _own(path: str, head: str, lines: Iterator[str], comments: list[str]) -> Table:
    """Read output of incprof sample."""
    begun = next((match for line in comments if (match := BEGUN.match(line))), None)
    kinds = {match[1]: OWN_KINDS[match[2]] for line in comments if (match := KIND.match(line))}
    start = float(begun[1]) if begun else 0.0
    columns, notes = _columns(path, head, lines)
    if "time_s" not in columns:
        raise NoDataError(f"{path}: its line of names is incomplete: no time_s")
    if (clock := columns.get("task-clock")) is not None:
        columns["task-clock"] = numbers(clock) / 1e6  # nanoseconds; perf writes milliseconds
    times = numbers(columns.pop("time_s"))
    return Table(
        path,
        printable(begun[2]) if begun else None,
        times + start,
        tuple(understood(name, numbers(values), kinds.get(name) or own_kind(name)) for name, values in columns.items()),
        by_clock=begun is not None,
        first_s=start,
        is_whole=True,
        simulated=_simulated(comments),
        notes=(
            *notes,
            *_not_available(comments),
            *(printable(match[1]) for line in comments if (match := SCALED.match(line))),
        ),
    )


def _not_available(comments: list[str]) -> tuple[str, ...]:
    """Return notes on events that the machine could not count, one for each reason."""
    reasons: dict[str, list[str]] = {}
    for line in comments:
        if match := MISSING.match(line):
            reasons.setdefault(match[2], []).append(match[1])
    return tuple(printable(f"not counted: {', '.join(names)}: {why}") for why, names in reasons.items())[:MOST_NOTES]


def _perf(path: str, head: str, lines: Iterator[str], comments: list[str]) -> Table:
    """Read output of perf stat -I."""
    names, times, values = counts_by_event(_of_all_processors(line) for line in _with_first(head, lines))
    if not len(times):
        raise NoDataError(f"{path}: no row of counters")
    started = next((match[1] for line in comments if (match := STARTED.match(line))), None)
    start = _clock(started) if started else None
    notes = (
        () if start is None else ("begins at the time in perf's header, to the second, in this machine's time zone",)
    )
    counts = tuple(understood(printable(name), values[:, at], Kind.AMOUNT) for at, name in enumerate(names))
    return Table(path, None, times + (start or 0.0), counts, start is not None, start or 0.0, True, notes=notes)


def _of_all_processors(line: str) -> str:
    """Return a line of perf without its processor or socket: these are added up."""
    return OF_A_PROCESSOR.sub(r"\1\2", line)


def _clock(text: str) -> float | None:
    try:
        return time.mktime(time.strptime(text, "%a %b %d %H:%M:%S %Y"))
    except (ValueError, OverflowError):
        return None


def _simulated(comments: list[str]) -> str | None:
    """Return the formula that computed power, if a file contains it."""
    return next((printable(match[1]) for line in comments if (match := SIMULATED.match(line))), None)


# The format of a text table, from its first line: separator, header and column names.


# If a line contains a comma and one of these, the comma is not a separator.
SEPARATORS = ("\t", ";", ",")
# A line this long is not a row of a table.
LONGEST_LINE = 1 << 20


@dataclass(frozen=True)
class Form:
    """The format of a table.

    Attributes:
        separator: None stands for blanks.
        header: the first line holds names; without one, names count from 1.
    """

    separator: str | None
    header: bool
    names: tuple[str, ...]

    def fields(self, line: str) -> list[str]:
        """Return the fields of a row without blanks and quotation marks around them."""
        return split(line, self.separator)

    def row(self, line: str) -> str:
        """Return a row with points for decimal commas, which spreadsheets write if semicolons separate fields."""
        return line.replace(",", ".") if self.separator == ";" else line


def form_of(line: str) -> Form:
    """Return the format of the table that begins with this line."""
    separator = next((sign for sign in SEPARATORS if sign in line), None)
    fields = split(line, separator)
    header = any(number(field.replace(",", ".") if separator == ";" else field) is None for field in fields)
    names = tuple(printable(field) for field in fields) if header else tuple(map(str, range(1, len(fields) + 1)))
    return Form(separator, header, names)


def split(line: str, separator: str | None) -> list[str]:
    """Return the fields of a line."""
    if separator is not None and '"' in line:
        try:
            return [field.strip() for field in next(csv.reader([line.strip()], delimiter=separator))]
        except csv.Error:  # a field of hundreds of kilobytes
            pass
    return [field.strip().strip('"') for field in line.rstrip("\r\n").split(separator)]


def number(text: str) -> float | None:
    """Return a number; NaN for an empty field, None for text that is not a number."""
    try:
        return None if "_" in text else float(text) if text else math.nan
    except ValueError:
        return None


# Lines of a file, a pipe or a terminal that is still being written to.


PIECE = 1 << 16
# Time to wait for more.
PAUSE_S = 0.2


def opened(path: str) -> io.FileIO:
    """Open a file to be followed.

    Raises:
        NoDataError: it cannot be opened, or is a directory.
    """
    try:
        return open_series(path)
    except OSError as error:
        raise NoDataError(f"{path}: {error.strerror or error}: expected a file or a pipe of text") from None


def growing_lines(descriptor: int, where: str, idle: float) -> Iterator[str]:
    """Yield whole lines as they arrive, and an empty one whenever no more is available, or none arrived for a while.

    A pipe ends when its last writer has closed it; a file when it has not grown for `idle` seconds.

    Raises:
        NoDataError: a line never ends, or reading fails.
    """
    is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
    decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
    remaining, last_data_s, last_report_s = "", time.monotonic(), time.monotonic()
    while True:
        now_s = time.monotonic()
        piece = _piece(descriptor, where, is_file)
        if piece:
            *whole, remaining = (remaining + decoder.decode(piece)).split("\n")
            yield from (line + "\n" for line in whole)
            if len(remaining) > LONGEST_LINE:
                raise NoDataError(
                    f"{where}: a line of more than {LONGEST_LINE} characters: expected a row or an event in each line"
                )
            last_data_s = time.monotonic()
        elif piece is not None and not is_file:
            break
        if not piece or (not is_file and time.monotonic() - last_report_s >= PAUSE_S):
            yield ""
            last_report_s = time.monotonic()
        if is_file and not piece:
            if now_s - last_data_s >= idle:
                break
            time.sleep(min(PAUSE_S, idle))
    if remaining:
        yield remaining


def _piece(descriptor: int, where: str, is_file: bool) -> bytes | None:
    """Return available bytes, none at the end, None if nothing arrived for a moment."""
    try:
        if not is_file and not select.select([descriptor], [], [], PAUSE_S)[0]:
            return None
        return os.read(descriptor, PIECE)
    except OSError as error:
        raise NoDataError(f"{where}: cannot be read: {error.strerror or error}") from None


# Text that is read as it grows, until it ends or the user interrupts.


# Interrupts this close together count as one: `timeout` signals the program, and then its whole process group.
ONE_S = 1.0


def name_of(path: str) -> str:
    """Return the name of a file in messages; `-` is standard input."""
    return "stdin" if path == "-" else path


@contextmanager
def followed(path: str, idle_s: float) -> Iterator[Iterator[str]]:
    """Yield the lines of a file or a pipe as they arrive, and an empty one whenever no more have arrived yet.

    An interrupt (Ctrl-C) between two lines ends them too; a later one is raised as usual.
    path: of a file; `-` is standard input. idle_s: a file ends this many seconds after its last line.

    Raises:
        NoDataError: it cannot be read.
    """
    with ExitStack() as stack:
        descriptor = sys.stdin.fileno() if path == "-" else stack.enter_context(opened(path)).fileno()
        interrupts = stack.enter_context(_interrupts())
        yield _until(interrupts, growing_lines(descriptor, name_of(path), idle_s))


def _until(interrupts: list[float], lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if interrupts:
            return
        yield line


@contextmanager
def _interrupts() -> Iterator[list[float]]:
    """Collect the times of interrupts, instead of raising the first ones."""
    interrupts: list[float] = []
    usual = signal.default_int_handler

    def handler(number: int, frame: FrameType | None) -> None:
        interrupts.append(time.monotonic())
        if interrupts[-1] - interrupts[0] > ONE_S:
            usual(number, frame)

    # Only the main thread may set signal handlers; ignored signals stay ignored.
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not usual:
        yield interrupts
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, usual)
