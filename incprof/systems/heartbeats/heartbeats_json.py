"""Heartbeats as JSON, schema incprof.heartbeats/1 (docs/use/heartbeats.md)."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TextIO

from incprof.analysis.heartbeats.summaries import BeatRun, BeatSeries, BeatSummary

SCHEMA = "incprof.heartbeats/1"
SECONDS = 12
OTHERS = 6


def write_json(run: BeatRun, beats: Sequence[BeatSummary], warnings: Sequence[str], out: TextIO) -> None:
    """Write one JSON object and a newline; one heartbeat at a time, because the series of thousands are long."""
    head = {"schema": SCHEMA, "run": _run(run), "warnings": list(warnings), "heartbeats": []}
    before, after = json.dumps(head, allow_nan=False)[:-2], "]}\n"
    out.write(before)
    for position, beat in enumerate(beats):
        out.write(", " if position else "")
        out.write(json.dumps(beat_as_dict(beat), ensure_ascii=True, allow_nan=False))
    out.write(after)


def _run(run: BeatRun) -> dict[str, object]:
    """Return the facts about the run as a whole."""
    return {
        "app": run.app,
        "ranks": run.ranks,
        "processes": run.processes,
        "threads": run.threads,
        "intervals": run.intervals,
        "interval_s": run.interval_s,
        "start_s": round(run.start_s, SECONDS),
        "duration_s": round(run.duration_s, SECONDS),
        "clean": run.clean,
        **run.counters,
    }


def beat_as_dict(beat: BeatSummary) -> dict[str, object]:
    """Return a heartbeat in the terms of the schema."""
    return {
        "id": beat.id,
        "name": beat.name,
        "count": beat.count,
        "pulses": beat.pulses,
        "executions": beat.executions,
        "mean_s": _rounded(beat.mean_s, SECONDS),
        "min_s": _rounded(beat.min_s, SECONDS),
        "max_s": _rounded(beat.max_s, SECONDS),
        "std_s": _rounded(beat.std_s, SECONDS),
        "p5_s": _rounded(beat.p5_s, SECONDS),
        "p95_s": _rounded(beat.p95_s, SECONDS),
        "rate_hz": _rounded(beat.rate_hz, OTHERS),
        "busy_pct": _rounded(beat.busy_pct, OTHERS),
        "bounded": beat.bounded,
        "rate_factor": beat.rate_factor if isinstance(beat.rate_factor, int) else round(beat.rate_factor, OTHERS),
        "thinned": beat.thinned,
        "cost_pct": _rounded(beat.cost_pct, OTHERS),
        "open": beat.open,
        "open_s": _rounded(beat.open_s, SECONDS),
        "ranks": beat.ranks,
        "threads": beat.threads,
        "imbalance_ranks": _rounded(beat.imbalance_ranks, OTHERS),
        "imbalance_threads": _rounded(beat.imbalance_threads, OTHERS),
        "series": series_as_dict(beat.series),
    }


def series_as_dict(series: BeatSeries) -> dict[str, object]:
    """Return a heartbeat over time: lists of equal length, with null without a mean."""
    return {
        "end_s": [_rounded(value, SECONDS) for value in series.end_s.tolist()],
        "count": series.count.tolist(),
        "pulses": series.pulses.tolist(),
        "mean_s": [_rounded(value, SECONDS) for value in series.mean_s.tolist()],
        "busy_pct": [_rounded(value, OTHERS) for value in series.busy_pct.tolist()],
        "open": series.open.tolist(),
        "rate_factor": [_rounded(value, OTHERS) for value in series.factor.tolist()],
    }


def _rounded(value: float | None, digits: int) -> float | None:
    """Return a number without meaningless digits; None for None or NaN."""
    return None if value is None or math.isnan(value) else round(value, digits)
