"""Periods as JSON, schema incprof.periods/1 (docs/periods.md)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TextIO

from incprof.analysis.patterns.nodes import Agreement
from incprof.analysis.patterns.results import Pattern, Patterns

SCHEMA = "incprof.periods/1"
DIGITS = 9


def write_json(
    source: str,
    name: str,
    interval_s: float | None,
    found: Patterns,
    notes: Sequence[str],
    nodes: Sequence[dict[str, object]],
    out: TextIO,
) -> None:
    """Write one JSON object and a newline. nodes: what `node_of` and `pair_of` made of the other series."""
    answer = as_dict(source, name, interval_s, found, notes)
    if nodes:
        answer["nodes"] = list(nodes)
    json.dump(answer, out, ensure_ascii=False, allow_nan=False)
    out.write("\n")


def state_json(source: str, name: str, interval_s: float | None, found: Patterns) -> str:
    """Return what is known of a series that still grows, as an object in one line."""
    return json.dumps(as_dict(source, name, interval_s, found, ()), ensure_ascii=False, allow_nan=False)


def as_dict(
    source: str, name: str, interval_s: float | None, found: Patterns, notes: Sequence[str]
) -> dict[str, object]:
    """Return the answer in the terms of the schema. Positions are samples, ranges half open."""
    return {
        "schema": SCHEMA,
        "series": {
            "source": source,
            "column": name,
            "samples": found.samples,
            "interval_s": None if interval_s is None else _round(interval_s),
            "duration_s": None if interval_s is None else _round(interval_s * found.samples),
        },
        "summary": found.summary,
        "coverage_pct": _round(100 * found.coverage),
        "detected_pct": _round(100 * found.detected),
        "by_chance_pct": _round(100 * found.by_chance),
        "by_chance_std_pct": _round(100 * found.chance_spread),
        "window": found.window,
        "noise": _round(found.noise),
        "theta": _round(found.theta),
        "tuning": [
            {"window": tried.window, "coverage_pct": _round(100 * tried.coverage), "sampled": tried.sampled}
            for tried in found.tuning
        ],
        "patterns": [_pattern(pattern) for pattern in found.patterns],
        "options": asdict(found.options),
        "warnings": list(notes),
    }


def node_of(source: str, found: Patterns) -> dict[str, object]:
    """Return what there is to say of another node's series."""
    return {"source": source, "summary": found.summary, "coverage_pct": _round(100 * found.coverage)}


def pair_of(agreement: Agreement) -> dict[str, object]:
    """Return how the foremost patterns of two nodes agree; nodes are numbered from 0, the series itself."""
    return {
        "nodes": [agreement.first, agreement.second],
        "mean_step": _round(agreement.step),
        "mean": _round(agreement.mean),
        "same": agreement.same,
    }


def _pattern(pattern: Pattern) -> dict[str, object]:
    """Return one pattern."""
    return {
        "length": pattern.length,
        "coverage_pct": _round(100 * pattern.share),
        "values": [_round(value) for value in pattern.values.tolist()],
        "instances": pattern.instances.tolist(),
        "regions": pattern.regions.tolist(),
        "mean_length": _round(float((pattern.instances[:, 1] - pattern.instances[:, 0]).mean())),
        "instances_per_region": _round(len(pattern.instances) / len(pattern.regions)),
        "wgss": _round(pattern.wgss),
        "wgss_per_instance": _round(pattern.wgss_per_instance),
        "wgss_per_sample": _round(pattern.wgss_per_sample),
        "wgss_history": [_round(value) for value in pattern.history],
    }


def _round(value: float) -> float:
    """Return a number with as many significant digits as mean something, and always finite."""
    return float(f"{value:.{DIGITS}g}")
