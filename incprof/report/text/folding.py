"""Wrap sentences that are longer than a line."""

from __future__ import annotations

import textwrap

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
