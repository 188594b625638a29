"""Phases as a table: one row per interval."""

from __future__ import annotations

import csv
from typing import TextIO

from incprof.analysis.phases.results import PhaseResult


def write_csv(result: PhaseResult, out: TextIO) -> None:
    """Write the columns interval, end_s, phase, cluster; phase -1 is a transition or unclassified."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["interval", "end_s", "phase", "cluster"])
    rows = zip(result.end_s.tolist(), result.labels.tolist(), result.clusters.tolist(), strict=True)
    writer.writerows([i, f"{end:.6f}", label, cluster] for i, (end, label, cluster) in enumerate(rows))
