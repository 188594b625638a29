"""Two runs compared, for people: both as ribbons, a line per phase and step, then functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from incprof.analysis.compare import Condition
from incprof.analysis.diff.diff_result import Comparison, Row, Side
from incprof.analysis.views.tracks import badge, runs, sign, stretched
from incprof.model.section import Column, Table
from incprof.report.render.plain import written
from incprof.report.render.text import COLOURS, console_for, text_table
from incprof.report.words import diff_words as say
from incprof.report.words import formatting as words
from incprof.report.words.colours import style
from incprof.report.words.diff_tables import energy_table, function_table, phase_table, rank_table, reason_table
from incprof.report.words.formatting import count
from incprof.safe.printable import printable

SHOWN = 20
FEWEST = 80


def write_text(
    comparison: Comparison, out: TextIO, *, width: int = 100, colour: bool = False, every: bool = False
) -> None:
    """Write the comparison, at most `width` columns wide from 80 on; plain ASCII without `colour` (but for names).

    every: all functions, not only those that changed or take some time.
    """
    console = console_for(out, width=max(width, FEWEST), colour=colour, terminal=colour)
    for letter, sides in (("A", comparison.a), ("B", comparison.b)):
        for side in sides:
            console.print(f"{letter}  {printable(side.path)}: {say.run_line(side)}", soft_wrap=not colour)
    for note in comparison.notes:
        console.print(f"   {printable(note)}", soft_wrap=not colour)
    console.print(
        Text(say.verdict_line(comparison), style=COLOURS.get(say.sure(comparison.run), "")), soft_wrap=not colour
    )
    console.print(say.phases_line(comparison), soft_wrap=not colour)
    console.print()
    _ribbons(console, comparison)
    console.print()
    phases = [row for phase in comparison.phases for row in (phase, *say.steps(phase, every=every))]
    console.print(text_table(phase_table(comparison, phases), console.width))
    if reasons := reason_table(comparison):
        console.print()
        console.print(text_table(reasons, console.width))
    for line in say.why_lines(comparison):
        console.print(line, soft_wrap=not colour)
    if ranks := rank_table(comparison):
        console.print()
        console.print(text_table(ranks, console.width))
    if energy := energy_table(comparison):
        console.print()
        console.print(text_table(energy, console.width))
    odd = _odd(comparison)
    if odd:
        console.print()
        console.print("\n".join(odd))
    shown = say.shown_functions(comparison, every=every)
    shown = shown if every else shown[:SHOWN]
    if shown:
        console.print()
        table = function_table(comparison, shown).without("", "Per call A", "Per call B")
        console.print(text_table(table, console.width))
    more = len(comparison.functions) + comparison.left_out - len(shown)
    if more:
        console.print(count(more, "more function") + ("" if every else ": --all or --json"))
    console.print()
    console.print(say.noise_line(comparison))


def _ribbons(console: Console, comparison: Comparison) -> None:
    """Print the first run of each side from left to right, on the same scale."""
    longest = max(side.summary.duration_s for side in (comparison.a[0], comparison.b[0]))
    room = console.width - 3
    for letter, side in (("A", comparison.a[0]), ("B", comparison.b[0])):
        line = Text(f"{letter}  ")
        for label, length in runs(stretched(side.labels, _cells(side, longest, room), side.end_s)):
            line.append(sign(label) * length, style=style(label))
        console.print(line, soft_wrap=True)
    end = words.elapsed(longest)
    console.print("   0 s" + end.rjust(room - 3), soft_wrap=True)


def _cells(side: Side, longest: float, room: int) -> int:
    """Return the length of a run's ribbon."""
    return max(round(room * side.summary.duration_s / longest), 1) if longest > 0 else room


def _odd(comparison: Comparison) -> list[str]:
    """Return the phases that match other than one to one under the same number."""
    first = len(comparison.a)
    rows = [row for row in comparison.phases if any(one != (row.group,) for one in row.members)]
    if not rows:
        return []
    said = ", ".join(f"{badge(row.group or 0)} = {say.matched_line(row, first)}" for row in rows)
    return [f"phases as incprof phases numbers them (A | B): {said}"]


# Two runs compared as Markdown, for the summary of a CI job: failed gates first, then phases, then changes.


SHOWN_IN_MARKDOWN = 15


def write_markdown(
    comparison: Comparison, broken: Sequence[tuple[Condition, Row]], warnings: Sequence[str], out: TextIO
) -> None:
    """Write the comparison."""
    said = f"{'Failed' if broken else 'Compared'}: {say.verdict_line(comparison)}; {say.phases_line(comparison)}"
    out.write(f"### {plain(said)}\n\n")
    for condition, row in broken:
        out.write(f"- **{plain(say.broken_line(condition, row))}**\n")
    if broken:
        out.write("\n")
    phases = [row for phase in comparison.phases for row in (phase, *(s for s in phase.steps if s.verdict != "same"))]
    table = phase_table(comparison, phases, between=False)
    out.write(markdown_table(table.without("", "By CPU", "Alike")))
    if reasons := reason_table(comparison):
        out.write("\n" + markdown_table(reasons))
    for line in say.why_lines(comparison):
        out.write(f"\n{plain(line)}\n")
    if ranks := rank_table(comparison):
        out.write("\n" + markdown_table(ranks))
    if energy := energy_table(comparison):
        out.write("\n" + markdown_table(energy.without("")))
    changed = [row for row in comparison.functions if row.verdict != "same"]
    if changed:
        table = function_table(comparison, changed[:SHOWN_IN_MARKDOWN])
        out.write("\n" + markdown_table(table.without("", "Per call A", "Per call B", "Phase")))
        if len(changed) > SHOWN_IN_MARKDOWN:
            out.write(f"\n{count(len(changed) - SHOWN_IN_MARKDOWN, 'more function')} changed.\n")
    out.write("\n")
    for letter, sides in (("A", comparison.a), ("B", comparison.b)):
        out.writelines(f"- {letter}: {plain(printable(side.path))}: {plain(say.run_line(side))}\n" for side in sides)
    out.writelines(f"- {plain(printable(note))}\n" for note in (*comparison.notes, *warnings))
    out.write(f"\n{plain(say.noise_line(comparison))}\n")


# Tables as Markdown.


SPECIAL = re.compile(r"([\\`*_\[\]#|~<>&@])")
# Columns of a name; the indentation of a nested row, in spaces.
ROOM = 80
BLANK = "&nbsp;"
# Marks of cells that are not bold.
PLAIN = ("", "same", "unsure")


def plain(text: str) -> str:
    """Return text in one line with all markup escaped."""
    return SPECIAL.sub(lambda match: f"&#{ord(match[1])};", " ".join(text.splitlines()))


def markdown_table(table: Table) -> str:
    """Return a table; cells marked as a change are bold."""
    lines = [
        _line([plain(column.head or "") for column in table.shown]),
        "|" + "|".join("---" if column.unit == "" else "--:" for column in table.shown) + "|\n",
    ]
    lines += [_line([_cell(column, row) for column in table.shown]) for row in table.rows]
    return "".join(lines)


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |\n"


def _cell(column: Column, row: Any) -> str:
    if column.fit is not None:
        text = written(column.fit(row, ROOM), "")
        return BLANK * (len(text) - len(text.lstrip(" "))) + plain(text.strip(" "))
    text = plain(written(column.get(row), column.unit))
    return f"**{text}**" if text and column.mark is not None and column.mark(row) not in PLAIN else text
