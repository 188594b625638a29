"""Functions that counting costs, for people: what each costs, and the files that hold them."""

from __future__ import annotations

from typing import TextIO

from rich.table import Table

from incprof.report.hot_answer import HotAnswer
from incprof.report.text.console import console_for
from incprof.report.text.folding import folded
from incprof.report.words.counting import counting_words
from incprof.report.words.names import Names
from incprof.report.words.numbers import rate, seconds

# The columns beside the name and the place.
FIGURES = 36


def write_text(found: HotAnswer, out: TextIO, *, width: int) -> None:
    """Write the answer, at most `width` columns wide."""
    width = max(width, 60)
    console = console_for(out, width=width, colour=False, terminal=False)
    for line in folded(f"{found.app}, rank {found.rank}: {counting_words(found.counting)}", width, "", ""):
        console.print(line, soft_wrap=True)
    if not found.rows:
        console.print("nothing is worth leaving out of -pg", soft_wrap=True)
        return
    console.print(f"without the functions below it takes {rate(found.left_pct)} %\n", soft_wrap=True)
    names = Names(row.function for row in found.rows)
    places = [f"{row.file.rpartition('/')[2]}:{row.function.line}" if row.file else "-" for row in found.rows]
    room = max(width - FIGURES - max(map(len, places)), 20)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("function", no_wrap=True)
    for head in ("calls", "counting", "% of CPU"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("place", no_wrap=True)
    for row, place in zip(found.rows, places, strict=True):
        table.add_row(names(row.function, room), str(row.calls), seconds(row.seconds), rate(row.pct), place)
    console.print(table)
    console.print()
    for file in found.files:
        what = f"{file.path}: {file.calls} calls of these functions, {file.other_calls} of others"
        for line in folded(what, width, "", "  "):
            console.print(line, soft_wrap=True)
