"""Time and memory for finding the phases of a very long run."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from benchmarks.bed import Bed
from benchmarks.measure import Result, run
from incprof.analysis.answer import find_phases
from tests.unit.synthetic import make_profile

HERE = Path(__file__).resolve().parent
INTERVALS, FUNCTIONS, PHASES, VISITS, TICKS = 100_000, 1_000, 6, 200, 95
# Functions that dominate a phase, and single ticks of any function.
LARGE, STRAY = 60, 5
SECONDS, MB = 20, 1_500


def benchmarks(bed: Bed) -> Iterable[tuple[str, Callable[[], Result | list[Result]]]]:
    """Yield name and measurement of each benchmark."""
    yield "long-run", lambda: _long_run(bed)


def _long_run(bed: Bed) -> list[Result]:
    """Measure CPU time and memory of a process that draws a run, and of one that also finds its phases."""
    drawn, found = ([sys.executable, "-m", "benchmarks.long_runs", word] for word in ("draw", "find"))
    pairs = [(run(drawn, HERE.parent), run(found, HERE.parent)) for _ in range(min(bed.pairs, 5))]
    taken = sorted(ours.cpu_s - bare.cpu_s for bare, ours in pairs)
    peak = statistics.median(ours.peak_mb for _, ours in pairs)
    what = f"phases of {INTERVALS} intervals x {FUNCTIONS} functions, {VISITS} visits of {PHASES} phases"
    spread = f"{statistics.median(taken):.1f} s ({taken[0]:.1f}-{taken[-1]:.1f}, {len(taken)} pairs)"
    right = {ours.output.strip() for _, ours in pairs} == {str(PHASES)}
    return [
        Result(f"{what}: CPU time", f"under {SECONDS} s", spread, statistics.median(taken) < SECONDS),
        Result("its memory, the run itself included", f"under {MB} MB", f"{peak:.0f} MB", peak < MB),
        Result("its phases", str(PHASES), pairs[0][1].output.strip(), right),
    ]


def _draw() -> csr_array:
    """Return ticks (n, f) of phases with functions of their own and shared ones."""
    rng = np.random.default_rng(0)
    mix, columns = rng.dirichlet(np.full(LARGE, 0.3), size=PHASES), rng.permutation(FUNCTIONS)
    label = np.repeat(np.arange(VISITS) % PHASES, INTERVALS // VISITS)
    rows, column, ticks = [], [], []
    for phase in range(PHASES):
        mine = np.flatnonzero(label == phase)
        taken = rng.multinomial(TICKS, mix[phase], size=len(mine))
        row, place = np.nonzero(taken)
        rows.append(mine[row])
        column.append(columns[place + phase * LARGE // 3])
        ticks.append(taken[row, place])
    rows.append(np.repeat(np.arange(INTERVALS), STRAY))
    column.append(rng.integers(0, FUNCTIONS, INTERVALS * STRAY))
    ticks.append(np.ones(INTERVALS * STRAY, dtype=np.int64))
    place = np.concatenate(rows), np.concatenate(column)
    return csr_array((np.concatenate(ticks) / 100, place), shape=(INTERVALS, FUNCTIONS))


if __name__ == "__main__":
    profile = make_profile(_draw())
    if sys.argv[1] == "find":
        print(find_phases(profile).k)
