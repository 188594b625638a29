"""Time shared by a run's processes: their wall time, and a grid that aligns their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Span:
    """Recorded time of a process.

    Attributes:
        rank: Its rank.
        start_s: Its start, in seconds since the start of the run.
        begin_s: Start of each interval since the process's start, ascending, shape (n,).
        end_s: End of each interval, shape (n,).
    """

    rank: int
    start_s: float
    begin_s: FloatArray
    end_s: FloatArray


class Grid:
    """Cells of time that the intervals of all processes are assigned to.

    With one process, the cells are its intervals. Several processes start at different times, so each is moved to the
    nearest multiple of the interval, and each of its intervals is assigned to the cell of its middle. Cells without an
    interval of any process are left out.

    Attributes:
        end_s: End of each cell in seconds since the start of the run, ascending, shape (m,).
        cell_wall_s: Sum over the ranks of the recorded time in each cell, shape (m,).
        wall_s: Sum over the ranks of the recorded time; processes of a rank at the same time count once.
        ranks: Number of ranks.
        rank_index: For each process, the index of its rank among the ranks, shape (p,).
    """

    def __init__(self, spans: Sequence[Span], step_s: float):
        ranks, self.rank_index = np.unique(np.array([s.rank for s in spans], dtype=np.int64), return_inverse=True)
        self.ranks = len(ranks)
        self._first = np.cumsum([0] + [len(s.end_s) for s in spans])
        self._length_s = np.concatenate([np.zeros(0), *(s.end_s - s.begin_s for s in spans)])
        self._last = np.diff(self._first) - 1
        if len(spans) == 1:
            numbers = np.arange(len(spans[0].end_s))
            self.end_s: FloatArray = spans[0].start_s + spans[0].end_s
        else:
            numbers = np.concatenate([np.zeros(0), *(_numbers(span, step_s) for span in spans)])
            self.end_s = ((np.unique(numbers) + 1) * step_s).astype(np.float64)
        self._cells = np.unique(numbers, return_inverse=True)[1]
        self.cell_wall_s = np.zeros(len(self.end_s))
        for rank in range(self.ranks):
            mine = np.flatnonzero(self.rank_index == rank).tolist()
            at = np.concatenate([np.arange(self._first[p], self._first[p + 1]) for p in mine])
            begin = np.concatenate([spans[p].start_s + spans[p].begin_s for p in mine])
            end = np.concatenate([spans[p].start_s + spans[p].end_s for p in mine])
            np.add.at(self.cell_wall_s, self._cells[at], _new_time(begin, end))
        self.wall_s = float(self.cell_wall_s.sum())

    def cell(self, rows: NDArray[np.void]) -> IntArray:
        """Return the cell of each row, from its `process` and `interval`, shape (n,)."""
        cells: IntArray = self._cells[self._first[rows["process"]] + rows["interval"]]
        return cells

    def length_s(self, rows: NDArray[np.void]) -> FloatArray:
        """Return the length of the interval of each row, shape (n,)."""
        length: FloatArray = self._length_s[self._first[rows["process"]] + rows["interval"]]
        return length

    def is_last(self, rows: NDArray[np.void]) -> NDArray[np.bool_]:
        """Return which rows are of the last interval of their process, shape (n,)."""
        last: NDArray[np.bool_] = rows["interval"] == self._last[rows["process"]]
        return last


def _numbers(span: Span, step_s: float) -> FloatArray:
    """Return the number of each interval's cell, shape (n,)."""
    middle = (span.begin_s + span.end_s) / 2
    numbers: FloatArray = np.round(span.start_s / step_s) + np.floor(middle / step_s)
    return numbers


def _new_time(begin: FloatArray, end: FloatArray) -> FloatArray:
    """Return the part of each interval that no earlier interval covers, shape (n,)."""
    order = np.argsort(begin, kind="stable")
    reached = np.concatenate([[-np.inf], np.maximum.accumulate(end[order])])[: len(end)]
    new = np.empty(len(end))
    new[order] = np.maximum(end[order] - np.maximum(begin[order], reached), 0)
    return new
