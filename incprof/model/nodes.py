"""What a node did, as its counters and its power tell: a row for each second, or at any other rate.

Nothing here reads files. Counters are rates per second, so that rows of different lengths say the same; what is there
at a moment (watts, bytes of memory) is as it was measured.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.model.arrays import FloatArray

WATTS = "W"


@dataclass(frozen=True)
class NodeSeries:
    """One node over time.

    node: its name. times (rows,): the end of each row, seconds since the epoch, ascending; a row is of the time since
    the row before it. names, units (columns): units are "1/s", "B/s", "W", "cpus", ... values (rows, columns): rates
    per second or gauges, NaN where nothing was measured. power: the column that is the node's power, or None.
    simulated: it comes from a formula, not from a sensor. notes: what readers had to do, in sentences. named: a source
    names the node; else `node` is the name of the file.
    """

    node: str
    times: FloatArray
    names: tuple[str, ...]
    units: tuple[str, ...]
    values: FloatArray
    power: str | None = None
    simulated: bool = False
    notes: tuple[str, ...] = ()
    named: bool = True

    def __post_init__(self) -> None:
        """Check the shapes.

        Raises: ValueError where they do not belong together, names repeat, or times do not ascend.
        """
        rows, columns = len(self.times), len(self.names)
        if self.times.shape != (rows,) or self.values.shape != (rows, columns) or len(self.units) != columns:
            raise ValueError(f"{self.values.shape} values of {rows} times, {columns} names, {len(self.units)} units")
        if len(set(self.names)) < columns:
            raise ValueError("two columns have one name")
        if self.power is not None and self.power not in self.names:
            raise ValueError(f"no column {self.power}")
        if not np.all(np.isfinite(self.times)) or np.any(np.diff(self.times) <= 0):
            raise ValueError("times do not ascend")

    def column(self, name: str) -> FloatArray:
        """The values of a column (rows,).

        Raises: ValueError where there is none of this name.
        """
        values: FloatArray = self.values[:, self.names.index(name)]
        return values

    @property
    def watts(self) -> FloatArray | None:
        """The node's power (rows,) in watts, or None."""
        return None if self.power is None else self.column(self.power)

    @property
    def counters(self) -> tuple[str, ...]:
        """The columns that are not power of anything."""
        return tuple(name for name, unit in zip(self.names, self.units, strict=True) if unit != WATTS)

    @property
    def period_s(self) -> float:
        """The usual distance of rows, seconds; 1 where there are fewer than two."""
        return float(np.median(np.diff(self.times))) if len(self.times) > 1 else 1.0
