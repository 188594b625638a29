"""Dynamic time warping without a window: DTW sums |a - b| along the best alignment, DTW2 sums (a - b)^2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from incprof.analysis._native import ffi, native
from incprof.analysis.thread_pool import spread
from incprof.model import FloatArray, IntArray

# Kernels compute with finite numbers only: a distance from here on exceeds the limit.
FAR = 1e299
# Pairs per call: enough to keep a thread busy, few enough that threads end at about the same time.
CHUNK = 256


@dataclass(frozen=True)
class Pack:
    """Series of any lengths, back to back: series s is values[start[s] : start[s] + length[s]].

    Attributes:
        values: float64, all series.
        start: (n,) int64.
        length: (n,) int64.
    """

    values: FloatArray
    start: IntArray
    length: IntArray

    def __len__(self) -> int:
        """Return the number of series."""
        return len(self.start)

    def __getitem__(self, index: int) -> FloatArray:
        """Return one series, a view."""
        return self.values[int(self.start[index]) : int(self.start[index] + self.length[index])]

    def take(self, members: IntArray) -> Pack:
        """Return some of the series; their values are shared, not copied."""
        return Pack(self.values, self.start[members], self.length[members])


def pack(series: Sequence[FloatArray]) -> Pack:
    """Pack series, each of at least one finite value below 1e100."""
    length = np.array([len(one) for one in series], dtype=np.int64)
    start = np.concatenate([[0], np.cumsum(length)[:-1]]).astype(np.int64)
    values = np.concatenate([np.zeros(0), *series]).astype(np.float64)
    return Pack(values, start, length)


def slices(x: FloatArray, ranges: IntArray) -> Pack:
    """Pack ranges, shape (q, 2), of one series without copying it."""
    values = np.ascontiguousarray(x, dtype=np.float64)
    start = np.ascontiguousarray(ranges[:, 0], dtype=np.int64)
    return Pack(values, start, np.ascontiguousarray(ranges[:, 1] - start, dtype=np.int64))


def distances(
    packed: Pack, left: IntArray, right: IntArray, *, squared: bool = False, limit: float = np.inf,
    threads: int | None = None,
) -> FloatArray:  # fmt: skip
    """Return the distance of each pair of series; inf where computation stopped because it must exceed `limit`.

    left, right: (p,) indices. Some distances above the limit may be returned exactly.
    """
    if limit < FAR and len(left):
        near = np.flatnonzero(bounds(packed, left, right, squared=squared) <= limit)
        found = np.full(len(left), np.inf)
        found[near] = measured(packed, left[near], right[near], squared, limit, threads)
        return found
    return measured(packed, left, right, squared, limit, threads)


def measured(
    packed: Pack, left: IntArray, right: IntArray, squared: bool, limit: float, threads: int | None
) -> FloatArray:
    """Return the distance of each pair without computing its lower bound first; inf where it exceeds the limit."""
    left, right = (np.ascontiguousarray(side, dtype=np.int32) for side in (left, right))
    out = np.empty(len(left))

    def work(first: int) -> None:
        part = slice(first, first + CHUNK)
        status = native().incprof_dtw_pairs(
            *pointers(packed), len(packed), _ints(left[part]), _ints(right[part]), len(out[part]),
            min(limit, FAR), int(squared), doubles(out[part]),
        )  # fmt: skip
        if status:
            raise MemoryError("no memory for time warping")

    spread(work, range(0, len(out), CHUNK), threads)
    out[out >= FAR] = np.inf
    return out


def bounds(packed: Pack, left: IntArray, right: IntArray, *, squared: bool = False) -> FloatArray:
    """Return a lower bound of each pair's distance, in linear time: Kim's, and Yi's for inner points."""
    left, right = (np.ascontiguousarray(side, dtype=np.int32) for side in (left, right))
    out = np.empty(len(left))
    if native().incprof_dtw_bounds(
        *pointers(packed), len(packed), _ints(left), _ints(right), len(left), int(squared), doubles(out)
    ):
        raise MemoryError("no memory for bounds of time warping")
    return out


def matrix(packed: Pack, *, squared: bool = False, threads: int | None = None) -> FloatArray:
    """Return the distances of all pairs in scipy's condensed order, shape (n (n - 1) / 2,)."""
    left, right = np.triu_indices(len(packed), 1)
    return distances(packed, left, right, squared=squared, threads=threads)


def plain(a: FloatArray, b: FloatArray, *, squared: bool = False) -> float:
    """Return the distance of two series by definition, in Python."""
    row = np.full(len(b) + 1, np.inf)
    row[0] = 0
    for value in a:
        cost = (value - b) ** 2 if squared else np.abs(value - b)
        before, row = row, np.full(len(b) + 1, np.inf)
        for j, step in enumerate(cost):
            row[j + 1] = step + min(before[j], before[j + 1], row[j])
    return float(row[-1])


def pointers(packed: Pack) -> tuple[Any, Any, Any]:
    """Return C pointers to values, starts and lengths. The arrays must outlive the call."""
    return doubles(packed.values), _longs(packed.start), _longs(packed.length)


def doubles(array: FloatArray) -> Any:
    """Return a C pointer to a contiguous array of doubles."""
    return ffi.from_buffer("double[]", array)


def _longs(array: IntArray) -> Any:
    return ffi.from_buffer("int64_t[]", array)


def _ints(array: IntArray) -> Any:
    return ffi.from_buffer("int32_t[]", array)
