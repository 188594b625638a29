"""The signature of a run as text and as JSON, schema incprof.signature/1 (docs/use/signature.md)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TextIO

import numpy as np

from incprof.analysis.views.tracks import SIGNS, sign, stretched
from incprof.model.section import Column, Table
from incprof.report.render.json import exact, fields, json_rows, significant, write
from incprof.report.render.plain import write_plain
from incprof.report.words.formatting import OF_RUN, count, pct, seconds
from incprof.safe.printable import printable
from incprof.systems.mpi.analyse.event_phases import EventPhase
from incprof.systems.mpi.analyse.mpi_events import TIMES, EventKind
from incprof.systems.mpi.analyse.pas2p import SIMILAR
from incprof.systems.mpi.analyse.signature import ProcessSignature, Signature, outside_after
from incprof.systems.mpi.trace_answer import work_unit

# Greatest number of ranks with a row.
MOST_RANKS = 16
QUARTILES = (25, 50, 75)
METHODS = {"robust": "loops of calls", "paper": "EPAS, each process by itself", "global": "PAS2P, one logical order"}
# Greatest number of calls named for a phase.
NAMED = 6
# For each phase, the profile phase in which it lies, and the share of it that does; None if unknown.
Within = Sequence[tuple[int, float] | None]


def write_text(
    signature: Signature,
    out: TextIO,
    *,
    width: int = 100,
    profile_phases: Within | None = None,
) -> None:
    """Write the phases of the representative process, and a row for each process.

    Args:
        signature: The signature of a run.
        out: The output stream.
        width: Width of a line.
        profile_phases: The profile phase in which each phase lies.
    """
    process = signature.process
    ranks = len(signature.processes)
    process_phases, forecast = process.phases_found, process.predicted
    calls = f"{process.events} MPI calls of rank {process.rank}"
    what = f"method {signature.method} ({METHODS[signature.method]})"
    out.write(f"{printable(process.app)}, {count(ranks, 'rank')}, {calls}, {what}\n")
    if signature.method != "robust":
        out.write(f"{work_line(signature)}\n")
    part = forecast.set_s / process_phases.aet_s if process_phases.aet_s else 0.0
    once = signature.set_s / process_phases.aet_s if process_phases.aet_s else 0.0
    out.write(
        f"{count(len(process_phases.phases), 'phase')} in {pct(process_phases.coverage)} % "
        f"of {seconds(process_phases.aet_s)}\n"
    )
    out.write(
        f"predicted from the first {seconds(forecast.set_s)} ({pct(part)} % of the run): {seconds(forecast.pet_s)}, "
        f"{seconds(forecast.low_s)} to {seconds(forecast.high_s)}; off by {pct(process.error)} %\n"
    )
    out.write(f"{_executed(signature)}; its phases once: {seconds(signature.set_s)} ({pct(once)} %)\n")
    for line in _left_or_awaited(signature):
        out.write(line + "\n")
    out.write("\n")
    out.write("".join(sign(one) for one in stretched(process.parts, width)) + "\n\n")
    if process_phases.phases:
        write_plain(_phases(process, profile_phases), out)
        out.write("\n")
    table = _ranks(signature)
    write_plain(replace(table, rows=table.rows[:MOST_RANKS]), out)
    if len(table.rows) > MOST_RANKS:
        out.write(f"and {len(table.rows) - MOST_RANKS} more\n")


def _executed(signature: Signature) -> str:
    """Describe how much of the program a signature run executes."""
    ending, aet_s = signature.ending, signature.process.phases_found.aet_s
    part = ending.executed_s / aet_s if aet_s else 0.0
    how = f"a signature run executes {seconds(ending.executed_s)} ({pct(part)} % of the run)"
    if ending.collective is not None:
        return f"{how}, until a call of all ranks"
    if ending.calls is not None:
        return f"{how}, until each rank's own call"
    return f"{how}: no earlier call can end all ranks"


def _left_or_awaited(signature: Signature) -> Iterator[str]:
    """Yield notes on phases that begin too late to be measured, and on the one that a signature run waits for."""
    process_phases, times = signature.process.phases_found, signature.process.predicted.phases
    for phase, time in zip(process_phases.phases, times, strict=True):
        if time.measured == 0:
            share = pct(phase.seconds / process_phases.aet_s)
            yield f"phase {phase.id} ({share} % of the run) comes later: its time is scaled like that of the others"
    late = signature.late
    if late is not None:
        share, at = pct(late.seconds / process_phases.aet_s), times[late.id].enough_s
        yield (
            f"phase {late.id} ({share} % of the run) first occurs after {seconds(at)}: "
            "--most R leaves out phases that begin after that part of the run, and scales them like the rest"
        )


def _phases(process: ProcessSignature, profile_phases: Within | None) -> Table:
    """Return a row for each phase."""

    def quartiles(phase: EventPhase) -> list[float]:
        return [float(value) for value in np.percentile(phase.time_s, QUARTILES)]

    def middle_half(phase: EventPhase) -> str:
        low, _, high = quartiles(phase)
        return f"{seconds(low)} - {seconds(high)}"

    columns: tuple[Column, ...] = (
        Column("Phase", lambda one: SIGNS[one.id] if 10 <= one.id < len(SIGNS) else str(one.id), "count"),
        Column("Weight", lambda one: one.weight, "count"),
        Column("Median", lambda one: quartiles(one)[1], "s"),
        Column("25-75 %", middle_half, "s"),
        Column(OF_RUN, lambda one: one.seconds / process.phases_found.aet_s, "percent"),
        Column("Begins at", lambda one: place_of(process.kinds[one.kinds[0]]) or None),
        Column("Calls", lambda one: calls_of(one, process)),
    )
    if profile_phases is not None:
        columns += (Column("Profile phase", lambda one: _profile_phase(profile_phases[one.id])),)
    return Table(columns, process.phases_found.phases)


def _profile_phase(profile_phase: tuple[int, float] | None) -> str:
    """Format the profile phase."""
    return "-" if profile_phase is None else f"{profile_phase[0]} ({pct(profile_phase[1])} %)"


def _ranks(signature: Signature) -> Table:
    """Return a row for each rank."""

    def remark(one: ProcessSignature) -> str:
        return "representative" if one is signature.process else "" if one.clean else "trace incomplete"

    columns = (
        Column("Rank", lambda one: one.rank, "count", key="rank"),
        Column("Measured", lambda one: one.phases_found.aet_s, "s", key="aet_s"),
        Column("Predicted", lambda one: one.predicted.pet_s, "s", key="pet_s"),
        Column("Error", lambda one: f"{pct(one.error)} %", "%"),
        Column("In phases", lambda one: f"{pct(one.phases_found.coverage)} %", "%"),
        Column(None, lambda one: one.phases_found.coverage, key="coverage"),
        Column("Phases", lambda one: len(one.phases_found.phases), "count", key="phases"),
        Column("Calls", lambda one: one.events, "count", key="events"),
        Column("", remark),
        Column(None, lambda one: one.clean, key="clean"),
    )
    return Table(columns, signature.processes)


def by_modes(signature: Signature) -> bool:
    """Return whether occurrences were distinguished by the modes of their work, which is a time."""
    is_time = signature.process.work_unit in TIMES
    return signature.method != "robust" and signature.options.similar is None and is_time


def work_line(signature: Signature) -> str:
    """Return the unit of work, and how it was compared."""
    process = signature.process
    unit = work_unit(process.work_unit, process.work_missing)
    return f"{unit}; compared by its modes" if by_modes(signature) else unit


def place_of(kind: EventKind) -> str:
    """Return the place of a call: file and line, else module and address, else nothing."""
    return kind.key.partition("@")[2]


def calls_of(phase: EventPhase, process: ProcessSignature) -> str:
    """Return the calls of a phase in order; consecutive equal calls are merged, with their number."""
    out: list[tuple[str, int]] = []
    for number in phase.kinds:
        name = process.kinds[number].function
        if out and out[-1][0] == name:
            out[-1] = (name, out[-1][1] + 1)
        else:
            out.append((name, 1))
    named = [name if count == 1 else f"{name} x{count}" for name, count in out[:NAMED]]
    return " ".join(named) + (f" and {len(phase.kinds)} calls in all" if len(out) > NAMED else "")


def write_phase_table(signature: Signature, out: TextIO, *, in_sends: bool) -> None:
    """Write the rows, by first appearance; the endpoint is the event, or the send, after the last one."""
    process = signature.process
    for phase, sends in zip(process.phases_found.phases, process.sends, strict=True):
        start, end = sends if in_sends else (int(phase.starts[0]), int(phase.ends[0]))
        out.write(f"{start} {end} {phase.id} {phase.id} {phase.weight}\n")


# The signature of a run as JSON, schema incprof.signature/1 (docs/use/signature.md).


SCHEMA = "incprof.signature/1"
# Greatest number of occurrences of a phase whose times are kept: as many as a signature run may see.
MOST_TIMES = 10_000


def write_json(
    signature: Signature,
    out: TextIO,
    *,
    whole: bool = False,
    profile_phases: Within | None = None,
) -> None:
    """Write one JSON object and a newline.

    Args:
        signature: The signature of a run.
        out: The output stream.
        whole: Whether to include the data for a signature run: keys, kinds of events, and times of occurrences.
        profile_phases: The profile phase in which each phase lies.
    """
    process, options, ending = signature.process, signature.options, signature.ending
    forecast, found = process.predicted, process.phases_found
    answer: dict[str, object] = {
        "schema": SCHEMA,
        "app": process.app,
        "ranks": len(signature.processes),
        "rank": process.rank,
        "method": signature.method,
        "options": {
            "similar": SIMILAR if options.similar is None else options.similar,
            **fields(options, "relevant warm_up occurrences", exact),
            "precise": options.precise if math.isfinite(options.precise) else None,
            "most": options.most,
        },
        "work": {
            "unit": process.work_unit,
            "missing": process.work_missing or None,
            "by_modes": by_modes(signature),
        },
        "aet_s": significant(found.aet_s),
        **fields(forecast, "pet_s pet_low_s=low_s pet_high_s=high_s set_s", significant),
        **fields(signature, "phases_s=set_s", significant),
        **fields(found, "coverage outside_s", significant),
        "events": process.events,
        "needed_events": forecast.events,
        "until": ending.collective,
        "until_calls": None if ending.calls is None else _in_a_row(ending.calls),
        **fields(ending, "until_events=events until_s=seconds executed_s", significant),
        "outside_after_s": significant(outside_after(process, ending.seconds)),
        "phases": [_phase(signature, number, whole, profile_phases) for number in range(len(found.phases))],
        "per_rank": json_rows(_ranks(signature)),
    }
    if whole:
        answer["kinds"] = [_kind(*kind) for kind in zip(process.kinds, process.kind_bytes, strict=True)]
        if found.grammar is not None:
            answer["loops"] = {"contents": found.grammar.contents, "steps": found.grammar.steps}
        program = process.program
        answer["program"] = {
            "arguments": list(program.arguments),
            "files": {str(place): digest for place, digest in program.files.items()},
            "modules": dict(program.modules),
        }
    write(answer, out)


def _in_a_row(calls: Sequence[tuple[str, int]]) -> list[list[object]]:
    """Return function and number of calls, and the number of consecutive ranks for which they apply."""
    return [[f"MPI_{function}", count, len(list(same))] for (function, count), same in groupby(calls)]


def _phase(signature: Signature, number: int, whole: bool, profile_phases: Within | None) -> dict[str, object]:
    process, by_place = signature.process, signature.method != "robust"
    phase, time = process.phases_found.phases[number], process.predicted.phases[number]
    first = process.kinds[phase.kinds[0]]
    most = min(len(phase.starts), MOST_TIMES) if by_place else MOST_TIMES
    answer: dict[str, object] = {
        **fields(phase, "id weight"),
        "awaited": time.enough_s <= signature.ending.seconds,
        **fields(time, "mean_s low_s high_s", significant),
        "seconds": significant(phase.seconds),
        "start": int(phase.starts[0]),
        "end": int(phase.ends[0]),
        "calls": [process.kinds[kind].function for kind in phase.kinds[:MOST_TIMES]],
        **fields(first, "file line"),
    }
    if profile_phases is not None:
        profile_phase = profile_phases[number]
        answer["profile_phase"] = None if profile_phase is None else profile_phase[0]
    if whole:
        answer |= {
            **fields(phase, "loop whole"),
            "events": list(phase.kinds),
            "time_s": [significant(float(one), 9) for one in phase.time_s[:most]],
        }
        if by_place:
            places = zip(phase.starts[:most].tolist(), phase.ends[:most].tolist(), strict=True)
            answer["at"] = [list(place) for place in places]
    return answer


def _kind(kind: EventKind, size: float | None) -> dict[str, object]:
    return {
        "function": f"MPI_{kind.function}",
        "bytes": significant(size),
        "key": kind.key,
        "module": kind.site.module if kind.site else None,
        "address": kind.site.address if kind.site else None,
        **fields(kind, "file line"),
    }
