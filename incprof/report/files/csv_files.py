"""Tables as CSV and Parquet: phases, an interval profile, and pandas tables for other tools."""

from __future__ import annotations

import csv
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, BinaryIO, TextIO

import numpy as np

from incprof.analysis.phase_result import PhaseResult
from incprof.model import IntervalProfile
from incprof.model.section import Column, Table
from incprof.report.render.csv import Lines, cell, write_rows
from incprof.report.render.csv import write_csv as write_table

if TYPE_CHECKING:
    import pandas as pd
    from scipy.sparse import csr_array


def write_phases_csv(result: PhaseResult, out: TextIO) -> None:
    """Write the columns interval, end_s, phase, cluster; phase -1 is a transition or unclassified."""
    ends = [f"{end:.6f}" for end in result.end_s.tolist()]
    rows = list(zip(range(len(ends)), ends, result.labels.tolist(), result.clusters.tolist(), strict=True))
    names = ("interval", "end_s", "phase", "cluster")
    columns = tuple(Column(None, itemgetter(place), key=name) for place, name in enumerate(names))
    write_table(Table(columns, rows), out)


# An interval profile as a long table: a row per function and interval.


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


# pandas tables as files for other tools: CSV and Parquet.


def write_csv(rows: pd.DataFrame, out: TextIO) -> None:
    """Write the rows below a header line; missing values are empty."""
    write_rows(rows.round(9), out)


def write_parquet(rows: pd.DataFrame, out: BinaryIO) -> None:
    """Write the rows as a Parquet file.

    Raises:
        ModuleNotFoundError: pyarrow is not installed.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.Schema.from_pandas(rows, preserve_index=False)
    for place, field in enumerate(schema):
        # A column without a single value would have no type.
        if pa.types.is_null(field.type):
            schema = schema.set(place, pa.field(field.name, pa.string()))
    pq.write_table(pa.Table.from_pandas(rows, schema=schema, preserve_index=False), out)
