"""Collect the rows of one file's complete intervals: in order, with the time spent in beats, and filtered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appekg.busy import busy_ns, sort_keys
from appekg.growing import Growing
from appekg.model import INTERVAL, ROW

Rows = NDArray[np.void]


@dataclass(frozen=True)
class Window:
    """The selected part of a file.

    Attributes:
        since_ns: Select intervals that end later than this, since the start of the file's process.
        until_ns: Select intervals that start earlier than this.
        keep: Selects rows: rows (n,) to mask (n,).
    """

    since_ns: float
    until_ns: float
    keep: Callable[[Rows], NDArray[np.bool_]]


class Collector:
    """Collects the intervals of one file, a piece at a time."""

    def __init__(self, position: int, into: Growing, window: Window):
        self._position, self._into, self._window = position, into, window
        self._kept: list[Rows] = []
        self._kept_count = 0
        self._carried = np.zeros(0, dtype=ROW)  # rows of the last interval: the beats open then

    def intervals(self) -> Rows:
        """Return the selected intervals, dtype INTERVAL, shape (n,)."""
        return np.concatenate([np.zeros(0, dtype=INTERVAL), *self._kept])

    def drained(self) -> tuple[Rows, Rows]:
        """Return the selected rows and intervals, and drop them: for a growing file, whose next ones follow."""
        rows, intervals = self._into.rows(), self.intervals()
        self._into, self._kept, self._kept_count = Growing(), [], 0
        return rows, intervals

    def take(self, rows: Rows, counts: NDArray[np.int64], slots: NDArray[np.int64], intervals: Rows) -> set[int]:
        """Add intervals, unless two rows of one of them have the same thread and id.

        Args:
            rows: dtype ROW, shape (n,), interval after interval.
            counts: Number of rows of each interval, shape (m,).
            slots: Ascending numbers; consecutive for intervals without a gap between them, shape (m,).
            intervals: dtype INTERVAL, shape (m,).

        Returns:
            Indices in `counts` of the intervals with such rows. If there are any, nothing was added.
        """
        if not len(slots):
            return set()
        rows = np.concatenate([self._carried, rows])
        rows["interval"][len(self._carried) :] = np.repeat(slots, counts)
        keys, stride = sort_keys(rows["interval"], rows["thread"], rows["id"])
        if not (keys[1:] > keys[:-1]).all():
            order = np.argsort(keys, kind="stable")
            rows, keys = rows[order], keys[order]
            twice = rows["interval"][1:][keys[1:] == keys[:-1]]
            if twice.size:
                return set(np.searchsorted(slots, twice).tolist())
        # The carried rows lie before the first slot; their time is not needed again.
        carried = len(self._carried)
        length = intervals["end_ns"] - intervals["start_ns"]
        where = np.repeat(np.arange(len(slots)), counts)
        rows["busy_ns"][carried:] = busy_ns(rows, keys, stride, carried, length[where])
        self._carried = rows[rows["interval"] == slots[-1]]
        self._keep(rows[carried:], where, intervals)
        return set()

    def _keep(self, rows: Rows, where: NDArray[np.int64], intervals: Rows) -> None:
        """Add the rows that the window selects; `where` is the index of each one's interval, shape (n,)."""
        inside = (intervals["end_ns"] > self._window.since_ns) & (intervals["start_ns"] < self._window.until_ns)
        selected = inside[where] & self._window.keep(rows)
        rows["interval"] = (self._kept_count + np.cumsum(inside) - 1)[where]
        rows["process"] = self._position
        self._into.add(rows if selected.all() else rows[selected])
        self._kept.append(intervals[inside])
        self._kept_count += int(inside.sum())
