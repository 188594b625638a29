"""A table to which rows are added."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from appekg.model import ROW


class Growing:
    """Rows in one array that is enlarged in place, so that they are never stored twice."""

    def __init__(self) -> None:
        self._rows = np.zeros(0, dtype=ROW)
        self.size = 0

    def add(self, rows: NDArray[np.void]) -> None:
        """Append rows, dtype ROW, shape (n,)."""
        size = self.size + len(rows)
        if size > len(self._rows):
            self._rows.resize(size + size // 2, refcheck=False)
        self._rows[self.size : size] = rows
        self.size = size

    def rows(self) -> NDArray[np.void]:
        """Return all rows, shape (size,). Adding more rows afterwards invalidates the returned array."""
        self._rows.resize(self.size, refcheck=False)
        return self._rows
