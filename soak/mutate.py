"""Damage to bytes of unknown format."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

Mutator = Callable[[random.Random, bytes, Sequence[bytes]], bytes]

# Where counts, sizes and offsets go wrong.
EXTREMES = (0, 1, -1, 2, 7, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**32,
            2**40, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1)  # fmt: skip
NUMBERS = (b"0", b"-1", b"-0", b"1e308", b"-1e308", b"1e-320", b"1e400", b"nan", b"inf", b"-inf", b"0x10", b"", b"1.5",
           b"1_0", b"9" * 40, b"9" * 5000, b"1" + b"0" * 400, str(2**31).encode(), str(2**63).encode(),
           str(2**64).encode(), str(2**64 - 1).encode(), b"\xd9\xa3")  # fmt: skip
TOKENS = (b"\0", b"\n", b"\r\n", b"\x1b[2J", b"\x1b]0;t\x07", b"\xff", b"\xc0\x80", "\u202e".encode(), b"\\ud800", b"{",
          b"[" * 2000, b"]", b'"', b"'", b"\\", b"#", b"/*", b"*/", b"%s%n", b"../../../../etc/passwd", b"\xed\xa0\x80",
          b"\xef\xbb\xbf", b"," * 500, b" " * 3000, "\u0130\ufdfa".encode(), b"gmon", b"\x7fELF", b"=1+1")  # fmt: skip
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
WORD = re.compile(rb"\w+")
# What a mutant may have beyond the bytes that it was made from.
MOST_GROWTH = 1 << 16


def _at(dice: random.Random, data: bytes) -> int:
    """Return a position in the data, more often near the begin, where headers are."""
    most = len(data)
    return dice.randrange(min(most, 256) + 1) if dice.random() < 0.3 else dice.randrange(most + 1)


def _length(dice: random.Random, most: int) -> int:
    """Return a length from 0 to `most`, small ones more often."""
    return min(most, int(2 ** dice.uniform(0, 17)) - 1)


def flip_bits(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Flip some bits."""
    out = bytearray(data)
    for _ in range(1 + _length(dice, 7)):
        if out:
            out[dice.randrange(len(out))] ^= 1 << dice.randrange(8)
    return bytes(out)


def set_bytes(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Overwrite adjacent bytes by random ones, or by one value."""
    at = _at(dice, data)
    count = _length(dice, len(data) - at)
    fill = bytes([dice.choice((0, 255, 0x80, dice.randrange(256)))]) * count if dice.random() < 0.6 else b""
    return data[:at] + (fill or dice.randbytes(count)) + data[at + count :]


def cut_end(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Truncate it."""
    return data[: _at(dice, data)]


def cut_out(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Remove a piece."""
    at = _at(dice, data)
    return data[:at] + data[at + 1 + _length(dice, len(data) - at) :]


def repeat(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Repeat a piece several times."""
    at = _at(dice, data)
    piece = data[at : at + 1 + _length(dice, len(data) - at)]
    times = dice.choice((1, 1, 2, 10, 1000))
    return data[:at] + (piece * times)[:MOST_GROWTH] + data[at:]


def move(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Swap two pieces."""
    a, b, c = sorted(_at(dice, data) for _ in range(3))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


def splice(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Continue with the end of another input."""
    other = dice.choice(others) if others else data
    at = _at(dice, other)
    piece = other[at:] if dice.random() < 0.5 else other[at : at + _length(dice, len(other))]
    here = _at(dice, data)
    return data[:here] + piece + (data[here:] if dice.random() < 0.5 else b"")


def extreme_field(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Set a possible number of 1, 2, 4 or 8 bytes to an extreme value, or change it slightly."""
    width = dice.choice((1, 2, 4, 4, 8, 8))
    if len(data) < width:
        return data
    at = min(_at(dice, data), len(data) - width)
    if dice.random() < 0.5:
        at -= at % width
    value = int.from_bytes(data[at : at + width], "little") + dice.choice((-1, 1, 8, -8, 4096))
    if dice.random() < 0.8:
        value = dice.choice(EXTREMES) + dice.choice((0, 0, 0, -1, 1))
    return data[:at] + (value % (1 << 8 * width)).to_bytes(width, "little") + data[at + width :]


def extreme_varint(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Replace a byte by a variable-length integer."""
    value, out = dice.choice(EXTREMES) % 2**64, bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    at = _at(dice, data)
    return data[:at] + bytes(out) + data[at + dice.choice((0, 1, len(out))) :]


def extreme_number(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Replace a number in the text, or remove it."""
    found = list(NUMBER.finditer(data))
    if not found:
        return insert_token(dice, data, others)
    for match in sorted(dice.sample(found, min(len(found), dice.choice((1, 1, 2, 5)))), key=lambda m: -m.start()):
        data = data[: match.start()] + dice.choice(NUMBERS) + data[match.end() :]
    return data


def insert_token(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Insert a token that has a meaning in some format."""
    at = _at(dice, data)
    return data[:at] + dice.choice(TOKENS) + data[at + dice.choice((0, 0, 1, 8)) :]


def shuffle_lines(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Repeat, remove, swap or join lines."""
    lines = data.split(b"\n")
    for _ in range(dice.choice((1, 1, 3))):
        a, b = dice.randrange(len(lines)), dice.randrange(len(lines))
        match dice.randrange(5):
            case 0:
                lines[a], lines[b] = lines[b], lines[a]
            case 1:
                lines.insert(a, lines[b])
            case 2 if len(lines) > 1:
                del lines[a]
            case 3:
                lines[a] += lines[b]
            case 4:
                cut = _at(dice, lines[a])
                lines[a : a + 1] = [lines[a][:cut], lines[a][cut:]]
    return b"\n".join(lines)


def words_of_others(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Replace a word by one of another input."""
    mine, theirs = list(WORD.finditer(data)), list(WORD.finditer(dice.choice(others) if others else data))
    if not mine or not theirs:
        return data
    match = dice.choice(mine)
    return data[: match.start()] + dice.choice(theirs)[0] + data[match.end() :]


BINARY: tuple[Mutator, ...] = (flip_bits, flip_bits, set_bytes, cut_end, cut_out, repeat, move, splice, extreme_field,
                               extreme_field, extreme_field, extreme_varint, insert_token)  # fmt: skip
TEXT: tuple[Mutator, ...] = (flip_bits, set_bytes, cut_end, cut_out, repeat, move, splice, extreme_number,
                             extreme_number, insert_token, insert_token, shuffle_lines, words_of_others)  # fmt: skip


def mutate(dice: random.Random, data: bytes, others: Sequence[bytes], mutators: Sequence[Mutator]) -> bytes:
    """Damage it once, or a few times."""
    most = len(data) + MOST_GROWTH
    for _ in range(dice.choice((1, 1, 1, 2, 4))):
        data = dice.choice(mutators)(dice, data, others)[:most]
    return data


def inserting(pieces: Sequence[bytes], times: Sequence[int] = (1,), between: bytes = b"") -> Mutator:
    """Return a mutator that inserts a piece, perhaps many times; between: a pattern of the positions."""

    def insert(dice: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
        at = (
            dice.choice([m.start() for m in re.finditer(between, data)] or [0])
            if between
            else dice.randrange(len(data) + 1)
        )
        return data[:at] + dice.choice(pieces) * dice.choice(times) + data[at:]

    return insert


def mutator_of(*mutators: Mutator) -> Mutator:
    """Return a mutator that draws from several kinds of damage."""
    return lambda dice, data, others: mutate(dice, data, others, mutators)


# Damage to a binary file of any form, and to a text of any form.
mutate_binary, mutate_text = mutator_of(*BINARY), mutator_of(*TEXT)


def damaged(seed: int, data: bytes, mutator: Mutator = mutate_binary) -> bytes:
    """Return damaged data; it depends only on the seed."""
    return mutator(random.Random(seed), data, (data,))


def mutate_with(pieces: Sequence[bytes], times: Sequence[int] = (1,), between: bytes = b"", weight: int = 1) -> Mutator:
    """Return a mutator for texts of a format with known words, which inserts them at least as often as other damage."""
    return mutator_of(*TEXT, *[inserting(pieces, times, between)] * weight * len(TEXT))
