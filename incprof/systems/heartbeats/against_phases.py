"""Compare heartbeats with a recording: from files to the analysis' input, and the result."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace

import numpy as np

from incprof.analysis.heartbeats import Matched, match, row_factors, within_wall_s
from incprof.analysis.phase_result import Phase, PhaseResult
from incprof.analysis.sites.rates import BeatCost
from incprof.errors import UsageError
from incprof.model import FloatArray, IntervalProfile
from incprof.study.heartbeat_files import ProcessBeats, offset_s
from incprof.study.sites.store import STORE, beat_cost
from incprof.study.study import Study
from incprof.systems.heartbeats.agreement_measures import agree
from incprof.systems.heartbeats.validation import Agreement, Beats, Overhead


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
    known, process = process_beats.heartbeats.beats, process_beats.process
    ids = sorted(known)
    used = match(result.phases, ids, [known[number].name for number in ids]).used
    kept = [known[ids[place]] for place in used]
    rows = process_beats.heartbeats.rows
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
    process, rows = process_beats.process, process_beats.heartbeats.rows
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
