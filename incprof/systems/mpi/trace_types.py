"""What is read of a traced run: its calls with their times, and its signature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

# Values instead of a rank: any source of a receive, no partner of a call, the root's own group.
ANY_SOURCE, NO_PROCESS, ROOT_HERE = "any", "none", "root"


class Site(NamedTuple):
    """A call site: a link-time address in a module; module "" if it is unknown."""

    module: str
    build_id: str | None
    address: int


class RankRange(NamedTuple):
    """Members of a group by rank in MPI_COMM_WORLD: first, first + stride, ...; -1 is not in this world."""

    first: int
    stride: int
    length: int


@dataclass(frozen=True, slots=True)
class MpiObject:
    """A communicator, a window or a file.

    Attributes:
        number: The process's own number, reused after the object was freed.
        kind: "comm", "window" or "file".
        rank: Rank of this process in it.
        size: Size of the group to which ranks of messages refer: the remote group of an intercommunicator.
        members: Its members.
        remote: Members of the remote group of an intercommunicator.
        name: Its name.
    """

    number: int
    kind: str
    rank: int
    size: int
    members: tuple[RankRange, ...] = ()
    remote: tuple[RankRange, ...] = ()
    name: str = ""

    def world_rank(self, rank: int) -> int | None:
        """Return a partner's rank in MPI_COMM_WORLD; None if it is unknown."""
        for first, stride, length in self.remote or self.members:
            if rank < length:
                world = first + rank * stride
                return world if world >= 0 else None
            rank -= length
        return None


class Message(NamedTuple):
    """The partner, tag and bytes of a call.

    Attributes:
        distance: Distance of the partner's rank from this process, the shorter way round; 0 if `instead` is set.
        instead: ANY_SOURCE, NO_PROCESS or ROOT_HERE; "" for a rank.
        tag: None for any tag, and for calls without one.
        bytes: None if unknown.
    """

    distance: int
    instead: str
    tag: int | None
    bytes: int | None

    def rank_in(self, where: MpiObject) -> int | None:
        """Return the partner's rank in a communicator or window."""
        return None if self.instead or where.size < 1 else (where.rank + self.distance) % where.size


class Completion(NamedTuple):
    """A request that a call has completed: the `number`-th one started by the thread of `lane`.

    Attributes:
        lane: None for the lane of the event; `age` is set then.
        number: Number of the request in its lane.
        age: Number of requests started since, including itself.
        message: The message received.
        where: The communicator of the message.
    """

    lane: int | None
    number: int | None
    age: int | None
    message: Message | None
    where: MpiObject | None


@dataclass(frozen=True, slots=True)
class Call:
    """An event without its times. Consecutive equal events share one object.

    Attributes:
        function: MPI function, without its prefix.
        kind: Purpose of the function ("send", "receive", "isend", "wait", "collective", ...; trace/README.md).
        site: Call site.
        where: The communicator, window or file.
        message: The message sent; for a receive, the one requested.
        other: The receiving half of a Sendrecv.
        actual: The message received.
        value: The flag of a test, or the level of Pcontrol.
        made: Number of requests started.
        template: The persistent request created.
        started: Persistent requests started.
        completed: Requests completed.
        unlisted: Number of completions and starts that are not listed because there are too many.
        new: The object created.
        failed: Whether the call failed.
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
    """A call. Times are in nanoseconds since the start of the run.

    Attributes:
        lane: Number of the lane.
        thread: Number of the thread.
        call: The call.
        start_ns: Begin of the call.
        end_ns: End of the call.
        work_ns: CPU time since the thread's last call.
    """

    lane: int
    thread: int
    call: Call
    start_ns: int
    end_ns: int
    work_ns: int


@dataclass(frozen=True, slots=True)
class TraceMetadata:
    """The process that wrote a trace.

    Attributes:
        app: The program.
        rank: Rank of the process.
        ranks: Number of ranks; None if unknown.
        pid: Process id; None if unknown.
        host: Name of the host.
        mpi: The MPI implementation.
        start_unix_ns: Start, in nanoseconds since 1970.
        counters: Names of the counters read in each thread between its calls.
        counters_missing: Reason why there are none: the name of an error, "off", or "" for a trace without counters.
        raw: All metadata.
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
    """The end of a trace.

    Attributes:
        how: "exit", "finalize", "abort", or None if the process was killed; the other values then cover the file.
        end_ns: Time of the end, or of the last event, in nanoseconds.
        events: Number of events.
        lost: Number of events not written because the disk was too slow.
        damaged: Number of unreadable places in the file.
        torn: Whether it ends within a block.
        uncounted: Number of events without counts.
        shared: Number of events whose counts are estimates, because others used the counters for part of the time.
    """

    how: str | None = None
    end_ns: int = 0
    events: int = 0
    lost: int = 0
    damaged: int = 0
    torn: bool = False
    uncounted: int = 0
    shared: int = 0


@dataclass(slots=True)
class CallSum:
    """All calls of a function from one place.

    Attributes:
        function: MPI function, without its prefix.
        kind: Purpose of the function, as in `Call`.
        site: Call site.
        file: Source file; None if unknown.
        line: Source line; None if unknown.
        calls: Number of calls.
        time_ns: Time in the calls, in nanoseconds.
        bytes: Bytes sent and received.
        peers: Bytes by partner's rank in MPI_COMM_WORLD.
        sent: The part of them sent to that rank.
    """

    function: str
    kind: str
    site: Site | None
    file: str | None = None
    line: int | None = None
    calls: int = 0
    time_ns: int = 0
    bytes: int = 0
    peers: dict[int, int] = field(default_factory=dict)
    sent: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """Summary of one process's MPI calls.

    Attributes:
        path: Path of the trace.
        metadata: Metadata of the trace.
        end: End of the trace.
        threads: Number of threads.
        events: Number of events.
        elapsed_ns: Nanoseconds from its start to its end, or to its last event.
        mpi_ns: Nanoseconds in MPI.
        calls: Sums by function and call site.
        counts: Total counts between its calls, by counter.
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


# A signature: the phases, program and loops of a run that was traced to its end.


@dataclass(frozen=True)
class Grammar:
    """Rules by which the loops of a sequence were found, to find the same ones in another, such as its beginning.

    Attributes:
        kinds: Number of event kinds, numbered from 0; loop number i is the item `kinds` + i.
        contents: For each loop, the items of one iteration: kinds of events, and earlier loops.
        steps: For each replacement step, in order, the loops introduced; all loops of a step have equal length.
    """

    kinds: int
    contents: tuple[tuple[int, ...], ...]
    steps: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class SignaturePhase:
    """A phase of the whole run. Other fields as in `incprof signature --json`.

    Attributes:
        loop: Number of its loop in the grammar; None for the paper's phases.
        awaited: Whether a signature run continues until it has occurred often enough.
        time_s: Times of its first occurrences, in seconds.
        at: Of these, the first event and the one after the last, for the paper's phases; empty for loops of calls.
    """

    id: int
    loop: int | None
    whole: bool
    weight: int
    awaited: bool
    mean_s: float
    seconds: float
    time_s: tuple[float, ...]
    at: tuple[tuple[int, int], ...]
    file: str | None
    line: int | None


@dataclass(frozen=True)
class Program:
    """The program of a run.

    Attributes:
        arguments: Arguments of the command, without its name.
        files: Digests of those arguments that name a file, by position.
        modules: Build-ids of the objects that call MPI, by file name.
    """

    arguments: tuple[str, ...]
    files: Mapping[int, str]
    modules: Mapping[str, str]


@dataclass(frozen=True)
class SignatureFile:
    """The whole run, by its representative rank.

    Attributes:
        method: "robust": phases are loops of calls; "paper", "global": they are identified by their places.
        until: Number of collective calls of all processes after which a signature run ends; None: it ends otherwise.
        until_calls: Function, number of calls, and number of consecutive ranks that end after these; None: they end
            otherwise. If both are None, the program is run to its end.
        events: Number of the rank's events in the whole run.
        until_events: Number of the rank's events in a signature run.
        needed_events: Number of the rank's events after which everything is measured.
        kinds: Function, and key of function and place, of its events.
        kind_bytes: Mean bytes of a message of each kind in the needed events; None without messages.
        grammar: Grammar of its loops of calls; None for the paper's phases.
        program: The program of the run.
    """

    path: str
    app: str
    method: str
    ranks: int
    rank: int
    warm_up: int
    aet_s: float
    coverage: float
    until: int | None
    until_calls: tuple[tuple[str, int, int], ...] | None
    events: int
    until_events: int
    outside_after_s: float
    needed_events: int
    kinds: tuple[tuple[str, str], ...]
    kind_bytes: tuple[float | None, ...]
    grammar: Grammar | None
    program: Program
    phases: tuple[SignaturePhase, ...]
