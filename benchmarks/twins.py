"""Programs of `make realworld` built with and without -pg, each recorded on the same input: their phases and sites.

python -m benchmarks.twins [zstd|heat|muscle|sqlite|hmmer|lammps]...     # in folders of their own below the scratch one
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from incprof.model import FloatArray, IntArray
from incprof.readers import open_run, read_profile
from incprof.report.words.names import short

SCRIPT = Path(__file__).parent / "realworld" / "run.sh"
# Program: the runs that its script makes.
RUNS = {
    "zstd": ["zstd"], "heat": ["heat"], "muscle": ["muscle"], "sqlite": ["sqlite"],
    "hmmer": ["hmmer-build", "hmmer-search"], "lammps": ["lammps"],
}  # fmt: skip
# Points of a run's CPU time at which two recordings are compared.
MOMENTS = 2000
LONGEST_ORDER = 12


def scratch() -> Path:
    """Where programs are built, as the scripts have it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("INCPROF_SCRATCH") or cache / "incprof-realworld") / "twins"


@dataclass(frozen=True)
class Side:
    """A run: what `phases --json` says of it, and the CPU time of each interval, seconds, shape (n,)."""

    answer: dict[str, Any]
    cpu_s: FloatArray

    def phase_at_moments(self) -> IntArray:
        """The phase at equal distances in CPU time, shape (MOMENTS,); -1 where it is in none."""
        upto = np.cumsum(self.cpu_s)
        at = (np.arange(MOMENTS) + 0.5) / MOMENTS * upto[-1]
        labels: IntArray = np.array(self.answer["labels"], dtype=np.int64)
        found: IntArray = labels[np.minimum(np.searchsorted(upto, at), len(upto) - 1)]
        return found

    def order(self) -> str:
        """The phases in the order of the run, "0120": one behind the other for as often as another one begins."""
        labels = [str(label) for label in self.answer["labels"] if label >= 0]
        runs = "".join(label for i, label in enumerate(labels) if i == 0 or label != labels[i - 1])
        return runs if len(runs) <= LONGEST_ORDER else f"{runs[:LONGEST_ORDER]}..."


def place(pg: str) -> Path:
    """The folder of the builds with these flags."""
    return scratch() / ("counted" if pg else "uncounted")


def make(program: str, pg: str) -> None:
    """Build a program with these flags, and record it."""
    env = {**os.environ, "INCPROF_SCRATCH": str(place(pg)), "INCPROF_PG": pg, "INCPROF_NO_LOOP": "1"}
    place(pg).mkdir(parents=True, exist_ok=True)
    subprocess.run(["sh", SCRIPT, program], env=env, stdout=sys.stderr, check=True)


def side(run: str, pg: str) -> Side:
    """A run that has been recorded."""
    runs = place(pg) / "runs"
    profile = read_profile(open_run(runs / run))
    return Side(json.loads((runs / f"{run}.json").read_text()), profile.counters.cpu_s)


def agreement(one: Side, other: Side) -> float:
    """ARI of the phases at the same parts of both runs' CPU time; what is between phases is left out."""
    labels, others = one.phase_at_moments(), other.phase_at_moments()
    known = (labels >= 0) & (others >= 0)
    return float(adjusted_rand_score(labels[known], others[known]))


def sites(answer: dict[str, Any]) -> set[tuple[str, str]]:
    """Functions and kinds of all sites."""
    return {(site["function"], site["kind"]) for phase in answer["phases"] for site in phase["sites"]}


def main() -> int:
    """Print a Markdown table."""
    print("| run | ARI | phases with, without | CPU s with, without | sites of both | with alone | without alone |")
    print("|---" * 7 + "|", flush=True)
    for program in sys.argv[1:] or RUNS:
        make(program, "-pg")
        make(program, "")
        for run in RUNS[program]:
            both = [side(run, "-pg"), side(run, "")]
            known, found = (sites(each.answer) for each in both)
            parts = (known & found, known - found, found - known)
            texts = [", ".join(f"`{short(f)}` {kind}" for f, kind in sorted(part)) for part in parts]
            counts = ", ".join(each.order() for each in both)
            lengths = ", ".join(f"{each.cpu_s.sum():.1f}" for each in both)
            print(f"| {run} | {agreement(*both):.3f} | {counts} | {lengths} | {' | '.join(texts)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
