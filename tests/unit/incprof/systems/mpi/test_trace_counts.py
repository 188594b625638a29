"""Counts of a trace: what is written is read; blocks are missing, hostile, of another lane; what becomes of work."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.cli.main import main
from incprof.systems.mpi.analyse.mpi_events import work_of
from incprof.systems.mpi.process_events import process_events
from incprof.systems.mpi.trace_file import Trace, counts_of
from tests.unit.tracefile import (
    BARRIER,
    KNOWN,
    Coder,
    Timed,
    block,
    count_code,
    counts,
    end,
    metadata,
    send,
    steady,
    thread,
)

BOTH = ["instructions", "cache-misses"]


def written(folder: Path, data: bytes) -> str:
    path = folder / "rank-00000.mpi"
    path.write_bytes(data)
    return str(path)


@given(st.one_of(st.integers(0, 5000), st.integers(0, (1 << 64) - 1)))
def test_a_count_is_right_to_half_a_thousandth(count: int) -> None:
    (found,) = counts_of(np.array([count_code(count)], dtype=np.uint16)).tolist()
    assert found == count if count < 2048 else abs(found - count) <= count / 2048


def test_every_code_is_a_count_and_larger_codes_are_larger_counts() -> None:
    found = counts_of(np.arange(0xFFFF, dtype=np.uint16))
    assert (np.diff(found) > 0).all()
    assert np.isnan(counts_of(np.array([0xFFFF], dtype=np.uint16))).all()


def test_work_is_instructions_where_they_were_counted(tmp_path: Path) -> None:
    events = steady(10)
    rows = [(None, None), *((1000 * i, i) for i in range(1, 20))]
    coder = Coder()
    data = [metadata(counters=BOTH), block(2, 0, KNOWN + coder.events(events[:8])), counts(0, 0, rows[:13])]
    data += [block(2, 0, coder.events(events[8:])), counts(0, 13, rows[13:]), end()]
    read = process_events(written(tmp_path, b"".join(data)), {})
    assert (read.work.unit, read.work.missing) == ("instructions", "")
    assert read.work.amount[1:] == pytest.approx([row[0] for row in rows[1:]], rel=1e-3)
    # The first has none: its time, at the rate of the others.
    time = sum(event.work_ns for event in events[1:])
    assert read.work.amount[0] == pytest.approx(590_000 * sum(1000 * i for i in range(1, 20)) / time, rel=0.02)


def test_lanes_have_counts_of_their_own(tmp_path: Path) -> None:
    data = metadata(counters=["instructions"]) + block(2, 0, KNOWN + Coder().events(steady(4)))
    later = [event._replace(start_ns=event.start_ns + 10**7, end_ns=event.end_ns + 10**7) for event in steady(4)]
    data += block(2, 1, KNOWN + thread(8) + Coder().events(later))
    data += counts(1, 0, [[2000]] * 8) + counts(0, 0, [[1000]] * 8) + end()
    read = process_events(written(tmp_path, data), {})
    assert read.work.amount.tolist() == [1000.0] * 8 + [2000.0] * 8


@pytest.mark.parametrize(
    ("more", "missing"),
    [({}, ""), ({"counters": [], "counters_missing": "ENOENT"}, "ENOENT"), ({"counters": ["instructions"]}, "few")],
)
def test_without_counts_work_is_cpu_time(tmp_path: Path, more: dict[str, object], missing: str) -> None:
    data = metadata(**more) + block(2, 0, KNOWN + Coder().events(steady(20))) + end()
    read = process_events(written(tmp_path, data), {})
    assert (read.work.unit, read.work.missing) == ("seconds", missing)
    assert read.work.amount[0] == pytest.approx(590e-6)


def test_readers_that_know_no_counts_leave_them_out(tmp_path: Path) -> None:
    """Blocks of a kind that is not known are left out: so do readers of before, with this one."""
    data = (
        metadata() + block(9, 0, b"later") + block(2, 0, KNOWN + Coder().events(steady(5))) + block(9, 0, b"") + end()
    )
    with Trace(written(tmp_path, data)) as trace:
        assert (len(list(trace.events())), trace.end.damaged) == (10, 0)


@pytest.mark.parametrize("seed", range(30))
def test_hostile_counts_change_no_event(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    first = chance.choice([0, 3, 19, 20, 1 << 40, (1 << 64) - 1])
    payload = struct.pack("<Q", first) + chance.randbytes(chance.randrange(200))
    payload = payload[: chance.randrange(len(payload) + 1)]
    names = chance.choice([["instructions"], BOTH, ["\u202e", "b", "c"], [], "instructions", [1, 2], ["a"] * 99, None])
    lane = chance.choice([0, 1, 65535, 65536, (1 << 32) - 1])
    data = metadata(counters=names) + block(4, lane, payload) + block(2, 0, KNOWN + Coder().events(steady(10)))
    data += block(4, lane, payload) + end(uncounted=chance.choice([-1, 7, "x"]))
    read = process_events(written(tmp_path, data), {})
    assert len(read.work.amount) == 20
    assert np.isfinite(read.work.amount).all()
    assert main(["trace", "--show", str(tmp_path)]) == 0


def test_output_of_show_and_signature(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    run.mkdir()
    blocks = KNOWN + Coder().events(steady(20))
    counted = metadata(counters=BOTH) + block(2, 0, blocks) + counts(0, 0, [(1500, 2)] * 40)
    written(run, counted + end(shared=3))
    assert main(["trace", "--show", str(run)]) == 0
    shown = capsys.readouterr()
    assert "work in instructions" in shown.out
    assert "Instructions  Cache-misses" in shown.out
    assert " 60000 " in shown.out
    assert "before 3 calls, other programs used the processor's counters" in shown.err
    assert main(["trace", "--show", str(run), "--json"]) == 0
    (rank,) = json.loads(capsys.readouterr().out)["ranks"]
    assert (rank["counts"], rank["shared"]) == ({"instructions": 60000, "cache-misses": 80}, 3)
    assert main(["signature", str(run), "--method", "paper", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["work"] == {"unit": "instructions", "missing": None, "by_modes": False}
    written(run, metadata(counters=[], counters_missing="EACCES") + block(2, 0, blocks) + end())
    assert main(["signature", str(run), "--method", "paper"]) == 0
    line = "work in CPU time: the machine counts no instructions (EACCES); compared by its modes"
    assert line in capsys.readouterr().out.splitlines()
    assert main(["signature", str(run), "--method", "paper", "--json", "--similar", "0.85"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["work"] == {"unit": "seconds", "missing": "EACCES", "by_modes": False}


def test_instructions_find_the_phases_that_noise_of_time_hides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two phases of the same calls, one with a third more work; the time of each varies by a half."""
    chance = random.Random(3)
    events, rows, now = [], [], 0
    for i in range(900):
        # The longer the time between them, the same work: a slow processor.
        instructions = (4_000_000 if i // 30 % 2 else 3_000_000) * chance.uniform(0.999, 1.001)
        gap = int(instructions * chance.uniform(0.2, 0.4))
        for key, before, counted in ((send(), gap, int(instructions)), (BARRIER, 1000, 800)):
            events.append(Timed(key, now + before, now + before + 20_000, before))
            rows.append([counted])
            now += before + 20_000
    data = block(2, 0, KNOWN + Coder().events(events)) + counts(0, 0, rows) + end(end_ns=now)
    found = []
    for more in ({"counters": ["instructions"]}, {"counters": [], "counters_missing": "ENOENT"}):
        written(tmp_path, metadata(ranks=1, **more) + data)
        for words in ([], ["--similar", "0.85"]):
            assert main(["signature", str(tmp_path), "--method", "paper", "--json", *words]) == 0
            found.append([phase["weight"] for phase in json.loads(capsys.readouterr().out)["phases"]])
    counted, also, by_modes, shattered = found
    assert sorted(counted) == sorted(also) == [450, 450]
    assert by_modes == [900]
    assert len(shattered) > 2


def test_work_that_took_no_time_is_no_error() -> None:
    zeros = np.zeros(4)
    assert work_of(zeros, ("instructions",), np.full((4, 1), np.nan)).missing == "few"
    counted = work_of(zeros, ("instructions",), np.array([[np.nan], [5.0], [5.0], [5.0]]))
    assert counted.amount.tolist() == [0.0, 5.0, 5.0, 5.0]
    assert work_of(zeros[:0], ("instructions",), np.zeros((0, 1))).unit == "seconds"
