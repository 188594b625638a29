"""A comparison of heartbeats with a recording as text and as JSON, schema incprof.validate/1 (docs/use/validate.md)."""

from __future__ import annotations

from typing import TextIO

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from incprof.analysis.phase_result import PhaseResult, RunSummary
from incprof.analysis.views.tracks import badge, cells, runs, sign
from incprof.report.render.json import rounded, run_json, write
from incprof.report.text.console import console_for
from incprof.report.words.colours import style
from incprof.report.words.display_names import Names
from incprof.report.words.formatting import OF_RUN, elapsed, pct, printable, rate, seconds
from incprof.systems.heartbeats.validation import (
    UNSEEN,
    Agreement,
    Alignment,
    Beats,
    Overhead,
    PhaseAgreement,
    Timeline,
)

ROOM = len("heartbeats  ")
FINE = 8
FIGURES = 74
# Below this agreement the confusion table is shown.
PERFECT = 0.9995


def write_text(
    run: RunSummary,
    result: PhaseResult,
    beats: Beats,
    found: Agreement,
    cost: Overhead | None,
    out: TextIO,
    *,
    width: int = 100,
    colour: bool = False,
) -> None:
    """Write the result, text at most `width` columns wide; plain ASCII without `colour`, except names."""
    console = console_for(out, width=max(width, 40), colour=colour, terminal=colour)
    console.print(_head(run, beats), soft_wrap=True)
    console.print(_aligned(found), soft_wrap=True)
    console.print(_verdict(found), soft_wrap=True)
    console.print()
    _ribbons(console, found)
    console.print()
    console.print(_phase_table(result, beats, found, max(console.width - FIGURES, 20)))
    if found.agreement < PERFECT and len(found.phases) > 1:
        console.print()
        console.print(_confusion_table(found))
    console.print()
    console.print(_cost_line(cost), soft_wrap=True)
    for note in found.notes:
        console.print(printable(note), soft_wrap=True)


def _head(run: RunSummary, beats: Beats) -> str:
    """Return a description of the two runs."""
    recorded = f"{run.intervals} intervals of {run.interval_s:g} s recorded"
    length = float(np.median(beats.length_s))
    beaten = f"{len(beats.end_s)} of {seconds(length)} with heartbeats"
    return f"{printable(run.app)}, rank {run.rank}, {recorded}, {beaten}"


def _aligned(found: Agreement) -> str:
    """Return a description of the alignment."""
    alignment = found.alignment
    if alignment.kind == "clock":
        return "one process, aligned by its clock"
    stretch = f"{alignment.stretch:.3g}"
    lengths = "two runs of the same length" if stretch == "1" else f"run lengths differ ({stretch}x)"
    if alignment.kind == "scale":
        return f"{lengths}; timelines scaled evenly"
    shift = f"mean shift {pct(alignment.warp_mean)} %, at most {pct(alignment.warp_max)} %"
    return f"{lengths}; timelines aligned by time-warping ({shift})"


def _verdict(found: Agreement) -> str:
    """Return the measures of agreement."""
    parts = [f"agreement {found.agreement:.3f}"]
    if found.unwarped is not None:
        parts[0] += f" ({found.unwarped:.3f} without warping)"
    if found.kappa is not None:
        parts.append(f"kappa {found.kappa:.3f}")
    parts.append(f"mean recall {found.balanced:.3f}")
    parts.append(f"{pct(found.compared_s / max(found.total_s, 1e-9))} % of the run compared")
    return ", ".join(parts)


def _ribbons(console: Console, found: Agreement) -> None:
    """Print both timelines from left to right, one below the other, with a time axis under them."""
    width = max(console.width - ROOM, 10)
    line = found.timeline
    at = (np.arange(width * FINE) + 0.5) * line.end_s[-1] / (width * FINE)
    piece = np.minimum(np.searchsorted(line.end_s, at), len(line.end_s) - 1)
    for name, labels in (("recorded", line.label), ("heartbeats", line.named)):
        text = Text(name.ljust(ROOM))
        for label, length in runs(cells(labels[piece], width)):
            text.append(_sign(label) * length, style=style(label))
        console.print(text, soft_wrap=True)
    console.print(" " * ROOM + "0 s" + elapsed(float(line.end_s[-1])).rjust(width - 3), soft_wrap=True)


def _sign(label: int) -> str:
    """Return the character for a recorded or indicated phase; a dot is no phase in both ribbons."""
    return "?" if label == UNSEEN else sign(label)


def _phase_table(result: PhaseResult, beats: Beats, found: Agreement, room: int) -> Table:
    """Return a table of the phases, a row each; names of heartbeats take at most `room` columns."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in ("Phase", OF_RUN, "Recall %", "Coverage %", "Busy %", "Spill %", "Rate /s", "Mean"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("Heartbeats", overflow="ellipsis", no_wrap=True)
    names = {n: name if name is not None else f"id {n}" for n, name in zip(beats.ids, beats.names, strict=True)}
    called = Names(names.values())
    for phase, recorded in zip(found.phases, result.phases, strict=True):
        own = "\n".join(called(names[number], room) for number in phase.heartbeats) or "(none)"
        table.add_row(
            Text(f" {badge(phase.id)} ", style=style(phase.id)), f"{recorded.app_pct:.1f}", *_cells(phase), own
        )
    return table


def _cells(phase: PhaseAgreement) -> tuple[str, ...]:
    """Return the measures of a phase, formatted."""
    return (
        pct(phase.recall),
        pct(phase.coverage),
        pct(phase.busy),
        pct(phase.spill_beats),
        "-" if phase.rate_hz is None else rate(phase.rate_hz),
        seconds(phase.mean_s),
    )


def _confusion_table(found: Agreement) -> Table:
    """Return the phases indicated by heartbeats for each phase's compared time, in percent of it."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("% of phase", justify="right", no_wrap=True)
    named = np.flatnonzero(found.confusion.sum(axis=0) > 0).tolist()
    for column in named:
        head = "silent" if column == len(found.phases) else f"as {found.phases[column].id}"
        table.add_column(head, justify="right", no_wrap=True)
    for phase, row in zip(found.phases, found.confusion, strict=True):
        if row.sum() > 0:
            shares = (row / row.sum()).tolist()
            table.add_row(Text(f" {badge(phase.id)} ", style=style(phase.id)), *(pct(shares[c]) for c in named))
    return table


def _cost_line(cost: Overhead | None) -> str:
    """Return a description of the heartbeats' overhead."""
    if cost is None:
        return "what a heartbeat costs is not in this run's files"
    took = f"{cost.beats:.0f} of {cost.pair_ns:.3g} ns"
    if cost.skipped > 0:
        took += f", {cost.skipped:.0f} skipped of {cost.skipped_ns:.3g} ns"
    if cost.predicted_pct is not None:
        took += f"; the recorded calls predict {_pct(cost.predicted_pct)}"
    base = "CPU time" if cost.base == "cpu" else "the threads' wall time"
    parts = f"beats {_pct(cost.beats_pct)} ({took}), interval thread {seconds(cost.own_s)}"
    return f"overhead {_pct(cost.pct)} of {elapsed(cost.base_s)} of {base}: {parts}"


def _pct(value: float | None) -> str:
    """Format a percentage with two digits."""
    return "-" if value is None else f"{value:.2g} %"


# A comparison of heartbeats with a recording as JSON, schema incprof.validate/1 (docs/use/validate.md).


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
