"""Counters by phase, for people."""

from __future__ import annotations

from typing import TextIO

from rich.table import Table
from rich.text import Text

from incprof.analysis.counters.results import CountersUnder
from incprof.analysis.views.ribbon import badge
from incprof.report.text.console import console_for
from incprof.report.text.folding import folded
from incprof.report.words.colours import style
from incprof.report.words.counters import bound_line, columns, energy_line, head, lines_about, value
from incprof.report.words.figures import duration

# The column of phases and that of times.
BESIDE = 18


def write_counters(found: CountersUnder, out: TextIO, *, width: int, colour: bool) -> None:
    """Write a row for each phase, as many columns as there is room for, and what each phase is bound by."""
    console = console_for(out, width=max(width, 40), colour=colour, terminal=colour)
    console.print("\ncounters")
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("Phase", justify="right", no_wrap=True)
    table.add_column("Time", justify="right", no_wrap=True)
    shown, room = [], max(width, 40) - BESIDE
    for name in columns(found):
        room -= 2 + max(len(head(found, name)), *(len(value(phase, name)) for phase in found.phases))
        if room >= 0:
            shown.append(name)
            table.add_column(head(found, name), justify="right", no_wrap=True)
    for phase in found.phases:
        number = Text(f" {badge(phase.id)} ", style=style(phase.id))
        table.add_row(number, duration(phase.seconds), *(value(phase, name) for name in shown))
    console.print(table)
    for phase in found.phases:
        for line in (bound_line(phase), energy_line(found, phase)):
            for part in folded(line, console.width, f"phase {badge(phase.id)}: ", " " * 9) if line else ():
                console.print(part, soft_wrap=True)
    for line in lines_about(found):
        for part in folded(line, console.width, "note: ", "      "):
            console.print(part, soft_wrap=True)
