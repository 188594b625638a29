"""Predict the time of a whole run here, from a signature and the trace of the beginning of a run here."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import numpy as np

from incprof.errors import GateError, NoDataError
from incprof.model import FloatArray, IntArray
from incprof.systems.mpi.analyse.extrapolation import (
    KnownPhase,
    Prediction,
    extrapolate,
    extrapolate_by_equation,
    measure_known_phases,
)
from incprof.systems.mpi.analyse.mpi_events import EventKind, ProcessEvents, by_function, kind_bytes
from incprof.systems.mpi.call_sums import places_of
from incprof.systems.mpi.process_events import differences, other_ranks, process_events, sites_of
from incprof.systems.mpi.trace_file import Trace
from incprof.systems.mpi.trace_types import SignatureFile

# With a larger relative difference from the signature's number of events, something else was run.
OTHER_NUMBER = 0.05
# Resolution of the times that file systems give to files.
CLOCK_STEP_NS = 20_000_000


def predict(
    signature: SignatureFile, path: str, directory: str, *, whole: bool, accepted: Collection[str] = ()
) -> Prediction:
    """Predict the time of a run from its beginning.

    Args:
        signature: Signature of the program, from a run to its end.
        path: Trace of the same rank here.
        directory: Directory of the run here.
        whole: Whether the program was run to its end: only the part that a signature run would execute is used.
        accepted: Differences from the signature to accept, of `program.DIFFERENCES`.

    Raises:
        NoDataError: the trace cannot be read.
    """
    events = process_events(path, places_of(directory, sites_of(path)))
    end = _end(signature, events) if whole else len(events.kind)
    if signature.method != "robust":
        events = by_function(events)
    kind, unknown_kinds = renumbered(signature.kinds, events.kinds)
    kinds, tick_s = kind[events.kind[:end]], events.tick_s[:end]
    phases = [KnownPhase(p.loop, p.whole, p.weight, p.seconds, np.array(p.time_s)) for p in signature.phases]
    elapsed_s = float(tick_s.sum())
    if signature.grammar is not None:
        measured = measure_known_phases(kinds, tick_s, signature.grammar, phases)
        forecast = extrapolate(phases, measured, signature.outside_after_s, elapsed_s, signature.warm_up)
    else:
        measured = [_times_at(phase.at, tick_s) for phase in signature.phases]
        forecast = extrapolate_by_equation(phases, measured, elapsed_s, signature.warm_up)
    programs = [line for what, line in differences(signature.program, events.program) if what not in accepted]
    evidence = (
        *programs,
        *_differences(signature, events, end, unknown_kinds, [len(times) for times in measured], kind),
    )
    if whole:
        evidence = (*evidence, *_another_length(signature, len(events.kind)))
    return Prediction(signature, forecast, tuple(map(len, measured)), evidence, events.aet_s if whole else None)


def _end(signature: SignatureFile, events: ProcessEvents) -> int:
    """Return the number of events after which a signature run would have ended."""
    if signature.until_calls is not None:
        function, wanted_number = _of_rank(signature.until_calls, signature.rank)
        kinds = [number for number, kind in enumerate(events.kinds) if kind.function == function]
        calls = np.flatnonzero(np.isin(events.kind, kinds))
    else:
        calls, wanted_number = np.flatnonzero(events.together), signature.until or len(events.kind) + 1
    if wanted_number > len(calls):
        return min(signature.until_events, len(events.kind))
    return int(calls[wanted_number - 1]) + 1


def _times_at(places: Sequence[tuple[int, int]], tick_s: FloatArray) -> FloatArray:
    """Return the seconds of those occurrences, from one event to another, that lie within the events, (n,)."""
    until = np.concatenate([[0.0], np.cumsum(tick_s)])
    return np.array([until[end] - until[start] for start, end in places if end <= len(tick_s)])


def _of_rank(ends: Sequence[tuple[str, int, int]], rank: int) -> tuple[str, int]:
    """Return the function, and the number of its calls, after which a rank ends."""
    for function, calls, ranks in ends:
        if rank < ranks:
            return function, calls
        rank -= ranks
    raise ValueError("a rank that the signature does not have")


def renumbered(known_kinds: Sequence[tuple[str, str]], kinds: Sequence[EventKind]) -> tuple[IntArray, list[EventKind]]:
    """Number kinds of events as in a signature.

    Kinds with the same function and line are the same; the remaining ones are matched by function, in order.

    Args:
        known_kinds: Function and key of each kind of the signature.
        kinds: Kinds of the run here, by first appearance.

    Returns:
        The number of each kind, (k,), above all known ones for unknown kinds; and the unknown kinds.
    """
    numbers = {key: number for number, (_, key) in enumerate(known_kinds)}
    present = {kind.key for kind in kinds}
    unmatched: defaultdict[str, list[int]] = defaultdict(list)
    for number, (function, key) in enumerate(known_kinds):
        if key not in present:
            unmatched[function].append(number)
    out, unknown_kinds = list[int](), list[EventKind]()
    for kind in kinds:
        if kind.key in numbers:
            out.append(numbers[kind.key])
        elif unmatched[kind.function]:
            out.append(unmatched[kind.function].pop(0))
        else:
            out.append(len(known_kinds) + len(unknown_kinds))
            unknown_kinds.append(kind)
    return np.array(out, dtype=np.int64), unknown_kinds


def _differences(
    signature: SignatureFile,
    events: ProcessEvents,
    end: int,
    unknown_kinds: list[EventKind],
    counts: list[int],
    number: IntArray,
) -> Iterator[str]:
    """Yield evidence that the program, or its input, differs from the signature's.

    number: (k,) number of each kind of event here in the signature.
    """
    yield from other_ranks(signature.ranks, events.ranks)
    if events.app != signature.app:
        yield f"the program is {events.app}, but the signature is of {signature.app}"
    if unknown_kinds:
        first = int(np.flatnonzero(events.kind == events.kinds.index(unknown_kinds[0]))[0])
        where = unknown_kinds[0].key.replace("@", " at ")
        yield f"MPI_{where}, call {first + 1} of rank {events.rank}, is not in the signature: it departs from it there"
    never = [phase for phase, count in zip(signature.phases, counts, strict=True) if phase.awaited and not count]
    for phase in never[:1]:
        more = "" if len(never) == 1 else f", nor {len(never) - 1} others"
        yield f"phase {phase.id} did not come{more}: the program does something else, or too little of it was run"
    expected = signature.until_events
    if abs(end - expected) > OTHER_NUMBER * expected:
        yield f"{end} calls where the signature has {expected}: another input, or another number of iterations"
    sizes = kind_bytes(events, signature.needed_events)
    for place, (kind, size) in enumerate(zip(events.kinds, sizes, strict=True)):
        signed_bytes = signature.kind_bytes[number[place]] if number[place] < len(signature.kind_bytes) else None
        if size is not None and signed_bytes is not None and abs(size - signed_bytes) > OTHER_NUMBER * signed_bytes:
            where = kind.key.replace("@", " at ")
            yield f"MPI_{where} moves {size:.0f} bytes a call where the signature has {signed_bytes:.0f}: another input"
            break


def _another_length(signature: SignatureFile, count: int) -> Iterator[str]:
    """Yield a line if the whole run has another number of events. Without a point that ends all ranks it may vary."""
    fixed = signature.until is not None or signature.until_calls is not None
    if fixed and abs(count - signature.events) > OTHER_NUMBER * signature.events:
        yield f"{count} calls in the whole run, {signature.events} in the signature's: another number of iterations"


def trace_of(output: str, signature: SignatureFile, pid: int | None, since_ns: int) -> tuple[str, str]:
    """Return the directory and the newest trace of the signature's rank, which has just been run.

    Args:
        output: The requested directory; if it belongs to another launch, DIR.1, DIR.2, ... is used instead.
        signature: Signature of the program.
        pid: Process id of the rank, if known.
        since_ns: Start of the run, since the epoch; older traces belong to other runs.

    Raises:
        GateError: the run has traces, but none of this rank.
        NoDataError: the run has no trace.
    """
    parent, name = Path(output).absolute().parent, Path(output).name
    numbered = re.compile(re.escape(name) + r"(\.[0-9]{1,9})?")
    rank, own_traces, others = signature.rank, list[tuple[int, str]](), list[Path]()
    for directory in parent.iterdir() if parent.is_dir() else ():
        if numbered.fullmatch(directory.name) and directory.is_dir():
            traces = [(entry.stat().st_mtime_ns, entry) for entry in directory.glob("rank-*.mpi")]
            fresh = [(changed, entry) for changed, entry in traces if changed > since_ns - CLOCK_STEP_NS]
            own_traces += [(changed, str(entry)) for changed, entry in fresh if entry.match(f"rank-{rank:05}*.mpi")]
            others += [entry for _, entry in fresh]
    for _, path in sorted(own_traces, reverse=True):
        with Trace(path) as trace:
            if pid is None or trace.metadata.pid == pid:
                return str(Path(path).parent), path
    if others and not own_traces:
        with Trace(str(others[0])) as trace:
            lines = [*other_ranks(signature.ranks, trace.metadata.ranks), f"rank {rank} was not traced"]
        raise GateError(f"the program does not follow the signature: {lines[0]}")
    raise NoDataError(f"{output}: no trace of rank {rank}: the program made no MPI call, or could not be traced")
