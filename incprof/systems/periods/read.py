"""A series of numbers from a file, or from a column of a recorded run or of heartbeats."""

from __future__ import annotations

import io
import itertools
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from incprof.errors import NoDataError, UsageError
from incprof.model import FloatArray, IntervalProfile
from incprof.readers.series import (
    LARGEST,
    PerfRows,
    Series,
    SeriesRequest,
    cannot_read,
    columns_of,
    is_perf,
    parquet_file,
    read_perf,
    series_from,
    shown,
)
from incprof.readers.series.text_tables import LONGEST_LINE, Form, form_of, number
from incprof.safe.inputs import HOSTILE, open_input, open_series
from incprof.study.heartbeat_files import Filters, load, selected, summaries
from incprof.study.phase_options import Libs, Listener


def read_series(path: str, request: SeriesRequest) -> Series:
    """Read a series from a file: .npy, .parquet, `perf stat -I`, or a table of text; "-" is standard input.

    Raises:
        NoDataError: the file does not exist, or holds no number, a number that is not finite, or decreasing time.
        UsageError: the column does not exist, several exist and none was named, or there are too many samples.
        IncprofError: pyarrow is needed and not installed.
    """
    if path == "-":
        return read_text(_standard_input(), "stdin", request)
    if not Path(path).exists():
        raise NoDataError(f"{path}: no such file")
    if Path(path).suffix == ".npy":
        return read_npy(path, request)
    if Path(path).suffix in (".parquet", ".pq"):
        return read_parquet(path, request)
    with io.TextIOWrapper(io.BufferedReader(open_series(path)), encoding="utf-8-sig", errors="replace") as text:
        return read_text(text, path, request)


def _standard_input() -> TextIO:
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    return sys.stdin


OF_A_RUN = "self, off_cpu, self:FUNCTION or calls:FUNCTION"


def series_of(
    path: str,
    request: SeriesRequest,
    listener: Listener,
    *,
    rank: int | None = None,
    exe: str | None = None,
    libs: Libs = "caller",
    interval_s: float | None = None,
) -> Series:
    """Read a series.

    Args:
        path: A file of numbers, a run directory, a directory of heartbeats or one of their files.
        request: The column and the range of samples.
        listener: Receives warnings about a directory.
        rank: Rank in a directory; default: the lowest of a run, or all heartbeats.
        exe: The program of a run, if it is not where it was recorded.
        libs: For a run: where time in libraries is counted.
        interval_s: Seconds between samples, if the input does not contain them.

    Raises:
        NoDataError, UsageError, IncprofError: as raised by the readers.
    """
    if Path(path).suffix == ".ekg" or (Path(path).is_dir() and any(Path(path).glob("*.ekg"))):
        series = _heartbeats(path, request, listener, rank)
    elif Path(path).is_dir():
        series = _recorded(path, request, listener, rank, exe, libs)
    elif rank is not None or exe is not None:
        raise UsageError(f"--rank and --exe are for directories, but {path} is not one")
    else:
        series = read_series(path, request)
    return series if interval_s is None else replace(series, interval_s=interval_s)


def _recorded(
    path: str, request: SeriesRequest, listener: Listener, rank: int | None, exe: str | None, libs: Libs
) -> Series:
    """Read a column of an interval profile."""
    # Imported here: a file of numbers needs none of it.
    from incprof.readers.run import open_run, read_profile

    profile = read_profile(open_run(path, exe=exe), rank=rank, libs=libs, exe=exe, arcs=False)
    listener.warn(profile.warnings)
    if not profile.n_intervals:
        raise NoDataError(f"{path}: no complete interval")
    name = request.column or "self"
    return _cut(_profile_column(profile, name, path), name, profile.metadata.interval_s, path, request)


def _profile_column(profile: IntervalProfile, name: str, path: str) -> FloatArray:
    """Return self time, calls or time off the CPU for each interval, (n,)."""
    kind, _, function = name.partition(":")
    if name == "off_cpu":
        return profile.off_cpu_s
    if kind not in ("self", "calls"):
        raise UsageError(f"{path}: no column {name!r}: take {OF_A_RUN}")
    table = profile.self_s if kind == "self" else profile.calls
    if not function:
        return np.asarray(table.sum(axis=1), dtype=np.float64).ravel()
    functions = [at for at, each in enumerate(profile.functions) if function in (each.name, each.mangled)]
    if not functions:
        raise UsageError(f"{path}: no function {function!r} was recorded: incprof phases {path} names the largest")
    return np.asarray(table[:, functions].sum(axis=1), dtype=np.float64).ravel()


def _heartbeats(path: str, request: SeriesRequest, listener: Listener, rank: int | None) -> Series:
    """Read the count or the mean duration of a heartbeat for each interval."""
    heartbeats = load(path, Filters(ranks=None if rank is None else frozenset([rank])))
    listener.warn(heartbeats.warnings)
    which, _, what = (
        (request.column or "").rpartition(":") if ":" in (request.column or "") else (request.column or "", "", "count")
    )
    if what not in ("count", "mean"):
        which, what = request.column or "", "count"
    if which:
        heartbeats = selected(heartbeats, [frozenset([int(which)]) if which.isdigit() else which])
    beats = summaries(heartbeats)
    if len(beats) != 1:
        names = ", ".join(f"{beat.id} ({beat.name})" if beat.name else str(beat.id) for beat in beats[:12])
        raise UsageError(f"{path} has {len(beats)} heartbeats: name one with --column ID:count or ID:mean ({names})")
    series = beats[0].series
    values = np.asarray(series.count if what == "count" else series.mean_s, dtype=np.float64)
    interval = min(process.interval_s for process in heartbeats.processes)
    return _cut(np.nan_to_num(values) if what == "count" else values, f"{beats[0].id}:{what}", interval, path, request)


def _cut(values: FloatArray, name: str, interval_s: float, path: str, request: SeriesRequest) -> Series:
    """Return the wanted range, checked like a series from a file."""
    part = values[request.first : request.last]
    return replace(series_from([part], None, name, path, request), interval_s=interval_s)


# Series from text: tables with commas, semicolons, tabs or blanks, with or without a header, and `perf stat -I`.


# Rows per batch.
PIECE = 1 << 16


class Lines:
    """The lines of a text without comments and empty ones; `number` is that of the latest line, from 1."""

    def __init__(self, text: TextIO, where: str):
        self.text, self.where, self.number = text, where, 0

    def __iter__(self) -> Iterator[str]:
        """Return self."""
        return self

    def __next__(self) -> str:
        """Return the next line that is neither empty nor a comment."""
        while True:
            line = self.text.readline(LONGEST_LINE)
            if not line:
                raise StopIteration
            self.number += 1
            if len(line) >= LONGEST_LINE:
                raise NoDataError(
                    f"{self.where}: line {self.number} is longer than {LONGEST_LINE} characters: not a table"
                )
            if (kept := line.strip()) and not kept.startswith("#"):
                return line


def read_text(text: TextIO, where: str, request: SeriesRequest) -> Series:
    """Read a table, or the output of `perf stat -I`.

    Raises: as read_series.
    """
    lines = Lines(text, where)
    try:
        first = next(lines, None)
        if first is None:
            raise NoDataError(f"{where}: empty")
        if is_perf(first):
            return read_perf(itertools.chain([first], lines), where, request)
        return _read_table(first, lines, where, request)
    except OSError as error:
        raise NoDataError(f"{where}: cannot be read: {error.strerror or error}") from None


def _read_table(first: str, lines: Lines, where: str, request: SeriesRequest) -> Series:
    """Read a table whose first line has been read."""
    form = form_of(first)
    selected, time = columns_of(form.names, request, where)
    rows = lines if form.header else itertools.chain([first], lines)
    use = [*selected, *([time] if time is not None else [])]
    try:
        table = _numbers(map(form.row, rows), form, use, request)
    except (ValueError, IndexError) as error:
        raise NoDataError(_row_error(str(error), lines, form, use, time)) from None
    columns = [table[:, at] for at in range(len(use))]
    name = "/".join(form.names[at] for at in selected)
    return series_from(columns[: len(selected)], columns[-1] if time is not None else None, name, where, request)


def _numbers(rows: Iterator[str], form: Form, use: list[int], request: SeriesRequest) -> FloatArray:
    """Return the columns `use` of the wanted rows, (n, len(use)), read in batches.

    numpy allocates memory for the maximum number of rows before it has read one.

    Raises: ValueError, IndexError if a row is malformed.
    """
    parts: list[FloatArray] = []
    skip, remaining = request.first, max(request.rows - request.first, 0)
    while True:
        most = min(PIECE, remaining)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*input contained no data")  # series_from reports an empty table
            part = np.loadtxt(
                rows, delimiter=form.separator, usecols=use, ndmin=2, comments=None, quotechar='"', skiprows=skip,
                max_rows=most,
            )  # fmt: skip
        if len(part) or not parts:
            parts.append(part)
        skip, remaining = 0, remaining - len(part)
        if len(part) < most or not remaining:
            return np.concatenate(parts)


def _row_error(message: str, lines: Lines, form: Form, use: list[int], time: int | None) -> str:
    """Return an error message about a row that numpy refused."""
    where = f"{lines.where}: line {lines.number}"
    if match := re.search(r"could not convert string (.*) to float64 at row \d+, column (\d+)", message, re.DOTALL):
        column = int(match[2]) - 1
        name = form.names[column][:40] if column < len(form.names) else match[2]
        what = "--time none" if column == time else "another --column"
        return f"{where}: {match[1][:40]} is not a number (column {name}): take {what}, or a --range without it"
    if "column" in message:
        return f"{where} has fewer than {max(use) + 1} columns: the file is torn, or not a table"
    return f"{where} is not a row of numbers"


# Series from .npy and .parquet files.


def read_npy(path: str, request: SeriesRequest) -> Series:
    """Read a one-dimensional array, or one column of a two-dimensional array by number. Only that range is loaded.

    Raises: as read_series.
    """
    try:
        with open_input(path) as file, warnings.catch_warnings():  # numpy maps a file only by its name
            warnings.simplefilter("ignore")  # numpy advises to save arrays of Python 2 again
            array = np.load(f"/proc/self/fd/{file.fileno()}", mmap_mode="r", allow_pickle=False)
    except HOSTILE as error:
        raise cannot_read(path, "an array of numbers", error) from None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf" or array.ndim not in (1, 2):
        raise NoDataError(f"{path}: expected real numbers in one or two dimensions")
    table = array.reshape(len(array), -1) if array.size else array.reshape(len(array), array.size)
    names = [str(at + 1) for at in range(table.shape[1])]
    if not names:
        raise NoDataError(f"{path}: empty")
    selected, time = columns_of(names, request, path)
    _refuse_too_many(len(table), path, request)
    part = slice(request.first, request.last)
    with np.errstate(all="ignore"):  # numbers beyond the range of float64 become infinite
        columns = [np.asarray(table[part, at], dtype=np.float64) for at in selected]
        time_s = None if time is None else np.asarray(table[part, time], dtype=np.float64)
    return series_from(columns, time_s, request.column or "values", path, request)


def read_parquet(path: str, request: SeriesRequest) -> Series:
    """Read a column of numbers; a column of time stamps may serve as the time.

    Raises: as read_series.
    """
    try:
        with parquet_file(path) as file:
            numeric = [field.name for field in file.schema_arrow if _is_number(field.type)]
            if not numeric:
                raise NoDataError(f"{path}: no column of numbers")
            _refuse_too_many(file.metadata.num_rows, path, request)
            selected, time = columns_of(numeric, request, path)
            used = [numeric[at] for at in selected] + ([numeric[time]] if time is not None else [])
            _refuse_twins(used, file.schema_arrow.names, path)
            table = file.read(columns=list(dict.fromkeys(used)))
            columns = [_column_values(table.column(name))[request.first : request.last] for name in used]
    except OSError as error:
        raise cannot_read(path, "a Parquet file", error) from None
    time_s = columns[-1] if time is not None else None
    return series_from(columns[: len(selected)], time_s, "/".join(used[: len(selected)]), path, request)


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    numbers = (types.is_integer, types.is_floating, types.is_boolean, types.is_timestamp)
    return any(one(kind) for one in numbers)


def _column_values(column: Any) -> FloatArray:
    """Return a column as numbers, time stamps as seconds since 1970."""
    import pyarrow

    if not pyarrow.types.is_timestamp(column.type):
        return np.asarray(column.to_numpy(), dtype=np.float64)
    ticks = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}[column.type.unit]
    return np.asarray(column.cast(pyarrow.int64()).to_numpy(), dtype=np.float64) / ticks


def _refuse_twins(used: Sequence[str], names: Sequence[str], path: str) -> None:
    """Refuse a column whose name is not unique."""
    for name in used:
        if list(names).count(name) > 1:
            raise NoDataError(f"{path}: several columns are called {shown(name)}: write them with other names")


def _refuse_too_many(rows: int, path: str, request: SeriesRequest) -> None:
    """Check the length before anything is loaded."""
    count = len(range(*slice(request.first, request.last).indices(rows)))
    if count > request.most:
        raise UsageError(
            f"{path} holds {count} samples, more than {request.most}: take a part with --range A:B, or raise --most"
        )


# Rows of a table of text that is still being written, or of `perf stat -I`, in batches.


class Rows:
    """Reads rows one by one; the first one determines the format. `name` is the column's name."""

    def __init__(self, where: str, request: SeriesRequest):
        self.where, self.request = where, request
        self.lines = 0
        self._name = ""
        self._form: Form | None = None
        self._perf: PerfRows | None = None
        self._selected: list[int] = []

    @property
    def name(self) -> str:
        """Name of the column, once the first row has been read."""
        return shown(self._perf.name if self._perf else self._name)

    def batches(self, lines: Iterable[str], size: int) -> Iterator[FloatArray]:
        """Yield values as they arrive, at most `size` at once. An empty line means that no more have arrived yet.

        Raises:
            NoDataError: a row holds no finite number where one is wanted.
            UsageError: the column does not exist, or several exist and none was named.
        """
        waiting: list[float] = []
        for line in lines:
            waiting += self._checked(self._values(line))
            if waiting and (len(waiting) >= size or not line):
                yield np.array(waiting)
                waiting = []
        waiting += self._checked(self._perf.remaining() if self._perf else [])
        if waiting:
            yield np.array(waiting)

    def _values(self, line: str) -> list[float]:
        """Return the numbers that a row completes; empty for comments, the header, and other events."""
        if not line:
            return []
        self.lines += 1
        if len(line) > LONGEST_LINE:
            raise NoDataError(f"{self.where}: line {self.lines} is longer than {LONGEST_LINE} characters: not a table")
        kept = line.strip()
        if not kept or kept.startswith("#"):
            return []
        if self._form is None and self._perf is None and self._begin(line):
            return []
        return self._perf.values(line) if self._perf else [self._field(line)]

    def _begin(self, line: str) -> bool:
        """Determine the format from the first row. Return whether that row is a header."""
        if is_perf(line):
            self._perf = PerfRows(self.where, self.request)
            return False
        self._form = form_of(line)
        self._selected, _ = columns_of(self._form.names, self.request, self.where)
        self._name = "/".join(self._form.names[at] for at in self._selected)
        return self._form.header

    def _field(self, line: str) -> float:
        fields = self._form.fields(self._form.row(line)) if self._form else []
        numbers = [number(fields[at]) if at < len(fields) else None for at in self._selected]
        first, second = numbers[0], numbers[-1]
        if first is None or second is None:
            raise NoDataError(f"{self.where}: line {self.lines} holds no number in the column: {line.strip()[:40]!r}")
        if len(numbers) == 1:
            return first
        return first / second if second else float("nan")

    def _checked(self, values: list[float]) -> list[float]:
        """Refuse values that are not finite."""
        for value in values:
            if not abs(value) <= LARGEST:
                raise NoDataError(
                    f"{self.where}: line {self.lines} holds {value:g}: repair it, or take another --column"
                )
        return values
