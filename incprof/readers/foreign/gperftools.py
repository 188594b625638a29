"""CPU profiles in gperftools' format: counted stacks of addresses, and the list of memory mappings."""

from __future__ import annotations

import re
import struct
from collections import defaultdict
from dataclasses import dataclass

from incprof.readers.foreign.addresses import Mapped, frames_at
from incprof.readers.foreign.timeline import Frame

# In words: 0, 3 more, version 0, microseconds between samples, 0; stacks; and a stack of 0 samples with the one frame
# 0.
WORD = struct.Struct("<Q")
HEAD = struct.Struct("<5Q")
LAST = (0, 1, 0)
DEEPEST = 1 << 14
MAPPED = re.compile(rb"([0-9a-f]{1,16})-([0-9a-f]{1,16}) ..x. ([0-9a-f]{1,16}) \S+ \d+ +(\S.*)")


@dataclass(frozen=True)
class _Range:
    """Addresses at which a file is mapped."""

    low: int
    high: int
    mapped: Mapped


def is_legacy(data: bytes) -> bool:
    """Return whether this is a profile in gperftools' format."""
    if len(data) < HEAD.size:
        return False
    first, words, version, period, zero = HEAD.unpack_from(data)
    return (first, words, version, zero) == (0, 3, 0, 0) and 0 < period < 10**9


def read_legacy(data: bytes, exe: str | None) -> tuple[str, list[tuple[tuple[Frame, ...], float]], float]:
    """Return the program, its stacks with CPU seconds, and the seconds between samples.

    Raises: ValueError if it is damaged.
    """
    tick = HEAD.unpack_from(data)[3] * 1e-6
    stacks, end = _stacks(data)
    ranges = _ranges(data[end:])
    program = exe or (ranges[0].mapped.path if ranges else "app")
    frames = _frames(stacks, ranges, program)
    return program, [(_stack(pcs, frames), count * tick) for pcs, count in stacks], tick


def _stacks(data: bytes) -> tuple[list[tuple[tuple[int, ...], int]], int]:
    """Return the stacks, innermost address first, with their counts; and the offset of the text after them."""
    found, at = list[tuple[tuple[int, ...], int]](), HEAD.size
    while True:
        if at + 2 * WORD.size > len(data):
            raise ValueError("no end")
        count, depth = struct.unpack_from("<2Q", data, at)
        at += 2 * WORD.size
        if not 0 < depth <= DEEPEST or at + depth * WORD.size > len(data):
            raise ValueError("a stack that is too deep")
        pcs = struct.unpack_from(f"<{depth}Q", data, at)
        at += depth * WORD.size
        if (count, depth, pcs[0]) == LAST:
            return found, at
        # All but the innermost are return addresses.
        found.append(((pcs[0], *(pc - 1 for pc in pcs[1:] if pc)), count))


def _ranges(text: bytes) -> list[_Range]:
    """Return the executable mappings; the program comes first."""
    found = []
    for low, high, offset, path in (match.groups() for match in map(MAPPED.match, text.splitlines()) if match):
        start = int(low, 16)
        found.append(
            _Range(start, int(high, 16), Mapped(path.decode("utf-8", "surrogateescape"), start, int(offset, 16)))
        )
    return found


def _frames(stacks: list[tuple[tuple[int, ...], int]], ranges: list[_Range], program: str) -> dict[int, list[Frame]]:
    """Return the frames at each address; none if nothing was mapped there."""
    every = sorted({pc for pcs, _ in stacks for pc in pcs})
    first, inside = ranges[0].mapped.path if ranges else "", defaultdict[_Range, list[int]](list)
    for pc in every:
        here = next((each for each in ranges if each.low <= pc < each.high), None)
        if here:
            inside[here].append(pc)
    found: dict[int, list[Frame]] = {}
    for each, pcs in inside.items():
        mapped = each.mapped
        if mapped.path == first:
            mapped = Mapped(program, mapped.start, mapped.offset)
        found.update(zip(pcs, frames_at(mapped, pcs, program), strict=True))
    return found


def _stack(pcs: tuple[int, ...], frames: dict[int, list[Frame]]) -> tuple[Frame, ...]:
    """Return a stack's frames, outermost first."""
    return tuple(frame for pc in reversed(pcs) for frame in frames.get(pc, ()))
