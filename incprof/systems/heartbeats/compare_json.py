"""Two runs' heartbeats as JSON, schema incprof.heartbeats-diff/1 (docs/use/heartbeats.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from incprof.analysis.compare.conditions import Condition
from incprof.analysis.heartbeats.summaries import BeatRun, BeatSummary
from incprof.report.json.writing import significant, write
from incprof.systems.heartbeats.compare import LEVEL, BeatDiff
from incprof.systems.heartbeats.compare_words import broken_line

SCHEMA = "incprof.heartbeats-diff/1"
KEYS = {"mean": "mean_s", "min": "min_s", "max": "max_s", "std": "std_s", "p95": "p95_s", "count": "count",
        "rate": "rate_hz", "busy": "busy_pct"}  # fmt: skip


def write_json(
    runs: tuple[tuple[str, BeatRun], tuple[str, BeatRun]],
    notes: Sequence[str],
    diffs: Sequence[BeatDiff],
    broken: Sequence[tuple[Condition, BeatDiff]],
    warnings: Sequence[str],
    out: TextIO,
) -> None:
    """Write one JSON object and a newline."""
    found = {
        "schema": SCHEMA,
        "a": _run(*runs[0]),
        "b": _run(*runs[1]),
        "notes": list(notes),
        "warnings": list(warnings),
        "level": LEVEL,
        "heartbeats": [_diff(diff) for diff in diffs],
        "broken": [_broken(condition, diff) for condition, diff in broken],
    }
    write(found, out)


def _run(path: str, run: BeatRun) -> dict[str, object]:
    """Return the facts about a run as a whole."""
    return {
        "path": path.encode("utf-8", "replace").decode("utf-8"),
        "app": run.app,
        "ranks": run.ranks,
        "threads": run.threads,
        "intervals": run.intervals,
        "interval_s": run.interval_s,
        "duration_s": significant(run.duration_s),
        "clean": run.clean,
    }


def _diff(diff: BeatDiff) -> dict[str, object]:
    """Return a heartbeat in both runs."""
    ci = diff.ci
    return {
        "id": diff.pair.id,
        "name": diff.pair.name,
        "a": _beat(diff.pair.a),
        "b": _beat(diff.pair.b),
        "verdict": diff.verdict,
        "notes": list(diff.pair.notes),
        "changes": {
            KEYS[metric]: {key: significant(getattr(d, key)) for key in ("a", "b", "change", "pct")}
            for metric, d in diff.deltas.items()
        },
        "mean_pct_interval": None if ci is None else [significant(100 * (end - 1)) for end in (ci.low, ci.high)],
        "p_value": None if ci is None else significant(ci.p_value),
        "p_adjusted": significant(diff.p_adjusted),
        "intervals": list(diff.intervals),
    }


def _beat(beat: BeatSummary | None) -> dict[str, object] | None:
    """Return a heartbeat in one run; None if the run does not have it."""
    if beat is None:
        return None
    return {
        "id": beat.id,
        "name": beat.name,
        "count": beat.count,
        "pulses": beat.pulses,
        "open": beat.open,
        "rate_factor": beat.rate_factor,
    }


def _broken(condition: Condition, diff: BeatDiff) -> dict[str, object]:
    """Return a failed condition, and the heartbeat that fails it."""
    return {
        "condition": condition.text,
        "id": diff.pair.id,
        "name": diff.pair.name,
        "message": broken_line(condition, diff),
    }
