"""Array types, and replacements for slow numpy functions."""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
# Of any width: long tables from files use 8 or 32 bits a number where that suffices. Widen before multiplying.
IntArray = npt.NDArray[np.signedinteger[Any]]
Number = TypeVar("Number", bound=np.number[Any])


# Integers whose range is at most this many times their count are counted instead of sorted.
DENSE = 8


def numbered(values: IntArray) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the distinct values of an array, shape (n,), from 0 on, ascending; and each element's index in them, (n,).

    Equivalent to `np.unique`, but does not sort if the largest value is not much larger than the number of elements.
    """
    top = int(values.max(initial=-1)) + 1
    if top > DENSE * len(values) + 2**16 or int(values.min(initial=0)) < 0:
        distinct, place = np.unique(values, return_inverse=True)
        return distinct.astype(np.int64), place.ravel()
    present = np.zeros(top, dtype=np.bool_)
    present[values] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[values]


def distinct(values: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Return the distinct values of an array of any shape, ascending, as `np.unique` does.

    numpy 2.3 and later hash the values first, which takes 150 times as long if most of them differ.
    """
    ordered = np.sort(values, axis=None)
    first = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def by_first_appearance(labels: IntArray) -> npt.NDArray[np.int64]:
    """Renumber labels from 0 in order of their first appearance, same shape; -1 stays."""
    values, first, place = np.unique(labels, return_index=True, return_inverse=True)
    number = np.full(len(values), -1, dtype=np.int64)
    assigned = np.flatnonzero(values >= 0)
    number[assigned[np.argsort(first[assigned])]] = np.arange(len(assigned))
    return number[place.ravel()]


def positions(counts: IntArray) -> IntArray:
    """Return 0, 1, ... below each of several counts, one after the other, (sum of the counts,)."""
    starts = np.cumsum(counts) - counts
    return np.arange(int(counts.sum())) - np.repeat(starts, counts)
