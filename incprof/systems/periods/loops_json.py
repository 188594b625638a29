"""Loops of events and periods over time as JSON, schemas incprof.loops/1 and incprof.period/1 (periods.md)."""

from __future__ import annotations

import json
import math
from dataclasses import asdict

from incprof.systems.periods.dpd.changing_period import PeriodChange, PeriodSum, SeriesPeriods, Stretch
from incprof.systems.periods.dpd.stream_loops import EventLoop, EventLoops, LoopChange, Visit

LOOPS, LOOP_CHANGE = "incprof.loops/1", "incprof.loops.change/1"
PERIODS, PERIOD_CHANGE = "incprof.period/1", "incprof.period.change/1"
DIGITS = 9

Row = dict[str, object]


def as_line(source: str, name: str, told: EventLoops | SeriesPeriods | LoopChange | PeriodChange) -> str:
    """Return a change, or the final summary, as a JSON object in one line. name: name of a series' column."""
    if isinstance(told, EventLoops):
        row = loops_dict(source, told)
    else:
        row = periods_dict(source, name, told) if isinstance(told, SeriesPeriods) else change_dict(told)
    return json.dumps(row, ensure_ascii=False, allow_nan=False)


def loops_dict(source: str, found: EventLoops) -> Row:
    """Return all results for a stream of events. Positions count events from 0; `last` is included."""
    return {
        "schema": LOOPS,
        "source": source,
        "events": found.events,
        "kinds": found.kinds,
        "window": found.window,
        "tolerance": found.tolerance,
        "coverage_pct": _pct(found.covered, found.events),
        "hit_rate_pct": {str(ahead): _round(100 * hit) for ahead, hit in found.hits.items()},
        "forgotten": found.forgotten,
        "loops": [_loop(loop, found.events) for loop in found.loops],
    }


def _loop(loop: EventLoop, events: int) -> Row:
    return {
        "id": loop.id,
        "around": loop.around.id if loop.around else None,
        "depth": loop.depth,
        "period": loop.period,
        "content": list(loop.content),
        "visits": loop.visits,
        "iterations": _round(loop.iterations),
        "events": loop.events,
        "share_pct": _pct(loop.events, events),
        "first": loop.first,
        "last": loop.last,
        "predicted": loop.starts,
        "whole": loop.whole,
        "odd": loop.odd,
    }


def change_dict(change: LoopChange | PeriodChange) -> Row:
    """Return a change of the outermost loop, or of the period."""
    schema = LOOP_CHANGE if isinstance(change, LoopChange) else PERIOD_CHANGE
    was, now = (None if each is None else _now(each) for each in (change.was, change.now))
    return {"schema": schema, "at": change.at, "was": was, "now": now}


def _now(each: Visit | Stretch) -> Row:
    """Return an episode or a segment."""
    if isinstance(each, Stretch):
        return _stretch(each)
    return {
        "id": each.loop.id,
        "period": each.loop.period,
        "first": each.first,
        "last": each.last,
        "iterations": _round(each.iterations),
        "content": list(each.loop.content),
    }


def periods_dict(source: str, name: str, found: SeriesPeriods) -> Row:
    """Return the periods of a series over time."""
    return {
        "schema": PERIODS,
        "series": {"source": source, "column": name, "samples": found.samples},
        "window": found.window,
        "coverage_pct": _round(100 * found.coverage),
        "predicted_pct": _pct(found.predicted, found.samples),
        "mean_error": _round(found.off),
        "range": [_round(found.low), _round(found.high)],
        "periods": [_stretch(each) for each in found.periods],
    }


def _stretch(each: PeriodSum | Stretch) -> Row:
    """Return a period or a segment. confidence: null where it is infinite."""
    return {**asdict(each), "confidence": _round(each.confidence) if math.isfinite(each.confidence) else None}


def _pct(part: int, whole: int) -> float:
    return _round(100 * part / whole)


def _round(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
