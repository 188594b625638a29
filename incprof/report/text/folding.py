"""Sentences that are longer than a line."""

from __future__ import annotations

import textwrap

LEAST_WIDTH = 40


def folded(line: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """Fold a sentence at blanks: `first` begins the first line, `rest` all others. No number is torn from its unit."""
    lines = textwrap.wrap(
        line.replace(" %", "\u00a0%"),
        max(width, LEAST_WIDTH),
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
    )
    return [one.replace("\u00a0", " ") for one in lines]
