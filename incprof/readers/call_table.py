"""Calls per interval as a long table, summed a chunk of intervals at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from incprof.model import Arcs
from incprof.readers.long_table import LongTable

IntArray = npt.NDArray[np.int64]
NumberArray = npt.NDArray[np.int32]

NO_NUMBERS: NumberArray = np.empty(0, dtype=np.int32)
NO_ARCS = Arcs(NO_NUMBERS, NO_NUMBERS, NO_NUMBERS, np.empty(0, dtype=np.int64))


class CallTable:
    """Calls, added in chunks of intervals, in order; no interval is in two of them."""

    def __init__(self) -> None:
        self._table = LongTable(np.int32, np.int32, np.int32, np.int64)
        self._chunk_ends = [0]

    def add(self, arcs: Arcs) -> None:
        """Add the calls of a chunk, one row for each call site."""
        arcs = sum_arcs(arcs)
        self._table.append((arcs.interval, arcs.caller, arcs.callee, arcs.count))
        self._chunk_ends.append(self._chunk_ends[-1] + len(arcs.count))

    def mark_functions(self, seen: npt.NDArray[np.bool_]) -> None:
        """Set those elements of `seen` whose index is the number of a caller or callee."""
        for chunk in self._chunks():
            seen[chunk.caller] = seen[chunk.callee] = True

    def renumber(self, place: NumberArray) -> None:
        """Replace each function number by the one at its place; -1 by the last."""
        for chunk in self._chunks():
            chunk.caller[:], chunk.callee[:] = place[chunk.caller], place[chunk.callee]
            if (order := _order(chunk)) is not None:
                for column in (chunk.interval, chunk.caller, chunk.callee, chunk.count):
                    column[:] = column[order]

    def arcs(self) -> Arcs:
        """Return all rows, without copying."""
        return Arcs(*self._table.columns())

    def _chunks(self) -> Iterator[Arcs]:
        columns = self._table.columns()
        for start, end in zip(self._chunk_ends, self._chunk_ends[1:], strict=False):
            yield Arcs(*(column[start:end] for column in columns))


def sum_arcs(arcs: Arcs) -> Arcs:
    """Return one row per (interval, caller, callee), in that order: call sites of the same caller are added up.

    Rows without calls are left out. The number of intervals times the square of the number of functions must fit into
    63 bits: with 4096 intervals, that is 47 million functions.
    """
    if not len(arcs.count):
        return NO_ARCS
    width = max(int(arcs.caller.max()), int(arcs.callee.max())) + 2
    key = arcs.interval.astype(np.int64) - int(arcs.interval.min())
    for column in (arcs.caller, arcs.callee):
        key *= width
        key += column
        key += 1
    order = np.argsort(key)
    key = key[order]
    head = np.flatnonzero(np.diff(key, prepend=-1))
    count = np.add.reduceat(arcs.count[order], head)
    head = order[head][count > 0]
    return Arcs(arcs.interval[head], arcs.caller[head], arcs.callee[head], count[count > 0])


def _order(arcs: Arcs) -> IntArray | None:
    """Return the order that sorts distinct rows by (interval, caller, callee); None if they are in order."""
    behind = np.zeros(max(len(arcs.count) - 1, 0), dtype=bool)
    tied = np.ones_like(behind)
    for column in (arcs.interval, arcs.caller, arcs.callee):
        behind |= tied & (column[1:] < column[:-1])
        tied &= column[1:] == column[:-1]
    return np.lexsort((arcs.callee, arcs.caller, arcs.interval)) if behind.any() else None
