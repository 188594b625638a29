"""The signature of the processes that were traced, each read by itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from incprof.analysis.signature.events import ProcessEvents
from incprof.analysis.signature.find import ProcessSignature, Signature, global_signature, process_signature
from incprof.analysis.signature.results import DEFAULT, Method, SignatureOptions
from incprof.errors import NoDataError
from incprof.readers.trace import find_traces
from incprof.study.engines import Work, mapped
from incprof.study.listener import SILENT, Listener
from incprof.study.mpi import places_of
from incprof.study.options import StudyOptions
from incprof.study.signature.ending import own_ending
from incprof.study.signature.events import Places, process_events, sites_of

Found = TypeVar("Found")


def found(
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
        directory: of the run.
        method: "robust"; "paper", each process by itself; "global", all in one logical order.
        options: thresholds.
        jobs: processes that read, 0 for one on each processor; the answer is the same.
        dask: the address of a scheduler whose workers read instead.
        listener: hears how far it is.

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
    """Read every trace. Returns what was found, and why the others were left out."""
    with listener.progress("reading traces") as report:
        results = mapped(Work(work, paths, _lost, report, listener.warn), engine)
    unread = [result for result in results if isinstance(result, str)]
    return [result for result in results if result is not None and not isinstance(result, str)], unread


def _lost(path: str) -> str:
    return f"{path}: left out: the process that read it was killed"


def _places(directory: str, paths: Sequence[str]) -> Places:
    """Return where in the source the calls of the first process are: the others run the same program."""
    for path in paths:
        try:
            return places_of(directory, sites_of(path))
        except NoDataError:
            continue
    return {}


def _read(path: str, places: Places) -> ProcessEvents | str | None:
    """Return the events of a process; None where there are none, and what is wrong where it cannot be read."""
    try:
        events = process_events(path, places)
    except NoDataError as error:
        return str(error)
    return events if len(events.kind) else None


def _signed(path: str, places: Places, method: Method, options: SignatureOptions) -> ProcessSignature | str | None:
    """The same, and no more of it than its signature."""
    events = _read(path, places)
    return process_signature(events, method, options) if isinstance(events, ProcessEvents) else events
