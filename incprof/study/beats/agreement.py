"""Heartbeats against a recording: from files to what the analysis compares, and what came of it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from incprof.errors import UsageError
from incprof.study.beats.read import Filters, load

if TYPE_CHECKING:
    from appekg.heartbeats import Heartbeats
    from appekg.model import Process
    from incprof.analysis.agreement.results import Agreement, Beats, Overhead
    from incprof.analysis.phases.results import PhaseResult
    from incprof.model import IntervalProfile
    from incprof.study.study import Study

CLOCKS_AGREE_NS = 1_000_000_000
# The program of a process whose beats are given in Python.
PYTHON = re.compile(r"python(\d[.\d]*)?(t|d)*$")


@dataclass(frozen=True)
class ProcessBeats:
    """The heartbeats of one process. found: as they were read. place: of the process in found.processes."""

    found: Heartbeats
    place: int

    @property
    def process(self) -> Process:
        """The process."""
        return self.found.processes[self.place]

    def alone(self) -> Heartbeats:
        """Leave out all processes but this one: others of the rank have other clocks."""
        rows = self.found.rows[self.found.rows["process"] == self.place].copy()
        rows["process"] = 0
        return replace(self.found, processes=(self.process,), rows=rows)


@dataclass(frozen=True)
class Validation:
    """What came of a comparison. result: the phases, with the sites where heartbeats were put in for them."""

    result: PhaseResult
    beats: Beats
    agreement: Agreement
    overhead: Overhead | None


def load_beats(directory: str, profile: IntervalProfile) -> ProcessBeats:
    """Read the heartbeats of the recorded rank: those of the recorded process itself, else of the rank's first one.

    Raises:
        NoDataError: there are none, or not one complete interval.
        UsageError: that rank has none.
        IncprofError: the files are of a later version.
    """
    found = load(directory, Filters(ranks=frozenset([profile.metadata.rank])))
    some = [place for place, process in enumerate(found.processes) if len(process.intervals)]
    same = [place for place in some if offset_s(profile, found.processes[place]) is not None]
    return ProcessBeats(found, (same or some)[0])


def offset_s(profile: IntervalProfile, process: Process) -> float | None:
    """Return when the heartbeats of a process began, in seconds since the recording did; None for another process."""
    recorded, measured = profile.metadata.raw, process.metadata
    if any(recorded.get(key) is None or recorded.get(key) != measured.get(key) for key in ("host", "pid")):
        return None
    monotonic = _difference(recorded.get("start_mono_ns"), measured.get("start_mono_ns"))
    unix = _difference(recorded.get("start_unix_ns"), measured.get("start_unix_ns"))
    # Process ids come again, after a restart too: both clocks must tell the same.
    if monotonic is None or unix is None or abs(monotonic - unix) > CLOCKS_AGREE_NS:
        return None
    offset = monotonic / 1e9
    return offset if -1 < offset < float(profile.end_s[-1]) + 1 else None


def validate(study: Study, process_beats: ProcessBeats, *, align: str) -> Validation:
    """Compare heartbeats with the phases of a recorded run.

    Args:
        study: the recording.
        process_beats: the heartbeats of the recorded process, or of another run of the program.
        align: lay them over each other by the clock, evenly ("scale"), by a "warp", or as suits them ("auto").

    Raises:
        UsageError: by the clock, and they are two processes.
    """
    from incprof.analysis.agreement import agree
    from incprof.study.sites.store import STORE

    # Heartbeats that were put in elsewhere than the phases' own sites say so in the run directory.
    result = study.as_placed(study.result, STORE)
    beats = beats_of(process_beats, result)
    offset = offset_s(study.profile, process_beats.process)
    kind = align if align != "auto" else "warp" if offset is None else "clock"
    if kind == "clock" and offset is None:
        raise UsageError("--align clock is for heartbeats of the recorded process: these are of another; leave it out")
    found = agree(study.profile, result, beats, align=kind, offset_s=offset or 0.0)
    took = overhead_of(process_beats, study.profile, result, beats, study.run.directory)
    return Validation(result, beats, found, took)


def _difference(before: object, after: object) -> int | None:
    """Return the time between two time stamps of files, which may hold anything."""
    return after - before if type(before) is int and type(after) is int else None


def beats_of(process_beats: ProcessBeats, result: PhaseResult) -> Beats:
    """Lay the rows of the heartbeats that belong to phases out by heartbeat and interval, all threads together."""
    import numpy as np

    from incprof.analysis.agreement.match import match
    from incprof.analysis.agreement.results import Beats
    from incprof.analysis.beats import row_factors, within_wall_s

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
    """Work out what all heartbeats of the process cost it; None where the cost of one is not known.

    What the file says is what libappekg measured: in Python, each beat takes the way to it and back as well.
    The program's time is its CPU time where it is the recorded process, else the wall time of its threads.
    """
    import numpy as np

    from incprof.analysis.agreement.match import match
    from incprof.analysis.agreement.overhead import pairs, predicted_pct
    from incprof.analysis.agreement.results import Overhead
    from incprof.analysis.sites.rates import BeatCost
    from incprof.study.sites.cost import beat_cost

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
