"""Nsight Systems' exports (`nsys export --type sqlite`): kernels and copies, as functions of their streams."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator

from incprof.errors import NoDataError
from incprof.readers.foreign.foreign_files import understood
from incprof.readers.foreign.timeline import LONGEST_NAME, Frame, Imported, Paths, Timeline
from incprof.safe.inputs import open_input

MAGIC = b"SQLite format 3\0"
TICK_S, NS = 1e-3, 1e-9
MOST_NS, LONGEST_NS = 2**62, 86400 * 10**9
KERNELS, STRINGS = "CUPTI_ACTIVITY_KIND_KERNEL", "StringIds"
# Tables of what else keeps a stream busy, and the names that their rows get.
OTHERS = {"CUPTI_ACTIVITY_KIND_MEMCPY": "[copy]", "CUPTI_ACTIVITY_KIND_MEMSET": "[memset]"}
# Steps of the virtual machine of SQLite between two checks, and checks, before a query is given up: a damaged file may
# hold indices that lead in circles.
STEPS, MOST_CHECKS = 1_000_000, 20_000


def read_nsys(path: str) -> Imported:
    """Read an export as a timeline, in which each stream of a device is a thread.

    Raises: NoDataError if it is not such a file, or has no kernel.
    """
    try:
        with open_input(path) as file:
            # The file that was checked, wherever the path leads by now; without a lock or journal beside it.
            name = f"file:/proc/self/fd/{file.fileno()}?mode=ro&immutable=1"
            return understood(path, "export of Nsight Systems", lambda: _imported(name, path))
    except OSError as error:
        raise NoDataError(f"{path}: cannot be read: {os.strerror(error.errno or 0)}") from error


def _imported(name: str, path: str) -> Imported:
    checks = 0

    def is_too_long() -> bool:
        nonlocal checks
        checks += 1
        return checks > MOST_CHECKS

    timeline, damaged = Timeline("kernels", Paths(), TICK_S), 0
    try:
        connection = sqlite3.connect(name, uri=True)
        try:
            connection.text_factory = lambda text: text.decode("utf-8", "replace")
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.set_progress_handler(is_too_long, STEPS)
            rows, damaged = _spans(connection)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise ValueError(str(error)) from error
    if not any(is_kernel for *_, is_kernel in rows):
        raise NoDataError(f"{path}: no kernel in it")
    first, threads = min(start for start, *_ in rows), dict[tuple[int, int], int]()
    for start, end, function, stream, _ in rows:
        thread = threads.setdefault(stream, len(threads))
        length_s = (end - start) * NS
        timeline.add([Frame("", function)], (end - first) * NS, length_s, wall_s=length_s, thread=thread)
    notes = ["time is that of kernels and copies on the device; what the host did is left out"]
    if damaged:
        notes.append(f"{damaged} damaged rows left out")
    return Imported("nsys", [timeline], notes, damaged > 0)


def _spans(connection: sqlite3.Connection) -> tuple[list[tuple[int, int, str, tuple[int, int], bool]], int]:
    """Return start, end, name, stream of kernels and copies, and whether it is a kernel; and how many are damaged."""
    # Views, and tables of modules, could run anything.
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    tables = {name for (name,) in connection.execute(query)}
    if not {KERNELS, STRINGS} <= tables:
        raise ValueError("tables are missing")
    names = dict[object, str]()
    for number, value in connection.execute(f"SELECT id, value FROM {STRINGS}"):
        if isinstance(value, str):
            names[number] = value[:LONGEST_NAME]
    out, damaged = list[tuple[int, int, str, tuple[int, int], bool]](), 0
    for start, end, device, stream, name, is_kernel in _rows(connection, tables):
        function = names.get(name, "") if is_kernel else name
        numbers = (start, end, device, stream)
        is_valid = bool(function) and all(isinstance(number, int) for number in numbers)
        if not is_valid or not 0 <= start <= end < MOST_NS or end - start > LONGEST_NS:
            damaged += 1
        else:
            out.append((start, end, function, (device, stream), is_kernel))
    return out, damaged


def _rows(connection: sqlite3.Connection, tables: set[str]) -> Iterator[tuple[int, int, int, int, str, bool]]:
    """Yield the columns of the rows, which may hold anything."""
    for row in connection.execute(f"SELECT start, end, deviceId, streamId, demangledName FROM {KERNELS}"):
        yield (*row, True)
    for table, name in OTHERS.items():
        if table in tables:
            for row in connection.execute(f"SELECT start, end, deviceId, streamId FROM {table}"):
                yield (*row, name, False)
