"""Sites as JSON, schema incprof.sites/1 (docs/use/sites.md)."""

from __future__ import annotations

from typing import TextIO

from incprof.analysis.phase_result import RunSummary
from incprof.analysis.views.site_rows import RefusedRow, SiteRow, SitesAnswer
from incprof.report.render.json import rounded, run_json, write

SCHEMA = "incprof.sites/1"


def write_json(run: RunSummary, answer: SitesAnswer, out: TextIO) -> None:
    """Write one JSON object and a newline."""
    write(as_dict(run, answer), out, ascii_only=False)


def as_dict(run: RunSummary, answer: SitesAnswer) -> dict[str, object]:
    """Return the answer in the terms of the schema."""
    return {
        "schema": SCHEMA,
        "run": run_json(run),
        "rank": run.rank,
        "method": answer.method,
        "k": answer.k,
        "source": answer.source,
        "cost": {"pair_ns": rounded(answer.pair_ns), "skipped_ns": rounded(answer.skipped_ns)},
        "sites": [_site(row) for row in answer.sites],
        "refused": [_refused(row) for row in answer.refused],
        "unserved": list(answer.unserved),
        "warnings": list(answer.warnings),
    }


def _site(row: SiteRow) -> dict[str, object]:
    """Return one site."""
    return {
        "heartbeat": row.heartbeat,
        "name": row.name,
        "phases": list(row.phases),
        "function": row.function,
        "kind": row.kind,
        "file": row.file,
        "line": row.line,
        "phase_pct": rounded(row.phase_pct),
        "share": rounded(row.share),
        "beats_hz": None if row.basis == "at least" else rounded(row.beats_hz),
        "beats_hz_least": rounded(row.beats_hz) if row.basis == "at least" else None,
        "basis": row.basis,
        "rate_factor": row.rate_factor,
        "overhead_pct": rounded(row.overhead_pct),
        "note": row.note,
        "excerpt": [{"line": line.number, "text": line.text, "marked": line.marked} for line in row.excerpt],
    }


def _refused(row: RefusedRow) -> dict[str, object]:
    """Return one site that has no place."""
    return {
        "phases": list(row.phases),
        "function": row.function,
        "kind": row.kind,
        "file": row.file,
        "line": row.line,
        "reason": row.reason,
    }
