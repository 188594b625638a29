"""Find where the processes of a signature run end: each after its own calls, so that no other waits for it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from incprof.errors import NoDataError
from incprof.study.engines import Work, mapped
from incprof.study.listener import SILENT, Listener
from incprof.study.options import StudyOptions
from incprof.systems.mpi.analyse.consistent_cut import MoreEventsNeededError, consistent_cut
from incprof.systems.mpi.analyse.signature import Ending, Signature
from incprof.systems.mpi.read.trace_file import open_trace
from incprof.systems.mpi.signatures.message_order import Beginning, beginning

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
    ahead_s = _ahead(paths, process.rank)
    reach_s = needed_s
    while True:
        # First a little more than needed, then more if that is not enough.
        reach_s = 1.25 * reach_s + 0.1
        wanted = [(path, reach_s + ahead) for path, ahead in zip(paths, ahead_s, strict=True)]
        with listener.progress("matching messages") as report:
            work = Work(partial(_beginning, ranks=len(paths)), wanted, _lost, report, listener.warn)
            beginnings = [one for one in mapped(work, engine) if one is not None]
        if len(beginnings) < len(paths):
            return None
        done = [
            max(int(np.searchsorted(one.end_s, needed_s + ahead, side="right")), 1)
            for one, ahead in zip(beginnings, ahead_s, strict=True)
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
    mine = cut[process.rank]
    return Ending(mine, float(beginnings[process.rank].end_s[mine - 1]), executed_s, calls=calls)


def _cut(beginnings: Sequence[Beginning], done: Sequence[int], ahead_s: Sequence[float]) -> list[int] | None:
    """Return a cut at which all can be stopped: without pending messages, unless that takes much longer.

    Some MPI implementations report messages that were not received.
    """
    messages = [one.messages for one in beginnings]
    cut = consistent_cut(messages, done)
    try:
        quiet = consistent_cut(messages, done, quiet=True) if cut is not None else None
    except MoreEventsNeededError:
        quiet = None
    if cut is None or quiet is None:
        return cut
    longest_s = LATER * _executed_s(beginnings, cut, ahead_s)
    return quiet if _executed_s(beginnings, quiet, ahead_s) <= longest_s else cut


def _executed_s(beginnings: Sequence[Beginning], cut: Sequence[int], ahead_s: Sequence[float]) -> float:
    """Return when the last process reaches a cut, on the clock of the representative one, in seconds."""
    ends = [float(one.end_s[count - 1]) for one, count in zip(beginnings, cut, strict=True)]
    return max(end - ahead for end, ahead in zip(ends, ahead_s, strict=True))


def _beginning(where: tuple[str, float], ranks: int) -> Beginning | None:
    try:
        return beginning(*where, ranks)
    except NoDataError:
        return None


def _lost(_: object) -> None:
    return None


def _ahead(paths: Sequence[str], rank: int) -> list[float]:
    """Return how many seconds each process started before the one of `rank`; 0 if they share no clock."""
    starts = list[tuple[str, object]]()
    for path in paths:
        with open_trace(path) as trace:
            starts.append((trace.metadata.host, trace.metadata.raw.get("start_mono_ns")))
    host, mine = starts[rank]
    return [
        (mine - start) * 1e-9 if where == host and isinstance(start, int) and isinstance(mine, int) else 0.0
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
