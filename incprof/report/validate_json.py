"""A comparison of heartbeats with a recording as JSON, schema incprof.validate/1 (docs/validate.md)."""

from __future__ import annotations

import json
from typing import TextIO

from incprof.analysis.agreement_results import Agreement, Alignment, Beats, Overhead, PhaseAgreement, Timeline
from incprof.analysis.results import RunSummary

SCHEMA = "incprof.validate/1"
DIGITS = 6


def write_json(run: RunSummary, beats: Beats, found: Agreement, cost: Overhead | None, out: TextIO) -> None:
    """Write one JSON object and a newline."""
    json.dump(as_dict(run, beats, found, cost), out, ensure_ascii=True, allow_nan=False)
    out.write("\n")


def as_dict(run: RunSummary, beats: Beats, found: Agreement, cost: Overhead | None) -> dict[str, object]:
    """Return the answer in the terms of the schema."""
    return {
        "schema": SCHEMA,
        "run": {"app": run.app, "rank": run.rank, "intervals": run.intervals, "interval_s": run.interval_s},
        "agreement": _round(found.agreement),
        "kappa": _round(found.kappa),
        "balanced": _round(found.balanced),
        "compared_s": _round(found.compared_s),
        "total_s": _round(found.total_s),
        "alignment": _alignment(found.alignment, found.unwarped),
        "phases": [_phase(phase) for phase in found.phases],
        "confusion": {
            "phases": [phase.id for phase in found.phases],
            "seconds": [[_round(value) for value in row[:-1]] for row in found.confusion.tolist()],
            "silent": [_round(row[-1]) for row in found.confusion.tolist()],
        },
        "heartbeats": [
            {
                "id": number,
                "name": name,
                "rate_factor": int(beats.factors[place]),
                "count": int(beats.recorded[place].sum()),
                "pulses": int(beats.pulses[place].sum()),
                "phases": [phase.id for phase in found.phases if number in phase.heartbeats],
            }
            for place, (number, name) in enumerate(zip(beats.ids, beats.names, strict=True))
        ],
        "others": list(beats.others),
        "overhead": None if cost is None else _overhead(cost),
        "timeline": _timeline(found.timeline),
        "notes": list(found.notes),
    }


def _round(value: float | None) -> float | None:
    """Return a number without digits that mean nothing."""
    return None if value is None else round(float(value), DIGITS)


def _alignment(alignment: Alignment, unwarped: float | None) -> dict[str, object]:
    """Return how the two runs were laid over each other."""
    return {
        "kind": alignment.kind,
        "stretch": _round(alignment.stretch),
        "warp_mean": _round(alignment.warp_mean),
        "warp_max": _round(alignment.warp_max),
        "agreement_without_warp": _round(unwarped),
        "recorded_s": [_round(at) for at in alignment.recorded_s.tolist()],
        "heartbeats_s": [_round(at) for at in alignment.beats_s.tolist()],
    }


def _phase(phase: PhaseAgreement) -> dict[str, object]:
    """Return a phase as its heartbeats see it."""
    return {
        "id": phase.id,
        "seconds": _round(phase.seconds),
        "heartbeats": list(phase.heartbeats),
        "missing": list(phase.missing),
        "same_as": phase.same_as,
        "recall": _round(phase.recall),
        "coverage": _round(phase.coverage),
        "busy": _round(phase.busy),
        "spill_beats": _round(phase.spill_beats),
        "spill_busy": _round(phase.spill_busy),
        "rate_hz": _round(phase.rate_hz),
        "mean_s": None if phase.mean_s is None else round(phase.mean_s, 12),
    }


def _overhead(cost: Overhead) -> dict[str, object]:
    """Return what the heartbeats cost."""
    return {
        "beats": int(cost.beats),
        "skipped": int(cost.skipped),
        "pair_ns": _round(cost.pair_ns),
        "skipped_ns": _round(cost.skipped_ns),
        "own_s": _round(cost.own_s),
        "seconds": _round(cost.seconds),
        "base": cost.base,
        "base_s": _round(cost.base_s),
        "pct": _round(cost.pct),
        "beats_pct": _round(cost.beats_pct),
        "predicted_pct": _round(cost.predicted_pct),
    }


def _timeline(timeline: Timeline) -> dict[str, object]:
    """Return both timelines, neighbours that say the same as one."""
    ends: list[float | None] = []
    rows: list[tuple[int, int, bool]] = []
    columns = timeline.label.tolist(), timeline.named.tolist(), timeline.compared.tolist()
    for end, *row in zip(timeline.end_s.tolist(), *columns, strict=True):
        label, named, compared = row
        if rows and rows[-1] == (label, named, compared):
            ends[-1] = _round(end)
        else:
            ends.append(_round(end))
            rows.append((label, named, compared))
    labels, said, counts = ([row[at] for row in rows] for at in range(3))
    return {"end_s": ends, "recorded": labels, "heartbeats": said, "compared": counts}
