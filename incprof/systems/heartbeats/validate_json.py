"""A comparison of heartbeats with a recording as JSON, schema incprof.validate/1 (docs/use/validate.md)."""

from __future__ import annotations

from typing import TextIO

from incprof.analysis.phase_result import RunSummary
from incprof.report.json.writing import write
from incprof.report.words.run import rounded, run_json
from incprof.systems.heartbeats.agreement.validation import (
    Agreement,
    Alignment,
    Beats,
    Overhead,
    PhaseAgreement,
    Timeline,
)

SCHEMA = "incprof.validate/1"


def write_json(run: RunSummary, beats: Beats, found: Agreement, cost: Overhead | None, out: TextIO) -> None:
    """Write one JSON object and a newline."""
    write(as_dict(run, beats, found, cost), out)


def as_dict(run: RunSummary, beats: Beats, found: Agreement, cost: Overhead | None) -> dict[str, object]:
    """Return the result in the terms of the schema."""
    return {
        "schema": SCHEMA,
        "run": run_json(run),
        "agreement": rounded(found.agreement),
        "kappa": rounded(found.kappa),
        "balanced": rounded(found.balanced),
        "compared_s": rounded(found.compared_s),
        "total_s": rounded(found.total_s),
        "alignment": _alignment(found.alignment, found.unwarped),
        "phases": [_phase(phase) for phase in found.phases],
        "confusion": {
            "phases": [phase.id for phase in found.phases],
            "seconds": [[rounded(value) for value in row[:-1]] for row in found.confusion.tolist()],
            "silent": [rounded(row[-1]) for row in found.confusion.tolist()],
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


def _alignment(alignment: Alignment, unwarped: float | None) -> dict[str, object]:
    """Return the alignment of the two runs."""
    return {
        "kind": alignment.kind,
        "stretch": rounded(alignment.stretch),
        "warp_mean": rounded(alignment.warp_mean),
        "warp_max": rounded(alignment.warp_max),
        "agreement_without_warp": rounded(unwarped),
        "recorded_s": [rounded(at) for at in alignment.recorded_s.tolist()],
        "heartbeats_s": [rounded(at) for at in alignment.beats_s.tolist()],
    }


def _phase(phase: PhaseAgreement) -> dict[str, object]:
    """Return the measures of a phase."""
    return {
        "id": phase.id,
        "seconds": rounded(phase.seconds),
        "heartbeats": list(phase.heartbeats),
        "missing": list(phase.missing),
        "same_as": phase.same_as,
        "recall": rounded(phase.recall),
        "coverage": rounded(phase.coverage),
        "busy": rounded(phase.busy),
        "spill_beats": rounded(phase.spill_beats),
        "spill_busy": rounded(phase.spill_busy),
        "rate_hz": rounded(phase.rate_hz),
        "mean_s": None if phase.mean_s is None else round(phase.mean_s, 12),
    }


def _overhead(cost: Overhead) -> dict[str, object]:
    """Return the overhead of the heartbeats."""
    return {
        "beats": int(cost.beats),
        "skipped": int(cost.skipped),
        "pair_ns": rounded(cost.pair_ns),
        "skipped_ns": rounded(cost.skipped_ns),
        "own_s": rounded(cost.own_s),
        "seconds": rounded(cost.seconds),
        "base": cost.base,
        "base_s": rounded(cost.base_s),
        "pct": rounded(cost.pct),
        "beats_pct": rounded(cost.beats_pct),
        "predicted_pct": rounded(cost.predicted_pct),
    }


def _timeline(timeline: Timeline) -> dict[str, object]:
    """Return both timelines; equal neighbours are merged."""
    ends: list[float | None] = []
    rows: list[tuple[int, int, bool]] = []
    columns = timeline.label.tolist(), timeline.named.tolist(), timeline.compared.tolist()
    for end, *row in zip(timeline.end_s.tolist(), *columns, strict=True):
        label, named, compared = row
        if rows and rows[-1] == (label, named, compared):
            ends[-1] = rounded(end)
        else:
            ends.append(rounded(end))
            rows.append((label, named, compared))
    labels, said, counts = ([row[at] for row in rows] for at in range(3))
    return {"end_s": ends, "recorded": labels, "heartbeats": said, "compared": counts}
