"""Tables on narrow terminals."""

from __future__ import annotations

from io import StringIO

from rich.table import Table
from rich.text import Text

from incprof.report.render.text import console_for


def test_no_figure_is_cut_where_there_is_little_room():
    out = StringIO()
    console = console_for(out, width=20, colour=False)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in ("Phase", "Function", "% of run"):
        table.add_column(name, no_wrap=True)
    table.add_row(Text(" 0 "), "main::{lambda line 7}", "34.7")
    console.print(table)
    console.print("words that are folded at the width of a line")
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert lines[:2] == ["Phase  Function               % of run", " 0     main::{lambda line 7}  34.7"]
    assert lines[2:] == ["words that are", "folded at the width", "of a line"]
