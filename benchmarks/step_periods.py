"""Programs without -pg whose steps last for a known time: the calls and the period that are said of them.

python -m benchmarks.step_periods [SECONDS]     # of each run; 20
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.bed import Bed

# What SHAPE is there, and the function that is called once in each step.
SHAPES = {"PARTS": "step", "UNEVEN": "step", "FLAT": "move", "ONE": "step"}
MILLISECONDS = (30, 60, 150, 600)
# The bar, for steps of three sample distances and more.
EXACT = 0.05


@dataclass(frozen=True)
class Said:
    """Of a function's calls. period_ms: of CPU time; None where nothing is said of it."""

    calls: int
    low: int
    high: float | None
    period_ms: float | None


def _incprof(*words: str | Path) -> str:
    command = [sys.executable, "-m", "incprof", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def said_of(run: Path, function: str) -> Said | None:
    """What is said of a step, wherever it is in the tree of steps; None where it is no step."""
    found = json.loads(_incprof("phases", run, "--json"))
    waiting: list[dict[str, Any]] = [step for phase in found["phases"] for step in phase["steps"]]
    while waiting:
        step = waiting.pop()
        if step["function"] == function:
            period = step["period_s"] and 1e3 * step["period_s"] * (step["cpu"] or 1.0)
            return Said(step["calls"], step["calls_low"], step["calls_high"], period)
        waiting += step["steps"]
    return None


def main() -> int:
    """Print a Markdown table."""
    seconds = sys.argv[1] if len(sys.argv) > 1 else "20"
    off: list[float] = []
    print("| steps | calls | said | ms, of CPU time | said |")
    print("|---" * 5 + "|", flush=True)
    for shape, function in SHAPES.items():
        for length in MILLISECONDS:
            with tempfile.TemporaryDirectory() as scratch:
                program = Bed(Path(scratch), 1).compile("time_steps.c", f"-DSHAPE={shape}", pg=False)
                run = Path(scratch) / "run"
                calls, true_ms = _incprof("record", "-o", run, "--", program, str(length), seconds).split()
                said = said_of(run, function)
            name = f"{shape.lower()}, {length} ms"
            if said is None or said.period_ms is None:
                print(f"| {name} | {calls} | | {true_ms} | none |", flush=True)
                continue
            off.append(abs(said.period_ms / float(true_ms) - 1))
            bounds = f"{said.calls} ({said.low} to {'any' if said.high is None else round(said.high)})"
            print(f"| {name} | {calls} | {bounds} | {true_ms} | {said.period_ms:.2f} |", flush=True)
    right = sum(each <= EXACT for each in off)
    print(f"\n{right} of {len(off)} periods within {100 * EXACT:.0f} %, {len(SHAPES) * len(MILLISECONDS)} runs; off by "
          f"{100 * statistics.median(off):.2f} % in the median, {100 * max(off):.2f} % at most")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
