"""The communication of a run drawn: the MPI part of the page, and the picture of a signature."""

from __future__ import annotations

import os
from importlib.resources import files
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from incprof.analysis.views.page_parts import SystemPart
from incprof.errors import NoDataError
from incprof.report.plots import WIDTH_IN, save, time_unit
from incprof.report.words.colours import NO_PHASE, marked, phase_colour
from incprof.report.words.display_names import clean
from incprof.report.words.formatting import count, duration, fitted, pct, seconds, size
from incprof.safe.printable import printable
from incprof.study.study import Study
from incprof.systems.mpi.analyse.communication import Communication, PlaceTime, communication
from incprof.systems.mpi.analyse.signature import PARTS, ProcessSignature, Signature
from incprof.systems.mpi.call_sums import summarise
from incprof.systems.mpi.run_signature import find_signature, profile_phases
from incprof.systems.mpi.signature_answer import Within, calls_of, place_of
from incprof.systems.mpi.trace_file import find_traces

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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


def _words(communication: Communication, inside: Within | None) -> dict[str, Any]:
    """Return the sentences, tables and drawings about MPI."""
    process = communication.signature.process
    forecast, aet_s = process.predicted, process.phases_found.aet_s
    shown = np.unique(
        np.linspace(0, len(communication.ranks) - 1, min(len(communication.ranks), MOST_RANKS)).astype(int)
    ).tolist()
    return {
        "ranks": len(communication.ranks),
        "rank": process.rank,
        "lead": f"{pct(communication.mpi_s / max(communication.seconds, 1e-12))} % of the processes' time is in MPI. "
        f"Phases of the communication are {pct(process.phases_found.coverage)} % of rank {process.rank}, "
        "the representative one; "
        f"its first {seconds(forecast.set_s)} predict {seconds(forecast.pet_s)}, and it took {seconds(aet_s)}.",
        "phases": [_phase(process, number, inside) for number in range(len(process.phases_found.phases))],
        "within": inside is not None,
        "rows": [{"rank": communication.ranks[row], "segments": _segments(communication, row)} for row in shown],
        "left": len(communication.ranks) - len(shown),
        "end": duration(float(communication.ends_s.max(initial=0.0))),
        "matrix": _matrix(communication),
        "places": [_place(one, communication) for one in communication.places[:MOST_PLACES]],
        "more": max(len(communication.places) - MOST_PLACES, 0),
    }


def _phase(process: ProcessSignature, number: int, inside: Within | None) -> dict[str, Any]:
    phase, time = process.phases_found.phases[number], process.predicted.phases[number]
    profile_phase = inside[number] if inside is not None else None
    return {
        "id": phase.id,
        "colour": phase_colour(phase.id),
        "marked": marked(phase.id),
        "weight": phase.weight,
        "mean": seconds(time.mean_s),
        "share": round(100 * phase.seconds / max(process.phases_found.aet_s, 1e-12), 1),
        "calls": clean(calls_of(phase, process)),
        "where": clean(place_of(process.kinds[phase.kinds[0]])),
        "profile": None if profile_phase is None else profile_phase[0],
        "inside": "" if profile_phase is None else f"{pct(profile_phase[1])} %",
    }


def _segments(communication: Communication, row: int) -> list[dict[str, Any]]:
    """Return the segments of one rank, with their places in percent of the longest run."""
    parts = communication.parts[row]
    begins = np.flatnonzero(np.diff(parts, prepend=-2))
    scale = float(communication.ends_s[row]) / max(float(communication.ends_s.max()), 1e-12) * 100 / PARTS
    out = []
    for first, end in zip(begins.tolist(), [*begins[1:].tolist(), PARTS], strict=True):
        phase = int(parts[first])
        out.append(
            {
                "x": round(first * scale, 2),
                "width": round((end - first) * scale, 2),
                "colour": phase_colour(phase) or NO_PHASE["light"],
                "marked": marked(phase),
                "said": f"phase {phase}" if phase >= 0 else "no phase",
            }
        )
    return out


def _matrix(communication: Communication) -> list[dict[str, Any]]:
    """Return the nonempty cells: places in percent of the matrix, and bytes relative to the largest."""
    cells, most = len(communication.cells) - 1, float(communication.bytes.max(initial=0.0))
    side = round(100 / cells, 3)
    out = []
    for row, column in np.argwhere(communication.bytes > 0).tolist():
        amount = float(communication.bytes[row, column])
        label = f"{_ranks(communication, row)} to {_ranks(communication, column)}: {size(round(amount))}"
        place = {"x": round(column * 100 / cells, 3), "y": round(row * 100 / cells, 3), "side": side}
        # The offset makes small amounts visible.
        out.append({**place, "strength": round(0.15 + 0.85 * amount / most, 2), "said": label})
    return out


def _ranks(communication: Communication, cell: int) -> str:
    first, last = int(communication.cells[cell]), int(communication.cells[cell + 1]) - 1
    return f"rank {first}" if first == last else f"ranks {first} to {last}"


def _place(one: PlaceTime, communication: Communication) -> dict[str, Any]:
    return {
        "name": one.function,
        "where": clean(f"{os.path.basename(one.file)}:{one.line}") if one.file is not None else "",
        "calls": one.calls,
        "seconds": seconds(one.seconds),
        "share": round(100 * one.seconds / max(communication.seconds, 1e-12), 1),
        "bytes": size(one.bytes) if one.bytes else "",
    }


# The signature of a run as a picture: its phases over ranks and time, messages between ranks, time at each call.


# Number of calls with a bar, and room for their names.
MOST_DRAWN, ROOM = 10, 34
ROW_IN, LEAST_IN, MOST_IN = 0.2, 0.8, 4.0


def write_plot(communication: Communication, out: BinaryIO, form: str) -> None:
    """Write the picture. form: `svg`, `png` or `pdf`.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    save(lambda: figure(communication), out, form)


def figure(communication: Communication) -> Figure:
    """Return the picture, not yet drawn."""
    from matplotlib.figure import Figure

    upper_in = min(max(ROW_IN * len(communication.ranks), LEAST_IN), MOST_IN)
    picture = Figure(figsize=(WIDTH_IN, upper_in + 3.4), layout="constrained")
    rows = picture.subfigures(2, 1, height_ratios=(upper_in + 0.5, 2.9))
    _timeline(rows[0].subplots(), communication)
    left, right = rows[1].subplots(1, 2)
    _draw_matrix(left, communication)
    _places(right, communication)
    process = communication.signature.process
    ranks, phases = len(communication.ranks), len(process.phases_found.phases)
    title = f"{fitted(printable(process.app), 40)}, {count(ranks, 'rank')}, {count(phases, 'phase')}"
    picture.suptitle(title, fontsize=9, x=0.01, ha="left").set_parse_math(False)
    return picture


def _timeline(axes: Axes, communication: Communication) -> None:
    """Draw a row for each rank in the colours of its phases, as long as its duration."""
    from matplotlib.colors import ListedColormap

    divisor, unit = time_unit(float(communication.ends_s.max(initial=0.0)))
    colours = ListedColormap([NO_PHASE["light"], *(phase_colour(phase) for phase in range(communication.phases))])
    for row, (parts, end) in enumerate(zip(communication.parts, communication.ends_s, strict=True)):
        edges = np.linspace(0.0, float(end) / divisor, PARTS + 1)
        mesh = axes.pcolormesh(edges, [row - 0.45, row + 0.45], parts[None] + 1, cmap=colours, rasterized=True)
        mesh.set_clim(-0.5, communication.phases + 0.5)
    shown = np.unique(np.linspace(0, len(communication.ranks) - 1, 8).astype(int))
    axes.set_yticks(shown, [str(communication.ranks[row]) for row in shown])
    axes.set_ylim(len(communication.ranks) - 0.5, -0.5)
    axes.set_xlabel(f"Time since start ({unit})")
    axes.set_ylabel("Rank")


def _draw_matrix(axes: Axes, communication: Communication) -> None:
    """Draw the bytes from each rank to each other."""
    cells = communication.cells - 0.5
    moved = np.ma.masked_equal(communication.bytes / 2**20, 0.0)
    mesh = axes.pcolormesh(cells, cells, moved, cmap="viridis_r", vmin=0, rasterized=True)
    axes.set_aspect("equal")
    axes.invert_yaxis()
    axes.set_xlabel("to rank")
    axes.set_ylabel("from rank")
    axes.locator_params(integer=True)
    axes.figure.colorbar(mesh, ax=axes, label="MiB in messages")


def _places(axes: Axes, communication: Communication) -> None:
    """Draw the time in MPI by call, summed over all processes."""
    shown = communication.places[:MOST_DRAWN]
    axes.barh(
        np.arange(len(shown)), [100 * one.seconds / max(communication.seconds, 1e-12) for one in shown], color="#0072B2"
    )
    axes.set_yticks(np.arange(len(shown)), [_named(one) for one in shown], fontsize=7)
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    axes.invert_yaxis()
    axes.set_xlabel(
        f"% of the processes' time; {pct(communication.mpi_s / max(communication.seconds, 1e-12))} % in MPI"
    )


def _named(one: PlaceTime) -> str:
    where = f" {os.path.basename(one.file)}:{one.line}" if one.file is not None else ""
    return fitted(printable(one.function + where), ROOM)
