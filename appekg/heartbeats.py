"""The heartbeats of a run, as stored in its files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from appekg.model import Beat, Process
from appekg.table import columns, tables

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Heartbeats:
    """A run's heartbeats.

    Attributes:
        directory: The run directory (or the file) that was read.
        processes: By rank; the processes of a rank by the length of the file's name, then by name, so that its first
            one comes first.
        rows: dtype ROW, shape (n,), by process, interval, thread, id.
        beats: By id; an id that has rows has an entry.
        damaged: Whether a part of the input was dropped.
        warnings: Dropped parts and remarks, a line each.
    """

    directory: Path
    processes: tuple[Process, ...]
    rows: NDArray[np.void]
    beats: dict[int, Beat] = field(default_factory=dict)
    damaged: bool = False
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return one line; all fields would fill pages."""
        about = f"{len(self.beats)} heartbeats, {len(self.processes)} processes, {len(self.rows)} rows"
        return f"<Heartbeats: {about}, in {str(self.directory)!r}>"

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a table, shape (n, 19), in the same order.

        Columns: `rank`, `process` (index in `processes`), `interval` (its number in the file), `start_s` and `end_s` of
        the interval (since the earliest start of a process), `thread`, `id`, `name` (missing without one), `count`,
        `pulses`, `sum_s`, `mean_s`, `min_s`, `max_s`, `std_s` (those four NaN where `count` is 0), `open`, `open_s`,
        `executions`, `busy_s`.

        Raises:
            ModuleNotFoundError: pandas is not installed.
        """
        import pandas as pd

        return pd.DataFrame(columns(self.rows, self.processes, self.beats))

    def tables(self) -> dict[str, dict[str, NDArray[Any]]]:
        """Return everything as tables that refer to each other: processes, beats, intervals, rows.

        Rows and intervals have `process`, the index in `processes`, and `interval`, its number in the file.
        """
        return tables(self.rows, self.processes, self.beats)
