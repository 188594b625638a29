"""The MPI calls of the processes of a run as text and as JSON, schema incprof.trace/1 (docs/use/trace.md)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TextIO

from incprof.model.section import Column, Table
from incprof.report.render.json import fields, write
from incprof.report.render.plain import write_plain
from incprof.report.words.formatting import seconds
from incprof.safe.printable import printable
from incprof.systems.mpi.analyse.mpi_events import SECONDS
from incprof.systems.mpi.trace_types import CallSum, TraceSummary

SCHEMA = "incprof.trace/1"


def write_json(summaries: Sequence[TraceSummary], directory: str, out: TextIO) -> None:
    """Write one JSON object and a newline."""
    first = summaries[0].metadata
    run = {"app": first.app, "directory": directory, "mpi": first.mpi, "processes": len(summaries)}
    write({"schema": SCHEMA, "run": run, "ranks": [_rank(summary) for summary in summaries]}, out)


def _rank(summary: TraceSummary) -> dict[str, object]:
    end = summary.end
    return {
        **fields(summary.metadata, "rank pid host"),
        **fields(summary, "threads events"),
        "seconds": _seconds(summary.elapsed_ns),
        "mpi_s": _seconds(summary.mpi_ns),
        **fields(end, "ended=how lost"),
        "damaged": end.damaged + end.torn,
        "counts": dict(summary.counts),
        "counters_missing": summary.metadata.counters_missing or None,
        **fields(end, "uncounted shared"),
        "calls": [_call(call) for call in summary.calls],
    }


def _call(call: CallSum) -> dict[str, object]:
    return {
        "function": f"MPI_{call.function}",
        **fields(call, "kind file line"),
        "module": call.site.module if call.site else None,
        "address": call.site.address if call.site else None,
        "calls": call.calls,
        "seconds": _seconds(call.time_ns),
        "bytes": call.bytes,
        "peers": {str(rank): count for rank, count in call.peers.items()},
    }


def _seconds(ns: int) -> float:
    return round(ns * 1e-9, 9)


MOST_RANKS, MOST_CALLS = 16, 25


def write_text(summaries: Sequence[TraceSummary], out: TextIO) -> None:
    """Write the ranks, and the call sites summed over all of them."""
    first = summaries[0].metadata
    count = f"{len(summaries)} processes" if len(summaries) > 1 else f"rank {first.rank}"
    out.write(f"{printable(first.app)}, {count}, {printable(first.mpi)}\n")
    out.write(f"{work_unit(next(iter(first.counters), SECONDS), first.counters_missing)}\n\n")
    write_plain(_ranks(summaries[:MOST_RANKS], tuple(first.counters)), out)
    if len(summaries) > MOST_RANKS:
        out.write(f"and {len(summaries) - MOST_RANKS} more\n")
    calls = sum_by_place(summaries)
    total = sum(call.time_ns for call in calls)
    out.write("\n")
    write_plain(_calls(calls[:MOST_CALLS], total), out)
    if len(calls) > MOST_CALLS:
        remaining_ns = sum(call.time_ns for call in calls[MOST_CALLS:])
        out.write(f"and {len(calls) - MOST_CALLS} more places with {seconds(remaining_ns * 1e-9)}\n")


def sum_by_place(summaries: Iterable[TraceSummary]) -> list[CallSum]:
    """Return the calls of all processes, summed by function and place."""
    sums: dict[tuple[object, ...], CallSum] = {}
    for call in (call for summary in summaries for call in summary.calls):
        key = (call.function, call.site)
        before = sums.get(key)
        if before is None:
            sums[key] = call
            continue
        peers = dict(before.peers)
        for rank, count in call.peers.items():
            peers[rank] = peers.get(rank, 0) + count
        sums[key] = replace(
            before, calls=before.calls + call.calls, time_ns=before.time_ns + call.time_ns,
            bytes=before.bytes + call.bytes, peers=peers,
        )  # fmt: skip
    return sorted(sums.values(), key=lambda call: (-call.time_ns, call.function, call.site[::2] if call.site else ()))


def _ranks(summaries: Sequence[TraceSummary], counters: Sequence[str]) -> Table:
    """Return a row for each rank; `counters`: what was counted in calls."""
    columns = (
        Column("Rank", lambda one: str(one.metadata.rank)),
        Column("Time", lambda one: one.elapsed_ns * 1e-9, "s"),
        Column("In MPI", lambda one: one.mpi_ns * 1e-9, "s"),
        Column("%", lambda one: one.mpi_ns / one.elapsed_ns if one.elapsed_ns else None, "percent"),
        Column("Calls", lambda one: one.events, "count"),
        *(Column(printable(name.capitalize()), _count_of(name), "count") for name in counters),
    )
    return Table(columns, summaries)


def _count_of(counter: str) -> Callable[[TraceSummary], int | None]:
    return lambda one: one.counts.get(counter)


def _calls(calls: Sequence[CallSum], total_ns: int) -> Table:
    """Return a row for each place that calls MPI."""
    columns = (
        Column("Function", lambda call: call.function),
        Column("Calls", lambda call: call.calls, "count"),
        Column("Time", lambda call: call.time_ns * 1e-9, "s"),
        Column("% of MPI", lambda call: call.time_ns / total_ns if total_ns else None, "percent"),
        Column("Bytes", lambda call: call.bytes or None, "B"),
        Column("Partners", lambda call: len(call.peers) or None, "count"),
        Column("Place", _place),
    )
    return Table(columns, calls)


def _place(call: CallSum) -> str:
    if call.file is not None:
        return printable(f"{os.path.basename(call.file)}:{call.line}")
    if call.site is None or not call.site.module:
        return "unknown"
    return printable(f"{os.path.basename(call.site.module)}+{call.site.address:#x}")


def work_unit(unit: str, missing: str) -> str:
    """Return the unit of work, and the reason if it is not instructions.

    Args:
        unit: Name of a counter, or "seconds".
        missing: Reason why there is no counter, as in `Work`.
    """
    if unit != SECONDS:
        return f"work in {printable(unit)}"
    reasons = {
        "": "the trace has no counts",
        "few": "too few calls have counts",
        "off": "counting was turned off (INCPROF_TRACE_COUNTERS)",
    }
    return f"work in CPU time: {reasons.get(missing) or f'the machine counts no instructions ({printable(missing)})'}"
