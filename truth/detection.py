"""python -m truth.detection: how small a change of one loop is found, by ticks in an interval and length of the visits.

Each cell is drawn anew many times: a loop with two to five steps of real programs whose shares shift, there and back
again, twice. A shift of nothing is a false alarm where more than one phase is found.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

from incprof.analysis.answer.find import find_phases  # noqa: E402
from truth.families_overlap import loop, shifted  # noqa: E402
from truth.play import play  # noqa: E402
from truth.scores.boundaries import boundary_f1  # noqa: E402
from truth.split import seed_of  # noqa: E402
from truth.story import Story, Stretch, edges_of, true_phases  # noqa: E402

SHIFTS = (0.0, 0.05, 0.10, 0.15, 0.20, 0.30, 0.50)
TICKS = (10, 25, 100, 400)
VISITS = (5, 10, 20, 50)
VISITS_IN_ALL = 4
# Of the changes, at most one may be missed or too many.
FOUND = 0.7


def found(shift: float, ticks: int, visit: int, number: int) -> bool:
    """Draw a run, and tell whether its changes are found (without a shift: whether any is)."""
    rng = np.random.default_rng(seed_of(f"detection/{shift}/{ticks}/{visit}", number))
    base = loop(rng, 0, period=float(rng.uniform(0.01, 0.1)), steps=int(rng.integers(2, 6)))
    parts = (base, shifted(rng, base, shift, 1)) if shift else (base, base)
    seconds = [visit + float(rng.uniform(0.0, 1.0)) for _ in range(VISITS_IN_ALL)]
    story = Story(parts, tuple(Stretch(j % 2, s) for j, s in enumerate(seconds)), rate_hz=float(ticks))
    story = replace(story, dispersion=float(rng.choice([0.0, 0.5])))
    edges = edges_of(story, rng)
    nothing = np.zeros(0, dtype=np.int64)
    profile = play(story, edges, rng).profile(story.interval_s, story.rate_hz, nothing, nothing, rng)
    result = find_phases(profile)
    return result.k > 1 if not shift else boundary_f1(true_phases(story, edges), result.labels) >= FOUND


def table(draws: int) -> str:
    """Return the part of the runs in which a shift was found, in percent."""
    head = [f"visits of {visit}" for visit in VISITS]
    rows = ["| shift | ticks in an interval | " + " | ".join(head) + " |", "|---|---|" + "---|" * len(VISITS)]
    for shift in SHIFTS:
        for ticks in TICKS:
            cells = [np.mean([found(shift, ticks, visit, i) for i in range(draws)]) for visit in VISITS]
            name = f"{100 * shift:.0f} %" if shift else "none: false alarms"
            rows.append(f"| {name} | {ticks} | " + " | ".join(f"{100 * cell:.0f} %" for cell in cells) + " |")
            if sys.stderr.isatty():
                print(rows[-1], file=sys.stderr)
    return "\n".join(rows) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m truth.detection", description=__doc__)
    parser.add_argument("--draws", type=int, default=100, help="runs in each cell (100)")
    args = parser.parse_args(arguments)
    sys.stdout.write(table(args.draws))
    return 0


if __name__ == "__main__":
    sys.exit(main())
