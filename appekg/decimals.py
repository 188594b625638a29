"""Decimal numbers in a text, parsed all at once.

Eight digits of a number are parsed as one 64-bit word: a column of a million numbers takes a dozen array operations
instead of a million conversions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

U64 = np.uint64
# Bytes required before the first number, because words are loaded from the right.
PADDING = 24

_KEEP = np.array([(2**64 - 1) << 8 * (8 - n) & (2**64 - 1) for n in range(9)], dtype=U64)  # the last n of 8 bytes
_ZEROS = U64(0x3030303030303030)
_ABOVE_9 = U64(0x7676767676767676)
_TOP_BITS = U64(0x8080808080808080)
_LARGEST = U64(2**63 - 1)
_EXACT_DIGITS = 15  # a double holds every integer of this many digits
_LONGEST_FLOAT = 40

_FLOAT_BYTES = np.zeros(256, dtype=np.bool_)
_FLOAT_BYTES[list(b"0123456789+-.eE")] = True


def integers(
    text: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Read unsigned decimal integers.

    Args:
        text: The bytes, shape (size,).
        starts: Where each number begins, shape (n,), PADDING at least.
        ends: The byte after each, shape (n,).

    Returns:
        The numbers, shape (n,), and which of them are valid: 1 to 19 digits that fit into 63 bits, shape (n,). Invalid
        ones are 0.
    """
    # Every run of 8 bytes as a word: overlapping, unaligned.
    words = np.ndarray((max(text.size - 7, 0),), dtype="<u8", buffer=text, strides=(1,))
    length = ends - starts
    value, good = _digits(words, ends, length)
    for skipped, scale in ((8, 10**8), (16, 10**16)):
        long = np.flatnonzero((length > skipped) & (length <= 19))
        if long.size:
            more, fine = _digits(words, ends[long] - skipped, length[long] - skipped)
            value[long] += more * U64(scale)
            good[long] &= fine
    good &= (length >= 1) & (length <= 19) & (value <= _LARGEST)
    value[~good] = 0
    return value.view(np.int64), good


def _digits(
    words: NDArray[np.uint64], ends: NDArray[np.int64], length: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Read the last eight digits (or as many as there are) before each end, and return which are digits."""
    word = (words[ends - 8] ^ _ZEROS) & _KEEP[np.clip(length, 0, 8)]
    good = (word | (word + _ABOVE_9)) & _TOP_BITS == 0
    # Neighbours are combined: digits to pairs, pairs to fours, fours to eights.
    word = (word * U64(10 * 2**8 + 1)) >> U64(8) & U64(0x00FF00FF00FF00FF)
    word = (word * U64(100 * 2**16 + 1)) >> U64(16) & U64(0x0000FFFF0000FFFF)
    return (word * U64(10000 * 2**32 + 1)) >> U64(32), good


def floats(
    text: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Read unsigned decimal numbers that may have a point and an exponent; arguments and result as in `integers`.

    Finite numbers from 0 are valid. Each is the double nearest to the text.
    """
    as_integers, good = integers(text, starts, ends)
    value = as_integers.astype(np.float64)
    good &= ends - starts <= _EXACT_DIGITS
    irregular = np.flatnonzero(~good)
    if irregular.size:
        value[irregular], good[irregular] = _any_floats(text, starts[irregular], ends[irregular])
    return value, good


def _any_floats(
    text: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Read numbers through Python's own conversion; none contains a comma."""
    length = np.where(ends - starts <= _LONGEST_FLOAT, ends - starts, 0)
    # The numbers one after the other, each with the byte that follows it.
    at = np.repeat(starts - np.concatenate(([0], np.cumsum(length + 1)[:-1])), length + 1)
    joined = text[at + np.arange(at.size)]
    last = np.cumsum(length + 1) - 1
    foreign = ~_FLOAT_BYTES[joined]
    foreign[last] = False
    joined[last] = ord(",")
    good = np.add.reduceat(foreign, last - length) == 0
    parts = joined.tobytes().split(b",")[:-1]
    try:
        value = np.array(list(map(float, parts)))
    except ValueError:
        value = np.array(list(map(_float, parts)))
    good &= np.isfinite(value) & (value >= 0)
    return np.where(good, value, 0.0), good


def _float(part: bytes) -> float:
    """Return the number, or -1 for an invalid one."""
    try:
        return float(part)
    except ValueError:
        return -1.0
