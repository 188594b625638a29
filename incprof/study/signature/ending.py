"""Where the processes of a signature run end: each after calls of its own, so that no other waits for it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from incprof.analysis.signature.cut import MoreEventsNeededError, consistent_cut
from incprof.analysis.signature.find import Ending, Signature
from incprof.errors import NoDataError
from incprof.readers.trace import open_trace
from incprof.study.engines import Work, mapped
from incprof.study.listener import SILENT, Listener
from incprof.study.options import StudyOptions
from incprof.study.signature.messages import Beginning, beginning

# A call of all processes together comes first, unless it costs more than this much of the time until there: it does not
# depend on how many messages each process gets.
LATER = 1.1


def own_ending(
    paths: Sequence[str], signature: Signature, engine: StudyOptions, listener: Listener = SILENT
) -> Ending | None:
    """Return where each process can end by itself, where that is sooner than at a call of all processes together.

    Args:
        paths: the traces of all processes of the run, by rank.
        signature: of it.
        engine: where they are read.
        listener: hears how far it is.
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
        # A little more than is needed at first, and more where that is not enough.
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
    """Return where all can be stopped: where no message is under way, unless that takes much longer.

    Some MPI report messages that were not received.
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
    """Return when the last process comes to a cut, on the clock of the representative one."""
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
    """Return how much sooner each process started than one of them, seconds; 0 where they share no clock."""
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
    """Tell whether another run may have other numbers of calls until there, or wait where the trace does not show it.

    Work that is given to whoever is free: messages from any process, of which some send more than others.
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
    """Return the function of the last of some events, and which call of it that is."""
    function = one.functions[count - 1]
    same = [one.functions[event] == function for event in range(count)]
    return function, int((np.array(same) & one.messages.stops[:count]).sum())
