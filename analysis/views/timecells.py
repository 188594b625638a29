"""Tables over time and phase, from which a page computes the sums of any part or phase of a run by itself.

A cell is the part of one bin of time in one phase. r cells, e entries, n intervals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from incprof.analysis.views.timebins import TimeBins
from incprof.model import FloatArray, IntArray, IntervalProfile


@dataclass(frozen=True)
class Cells:
    """Cells, in order of bin and phase.

    Attributes:
        bin: (r,) bin.
        label: (r,) phase.
        of_interval: (n,) the cell of each interval.
        step: number of time bins in one bin of the cells.
    """

    bin: IntArray
    label: IntArray
    of_interval: IntArray
    step: int


@dataclass(frozen=True)
class Entries:
    """The positive numbers of a table with a row for each cell, by cell, then column.

    Attributes:
        cell: (e,) row.
        column: (e,) column.
        value: (e,) number.
    """

    cell: IntArray
    column: IntArray
    value: IntArray

    @property
    def written_bytes(self) -> int:
        """Approximate size as text: columns as differences, each number with a comma."""
        digits = np.log10(np.maximum(self.value, 1)).astype(np.int64)
        return int(digits.sum()) + 5 * len(self.value)


def cut(bins: TimeBins, labels: IntArray, step: int = 1) -> Cells:
    """Return the cells of a run.

    Args:
        bins: time bins.
        labels: (n,) phase ids from 0, -1 for none.
        step: number of bins to merge into one.
    """
    span = int(labels.max(initial=-1)) + 2
    key, place = np.unique(bins.of_interval // step * span + labels + 1, return_inverse=True)
    return Cells(key // span, key % span - 1, place.astype(np.int64), step)


def entries(cells: Cells, interval: IntArray, column: IntArray, value: FloatArray) -> Entries:
    """Sum values by cell and column; those that round to zero are left out. All (s,)."""
    width = int(column.max(initial=0)) + 1
    key, place = np.unique(cells.of_interval[interval] * width + column, return_inverse=True)
    total = np.rint(np.bincount(place.ravel(), weights=value, minlength=len(key))).astype(np.int64)
    some = total > 0
    return Entries(key[some] // width, key[some] % width, total[some])


def calls_by_cell(profile: IntervalProfile, cells: Cells, functions: IntArray) -> Entries:
    """Return the calls of some functions, (m,) columns of the profile; the result's columns are indices into these."""
    table = csr_array(profile.calls)[:, functions].tocoo()
    row, column = table.row, table.col
    return entries(cells, row.astype(np.int64), column.astype(np.int64), table.data.astype(np.float64))
