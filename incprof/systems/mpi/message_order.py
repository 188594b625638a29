"""Messages between a process and the others, from the beginning of its trace until some time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from incprof.model import BoolArray, FloatArray
from incprof.systems.mpi.analyse.communication import Endpoint, ProcessMessages
from incprof.systems.mpi.analyse.mpi_events import RECEIVE, SEND, Channel
from incprof.systems.mpi.process_events import counts, is_of_all, message_channel
from incprof.systems.mpi.trace_file import Trace
from incprof.systems.mpi.trace_types import ANY_SOURCE, Call, Completion, Message, MpiEvent, MpiObject, RankRange, Site

# Calls whose number is the same in every run with the same input, whichever message arrives first.
COUNTED_KINDS = frozenset({"send", "isend", "receive", "ireceive", "sendrecv", "isendrecv", "collective", "start"})
COUNTED_FUNCTIONS = frozenset({"Wait", "Waitall"})
# Calls that all members of a communicator, window or file make equally often.
TOGETHER_KINDS = frozenset({"collective", "icollective", "comm", "file"})
TOGETHER_FUNCTIONS = frozenset({"Win_create", "Win_allocate", "Win_allocate_shared", "Win_fence", "Win_free"})
# Calls that wait for others that the trace does not identify.
UNMATCHED = frozenset({"Comm_create_group", "Win_post", "Win_start", "Win_complete", "Win_wait", "Win_lock"})
SENDING = frozenset({"send", "isend"})


@dataclass(frozen=True)
class Beginning:
    """The events of a process until some time, by the time of their ends.

    Attributes:
        messages: Its messages.
        end_s: (n,) their ends, seconds from the start of the process.
        functions: Function of each event.
        together: (n,) whether all processes take part in it, and leave it together.
        senders: (m, 3) for each message received from any source: event, place of the call, and sender, the latter two
            as numbers.
        unmatched: (n,) whether the event waits for others that the trace does not identify.
    """

    messages: ProcessMessages
    end_s: FloatArray
    functions: tuple[str, ...]
    together: BoolArray
    senders: tuple[tuple[int, int, int], ...]
    unmatched: BoolArray


class _Template(NamedTuple):
    """A persistent request.

    Attributes:
        channel: None if any process may send, or nothing is sent.
        is_send: Whether it is a send.
    """

    channel: Channel | None
    is_send: bool


@dataclass
class _Request:
    """A pending request.

    Attributes:
        posted: Event that posted it.
        site: Call site of that event.
        ends: Begin and completion of its message; None while its channel is unknown.
    """

    posted: int
    site: Site | None
    ends: list[int] | None


class MessageMatcher:
    """Processes the events of a process in order, and records the messages that they begin and complete."""

    def __init__(self, rank: int, ranks: int) -> None:
        """Initialise. rank: of the process in MPI_COMM_WORLD; ranks: number of ranks in it."""
        self._rank, self._ranks = rank, ranks
        self._sends: defaultdict[Channel, list[list[int]]] = defaultdict(list)
        self._receives: defaultdict[Channel, list[list[int]]] = defaultdict(list)
        self.meetings: defaultdict[Channel, list[int]] = defaultdict(list)
        self.members: dict[Channel, tuple[int, ...]] = {}
        self.senders: list[tuple[int, int, int]] = []
        self._sites: dict[Site | None, int] = {}
        self._requests_started: defaultdict[int, int] = defaultdict(int)
        self._under_way: dict[tuple[int, int], _Request] = {}
        self._templates: dict[int, _Template] = {}

    @property
    def sends(self) -> Mapping[Channel, Endpoint]:
        """The messages sent, by channel."""
        return {channel: _endpoint(messages) for channel, messages in self._sends.items()}

    @property
    def receives(self) -> Mapping[Channel, Endpoint]:
        """The messages received, or to be received, by channel."""
        return {channel: _endpoint(messages) for channel, messages in self._receives.items()}

    def take(self, number: int, event: MpiEvent) -> None:
        """Process an event. number: its index in the process."""
        call = event.call
        if call.failed:
            return
        if call.template is not None:
            self._templates[call.template] = self._template(call)
        if _is_together(call):
            self._meet(number, call)
        self._begin(number, event)
        for one in call.completed:
            self._complete(number, event, one)
        self._requests_started[event.lane] += call.made

    def _begin(self, number: int, event: MpiEvent) -> None:
        """Record the messages that an event begins."""
        call, blocks = event.call, event.call.made == 0
        ends: list[int] | None = None
        if call.kind in SENDING or call.kind.endswith("sendrecv"):
            # A buffered send does not wait for its receive.
            done = number if blocks and "bsend" not in call.function.lower() else -1
            ends = self._message(self._channel(SEND, call.message, call.where), is_send=True, ends=[number, done])
        if blocks and (call.kind == "receive" or call.kind == "sendrecv"):
            posted = call.other if call.kind == "sendrecv" else call.message
            self._receive(call.actual or posted, call.where, [number, number])
            if posted is not None and posted.instead == ANY_SOURCE:
                self._note_sender(number, call.site, call.actual, call.where)
        elif call.kind == "ireceive":
            ends = self._message(self._posted_channel(call.message, call.where), is_send=False, ends=[number, -1])
        if call.kind == "start":
            templates = [self._templates.get(one, _Template(None, False)) for one in call.started]
            begun = [self._message(one.channel, is_send=one.is_send, ends=[number, -1]) for one in templates]
        else:
            begun = [ends] * min(call.made, 1)
        for place, one in enumerate(begun):
            self._under_way[event.lane, self._requests_started[event.lane] + place] = _Request(number, call.site, one)

    def _complete(self, number: int, event: MpiEvent, one: Completion) -> None:
        """Record that an event completes a request."""
        lane = event.lane if one.lane is None else one.lane
        number_started = one.number if one.age is None else self._requests_started[lane] + event.call.made - one.age
        request = self._under_way.pop((lane, number_started if number_started is not None else -1), None)
        if request is None:
            return
        if request.ends is not None:
            request.ends[1] = number
        elif one.message is not None:
            self._receive(one.message, one.where, [request.posted, number])
            self._note_sender(number, request.site, one.message, one.where)

    def _message(self, channel: Channel | None, *, is_send: bool, ends: list[int]) -> list[int] | None:
        if channel is None:
            return None
        (self._sends if is_send else self._receives)[channel].append(ends)
        return ends

    def _receive(self, message: Message | None, where: MpiObject | None, ends: list[int]) -> None:
        self._message(self._channel(RECEIVE, message, where), is_send=False, ends=ends)

    def _posted_channel(self, message: Message | None, where: MpiObject | None) -> Channel | None:
        """Return the channel of a posted receive; None if several channels may match it."""
        return None if message is None or message.tag is None else self._channel(RECEIVE, message, where)

    def _template(self, call: Call) -> _Template:
        is_send = "send" in call.function.lower()
        message = call.message if call.message is not None and not call.message.instead else None
        if message is None:
            return _Template(None, is_send)
        channel = self._channel(SEND, message, call.where) if is_send else self._posted_channel(message, call.where)
        return _Template(channel, is_send)

    def _channel(self, role: int, message: Message | None, where: MpiObject | None) -> Channel | None:
        return None if message is None or where is None else message_channel(role, message, where, self._rank)[1]

    def _note_sender(self, number: int, site: Site | None, message: Message | None, where: MpiObject | None) -> None:
        rank = None if message is None or where is None else message.rank_in(where)
        sender = None if rank is None or where is None else where.world_rank(rank)
        if sender is not None and sender < self._ranks:
            self.senders.append((number, self._sites.setdefault(site, len(self._sites)), sender))

    def _meet(self, number: int, call: Call) -> None:
        assert call.where is not None
        group = ("all", call.where.kind, *call.where.members, *call.where.remote)
        if group not in self.members:
            self.members[group] = _ranks_of((*call.where.members, *call.where.remote), self._ranks)
        if self._rank in self.members[group]:
            self.meetings[group].append(number)


def _is_together(call: Call) -> bool:
    if call.where is None:
        return False
    everywhere = call.kind in ("io", "iio") and ("_all" in call.function or "_ordered" in call.function)
    return (
        (call.kind in TOGETHER_KINDS and call.function not in UNMATCHED)
        or call.function in TOGETHER_FUNCTIONS
        or everywhere
    )


def _ranks_of(ranges: Sequence[RankRange], most: int) -> tuple[int, ...]:
    """Return the ranks of a group; empty if there are more than the run has."""
    if sum(length for _, _, length in ranges) > most:
        return ()
    return tuple(sorted(first + stride * i for first, stride, length in ranges for i in range(length)))


def _endpoint(messages: list[list[int]]) -> Endpoint:
    """Sort the messages of a channel in the order in which they match: that in which they were posted."""
    ordered = sorted(messages, key=lambda ends: ends[0])
    return Endpoint([begin for begin, _ in ordered], [done for _, done in ordered])


def beginning(path: str, until_s: float, ranks: int) -> Beginning:
    """Read the events of a process that end until some time, and some more.

    Args:
        path: Path of its trace.
        until_s: Seconds from the start of the process.
        ranks: Number of ranks in the run.

    Raises:
        NoDataError: it cannot be read, or is not a trace.
    """
    until_ns, is_whole = until_s * 1e9, True
    taken: list[MpiEvent] = []
    with Trace(path) as trace:
        metadata = trace.metadata
        for event in trace.events():
            if event.start_ns > until_ns:
                is_whole = False
                break
            if counts(event.call):
                taken.append(event)
    taken.sort(key=lambda event: event.end_ns)
    matcher = MessageMatcher(metadata.rank, ranks)
    for number, event in enumerate(taken):
        matcher.take(number, event)
    calls = [event.call for event in taken]
    stops = [call.kind in COUNTED_KINDS or call.function in COUNTED_FUNCTIONS for call in calls]
    messages = ProcessMessages(
        metadata.rank,
        matcher.sends,
        matcher.receives,
        matcher.meetings,
        matcher.members,
        np.array(stops, dtype=np.bool_) & np.array([not call.failed for call in calls], dtype=np.bool_),
        is_whole,
    )
    return Beginning(
        messages,
        np.array([event.end_ns for event in taken], dtype=np.float64) * 1e-9,
        tuple(call.function for call in calls),
        np.array([is_of_all(call, metadata.ranks) for call in calls], dtype=np.bool_),
        tuple(matcher.senders),
        np.array([call.function in UNMATCHED for call in calls], dtype=np.bool_),
    )
