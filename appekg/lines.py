"""A piece of a heartbeat file, split into lines, and its rows as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appekg.decimals import PADDING, floats, integers
from appekg.model import ROW

NEWLINE, COMMA, HASH = ord("\n"), ord(","), ord("#")


@dataclass(frozen=True)
class Lines:
    """Lines of a text that ends with a newline.

    Attributes:
        text: The bytes after PADDING others, shape (PADDING + size,).
        separators: Positions of commas and newlines in `text`, shape (s,).
        newline: Index of the separator that ends each line, shape (n,).
    """

    text: NDArray[np.uint8]
    separators: NDArray[np.int64]
    newline: NDArray[np.int64]

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where each line begins, not counting the padding, shape (n,)."""
        return np.concatenate(([0], self.ends[:-1] + 1)) if self.newline.size else self.newline

    @property
    def ends(self) -> NDArray[np.int64]:
        """Where the newline of each line is, not counting the padding, shape (n,)."""
        return self.separators[self.newline] - PADDING

    @property
    def is_row(self) -> NDArray[np.bool_]:
        """Which lines are not marked with `#`, shape (n,)."""
        mask: NDArray[np.bool_] = self.text[self.starts + PADDING] != HASH
        return mask


def split(data: bytes | bytearray) -> Lines:
    """Find the lines of `data`, which ends with a newline."""
    text = np.frombuffer(b"\n" * PADDING + data, dtype=np.uint8)
    separators = np.flatnonzero((text == COMMA) | (text == NEWLINE))[PADDING:]
    return Lines(text, separators, np.flatnonzero(text[separators] == NEWLINE))


def rows(lines: Lines, columns: Sequence[str]) -> tuple[NDArray[np.void], NDArray[np.bool_]]:
    """Read the rows.

    Args:
        lines: The text.
        columns: Name of each column of the file, in order. Columns missing from ROW are ignored.

    Returns:
        The rows, dtype ROW, shape (r,), in which `interval` is the number in the file and columns missing from the file
        are 0; and which of them are valid, shape (r,).
    """
    is_row = lines.is_row
    newline = lines.newline[is_row]
    fields = np.diff(lines.newline, prepend=-1)[is_row]
    table = np.zeros(newline.size, dtype=ROW)
    sound = fields == len(columns)
    where = np.flatnonzero(sound)
    first = newline[where] - (len(columns) - 1)
    # The byte before a field is a separator, except in the very first line.
    ends = np.where(first > 0, lines.separators[first - 1], PADDING - 1)
    for position, name in enumerate(columns):
        starts, ends = ends + 1, lines.separators[first + position]
        if name in _IN_FILE:
            number = floats if ROW[name].kind == "f" else integers
            table[name][where], good = number(lines.text, starts, ends)
            sound[where] &= good
    return table, sound


_IN_FILE = frozenset(ROW.names or ()) - {"process", "busy_ns"}
