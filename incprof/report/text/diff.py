"""Two runs side by side for people: both as ribbons, a line for each phase and step, then functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from incprof.analysis.diff.results import Comparison, EnergyRow, Figure, PhaseRow, Row, Side
from incprof.analysis.views.ribbon import badge, runs, sign, stretched
from incprof.report.text.console import console_for
from incprof.report.words import diff as say
from incprof.report.words import numbers as words
from incprof.report.words.colours import style
from incprof.report.words.figures import count
from incprof.report.words.names import Names

COLOURS = {
    "slower": "bold red",
    "faster": "bold green",
    "new": "bold yellow",
    "gone": "bold yellow",
    "unsure": "yellow",
}
SHOWN = 20
FEWEST = 80
# The last columns of a table are left out where names would have less room than this.
LAST = 3
NAME = 16


def write_text(found: Comparison, out: TextIO, *, width: int = 100, colour: bool = False, every: bool = False) -> None:
    """Write the comparison, at most `width` columns wide from 80 on; plain ASCII without `colour` (but for names).

    every: all functions, not only those that changed or take some time.
    """
    console = console_for(out, width=max(width, FEWEST), colour=colour, terminal=colour)
    for letter, sides in (("A", found.a), ("B", found.b)):
        for side in sides:
            console.print(f"{letter}  {words.printable(side.path)}: {say.run_line(side)}", soft_wrap=not colour)
    for note in found.notes:
        console.print(f"   {words.printable(note)}", soft_wrap=not colour)
    console.print(Text(say.verdict_line(found), style=COLOURS.get(say.sure(found.run), "")), soft_wrap=not colour)
    console.print(say.phases_line(found), soft_wrap=not colour)
    console.print()
    _ribbons(console, found)
    console.print()
    console.print(_phases(found, console.width, every=every))
    if energy := say.energy_rows(found):
        console.print()
        console.print(_energy(found, energy, console.width))
    odd = _odd(found)
    if odd:
        console.print()
        console.print("\n".join(odd))
    shown = say.shown_functions(found, every=every)
    shown = shown if every else shown[:SHOWN]
    if shown:
        console.print()
        console.print(_functions(shown, say.row_names(found), console.width))
    more = len(found.functions) + found.left_out - len(shown)
    if more:
        console.print(count(more, "more function") + ("" if every else ": --all or --json"))
    console.print()
    console.print(say.noise_line(found))


def _ribbons(console: Console, found: Comparison) -> None:
    """Print the first run of each side from left to right, on the same scale."""
    longest = max(side.summary.duration_s for side in (found.a[0], found.b[0]))
    room = console.width - 3
    for letter, side in (("A", found.a[0]), ("B", found.b[0])):
        line = Text(f"{letter}  ")
        for label, length in runs(stretched(side.labels, _cells(side, longest, room), side.end_s)):
            line.append(sign(label) * length, style=style(label))
        console.print(line, soft_wrap=True)
    end = words.elapsed(longest)
    console.print("   0 s" + end.rjust(room - 3), soft_wrap=True)


def _cells(side: Side, longest: float, room: int) -> int:
    """Return how long a run's ribbon is."""
    return max(round(room * side.summary.duration_s / longest), 1) if longest > 0 else room


def _table(names: Sequence[str], left: Sequence[str]) -> Table:
    """Return an empty table."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in names:
        table.add_column(name, justify="left" if name in left else "right", no_wrap=True)
    return table


def _phases(found: Comparison, width: int, *, every: bool) -> Table:
    """Return phases and their steps."""
    both = found.clock == "both"
    names: tuple[str, ...] = (
        "", "Phase", "A", "B", "Change", "95 % interval", *(("By CPU",) if both else ()), "Verdict",
        "A %", "B %", "Alike",
    )  # fmt: skip
    rows = [row for phase in found.phases for row in (phase, *say.steps(phase, every=every))]
    between = tuple(say.seconds(Figure(v, 0, None, ())) for v in found.between) if max(found.between) > 0 else ()
    called = say.row_names(found)
    cells = [(_number(row).plain, *_cells_of(row, both=both), *_shares(row)) for row in rows]
    keep, room = _columns(width, names, [*cells, (" 0 ", *between), (" 0 ", *_cells_of(found.run, both=both))])
    table = _table(names[: len(names) - LAST + keep], ("", "Phase", "Verdict"))
    for row in rows:
        step = row.kind == "step"
        name = ("  " if step else "") + say.named(row, called, room - 2 * step)
        table.add_row(_number(row), name, *_cells_of(row, both=both)[:-1], _verdict(row), *_shares(row)[:keep])
    if between:
        table.add_row("", "between phases"[:room], *between)
    table.add_row("", "whole run", *_cells_of(found.run, both=both)[:-1], _verdict(found.run))
    return table


def _energy(found: Comparison, rows: Sequence[tuple[Row, EnergyRow]], width: int) -> Table:
    """Return the energy of phases and of the run."""
    names = ("", say.energy_head(found), *say.ENERGY[1:])
    cells = [(_number(row).plain, *say.energy_cells(row, energy)) for row, energy in rows]
    widest = [max(len(head), *(len(line[at]) for line in cells)) for at, head in enumerate(("", *names[2:]))]
    # Power is left out where names, and the head of theirs, would have no room.
    keep = len(names) if width - sum(widest) - 2 * len(widest) >= max(NAME, len(names[1])) else len(names) - 2
    room = max(width - sum(widest[: keep - 1]) - 2 * (keep - 1), NAME // 2)
    called, table = say.row_names(found), _table(names[:keep], ("", names[1], "Verdict"))
    for (row, energy), line in zip(rows, cells, strict=True):
        verdict = Text(line[5], style=COLOURS.get(energy.verdict, ""))
        table.add_row(_number(row), say.named(row, called, room), *line[1:5], verdict, *line[6 : keep - 1])
    return table


def _number(row: Row) -> Text:
    """Return the number of a phase in its colour; nothing for a step."""
    return (
        Text("") if row.kind == "step" or row.group is None else Text(f" {badge(row.group)} ", style=style(row.group))
    )


def _functions(rows: Sequence[Row], called: Names, width: int) -> Table:
    """Return functions."""
    names: tuple[str, ...] = (
        "Function",
        "Self A",
        "Self B",
        "Change",
        "95 % interval",
        "Verdict",
        "Calls A",
        "Calls B",
        "Phase",
    )
    last = [(say.calls(row.a), say.calls(row.b), "" if row.group is None else badge(row.group)) for row in rows]
    keep, room = _columns(width, names, [(*_cells_of(row), *calls) for row, calls in zip(rows, last, strict=True)])
    table = _table(names[: len(names) - LAST + keep], ("Function", "Verdict"))
    for row, calls in zip(rows, last, strict=True):
        table.add_row(say.named(row, called, room), *_cells_of(row)[:-1], _verdict(row), *calls[:keep])
    return table


def _shares(row: Row) -> tuple[str, ...]:
    """Return the cells of phases and steps that a narrow terminal has no room for."""
    return say.share(row.a), say.share(row.b), say.alike(row) if isinstance(row, PhaseRow) else ""


def _cells_of(row: Row, *, both: bool = False) -> tuple[str, ...]:
    """Return the cells that all rows have; the last is the verdict. both: the change by CPU time before it."""
    by_cpu = ("" if row.cpu is None else say.change(row.cpu),) if both else ()
    return say.seconds(row.a), say.seconds(row.b), say.change(row), say.interval(row), *by_cpu, say.verdict(row)


def _verdict(row: Row) -> Text:
    """Return a verdict in its colour."""
    return Text(say.verdict(row), style=COLOURS.get(say.sure(row), ""))


def _columns(width: int, names: Sequence[str], rows: Sequence[tuple[str, ...]]) -> tuple[int, int]:
    """Return how many of the last columns there is room for, all or none, and the columns that are left for names."""
    heads = ["", *names[2:]] if not names[0] else list(names[1:])
    widest = [max(len(head), *(len(row[at]) for row in rows if at < len(row))) for at, head in enumerate(heads)]
    for keep in (LAST, 0):
        columns = widest[: len(widest) - LAST + keep]
        room = width - sum(columns) - 2 * len(columns)
        if room >= NAME:
            break
    return keep, max(room, NAME // 2)


def _odd(found: Comparison) -> list[str]:
    """Return what phases belong together where that is not one of each run under the same number."""
    first = len(found.a)
    rows = [row for row in found.phases if any(one != (row.group,) for one in row.members)]
    if not rows:
        return []
    said = ", ".join(f"{badge(row.group or 0)} = {say.matched_line(row, first)}" for row in rows)
    return [f"phases as incprof phases numbers them (A | B): {said}"]
