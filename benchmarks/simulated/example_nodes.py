"""Write the generated files of the examples in docs/use/dna.md: `python -m benchmarks.simulated.example_nodes DIR`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from incprof.model.series import NodeSeries
from truth.nodes.cases import known_program

# Case numbers of the generated programs, on two machines each.
PROGRAMS = {"mesh": 3, "sort": 5}
RUNS, BEGINNING = 4, 0.25


def write(series: NodeSeries, path: Path) -> None:
    """Write rows as CSV, marked as generated."""
    lines = ["# simulated: watts of each count", ",".join(["timestamp", *series.names[:-1], "power_watts"])]
    for time, row in zip(series.times.tolist(), series.values.tolist(), strict=True):
        lines.append(",".join([f"{time:.0f}", *(f"{value:.10g}" for value in row)]))
    path.write_text("\n".join(lines) + "\n")


def main() -> None:
    """Write known runs of two programs, and the beginning of a run on another machine."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, number in PROGRAMS.items():
        known = known_program(number, other_machine=True)
        for at, run in enumerate(known.runs[:RUNS]):
            write(run.series, folder / f"{name}-{at}.csv")
        rows = int(known.begins_s + BEGINNING * (known.ends_s - known.begins_s))
        series = known.run.series
        write(replace(series, times=series.times[:rows], values=series.values[:rows]), folder / f"{name}-elsewhere.csv")


if __name__ == "__main__":
    main()
