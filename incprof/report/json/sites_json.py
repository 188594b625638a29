"""Sites as JSON, schema incprof.sites/1 (docs/use/sites.md)."""

from __future__ import annotations

from typing import TextIO

from incprof.analysis.phase_result import RunSummary
from incprof.analysis.views.site_rows import SiteRow, SitesAnswer
from incprof.report.render.json import fields, rounded, run_json, write

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
        **fields(answer, "method k source"),
        "cost": fields(answer, "pair_ns skipped_ns"),
        "sites": [_site(row) for row in answer.sites],
        "refused": [fields(row, "phases function kind file line reason") for row in answer.refused],
        **fields(answer, "unserved warnings"),
    }


def _site(row: SiteRow) -> dict[str, object]:
    beats_hz = rounded(row.beats_hz)
    return {
        **fields(row, "heartbeat name phases function kind file line phase_pct share"),
        "beats_hz": None if row.basis == "at least" else beats_hz,
        "beats_hz_least": beats_hz if row.basis == "at least" else None,
        **fields(row, "basis rate_factor overhead_pct note"),
        "excerpt": [{"line": line.number, **fields(line, "text marked")} for line in row.excerpt],
    }
