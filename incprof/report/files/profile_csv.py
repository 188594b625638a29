"""An interval profile as a long table: a row per function and interval."""

from __future__ import annotations

import csv
from itertools import pairwise
from typing import TYPE_CHECKING, TextIO

import numpy as np

from incprof.model import IntervalProfile
from incprof.report.files.csv_cells import Lines, cell

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def write_profile_csv(profile: IntervalProfile, out: TextIO) -> None:
    """Write the rows of IntervalProfile.to_pandas without building it, except those in which both numbers are 0."""
    writer = csv.writer(Lines(out))
    writer.writerow(["interval", "start_s", "end_s", "function", "module", "self_s", "calls"])
    times = profile.start_s.tolist(), profile.end_s.tolist()
    for interval, (start, end, own, calls) in enumerate(
        zip(*times, _rows(profile.self_s), _rows(profile.calls), strict=True)
    ):
        for index in sorted(own.keys() | calls.keys()):
            function = profile.functions[index]
            numbers = f"{own.get(index, 0.0):.6f}", int(calls.get(index, 0))
            names = cell(function.name), cell(function.module)
            writer.writerow([interval, f"{start:.6f}", f"{end:.6f}", *names, *numbers])


def _rows(matrix: csr_array) -> list[dict[int, float]]:
    """Return the non-zero entries of each row."""
    ends = np.asarray(matrix.indptr).tolist()
    columns, values = matrix.indices.tolist(), matrix.data.tolist()
    rows = [zip(columns[a:b], values[a:b], strict=True) for a, b in pairwise(ends)]
    return [{column: value for column, value in row if value} for row in rows]
