"""A run compared with its application's history as JSON, incprof.heartbeats-history/1 (docs/use/heartbeats.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from incprof.report.json.writing import significant, write
from incprof.systems.heartbeats.history import ALARM, MIN_PAST, Assessment
from incprof.systems.heartbeats.history_words import poor_line
from incprof.systems.heartbeats.slow_segments import Slow
from incprof.systems.heartbeats.verdict import History

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
            "duration_s": significant(run.duration_s),
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
    write(found, out)


def _assessment(assessment: Assessment) -> dict[str, object]:
    """Return a metric and its past."""
    past = assessment.past
    return {
        "id": assessment.id,
        "name": assessment.name,
        "metric": assessment.metric,
        "value": significant(assessment.value),
        "past": None
        if past is None
        else {
            "runs": past.runs,
            "median": significant(past.median),
            "spread": significant(past.spread),
            "min": significant(past.low),
            "max": significant(past.high),
        },
        "deviations": significant(assessment.deviations),
        "p_value": significant(assessment.p_value),
        "p_adjusted": significant(assessment.p_adjusted),
        "worse_than": assessment.better_runs,
        "verdict": assessment.verdict,
    }


def _slow(slow: Slow) -> dict[str, object]:
    """Return the slow segments of a heartbeat."""
    return {
        "id": slow.id,
        "name": slow.name,
        "past_p99_s": significant(slow.limit_s),
        "intervals": slow.intervals,
        "slow_intervals": slow.slow,
        "notable": slow.notable,
        "stretches": [
            {
                "start_s": significant(stretch.start_s),
                "end_s": significant(stretch.end_s),
                "intervals": stretch.intervals,
                "mean_s": significant(stretch.mean_s),
            }
            for stretch in slow.stretches
        ],
    }
