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
from incprof.study.engines import Work, mapped
from incprof.study.listener import SILENT, Listener
from incprof.study.options import StudyOptions
from incprof.study.study import Study
from incprof.systems.mpi.analyse.event_phases import DEFAULT, Method, SignatureOptions
from incprof.systems.mpi.analyse.mpi_events import ProcessEvents
from incprof.systems.mpi.analyse.scale_comparison import Analysis, ScaledRun, analysis_of, by_program
from incprof.systems.mpi.analyse.signature import (
    PARTS,
    ProcessSignature,
    Signature,
    global_signature,
    process_signature,
)
from incprof.systems.mpi.call_sums import places_of
from incprof.systems.mpi.read.trace_file import find_traces
from incprof.systems.mpi.signatures.process_events import Places, process_events, sites_of
from incprof.systems.mpi.signatures.signature_end import own_ending

Found = TypeVar("Found")


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
        whole, unread = _mapped(partial(_read, places=places), paths, engine, listener)
        _refuse_empty(directory, whole, unread)
        return global_signature(whole, options), unread
    signed, unread = _mapped(partial(_signed, places=places, method=method, options=options), paths, engine, listener)
    _refuse_empty(directory, signed, unread)
    signature = Signature(method, options, tuple(signed))
    return replace(signature, own_ending=own_ending(paths, signature, engine, listener)), unread


def _refuse_empty(directory: str, processes: Sequence[object], unread: Sequence[str]) -> None:
    if not processes:
        raise NoDataError(unread[0] if unread else f"{directory}: no MPI call in its traces: the program made none")


def _mapped(
    work: Callable[[str], Found | str | None], paths: Sequence[str], engine: StudyOptions, listener: Listener
) -> tuple[list[Found], list[str]]:
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
    middle = (np.arange(PARTS) + 0.5) / PARTS * process.found.aet_s + (process.start_mono_ns - start) * 1e-9
    place = np.searchsorted(ends, middle)
    inside = (middle >= 0) & (place < len(ends))
    found: Within = []
    for phase in process.found.phases:
        here = labels[place[inside & (process.parts == phase.id)]]
        values, counts = np.unique(here[here >= 0], return_counts=True)
        most = int(counts.argmax()) if len(counts) else -1
        found.append((int(values[most]), float(counts[most] / len(here))) if most >= 0 else None)
    return found


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
        problems += [f"{directory}: the trace of rank {broken[0]} is not whole"] if broken else []
        runs.append(
            ScaledRun(
                directory=directory,
                app=signature.process.app,
                ranks=len(signature.processes),
                aet_s=signature.process.found.aet_s,
                events=sum(one.events for one in signature.processes),
                trace_bytes=sum(os.path.getsize(path) for path in find_traces(directory)),
                analyses=tuple(analyses),
            )
        )
    return by_program(runs), problems
