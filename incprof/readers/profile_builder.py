"""Build an IntervalProfile from function numbers: only functions that occur, in order."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array

from incprof.model import BROKEN, Counters, IntArray, IntervalProfile, Metadata, PathTree, Samples
from incprof.readers.call_table import NO_ARCS, NO_NUMBERS, CallTable, NumberArray
from incprof.symbols.function_space import FunctionSpace

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
    seen = np.zeros(space.size - BROKEN, dtype=bool)
    for time in parts.self_time:
        seen[time.function] = True
    parts.calls.mark_functions(seen)
    seen[parts.paths.function] = True
    return np.flatnonzero(seen[: space.size]).astype(np.int32)


def _matrix(values: FloatArray | IntArray, row: IntArray, column: IntArray, shape: tuple[int, int]) -> csr_array:
    """Return sparse (n, f) sums of values; repeated entries are added up, zeros are not stored."""
    matrix = coo_array((values, (row, column)), shape=shape).tocsr()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix
