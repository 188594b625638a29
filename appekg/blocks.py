"""The intervals in a piece of a heartbeat file: the complete ones, and the lines around them."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from appekg import lines as cut
from appekg.records import IntervalLine, interval_of, parse

# Candidate positions for the beginning of an interval after damaged lines.
CANDIDATES = 64


@dataclass(frozen=True)
class Block:
    """The lines up to an `#interval` line.

    Attributes:
        info: Content of the `#interval` line; None if it is damaged or missing.
        problem: Why the interval cannot be used; None when it can.
        low: First of its rows in the piece.
        high: End of its rows in the piece: rows[low:high].
        skipped: Whether something before it had to be skipped.
        notes: The other `#` lines: word and object, None for an unreadable object.
        is_remainder: Whether this follows the last `#interval` line of a piece.
    """

    info: IntervalLine | None
    problem: str | None
    low: int
    high: int
    skipped: bool = False
    notes: list[tuple[str, dict[str, Any] | None]] = field(default_factory=list)
    is_remainder: bool = False


class Piece:
    """A piece, divided into rows and blocks.

    Attributes:
        rows: dtype ROW, shape (r,); `interval` holds the number in the file.
    """

    def __init__(self, data: bytes, columns: Sequence[str]):
        self.data = data
        lines = cut.split(data)
        is_row = lines.is_row
        self.rows, sound = cut.rows(lines, columns)
        self._row_starts = lines.starts[is_row]
        self._unsound = [0, *np.cumsum(~sound).tolist()]
        # For each row, how often the interval number changed before it.
        self._changes = np.cumsum(np.diff(self.rows["interval"], prepend=0) != 0).tolist()
        self._sound = sound
        marked = np.flatnonzero(~is_row)
        self._marked = [line.tolist() for line in (lines.starts[marked], lines.ends[marked], np.cumsum(is_row)[marked])]

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks in order; the last one follows the last `#interval` line."""
        begin = low = 0
        notes: list[tuple[str, dict[str, Any] | None]] = []
        places: list[int] = []  # where the marked lines of the block begin
        for start, end, high in zip(*self._marked, strict=True):
            places.append(start)
            word, fields = parse(self.data[start:end])
            if word != "interval":
                notes.append((word, fields))
                continue
            info = None if fields is None else interval_of(fields)
            yield self._block(info, begin, (start, end), (low, high), notes, places)
            begin, low, notes, places = end + 1, high, [], []
        yield Block(None, None, low, len(self.rows), notes=notes, is_remainder=True)

    def _block(
        self,
        info: IntervalLine | None,
        begin: int,
        line: tuple[int, int],
        span: tuple[int, int],
        notes: list[tuple[str, dict[str, Any] | None]],
        places: list[int],
    ) -> Block:
        """Check a block against its `#interval` line."""
        comma = self.data.rfind(b',"crc32"', *line)
        if info is None or comma < 0:
            return Block(None, "its #interval line is damaged", *span, notes=notes)
        low, high = span
        view = memoryview(self.data)
        skipped = False
        if zlib.crc32(view[begin:comma]) != info.crc32:
            low = self._first_row(info.number, low, high)
            starts = self._candidates(low, high, places)
            start = next((at for at in starts if zlib.crc32(view[at:comma]) == info.crc32), None)
            if start is None:
                return Block(info, "its checksum does not match", *span, notes=notes)
            skipped = True
        return Block(info, self._row_problem(info, low, high), low, high, skipped, notes)

    def _row_problem(self, info: IntervalLine, low: int, high: int) -> str | None:
        """Return the problem of the rows of an interval."""
        if high - low != info.rows:
            return f"it has {high - low} rows instead of {info.rows}"
        if self._unsound[high] != self._unsound[low]:
            return "it has rows that cannot be read"
        if high > low and (self._changes[low] != self._changes[high - 1] or self.rows["interval"][low] != info.number):
            return "it has rows of another interval"
        return None

    def _first_row(self, number: int, low: int, high: int) -> int:
        """Return the first of the rows at the end of a block that can belong to the interval."""
        belongs = (self.rows["interval"][low:high] == number) & self._sound[low:high]
        others = np.flatnonzero(~belongs)
        return low + int(others[-1]) + 1 if others.size else low

    def _candidates(self, low: int, high: int, places: list[int]) -> list[int]:
        """Return the possible beginnings of the interval: its first row, or one of the marked lines before that."""
        first = int(self._row_starts[low]) if low < high else places[-1]
        before = int(self._row_starts[low - 1]) if low > 0 else -1
        starts = [first, *(at for at in reversed(places) if before < at < first)]
        return starts[:CANDIDATES]
