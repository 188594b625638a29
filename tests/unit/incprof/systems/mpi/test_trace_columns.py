"""Events as columns, decoded in C: equal to the result of the reader in Python for any bytes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from incprof.systems.mpi import trace_file
from incprof.systems.mpi.trace_file import Trace
from incprof.systems.mpi.trace_types import MpiEvent, TraceEnd
from soak.mutate import mutate_binary
from tests.unit.mpi_lane_reference import ReferenceLane
from tests.unit.tracefile import (
    BARRIER,
    KNOWN,
    WORLD,
    Coder,
    Timed,
    block,
    end,
    metadata,
    number,
    send,
    steady,
    thing,
    thread,
)

Rows = list[MpiEvent]


def both(folder: Path, data: bytes) -> tuple[tuple[Rows, TraceEnd], tuple[Rows, TraceEnd]]:
    """What each of them reads."""
    path = folder / "rank-00000.mpi"
    path.write_bytes(data)
    with Trace(str(path)) as opened:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(trace_file, "Lane", ReferenceLane)
            expected, whole = list(opened.events()), opened.end
        return (expected, whole), (list(opened.events()), opened.end)


def payloads(chance: random.Random) -> list[bytes]:
    """Some blocks of a lane: events of all sizes, another thread, an object that changes, shapes that are forgotten."""
    now, coder, out = 0, Coder(), [KNOWN]
    for _ in range(6):
        events = []
        for _ in range(chance.randrange(1, 40)):
            gap, duration = (chance.randrange(10 ** chance.randrange(1, 12)) for _ in range(2))
            key = chance.choice([send(), send(-1), send(1, 10**6), BARRIER])
            events.append(Timed(key, now + gap, now + gap + duration, chance.choice([gap, gap // 2, 0])))
            now += gap + duration
        out[-1] += coder.events(events)
        if chance.random() < 0.5:
            out[-1] += thing(1, 0, 1, 2, WORLD)
        elif chance.random() < 0.5:
            out[-1] += chance.choice([thread(8), b"\5" + thread(9)])
            now, coder = 0, Coder()
            out[-1] += b"\5"
        out.append(b"")
    return out


def test_many_shapes(tmp_path: Path) -> None:
    events = [Timed(send(size=i), 10 * i, 10 * i + 5, 0) for i in range(300)]
    (expected, _), (found, _) = both(tmp_path, metadata() + block(2, 0, KNOWN + Coder().events(events)) + end())
    assert (len(found), found == expected) == (300, True)


def test_too_many_shapes(tmp_path: Path) -> None:
    payload = KNOWN + b"".join(b"\4" + number(len(send())) + send() + b"\2\2\0" for _ in range(16386))
    (expected, whole), (found, end_of) = both(tmp_path, metadata() + block(2, 0, payload) + end())
    assert (len(found), found == expected, end_of == whole) == (16384, True, True)
    assert end_of.damaged == 1


@pytest.mark.parametrize("seed", range(40))
def test_whole_and_damaged_payloads(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    blocks = payloads(chance)
    if seed:
        at = chance.randrange(len(blocks) - 1)
        blocks[at] = mutate_binary(chance, blocks[at], ())
    expected, found = both(tmp_path, metadata() + b"".join(block(2, 0, one) for one in blocks) + end())
    assert found == expected
    assert seed or (len(found[0]) > 20 and not found[1].damaged)


@pytest.mark.parametrize("tail", [b"\xff" * 9 + b"\1", b"\xff" * 9 + b"\2", b"\xff" * 10, b"\xfe" * 9 + b"\1", b"\xff"])
@pytest.mark.parametrize("head", [b"\xff", b"\x80", b"\2\0", b"\2\0\0", b"\3\0\0\0", b"\1\0\0"])
def test_numbers_of_any_size(tmp_path: Path, head: bytes, tail: bytes) -> None:
    payload = KNOWN + Coder().events(steady(20)) + head + tail + tail + tail
    expected, found = both(tmp_path, metadata() + block(2, 0, payload) + end())
    assert found == expected
    assert len(found[0]) >= 40
