"""Damage to a heartbeat file behind valid checksums: the content of an interval is wrong, its checksum matches."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Sequence

from soak.mutate import NUMBERS, TEXT, mutate
from soak.mutate_json import mutate_json


def _line(dice: random.Random, line: bytes) -> bytes:
    """Change a value of a line."""
    word, _, rest = line.partition(b" ")
    if line.startswith(b"#"):
        try:
            return word + b" " + json.dumps(mutate_json(dice, json.loads(rest)), separators=(",", ":")).encode()
        except (ValueError, RecursionError):
            return line
    cells = line.split(b",")
    for _ in range(dice.choice((1, 1, 3))):
        cells[dice.randrange(len(cells))] = dice.choice(NUMBERS)
    if dice.random() < 0.1:
        cells = dice.sample(cells, dice.randrange(len(cells) + 1))
    return b",".join(cells)


def with_checksums(lines: Sequence[bytes]) -> bytes:
    """Return the file with the correct checksum of each interval."""
    out, begin = bytearray(), 0
    for number, line in enumerate(lines):
        body, found, _ = line.rpartition(b',"crc32":')
        if line.startswith(b"#interval") and found:
            out += body
            out += b',"crc32":"%08x"}' % zlib.crc32(out[begin:])
        else:
            out += line
        out += b"\n" * (number < len(lines) - 1)
        if line.startswith(b"#interval") or number == 1:
            begin = len(out)
    return bytes(out)


def mutate_beats(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Damage a heartbeat file: mostly its values, sometimes its bytes."""
    if dice.random() < 0.25:
        return mutate(dice, data, others, TEXT)
    lines = data.split(b"\n")
    for _ in range(dice.choice((1, 1, 2, 4))):
        a, b = dice.randrange(len(lines)), dice.randrange(len(lines))
        kind = dice.random()
        if kind < 0.75:
            lines[a] = _line(dice, lines[a])
        elif kind < 0.85:
            lines[a], lines[b] = lines[b], lines[a]
        elif kind < 0.95:
            lines[a:a] = [lines[b]] * dice.choice((1, 1, 500))
        elif len(lines) > 1:
            del lines[a]
    return with_checksums(lines)
