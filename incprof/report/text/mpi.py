"""What the processes of a run did in MPI as text: a line for each, and the calls by time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TextIO

from incprof.model.mpi import CallSum, TraceSummary
from incprof.printable import printable
from incprof.report.words.numbers import percent, seconds
from incprof.report.words.sizes import size
from incprof.report.words.work import SECONDS, work_unit

MOST_RANKS, MOST_CALLS = 16, 25


def write_text(summaries: Sequence[TraceSummary], out: TextIO) -> None:
    """Write the ranks, and the call sites of all of them together."""
    first = summaries[0].metadata
    count = f"{len(summaries)} processes" if len(summaries) > 1 else f"rank {first.rank}"
    out.write(f"{printable(first.app)}, {count}, {printable(first.mpi)}\n")
    out.write(f"{work_unit(next(iter(first.counters), SECONDS), first.counters_missing)}\n\n")
    counters = [printable(name.capitalize()) for name in first.counters]
    head = ("Rank", "Time", "In MPI", "%", "Calls", *counters)
    _table([head, *(_rank_row(one, first.counters) for one in summaries[:MOST_RANKS])], out)
    if len(summaries) > MOST_RANKS:
        out.write(f"and {len(summaries) - MOST_RANKS} more\n")
    calls = together(summaries)
    total = sum(call.time_ns for call in calls)
    head = ("Function", "Calls", "Time", "% of MPI", "Bytes", "Partners", "Place")
    out.write("\n")
    _table([head, *(_call_row(call, total) for call in calls[:MOST_CALLS])], out)
    if len(calls) > MOST_CALLS:
        rest = sum(call.time_ns for call in calls[MOST_CALLS:])
        out.write(f"and {len(calls) - MOST_CALLS} more places with {seconds(rest * 1e-9)}\n")


def together(summaries: Iterable[TraceSummary]) -> list[CallSum]:
    """The calls of all processes, added up by function and place."""
    found: dict[tuple[object, ...], CallSum] = {}
    for call in (call for summary in summaries for call in summary.calls):
        key = (call.function, call.site)
        before = found.get(key)
        if before is None:
            found[key] = call
            continue
        peers = dict(before.peers)
        for rank, count in call.peers.items():
            peers[rank] = peers.get(rank, 0) + count
        found[key] = replace(
            before, calls=before.calls + call.calls, time_ns=before.time_ns + call.time_ns,
            bytes=before.bytes + call.bytes, peers=peers,
        )  # fmt: skip
    return sorted(found.values(), key=lambda call: (-call.time_ns, call.function, call.site[::2] if call.site else ()))


def _rank_row(summary: TraceSummary, counters: Sequence[str]) -> tuple[str, ...]:
    share = percent(summary.mpi_ns / summary.elapsed_ns) if summary.elapsed_ns else "-"
    times = (seconds(summary.elapsed_ns * 1e-9), seconds(summary.mpi_ns * 1e-9))
    counts = (str(summary.counts.get(name, "-")) for name in counters)
    return (str(summary.metadata.rank), *times, share, str(summary.events), *counts)


def _call_row(call: CallSum, total_ns: int) -> tuple[str, ...]:
    share = percent(call.time_ns / total_ns) if total_ns else "-"
    count = size(call.bytes) if call.bytes else "-"
    partners = str(len(call.peers)) if call.peers else "-"
    return (call.function, str(call.calls), seconds(call.time_ns * 1e-9), share, count, partners, _place(call))


def _place(call: CallSum) -> str:
    if call.file is not None:
        return printable(f"{os.path.basename(call.file)}:{call.line}")
    if call.site is None or not call.site.module:
        return "unknown"
    return printable(f"{os.path.basename(call.site.module)}+{call.site.address:#x}")


def _table(rows: Sequence[tuple[str, ...]], out: TextIO) -> None:
    """Columns of text to the left, those of numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        last = len(row) - 1 if rows[0][-1] == "Place" else len(row)
        cells = [
            cell.rjust(width) if 0 < column < last else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        out.write("  ".join(cells).rstrip() + "\n")
