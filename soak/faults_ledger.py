"""What the host's processes really did, by a file in memory that they share (soak/hosts/ledger.c)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SLOT = struct.Struct("<3q40x")
SLOTS = 4096


@dataclass(frozen=True)
class Entry:
    """A program in a process: its calls of `tick`, and its heartbeats."""

    pid: int
    ticks: int
    beats: int


def new_ledger(path: Path) -> None:
    """An empty one, which any user may write."""
    with path.open("wb") as file:
        file.truncate(SLOT.size * SLOTS)
    path.chmod(0o666)


def entries(path: Path) -> Iterator[Entry]:
    """Programs in the order in which they started."""
    data = path.read_bytes()
    (taken, _, _) = SLOT.unpack_from(data, 0)
    for number in range(1, min(taken + 1, SLOTS)):
        yield Entry(*SLOT.unpack_from(data, number * SLOT.size))
