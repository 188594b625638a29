"""Numbers of variable length in the payload of a block."""

from __future__ import annotations

MOST_BITS = 63


class BadRecordError(ValueError):
    """The bytes make no sense."""


class Cursor:
    """Reads from a payload, and never beyond its end.

    Raises (each method): BadRecordError.
    """

    def __init__(self, data: bytes, at: int = 0):
        self.data = data
        self.at = at

    def number(self) -> int:
        """An unsigned number (LEB128)."""
        data, at, value, shift = self.data, self.at, 0, 0
        while at < len(data):
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value >> MOST_BITS + 1:
                    break
                self.at = at
                return value
            shift += 7
            if shift > MOST_BITS:
                break
        raise BadRecordError("a number that does not end")

    def signed(self) -> int:
        """A signed number (zigzag)."""
        value = self.number()
        return value >> 1 ^ -(value & 1)

    def count(self, each: int = 1) -> int:
        """How many of something follow, of at least `each` bytes."""
        value = self.number()
        if value * each > len(self.data) - self.at:
            raise BadRecordError("more than there is")
        return value

    def text(self) -> str:
        """A name: its length in bytes, and these."""
        length = self.count()
        self.at += length
        name = self.data[self.at - length : self.at]
        return name.decode("utf-8", "surrogateescape").replace("\0", "\ufffd")
