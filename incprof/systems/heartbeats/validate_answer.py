"""A comparison of heartbeats with a recording as text and as JSON, schema incprof.validate/1 (docs/use/validate.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TextIO

import numpy as np
from rich.console import Console
from rich.text import Text

from incprof.analysis.phase_result import PhaseResult, RunSummary
from incprof.analysis.views.tracks import cells, runs, sign
from incprof.model.section import Column, Table, unseen
from incprof.report.render.json import fields, json_rows, rounded, run_json, write
from incprof.report.render.text import console_for, text_table
from incprof.report.words.colours import style
from incprof.report.words.display_names import Names
from incprof.report.words.formatting import OF_RUN, elapsed, pct, seconds
from incprof.safe.printable import printable
from incprof.systems.heartbeats.validation import (
    UNSEEN,
    Agreement,
    Beats,
    Overhead,
    PhaseAgreement,
    Timeline,
)

ROOM = len("heartbeats  ")
FINE = 8
# Terminal columns of a heartbeat's name, at least, and where there is room.
LEAST_NAME, LONGEST = 20, 1000
SHARES = {"Recall %": "recall", "Coverage %": "coverage", "Busy %": "busy", "Spill %": "spill_beats"}
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
    console.print(text_table(_phase_table(found.phases, result, beats), console.width))
    if found.agreement < PERFECT and len(found.phases) > 1:
        console.print()
        console.print(text_table(_confusion_table(found), console.width))
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


def _phase_table(phases: Sequence[PhaseAgreement], result: PhaseResult, beats: Beats) -> Table:
    """Return the phases, a row each."""
    names = {n: name if name is not None else f"id {n}" for n, name in zip(beats.ids, beats.names, strict=True)}
    called = Names(names.values())

    def heartbeats(phase: PhaseAgreement, room: int) -> str:
        room = max(room // max(len(phase.heartbeats), 1), LEAST_NAME)
        return ", ".join(called(names[number], room) for number in phase.heartbeats) or "(none)"

    columns = (
        Column("Phase", lambda phase: phase.id, "phase", key="id"),
        Column(None, lambda phase: rounded(phase.seconds), key="seconds"),
        *unseen("heartbeats missing same_as"),
        Column(OF_RUN, lambda phase: f"{result.phases[phase.id].app_pct:.1f}", "percent"),
        *(Column(head, _share(key), "percent", key=key) for head, key in SHARES.items()),
        Column(None, lambda phase: rounded(phase.spill_busy), key="spill_busy"),
        Column("Rate /s", lambda phase: rounded(phase.rate_hz), "number", key="rate_hz"),
        Column("Mean", lambda phase: None if phase.mean_s is None else round(phase.mean_s, 12), "s", key="mean_s"),
        Column("Heartbeats", lambda phase: heartbeats(phase, LONGEST), fit=heartbeats),
    )
    return Table(columns, phases)


def _share(key: str) -> Callable[[PhaseAgreement], float | None]:
    """Return a function that reads a share of a phase."""
    return lambda phase: rounded(getattr(phase, key))


def _confusion_table(found: Agreement) -> Table:
    """Return the phases indicated by heartbeats for each phase's compared time, in percent of it."""

    def share(column: int) -> Column:
        head = "silent" if column == len(found.phases) else f"as {found.phases[column].id}"
        return Column(head, lambda row: float(row[1][column] / row[1].sum()), "percent")

    named = np.flatnonzero(found.confusion.sum(axis=0) > 0).tolist()
    rows = [(phase.id, row) for phase, row in zip(found.phases, found.confusion, strict=True) if row.sum() > 0]
    return Table((Column("% of phase", lambda row: row[0], "phase"), *map(share, named)), rows)


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


def write_json(
    run: RunSummary, result: PhaseResult, beats: Beats, found: Agreement, cost: Overhead | None, out: TextIO
) -> None:
    """Write one JSON object and a newline."""
    answer = {
        "schema": SCHEMA,
        "run": run_json(run),
        **fields(found, "agreement kappa balanced compared_s total_s"),
        "alignment": {
            **fields(found.alignment, "kind stretch warp_mean warp_max"),
            **fields(found, "agreement_without_warp=unwarped"),
            **fields(found.alignment, "recorded_s heartbeats_s=beats_s"),
        },
        "phases": json_rows(_phase_table(found.phases, result, beats)),
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
        **fields(beats, "others"),
        "overhead": cost
        and {
            "beats": int(cost.beats),
            "skipped": int(cost.skipped),
            **fields(cost, "pair_ns skipped_ns own_s seconds base base_s pct beats_pct predicted_pct"),
        },
        "timeline": _timeline(found.timeline),
        **fields(found, "notes"),
    }
    write(answer, out)


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
