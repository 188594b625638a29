"""The communication of a run, for drawings: phases over ranks, messages between ranks, time at each call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.model import FloatArray, IntArray
from incprof.systems.mpi.analyse.event_phases import EventPhase
from incprof.systems.mpi.analyse.signature import ProcessSignature, Signature
from incprof.systems.mpi.trace_types import TraceSummary

# Greatest number of rows and columns drawn; beyond it neighbouring ranks share a cell.
MOST_CELLS = 64


@dataclass(frozen=True)
class PlaceTime:
    """Calls of one function from one place, in all processes.

    Attributes:
        function: The function.
        file: Source file; None if unknown.
        line: Source line; None if unknown.
        calls: Number of calls.
        seconds: Time in the calls.
        bytes: Bytes sent and received.
    """

    function: str
    file: str | None
    line: int | None
    calls: int
    seconds: float
    bytes: int


@dataclass(frozen=True)
class Communication:
    """Communication of p processes in c cells.

    Attributes:
        signature: Signature of the run.
        ranks: (p,) ranks of the rows.
        ends_s: (p,) duration of each process, in seconds.
        parts: (p, PARTS) the phase of each part of each process's time, with common numbers for equal phases: the
            representative's own number if it has the phase. -1 for none.
        phases: Number of common phase numbers.
        cells: (c + 1,) ranks of MPI_COMM_WORLD at which the rows and columns of `bytes` begin.
        bytes: (c, c) bytes of messages from the row's ranks to the column's.
        places: Calls by time, descending.
        seconds: Total time of all processes.
        mpi_s: Part of it in MPI, in seconds.
    """

    signature: Signature
    ranks: tuple[int, ...]
    ends_s: FloatArray
    parts: IntArray
    phases: int
    cells: IntArray
    bytes: FloatArray
    places: tuple[PlaceTime, ...]
    seconds: float
    mpi_s: float


def communication(signature: Signature, summaries: Sequence[TraceSummary]) -> Communication:
    """Combine a run's signature and its processes' calls for drawings."""
    processes = signature.processes
    numbers: dict[tuple[str, ...], int] = {}
    for phase in signature.process.found.phases:
        numbers.setdefault(_identity(signature.process, phase), phase.id)
    following = len(signature.process.found.phases)
    rows = []
    for process in processes:
        own = []
        for phase in process.found.phases:
            number = numbers.setdefault(_identity(process, phase), following)
            following += number == following
            own.append(phase.id if process is signature.process else number)
        rows.append(np.array([*own, -1], dtype=np.int64)[process.parts])
    cells, moved = _matrix(summaries)
    return Communication(
        signature=signature,
        ranks=tuple(process.rank for process in processes),
        ends_s=np.array([process.found.aet_s for process in processes]),
        parts=np.stack(rows),
        phases=following,
        cells=cells,
        bytes=moved,
        places=_places(summaries),
        seconds=sum(each.elapsed_ns for each in summaries) * 1e-9,
        mpi_s=sum(each.mpi_ns for each in summaries) * 1e-9,
    )


def _identity(process: ProcessSignature, phase: EventPhase) -> tuple[str, ...]:
    """Return the key of a phase that is common to all processes: its calls, independent of where it begins."""
    return tuple(sorted({process.kinds[kind].key for kind in phase.kinds}))


def _matrix(summaries: Sequence[TraceSummary]) -> tuple[IntArray, FloatArray]:
    """Return the first ranks of the cells, and the bytes of messages between cells.

    Each message is counted by its sender and its receiver; since a trace may be missing, the larger sum is used.
    """
    known = [rank for each in summaries for call in each.calls for rank in call.peers]
    known += [each.metadata.rank for each in summaries] + [(each.metadata.ranks or 1) - 1 for each in summaries]
    size = max(known, default=0) + 1
    cells: IntArray = np.arange(min(size, MOST_CELLS) + 1) * size // min(size, MOST_CELLS)
    sent, received = np.zeros((2, len(cells) - 1, len(cells) - 1))
    for each in summaries:
        own = _cell(cells, each.metadata.rank)
        for call in each.calls:
            for rank, amount in call.peers.items():
                there, left = _cell(cells, rank), call.sent.get(rank, 0)
                sent[own, there] += left
                received[there, own] += amount - left
    moved: FloatArray = np.maximum(sent, received)
    return cells, moved


def _cell(cells: IntArray, rank: int) -> int:
    return int(np.searchsorted(cells, rank, side="right")) - 1


def _places(summaries: Sequence[TraceSummary]) -> tuple[PlaceTime, ...]:
    """Sum the calls of all processes by function and place."""
    sums: defaultdict[tuple[str, str | None, int | None, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    for each in summaries:
        for call in each.calls:
            address = call.site.address if call.site is not None and call.line is None else 0
            own = sums[call.function, call.file, call.line, address]
            own[0] += call.calls
            own[1] += call.time_ns
            own[2] += call.bytes
    found = [
        PlaceTime(function, file, line, calls, time_ns * 1e-9, moved)
        for (function, file, line, _), (calls, time_ns, moved) in sums.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.seconds, one.function, one.file or "", one.line or 0)))
