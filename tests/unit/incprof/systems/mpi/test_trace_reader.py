"""Traces of MPI calls are read as written, cut anywhere, damaged or hostile; and the messages for them."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.cli.main import main
from incprof.errors import IncprofError, NoDataError
from incprof.systems.mpi.trace_file import Trace, find_traces
from incprof.systems.mpi.trace_types import MpiEvent, TraceEnd
from tests.unit.tracefile import (
    BARRIER,
    KNOWN,
    Coder,
    Timed,
    block,
    end,
    function,
    metadata,
    number,
    send,
    site,
    steady,
    thing,
    thread,
    trace,
    write_run,
)


def read(folder: Path, data: bytes) -> tuple[list[MpiEvent], TraceEnd]:
    path = folder / "rank-00000.mpi"
    path.write_bytes(data)
    with Trace(str(path)) as opened:
        return list(opened.events()), opened.end


@st.composite
def timed(draw: st.DrawFn) -> list[Timed]:
    """Events whose times are of every size, from few shapes."""
    length = st.one_of(st.integers(0, 300), st.integers(0, 10**6), st.integers(0, 10**12))
    keys = st.sampled_from([send(), send(-1), send(1, 10**6), BARRIER])
    now, events = 0, []
    for _ in range(draw(st.integers(1, 60))):
        gap, duration = draw(length), draw(length)
        work = draw(st.sampled_from([gap, gap, gap // 2, 0]))
        events.append(Timed(draw(keys), now + gap, now + gap + duration, work))
        now += gap + duration
    return events


@given(events=timed())
def test_times_are_read_as_they_were_to_half_a_microsecond(
    events: list[Timed], tmp_path_factory: pytest.TempPathFactory
) -> None:
    found, ended = read(tmp_path_factory.mktemp("t"), trace(events))
    assert (len(found), ended.events, ended.damaged, ended.torn) == (len(events), len(events), 0, False)
    for event, written in zip(found, events, strict=True):
        assert abs(event.start_ns - written.start_ns) <= 512
        assert abs(event.end_ns - written.end_ns) <= 512
        assert abs(event.work_ns - written.work_ns) <= max(2048, written.work_ns // 200)


def test_a_steady_loop_takes_four_bytes_an_event_at_most() -> None:
    dice = random.Random(7)
    events, now = [], 0
    for i in range(20000):
        gap, duration = int(dice.gauss(10**6, 20_000)), int(dice.gauss(20_000, 4_000))
        events.append(Timed(send() if i % 2 else BARRIER, now + gap, now + gap + duration, gap))
        now += gap + duration
    assert len(Coder().events(events)) <= 4 * len(events)


def test_what_a_call_is(tmp_path: Path) -> None:
    receive = number(2) + number(1) + number(0b101111) + number(1) + number(0) + number(0) + number(800)
    receive += number(3 + 2) + number(1 + 18) + number(400)
    waits = number(4) + number(2) + number(1 << 10 | 1 << 12) + number(2) + number(3)
    waits += (
        number(0) + number(4) + number(1 | 2) + number(1) + number(30) + number(1) + number(4) + number(1) + number(8)
    )
    known = KNOWN + function(4, "Waitall", "wait")
    data = metadata() + block(2, 0, known + Coder().events([Timed(receive, 5, 9, 5), Timed(waits, 10, 11, 1)])) + end()
    (first, second), ended = read(tmp_path, data)
    call = first.call
    assert (call.function, call.kind, call.site and call.site.address) == ("Recv", "receive", 0x1234)
    assert call.message is not None
    assert (call.message.instead, call.message.tag, call.message.bytes) == ("any", None, 800)
    assert call.actual is not None
    assert call.where is not None
    assert (call.actual.distance, call.actual.tag, call.actual.bytes, call.actual.rank_in(call.where)) == (1, 9, 400, 1)
    assert (first.start_ns, first.end_ns, first.work_ns) == (5, 9, 5)
    mine, others = second.call.completed
    assert (mine.lane, mine.age, mine.message) == (None, 4, None)
    assert (others.lane, others.number, others.message and others.message.distance) == (1, 30, -1)
    assert (second.call.unlisted, second.call.failed) == (3, True)
    assert (ended.how, ended.end_ns) == ("finalize", 10**9)


def test_a_number_of_an_object_is_given_again(tmp_path: Path) -> None:
    coder = Coder()
    payload = KNOWN + coder.events(steady(1)) + thing(1, 0, 3, 4, [(1, 2, 4)])
    payload += coder.events([Timed(send(), 10**6 + 10, 10**6 + 20, 10)])
    events, _ = read(tmp_path, metadata() + block(2, 0, payload) + end())
    where = [event.call.where for event in events]
    assert [each and (each.rank, each.size) for each in where] == [(0, 2), (0, 2), (3, 4)]
    assert where[2] is not None
    assert [where[2].world_rank(rank) for rank in range(5)] == [1, 3, 5, 7, None]


def test_lanes_threads_and_what_is_missing(tmp_path: Path) -> None:
    one, other = Coder(), Coder()
    first = KNOWN + one.events(steady(2))
    one.end_ns, one.last = 0, None
    second = thread(9) + one.events([Timed(BARRIER, 7 * 10**6, 8 * 10**6, 10)]) + b"\13" + number(5) + number(2)
    data = metadata() + block(2, 0, first) + block(2, 1, KNOWN + other.events(steady(1)))
    events, ended = read(tmp_path, data + block(2, 0, second))
    assert [(event.lane, event.thread) for event in events] == [*[(0, 7)] * 4, *[(1, 7)] * 2, (0, 9)]
    assert abs(events[-1].start_ns - 7 * 10**6) <= 1024
    assert (ended.how, ended.lost, ended.events) == (None, 5, 7)


def test_cut_anywhere(tmp_path: Path) -> None:
    coder = Coder()
    events = steady(30)
    parts = [metadata(), block(2, 0, KNOWN + coder.events(events[:20])), block(2, 0, coder.events(events[20:])), end()]
    data = b"".join(parts)
    whole = len(parts[0])
    for length in range(len(data)):
        if length < whole:
            with pytest.raises(NoDataError):
                read(tmp_path, data[:length])
            continue
        found, ended = read(tmp_path, data[:length])
        expected = 20 * (length >= whole + len(parts[1])) + 40 * (length >= len(data) - len(parts[3]))
        assert len(found) == expected
        assert ended.torn == (length not in (whole, whole + len(parts[1]), len(data) - len(parts[3])))


def test_a_damaged_block_ends_its_lane_and_no_other(tmp_path: Path) -> None:
    one, other = Coder(), Coder()
    events = steady(30)
    first, second = KNOWN + one.events(events[:20]), one.events(events[20:])
    parts = [block(2, 0, first), block(2, 0, b"\x0c" + second), block(2, 1, KNOWN + other.events(events)), end()]
    found, ended = read(tmp_path, metadata() + b"".join(parts))
    assert [sum(event.lane == lane for event in found) for lane in (0, 1)] == [20, 60]
    assert (ended.damaged, ended.how) == (1, "finalize")
    data = bytearray(metadata() + b"".join([parts[0], block(2, 0, second), parts[3]]))
    data[-len(parts[3]) - 9] ^= 1
    found, ended = read(tmp_path, bytes(data))
    assert (len(found), ended.damaged, ended.how) == (20, 1, "finalize")


HOSTILE = {
    "a number that does not end": b"\4" + b"\xff" * 30,
    "a shape larger than the block": b"\4" + number(1 << 40),
    "an event without a predecessor": b"\x80\0",
    "a shape that there is not": b"\2" + number(99) + b"\0\0",
    "a call site in an unknown module": site(9, 1),
    "an object of an unknown kind": thing(1, 7, 0, 1),
    "a record of an unknown kind": b"\x7f",
    "a function that there is not": Coder().event(Timed(send(function_index=50), 1, 2, 1)),
    "a site that there is not": Coder().event(Timed(send(site_number=50), 1, 2, 1)),
    "an endless list": Coder().event(
        Timed(number(1) + number(1) + number(1 << 10) + number(1 << 50) + b"\0\0", 1, 2, 1)
    ),
    "fields that there are not": Coder().event(Timed(number(1) + number(1) + number(1 << 20), 1, 2, 1)),
    "something behind a call": Coder().event(Timed(BARRIER + b"\0", 1, 2, 1)),
    "a time beyond all": b"\4" + number(len(BARRIER)) + BARRIER + number(2**64 - 2) + number(2**64 - 2) + b"\0",
    "a name beyond the end": b"\7\1" + number(1000) + b"abc",
}


@pytest.mark.parametrize("payload", HOSTILE.values(), ids=list(HOSTILE))
def test_hostile_bytes_end_the_lane(payload: bytes, tmp_path: Path) -> None:
    events, ended = read(tmp_path, metadata() + block(2, 0, KNOWN + payload + b"\4" * 40) + end())
    assert (events, ended.damaged, ended.how) == ([], 1, "finalize")


@pytest.mark.slow
def test_more_shapes_than_the_writer_has(tmp_path: Path) -> None:
    events = [Timed(send(1, i), 10 * i, 10 * i + 5, 5) for i in range(16385)]
    found, ended = read(tmp_path, metadata() + block(2, 0, KNOWN + Coder().events(events)) + end())
    assert (len(found), ended.damaged) == (16384, 1)
    one, other = Coder(), Coder()
    payload = KNOWN + one.events(events[:16384]) + b"\5"
    other.end_ns = one.end_ns
    found, ended = read(tmp_path, metadata() + block(2, 0, payload + other.events(events[16384:])) + end())
    assert (len(found), ended.damaged) == (16385, 0)


@given(data=st.data())
def test_whatever_is_changed_the_reader_answers(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Bytes within a block are changed and its checksum is made right again: every path of the decoder sees them."""
    payload = bytearray(KNOWN + Coder().events(steady(8)))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(payload) - 1))
        payload[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
    events, ended = read(tmp_path_factory.mktemp("t"), metadata() + block(2, 0, bytes(payload)) + end())
    assert len(events) == ended.events
    for event in events:
        assert 0 <= event.work_ns <= event.start_ns <= event.end_ns < 1 << 63
        if event.call.message is not None and event.call.where is not None:
            event.call.message.rank_in(event.call.where)
            event.call.where.world_rank(0)


@given(data=st.binary(max_size=400))
def test_any_bytes_at_all(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("t")
    with pytest.raises(IncprofError):
        read(folder, data)
    _, ended = read(folder, metadata() + data)
    assert ended.torn or ended.damaged or not data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty file"),
        (b"gmon\1" + bytes(15), "not an MPI trace"),
        (block(1, 0, b"[" * 10**5), "its start is damaged"),
        (block(2, 0, KNOWN), "its start is damaged"),
        (b"MPI\n\2" + bytes(20), "format version 2 is newer"),
    ],
)
def test_an_invalid_trace_is_one_line(data: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(IncprofError, match=message):
        read(tmp_path, data)


def test_the_traces_of_a_run_by_rank(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 3)
    for name in ("rank-00001.77.mpi", "rank-00001.gmon", "launch", "rank-x.mpi"):
        (run / name).touch()
    assert [Path(path).name for path in find_traces(str(run))] == [
        "rank-00000.mpi", "rank-00001.mpi", "rank-00001.77.mpi", "rank-00002.mpi",
    ]  # fmt: skip


def test_a_trace_beside_the_directory_is_named(tmp_path: Path) -> None:
    """That of a recording that began before the launcher."""
    recording = tmp_path / "run"
    recording.mkdir()
    with pytest.raises(NoDataError, match="record one with incprof trace"):
        find_traces(str(recording))
    write_run(tmp_path / "run.1")
    with pytest.raises(NoDataError, match=r"no MPI trace in it: .*run\.1 has one"):
        find_traces(str(recording))


def test_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write_run(tmp_path / "run")
    assert main(["trace", "--show", str(run)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "app, 2 processes, Open MPI 4.1.4",
        "work in CPU time: the trace has no counts",
        "",
        "Rank  Time  In MPI    %  Calls",
        "0      1 s  2.2 ms  0.2     40",
        "1      1 s  2.2 ms  0.2     40",
        "",
        "Function  Calls    Time  % of MPI     Bytes  Partners  Place",
        "Barrier      40    4 ms      90.9         -         -  app+0x2345",
        "Send         40  400 us       9.1  3.12 KiB         1  app+0x1234",
    ]
    assert main(["trace", "--show", str(run), "--rank", "1", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "incprof.trace/1"
    (rank,) = answer["ranks"]
    assert (rank["rank"], rank["events"], rank["ended"], rank["mpi_s"]) == (1, 40, "finalize", 0.0022)
    sends = rank["calls"][1]
    assert (sends["function"], sends["calls"], sends["bytes"], sends["peers"]) == ("MPI_Send", 20, 1600, {"1": 1600})


def test_show_of_less_than_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write_run(tmp_path / "run")
    path = run / "rank-00001.mpi"
    path.write_bytes(path.read_bytes()[:-4])
    assert main(["trace", "--show", str(run)]) == 5
    assert "rank 1: damaged or torn" in capsys.readouterr().err
    assert main(["trace", "--show", str(run), "--rank", "7"]) == 4
    assert "no trace of rank 7" in capsys.readouterr().err
    assert main(["trace", "--show", str(tmp_path)]) == 4
    assert main(["trace", "--show", str(run), "--", "app"]) == 2
    assert main(["trace", "--json"]) == 2
    assert main(["trace"]) == 2
    for each in run.glob("*.mpi"):
        each.write_bytes(b"")
    assert main(["trace", "--show", str(run)]) == 4
