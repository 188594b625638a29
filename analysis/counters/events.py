"""Events by the names that `incprof sample` and perf give them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incprof.model import BoolArray, FloatArray
from incprof.model.series import canonical, event_of

# Counted since the row before.
COUNTED = {
    "instructions", "cycles", "ref-cycles", "cache-misses", "cache-references", "branches", "branch-misses",
    "context-switches", "page-faults", "minor-faults", "major-faults", "cpu-migrations", "task-clock", "read-bytes",
    "write-bytes", "disk-read-bytes", "disk-write-bytes", "net-rx-bytes", "net-tx-bytes", "net-lo-bytes",
    "llc-load-misses",
}  # fmt: skip
# Averages.
LEVELS = {"cpu", "user", "system", "iowait", "active-cpus", "running-threads", "run-queue", "rss-bytes", "ipc"}
# Both run at a fixed rate while the processor works.
ALIKE = {"bus-cycles": "ref-cycles"}


def plain(name: str) -> str:
    """Return the canonical name of an event, without kind of core and mode."""
    word = canonical(name) or event_of(name).lower()
    return ALIKE.get(word, word)


@dataclass(frozen=True)
class Events:
    """Columns of counters in some rows.

    Attributes:
        names: (m) names of the columns.
        values: (r, m), NaN: not counted.
        row_s: (r,) lengths of the rows, seconds.
    """

    names: Sequence[str]
    values: FloatArray
    row_s: FloatArray

    @property
    def wall_s(self) -> float:
        """Time of all rows, seconds."""
        return float(self.row_s.sum())

    @property
    def unknown(self) -> tuple[str, ...]:
        """Columns that no figure uses."""
        return tuple(name for name in self.names if plain(name) not in COUNTED | LEVELS | {"ipc-ref"})

    def within(self, rows: BoolArray) -> Events:
        """Return the events of some rows, (r,)."""
        return Events(self.names, self.values[rows], self.row_s[rows])

    def column(self, name: str) -> FloatArray | None:
        """Return an event, (r,), summed over all kinds of cores; None if it is missing."""
        mine = [at for at, each in enumerate(self.names) if plain(each) == name]
        if not mine:
            return None
        found = self.values[:, mine]
        # A thread that runs on one kind of core is not counted on the other.
        return np.where(np.isnan(found).all(axis=1), np.nan, np.nansum(found, axis=1))

    def ratio(self, above: str, below: str) -> float | None:
        """Return the sum of one event over that of another, in the rows that have both; None if there are none."""
        one, other = self.column(above), self.column(below)
        if one is None or other is None:
            return None
        both = np.isfinite(one) & np.isfinite(other)
        whole = float(other[both].sum())
        return float(one[both].sum()) / whole if whole > 0 else None

    def per_second(self, name: str) -> float | None:
        """Return the count per second; None if not available."""
        found = self.column(name)
        return None if found is None else self._mean(found, self.row_s * 0 + 1)

    def mean(self, name: str) -> float | None:
        """Return the mean over time of a level or a share; None if not available."""
        found = self.column(name)
        return None if found is None else self._mean(found, self.row_s)

    def _mean(self, values: FloatArray, weight: FloatArray) -> float | None:
        """Return the sum of weighted values over the time in which there are some."""
        known = np.isfinite(values)
        time = float(self.row_s[known].sum())
        return float((values * weight)[known].sum()) / time if time > 0 else None
