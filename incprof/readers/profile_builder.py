"""Build an IntervalProfile from function numbers: only functions that occur, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array

from incprof.model import BROKEN, Arcs, Counters, IntArray, IntervalProfile, Metadata, PathTree, Samples
from incprof.symbols.function_space import FunctionSpace

# Calls per interval as a long table, summed a chunk of intervals at a time.


Int64Array = npt.NDArray[np.int64]
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

    def mark_functions(self, occurring: npt.NDArray[np.bool_]) -> None:
        """Set those elements of `occurring` whose index is the number of a caller or callee."""
        for chunk in self._chunks():
            occurring[chunk.caller] = occurring[chunk.callee] = True

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


def _order(arcs: Arcs) -> Int64Array | None:
    """Return the order that sorts distinct rows by (interval, caller, callee); None if they are in order."""
    is_descending = np.zeros(max(len(arcs.count) - 1, 0), dtype=bool)
    tied = np.ones_like(is_descending)
    for column in (arcs.interval, arcs.caller, arcs.callee):
        is_descending |= tied & (column[1:] < column[:-1])
        tied &= column[1:] == column[:-1]
    return np.lexsort((arcs.callee, arcs.caller, arcs.interval)) if is_descending.any() else None


FloatArray = npt.NDArray[np.float64]

NO_FLOATS: FloatArray = np.empty(0, dtype=np.float64)
NO_PATHS = PathTree(np.zeros(1, dtype=np.int64), np.full(1, -1, dtype=np.int32), np.zeros(1, dtype=np.int64))
NO_SAMPLES = Samples(NO_FLOATS, NO_NUMBERS, NO_NUMBERS, NO_NUMBERS, NO_NUMBERS, NO_NUMBERS)


@dataclass(frozen=True)
class SelfTime:
    """Seconds as a long table, all shape (x,); (interval, function) pairs may repeat."""

    interval: IntArray
    function: IntArray
    seconds: FloatArray


@dataclass
class Parts:
    """An IntervalProfile whose functions are numbers of a FunctionSpace, or negative if they stand for none.

    keep_arcs: the profile gets its call arcs, and not only the number of calls of each function.
    """

    metadata: Metadata
    start_s: FloatArray
    end_s: FloatArray
    counters: Counters
    self_time: list[SelfTime] = field(default_factory=list)
    calls: CallTable = field(default_factory=CallTable)
    keep_arcs: bool = True
    paths: PathTree = NO_PATHS
    samples: Samples = NO_SAMPLES
    warnings: list[str] = field(default_factory=list)
    damaged: bool = False


def build_profile(parts: Parts, space: FunctionSpace) -> IntervalProfile:
    """Number the functions that occur from 0, in order of (module id, address)."""
    used = space.in_order(_occurring(parts, space))
    # Negative numbers stay: as indices they count from the end.
    place = np.concatenate([np.zeros(space.size, dtype=np.int32), np.arange(BROKEN, 0, dtype=np.int32)])
    place[used] = np.arange(len(used))
    parts.calls.renumber(place)
    arcs = parts.calls.arcs()

    shape = (len(parts.end_s), len(used))
    interval = np.concatenate([NO_NUMBERS, *(t.interval for t in parts.self_time)])
    function = np.concatenate([NO_NUMBERS, *(t.function for t in parts.self_time)])
    seconds = np.concatenate([NO_FLOATS, *(t.seconds for t in parts.self_time)])
    return IntervalProfile(
        metadata=parts.metadata,
        start_s=parts.start_s,
        end_s=parts.end_s,
        functions=space.describe(used),
        self_s=_matrix(seconds, interval, place[function], shape),
        calls=_matrix(arcs.count, arcs.interval, arcs.callee, shape),
        arcs=arcs if parts.keep_arcs else NO_ARCS,
        paths=PathTree(parts.paths.parent, place[parts.paths.function], parts.paths.address),
        samples=parts.samples,
        counters=parts.counters,
        warnings=tuple(parts.warnings),
        damaged=parts.damaged,
    )


def _occurring(parts: Parts, space: FunctionSpace) -> NumberArray:
    """Return the function numbers that occur anywhere, ascending."""
    occurring = np.zeros(space.size - BROKEN, dtype=bool)
    for time in parts.self_time:
        occurring[time.function] = True
    parts.calls.mark_functions(occurring)
    occurring[parts.paths.function] = True
    return np.flatnonzero(occurring[: space.size]).astype(np.int32)


def _matrix(values: FloatArray | IntArray, row: IntArray, column: IntArray, shape: tuple[int, int]) -> csr_array:
    """Return sparse (n, f) sums of values; repeated entries are added up, zeros are not stored."""
    matrix = coo_array((values, (row, column)), shape=shape).tocsr()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


# Tables that grow by chunks of rows.


class LongTable:
    """Columns of equal length. They grow in place, so that a long one never exists twice."""

    def __init__(self, *dtypes: npt.DTypeLike):
        self._dtypes = [np.dtype(dtype) for dtype in dtypes]
        # realloc moves the pages of large blocks instead of copying them.
        self._columns = [bytearray() for _ in dtypes]

    def append(self, columns: Sequence[npt.NDArray[Any]]) -> None:
        """Append rows, converting numbers to the column's type."""
        for column, dtype, values in zip(self._columns, self._dtypes, columns, strict=True):
            column += np.ascontiguousarray(values, dtype=dtype).data

    def columns(self) -> list[npt.NDArray[Any]]:
        """Return the columns themselves, writable. No rows can be added while one of them is in use."""
        return [np.frombuffer(column, dtype) for column, dtype in zip(self._columns, self._dtypes, strict=True)]
