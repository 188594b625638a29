"""Layout of plain text: sentences wrapped at a width, rows as aligned columns."""

from __future__ import annotations

import textwrap
from collections.abc import Container, Sequence
from typing import TextIO

from incprof.safe.printable import printable

LEAST_WIDTH = 40


def folded(line: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """Wrap a sentence at spaces, never between a number and its unit.

    `first` begins the first line, `rest` all others.
    """
    lines = textwrap.wrap(
        line.replace(" %", "\u00a0%"),
        max(width, LEAST_WIDTH),
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
    )
    return [one.replace("\u00a0", " ") for one in lines]


def write_aligned(rows: Sequence[Sequence[str]], left: Container[str], out: TextIO) -> None:
    """Write rows, the first of which is the head. Columns with a heading in `left` are left-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.ljust(width) if head in left else cell.rjust(width)
            for head, cell, width in zip(rows[0], row, widths, strict=True)
        ]
        out.write(printable("  ".join(cells).rstrip()) + "\n")
