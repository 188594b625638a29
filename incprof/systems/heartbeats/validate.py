"""Compare heartbeats with the phases of a recorded run.

    incprof validate gmon-app ekg-app
    incprof validate gmon-app ekg-app --min-agreement 0.9 --json

The phases of GMON-DIR are found as `incprof phases` finds them. Each moment of the heartbeats in EKG-DIR is given to
the phase whose sites beat then, and the two timelines are compared. The heartbeats may be those of the recorded
process, or of another run of the program, such as its production build. `incprof help validate` explains the figures.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from incprof.analysis.heartbeats.phase_beats import Matched
from incprof.analysis.phase_result import Phase
from incprof.command.helping import expert
from incprof.command.options import add_phase_arguments, add_run_arguments, check_phase_arguments, study_of
from incprof.command.terminal import text_width, wants_colour, warn
from incprof.errors import GateError, NoDataError, PartialDataError, UsageError
from incprof.model import FloatArray, IntervalProfile
from incprof.study.heartbeat_files import ProcessBeats, load_beats, offset_s
from incprof.systems.heartbeats.validation import Beats

if TYPE_CHECKING:
    from incprof.analysis.phase_result import PhaseResult
    from incprof.study.study import Study
    from incprof.systems.heartbeats.validation import Agreement, Overhead


NAME = "validate"
ALIGNMENTS = ("auto", "clock", "scale", "warp")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_run_arguments(parser, metavar="GMON-DIR")
    parser.add_argument("beats", metavar="EKG-DIR", help="heartbeats: a run directory, or one .ekg file")
    add_phase_arguments(parser)
    align = parser.add_argument(
        "--align", choices=ALIGNMENTS, default="auto",
        help="align the runs by the clock, evenly, or by time-warping (auto: clock for one process, else warp)",
    )  # fmt: skip
    expert(align)
    parser.add_argument(
        "--min-agreement", type=share, metavar="X", help="exit 3 if the agreement is below X, from 0 to 1"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object, schema incprof.validate/1")


def share(text: str) -> float:
    """Parse a number from 0 to 1."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number from 0 to 1")
    return value


def run(args: argparse.Namespace) -> int:
    """Read both runs, compare them, print the result, and check the agreement.

    Raises:
        GateError: the agreement is below --min-agreement.
    """
    check_phase_arguments(args)
    _check_order(args)
    study = study_of(args)

    process_beats = load_beats(args.beats, study.profile)
    warn(process_beats.found.warnings)
    warn(study.phases(confidence=False).warnings)
    found = validate(study, process_beats, align=args.align)
    if args.json:
        from incprof.systems.heartbeats.validate_answer import write_json

        write_json(study.summary, found.beats, found.agreement, found.overhead, sys.stdout)
    else:
        from incprof.systems.heartbeats.validate_answer import write_text

        write_text(
            study.summary, found.result, found.beats, found.agreement, found.overhead, sys.stdout,
            width=text_width(), colour=wants_colour(),
        )  # fmt: skip
    _check_agreement(found, args.min_agreement)
    return PartialDataError.exit_code if study.partial or process_beats.found.damaged else 0


def _check_order(args: argparse.Namespace) -> None:
    """Refuse directories in the wrong order, or of the same kind.

    Raises:
        UsageError: the first one holds only heartbeats, or the second one only a recording.
        NoDataError: the second one does not exist.
    """
    first, second = Path(args.directory), Path(args.beats)
    if _holds(first, "*.ekg") and not _holds(first, "*gmon*"):
        raise UsageError(f"{first} holds heartbeats: give the recording first, as in incprof validate GMON-DIR EKG-DIR")
    if not second.exists():
        raise NoDataError(f"{second}: no such directory")
    if _holds(second, "*gmon*") and not _holds(second, "*.ekg"):
        raise UsageError(f"{second} holds a recording: give heartbeats second, as in incprof validate GMON-DIR EKG-DIR")


def _holds(directory: Path, pattern: str) -> bool:
    """Return whether a directory has matching files."""
    return directory.is_dir() and next(directory.glob(pattern), None) is not None


def _check_agreement(found: Validation, least: float | None) -> None:
    """Check the agreement against the required minimum.

    Raises:
        GateError: it is below.
    """
    agreement = found.agreement.agreement
    if least is not None and agreement < least:
        sys.stdout.flush()
        raise GateError(f"agreement {agreement:.3f} is below {least:g}")


# Compare heartbeats with a recording: from files to the analysis' input, and the result.


def pairs(recorded: FloatArray, pulses: FloatArray, factors: FloatArray) -> tuple[float, float]:
    """Return the numbers of recorded pairs, and of skipped pairs and pulses, which cost the same. All shape (h,)."""
    return float(recorded.sum()), float((recorded * (factors - 1) + pulses * factors).sum())


def predicted_pct(
    profile: IntervalProfile,
    phases: tuple[Phase, ...],
    beats: Beats,
    matched: Matched,
    pair_ns: float,
    skipped_ns: float,
) -> float | None:
    """Return the predicted cost of beats at the recorded calls in percent of CPU time, without the interval thread.

    None if the recording does not contain the number of beats: for a heartbeat in a loop, in no phase, in an inlined
    function, or in code built without -pg.
    """
    kinds = {(site.index, site.kind) for phase in phases for site in phase.sites}
    bodies = {index for index, kind in kinds if kind == "body"} - {index for index, kind in kinds if kind == "loop"}
    columns = matched.functions
    cpu_s = float((profile.counters.cpu_s - profile.counters.collector_s).sum())
    if cpu_s <= 0 or beats.others or not all(own and set(own) <= bodies for own in columns):
        return None
    calls = np.asarray(profile.calls.sum(axis=0)).ravel()
    if not all(calls[list(own)].all() for own in columns):
        return None
    total = 0.0
    for own, factor in zip(columns, beats.factors.tolist(), strict=True):
        total += float(calls[list(own)].sum()) * (pair_ns / factor + skipped_ns * (1 - 1 / factor))
    return 100 * 1e-9 * total / cpu_s


# Program of a process with heartbeats in Python code.
PYTHON = re.compile(r"python(\d[.\d]*)?(t|d)*$")


@dataclass(frozen=True)
class Validation:
    """Result of a comparison.

    Attributes:
        result: The phases, with the sites at which their heartbeats were inserted.
        beats: The heartbeats.
        agreement: Agreement of heartbeats and phases.
        overhead: Overhead of the heartbeats; None if unknown.
    """

    result: PhaseResult
    beats: Beats
    agreement: Agreement
    overhead: Overhead | None


def validate(study: Study, process_beats: ProcessBeats, *, align: str) -> Validation:
    """Compare heartbeats with the phases of a recorded run.

    Args:
        study: The recording.
        process_beats: Heartbeats of the recorded process, or of another run of the program.
        align: Alignment of the runs: "clock", "scale" (evenly), "warp", or the best of them ("auto").

    Raises:
        UsageError: align is "clock" and the processes differ.
    """
    from incprof.study.sites.store import STORE
    from incprof.systems.heartbeats.agreement_measures import agree

    # If heartbeats are not at the phases' own sites, the run directory contains their actual sites.
    result = study.as_placed(study.phases(confidence=False), STORE)
    beats = beats_of(process_beats, result)
    offset = offset_s(study.profile, process_beats.process)
    kind = align if align != "auto" else "warp" if offset is None else "clock"
    if kind == "clock" and offset is None:
        raise UsageError("--align clock is for heartbeats of the recorded process: these are of another; leave it out")
    found = agree(study.profile, result, beats, align=kind, offset_s=offset or 0.0)
    took = overhead_of(process_beats, study.profile, result, beats, study.run.directory)
    return Validation(result, beats, found, took)


def beats_of(process_beats: ProcessBeats, result: PhaseResult) -> Beats:
    """Return the phases' heartbeats as tables by heartbeat and interval, summed over all threads."""
    import numpy as np

    from incprof.analysis.heartbeats import row_factors, within_wall_s
    from incprof.analysis.heartbeats.phase_beats import match
    from incprof.systems.heartbeats.validation import Beats

    known, process = process_beats.found.beats, process_beats.process
    ids = sorted(known)
    used = match(result.phases, ids, [known[number].name for number in ids]).used
    kept = [known[ids[place]] for place in used]
    rows = process_beats.found.rows
    rows = rows[(rows["process"] == process_beats.place) & np.isin(rows["id"], [beat.id for beat in kept])]
    shape = len(kept), len(process.intervals)
    cell = np.searchsorted([beat.id for beat in kept], rows["id"]) * shape[1] + rows["interval"]

    def table(name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        summed = np.bincount(cell, weights=rows[name].astype(np.float64), minlength=shape[0] * shape[1])
        return summed.astype(np.float64).reshape(shape)

    recorded, pulses, factors = table("count"), table("pulses"), np.array([beat.rate_factor for beat in kept], np.int64)
    executed = table("executions")
    length_s = (process.intervals["end_ns"] - process.intervals["start_ns"])[rows["interval"]] / 1e9
    passed_s, _ = within_wall_s(rows, row_factors(rows, 1), length_s)
    return Beats(
        start_s=process.intervals["start_ns"] / 1e9,
        end_s=process.intervals["end_ns"] / 1e9,
        ids=tuple(beat.id for beat in kept),
        names=tuple(beat.name for beat in kept),
        factors=factors,
        busy_s=np.bincount(cell, weights=passed_s, minlength=shape[0] * shape[1]).astype(np.float64).reshape(shape),
        executed=executed,
        recorded=recorded,
        sum_s=table("sum_ns") / 1e9,
        pulses=pulses,
        present=(executed > 0) | (table("open") > 0),
        others=tuple(known[n].name or f"id {n}" for n in ids if n not in {beat.id for beat in kept}),
    )


def overhead_of(
    process_beats: ProcessBeats, profile: IntervalProfile, result: PhaseResult, beats: Beats, directory: str
) -> Overhead | None:
    """Return the overhead of all heartbeats in the process; None if the cost of one is unknown.

    The cost in the file was measured by libappekg; in Python each beat also costs the call into it and back.
    The program's time is its CPU time if it is the recorded process, else the wall time of its threads.
    """
    import numpy as np

    from incprof.analysis.heartbeats.phase_beats import match
    from incprof.analysis.sites.rates import BeatCost
    from incprof.study.sites.store import beat_cost
    from incprof.systems.heartbeats.validation import Overhead

    process, rows = process_beats.process, process_beats.found.rows
    if process.cost is None:
        return None
    rows = rows[rows["process"] == process_beats.place]
    ids, place = np.unique(rows["id"], return_inverse=True)
    recorded, pulses, executed = (
        np.bincount(place, rows[name].astype(np.float64), len(ids)).astype(np.float64)
        for name in ("count", "pulses", "executions")
    )
    factors = np.maximum(executed / np.maximum(recorded + pulses, 1), 1)
    number, skipped = pairs(recorded, pulses, factors)
    intervals = process.intervals
    cpu_s = float((profile.counters.cpu_s - profile.counters.collector_s).sum())
    same = offset_s(profile, process) is not None and cpu_s > 0
    wall_s = float(((intervals["end_ns"] - intervals["start_ns"]) / 1e9 * np.maximum(intervals["threads"], 1)).sum())
    matched = match(result.phases, beats.ids, beats.names)
    cost = BeatCost(process.cost.pair_ns, process.cost.skipped_ns)
    if PYTHON.match(os.path.basename(str(process.metadata.get("exe") or ""))):
        cost = replace(cost, python_ns=beat_cost(directory).python_ns).in_python()
    return Overhead(
        beats=number,
        skipped=skipped,
        pair_ns=cost.pair_ns,
        skipped_ns=cost.skipped_ns,
        own_s=float(intervals["own_ns"].sum(dtype=np.float64)) / 1e9,
        base_s=cpu_s if same else wall_s,
        base="cpu" if same else "wall",
        predicted_pct=predicted_pct(profile, result.phases, beats, matched, cost.pair_ns, cost.skipped_ns),
    )
