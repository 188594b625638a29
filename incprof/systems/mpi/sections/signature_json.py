"""The signature of a run as JSON, schema incprof.signature/1 (docs/use/signature.md)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import TextIO

from incprof.report.json.writing import significant, write
from incprof.systems.mpi.analyse.epas import SIMILAR
from incprof.systems.mpi.analyse.mpi_events import EventKind
from incprof.systems.mpi.analyse.signature import ProcessSignature, Signature, outside_after
from incprof.systems.mpi.sections.signature_text import Within, by_modes

SCHEMA = "incprof.signature/1"
# Greatest number of occurrences of a phase whose times are kept: as many as a signature run may see.
MOST_TIMES = 10_000


def write_json(
    signature: Signature,
    out: TextIO,
    *,
    whole: bool = False,
    within: Within | None = None,
) -> None:
    """Write one JSON object and a newline.

    Args:
        signature: The signature of a run.
        out: The output stream.
        whole: Whether to include the data for a signature run: keys, kinds of events, and times of occurrences.
        within: The profile phase in which each phase lies.
    """
    process = signature.process
    guess, options, ending = process.predicted, signature.options, signature.ending
    answer: dict[str, object] = {
        "schema": SCHEMA,
        "app": process.app,
        "ranks": len(signature.processes),
        "rank": process.rank,
        "method": signature.method,
        "options": {
            "similar": SIMILAR if options.similar is None else options.similar,
            "relevant": options.relevant,
            "warm_up": options.warm_up,
            "occurrences": options.occurrences,
            "precise": options.precise if math.isfinite(options.precise) else None,
            "most": options.most,
        },
        "work": {
            "unit": process.work_unit,
            "missing": process.work_missing or None,
            "by_modes": by_modes(signature),
        },
        "aet_s": significant(process.found.aet_s),
        "pet_s": significant(guess.pet_s),
        "pet_low_s": significant(guess.low_s),
        "pet_high_s": significant(guess.high_s),
        "set_s": significant(guess.set_s),
        "phases_s": significant(signature.set_s),
        "coverage": significant(process.found.coverage),
        "outside_s": significant(process.found.outside_s),
        "events": process.events,
        "needed_events": guess.events,
        "until": ending.collective,
        "until_calls": None if ending.calls is None else _in_a_row(ending.calls),
        "until_events": ending.events,
        "until_s": significant(ending.seconds),
        "executed_s": significant(ending.executed_s),
        "outside_after_s": significant(outside_after(process, ending.seconds)),
        "phases": [_phase(signature, number, whole, within) for number in range(len(process.found.phases))],
        "per_rank": [_process(one) for one in signature.processes],
    }
    if whole:
        answer["kinds"] = [_kind(*kind) for kind in zip(process.kinds, process.kind_bytes, strict=True)]
        if process.found.grammar is not None:
            answer["loops"] = {"contents": process.found.grammar.contents, "steps": process.found.grammar.steps}
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


def _phase(signature: Signature, number: int, whole: bool, within: Within | None) -> dict[str, object]:
    process, by_place = signature.process, signature.method != "robust"
    phase, time = process.found.phases[number], process.predicted.phases[number]
    first = process.kinds[phase.kinds[0]]
    most = min(len(phase.starts), MOST_TIMES) if by_place else MOST_TIMES
    said: dict[str, object] = {
        "id": phase.id,
        "weight": phase.weight,
        "awaited": time.enough_s <= signature.ending.seconds,
        "mean_s": significant(time.mean_s),
        "low_s": significant(time.low_s),
        "high_s": significant(time.high_s),
        "seconds": significant(phase.seconds),
        "start": int(phase.starts[0]),
        "end": int(phase.ends[0]),
        "calls": [process.kinds[kind].function for kind in phase.kinds[:MOST_TIMES]],
        "file": first.file,
        "line": first.line,
    }
    if within is not None:
        lies = within[number]
        said["profile_phase"] = None if lies is None else lies[0]
    if whole:
        said |= {
            "loop": phase.loop,
            "whole": phase.whole,
            "events": list(phase.kinds),
            "time_s": [significant(float(one), 9) for one in phase.time_s[:most]],
        }
        if by_place:
            places = zip(phase.starts[:most].tolist(), phase.ends[:most].tolist(), strict=True)
            said["at"] = [list(place) for place in places]
    return said


def _process(one: ProcessSignature) -> dict[str, object]:
    return {
        "rank": one.rank,
        "aet_s": significant(one.found.aet_s),
        "pet_s": significant(one.predicted.pet_s),
        "coverage": significant(one.found.coverage),
        "phases": len(one.found.phases),
        "events": one.events,
        "clean": one.clean,
    }


def _kind(kind: EventKind, size: float | None) -> dict[str, object]:
    return {
        "function": f"MPI_{kind.function}",
        "bytes": significant(size),
        "key": kind.key,
        "module": kind.site.module if kind.site else None,
        "address": kind.site.address if kind.site else None,
        "file": kind.file,
        "line": kind.line,
    }
