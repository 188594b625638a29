"""Sections and tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TextIO

import rich.table
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.text import Text

from incprof.model.section import Column, Section, Table
from incprof.report.render.plain import written
from incprof.report.words.colours import style
from incprof.report.words.formatting import folded
from incprof.safe.printable import printable_lines, unfiltered

# Columns of a table.
WIDEST = 10_000


class PrintableConsole(Console):
    """A console that escapes control characters in texts. Its own control sequences are kept apart, and stay."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render anything."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable_lines(segment.text), segment.style)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; a table without wrapping is as wide as it must be, even on a narrow terminal."""
        table = objects[0] if objects else None
        if not isinstance(table, rich.table.Table) or not all(column.no_wrap for column in table.columns):
            super().print(*objects, **options)
            return
        width = self.width
        self.width = max(width, Measurement.get(self, self.options.update(width=WIDEST), table).maximum)
        super().print(table, **options)
        self.width = width

    def on_broken_pipe(self) -> None:
        """Leave the signal to the command line, which ends as if killed by it; rich would exit with 1."""
        raise BrokenPipeError


def console_for(
    out: TextIO,
    *,
    width: int | None,
    colour: bool,
    terminal: bool | None = None,
    environ: Mapping[str, str] | None = None,
) -> Console:
    """Return a console for a stream.

    terminal: whether the stream is one; None: detect it. environ: sets the size; None: that of this process.
    """
    return PrintableConsole(
        file=unfiltered(out), width=width, force_terminal=terminal, no_color=not colour, highlight=False, emoji=False,
        markup=False, color_system="256" if colour else None, legacy_windows=False, _environ=environ,
    )  # fmt: skip


def print_folded(console: Console, head: str, lines: Sequence[str], hang: str = "") -> None:
    """Print sentences below one another, with a head before the first; continuation lines begin with `hang`."""
    rest = " " * len(head)
    for number, line in enumerate(lines):
        for part in folded(line, console.width, rest if number else head, rest + hang):
            console.print(part, soft_wrap=True)


# Other columns are dropped for longer names that would get fewer columns than this; all get a third as many.
NAME = 24
# A name in so many columns is whole.
WHOLE = 80
GAP = 2
COLOURS = {
    "slower": "bold red",
    "faster": "bold green",
    "new": "bold yellow",
    "gone": "bold yellow",
    "unsure": "yellow",
}


def write_sections(sections: list[Section], out: TextIO, *, width: int, colour: bool) -> None:
    """Write sections one below the other, sentences at most `width` columns wide."""
    console = console_for(out, width=max(width, 40), colour=colour, terminal=colour)
    for section in sections:
        _write_section(console, section)


def _write_section(console: Console, section: Section) -> None:
    """Write a section: its name, its tables with the sentences about their rows, and its notes."""
    console.print(f"\n{section.name}")
    for number, table in enumerate(section.tables):
        if number:
            console.print()
        if table.title:
            console.print(table.title, soft_wrap=True)
        _write_table(console, table)
        for row in table.rows:
            _write_sentences(console, table, row)
    for note in section.notes:
        for line in folded(note, console.width, "note: ", "      "):
            console.print(line, soft_wrap=True)


def _write_table(console: Console, table: Table) -> None:
    """Write a table; columns for which the terminal is too narrow follow in tables below it."""
    left = table
    while True:
        console.print(text_table(left, console.width))
        written_heads = {column.head for column in _fitting(left, console.width)[0]}
        rest = [column for column in left.shown if column.head not in written_heads]
        if not rest or len(written_heads) < 2:
            return
        left = replace(table, columns=(table.shown[0], *rest))
        console.print()


def _write_sentences(console: Console, table: Table, row: Any) -> None:
    """Write the sentences about a row after its first cell: `phase 0: ...`."""
    first = table.shown[0]
    for column in table.sentences:
        if sentence := column.get(row):
            head = f"{(first.head or '').lower()} {written(first.get(row), first.unit)}".strip()
            for line in folded(written(sentence, ""), console.width, f"{head}: ", " " * (len(head) + 2)):
                console.print(line, soft_wrap=True)


def text_table(table: Table, width: int) -> rich.table.Table:
    """Return a table at most `width` columns wide, if dropping columns and shortening names can achieve that."""
    columns, cells, room = _fitting(table, width)
    drawn = rich.table.Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False)
    for column in columns:
        drawn.add_column(
            column.head or "", justify="left" if not (column.head and column.unit) else "right", no_wrap=True
        )
    for place, row in enumerate(table.rows):
        drawn.add_row(
            *(
                Text(written(column.fit(row, max(room, NAME // 3)), ""))
                if column.fit is not None
                else cells[id(column)][place]
                for column in columns
            )
        )
    return drawn


def _fitting(table: Table, width: int) -> tuple[list[Column], dict[int, list[Text]], int]:
    """Return the columns that fit, the cells of all by the columns' ids, and the terminal columns left for names."""
    columns = list(table.shown)
    cells = {id(column): [_cell(column, row) for row in table.rows] for column in columns if column.fit is None}
    room = _room(columns, cells, width)
    while room < _least(columns, table.rows) and (last := max((column.drop for column in columns), default=0)):
        columns = [column for column in columns if column.drop != last]
        room = _room(columns, cells, width)
    return columns, cells, room


def _room(columns: list[Column], cells: dict[int, list[Text]], width: int) -> int:
    """Return the terminal columns left for names."""
    for column in columns:
        if column.fit is None:
            width -= GAP + max(cell_len(column.head or ""), *(cell.cell_len for cell in cells[id(column)]), 0)
    return width


def _least(columns: list[Column], rows: Sequence[Any]) -> int:
    """Return the terminal columns that names should have: at most NAME, or all in a column that can be dropped."""
    column = next((column for column in columns if column.fit is not None), None)
    if column is None or column.fit is None:
        return 0
    whole = max((cell_len(column.fit(row, WHOLE)) for row in rows), default=0)
    return max(whole if column.drop else min(whole, NAME), cell_len(column.head or ""))


def _cell(column: Column, row: Any) -> Text:
    """Return a cell in its colour."""
    value = column.get(row)
    text = written(value, column.unit)
    if column.unit == "phase" and isinstance(value, int):
        return Text(f" {text} ", style=style(value))
    return Text(text, style=COLOURS.get(column.mark(row), "") if column.mark is not None else "")
