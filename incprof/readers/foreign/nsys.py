"""Nsight Systems' exports (`nsys export --type sqlite`): kernels and copies, as functions of their streams.

Kernels have the NVTX ranges and the function of CUDA that launched them as their launching path.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from incprof.errors import NoDataError
from incprof.readers.foreign.device_spans import KERNEL, WAIT, Call, Range, Span, imported_spans, is_valid, nodes_of
from incprof.readers.foreign.device_work import MEMSET, OTHER_COPY, STREAM_WAITS, DeviceWork, call_of
from incprof.readers.foreign.foreign_files import understood
from incprof.readers.foreign.timeline import Imported, Paths
from incprof.readers.stream.coded_records import LONGEST_NAME
from incprof.safe.inputs import open_input

MAGIC = b"SQLite format 3\0"
STRINGS, DEVICES = "StringIds", "TARGET_INFO_GPU"
KERNELS, COPIES, MEMSETS, WAITS, CALLS = (
    f"CUPTI_ACTIVITY_KIND_{name}" for name in ("KERNEL", "MEMCPY", "MEMSET", "SYNCHRONIZATION", "RUNTIME")
)
RANGES = "NVTX_EVENTS"
# Types of NVTX events: a range of a thread, pushed and popped, and one that any thread may end.
PUSHED, STARTED = 59, 60
# Steps of the virtual machine of SQLite between two checks, and checks, before a query is given up: a damaged file may
# hold indices that lead in circles.
STEPS, MOST_CHECKS = 1_000_000, 20_000


@dataclass
class _Export:
    """What was read of an export."""

    spans: list[Span] = field(default_factory=list)
    paths: Paths = field(default_factory=Paths)
    work: DeviceWork = field(default_factory=DeviceWork)
    damaged: int = 0


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

    try:
        connection = sqlite3.connect(name, uri=True)
        try:
            connection.text_factory = lambda text: text.decode("utf-8", "replace")
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.set_progress_handler(is_too_long, STEPS)
            found = _read(connection)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise ValueError(str(error)) from error
    notes = ["time is that of kernels and copies on the device; what the host did is left out"]
    return imported_spans("nsys", path, found.spans, found.paths, found.work, found.damaged, notes)


def _read(connection: sqlite3.Connection) -> _Export:
    # Views, and tables of modules, could run anything.
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    tables = {name for (name,) in connection.execute(query)}
    if not {KERNELS, STRINGS} <= tables:
        raise ValueError("tables are missing")
    names = dict[object, str]()
    for number, value in connection.execute(f"SELECT id, value FROM {STRINGS}"):
        if isinstance(value, str):
            names[number] = value[:LONGEST_NAME]
    out = _Export()
    for number, value in _columns(connection, tables, DEVICES, ("id", "name")):
        if isinstance(number, int) and isinstance(value, str):
            out.work.devices[number] = value[:LONGEST_NAME]
    calls = _calls(connection, tables, names)
    if calls:
        known = {each.correlation: call_of(each.name) for each in calls}
        out.work.launches = sum(call.launches for call in known.values())
        out.work.graph_launches = sum(call.launches_graph for call in known.values())
    nodes = nodes_of(calls, _ranges(connection, tables, names), out.paths)
    _add_kernels(
        connection, tables, names, nodes, {each.correlation for each in calls if call_of(each.name).launches_graph}, out
    )
    _add_copies(connection, tables, nodes, out)
    for start, end, kind in _columns(connection, tables, WAITS, ("start", "end", "syncType")):
        if is_valid(start, end) and kind != STREAM_WAITS:
            out.spans.append(Span(start, end, WAIT))
    return out


def _add_kernels(
    connection: sqlite3.Connection, tables: set[str], names: dict[object, str], nodes: dict[int, int],
    graphs: set[int], out: _Export,
) -> None:  # fmt: skip
    wanted = ("start", "end", "deviceId", "streamId", "demangledName", "correlationId")
    for start, end, device, stream, name, correlation in _columns(connection, tables, KERNELS, wanted):
        function = names.get(name, "")
        if function and is_valid(start, end, device, stream):
            node, of_graph = nodes.get(correlation, -1), correlation in graphs
            out.spans.append(Span(start, end, KERNEL, function, device, stream, node=node, of_graph=of_graph))
        else:
            out.damaged += 1


def _add_copies(connection: sqlite3.Connection, tables: set[str], nodes: dict[int, int], out: _Export) -> None:
    wanted = ("start", "end", "deviceId", "streamId", "bytes", "copyKind", "correlationId")
    for table in (COPIES, MEMSETS):
        for start, end, device, stream, amount, kind, correlation in _columns(connection, tables, table, wanted):
            if not is_valid(start, end, device, stream):
                out.damaged += 1
                continue
            direction = kind if isinstance(kind, int) and 0 < kind < OTHER_COPY else OTHER_COPY
            what, moved = MEMSET if table == MEMSETS else direction, amount if isinstance(amount, int) else 0
            out.spans.append(Span(start, end, what, "", device, stream, moved, nodes.get(correlation, -1)))


def _columns(
    connection: sqlite3.Connection, tables: set[str], table: str, wanted: Sequence[str]
) -> Iterator[tuple[Any, ...]]:
    """Yield columns of a table, which may hold anything; None for those that it lacks, but for the first."""
    if table not in tables:
        return
    present = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
    if not set(wanted[:2]) <= present:
        raise ValueError("columns are missing")
    selected = ", ".join(f'"{name}"' if name in present else "NULL" for name in wanted)
    yield from connection.execute(f"SELECT {selected} FROM {table}")


def _calls(connection: sqlite3.Connection, tables: set[str], names: dict[object, str]) -> list[Call]:
    out = []
    wanted = ("start", "end", "globalTid", "nameId", "correlationId")
    for start, end, thread, name, correlation in _columns(connection, tables, CALLS, wanted):
        if is_valid(start, end, thread, correlation) and name in names:
            # Versions are parts of the names: cudaLaunchKernel_v7000.
            out.append(Call(start, thread, names[name].partition("_v")[0], correlation))
    return out


def _ranges(connection: sqlite3.Connection, tables: set[str], names: dict[object, str]) -> list[Range]:
    """Return the ranges of NVTX."""
    out = []
    wanted = ("start", "end", "globalTid", "eventType", "text", "textId")
    for start, end, thread, kind, text, number in _columns(connection, tables, RANGES, wanted):
        name = text if isinstance(text, str) and text else names.get(number, "")
        if kind in (PUSHED, STARTED) and is_valid(start, end, thread) and name:
            out.append(Range(start, end, thread, name))
    return out
