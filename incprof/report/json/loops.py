"""The loops of a run as JSON, schema incprof.selfanalyze/1 (docs/selfanalyze.md)."""

from __future__ import annotations

from typing import TextIO

from incprof.model.loops import Times
from incprof.report.json.writing import write
from incprof.report.words.loops import Answer, LoopAnswer

SCHEMA = "incprof.selfanalyze/1"


def write_json(answer: Answer, out: TextIO) -> None:
    """Write one JSON object and a newline."""
    run = answer.run
    document = {
        "schema": SCHEMA,
        "run": {
            "app": run.app,
            "directory": answer.directory,
            "rank": run.rank,
            "pid": run.pid,
            "status": answer.status,
            "seconds": round(run.end_s, 9),
            "ended": run.ended,
            "parallel_regions": run.parallel_regions,
            "other_threads": run.other_threads,
        },
        "regions": [_region(loop) for loop in answer.loops],
        "notes": list(answer.notes),
    }
    write(document, out)


def _times(times: Times) -> dict[str, object]:
    return {
        "timed": times.count,
        "mean_s": round(times.mean_s, 9),
        "std_s": round(times.std_s, 9),
        "min_s": round(times.min_s, 9),
        "max_s": round(times.max_s, 9),
    }


def _region(answer: LoopAnswer) -> dict[str, object]:
    loop = answer.loop
    return {
        "id": {"first": answer.members[0] if answer.members else None, "period": loop.period, "hash": loop.hash},
        "longest_period": loop.longest_period,
        "kind": loop.kind,
        "name": answer.name,
        "functions": list(answer.members),
        "depth": loop.depth,
        "visits": loop.visits,
        "iterations": loop.iterations,
        **_times(loop.times),
        "total_s": round(loop.total_s, 9),
        "self_s": round(loop.self_s, 9) if loop.kind == "detected" else None,
        "parallel_s": round(loop.parallel_s, 9),
        "threads": loop.threads,
        "fewest_threads": loop.fewest_threads,
        "speedup": _speedup(answer),
        "estimate": _estimate(answer),
    }


def _speedup(answer: LoopAnswer) -> dict[str, object] | None:
    found = answer.speedup
    if found is None:
        return None
    return {
        "baseline_threads": found.base_threads,
        "baseline_mean_s": round(found.base_s, 9),
        "baseline_timed": found.base_count,
        "relative": found.relative,
        "low": found.low,
        "high": found.high,
        "one_thread_s": found.one_thread_s,
        "serial_s": found.serial_s,
        "speedup": found.speedup,
    }


def _estimate(answer: LoopAnswer) -> dict[str, object] | None:
    found = answer.estimate
    if found is None:
        return None
    return {
        "iterations": found.done,
        "expected": found.expected,
        "total_s": found.total_s,
        "low_s": found.low_s,
        "high_s": found.high_s,
    }
