"""A second, independent reader of a stream: only headers and arcs, by docs/reference/formats.md."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from pathlib import Path

HEADER = struct.Struct("<4sIBBHII")
METADATA, INTERVAL, ARCS, END = 1, 2, 3, 8
HISTOGRAM_HEAD, ARC = struct.Struct("<QQII16s"), struct.Struct("<QQI")


@dataclass
class Scan:
    """The contents of a stream.

    intervals: numbers of complete intervals. torn: bytes after the last whole image. loose: bytes after the last image
    that ends an interval or the run. calls: of functions of module 0, by address, in complete intervals. wrong: what
    the format forbids.
    """

    pid: int | None = None
    intervals: list[int] = field(default_factory=list)
    calls: dict[int, int] = field(default_factory=dict)
    clean: bool = False
    torn: int = 0
    loose: int = 0
    wrong: list[str] = field(default_factory=list)


def _arcs(payload: bytes) -> dict[int, int]:
    """Return calls by address."""
    calls: dict[int, int] = {}
    at = 0
    while at < len(payload):
        if payload[at] == 0:
            _, _, bins, _, _ = HISTOGRAM_HEAD.unpack_from(payload, at + 1)
            at += 1 + HISTOGRAM_HEAD.size + 2 * int(bins)
        elif payload[at] == 1:
            _, to, count = ARC.unpack_from(payload, at + 1)
            calls[to] = calls.get(to, 0) + count
            at += 1 + ARC.size
        else:
            raise ValueError(f"record of kind {payload[at]}")
    return calls


def scan(path: Path, continues: bool = False) -> Scan:
    """Read a stream, to its end or to the first invalid place.

    continues: images may follow an end image, because an exec may have failed.
    """
    data, at, whole, found = path.read_bytes(), 0, 0, Scan()
    waiting: list[dict[int, int]] = []
    while at + HEADER.size <= len(data):
        magic, version, kind, _, module, length, number = HEADER.unpack_from(data, at)
        if (magic, version) != (b"gmon", 1):
            found.wrong.append(f"no header at {at} of {len(data)}: {data[at : at + 8]!r}")
            break
        end = at + HEADER.size + length
        if end > len(data):
            break
        if (kind == METADATA) != (at == 0) or (found.clean and not continues):
            found.wrong.append(f"image of kind {kind} at {at}")
        if kind == ARCS and module == 0:
            waiting.append(_arcs(data[at + HEADER.size : end]))
        _take(found, kind, number, data[at + HEADER.size : end], waiting)
        at = end
        if kind in (METADATA, INTERVAL, END):
            whole = at
    found.torn, found.loose = len(data) - at, len(data) - whole
    if found.intervals != list(range(len(found.intervals))):
        found.wrong.append(f"intervals are numbered {found.intervals[:20]}")
    return found


def _take(found: Scan, kind: int, number: int, payload: bytes, waiting: list[dict[int, int]]) -> None:
    """Add the content of an image. waiting: calls that count once their interval is complete."""
    if kind == METADATA:
        found.pid = json.loads(payload.decode(errors="replace"), strict=False)["pid"]
    elif kind == INTERVAL:
        found.intervals.append(number)
        for calls in waiting:
            for to, count in calls.items():
                found.calls[to] = found.calls.get(to, 0) + count
        waiting.clear()
    found.clean = kind == END
