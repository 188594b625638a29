"""Cuts at which all processes of a run can be stopped: drawn programs are run to them, with sends that wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.systems.mpi.analyse.communication import Endpoint, MoreEventsNeededError, ProcessMessages, consistent_cut

Channel = tuple[object, ...]


@dataclass
class Process:
    """The calls of a process: (what, channel or group, request), and what of them matters to others."""

    rank: int
    calls: list[tuple[str, Channel, int]] = field(default_factory=list)
    stops: list[bool] = field(default_factory=list)

    def call(self, what: str, where: Channel = (), request: int = -1, *, stops: bool = True) -> int:
        self.calls.append((what, where, request))
        self.stops.append(stops)
        return len(self.calls) - 1


def messages(process: Process, ranks: int, until: int | None = None) -> ProcessMessages:
    """What a process exchanges in its first events."""
    sends, receives, meetings = dict[Channel, Endpoint](), dict[Channel, Endpoint](), dict[Channel, list[int]]()
    requests: dict[int, tuple[Endpoint, int]] = {}
    known = process.calls[:until]
    for event, (what, where, request) in enumerate(known):
        if what == "meet":
            meetings.setdefault(where, []).append(event)
        elif what == "wait":
            endpoint, place = requests[request]
            endpoint.completes[place] = event
        else:
            endpoint = (sends if "send" in what else receives).setdefault(where, Endpoint())
            endpoint.begins.append(event)
            endpoint.completes.append(event if what in ("send", "receive") else -1)
            requests[request] = endpoint, len(endpoint.begins) - 1
    members = {group: tuple(range(ranks)) for group in meetings}
    stops = np.array(process.stops[:until], dtype=np.bool_)
    whole = len(known) == len(process.calls)
    return ProcessMessages(process.rank, sends, receives, meetings, members, stops, whole)


@st.composite
def programs(draw: st.DrawFn) -> list[Process]:
    """A program that comes to its end although every send waits for its receive: it does one thing after another."""
    ranks = draw(st.integers(2, 5))
    processes = [Process(rank) for rank in range(ranks)]
    for number in range(draw(st.integers(1, 30))):
        kind = draw(st.sampled_from(["blocking", "posted", "ring", "meet", "alone"]))
        if kind == "meet":
            for process in processes:
                process.call("meet", ("all",))
        elif kind == "alone":
            draw(st.sampled_from(processes)).call("isend", ("one", 0, 99), 10**6 + number, stops=False)
        elif kind == "ring":
            # All at once, as halo exchanges are: receives and sends are posted, then waited for.
            for process in processes:
                here, after, before = process.rank, (process.rank + 1) % ranks, (process.rank - 1) % ranks
                process.call("ireceive", ("one", before, here), 10 * number)
                process.call("isend", ("one", here, after), 10 * number + 1)
            for process in processes:
                process.call("wait", request=10 * number, stops=draw(st.booleans()))
                process.call("wait", request=10 * number + 1)
        else:
            sender, receiver = draw(st.permutations(range(ranks)))[:2]
            channel = ("one", sender, receiver)
            if kind == "blocking":
                processes[sender].call("send", channel)
                processes[receiver].call("receive", channel)
            else:
                processes[receiver].call("ireceive", channel, 10 * number)
                processes[sender].call("send", channel)
                processes[receiver].call("wait", request=10 * number)
    return processes


def run_to(processes: Sequence[Process], cut: Sequence[int]) -> list[int]:
    """Run a program until no process gets on, none further than its cut; return the calls that each has done."""
    done = [0] * len(processes)
    moved = True
    while moved:
        moved = False
        for process in processes:
            while done[process.rank] < cut[process.rank] and _comes_back(processes, done, cut, process):
                done[process.rank] += 1
                moved = True
    return done


def _comes_back(processes: Sequence[Process], done: Sequence[int], cut: Sequence[int], process: Process) -> bool:
    """Whether the next call of a process comes back, given what all have done, and are just doing."""
    at = done[process.rank]
    what, where, request = process.calls[at]
    if what == "wait":
        place = next(i for i, call in enumerate(process.calls) if call[2] == request and call[0] != "wait")
        what, where, _ = process.calls[place]
        what, at = what.removeprefix("i"), place
    elif what in ("isend", "ireceive"):
        return True
    if what == "meet":
        turn = sum(call[:2] == ("meet", where) for call in process.calls[:at])
        return all(_begun(other, done, cut, "meet", where) > turn for other in processes)
    turn = sum(call[1] == where and what in call[0] for call in process.calls[:at])
    other = "receive" if what == "send" else "send"
    return any(_begun(one, done, cut, other, where) > turn for one in processes)


def _begun(process: Process, done: Sequence[int], cut: Sequence[int], what: str, where: Channel) -> int:
    """How many calls of a sort a process has begun: those that came back, and the one it is in if it goes on."""
    inside = done[process.rank] + (done[process.rank] < cut[process.rank])
    return sum(what in call[0] and call[1] == where for call in process.calls[:inside])


@settings(max_examples=300, deadline=None)
@given(programs(), st.data())
def test_every_process_comes_to_the_cut_when_none_goes_beyond_it(processes: list[Process], data: st.DataObject) -> None:
    done = [data.draw(st.integers(0, len(one.calls))) for one in processes]
    cut = consistent_cut([messages(one, len(processes)) for one in processes], done)
    if cut is None:
        return
    assert all(count >= least for count, least in zip(cut, done, strict=True))
    assert all(count == 0 or one.stops[count - 1] for one, count in zip(processes, cut, strict=True))
    assert run_to(processes, cut) == cut


@settings(max_examples=200, deadline=None)
@given(programs(), st.data())
def test_the_cut_is_the_same_from_beginnings_that_reach_far_enough(
    processes: list[Process], data: st.DataObject
) -> None:
    done = [data.draw(st.integers(0, len(one.calls) // 2)) for one in processes]
    whole = consistent_cut([messages(one, len(processes)) for one in processes], done)
    until = [data.draw(st.integers(least, len(one.calls))) for one, least in zip(processes, done, strict=True)]
    # A request that is waited for behind the beginning is under way there.
    beginnings = [messages(one, len(processes), count) for one, count in zip(processes, until, strict=True)]
    try:
        assert consistent_cut(beginnings, done) == whole
    except MoreEventsNeededError:
        assert until != [len(one.calls) for one in processes]


def test_without_a_cut_the_neighbours_of_a_stopped_process_would_wait() -> None:
    """The oracle itself: a cut that is none is noticed."""
    one, other = Process(0), Process(1)
    one.call("send", ("one", 0, 1))
    other.call("receive", ("one", 0, 1))
    assert run_to([one, other], [0, 1]) == [0, 0]
    assert consistent_cut([messages(one, 2), messages(other, 2)], [0, 1]) == [1, 1]


@pytest.mark.parametrize("steps", [1, 50])
def test_a_pipeline_is_cut_where_requested(steps: int) -> None:
    """A wavefront: rank 0 may be far ahead, and no rank has to follow beyond what it has received from."""
    ranks = [Process(rank) for rank in range(3)]
    for _ in range(steps):
        for process in ranks:
            if process.rank > 0:
                process.call("receive", ("one", process.rank - 1, process.rank))
            if process.rank < 2:
                process.call("send", ("one", process.rank, process.rank + 1))
    cut = consistent_cut([messages(one, 3) for one in ranks], [0, 0, 1])
    assert cut == [1, 2, 1]
