"""Damage to a recorded stream that keeps its structure: whole images, their headers, the content of one."""

from __future__ import annotations

import itertools
import random
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from soak.mutate import BINARY, EXTREMES, mutate
from soak.mutate_json import mutate_json_text
from tests.unit.streamwriter import chunk, chunks_of

HEADER = struct.Struct("<4sIBBHII")
METADATA, INTERVAL, MODULES, END = 1, 2, 5, 8
STREAM, NODE, CHUNK = re.compile(r"run/rank-.*\.gmon"), "run/node-n1-0badcafe.gmon", b"incchunk"
JSON_KINDS = (METADATA, MODULES, END)


@dataclass(frozen=True)
class Image:
    """An image. length: the length in its header, None for the true one."""

    kind: int
    payload: bytes
    module: int = 0
    interval: int = 0
    flags: int = 0
    version: int = 1
    magic: bytes = b"gmon"
    length: int | None = None

    def encoded(self) -> bytes:
        """Return the bytes of the image."""
        length = len(self.payload) if self.length is None else self.length
        fields = (self.version % 2**32, self.kind % 256, self.flags % 256, self.module % 65536)
        return HEADER.pack(self.magic, *fields, length % 2**32, self.interval % 2**32) + self.payload


def images(data: bytes) -> list[Image]:
    """Return the images of a stream, up to the first incomplete one."""
    found, at = [], 0
    while at + HEADER.size <= len(data):
        magic, version, kind, _, module, length, interval = HEADER.unpack_from(data, at)
        end = at + HEADER.size + length
        if magic != b"gmon" or end > len(data):
            break
        # Nobody has summed up: what is damaged is to be decoded.
        found.append(Image(kind, data[at + HEADER.size : end], module, interval, 0, version))
        at = end
    return found


def _payload(dice: random.Random, image: Image, others: Sequence[bytes]) -> Image:
    """Return the image with another content."""
    if image.kind in JSON_KINDS:
        return replace(image, payload=mutate_json_text(dice, image.payload, others))
    if image.kind == INTERVAL and dice.random() < 0.7:
        words = list(struct.unpack(f"<{len(image.payload) // 8}Q", image.payload[: len(image.payload) // 8 * 8]))
        for _ in range(dice.choice((1, 1, 3))):
            if words:
                words[dice.randrange(len(words))] = dice.choice(EXTREMES) % 2**64
        return replace(image, payload=struct.pack(f"<{len(words)}Q", *words))
    return replace(image, payload=mutate(dice, image.payload, others, BINARY))


def _header(dice: random.Random, image: Image) -> Image:
    """Return the image with another header."""
    value = dice.choice(EXTREMES)
    match dice.randrange(6):
        case 0:
            return replace(image, kind=dice.choice((0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 200)))
        case 1:
            return replace(image, module=value)
        case 2:
            return replace(image, interval=dice.choice((value, image.interval + 1, image.interval - 1)))
        case 3:
            return replace(image, length=dice.choice((value, len(image.payload) + 1, len(image.payload) - 1)))
        case 4:
            return replace(image, version=dice.choice((0, 2, value)), flags=value)
        case _:
            return replace(image, magic=dice.choice((b"gmoo", b"\0\0\0\0", b"nomg")))


def _order(dice: random.Random, found: list[Image]) -> None:
    """Remove, repeat or swap images."""
    a, b = dice.randrange(len(found)), dice.randrange(len(found))
    match dice.randrange(4):
        case 0:
            del found[a]
        case 1:
            found.insert(a, found[b])
        case 2:
            found[a], found[b] = found[b], found[a]
        case _:
            found[b:b] = found[a : a + 4] * dice.choice((1, 20))


def mutate_stream(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Damage a stream: mostly its images, sometimes its bytes."""
    found = images(data)
    if not found or dice.random() < 0.3:
        return mutate(dice, data, others, BINARY)
    for _ in range(dice.choice((1, 1, 2, 6))):
        at = dice.randrange(len(found)) if found else 0
        kind = dice.random()
        if not found or kind < 0.1:
            found[at:at] = [dice.choice(images(dice.choice(others)) or [Image(9, b"")])] if others else []
        elif kind < 0.6:
            found[at] = _payload(dice, found[at], others)
        elif kind < 0.8:
            found[at] = _header(dice, found[at])
        else:
            _order(dice, found)
    out = b"".join(image.encoded() for image in found)
    return mutate(dice, out, others, BINARY) if dice.random() < 0.1 else out


def gathered(tree: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return a run with its streams in one file that the ranks share."""
    streams = {path: data for path, data in sorted(tree.items()) if STREAM.fullmatch(path)}
    parts = [chunks_of(data, rank=i // 2, pid=i, forked=i % 2 > 0) for i, data in enumerate(streams.values())]
    rows = [part for row in itertools.zip_longest(*parts) for part in row if part is not None]
    return {path: data for path, data in tree.items() if path not in streams} | {NODE: b"".join(rows)}


def mutate_gathered(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Damage such a file: the content of a chunk, its header, the order of chunks, and bytes anywhere."""
    found = [CHUNK + part for part in data.split(CHUNK)[1:]]
    for _ in range(dice.choice((1, 1, 2, 6))):
        if not found:
            break
        at, other = dice.randrange(len(found)), dice.randrange(len(found))
        match dice.randrange(5):
            case 0:
                found[at] = mutate(dice, found[at], others, BINARY)
            case 1:
                found[at] = chunk(mutate_stream(dice, found[at][48:], others), rank=dice.randrange(3), pid=at)
            case 2:
                numbers = [dice.choice(EXTREMES) % 2**32 for _ in range(3)]
                found[at] = chunk(found[at][48:], rank=numbers[0], pid=numbers[1], number=numbers[2])
            case 3:
                found[at], found[other] = found[other], found[at]
            case _:
                found[at:at] = [found[other]] * dice.choice((1, 30))
    return b"".join(found)
