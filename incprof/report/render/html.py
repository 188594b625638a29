"""Sections and tables as HTML. All text except the markup in this file is escaped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from markupsafe import Markup

from incprof.model.section import Column, Section, Table
from incprof.report.render.plain import written

# Columns of a name.
ROOM = 80


def chip(phase: int) -> Markup:
    """Return the number of a phase, which the page's script colours."""
    return Markup('<span class="chip" data-phase="{0}">{0}</span>').format(phase)


def html_table(table: Table, chip: Callable[[int], Markup] = chip, style: str = "") -> Markup:
    """Return a table. chip: draws the number of a phase. style: class of the table."""
    heads = Markup("").join(
        Markup('<th scope="col"{}>{}</th>').format(_class(column), column.head or "") for column in table.shown
    )
    rows = Markup("\n").join(
        Markup("<tr>{}</tr>").format(
            Markup("").join(_cell(column, row, place == 0, chip) for place, column in enumerate(table.shown))
        )
        for row in table.rows
    )
    named = Markup(' class="{}"').format(style) if style else ""
    return Markup("<table{}>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}\n</tbody>\n</table>").format(named, heads, rows)


def html_section(section: Section) -> Markup:
    """Return a section without its lanes, which the page's script draws."""
    aside = Markup(' <span class="aside">{}</span>').format(section.name)
    parts = [Markup('<h2 id="{}-title">{}{}</h2>').format(section.name, section.title, aside)]
    for table in section.tables:
        if table.title:
            parts.append(Markup("<h3>{}</h3>").format(table.title))
        parts.append(Markup('<div class="scroll">{}</div>').format(html_table(table, style="counters")))
        parts += [panel for row in table.rows if (panel := _panel(table, row))]
    parts += [Markup('<p class="hint said">{}</p>').format(written(note, "")) for note in section.notes]
    return Markup('<section aria-labelledby="{}-title">\n{}\n</section>').format(section.name, Markup("\n").join(parts))


def _panel(table: Table, row: Any) -> Markup:
    """Return the sentences about a row beside its first cell, each with its topic; "" if there are none."""
    topics = Markup("\n").join(
        Markup("<dt>{}</dt><dd>{}.</dd>").format(column.head or "", text[:1].upper() + text[1:])
        for column in table.sentences
        if (text := written(column.get(row) or "", ""))
    )
    first = _value(table.shown[0], row, chip)
    return Markup('<div class="about">{}<dl>\n{}\n</dl></div>').format(first, topics) if topics else topics


def _class(column: Column, mark: str = "") -> Markup:
    """Return the attribute of a cell's classes."""
    kind = "name" if column.fit is not None else "number" if column.unit not in ("", "phase") else ""
    names = " ".join(name for name in (kind, mark) if name)
    return Markup(' class="{}"').format(names) if names else Markup("")


def _cell(column: Column, row: Any, first: bool, chip: Callable[[int], Markup]) -> Markup:
    """Return a cell; the first one of a row is its heading."""
    name = Markup('th scope="row"') if first else Markup("td")
    value, mark, title = _value(column, row, chip), column.mark(row) if column.mark is not None else "", Markup("")
    if column.fit is not None:
        mark = "deep1" if value.startswith(" ") else mark
        value, title = value.strip(" "), Markup(' title="{}"').format(written(column.get(row), ""))
    return Markup("<{}{}{}>{}</{}>").format(name, _class(column, mark), title, value, name[:2])


def _value(column: Column, row: Any, chip: Callable[[int], Markup]) -> str | Markup:
    """Return the content of a cell."""
    if column.fit is not None:
        return written(column.fit(row, ROOM), "")
    value = column.get(row)
    if column.unit == "phase" and isinstance(value, int):
        return chip(value)
    return written(value, column.unit)
