"""What the processes of a run did in MPI as JSON, schema incprof.trace/1 (docs/trace.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from incprof.model.mpi import CallSum, TraceSummary
from incprof.report.json.writing import write

SCHEMA = "incprof.trace/1"


def write_json(summaries: Sequence[TraceSummary], directory: str, out: TextIO) -> None:
    """Write one JSON object and a newline."""
    first = summaries[0].metadata
    run = {"app": first.app, "directory": directory, "mpi": first.mpi, "processes": len(summaries)}
    write({"schema": SCHEMA, "run": run, "ranks": [_rank(summary) for summary in summaries]}, out)


def _rank(summary: TraceSummary) -> dict[str, object]:
    return {
        "rank": summary.metadata.rank,
        "pid": summary.metadata.pid,
        "host": summary.metadata.host,
        "threads": summary.threads,
        "events": summary.events,
        "seconds": _seconds(summary.elapsed_ns),
        "mpi_s": _seconds(summary.mpi_ns),
        "ended": summary.end.how,
        "lost": summary.end.lost,
        "damaged": summary.end.damaged + summary.end.torn,
        "counts": dict(summary.counts),
        "counters_missing": summary.metadata.counters_missing or None,
        "uncounted": summary.end.uncounted,
        "shared": summary.end.shared,
        "calls": [_call(call) for call in summary.calls],
    }


def _call(call: CallSum) -> dict[str, object]:
    return {
        "function": f"MPI_{call.function}",
        "kind": call.kind,
        "file": call.file,
        "line": call.line,
        "module": call.site.module if call.site else None,
        "address": call.site.address if call.site else None,
        "calls": call.calls,
        "seconds": _seconds(call.time_ns),
        "bytes": call.bytes,
        "peers": {str(rank): count for rank, count in call.peers.items()},
    }


def _seconds(ns: int) -> float:
    return round(ns * 1e-9, 9)
