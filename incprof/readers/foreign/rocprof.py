"""Kernel traces of rocprofv3 (`rocprofv3 --kernel-trace --output-format csv`): one row for each kernel."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from incprof.errors import NoDataError
from incprof.readers.foreign.foreign_files import lines_of, understood
from incprof.readers.foreign.timeline import Frame, Imported, Paths, Timeline

# Columns that tell it from other tables; those of the queue may be missing.
NEEDED = ("Kernel_Name", "Start_Timestamp", "End_Timestamp")
TICK_S, NS = 1e-3, 1e-9
# Later times, and longer kernels, are damage.
MOST_NS, LONGEST_NS = 2**63, 86400 * 10**9


def is_kernel_trace(head: str) -> bool:
    """Return whether a text begins with the heading of a kernel trace."""
    first = head.split("\n", 1)[0]
    return all(name in first for name in NEEDED)


def read_rocprof(path: str) -> Imported:
    """Read a kernel trace as a timeline, in which each queue of a device is a thread, and each kernel a function.

    Raises: NoDataError if it is not such a file, or has no kernel.
    """
    return understood(path, "kernel trace of rocprofv3", lambda: _imported(path))


def _imported(path: str) -> Imported:
    kernels, damaged = list[tuple[int, int, str, tuple[str, str]]](), 0
    with lines_of(path) as lines:
        for row in _rows(lines):
            try:
                start, end = int(row["Start_Timestamp"]), int(row["End_Timestamp"])
            except (TypeError, ValueError):
                damaged += 1
                continue
            if not (0 <= start <= end < MOST_NS and end - start <= LONGEST_NS and row["Kernel_Name"]):
                damaged += 1
                continue
            queue = (row.get("Agent_Id") or "", row.get("Queue_Id") or "")
            kernels.append((start, end, row["Kernel_Name"], queue))
    if not kernels:
        raise NoDataError(f"{path}: no kernel in it")
    timeline = Timeline("kernels", Paths(), TICK_S)
    first, threads = min(start for start, *_ in kernels), dict[tuple[str, str], int]()
    for start, end, name, queue in kernels:
        thread = threads.setdefault(queue, len(threads))
        length_s = (end - start) * NS
        timeline.add([Frame("", name)], (end - first) * NS, length_s, wall_s=length_s, thread=thread)
    notes = ["time is that of kernels on the device; what the host did is not in such a file"]
    if damaged:
        notes.append(f"{damaged} damaged rows left out")
    return Imported("rocprofv3", [timeline], notes, damaged > 0)


def _rows(lines: Iterator[str]) -> Iterator[dict[str, str]]:
    """Yield the rows of the table. Raises: ValueError if it has other columns, or is no table."""
    try:
        table = csv.DictReader(lines)
        if not set(NEEDED) <= set(table.fieldnames or ()):
            raise ValueError("columns are missing")
        yield from table
    except csv.Error as error:
        raise ValueError(str(error)) from error
