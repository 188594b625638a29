"""Rows of a node's counters as they are written: the text of incprof sample, or other CSV with a line of names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from incprof.errors import NoDataError
from incprof.model import FloatArray
from incprof.model.counter_names import canonical_names
from incprof.readers.nodes.column_origin import understood
from incprof.readers.nodes.named import TIMES, UNITS
from incprof.readers.nodes.tables import Kind
from incprof.readers.nodes.text_tables import KIND, OWN_KINDS
from incprof.readers.series.columns import plain_time

SEPARATORS = re.compile(r"[,;\t]")


def growing_rows(lines: Iterator[str], where: str, names: Sequence[str]) -> Iterator[tuple[float, FloatArray]]:
    """Yield the time of each row and the rates of the named counters (counters,), NaN where a number is missing.

    A row's length is the time since the previous row; so the first row is omitted.

    Raises:
        NoDataError: the line of names, the time or a counter is missing.
    """
    kinds: dict[str, Kind] = {}
    header: list[str] | None = None
    meter: _Meter | None = None
    for line in lines:
        if line.startswith("#") or not line.strip():
            if match := KIND.match(line.rstrip("\r\n")):
                kinds[match[1]] = OWN_KINDS[match[2]]
            continue
        cells = [cell.strip().strip('"') for cell in SEPARATORS.split(line.rstrip("\r\n"))]
        if header is None:
            header, meter = cells, _Meter(cells, where, names, kinds)
        elif meter is not None and len(cells) == len(header) and (row := meter.row(cells)) is not None:
            yield row


class _Meter:
    """Converts the cells of rows to rates."""

    def __init__(self, header: Sequence[str], where: str, names: Sequence[str], kinds: dict[str, Kind]):
        time = next((at for at, name in enumerate(header) if plain_time(name) in TIMES), None)
        if time is None:
            raise NoDataError(f"{where}: its first line names no column of times, such as time_s")
        called = canonical_names(header)
        missing = [name for name in names if name not in called]
        if missing:
            raise NoDataError(f"{where}: no column {missing[0]}, which the alphabet was learnt with")
        self._time, self._columns = time, [called.index(name) for name in names]
        own = [header[at] for at in self._columns]
        columns = [understood(name, np.zeros(1), kinds.get(name)) for name in own]
        self._amount = np.array([column.kind is Kind.AMOUNT for column in columns])
        self._total = np.array([column.kind is Kind.TOTAL for column in columns])
        self._before: tuple[float, FloatArray] | None = None

    def row(self, cells: Sequence[str]) -> tuple[float, FloatArray] | None:
        """Return the time and the rates of a row; None for the first, and for one that is incomplete or not later."""
        time_s = _number(cells[self._time])
        time_s *= next((unit for limit, unit in UNITS if time_s > limit), 1.0)
        values = np.array([_number(cells[at]) for at in self._columns])
        before, known = self._before, time_s == time_s
        if not known or (before is not None and time_s <= before[0]):
            return None
        self._before = (time_s, values)
        if before is None:
            return None
        length = time_s - before[0]
        grown = np.where(values >= before[1], values - before[1], np.nan)
        return time_s, np.where(self._amount, values / length, np.where(self._total, grown / length, values))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
