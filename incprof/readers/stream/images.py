"""The images of a stream: where each one lies, and which places are damaged (docs/formats.md)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from incprof.readers.stream.window import Source

MAGIC = b"gmon\x01\x00\x00\x00"
HEADER = struct.Struct("<8sBBHII")

METADATA, INTERVAL, OWN_TIME, LIBRARY_TIME, MODULES, NODES, SAMPLES, END = range(1, 9)


class Image(NamedTuple):
    """One image: its payload is `length` bytes at `offset`. `after_hole`: something before it could not be read."""

    kind: int
    module: int
    interval: int
    offset: int
    length: int
    after_hole: bool


@dataclass
class Damage:
    """What a walk met. `holes`: places where bytes were skipped; `torn`: the file ends inside an image."""

    holes: int = 0
    torn: bool = False


def walk(source: Source, damage: Damage, position: int = 0) -> Iterator[Image]:
    """Images in file order, from `position` on. Damaged places are skipped up to the next header, and noted."""
    hole = False
    data, base = b"", 0
    while position < source.size:
        # Nearly all images are whole, and the next one is there to be seen: that is told without asking the source.
        at = position - base
        if 0 <= at <= len(data) - HEADER.size and not hole:
            magic, kind, _, module, length, interval = HEADER.unpack_from(data, at)
            stop = at + HEADER.size + length
            if magic == MAGIC and data.startswith(MAGIC, stop):
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
        _, kind, _, module, length, interval = HEADER.unpack(head)
        data, base = source.window
        yield Image(kind, module, interval, position + HEADER.size, length, hole)
        position, hole = end, False


def _note_tail(source: Source, position: int, damage: Damage) -> None:
    """A file that ends in the middle of an image is torn; one that ends in anything else has a hole."""
    if MAGIC.startswith(source.bytes_at(position, len(MAGIC))):
        damage.torn = True
    else:
        damage.holes += 1


def _image_end(source: Source, position: int, head: bytes) -> int | None:
    """End of the image at `position` that begins with `head`, or None when no whole image lies there."""
    if len(head) < HEADER.size or not head.startswith(MAGIC):
        return None
    length: int = HEADER.unpack(head)[4]
    end = position + HEADER.size + length
    if end > source.size:
        return None
    # A write that failed half way leaves a length that reaches over the images after it.
    follows = source.peek(end, len(MAGIC))
    if not MAGIC.startswith(follows) and source.find(MAGIC, position + len(MAGIC), end + len(MAGIC) - 1) >= 0:
        return None
    return end
