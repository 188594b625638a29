"""What stands on a page about MPI: phases of the communication over ranks, who talks to whom, time at each call."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from incprof.analysis.signature.find import PARTS, ProcessSignature
from incprof.analysis.views.communication import Communication, PlaceTime
from incprof.report.page.parts import MpiParts
from incprof.report.words.colours import NO_PHASE, marked, phase_colour
from incprof.report.words.figures import duration
from incprof.report.words.names import clean
from incprof.report.words.numbers import percent, seconds
from incprof.report.words.signature import Within, calls_of, place_of
from incprof.report.words.sizes import size

# Rows of the timeline, spread over all ranks; rows of the table of calls.
MOST_RANKS, MOST_PLACES = 32, 25


def mpi_words(parts: MpiParts) -> dict[str, Any]:
    """Return the sentences, tables and drawings about MPI."""
    found = parts.found
    process = found.signature.process
    guess, aet_s = process.predicted, process.found.aet_s
    shown = np.unique(np.linspace(0, len(found.ranks) - 1, min(len(found.ranks), MOST_RANKS)).astype(int)).tolist()
    return {
        "ranks": len(found.ranks),
        "rank": process.rank,
        "lead": f"{percent(found.mpi_s / max(found.seconds, 1e-12))} % of the processes' time is in MPI. Phases of the "
        f"communication are {percent(process.found.coverage)} % of rank {process.rank}, the representative one; its "
        f"first {seconds(guess.set_s)} predict {seconds(guess.pet_s)}, and it took {seconds(aet_s)}.",
        "phases": [_phase(process, number, parts.within) for number in range(len(process.found.phases))],
        "within": parts.within is not None,
        "rows": [{"rank": found.ranks[row], "stretches": _stretches(found, row)} for row in shown],
        "left": len(found.ranks) - len(shown),
        "end": duration(float(found.ends_s.max(initial=0.0))),
        "matrix": _matrix(found),
        "places": [_place(one, found) for one in found.places[:MOST_PLACES]],
        "more": max(len(found.places) - MOST_PLACES, 0),
    }


def _phase(process: ProcessSignature, number: int, within: Within | None) -> dict[str, Any]:
    phase, time = process.found.phases[number], process.predicted.phases[number]
    lies = within[number] if within is not None else None
    return {
        "id": phase.id,
        "colour": phase_colour(phase.id),
        "marked": marked(phase.id),
        "weight": phase.weight,
        "mean": seconds(time.mean_s),
        "share": round(100 * phase.seconds / max(process.found.aet_s, 1e-12), 1),
        "calls": clean(calls_of(phase, process)),
        "where": clean(place_of(process.kinds[phase.kinds[0]])),
        "profile": None if lies is None else lies[0],
        "inside": "" if lies is None else f"{percent(lies[1])} %",
    }


def _stretches(found: Communication, row: int) -> list[dict[str, Any]]:
    """Return the stretches of one rank that are in one phase: where they lie in percent of the longest run."""
    parts = found.parts[row]
    begins = np.flatnonzero(np.diff(parts, prepend=-2))
    whole = float(found.ends_s[row]) / max(float(found.ends_s.max()), 1e-12) * 100 / PARTS
    out = []
    for first, end in zip(begins.tolist(), [*begins[1:].tolist(), PARTS], strict=True):
        phase = int(parts[first])
        out.append(
            {
                "x": round(first * whole, 2),
                "width": round((end - first) * whole, 2),
                "colour": phase_colour(phase) or NO_PHASE["light"],
                "marked": marked(phase),
                "said": f"phase {phase}" if phase >= 0 else "no phase",
            }
        )
    return out


def _matrix(found: Communication) -> list[dict[str, Any]]:
    """Return the cells that are not empty, in percent of the whole, and how much of the largest each is."""
    count, most = len(found.cells) - 1, float(found.bytes.max(initial=0.0))
    side = round(100 / count, 3)
    out = []
    for row, column in np.argwhere(found.bytes > 0).tolist():
        amount = float(found.bytes[row, column])
        said = f"{_ranks(found, row)} to {_ranks(found, column)}: {size(round(amount))}"
        place = {"x": round(column * 100 / count, 3), "y": round(row * 100 / count, 3), "side": side}
        # So that little is seen as well.
        out.append({**place, "strength": round(0.15 + 0.85 * amount / most, 2), "said": said})
    return out


def _ranks(found: Communication, cell: int) -> str:
    first, last = int(found.cells[cell]), int(found.cells[cell + 1]) - 1
    return f"rank {first}" if first == last else f"ranks {first} to {last}"


def _place(one: PlaceTime, found: Communication) -> dict[str, Any]:
    return {
        "name": one.function,
        "where": clean(f"{os.path.basename(one.file)}:{one.line}") if one.file is not None else "",
        "calls": one.calls,
        "seconds": seconds(one.seconds),
        "share": round(100 * one.seconds / max(found.seconds, 1e-12), 1),
        "bytes": size(one.bytes) if one.bytes else "",
    }
