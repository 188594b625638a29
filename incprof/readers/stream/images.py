"""The images of a stream: the position of each, and damaged places (docs/reference/formats.md)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple
from zlib import crc32

from incprof.readers.stream.window import Source

MAGIC = b"gmon\x01\x00\x00\x00"
HEADER = struct.Struct("<8sBBHII")
SUM_AT = 9
# Bytes of an image processed in one go.
PIECE = 1 << 20

METADATA, INTERVAL, OWN_TIME, LIBRARY_TIME, MODULES, NODES, SAMPLES, END = range(1, 9)


class Image(NamedTuple):
    """One image: its payload is `length` bytes at `offset`. `after_hole`: some bytes before it could not be read."""

    kind: int
    module: int
    interval: int
    offset: int
    length: int
    after_hole: bool


def check(head: bytes, *payload: bytes | memoryview) -> int:
    """Return the check byte of an image, computed with 0 in its place: 1 to 255; 0 would mean that there is none.

    A damaged image passes with a probability of 1 in 255.
    """
    crc = crc32(head[:SUM_AT] + b"\0" + head[SUM_AT + 1 :])
    for part in payload:
        crc = crc32(part, crc)
    return crc % 255 + 1


@dataclass
class Damage:
    """Damage found during a walk. `holes`: places where bytes were skipped; `torn`: the file ends inside an image."""

    holes: int = 0
    torn: bool = False


def walk(source: Source, damage: Damage, position: int = 0) -> Iterator[Image]:
    """Yield images in file order, from `position` on. Skip damaged places up to the next header, and record them."""
    hole = False
    data, base = b"", 0
    while position < source.size:
        # Nearly all images are whole and followed by another one, which is checked without accessing the source.
        at = position - base
        if 0 <= at <= len(data) - HEADER.size and not hole:
            magic, kind, said, module, length, interval = HEADER.unpack_from(data, at)
            begin = at + HEADER.size
            stop = begin + length
            if (
                magic == MAGIC
                and data.startswith(MAGIC, stop)
                and (not said or said == check(data[at:begin], memoryview(data)[begin:stop]))
            ):
                yield Image(kind, module, interval, position + HEADER.size, length, False)
                position = base + stop
                continue
        head = source.bytes_at(position, HEADER.size)
        end = _image_end(source, position, head)
        if end is None:
            torn_from = position
            position = source.find(MAGIC, position + 1, source.size)
            if position < 0:
                _note_tail(source, torn_from, damage)
                return
            damage.holes += 1
            hole = True
            continue
        _, kind, said, module, length, interval = HEADER.unpack(head)
        is_whole = not said or said == check(head, *_pieces(source, position + HEADER.size, end))
        data, base = source.window
        damage.holes += not is_whole
        is_taken = is_whole or (kind == METADATA and position == 0)  # without metadata, nothing can be read
        if is_taken:
            yield Image(kind, module, interval, position + HEADER.size, length, hole)
        position, hole = end, not is_taken


def _pieces(source: Source, begin: int, end: int) -> Iterator[bytes]:
    """Yield the bytes of a payload of any length."""
    for at in range(begin, end, PIECE):
        yield source.bytes_at(at, min(PIECE, end - at))


def _note_tail(source: Source, position: int, damage: Damage) -> None:
    """Record a torn end if the file ends inside an image, or a hole if it ends in anything else."""
    if MAGIC.startswith(source.bytes_at(position, len(MAGIC))):
        damage.torn = True
    else:
        damage.holes += 1


def _image_end(source: Source, position: int, head: bytes) -> int | None:
    """Return the end of the image at `position` that begins with `head`, or None if no whole image lies there."""
    if len(head) < HEADER.size or not head.startswith(MAGIC):
        return None
    length: int = HEADER.unpack(head)[4]
    end = position + HEADER.size + length
    if end > source.size:
        return None
    # A write that failed halfway leaves a length that extends over the following images.
    follows = source.peek(end, len(MAGIC))
    if not MAGIC.startswith(follows) and source.find(MAGIC, position + len(MAGIC), end + len(MAGIC) - 1) >= 0:
        return None
    return end
