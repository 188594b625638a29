"""From function numbers to an IntervalProfile: only functions that occur, in order."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array

from incprof.model import Arcs, Counters, IntervalProfile, Metadata, PathTree, Samples
from incprof.readers.functionspace import FunctionSpace

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

NO_INTS: IntArray = np.empty(0, dtype=np.int64)
NO_FLOATS: FloatArray = np.empty(0, dtype=np.float64)
NO_PATHS = PathTree(np.zeros(1, dtype=np.int64), np.full(1, -1, dtype=np.int64), np.zeros(1, dtype=np.int64))
NO_SAMPLES = Samples(NO_FLOATS, NO_INTS, NO_INTS, NO_INTS, NO_INTS, NO_INTS)


@dataclass(frozen=True)
class SelfTime:
    """Seconds as a long table, all shape (x,); (interval, function) pairs may repeat."""

    interval: IntArray
    function: IntArray
    seconds: FloatArray


@dataclass
class Parts:
    """An IntervalProfile whose functions are numbers of a FunctionSpace, or negative where they stand for none."""

    metadata: Metadata
    start_s: FloatArray
    end_s: FloatArray
    counters: Counters
    self_time: list[SelfTime] = field(default_factory=list)
    arcs: Arcs = field(default_factory=lambda: Arcs(NO_INTS, NO_INTS, NO_INTS, NO_INTS))
    paths: PathTree = NO_PATHS
    samples: Samples = NO_SAMPLES
    warnings: list[str] = field(default_factory=list)
    damaged: bool = False


def build_profile(parts: Parts, space: FunctionSpace) -> IntervalProfile:
    """Number the functions that occur from 0, in order of (module id, address)."""
    function = np.concatenate([NO_INTS, *(t.function for t in parts.self_time)])
    occurring = np.concatenate([function, parts.arcs.caller, parts.arcs.callee, parts.paths.function])
    used = np.unique(occurring[occurring >= 0])

    def compact(numbers: IntArray) -> IntArray:
        return np.where(numbers >= 0, np.searchsorted(used, numbers), numbers).astype(np.int64)

    shape = (len(parts.end_s), len(used))
    interval = np.concatenate([NO_INTS, *(t.interval for t in parts.self_time)])
    seconds = np.concatenate([NO_FLOATS, *(t.seconds for t in parts.self_time)])
    arcs = _summed(parts.arcs, compact(parts.arcs.caller), compact(parts.arcs.callee), len(used))
    return IntervalProfile(
        metadata=parts.metadata,
        start_s=parts.start_s,
        end_s=parts.end_s,
        functions=space.describe(used),
        self_s=_matrix(seconds, interval, compact(function), shape),
        calls=_matrix(arcs.count, arcs.interval, arcs.callee, shape),
        arcs=arcs,
        paths=PathTree(parts.paths.parent, compact(parts.paths.function), parts.paths.address),
        samples=parts.samples,
        counters=parts.counters,
        warnings=tuple(parts.warnings),
        damaged=parts.damaged,
    )


def _summed(arcs: Arcs, caller: IntArray, callee: IntArray, functions: int) -> Arcs:
    """One row per (interval, caller, callee), in that order: call sites of the same caller are added up."""
    width = functions + 1
    key = (arcs.interval * width + caller + 1) * width + callee
    distinct, where = np.unique(key, return_inverse=True)
    count = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(count, where, arcs.count)
    outer = distinct // width
    keep = count > 0
    columns = (outer // width, outer % width - 1, distinct % width, count)
    return Arcs(*(column[keep] for column in columns))


def _matrix(values: FloatArray | IntArray, row: IntArray, column: IntArray, shape: tuple[int, int]) -> csr_array:
    """Sparse (n, f) sums of values; entries that repeat are added up, zeros are not stored."""
    matrix = coo_array((values, (row, column)), shape=shape).tocsr()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix
