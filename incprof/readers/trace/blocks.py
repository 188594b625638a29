"""The blocks of a trace: where each one lies, and which places are damaged."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from incprof.model.mpi import TraceEnd
from incprof.readers.stream.window import Source

MAGIC = b"MPI\n"
HEADER = struct.Struct("<4sBBHIII")
VERSION = 1
METADATA, EVENTS, END = 1, 2, 3
# A ring of the writer, and its metadata, hold less.
LONGEST = 64 << 20


class Block(NamedTuple):
    """One block: its payload. `after_hole`: something before it could not be read."""

    kind: int
    lane: int
    payload: bytes
    after_hole: bool


def walk(source: Source, end: TraceEnd) -> Iterator[Block]:
    """Blocks in file order, one in memory at a time. Damaged places are skipped up to the next block, and noted."""
    position, hole = 0, False
    while position < source.size:
        block, length = _block_at(source, position)
        if block is not None:
            yield block._replace(after_hole=hole)
            position, hole = position + length, False
            continue
        following = source.find(MAGIC, position + 1, source.size)
        if following < 0:
            end.torn = True
            return
        if not hole:
            end.damaged += 1
        position, hole = following, True


def _block_at(source: Source, position: int) -> tuple[Block | None, int]:
    """The block that begins here and its length with the header; None where there is no whole one."""
    head = source.bytes_at(position, HEADER.size)
    if len(head) < HEADER.size or not head.startswith(MAGIC):
        return None, 0
    _, version, kind, _, lane, length, checksum = HEADER.unpack(head)
    if version != VERSION or length > LONGEST or position + HEADER.size + length > source.size:
        return None, 0
    payload = source.bytes_at(position + HEADER.size, length)
    if zlib.crc32(head[4:12]) ^ zlib.crc32(payload) != checksum:
        return None, 0
    return Block(kind, lane, payload, after_hole=False), HEADER.size + length
