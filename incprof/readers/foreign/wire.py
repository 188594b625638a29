"""Minimal protocol buffer reader for one message: numbers and length-delimited fields.

The protobuf library would add a compiler's output for six small messages, and ten megabytes; and a file from others
needs careful reading in either case.
"""

from __future__ import annotations

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
LONGEST = 10
MASK = 2**64 - 1
# The value of a field: a number, or the bytes of a text, a message, or packed numbers.
Value = int | memoryview


def fields(data: memoryview) -> Iterator[tuple[int, Value]]:
    """Yield the fields of a message, (number, value), in order.

    Raises: ValueError if it is not a message.
    """
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == VARINT:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        if kind == BYTES:
            size, at = _varint(data, at)
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
        else:
            raise ValueError("a field of no kind")
        if size > len(data) - at:
            raise ValueError("a field that ends behind its message")
        yield key >> 3, data[at : at + size]
        at += size


def numbers(value: Value) -> list[int]:
    """Return the unsigned numbers of a field that may have several.

    Raises: ValueError if they are not numbers.
    """
    if isinstance(value, int):
        return [value]
    found, at = list[int](), 0
    while at < len(value):
        number, at = _varint(value, at)
        found.append(number)
    return found


def number(value: Value) -> int:
    """Return an unsigned number.

    Raises: ValueError if the field is not one.
    """
    if not isinstance(value, int):
        raise ValueError("no number")
    return value


def signed(value: int) -> int:
    """Reinterpret an unsigned number of 64 bits as a signed one."""
    return value - 2**64 if value >= 2**63 else value


def message(value: Value) -> memoryview:
    """Return the bytes of a text or a message.

    Raises: ValueError if the field is a number.
    """
    if isinstance(value, int):
        raise ValueError("no message")
    return value


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """Return a number, and the offset of the next byte."""
    value = 0
    for place in range(LONGEST):
        if at >= len(data):
            raise ValueError("a number without an end")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value & MASK, at
    raise ValueError("a number of more than ten bytes")
