"""Damage to traces of MPI calls: of the file, or within a block whose checksum is corrected."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Sequence

from soak.mutate import mutate_binary

MAGIC, HEAD, SUMS = b"MPI\n", 20, struct.Struct("<II")


def mutate_trace(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Damage a trace, mostly behind a valid checksum."""
    blocks = [block for block in data.split(MAGIC)[1:] if len(block) >= HEAD - len(MAGIC)]
    if not blocks or dice.random() < 0.3:
        return mutate_binary(dice, data, others)
    chosen = dice.randrange(len(blocks))
    return b"".join(MAGIC + (_mutated(dice, block) if at == chosen else block) for at, block in enumerate(blocks))


def _mutated(dice: random.Random, block: bytes) -> bytes:
    head, payload = block[:8], mutate_binary(dice, block[16:], [])
    return head + SUMS.pack(len(payload), zlib.crc32(head) ^ zlib.crc32(payload)) + payload
