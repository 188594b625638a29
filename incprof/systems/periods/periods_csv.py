"""Patterns as CSV: a row for each point of each pattern."""

from __future__ import annotations

import csv
from typing import TextIO

from incprof.systems.periods.patterns.pattern_result import Patterns


def write_csv(found: Patterns, out: TextIO) -> None:
    """Write pattern, point and value, in full precision."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("pattern", "point", "value"))
    for number, pattern in enumerate(found.patterns):
        for point, value in enumerate(pattern.values.tolist()):
            writer.writerow((number, point, repr(value)))
