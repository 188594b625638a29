"""Activity of a node, from its counters and its power: a row per second, or at any other rate.

Nothing here reads files. Counters are rates per second, so that rows of different lengths are comparable; gauges
(watts, bytes of memory) are as measured.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incprof.model.arrays import FloatArray

WATTS = "W"


@dataclass(frozen=True)
class NodeSeries:
    """One node over time.

    Attributes:
        node: name of the node, or of the file if `named` is False.
        times: (rows,) end of each row, seconds since the epoch, ascending; a row covers the time since the row before
            it.
        names: (columns,) names of the columns.
        units: (columns,) "1/s", "B/s", "W", "cpus", ...
        values: (rows, columns) rates per second or gauges, NaN where nothing was measured.
        power: the column of the node's power, or None.
        simulated: power was computed by a formula, not measured by a sensor.
        notes: what readers had to adjust, in sentences.
        named: a source names the node.
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

        Raises: ValueError if they do not match, names repeat, or times do not ascend.
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
        """Return the values of a column (rows,).

        Raises: ValueError if there is no column of this name.
        """
        values: FloatArray = self.values[:, self.names.index(name)]
        return values

    @property
    def watts(self) -> FloatArray | None:
        """The node's power (rows,) in watts, or None."""
        return None if self.power is None else self.column(self.power)

    @property
    def counters(self) -> tuple[str, ...]:
        """The columns that do not measure power."""
        return tuple(name for name, unit in zip(self.names, self.units, strict=True) if unit != WATTS)

    @property
    def period_s(self) -> float:
        """The typical distance of rows, seconds; 1 if there are fewer than two."""
        return float(np.median(np.diff(self.times))) if len(self.times) > 1 else 1.0
