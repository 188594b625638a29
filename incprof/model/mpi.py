"""A trace of MPI calls: what the calls of one process were, and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

# Instead of a rank: of a receive that takes any source, of a call without a partner, of the root of its own group.
ANY_SOURCE, NO_PROCESS, ROOT_HERE = "any", "none", "root"


class Site(NamedTuple):
    """Where a call is in the program: an address in a module, as it is linked; module "" where that is not known."""

    module: str
    build_id: str | None
    address: int


class Stretch(NamedTuple):
    """Members of a group by their rank in MPI_COMM_WORLD: first, first + stride, ...; -1 is none of this world."""

    first: int
    stride: int
    length: int


@dataclass(frozen=True, slots=True)
class MpiObject:
    """A communicator, a window or a file ("comm", "window", "file").

    rank: of this process in it. size: of the group that ranks of messages belong to, the remote one of an
    intercommunicator. number: the process's own, given again when its object has gone.
    """

    number: int
    kind: str
    rank: int
    size: int
    members: tuple[Stretch, ...] = ()
    remote: tuple[Stretch, ...] = ()
    name: str = ""

    def world_rank(self, rank: int) -> int | None:
        """The rank in MPI_COMM_WORLD of a partner; None where that is not known."""
        for first, stride, length in self.remote or self.members:
            if rank < length:
                found = first + rank * stride
                return found if found >= 0 else None
            rank -= length
        return None


class Message(NamedTuple):
    """The partner of a call, the tag and the bytes.

    distance: how far the partner is from this process, the short way round; 0 where `instead` says what it is. tag:
    None for any, and where the call has none. bytes: None where that is not known.
    """

    distance: int
    instead: str
    tag: int | None
    bytes: int | None

    def rank_in(self, where: MpiObject) -> int | None:
        """The partner's rank in a communicator or window."""
        return None if self.instead or where.size < 1 else (where.rank + self.distance) % where.size


class Completion(NamedTuple):
    """A request that a call has completed: the `number`-th that its thread, that of `lane`, had put under way.

    lane: None for the lane of the event; then `age` is how many had been put under way since, itself included.
    message: what was received, in `where`.
    """

    lane: int | None
    number: int | None
    age: int | None
    message: Message | None
    where: MpiObject | None


@dataclass(frozen=True, slots=True)
class Call:
    """All that an event is but its times. The same object for all events that are alike in a row.

    kind: what the function is for ("send", "receive", "isend", "wait", "collective", ...; docs/formats.md). where: the
    communicator, window or file. message: what is sent; of a receive, what is asked for. other: the receiving half of a
    Sendrecv. actual: what has come. value: the flag of a test, or the level of Pcontrol. made: requests put under way.
    template: the persistent request made, started: those that were started; unlisted: completions and starts that are
    not named, as there are too many. new: the object that was made.
    """

    function: str
    kind: str
    site: Site | None
    where: MpiObject | None = None
    message: Message | None = None
    other: Message | None = None
    actual: Message | None = None
    value: int | None = None
    made: int = 0
    template: int | None = None
    started: tuple[int, ...] = ()
    completed: tuple[Completion, ...] = ()
    unlisted: int = 0
    new: MpiObject | int | None = None
    failed: bool = False


class MpiEvent(NamedTuple):
    """A call. Times in nanoseconds since the start of the run; work_ns: CPU time since the thread's last call."""

    lane: int
    thread: int
    call: Call
    start_ns: int
    end_ns: int
    work_ns: int


@dataclass(frozen=True, slots=True)
class TraceMetadata:
    """The process that wrote a trace.

    counters: what was counted in each thread between its calls. counters_missing: why nothing was: the name of an
    error, "off", or "" where the trace has no counters.
    """

    app: str
    rank: int
    ranks: int | None
    pid: int | None
    host: str
    mpi: str
    start_unix_ns: int
    counters: tuple[str, ...] = ()
    counters_missing: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class TraceEnd:
    """How a trace ends.

    how: "exit", "finalize", "abort", or None where the process was killed; the rest is known then as far as the file
    goes. lost: events that were not written as the disk was too slow. damaged: places in the file that could not be
    read; torn: it ends within a block. uncounted: events without counts; shared: those whose counts are estimates, as
    the processor's counters were lent to others for a part of the time.
    """

    how: str | None = None
    end_ns: int = 0
    events: int = 0
    lost: int = 0
    damaged: int = 0
    torn: bool = False
    uncounted: int = 0
    shared: int = 0


@dataclass(frozen=True, slots=True)
class CallSum:
    """All calls of a function from one place. Times in nanoseconds.

    peers: ranks in MPI_COMM_WORLD to bytes; sent: what of this went to them.
    """

    function: str
    kind: str
    site: Site | None
    file: str | None
    line: int | None
    calls: int
    time_ns: int
    bytes: int
    peers: Mapping[int, int]
    sent: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """What one process did in MPI.

    elapsed_ns: from its start to its end, or to its last event. counts: what was counted between its calls, in all.
    """

    path: str
    metadata: TraceMetadata
    end: TraceEnd
    threads: int
    events: int
    elapsed_ns: int
    mpi_ns: int
    calls: Sequence[CallSum]
    counts: Mapping[str, int] = field(default_factory=dict)
