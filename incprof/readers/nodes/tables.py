"""What a file of counters of nodes holds, before its numbers are made rates."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from incprof.model import FloatArray


class Kind(enum.Enum):
    """How the numbers of a column are meant."""

    AMOUNT = "what was added since the row before"
    TOTAL = "a counter that only grows"
    GAUGE = "what it is at the moment, or per second already"


@dataclass(frozen=True)
class Column:
    """A column.

    values: (rows,). kind: None where nobody says: a counter if it only grows, else what `otherwise` says. unit: of its
    rate, or of what it is.
    """

    name: str
    values: FloatArray
    kind: Kind | None = None
    unit: str = ""
    otherwise: Kind = Kind.GAUGE


@dataclass(frozen=True)
class Table:
    """The rows of one node in one file.

    node: None where the file names none. times: (rows,) seconds, of the epoch if `by_clock`, else since some start, in
    any order. first_s: when the first row began, if that is known. is_whole: each row is for all of the time since the
    row before it, however long that is. simulated: the formula that power comes from.
    """

    where: str
    node: str | None
    times: FloatArray
    columns: tuple[Column, ...]
    by_clock: bool = True
    first_s: float | None = None
    is_whole: bool = False
    simulated: str | None = None
    notes: tuple[str, ...] = ()
