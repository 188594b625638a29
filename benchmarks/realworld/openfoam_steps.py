"""The time steps of an OpenFOAM solver, as its log tells them, beside the periods that were found in samples of it.

usage: solver | python openfoam_steps.py stamp > STEPS
       python openfoam_steps.py compare STEPS SERIES.csv PERIODS.json

`stamp` prints the seconds from the solver's first line to each time step's. `compare` prints, for each pattern, its
length beside that of the steps in its regions.
"""

from __future__ import annotations

import json
import sys
import time
from bisect import bisect_right
from itertools import pairwise
from statistics import median


def stamp() -> None:
    start = None
    for line in sys.stdin:
        now = time.monotonic()
        start = now if start is None else start
        if line.startswith("Time = "):
            print(f"{now - start:.6f}", flush=True)


def compare(steps_file: str, series_file: str, periods_file: str) -> None:
    with open(steps_file, encoding="utf-8") as log:
        steps = [float(line) for line in log]
    with open(series_file, encoding="utf-8") as series:
        rows = [line for line in series if not line.startswith("#")]
    time_s = [float(row.split(",", 1)[0]) for row in rows[1:]]
    with open(periods_file, encoding="utf-8") as answer:
        patterns = json.load(answer)["patterns"]
    usual = median(after - before for before, after in pairwise(steps))
    print(f"{len(steps)} time steps of {1000 * usual:.0f} ms (median), {len(patterns)} patterns")
    for pattern in patterns:
        regions = [(time_s[first], time_s[min(end, len(time_s) - 1)]) for first, end in pattern["regions"]]
        seconds = sum(end - first for first, end in regions)
        count = sum(step_at(steps, end) - step_at(steps, first) for first, end in regions)
        instances = len(pattern["instances"])
        print(
            f"pattern of {1000 * seconds / instances:.0f} ms: {instances} instances in {100 * seconds / time_s[-1]:.0f}"
            f" % of the run, {count:.1f} time steps there: {count / instances:.3f} in an instance"
        )


def step_at(steps: list[float], at: float) -> float:
    """Return the number of steps passed at some time, including the fraction of the current one."""
    number = bisect_right(steps, at)
    if number in (0, len(steps)):
        return float(number)
    return number + (at - steps[number - 1]) / (steps[number] - steps[number - 1])


if __name__ == "__main__":
    if sys.argv[1:] == ["stamp"]:
        stamp()
    elif len(sys.argv) == 5 and sys.argv[1] == "compare":
        compare(*sys.argv[2:])
    else:
        sys.exit(__doc__)
