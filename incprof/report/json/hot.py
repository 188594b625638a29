"""Functions that counting costs as JSON, schema incprof.hot/1 (docs/check.md)."""

from __future__ import annotations

from incprof.report.hot_answer import HotAnswer
from incprof.report.words.run import rounded

SCHEMA = "incprof.hot/1"


def as_json(found: HotAnswer) -> dict[str, object]:
    """Return the object that is written."""
    return {
        "schema": SCHEMA,
        "app": found.app,
        "rank": found.rank,
        "calls": found.counting.calls,
        "call_ns": rounded(found.counting.call_s * 1e9),
        "pct": rounded(found.counting.pct),
        "program_s": rounded(found.program_s),
        "left_pct": rounded(found.left_pct),
        "functions": [
            {
                "name": row.function.name,
                "module": row.function.module,
                "file": row.file,
                "line": row.function.line,
                "calls": row.calls,
                "seconds": rounded(row.seconds),
                "pct": rounded(row.pct),
            }
            for row in found.rows
        ],
        "files": [{"file": file.path, "calls": file.calls, "other_calls": file.other_calls} for file in found.files],
    }
