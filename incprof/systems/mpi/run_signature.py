"""Find the signature of a run, or of runs at several scales, and the profile phases of its phases."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np

from incprof.errors import IncprofError, NoDataError
from incprof.study.phase_options import SILENT, Listener, StudyOptions
from incprof.study.rank_engines import Work, mapped
from incprof.study.study import Study
from incprof.systems.mpi.analyse.communication import MoreEventsNeededError, consistent_cut
from incprof.systems.mpi.analyse.event_phases import DEFAULT, Method, SignatureOptions
from incprof.systems.mpi.analyse.extrapolation import Analysis, ScaledRun, analysis_of, by_program
from incprof.systems.mpi.analyse.mpi_events import ProcessEvents
from incprof.systems.mpi.analyse.signature import (
    PARTS,
    Ending,
    ProcessSignature,
    Signature,
    global_signature,
    process_signature,
)
from incprof.systems.mpi.call_sums import places_of
from incprof.systems.mpi.message_order import Beginning, beginning
from incprof.systems.mpi.process_events import Places, process_events, sites_of
from incprof.systems.mpi.trace_file import Trace, find_traces

Outcome = TypeVar("Outcome")


def find_signature(
    directory: str,
    method: Method = "robust",
    options: SignatureOptions = DEFAULT,
    *,
    jobs: int = 0,
    dask: str | None = None,
    listener: Listener = SILENT,
) -> tuple[Signature, list[str]]:
    """Find the phases of a traced run's communication.

    Args:
        directory: Directory of the run.
        method: "robust"; "paper": each process by itself; "global": all in one logical order.
        options: Thresholds.
        jobs: Number of processes that read, 0 for one per core; does not affect the result.
        dask: Address of a scheduler whose workers read instead.
        listener: Receives progress.

    Returns:
        The signature, and a line for each trace that could not be read.

    Raises:
        NoDataError: there is no trace with an event.
        IncprofError: no such scheduler answers.
    """
    paths = find_traces(directory)
    if dask is not None:
        # Workers may have another working directory.
        paths = list(map(os.path.abspath, paths))
    places = _places(directory, paths)
    engine = StudyOptions(jobs=jobs, dask=dask)
    if method == "global":
        processes, unread = _mapped(partial(_read, places=places), paths, engine, listener)
        _refuse_empty(directory, processes, unread)
        return global_signature(processes, options), unread
    signed, unread = _mapped(partial(_signed, places=places, method=method, options=options), paths, engine, listener)
    _refuse_empty(directory, signed, unread)
    signature = Signature(method, options, tuple(signed))
    return replace(signature, own_ending=own_ending(paths, signature, engine, listener)), unread


def _refuse_empty(directory: str, processes: Sequence[object], unread: Sequence[str]) -> None:
    if not processes:
        raise NoDataError(unread[0] if unread else f"{directory}: no MPI call in its traces: the program made none")


def _mapped(
    work: Callable[[str], Outcome | str | None], paths: Sequence[str], engine: StudyOptions, listener: Listener
) -> tuple[list[Outcome], list[str]]:
    """Read every trace. Return the results, and a line for each trace that was left out."""
    with listener.progress("reading traces") as report:
        results = mapped(Work(work, paths, _lost, report, listener.warn), engine)
    unread = [result for result in results if isinstance(result, str)]
    return [result for result in results if result is not None and not isinstance(result, str)], unread


def _lost(path: str) -> str:
    return f"{path}: left out: the process that read it was killed"


def _places(directory: str, paths: Sequence[str]) -> Places:
    """Return the source places of the first process's calls; the others run the same program."""
    for path in paths:
        try:
            return places_of(directory, sites_of(path))
        except NoDataError:
            continue
    return {}


def _read(path: str, places: Places) -> ProcessEvents | str | None:
    """Return the events of a process; None if there are none; a line if its trace cannot be read."""
    try:
        events = process_events(path, places)
    except NoDataError as error:
        return str(error)
    return events if len(events.kind) else None


def _signed(path: str, places: Places, method: Method, options: SignatureOptions) -> ProcessSignature | str | None:
    """Return only the signature of a process, else as `_read`."""
    events = _read(path, places)
    return process_signature(events, method, options) if isinstance(events, ProcessEvents) else events


# For each phase of a signature: the profile phase, and the share of its time there; None if unknown.
Within = list[tuple[int, float] | None]


def profile_phases(directory: str, process: ProcessSignature) -> Within | None:
    """Return the profile phase in which each phase lies; None if the rank has no profile."""
    try:
        study = Study(directory, rank=process.rank, nameless=True)
        start = study.profile.metadata.raw.get("start_mono_ns")
        result = study.phases(confidence=False)
        labels, ends = result.labels, result.end_s
    except IncprofError:
        return None
    if not isinstance(start, int) or process.start_mono_ns is None:
        return None
    # Middle of each part of the traced run, on the profile's clock.
    middle = (np.arange(PARTS) + 0.5) / PARTS * process.phases_found.aet_s + (process.start_mono_ns - start) * 1e-9
    place = np.searchsorted(ends, middle)
    inside = (middle >= 0) & (place < len(ends))
    phase_of: Within = []
    for phase in process.phases_found.phases:
        labels_here = labels[place[inside & (process.parts == phase.id)]]
        values, counts = np.unique(labels_here[labels_here >= 0], return_counts=True)
        most = int(counts.argmax()) if len(counts) else -1
        phase_of.append((int(values[most]), float(counts[most] / len(labels_here))) if most >= 0 else None)
    return phase_of


def scales(
    directories: Sequence[str],
    methods: Sequence[Method],
    options: SignatureOptions = DEFAULT,
    *,
    jobs: int = 0,
    dask: str | None = None,
    listener: Listener = SILENT,
) -> tuple[list[list[ScaledRun]], list[str]]:
    """Analyse runs of a program at several scales by each method.

    Args:
        directories: Directories of the runs.
        methods: Methods of finding phases.
        options: Thresholds.
        jobs: Number of processes that read, 0 for one per core.
        dask: Address of a scheduler whose workers read instead.
        listener: Receives progress.

    Returns:
        The runs of each program, by their number of processes; a line for each missing or incomplete trace.

    Raises:
        NoDataError: a directory has no trace with an event.
        IncprofError: no such scheduler answers.
    """
    runs, problems = list[ScaledRun](), list[str]()
    for directory in directories:
        analyses = list[Analysis]()
        for method in methods:
            begin = time.perf_counter()
            signature, unread = find_signature(directory, method, options, jobs=jobs, dask=dask, listener=listener)
            analyses.append(analysis_of(signature, time.perf_counter() - begin))
        broken = [one.rank for one in signature.processes if not one.clean]
        problems += unread
        problems += [f"{directory}: the trace of rank {broken[0]} is incomplete"] if broken else []
        runs.append(
            ScaledRun(
                directory=directory,
                app=signature.process.app,
                ranks=len(signature.processes),
                aet_s=signature.process.phases_found.aet_s,
                events=sum(one.events for one in signature.processes),
                trace_bytes=sum(os.path.getsize(path) for path in find_traces(directory)),
                analyses=tuple(analyses),
            )
        )
    return by_program(runs), problems


# Find where the processes of a signature run end: each after its own calls, so that no other waits for it.


# A call of all processes together is preferred unless it is later by more than this factor: it does not depend on the
# number of messages of each process.
LATER = 1.1


def own_ending(
    paths: Sequence[str], signature: Signature, engine: StudyOptions, listener: Listener = SILENT
) -> Ending | None:
    """Return where each process can end by itself; None unless that is sooner than at a call of all processes together.

    Args:
        paths: Traces of all processes of the run, by rank.
        signature: Signature of the run.
        engine: Where the traces are read.
        listener: Receives progress.
    """
    process = signature.process
    least, needed_s = process.ending, process.predicted.set_s
    if least.collective is not None and least.executed_s <= LATER * needed_s:
        return None
    ranks = [one.rank for one in signature.processes]
    if ranks != list(range(len(paths))) or not all(one.clean for one in signature.processes):
        return None
    ahead_s = _start_offsets(paths, process.rank)
    reach_s = needed_s
    while True:
        # First a little more than needed, then more if that is not enough.
        reach_s = 1.25 * reach_s + 0.1
        jobs = [(path, reach_s + offset_s) for path, offset_s in zip(paths, ahead_s, strict=True)]
        with listener.progress("matching messages") as report:
            work = Work(partial(_beginning, ranks=len(paths)), jobs, _lost_rank, report, listener.warn)
            beginnings = [one for one in mapped(work, engine) if one is not None]
        if len(beginnings) < len(paths):
            return None
        done = [
            max(int(np.searchsorted(one.end_s, needed_s + offset_s, side="right")), 1)
            for one, offset_s in zip(beginnings, ahead_s, strict=True)
        ]
        done[process.rank] = max(done[process.rank], process.predicted.events)
        try:
            cut = _cut(beginnings, done, ahead_s)
        except MoreEventsNeededError:
            continue
        break
    if cut is None or _is_unpredictable(beginnings, cut, signature):
        return None
    executed_s = _executed_s(beginnings, cut, ahead_s)
    if least.collective is not None and least.executed_s <= LATER * executed_s:
        return None
    calls = tuple(_counted(one, count) for one, count in zip(beginnings, cut, strict=True))
    events = cut[process.rank]
    return Ending(events, float(beginnings[process.rank].end_s[events - 1]), executed_s, calls=calls)


def _cut(beginnings: Sequence[Beginning], done: Sequence[int], ahead_s: Sequence[float]) -> list[int] | None:
    """Return a cut at which all can be stopped: without pending messages, unless that takes much longer.

    Some MPI implementations report messages that were not received.
    """
    messages = [one.messages for one in beginnings]
    cut = consistent_cut(messages, done)
    try:
        clean_cut = consistent_cut(messages, done, no_pending=True) if cut is not None else None
    except MoreEventsNeededError:
        clean_cut = None
    if cut is None or clean_cut is None:
        return cut
    longest_s = LATER * _executed_s(beginnings, cut, ahead_s)
    return clean_cut if _executed_s(beginnings, clean_cut, ahead_s) <= longest_s else cut


def _executed_s(beginnings: Sequence[Beginning], cut: Sequence[int], ahead_s: Sequence[float]) -> float:
    """Return when the last process reaches a cut, on the clock of the representative one, in seconds."""
    ends = [float(one.end_s[count - 1]) for one, count in zip(beginnings, cut, strict=True)]
    return max(end - offset_s for end, offset_s in zip(ends, ahead_s, strict=True))


def _beginning(where: tuple[str, float], ranks: int) -> Beginning | None:
    try:
        return beginning(*where, ranks)
    except NoDataError:
        return None


def _lost_rank(_: object) -> None:
    return None


def _start_offsets(paths: Sequence[str], rank: int) -> list[float]:
    """Return how many seconds each process started before the one of `rank`; 0 if they share no clock."""
    starts = list[tuple[str, object]]()
    for path in paths:
        with Trace(path) as trace:
            starts.append((trace.metadata.host, trace.metadata.raw.get("start_mono_ns")))
    host, own_start = starts[rank]
    return [
        (own_start - start) * 1e-9 if where == host and isinstance(start, int) and isinstance(own_start, int) else 0.0
        for where, start in starts
    ]


def _is_unpredictable(beginnings: Sequence[Beginning], cut: Sequence[int], signature: Signature) -> bool:
    """Return whether another run may have other numbers of calls before the cut, or wait for unidentified processes.

    Numbers of calls vary if work is given to any idle process: messages from any source, of which some send more.
    """
    for process, one, count in zip(signature.processes, beginnings, cut, strict=True):
        if one.unmatched[:count].any():
            return True
        for place in {place for event, place, _ in one.senders if event < count}:
            senders = {sender for event, at, sender in one.senders if event < count and at == place}
            sent = [signature.processes[sender].sent.get(process.rank, 0) for sender in senders]
            if max(sent) - min(sent) > 1:
                return True
    return False


def _counted(one: Beginning, count: int) -> tuple[str, int]:
    """Return the function of the last of some events, and the number of its calls until then."""
    function = one.functions[count - 1]
    same = [one.functions[event] == function for event in range(count)]
    return function, int((np.array(same) & one.messages.stops[:count]).sum())
