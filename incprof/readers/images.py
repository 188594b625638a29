"""The images of a stream: where each one lies, and which places are damaged (docs/formats.md)."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from incprof.errors import NoDataError

MAGIC = b"gmon\x01\x00\x00\x00"
HEADER = struct.Struct("<8sBBHII")

METADATA, INTERVAL, OWN_TIME, LIBRARY_TIME, MODULES, NODES, SAMPLES, END = range(1, 9)

Buffer = bytes | mmap.mmap


@dataclass(frozen=True, slots=True)
class Image:
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


def open_buffer(path: str) -> Buffer:
    """Map a file into memory. An empty file is empty bytes.

    Raises: NoDataError when the file cannot be read.
    """
    try:
        with open(path, "rb") as file:
            try:
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except ValueError:
                return b""
    except OSError as error:
        raise NoDataError(f"{path}: cannot be read: {error.strerror}") from error


def walk(data: Buffer, damage: Damage) -> Iterator[Image]:
    """Images in file order. Damaged places are skipped up to the next header and noted in `damage`."""
    size, position, hole = len(data), 0, False
    while position < size:
        end = _image_end(data, position)
        if end is None:
            torn_from = position
            position = data.find(MAGIC, position + 1)
            if position < 0:
                _note_tail(data, torn_from, damage)
                return
            damage.holes += 1
            hole = True
            continue
        _, kind, _, module, length, interval = HEADER.unpack_from(data, position)
        yield Image(kind, module, interval, position + HEADER.size, length, hole)
        position, hole = end, False


def _note_tail(data: Buffer, position: int, damage: Damage) -> None:
    """A file that ends in the middle of an image is torn; one that ends in anything else has a hole."""
    head = data[position : position + len(MAGIC)]
    if MAGIC.startswith(head):
        damage.torn = True
    else:
        damage.holes += 1


def _image_end(data: Buffer, position: int) -> int | None:
    """End of the image at `position`, or None when no whole image lies there."""
    if len(data) - position < HEADER.size or data[position : position + len(MAGIC)] != MAGIC:
        return None
    length: int = HEADER.unpack_from(data, position)[4]
    end = position + HEADER.size + length
    if end > len(data):
        return None
    # A write that failed half way leaves a length that reaches over the images after it.
    follows = data[end : end + len(MAGIC)]
    if not MAGIC.startswith(follows) and data.find(MAGIC, position + len(MAGIC), end + len(MAGIC) - 1) >= 0:
        return None
    return end
