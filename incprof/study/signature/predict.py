"""What a whole run takes here, from a signature and the trace of the beginning of a run here."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from incprof.analysis.signature.elsewhere import KnownPhase, Prediction, phases_known, predicted_elsewhere
from incprof.analysis.signature.events import EventKind, ProcessEvents
from incprof.errors import NoDataError
from incprof.model import IntArray
from incprof.model.signature import SignatureFile
from incprof.readers.trace import open_trace
from incprof.study.mpi import places_of
from incprof.study.signature.events import process_events, sites_of

# Beyond this part more or fewer events than the signature has until there, something else is run.
ODD = 0.05


def predict(signature: SignatureFile, path: str, directory: str, *, whole: bool) -> Prediction:
    """Predict the time of a run from its beginning.

    Args:
        signature: of the program, where it was run to its end.
        path: the trace of the same rank here.
        directory: of the run here.
        whole: the program was run to its end: no more of it is looked at than a signature run would have seen.

    Raises:
        NoDataError: the trace cannot be read.
    """
    events = process_events(path, places_of(directory, sites_of(path)))
    end = _end(signature, events) if whole else len(events.kind)
    kind, strange = renumbered(signature.kinds, events.kinds)
    kinds, tick_s = kind[events.kind[:end]], events.tick_s[:end]
    known = [KnownPhase(p.key, p.whole, p.weight, p.seconds, np.array(p.time_s)) for p in signature.phases]
    seen = phases_known(kinds, tick_s, known)
    elapsed_s = float(tick_s.sum())
    guess = predicted_elsewhere(known, seen, signature.outside_after_s, elapsed_s, signature.warm_up)
    doubts = tuple(_doubts(signature, events, end, strange, [len(times) for times in seen]))
    return Prediction(signature, guess, tuple(map(len, seen)), doubts, events.aet_s if whole else None)


def _end(signature: SignatureFile, events: ProcessEvents) -> int:
    """Return the number of events after which a signature run would have ended."""
    calls = np.flatnonzero(events.together)
    if signature.until is None or signature.until > len(calls):
        return min(signature.until_events, len(events.kind))
    return int(calls[signature.until - 1]) + 1


def renumbered(known: Sequence[tuple[str, str]], kinds: Sequence[EventKind]) -> tuple[IntArray, list[EventKind]]:
    """Number kinds of events as a signature does.

    Those of the same function and line are the same; of others, the first of a function here is the first of it there.

    Args:
        known: function and key of each kind of the signature.
        kinds: of the run here, by first appearance.

    Returns:
        The number of each kind, (k,), above all those known for what is not known, and these kinds.
    """
    numbers = {key: number for number, (_, key) in enumerate(known)}
    here = {kind.key for kind in kinds}
    left: defaultdict[str, list[int]] = defaultdict(list)
    for number, (function, key) in enumerate(known):
        if key not in here:
            left[function].append(number)
    out, strange = list[int](), list[EventKind]()
    for kind in kinds:
        if kind.key in numbers:
            out.append(numbers[kind.key])
        elif left[kind.function]:
            out.append(left[kind.function].pop(0))
        else:
            out.append(len(known) + len(strange))
            strange.append(kind)
    return np.array(out, dtype=np.int64), strange


def _doubts(
    signature: SignatureFile, events: ProcessEvents, end: int, strange: list[EventKind], seen: list[int]
) -> Iterator[str]:
    """Say what speaks against the program being that of the signature, run with the same input."""
    if events.app != signature.app:
        yield f"the program is {events.app}, the signature is of {signature.app}"
    if strange:
        first = int(np.flatnonzero(events.kind == events.kinds.index(strange[0]))[0])
        where = strange[0].key.replace("@", " at ")
        yield f"MPI_{where}, call {first + 1} of rank {events.rank}, is not in the signature: it leaves it there"
    never = [phase for phase, count in zip(signature.phases, seen, strict=True) if not count]
    for phase in never[:1]:
        more = "" if len(never) == 1 else f", nor {len(never) - 1} others"
        yield f"phase {phase.id} did not come{more}: the program does something else, or too little of it was run"
    expected = signature.until_events
    if abs(end - expected) > ODD * expected:
        yield f"{end} calls where the signature has {expected}: another input, or another number of iterations"


def trace_of(output: str, rank: int, pid: int | None) -> tuple[str, str]:
    """Return the directory and the trace of a rank that has just been run: the newest of those that a run may get.

    Args:
        output: the directory that was asked for; another launch's is left alone, and DIR.1, DIR.2, ... taken.
        rank: of the process.
        pid: of it, where that is known.

    Raises:
        NoDataError: there is no such trace.
    """
    parent, name = Path(output).absolute().parent, Path(output).name
    numbered = re.compile(re.escape(name) + r"(\.[0-9]{1,9})?")
    found = []
    for directory in parent.iterdir() if parent.is_dir() else ():
        if numbered.fullmatch(directory.name) and directory.is_dir():
            found += [(entry.stat().st_mtime_ns, str(entry)) for entry in directory.glob(f"rank-{rank:05}*.mpi")]
    for _, path in sorted(found, reverse=True):
        with open_trace(path) as trace:
            if pid is None or trace.metadata.pid == pid:
                return str(Path(path).parent), path
    raise NoDataError(f"{output}: no trace of rank {rank}: the program made no MPI call, or could not be traced")
