"""Parts of an answer: sections of tables, lanes and notes, which every form of the answer renders.

A system adds to an answer by one function, `sections(...) -> list[Section]`; given the time bins of a page, it adds
lanes as well. The text answer, the JSON object and the page render sections (incprof/report/render), and need
nothing else of the system. A table states once what it holds:

    table = Table(
        (
            Column("Phase", lambda row: row.id, "phase", key="id"),
            Column("Time", lambda row: row.seconds, "duration", key="seconds"),
            Column("Energy", lambda row: row.energy_j, "J", drop=1, key="energy_j"),
            Column(None, lambda row: row.bound, key="bound"),
        ),
        rows,
        key="phases",
    )
    return [Section("counters", "What bounds each phase", (table,), notes=("one note",))]

Values are raw: numbers in the column's unit, and `incprof.report.render.plain` writes them. A text stays as it is, so
that a column of numbers may hold a text where it has no number; None is written as `-`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from incprof.model.arrays import FloatArray

# Text of a cell without a value.
MISSING = "-"


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        head: Heading; None: for JSON and CSV only.
        get: Returns the value of a row: a text, a number, True or False, None; for JSON a list or a mapping as well.
        unit: Number format, a name in FORMATS: "s", "%", "B", "count". "" is a text, left-aligned. "phase" is a
            phase number, in the phase's colour. Any other unit is appended to three digits: "W".
        drop: Columns to drop in narrow output, largest number first, equal numbers together; 0: never. A section has
            them in a table below.
        key: Name in JSON and CSV; "": not in them.
        fit: Returns the text of a row in so many terminal columns, with leading blanks as an indent. At most one column
            of a table has it, that of long names; its `get` returns the whole name.
        mark: Returns the mark of a row's cell, such as "slower": a colour in a terminal, a class on a page.
        sentence: A sentence per row, below the table; on a page with the head as its topic.
    """

    head: str | None
    get: Callable[[Any], Any]
    unit: str = ""
    drop: int = 0
    key: str = ""
    fit: Callable[[Any, int], str] | None = None
    mark: Callable[[Any], str] | None = None
    sentence: bool = False

    def has(self, row: Any) -> bool:
        """Return whether a row has a value."""
        return self.get(row) not in (None, "", MISSING)


def unseen(keys: str, of: Callable[[Any], Any] = lambda row: row) -> list[Column]:
    """Return columns of JSON and CSV only: attributes of each row, or of what `of` returns for it, by their names."""

    def column(key: str) -> Column:
        return Column(None, lambda row: getattr(of(row), key), key=key)

    return [*map(column, keys.split())]


@dataclass(frozen=True)
class Table:
    """Rows of one kind.

    Attributes:
        columns: In order.
        rows: Anything that the columns' functions take.
        key: Name in JSON.
        title: Heading, where a section has several tables.
    """

    columns: tuple[Column, ...]
    rows: Sequence[Any]
    key: str = "rows"
    title: str = ""

    @cached_property
    def shown(self) -> tuple[Column, ...]:
        """Columns of the displayed table: the first one, and those that have a value in some row."""
        columns = tuple(column for column in self.columns if column.head is not None and not column.sentence)
        return columns[:1] + tuple(column for column in columns[1:] if not self.rows or any(map(column.has, self.rows)))

    def without(self, *heads: str) -> Table:
        """Return the table without the columns that have these headings."""
        return replace(self, columns=tuple(column for column in self.columns if column.head not in heads))

    @property
    def sentences(self) -> tuple[Column, ...]:
        """Columns of sentences."""
        return tuple(column for column in self.columns if column.sentence)

    @property
    def keyed(self) -> tuple[Column, ...]:
        """Columns of JSON and CSV."""
        return tuple(column for column in self.columns if column.key)


@dataclass(frozen=True)
class Lane:
    """A value over the time of a run.

    Attributes:
        name: Short name.
        unit: As of a column.
        edges: Shape (n + 1,). Seconds since the start of the run.
        values: Shape (n,). NaN where there is no value.
        title: What the value is, in full.
        key: Name in data.
    """

    name: str
    unit: str
    edges: FloatArray
    values: FloatArray
    title: str = ""
    key: str = ""


def edges_of(start_s: FloatArray, end_s: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return edges and values of a lane, with NaN where one interval does not begin at the end of the one before.

    start_s: Shape (m,), in order. end_s: Shape (m,). values: Shape (m,).
    """
    if not len(start_s):
        return np.zeros(1), np.zeros(0)
    gaps = np.flatnonzero(start_s[1:] > end_s[:-1]) + 1
    edges = np.insert(np.append(start_s, end_s[-1]), gaps, end_s[gaps - 1])
    return edges, np.insert(np.asarray(values, dtype=np.float64), gaps, np.nan)


@dataclass(frozen=True)
class Section:
    """A system's part of an answer.

    Attributes:
        name: Key in JSON, heading in a terminal, id on a page.
        title: Heading on a page.
        tables: In order.
        lanes: Drawn below the phases of the page.
        notes: Sentences that apply to all of it.
        facts: Single values, for JSON only.
    """

    name: str
    title: str
    tables: tuple[Table, ...] = ()
    lanes: tuple[Lane, ...] = ()
    notes: tuple[str, ...] = ()
    facts: Mapping[str, object] | None = None


@dataclass(frozen=True)
class Amount:
    """An amount of something in each phase, which `incprof diff` compares.

    Attributes:
        metric: Name in a condition, after `phase.`: "wait.lock".
        name: "waiting for locks".
        unit: "s", "B", "J" or "count".
        values: By the number of the phase, from 0 on; phases of which it is unknown are missing.
        errors: Standard errors of values that are estimates from samples; missing: none.
    """

    metric: str
    name: str
    unit: str
    values: Mapping[int, float]
    errors: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class CardPart:
    """A system's part of the cards of all phases.

    Attributes:
        key: Name in the JSON object of a card: "waiting".
        values: JSON value of each phase, by its number; phases without a value are missing.
        columns: One to three columns, whose `get` takes the number of a phase. Sentences belong to the phase's panel.
        lanes: Values over the time of the run.
        notes: Sentences about all phases: what is missing, was left out, or was not permitted.
        amounts: What `incprof diff` compares.
    """

    key: str
    values: Mapping[int, object]
    columns: tuple[Column, ...]
    lanes: tuple[Lane, ...] = ()
    notes: tuple[str, ...] = ()
    amounts: tuple[Amount, ...] = ()
