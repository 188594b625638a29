"""A look at a running job as an object, schema incprof.top/1: docs/top.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from incprof.analysis.live.model import NEW
from incprof.analysis.live.results import LivePhase, LiveProcess, LiveView
from incprof.report.words.run import rounded
from incprof.report.words.top import BeatLine, main_site

TOP = 20


def as_dict(view: LiveView, beats: Sequence[BeatLine], *, ended: bool, killed: bool) -> dict[str, Any]:
    """Return the object. ended: nothing more comes; killed: a rank left without an end."""
    front = view.front
    return {
        "schema": "incprof.top/1",
        "app": front.metadata.app,
        "ended": ended,
        "killed": killed,
        "fitted": view.fitted,
        "phases": [_phase(phase) for phase in view.phases],
        "rank": front.rank,
        "now_s": front.now_s,
        "functions": [
            {"name": f.function.name, "module": f.function.module, "share": f.share, "run_share": f.run_share}
            for f in front.functions[:TOP]
        ],
        "heartbeats": [
            {
                "id": beat.id, "name": beat.name, "rate_hz": beat.rate_hz, "mean_s": beat.mean_s,
                "busy_pct": beat.busy_pct, "count": beat.count, "open": beat.open,
            }
            for beat in beats
        ],
        "processes": [_process(process) for process in view.processes],
    }  # fmt: skip


def _phase(phase: LivePhase) -> dict[str, Any]:
    """Return a phase."""
    function, kind = main_site(phase)
    return {"id": phase.id, "intervals": phase.intervals, "function": function.name if function else None, "kind": kind}


def _process(process: LiveProcess) -> dict[str, Any]:
    """Return a process."""
    step = process.step
    return {
        "rank": process.rank,
        "pid": process.pid,
        "primary": process.primary,
        "host": process.metadata.raw.get("host"),
        "intervals": process.intervals,
        "interval_s": process.metadata.interval_s,
        "pooled": process.metadata.pooled,
        "rate_hz": process.metadata.rate_hz,
        "elapsed_s": process.elapsed_s,
        "phase": process.label if process.label >= 0 else None,
        "new": process.label == NEW,
        "since_s": process.since_s,
        "step": None if step is None else {"name": step[0].name, "share": step[1]},
        "cpus": process.cpus,
        "behind_s": process.behind_s,
        "samples": process.samples,
        "lost": process.lost,
        "overhead_pct": rounded(process.overhead_pct),
        "ended": process.ended,
        "killed": process.killed,
    }
