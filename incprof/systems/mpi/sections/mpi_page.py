"""MPI part of the page: phases of the communication over ranks, messages between ranks, time at each call."""

from __future__ import annotations

import os
from importlib.resources import files
from typing import Any

import numpy as np

from incprof.analysis.views.page_parts import SystemPart
from incprof.errors import NoDataError
from incprof.report.words.colours import NO_PHASE, marked, phase_colour
from incprof.report.words.display_names import clean
from incprof.report.words.formatting import duration, pct, seconds, size
from incprof.study.study import Study
from incprof.systems.mpi.analyse.communication import Communication, PlaceTime, communication
from incprof.systems.mpi.analyse.signature import PARTS, ProcessSignature, Signature
from incprof.systems.mpi.call_sums import summarise
from incprof.systems.mpi.read.trace_file import find_traces
from incprof.systems.mpi.sections.signature_text import Within, calls_of, place_of
from incprof.systems.mpi.signatures.run_signature import find_signature, profile_phases

# Rows of the timeline, spread over all ranks; rows of the table of calls.
MOST_RANKS, MOST_PLACES = 32, 25
TEMPLATE = "mpi.html.j2"


def page_parts(study: Study, trace: str | None) -> tuple[tuple[SystemPart, ...], list[str]]:
    """Return the page's part on MPI, if there is one, and a line for each trace that could not be read.

    Args:
        study: Study of the run.
        trace: Directory of the traces; None: the run's own, which need not have any.

    Raises:
        NoDataError: `trace` has no readable one.
    """
    directory = os.fspath(study.run.directory) if trace is None else trace
    try:
        find_traces(directory)
    except NoDataError:
        if trace is not None:
            raise
        return (), []
    options = study.options
    try:
        signature, unread = find_signature(directory, jobs=options.jobs, dask=options.dask, listener=study.listener)
    except NoDataError as error:
        if trace is not None:
            raise
        return (), [str(error)]
    inside = profile_phases(os.fspath(study.run.directory), signature.process)
    template = files(__package__).joinpath(TEMPLATE).read_text(encoding="utf-8")
    return (SystemPart(TEMPLATE, template, _words(drawn(directory, signature), inside)),), unread


def drawn(directory: str, signature: Signature) -> Communication:
    """Return the communication of a run, for its drawings.

    Raises:
        NoDataError: none of its traces can be read any longer.
    """
    return communication(signature, summarise(directory))


def _words(found: Communication, inside: Within | None) -> dict[str, Any]:
    """Return the sentences, tables and drawings about MPI."""
    process = found.signature.process
    guess, aet_s = process.predicted, process.found.aet_s
    shown = np.unique(np.linspace(0, len(found.ranks) - 1, min(len(found.ranks), MOST_RANKS)).astype(int)).tolist()
    return {
        "ranks": len(found.ranks),
        "rank": process.rank,
        "lead": f"{pct(found.mpi_s / max(found.seconds, 1e-12))} % of the processes' time is in MPI. Phases of the "
        f"communication are {pct(process.found.coverage)} % of rank {process.rank}, the representative one; its "
        f"first {seconds(guess.set_s)} predict {seconds(guess.pet_s)}, and it took {seconds(aet_s)}.",
        "phases": [_phase(process, number, inside) for number in range(len(process.found.phases))],
        "within": inside is not None,
        "rows": [{"rank": found.ranks[row], "stretches": _stretches(found, row)} for row in shown],
        "left": len(found.ranks) - len(shown),
        "end": duration(float(found.ends_s.max(initial=0.0))),
        "matrix": _matrix(found),
        "places": [_place(one, found) for one in found.places[:MOST_PLACES]],
        "more": max(len(found.places) - MOST_PLACES, 0),
    }


def _phase(process: ProcessSignature, number: int, inside: Within | None) -> dict[str, Any]:
    phase, time = process.found.phases[number], process.predicted.phases[number]
    lies = inside[number] if inside is not None else None
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
        "inside": "" if lies is None else f"{pct(lies[1])} %",
    }


def _stretches(found: Communication, row: int) -> list[dict[str, Any]]:
    """Return the segments of one rank, with their places in percent of the longest run."""
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
    """Return the nonempty cells: places in percent of the matrix, and bytes relative to the largest."""
    count, most = len(found.cells) - 1, float(found.bytes.max(initial=0.0))
    side = round(100 / count, 3)
    out = []
    for row, column in np.argwhere(found.bytes > 0).tolist():
        amount = float(found.bytes[row, column])
        said = f"{_ranks(found, row)} to {_ranks(found, column)}: {size(round(amount))}"
        place = {"x": round(column * 100 / count, 3), "y": round(row * 100 / count, 3), "side": side}
        # The offset makes small amounts visible.
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
