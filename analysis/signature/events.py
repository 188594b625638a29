"""The events of one process as numbers. n events."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from incprof.analysis.signature.order import SEND, Partners
from incprof.analysis.signature.work import Work
from incprof.model import BoolArray, FloatArray, IntArray
from incprof.model.mpi import Site
from incprof.model.signature import Program

# A channel of messages or of collective calls: the same in all processes that meet in it.
Channel = tuple[object, ...]


@dataclass(frozen=True)
class EventKind:
    """What events are told apart by: the MPI function, without its prefix, and where it is called.

    file, line: of the call; None where the program has no line numbers.
    """

    function: str
    site: Site | None
    file: str | None = None
    line: int | None = None

    @property
    def key(self) -> str:
        """The same in another build of the program, where its lines are known."""
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
        rank: Of the process.
        ranks: Of the run; None where that is not known.
        app: The program.
        kinds: What `kind` indexes.
        kind: (n,).
        tick_s: (n,) seconds from the end of the event before, or from the start, to the end of each.
        work: (n,) since the thread's event before.
        bytes: (n,) of the message that each sends or asks for; -1 for none.
        together: (n,) whether all processes take part in it, and all come out of it at once.
        role: (n,) as of `Partners`. channel: (n,) indexes `channels`, -1 for none.
        channels: Who meets.
        aet_s: From the start to the end of the process, or to its last event.
        clean: Whether the trace is whole.
        program: What was run.
        start_mono_ns: Of its times, on the clock of the machine; None where it is not known.
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
        """Types of communication, as the paper knows them, (n,): the function alone."""
        return _numbered([kind.function for kind in self.kinds])[self.kind]


def by_function(events: ProcessEvents) -> ProcessEvents:
    """Return the same events, told apart by their function alone, as the paper does."""
    functions = dict.fromkeys(kind.function for kind in events.kinds)
    return replace(events, kind=events.types, kinds=tuple(EventKind(function, None) for function in functions))


def sent_to(events: ProcessEvents) -> dict[int, int]:
    """Return how many messages a process sent to each rank."""
    sent: dict[int, int] = {}
    counts = np.bincount(events.channel[events.role == SEND], minlength=len(events.channels))
    for channel, count in zip(events.channels, counts.tolist(), strict=True):
        if count:
            sent[int(str(channel[2]))] = sent.get(int(str(channel[2])), 0) + count
    return sent


def kind_bytes(events: ProcessEvents, count: int) -> list[float | None]:
    """Return the mean bytes of a message of each kind in the first `count` events; None where there was none."""
    kind, size = events.kind[:count], events.bytes[:count]
    messages = np.bincount(kind[size >= 0], minlength=len(events.kinds)).tolist()
    moved = np.bincount(kind, weights=np.maximum(size, 0), minlength=len(events.kinds)).tolist()
    return [all_of / number if number else None for all_of, number in zip(moved, messages, strict=True)]


def _numbered(names: list[str]) -> IntArray:
    """Number names as they first appear."""
    known: dict[str, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)


def alike(processes: list[ProcessEvents]) -> tuple[list[IntArray], list[Partners]]:
    """Return the types of communication and the partners of all processes, numbered alike."""
    functions: dict[str, int] = {}
    channels: dict[Channel, int] = {}
    types, partners = [], []
    for process in processes:
        own = [functions.setdefault(kind.function, len(functions)) for kind in process.kinds]
        types.append(np.array(own, dtype=np.int64)[process.kind])
        met = [channels.setdefault(channel, len(channels)) for channel in process.channels]
        partners.append(Partners(process.role, np.array([*met, -1], dtype=np.int64)[process.channel]))
    return types, partners
