"""Insert text into bytes."""

from __future__ import annotations

from collections.abc import Sequence

from incprof.source.model import Insertion


def insert(data: bytes, insertions: Sequence[Insertion]) -> bytes:
    """Return the bytes with all insertions; those at one offset in the order given."""
    parts, done = [], 0
    for insertion in sorted(insertions, key=lambda each: each.offset):
        parts += [data[done : insertion.offset], insertion.text]
        done = insertion.offset
    return b"".join([*parts, data[done:]])
