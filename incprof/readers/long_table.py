"""Tables that grow by chunks of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


class LongTable:
    """Columns of equal length. They grow in place, so that a long one never exists twice."""

    def __init__(self, *dtypes: npt.DTypeLike):
        self._dtypes = [np.dtype(dtype) for dtype in dtypes]
        # realloc moves the pages of large blocks instead of copying them.
        self._columns = [bytearray() for _ in dtypes]

    def append(self, columns: Sequence[npt.NDArray[Any]]) -> None:
        """Append rows, converting numbers to the column's type."""
        for column, dtype, values in zip(self._columns, self._dtypes, columns, strict=True):
            column += np.ascontiguousarray(values, dtype=dtype).data

    def columns(self) -> list[npt.NDArray[Any]]:
        """Return the columns themselves, writable. No rows can be added while one of them is in use."""
        return [np.frombuffer(column, dtype) for column, dtype in zip(self._columns, self._dtypes, strict=True)]
