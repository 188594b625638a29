"""The events of one process as arrays, and the work between them. n events."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from incprof.model import BoolArray, FloatArray, IntArray
from incprof.systems.mpi.analyse.logical_order import SEND, Partners
from incprof.systems.mpi.signature_types import Program
from incprof.systems.mpi.trace_types import Site

# A channel of messages or of collective calls: equal in all processes that use it.
Channel = tuple[object, ...]


@dataclass(frozen=True)
class EventKind:
    """Key of events: function and call site.

    Attributes:
        function: MPI function, without its prefix.
        site: Call site.
        file: Source file of the call; None without line numbers.
        line: Source line of the call; None without line numbers.
    """

    function: str
    site: Site | None
    file: str | None = None
    line: int | None = None

    @property
    def key(self) -> str:
        """Key that is the same in another build of the program, if lines are known."""
        if self.file is not None:
            return f"{self.function}@{self.file.rpartition('/')[2]}:{self.line}"
        return (
            f"{self.function}@{self.site.module.rpartition('/')[2]}+{self.site.address:#x}"
            if self.site
            else self.function
        )


@dataclass(frozen=True)
class ProcessEvents:
    """The events of a process, by the time of their ends.

    Attributes:
        rank: Rank of the process.
        ranks: Number of ranks in the run; None if unknown.
        app: The program.
        kinds: Kinds that `kind` indexes.
        kind: (n,).
        tick_s: (n,) seconds from the end of the previous event, or from the start, to the end of each.
        work: (n,) work since the thread's previous event.
        bytes: (n,) of the message that each sends or requests; -1 for none.
        together: (n,) whether all processes take part in it, and leave it together.
        role: (n,) as in `Partners`.
        channel: (n,) indexes `channels`, -1 for none.
        channels: The channels.
        aet_s: Seconds from the start to the end of the process, or to its last event.
        clean: Whether the trace is complete.
        program: The program that was run.
        start_mono_ns: Origin of its times, on the clock of the machine; None if unknown.
    """

    rank: int
    ranks: int | None
    app: str
    kinds: tuple[EventKind, ...]
    kind: IntArray
    tick_s: FloatArray
    work: Work
    bytes: IntArray
    together: BoolArray
    role: IntArray
    channel: IntArray
    channels: tuple[Channel, ...]
    aet_s: float
    clean: bool
    program: Program
    start_mono_ns: int | None = None

    @property
    def types(self) -> IntArray:
        """Types of communication as in the paper, (n,): the function only."""
        return _numbered([kind.function for kind in self.kinds])[self.kind]


def by_function(events: ProcessEvents) -> ProcessEvents:
    """Return the same events, distinguished by their function only, as in the paper."""
    functions = dict.fromkeys(kind.function for kind in events.kinds)
    return replace(events, kind=events.types, kinds=tuple(EventKind(function, None) for function in functions))


def sent_to(events: ProcessEvents) -> dict[int, int]:
    """Return the number of messages that a process sent to each rank."""
    sent: dict[int, int] = {}
    counts = np.bincount(events.channel[events.role == SEND], minlength=len(events.channels))
    for channel, count in zip(events.channels, counts.tolist(), strict=True):
        if count:
            sent[int(str(channel[2]))] = sent.get(int(str(channel[2])), 0) + count
    return sent


def kind_bytes(events: ProcessEvents, count: int) -> list[float | None]:
    """Return the mean bytes of a message of each kind in the first `count` events; None without messages."""
    kind, size = events.kind[:count], events.bytes[:count]
    messages = np.bincount(kind[size >= 0], minlength=len(events.kinds)).tolist()
    moved = np.bincount(kind, weights=np.maximum(size, 0), minlength=len(events.kinds)).tolist()
    return [all_of / number if number else None for all_of, number in zip(moved, messages, strict=True)]


def _numbered(names: list[str]) -> IntArray:
    """Number names by first appearance."""
    known: dict[str, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)


def alike(processes: list[ProcessEvents]) -> tuple[list[IntArray], list[Partners]]:
    """Return the types of communication and the partners of all processes, with common numbers."""
    functions: dict[str, int] = {}
    channels: dict[Channel, int] = {}
    types, partners = [], []
    for process in processes:
        own = [functions.setdefault(kind.function, len(functions)) for kind in process.kinds]
        types.append(np.array(own, dtype=np.int64)[process.kind])
        met = [channels.setdefault(channel, len(channels)) for channel in process.channels]
        partners.append(Partners(process.role, np.array([*met, -1], dtype=np.int64)[process.channel]))
    return types, partners


SECONDS = "seconds"
# Units of time, which are not exactly reproducible.
TIMES = (SECONDS, "task-clock")
# Greatest share of a process's events without counts.
MOST_MISSING = 0.05
# Smaller amounts count as no work: reading the clock, or the counter, and the call itself take as much.
LEAST_S = 1e-5
LEAST_COUNTED = 1e3


@dataclass(frozen=True)
class Work:
    """Amounts of work.

    Attributes:
        amount: (n,) in `unit`.
        unit: Name of a counter, or "seconds".
        missing: Reason for seconds: the kernel's error, "off", "few" (too few events have counts), or "" (an old trace
            without counters).
    """

    amount: FloatArray
    unit: str = SECONDS
    missing: str = ""

    @property
    def is_counted(self) -> bool:
        """Whether the unit is a counter of the processor, which is reproducible; times are not."""
        return self.unit not in TIMES

    @property
    def from_least(self) -> FloatArray:
        """Return the amounts, (n,), with 0 for those too small to be compared."""
        least = {SECONDS: LEAST_S, "task-clock": 1e9 * LEAST_S, "instructions": LEAST_COUNTED}.get(self.unit, 0.0)
        return np.where(self.amount < least, 0.0, self.amount)


def work_of(seconds: FloatArray, counters: tuple[str, ...], counts: FloatArray, missing: str = "") -> Work:
    """Return the work before each event, in the unit of the first counter, if it counted enough of the events.

    Single events without a count get an estimate from their time, at the mean rate of all others.

    Args:
        seconds: (n,) CPU time.
        counters: Names, (k,).
        counts: (n, k), NaN where nothing was counted.
        missing: Reason why there are no counters.
    """
    if not counters or not len(seconds):
        return Work(seconds, missing=missing)
    amount = counts[:, 0]
    unknown: BoolArray = np.isnan(amount)
    # The first call of a thread has no count: nothing was counted before it.
    if unknown.sum() > max(MOST_MISSING * len(amount), 1):
        return Work(seconds, missing="few")
    time = float(seconds[~unknown].sum())
    rate = float(amount[~unknown].sum()) / time if time > 0 else 0.0
    return Work(np.where(unknown, seconds * rate, amount), counters[0])
