"""Damage to the parts of ELF files that are read: headers, tables of sections and symbols, debug sections."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence

from soak.mutate import BINARY, EXTREMES, mutate

SECTION = struct.Struct("<IIQQQQIIQQ")
SEGMENT_SIZE, SECTION_SIZE, SYMBOL_SIZE = 56, 64, 24
SYMBOLS = (2, 11)


def _sections(data: bytes) -> list[tuple[int, ...]]:
    """Return the section headers that lie within the file."""
    if len(data) < 64:
        return []
    at, count = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
    whole = [at + i * SECTION_SIZE for i in range(min(count, 200)) if at + (i + 1) * SECTION_SIZE <= len(data)]
    return [SECTION.unpack_from(data, where) for where in whole]


def _set(data: bytes, at: int, width: int, value: int) -> bytes:
    return data[:at] + (value % (1 << 8 * width)).to_bytes(width, "little") + data[at + width :]


def _field(dice: random.Random, data: bytes, table: int, size: int, count: int) -> bytes:
    """Change a field of 4 or 8 bytes of a table's entry."""
    if count <= 0 or table + count * size > len(data):
        return data
    width = dice.choice((4, 8))
    at = table + dice.randrange(count) * size + dice.randrange(size // width) * width
    near = int.from_bytes(data[at : at + width], "little") + dice.choice((-1, 1, 16, -16, 4096, 2**20))
    return _set(data, at, width, dice.choice((near, dice.choice(EXTREMES))))


def _content(dice: random.Random, data: bytes, others: Sequence[bytes], sections: list[tuple[int, ...]]) -> bytes:
    """Damage the content of a section; its size stays."""
    inside = [s for s in sections if s[1] not in (0, 8) and 0 < s[5] <= len(data) and s[4] + s[5] <= len(data)]
    if not inside:
        return mutate(dice, data, others, BINARY)
    chosen = dice.choice(inside)
    offset, size = chosen[4], chosen[5]
    if chosen[1] in SYMBOLS and dice.random() < 0.6:
        return _field(dice, data, offset, SYMBOL_SIZE, size // SYMBOL_SIZE)
    piece = mutate(dice, data[offset : offset + size], others, BINARY)[:size].ljust(size, b"\0")
    return data[:offset] + piece + data[offset + size :]


def mutate_elf(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Damage an ELF file."""
    for _ in range(dice.choice((1, 1, 2, 4))):
        sections, kind = _sections(data), dice.random()
        if not sections or kind < 0.15:
            data = mutate(dice, data, others, BINARY)
        elif kind < 0.25:
            at, width = dice.choice(
                ((4, 1), (16, 2), (18, 2), (24, 8), (32, 8), (40, 8), (54, 2), (56, 2), (58, 2), (60, 2), (62, 2))
            )
            data = _set(data, at, width, dice.choice(EXTREMES))
        elif kind < 0.5:
            data = _field(dice, data, struct.unpack_from("<Q", data, 40)[0], SECTION_SIZE, len(sections))
        elif kind < 0.6:
            count = struct.unpack_from("<H", data, 56)[0]
            data = _field(dice, data, struct.unpack_from("<Q", data, 32)[0], SEGMENT_SIZE, count)
        else:
            data = _content(dice, data, others, sections)
    return data
