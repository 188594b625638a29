"""Phases as a table: one row per interval."""

from __future__ import annotations

from operator import itemgetter
from typing import TextIO

from incprof.analysis.phase_result import PhaseResult
from incprof.model.section import Column, Table
from incprof.report.render.csv import write_csv as write_table


def write_csv(result: PhaseResult, out: TextIO) -> None:
    """Write the columns interval, end_s, phase, cluster; phase -1 is a transition or unclassified."""
    ends = [f"{end:.6f}" for end in result.end_s.tolist()]
    rows = list(zip(range(len(ends)), ends, result.labels.tolist(), result.clusters.tolist(), strict=True))
    names = ("interval", "end_s", "phase", "cluster")
    columns = tuple(Column(None, itemgetter(place), key=name) for place, name in enumerate(names))
    write_table(Table(columns, rows), out)
