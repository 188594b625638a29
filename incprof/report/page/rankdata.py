"""The ranks, as input of a page's scripts, in a compact form: there may be thousands of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from incprof.analysis.views.page_parts import RankMap, RankRow
from incprof.model import IntArray
from incprof.report.page.numbers import numbers
from incprof.report.words.ranks import ranges, spans


def ranks_data(found: RankMap) -> dict[str, Any]:
    """Return the groups of similar ranks, and a row for each rank of a group, or for a few of them."""
    return {
        "start": numbers(found.start_s, 4),
        "end": numbers(found.end_s, 4),
        "reference": found.reference,
        "unread": list(found.unread),
        "number": len(found.found.ranks),
        "groups": [
            {
                "typical": group.typical,
                "row": _row(group.row, found.agreement),
                "rows": [_row(row, found.agreement) for row in group.rows] if len(group.row.ranks) > 1 else [],
            }
            for group in found.groups
        ],
    }


def _row(row: RankRow, agreement: Mapping[int, float | None]) -> dict[str, Any]:
    """Return a row: its phases, and its CPU use in percent, as runs of bins."""
    known = [value for rank in row.ranks if (value := agreement[rank]) is not None]
    return {
        "rank": row.ranks[0],
        "name": ranges(row.ranks, 4),
        "ranks": spans(row.ranks),
        "number": len(row.ranks),
        "label": _runs(row.label),
        "busy": _runs(np.rint(100 * row.busy).astype(np.int64)),
        "agreement": round(sum(known) / len(known), 4) if known else None,
        "cpu_s": round(row.cpu_s, 3),
        "off_cpu_s": round(row.off_cpu_s, 3),
        "mpi_s": round(row.mpi_s, 3),
        "wall_s": round(row.wall_s, 3),
        **({"damaged": True} if row.damaged else {}),
    }


def _runs(values: IntArray) -> list[int]:
    """Return values, (b,), as pairs of value and run length; or 0, 0 and all values, if that is shorter."""
    first = np.flatnonzero(np.diff(values, prepend=values[:1] - 1))
    if 2 * len(first) > len(values):
        return [0, 0, *values.tolist()]
    length = np.diff(np.append(first, len(values)))
    return np.stack([values[first], length], axis=1).ravel().tolist()
