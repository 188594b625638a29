"""Writes traces of MPI calls as libincprof_mpi does (formats.md), from the events that they stand for."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.unit.streamwriter import varint as number

METADATA = {
    "format": "incprof-trace",
    "version": 1,
    "mpi": "Open MPI 4.1.4",
    "app": "app",
    "rank": 0,
    "ranks": 2,
    "pid": 7,
}
METADATA |= {"host": "node", "start_unix_ns": 10**18}
WORLD = [(0, 1, 2)]


class Timed(NamedTuple):
    """An event: the bytes that its call is, and its times."""

    key: bytes
    start_ns: int
    end_ns: int
    work_ns: int


def signed(value: int) -> bytes:
    return number(2 * value if value >= 0 else -2 * value - 1)


def text(value: str) -> bytes:
    return number(len(value.encode())) + value.encode()


def block(kind: int, lane: int, payload: bytes) -> bytes:
    head = struct.pack("<BBHI", 1, kind, 0, lane)
    sums = zlib.crc32(head) ^ zlib.crc32(payload)
    return b"MPI\n" + head + struct.pack("<II", len(payload), sums) + payload


def metadata(**more: Any) -> bytes:
    return block(1, 0, json.dumps(METADATA | more).encode())


def end(how: str = "finalize", end_ns: int = 10**9, **more: Any) -> bytes:
    return block(3, 0, json.dumps({"ended": how, "end_ns": end_ns, "lost": 0} | more).encode())


def thread(tid: int = 7) -> bytes:
    return b"\6" + number(tid)


def function(index: int, name: str, kind: str) -> bytes:
    return b"\7" + number(index) + text(name) + text(kind)


def module(path: str, build_id: str = "") -> bytes:
    return b"\10" + text(path) + text(build_id)


def site(module_number: int, address: int) -> bytes:
    return b"\11" + number(module_number) + number(address)


def thing(
    index: int, kind: int, rank: int, size: int, members: Sequence[tuple[int, int, int]] = (), name: str = ""
) -> bytes:
    stretches = number(len(members)) + b"".join(signed(a) + signed(b) + number(n) for a, b, n in members)
    return b"\12" + b"".join(map(number, (index, kind, rank, size))) + stretches + number(0) + text(name)


def send(distance: int = 1, size: int = 80, tag: int = 5, function_index: int = 1, site_number: int = 1) -> bytes:
    """A Send on object 1."""
    return (
        number(function_index) + number(site_number) + number(0b1111) + number(1)
        + number(3 + signed(distance)[0]) + number(1 + signed(tag)[0]) + number(size)
    )  # fmt: skip


class Coder:
    """Codes the events of a lane, as coding.c does."""

    def __init__(self) -> None:
        self.shapes: dict[bytes, dict[str, Any]] = {}
        self.last: dict[str, Any] | None = None
        self.end_ns = 0

    def events(self, events: Iterable[Timed]) -> bytes:
        return b"".join(map(self.event, events))

    def event(self, event: Timed) -> bytes:
        shape = self.shapes.get(event.key)
        expected = shape is not None and self.last is not None and self.last["follower"] is shape
        is_new = shape is None
        if shape is None:
            shape = {"number": len(self.shapes), "gap": 0, "duration": 0, "timed": False, "follower": None}
            self.shapes[event.key] = shape
        quantum = min(max(shape["gap"].bit_length() - 9, 0), 9)
        gap, gap_ns = self._time(shape, "gap", event.start_ns - self.end_ns)
        duration, duration_ns = self._time(shape, "duration", event.end_ns - self.end_ns - gap_ns)
        self.end_ns += gap_ns + duration_ns
        shape["timed"] = True
        if self.last is not None:
            self.last["follower"] = shape
        self.last = shape
        idle = gap_ns - event.work_ns
        is_gap = abs(idle) <= max(1 << quantum, gap_ns >> 8)
        if expected and is_gap:
            return (
                bytes([0x80 | min(duration, 0x7F)])
                + (number(duration - 0x7F) if duration >= 0x7F else b"")
                + number(gap)
            )
        head = b"\4" + number(len(event.key)) + event.key if is_new else b"\1"
        if not is_new and not expected:
            head = (b"\2" if is_gap else b"\3") + number(shape["number"])
        work = signed(idle + (1 << quantum >> 1) >> quantum)
        return head + number(duration) + number(gap) + (b"" if is_gap and not is_new else work)

    def _time(self, shape: dict[str, Any], which: str, ns: int) -> tuple[int, int]:
        mean = shape[which]
        quantum = min(max(mean.bit_length() - 9, 0), 9)
        steps = (ns - mean + (1 << quantum >> 1)) >> quantum
        told = max(mean + (steps << quantum), 0)
        shape[which] = mean + ((told - mean) >> 3) if shape["timed"] else told
        return 2 * steps if steps >= 0 else -2 * steps - 1, told


def count_code(count: int | None) -> int:
    """The 16 bits of a count; None where nothing was counted."""
    if count is None:
        return 0xFFFF
    unwritten = max(count.bit_length() - 11, 0)
    return (count + (1 << unwritten >> 1) >> unwritten) + (unwritten << 10)


def counts(lane: int, first: int, rows: Iterable[Sequence[int | None]]) -> bytes:
    """A block of what was counted before each event of a lane, from event `first` on."""
    codes = [count_code(count) for row in rows for count in row]
    return block(4, lane, struct.pack(f"<Q{len(codes)}H", first, *codes))


KNOWN = thread() + function(1, "Send", "send") + function(2, "Recv", "receive") + function(3, "Barrier", "collective")
KNOWN += module("/nowhere/app") + site(1, 0x1234) + site(1, 0x2345) + thing(1, 0, 0, 2, WORLD)
BARRIER = number(3) + number(2) + number(1) + number(1)


def steady(count: int) -> list[Timed]:
    """A loop of Send and Barrier, a millisecond each round."""
    return [
        each
        for i in range(count)
        for each in (
            Timed(send(), i * 10**6 + 600_000, i * 10**6 + 610_000, 590_000),
            Timed(BARRIER, i * 10**6 + 900_000, i * 10**6 + 1_000_000, 290_000),
        )
    ]


def trace(events: Iterable[Timed] = (), **more: Any) -> bytes:
    """A whole trace of one lane that ended as it should."""
    return metadata(**more) + block(2, 0, KNOWN + Coder().events(events or steady(20))) + end()


def write_run(directory: Path, ranks: int = 2) -> Path:
    directory.mkdir(parents=True)
    for rank in range(ranks):
        (directory / f"rank-{rank:05}.mpi").write_bytes(trace(rank=rank))
    return directory
