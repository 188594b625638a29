"""The events of one process as arrays, and the work between them. n events."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from incprof.analysis._native import native, pointer
from incprof.analysis._native_ffi import ffi
from incprof.model import BoolArray, FloatArray, IntArray
from incprof.systems.mpi.trace_types import Program, Site

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
    return [total / number if number else None for total, number in zip(moved, messages, strict=True)]


def _numbered(names: list[str]) -> IntArray:
    """Number names by first appearance."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)


def common_numbers(processes: list[ProcessEvents]) -> tuple[list[IntArray], list[Partners]]:
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


# Decode times and shapes of events in C from the bytes of a lane; tests check it against a version in Python.


# Columns for each shape: means of its times, position of its bytes in the payload, and the shape that followed it.
COLUMNS = {"gap": "int64", "duration": "int64", "key_at": "int64", "key_length": "int64", "follower": "int32"}
COLUMNS |= {"is_timed": "uint8"}
FEWEST = 64


@dataclass(frozen=True)
class EventPiece:
    """Consecutive events, (n,).

    Attributes:
        shape: Their shapes.
        start_ns: As in `MpiEvent`.
        end_ns: As in `MpiEvent`.
        work_ns: As in `MpiEvent`.
        following: Position of the next record, which is not an event.
        bad: Whether that record is invalid.
    """

    shape: IntArray
    start_ns: IntArray
    end_ns: IntArray
    work_ns: IntArray
    following: int
    bad: bool


class EventDecoder:
    """Decoder state of one lane. keys: the bytes of each shape."""

    def __init__(self) -> None:
        self.keys: list[bytes] = []
        self._lane = ffi.new("struct incprof_mpi_lane *", {"last": -1})
        self._arrays = {name: np.zeros(0, kind) for name, kind in COLUMNS.items()}
        self.make_room()

    def make_room(self) -> None:
        """Allocate room for more shapes, in steps: most lanes have few, and a hostile trace has many lanes."""
        most = max(2 * self._lane.most, FEWEST)
        for name, kept in self._arrays.items():
            self._arrays[name] = array = np.zeros(most, kept.dtype)
            array[: len(kept)] = kept
            setattr(self._lane, name, pointer(array))
        self._lane.most = most

    def decode(self, payload: bytes, at: int) -> EventPiece:
        """Decode the events that begin at a position in a payload."""
        # No event is shorter than two bytes.
        room = (len(payload) - at) // 2 + 1
        shape = np.empty(room, dtype=np.int32)
        times = np.empty((3, room), dtype=np.int64)
        where = ffi.new("int64_t *", at)
        count = native().incprof_mpi_events(
            self._lane, ffi.from_buffer("uint8_t[]", payload), len(payload), where, room,
            pointer(shape), *map(pointer, times),
        )  # fmt: skip
        lane = self._lane
        for new in range(len(self.keys), lane.shapes):
            self.keys.append(payload[lane.key_at[new] : lane.key_at[new] + lane.key_length[new]])
        start_ns, end_ns, work_ns = times[:, :count]
        return EventPiece(shape[:count].astype(np.int64), start_ns, end_ns, work_ns, int(where[0]), bool(lane.bad))

    def forget(self) -> None:
        """Discard all shapes."""
        self.keys.clear()
        self._lane.shapes, self._lane.last = 0, -1

    def another_thread(self) -> None:
        """Reset times to 0."""
        self._lane.end_ns, self._lane.last = 0, -1


# The global logical order of a run's events, as in PAS2P: Lamport's clock over all processes.
#
# An event follows the previous one in its process, a receive follows its send, and a collective call follows
# everything that its members did before. P processes, n events of one.


# Dependency of an event: none, none, the send of its message, all members.
LOCAL, SEND, RECEIVE, COLLECTIVE = range(4)


@dataclass(frozen=True)
class Partners:
    """Partners of a process's events.

    Attributes:
        role: (n,) one of the four values above.
        channel: (n,) number of the channel: the same in all processes for sends and receives of one sender, receiver,
            communicator and tag, and for the collective calls of one communicator. Messages in a channel do not
            overtake one another.
    """

    role: IntArray
    channel: IntArray


@dataclass
class _Meeting:
    """A collective call.

    Attributes:
        members: Number of processes that take part.
        waiting: Processes that have arrived.
        latest: Latest logical time of their previous events.
    """

    members: int
    waiting: list[int]
    latest: int = 0


class _Process:
    """A process, and its progress through its events."""

    def __init__(self, partners: Partners) -> None:
        self.role = partners.role.tolist()
        self.channel = partners.channel.tolist()
        self.occurrence = _occurrence_numbers(partners).tolist()
        self.time: list[int] = []

    def __bool__(self) -> bool:
        """Whether there is another event."""
        return len(self.time) < len(self.role)


def logical_times(processes: Sequence[Partners]) -> list[IntArray]:
    """Return the logical time of every event from 1, (n,) for each process.

    Missing partners, as in a truncated trace, are not waited for.
    """
    order = _Order(processes)
    order.run()
    return [np.array(process.time, dtype=np.int64) for process in order.processes]


class _Order:
    """The queue of processes that can advance."""

    def __init__(self, partners: Sequence[Partners]) -> None:
        self.processes = [_Process(one) for one in partners]
        self._queue = deque(range(len(partners)))
        self._sent: dict[tuple[int, int], int] = {}
        self._waiting: dict[tuple[int, int], int] = {}
        self._meetings: dict[tuple[int, int], _Meeting] = {}
        for process in self.processes:
            for role, channel, occurrence in zip(process.role, process.channel, process.occurrence, strict=True):
                if role == COLLECTIVE:
                    self._meetings.setdefault((channel, occurrence), _Meeting(0, [])).members += 1

    def run(self) -> None:
        """Assign a time to every event."""
        while True:
            while self._queue:
                self._go_on(self._queue.popleft())
            blocked = [number for number, process in enumerate(self.processes) if process]
            if not blocked:
                return
            # All wait for one another: the traces are inconsistent, and the first process that waits advances alone.
            self._let_go(min(blocked, key=lambda number: (self._latest(number), number)))

    def _let_go(self, number: int) -> None:
        """Advance a process past the event that it waits for."""
        process = self.processes[number]
        at = len(process.time)
        key = process.channel[at], process.occurrence[at]
        if process.role[at] == RECEIVE:
            self._waiting.pop(key, None)
        if process.role[at] == COLLECTIVE:
            meeting = self._meetings[key]
            meeting.waiting.remove(number)
            meeting.members -= 1
            self._end(meeting)
        self._advance(number, self._latest(number))
        self._queue.append(number)

    def _latest(self, number: int) -> int:
        time = self.processes[number].time
        return time[-1] if time else 0

    def _advance(self, number: int, after: int) -> None:
        self.processes[number].time.append(after + 1)

    def _go_on(self, number: int) -> None:
        """Advance a process as far as possible."""
        process = self.processes[number]
        while process:
            at = len(process.time)
            role, key = process.role[at], (process.channel[at], process.occurrence[at])
            if role == RECEIVE and key not in self._sent:
                self._waiting[key] = number
                return
            if role == COLLECTIVE:
                self._meet(number, self._meetings[key])
                return
            after = self._latest(number)
            self._advance(number, max(after, self._sent[key]) if role == RECEIVE else after)
            if role == SEND:
                self._sent[key] = after + 1
                if key in self._waiting:
                    self._queue.append(self._waiting.pop(key))

    def _meet(self, number: int, meeting: _Meeting) -> None:
        """Arrive at a collective call."""
        meeting.waiting.append(number)
        meeting.latest = max(meeting.latest, self._latest(number))
        self._end(meeting)

    def _end(self, meeting: _Meeting) -> None:
        """Release all members of a collective call once they have arrived."""
        if meeting.waiting and len(meeting.waiting) == meeting.members:
            for member in meeting.waiting:
                self._advance(member, meeting.latest)
            self._queue.extend(meeting.waiting)


def _occurrence_numbers(partners: Partners) -> IntArray:
    """Return the number of earlier events with the same role and channel, (n,)."""
    key = np.stack([partners.role, partners.channel])
    order = np.lexsort(key[::-1])
    ordered = key[:, order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
    start = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    occurrence = np.empty(len(order), dtype=np.int64)
    occurrence[order] = np.arange(len(order)) - start
    return occurrence
