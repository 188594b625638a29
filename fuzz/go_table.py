"""Function tables as Go's linker writes them, and small objects that contain one."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

GO_16, GO_18, GO_20 = 0xFFFFFFFA, 0xFFFFFFF0, 0xFFFFFFF1


@dataclass(frozen=True)
class GoFunction:
    """A function. pushed, lines: values, each with the number of bytes of code for which it holds."""

    name: str
    size: int
    pushed: Sequence[tuple[int, int]] = ()
    lines: Sequence[tuple[int, int]] = ()


def go_table_bytes(functions: Sequence[GoFunction], *, text: int, version: int = GO_18) -> bytes:
    """Return a table of adjacent functions from `text` on, all of one file."""
    entry = "<Q" if version == GO_16 else "<I"
    words = 7 if version == GO_16 else 8
    names, counts, files = b"", b"\0", b"/src/a.go\0"
    rows, described = [], b""
    begin, about_at = 0, (len(functions) * 2 + 1) * struct.calcsize(entry)
    for function in functions:
        start = begin + (text if version == GO_16 else 0)
        rows += [start, about_at + len(described)]
        offsets = []
        for changes in (function.pushed, [(0, function.size)], function.lines):
            offsets.append(len(counts) if changes else 0)
            counts += _changes(changes) if changes else b""
        described += struct.pack(entry + "8I", start, len(names), 0, 0, *offsets, 0, 0) + bytes(12)
        names += function.name.encode() + b"\0"
        begin += function.size
    rows.append(begin + (text if version == GO_16 else 0))
    parts = [names, struct.pack("<I", 0), files, counts, struct.pack(f"<{len(rows)}{entry[1]}", *rows) + described]
    at, places = 8 + 8 * words, []
    for part in parts:
        places.append(at)
        at += len(part)
    first = [len(functions), 1] + ([] if version == GO_16 else [text])
    return struct.pack(f"<I4B{words}Q", version, 0, 0, 1, 8, *first, *places) + b"".join(parts)


def _changes(values: Sequence[tuple[int, int]]) -> bytes:
    out, before = b"", -1
    for value, length in values:
        change = value - before
        out += _number(change << 1 if change >= 0 else (-change << 1) - 1) + _number(length)
        before = value
    return out + b"\0"


def _number(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def with_go_table(program: Path, table: bytes, target: Path, *, section: str = ".gopclntab") -> bool:
    """Write a copy of an object that contains a table; return whether that was possible."""
    (target.parent / "table").write_bytes(table)
    # Where there are unwind tables, nobody asks.
    words = ["objcopy", "-R", ".eh_frame", "-R", ".eh_frame_hdr", "--add-section"]
    words += [f"{section}={target.parent / 'table'}", str(program), str(target)]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0
