"""Contents of a file with counters of nodes, before conversion to rates."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from incprof.model import FloatArray


class Kind(enum.Enum):
    """The meaning of a column's numbers."""

    AMOUNT = "what was added since the row before"
    TOTAL = "a counter that only grows"
    GAUGE = "what it is at the moment, or per second already"


@dataclass(frozen=True)
class Column:
    """A column.

    Attributes:
        values: (rows,).
        kind: None if unknown: a counter if it only grows, else `otherwise`.
        unit: of its rate, or of the value itself.
    """

    name: str
    values: FloatArray
    kind: Kind | None = None
    unit: str = ""
    otherwise: Kind = Kind.GAUGE


@dataclass(frozen=True)
class Table:
    """The rows of one node in one file.

    Attributes:
        node: None if the file does not name it.
        times: (rows,) seconds, since the epoch if `by_clock`, else since some start, in any order.
        first_s: when the first row began, if known.
        is_whole: each row covers all the time since the row before it, however long that is.
        simulated: the formula that computed power.
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
