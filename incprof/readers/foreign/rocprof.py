"""Traces of rocprofv3 (`rocprofv3 --kernel-trace --output-format csv`): one row for each kernel, copy or call.

The trace of kernels may come with those of copies (`--memory-copy-trace`), of calls of HIP (`--hip-runtime-trace`) and
of ranges (`--marker-trace`) of the same run, which give directions, launching paths and waits.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from typing import Any

from incprof.readers.foreign.device_spans import KERNEL, WAIT, Call, Range, Span, imported_spans, is_valid, nodes_of
from incprof.readers.foreign.device_work import (
    BETWEEN_DEVICES,
    FROM_DEVICE,
    OTHER_COPY,
    TO_DEVICE,
    WITHIN_HOST,
    DeviceWork,
    call_of,
)
from incprof.readers.foreign.foreign_files import DIGITS, lines_of, understood
from incprof.readers.foreign.timeline import Imported, Paths

# Columns that tell the tables apart; those of the queue and of a copy's bytes may be missing.
TIMES = ("Start_Timestamp", "End_Timestamp")
KERNELS, COPIES, CALLS = ("Kernel_Name", *TIMES), ("Direction", *TIMES), ("Function", "Thread_Id", *TIMES)
DIRECTIONS = {
    "HOST_TO_DEVICE": TO_DEVICE, "DEVICE_TO_HOST": FROM_DEVICE, "DEVICE_TO_DEVICE": BETWEEN_DEVICES,
    "HOST_TO_HOST": WITHIN_HOST,
}  # fmt: skip
MARKERS = "MARKER"
Row = dict[str, Any]


def is_kernel_trace(head: str) -> bool:
    """Return whether a text begins with the heading of one of the traces."""
    first = head.split("\n", 1)[0]
    return any(all(name in first for name in columns) for columns in (KERNELS, COPIES, CALLS))


def read_rocprof(*files: str) -> Imported:
    """Read the traces of a run as a timeline, in which each queue of a device is a thread, and each kernel a function.

    Raises: NoDataError if one is not such a file, or none has a kernel.
    """
    rows = [row for path in files for row in _understood(path)]
    return understood(files[0], "trace of rocprofv3", lambda: _imported(rows, files))


def _imported(rows: Sequence[Row], files: Sequence[str]) -> Imported:
    paths, work, damaged = Paths(), DeviceWork(), 0
    calls, ranges, graphs = list[Call](), list[Range](), set[int]()
    agents = dict[str, int]()
    spans, pending = list[Span](), list[Row]()
    for row in rows:
        try:
            start, end = int(row[TIMES[0]]), int(row[TIMES[1]])
        except (TypeError, ValueError):
            damaged += 1
            continue
        if not is_valid(start, end) or not any(row.get(name) for name in (KERNELS[0], COPIES[0], CALLS[0])):
            damaged += 1
            continue
        if CALLS[0] in row:
            thread, name, correlation = (
                _whole(row.get("Thread_Id")) or 0,
                row[CALLS[0]],
                _whole(row.get("Correlation_Id")),
            )
            if MARKERS in str(row.get("Domain") or row.get("Kind") or ""):
                ranges.append(Range(start, end, thread, name))
                continue
            what = call_of(name)
            calls.append(Call(start, thread, name, correlation or 0))
            work.launches = (work.launches or 0) + what.launches
            work.graph_launches += what.launches_graph
            if what.launches_graph:
                graphs.add(correlation or 0)
            if what.waits:
                spans.append(Span(start, end, WAIT))
        else:
            pending.append({**row, TIMES[0]: start, TIMES[1]: end})
    nodes = nodes_of(calls, ranges, paths)
    for row in pending:
        correlation = _whole(row.get("Correlation_Id")) or 0
        node, times = nodes.get(correlation, -1), (row[TIMES[0]], row[TIMES[1]])
        if KERNELS[0] in row:
            device = _device(str(row.get("Agent_Id") or ""), agents)
            queue = _whole(row.get("Queue_Id")) or 0
            name, of_graph = row[KERNELS[0]], correlation in graphs
            spans.append(Span(*times, KERNEL, name, device, queue, node=node, of_graph=of_graph))
            continue
        direction = str(row[COPIES[0]]).removeprefix("MEMORY_COPY_")
        agent = row.get("Source_Agent_Id" if direction == "DEVICE_TO_HOST" else "Destination_Agent_Id")
        moved = _whole(row.get("Bytes") or row.get("Size")) or 0
        device = _device(str(agent or ""), agents)
        spans.append(Span(*times, DIRECTIONS.get(direction, OTHER_COPY), "", device, COPY_QUEUE, moved, node))
    work.devices = {number: f"agent {agent.removeprefix('Agent ')}" for agent, number in agents.items() if agent}
    notes = ["time is that of kernels on the device; what the host did is not in such a file"]
    return imported_spans("rocprofv3", files[0], spans, paths, work, damaged, notes)


# Copies are done by engines of their own, which have no number in the trace.
COPY_QUEUE = 1 << 16


def _device(agent: str, agents: dict[str, int]) -> int:
    """Return the number of a device: agents in order of appearance."""
    return agents.setdefault(agent, len(agents))


def _whole(value: object) -> int | None:
    """Return the number in a cell; None if it has none."""
    found = DIGITS.fullmatch(value) if isinstance(value, str) else None
    return int(found[1]) if found else None


def _understood(path: str) -> list[Row]:
    return understood(path, "trace of rocprofv3", lambda: _table(path))


def _table(path: str) -> list[Row]:
    """Return the rows of a table. Raises: ValueError if it has other columns, or is no table."""
    with lines_of(path) as lines:
        return list(_rows(lines))


def _rows(lines: Iterator[str]) -> Iterator[Row]:
    try:
        table = csv.DictReader(lines)
        if not any(set(columns) <= set(table.fieldnames or ()) for columns in (KERNELS, COPIES, CALLS)):
            raise ValueError("columns are missing")
        yield from table
    except csv.Error as error:
        raise ValueError(str(error)) from error
