"""A run against the application's past as JSON, schema incprof.heartbeats-history/1 (docs/heartbeats-history.md)."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TextIO

from incprof.analysis.beats.history import ALARM, MIN_PAST, Assessment
from incprof.analysis.beats.stretches import Slow
from incprof.analysis.beats.verdict import History
from incprof.report.words.beats_history import poor_line

SCHEMA = "incprof.heartbeats-history/1"


def write_json(history: History, warnings: Sequence[str], out: TextIO) -> None:
    """Write one JSON object and a newline."""
    run = history.run
    found = {
        "schema": SCHEMA,
        "run": {
            "app": run.app,
            "ranks": run.ranks,
            "threads": history.threads,
            "start_unix_s": history.start_unix_s,
            "duration_s": _rounded(run.duration_s),
            "intervals": run.intervals,
            "interval_s": run.interval_s,
            "clean": run.clean,
        },
        "state": history.how,
        "forgotten": history.forgotten,
        "past_runs": len(history.past_starts_unix_s),
        "past_runs_needed": MIN_PAST,
        "past_runs_with_other_threads": history.other_threads,
        "past_runs_with_other_arguments": history.other_argv,
        "alarm": ALARM,
        "enough": history.enough,
        "poor": bool(history.poor) if history.enough else None,
        "evidence": [poor_line(assessment) for assessment in history.poor],
        "warnings": list(warnings),
        "figures": [_assessment(assessment) for assessment in history.assessments],
        "slow": [_slow(slow) for slow in history.slow],
    }
    out.write(json.dumps(found, ensure_ascii=True, allow_nan=False) + "\n")


def _assessment(assessment: Assessment) -> dict[str, object]:
    """Return a figure and its past."""
    past = assessment.past
    return {
        "id": assessment.id,
        "name": assessment.name,
        "metric": assessment.metric,
        "value": _rounded(assessment.value),
        "past": None
        if past is None
        else {
            "runs": past.runs,
            "median": _rounded(past.median),
            "spread": _rounded(past.spread),
            "min": _rounded(past.low),
            "max": _rounded(past.high),
        },
        "deviations": _rounded(assessment.deviations),
        "p_value": _rounded(assessment.p_value),
        "p_adjusted": _rounded(assessment.p_adjusted),
        "worse_than": assessment.better_runs,
        "verdict": assessment.verdict,
    }


def _slow(slow: Slow) -> dict[str, object]:
    """Return when a heartbeat was slow."""
    return {
        "id": slow.id,
        "name": slow.name,
        "past_p99_s": _rounded(slow.limit_s),
        "intervals": slow.intervals,
        "slow_intervals": slow.slow,
        "notable": slow.notable,
        "stretches": [
            {
                "start_s": _rounded(stretch.start_s),
                "end_s": _rounded(stretch.end_s),
                "intervals": stretch.intervals,
                "mean_s": _rounded(stretch.mean_s),
            }
            for stretch in slow.stretches
        ],
    }


def _rounded(value: float | None) -> float | None:
    """Return a number without digits that mean nothing; None for none."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.12g}")
