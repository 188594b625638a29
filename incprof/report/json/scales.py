"""Runs of a program at several scales as JSON, schema incprof.scales/1 (docs/signature.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from incprof.analysis.signature.scales import Analysis, ScaledRun, variation
from incprof.report.json.writing import significant, write

SCHEMA = "incprof.scales/1"


def write_json(programs: Sequence[Sequence[ScaledRun]], out: TextIO) -> None:
    """Write one JSON object and a newline."""
    write({"schema": SCHEMA, "programs": [_program(runs) for runs in programs]}, out)


def _program(runs: Sequence[ScaledRun]) -> dict[str, object]:
    methods = [one.method for one in runs[0].analyses]
    columns: dict[str, list[float]] = {
        "aet_s": [run.aet_s for run in runs],
        "events": [run.events for run in runs],
        "trace_bytes": [run.trace_bytes for run in runs],
    }
    times = {
        method: _figure(variation([run.analyses[number].seconds for run in runs]))
        for number, method in enumerate(methods)
    }
    varies: dict[str, object] = {name: _figure(variation(values)) for name, values in columns.items()}
    return {
        "app": runs[0].app,
        "methods": methods,
        "runs": [_run(run) for run in runs],
        "variation": {**varies, "tfat_s": times},
    }


def _run(run: ScaledRun) -> dict[str, object]:
    return {
        "directory": run.directory,
        "ranks": run.ranks,
        "aet_s": significant(run.aet_s),
        "events": run.events,
        "trace_bytes": run.trace_bytes,
        "analyses": {one.method: _analysis(one) for one in run.analyses},
    }


def _analysis(one: Analysis) -> dict[str, object]:
    return {
        "tfat_s": significant(one.seconds),
        "pet_s": significant(one.pet_s),
        "pete": significant(one.error),
        "set_s": significant(one.set_s),
        "phases": one.phases,
        "coverage": significant(one.coverage),
    }


def _figure(value: float | None) -> float | None:
    return None if value is None else significant(value)
