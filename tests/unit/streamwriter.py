"""Writes streams as in docs/reference/formats.md, without the collector.

    writer = StreamWriter(["main", "solve", "io"])
    writer.interval([Sample("main;solve", weight=90), Sample("main;io", LIBRARY, weight=10)],
                    arcs={("main", "solve"): 3})
    writer.end()
    run = open_run(writer.save(tmp_path / "run"))

Function i of the program (module 0) lies at 0x1000 + 0x100 * i and is 0x80 bytes long; a snapshot with these symbols
is saved with the run. Samples last 1 tick unless they have a weight and are spread evenly over the interval.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

from tests.unit.elfwriter import Symbol, write_elf

METADATA, INTERVAL, OWN_TIME, LIBRARY_TIME, MODULES, NODES, SAMPLES, END = range(1, 9)
OWN, LIBRARY, PROFILER, UNKNOWN = range(4)
BUILD_ID = "00112233445566778899aabbccddeeff00112233"
LIBM_ID, ELIDED, BROKEN = 7, 65535, 65534
BASE, STEP, SIZE = 0x1000, 0x100, 0x80
BIN, BLOCK_BINS = 4, 16


@dataclass(frozen=True)
class Sample:
    """A sample at the end of `path` ("main;solve", or (module, address) frames, outermost first)."""

    path: str | tuple[tuple[int, int], ...]
    kind: int = OWN
    weight: int = 1
    thread: int = 0
    library: int = LIBM_ID


def varint(value: int) -> bytes:
    """A number as streams, traces and protocol buffers have it; a negative one as its two's complement."""
    out = bytearray()
    value &= 2**64 - 1
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value: int) -> bytes:
    return varint((value << 1 ^ value >> 63) & (2**64 - 1))


def image(kind: int, payload: bytes, *, module: int = 0, interval: int = 0) -> bytes:
    return struct.pack("<4sIBBHII", b"gmon", 1, kind, 0, module, len(payload), interval) + payload


def chunk(
    payload: bytes, *, rank: int = 0, pid: int = 4711, start_ns: int = 7, number: int = 0, forked: bool = False
) -> bytes:
    """A chunk of a file that ranks share."""
    fields = (1, forked, rank, pid, len(payload), start_ns, number, crc32(payload))
    head = struct.pack("<8sHHIIIQII", b"incchunk", *fields)
    return head + struct.pack("<I4x", crc32(head)) + payload


def chunks_of(data: bytes, **whose: Any) -> list[bytes]:
    """A stream in chunks as the collector appends them: each one ends with an interval, or is the metadata."""
    found, start, at = list[bytes](), 0, 0
    while at < len(data):
        kind, _, _, length = struct.unpack_from("<BBHI", data, at + 8)
        at += 20 + length
        if kind in (METADATA, INTERVAL) or at == len(data):
            found.append(chunk(data[start:at], number=len(found), **whose))
            start = at
    return found


def histogram(low: int, counts: Sequence[int], *, rate: int = 100, width: int = BIN) -> bytes:
    """One histogram record."""
    head = struct.pack("<BQQII15sc", 0, low, low + width * len(counts), len(counts), rate, b"seconds", b"s")
    return head + struct.pack(f"<{len(counts)}H", *counts)


def blocks(ticks: Mapping[int, int], rate: int = 100) -> bytes:
    """Sparse histogram records: 16 bins of 4 bytes, aligned to 64 bytes, repeated where a count is too large."""
    table: dict[int, list[int]] = {}
    for address, count in ticks.items():
        low = address // (BIN * BLOCK_BINS) * BIN * BLOCK_BINS
        table.setdefault(low, [0] * BLOCK_BINS)[(address - low) // BIN] += count
    out = b""
    for low in sorted(table):
        counts = table[low]
        while any(counts):
            out += histogram(low, [min(c, 65535) for c in counts], rate=rate)
            counts = [max(c - 65535, 0) for c in counts]
    return out


def arc(from_pc: int, self_pc: int, count: int) -> bytes:
    return struct.pack("<BQQI", 1, from_pc, self_pc, count)


def waits_image(*spans: Sequence[int], sites: Sequence[tuple[int, Sequence[tuple[int, int]]]] = ()) -> bytes:
    """An image of waits; each span as in formats.md, with its begin in microseconds since the start of the interval."""
    out = varint(len(spans)) + varint(0) + varint(7) + varint(0) + varint(len(sites))
    for node, frames in sites:
        out += varint(node) + varint(len(frames))
        before = 0
        for module, address in frames:
            out += varint(module) + zigzag(address - before)
            before = address
    before = 0
    for span in spans:
        out += zigzag(span[0] - before) + b"".join(map(varint, span[1:]))
        before = span[0]
    return out


class StreamWriter:
    """Writes one stream: metadata at once, then `interval` as often as wanted, then `end`."""

    def __init__(
        self,
        functions: Sequence[str] = ("main", "solve", "io"),
        *,
        rank: int = 0,
        interval_s: float = 1.0,
        rate_hz: int = 100,
        **metadata: Any,
    ):
        self.functions = list(functions)
        self.rank, self.rate_hz, self.interval_s = rank, rate_hz, interval_s
        self.metadata = {
            "format": "incprof-stream", "version": 1, "tool": "test", "app": "app", "exe": "/nowhere/app",
            "build_id": BUILD_ID, "argv": ["app"], "cwd": "/", "host": "node1", "pid": 4711, "ppid": 1, "rank": rank,
            "ranks": None, "launch": "test", "interval_s": interval_s, "rate_hz": rate_hz, "clock": "cpu",
            "start_unix_ns": 0, "start_mono_ns": 0, "arch": "x86_64", "forked": False,
            "modules": [
                module(0, "/nowhere/app", BUILD_ID, app=True, high=BASE + STEP * max(len(self.functions), 1)),
                module(LIBM_ID, "/lib/libm.so.6", None, app=False),
            ],
            **metadata,
        }  # fmt: skip
        self._nodes: dict[tuple[int, int, int], int] = {}
        self._new_nodes: list[tuple[int, int, int]] = []
        self._count = 0
        self._now_ns = 0
        self.data = image(METADATA, json.dumps(self.metadata).encode())

    def address(self, function: str, offset: int = 0x10) -> int:
        """An address inside a function."""
        return BASE + STEP * self.functions.index(function) + offset

    def node(self, path: str | Iterable[tuple[int, int]]) -> int:
        """Number of a path's last node; nodes that are new go out with the next interval."""
        if isinstance(path, str):
            path = [(0, self.address(name)) for name in path.split(";") if name]
        parent = 0
        for number, address in path:
            key = (parent, number, address)
            if key not in self._nodes:
                self._nodes[key] = len(self._nodes) + 1
                self._new_nodes.append(key)
            parent = self._nodes[key]
        return parent

    def interval(
        self,
        samples: Iterable[Sample] = (),
        *,
        arcs: Mapping[tuple[str, str], int] | None = None,
        duration_s: float | None = None,
        counters: Mapping[int, int] | None = None,
        images: Mapping[int, bytes] | None = None,
    ) -> bytes:
        """Append an interval and return its bytes.

        counters: by index, over what follows from the samples. images: payloads of further kinds.
        """
        samples = list(samples)
        length = round((self.interval_s if duration_s is None else duration_s) * 1e9)
        numbers = [self.node(s.path) for s in samples]
        out = image(NODES, self._node_payload(), interval=self._count) if self._new_nodes else b""
        own = self._ticks(samples, OWN)
        records = blocks(own, self.rate_hz)
        for (caller, callee), count in (arcs or {}).items():
            source = self.address(caller) + 1 if caller else 0
            for part in [2**32 - 1] * (count // (2**32 - 1)) + [count % (2**32 - 1)]:
                records += arc(source, self.address(callee, 4), part)
        out += image(OWN_TIME, records, interval=self._count)
        if library := self._ticks(samples, LIBRARY):
            out += image(LIBRARY_TIME, blocks(library, self.rate_hz), interval=self._count)
        out += image(SAMPLES, self._sample_payload(samples, numbers, length), interval=self._count)
        for kind, payload in (images or {}).items():
            out += image(kind, payload, interval=self._count)
        out += image(INTERVAL, self._counter_payload(samples, length, counters or {}), interval=self._count)
        self._now_ns += length
        self._count += 1
        self.data += out
        return out

    def end(self) -> None:
        """The image of a run that ended cleanly."""
        self.data += image(END, b"{}", interval=self._count)

    def save(self, directory: Path, name: str | None = None) -> Path:
        """Write stream and symbols into a run directory."""
        directory.mkdir(parents=True, exist_ok=True)
        (directory / (name or f"rank-{self.rank:05d}.gmon")).write_bytes(self.data)
        symbols = [Symbol(name, BASE + STEP * i, SIZE) for i, name in enumerate(self.functions)]
        end = BASE + STEP * max(len(symbols), 1)
        write_elf(directory / "symbols" / f"{BUILD_ID}.elf", symbols, build_id=BUILD_ID, text=(BASE, end))
        return directory

    def _node_payload(self) -> bytes:
        out, before = varint(len(self._nodes) - len(self._new_nodes) + 1) + varint(len(self._new_nodes)), 0
        for key in self._new_nodes:
            parent, number, address = key
            out += varint(self._nodes[key] - parent) + varint(number) + zigzag(address - before)
            before = address
        self._new_nodes = []
        return out

    def _sample_payload(self, samples: Sequence[Sample], nodes: Sequence[int], length_ns: int) -> bytes:
        out, before = b"", 0
        for index, (sample, node) in enumerate(zip(samples, nodes, strict=True)):
            time_us = length_ns * (index + 1) // (1000 * (len(samples) + 1))
            heavy = sample.weight != 1
            out += varint(time_us - before) + varint(sample.thread) + varint(node * 8 + sample.kind * 2 + heavy)
            out += varint(sample.library) if sample.kind == LIBRARY else b""
            out += varint(sample.weight) if heavy else b""
            before = time_us
        return out

    def _ticks(self, samples: Iterable[Sample], kind: int) -> dict[int, int]:
        """Ticks by address of the last frame, program only."""
        ticks: dict[int, int] = {}
        for sample in samples:
            frames = sample.path
            if isinstance(frames, str):
                frames = tuple((0, self.address(name)) for name in frames.split(";") if name)
            if sample.kind == kind and frames and frames[-1][0] == 0:
                ticks[frames[-1][1]] = ticks.get(frames[-1][1], 0) + sample.weight
        return ticks

    def _counter_payload(self, samples: Sequence[Sample], length_ns: int, given: Mapping[int, int]) -> bytes:
        ticks = sum(s.weight for s in samples)
        inside = sum(s.weight for s in samples if s.kind == PROFILER)
        cpu_ns = ticks * 10**9 // self.rate_hz
        values = [self._now_ns, self._now_ns + length_ns, cpu_ns, length_ns, 0, 0, len(samples), ticks, inside, 0, 0, 1]
        values += [0] * (max(given, default=0) + 1 - len(values))
        for index, value in given.items():
            values[index] = value
        return struct.pack(f"<{len(values)}Q", *values)


def module(number: int, path: str, build_id: str | None, *, app: bool, high: int = 0x100000) -> dict[str, Any]:
    """A module object of the metadata."""
    ends = {"base": "0x0", "low": hex(BASE), "high": hex(high)}
    return {"id": number, "path": path, "build_id": build_id, **ends, "app": app}
