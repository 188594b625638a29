"""Rows of text as aligned columns, for tables without colour."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TextIO

from incprof.safe.printable import printable


def write_aligned(rows: Sequence[Sequence[str]], left: Container[str], out: TextIO) -> None:
    """Write rows, the first of which is the head. Columns with a heading in `left` are left-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.ljust(width) if head in left else cell.rjust(width)
            for head, cell, width in zip(rows[0], row, widths, strict=True)
        ]
        out.write(printable("  ".join(cells).rstrip()) + "\n")
