"""Programs of `make realworld` built with and without -pg, recorded at once with the same input: phases and sites.

python -m benchmarks.twins [--recorded] [zstd|heat|muscle|sqlite|hmmer|lammps]...

In folders of their own below the scratch one; --recorded: as they were recorded before.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score, pairwise_distances_argmin

from incprof.model import FloatArray, IntArray, IntervalProfile, pooled
from incprof.names import parse
from incprof.readers import open_run, read_profile
from incprof.report.words.names import short
from truth.answers import METHODS
from truth.evaluate import evaluate
from truth.realworld import all_real
from truth.scores.sites import NOTHING, Matches, SiteScores

SCRIPT = Path(__file__).parent / "realworld" / "run.sh"
# Program: the runs that its script makes.
RUNS = {
    "zstd": ["zstd"], "heat": ["heat"], "muscle": ["muscle"], "sqlite": ["sqlite"],
    "hmmer": ["hmmer-build", "hmmer-search"], "lammps": ["lammps"],
}  # fmt: skip
# Points of a run's CPU time at which two recordings are compared.
MOMENTS = 2000
# What programs are built with.
BOTH = ("-pg", "")
LONGEST_ORDER = 12


def scratch() -> Path:
    """Where programs are built, as the scripts have it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("INCPROF_SCRATCH") or cache / "incprof-realworld") / "twins"


@dataclass(frozen=True)
class Side:
    """A run: what `phases --json` says of it, and its profile, in the same intervals."""

    answer: dict[str, Any]
    profile: IntervalProfile

    @property
    def labels(self) -> IntArray:
        """The phase of each interval, shape (n,); -1 where it is in none."""
        return np.array(self.answer["labels"], dtype=np.int64)

    def phase_at_moments(self) -> IntArray:
        """The phase at equal distances in CPU time, shape (MOMENTS,); -1 where it is in none."""
        upto = np.cumsum(self.profile.counters.cpu_s)
        at = (np.arange(MOMENTS) + 0.5) / MOMENTS * upto[-1]
        found: IntArray = self.labels[np.minimum(np.searchsorted(upto, at), len(upto) - 1)]
        return found

    def shares(self, names: list[str]) -> FloatArray:
        """The part of each interval's self time that functions of these names have, shape (n, f)."""
        column = {name: place for place, name in enumerate(names)}
        seconds = self.profile.self_s.toarray()
        out = np.zeros((len(seconds), len(names)))
        for name, own in zip(self.names(), seconds.T, strict=True):
            out[:, column[name]] += own
        parts: FloatArray = out / np.maximum(out.sum(axis=1, keepdims=True), 1e-12)
        return parts

    def names(self) -> list[str]:
        """Its functions as the source has them: compilers name clones differently."""
        return [parse(function.name).written for function in self.profile.functions]

    def order(self) -> str:
        """The phases in the order of the run, "0120": one behind the other for as often as another one begins."""
        labels = [str(label) for label in self.answer["labels"] if label >= 0]
        runs = "".join(label for i, label in enumerate(labels) if i == 0 or label != labels[i - 1])
        return runs if len(runs) <= LONGEST_ORDER else f"{runs[:LONGEST_ORDER]}..."


def place(pg: str) -> Path:
    """The folder of the builds with these flags."""
    return scratch() / ("counted" if pg else "uncounted")


def script(program: str, pg: str, *what: str) -> None:
    """Run the script of a program with these flags."""
    env = {**os.environ, "INCPROF_SCRATCH": str(place(pg)), "INCPROF_PG": pg, "INCPROF_NO_LOOP": "1"}
    place(pg).mkdir(parents=True, exist_ok=True)
    subprocess.run(["sh", SCRIPT, program, *what], env=env, stdout=sys.stderr, check=True)


def make(program: str) -> None:
    """Build a program both ways, and record both at once: what else the machine does takes as much from either."""
    for pg in BOTH:
        script(program, pg, "build")
    with ThreadPoolExecutor(len(BOTH)) as pool:
        list(pool.map(lambda pg: script(program, pg), BOTH))


def side(run: str, pg: str) -> Side:
    """A run that has been recorded."""
    runs = place(pg) / "runs"
    answer = json.loads((runs / f"{run}.json").read_text())
    return Side(answer, pooled(read_profile(open_run(runs / run)), answer["run"]["pooled"]))


def agreement(one: Side, other: Side) -> float:
    """ARI of the phases at the same parts of both runs' CPU time; what is between phases is left out."""
    labels, others = one.phase_at_moments(), other.phase_at_moments()
    known = (labels >= 0) & (others >= 0)
    return float(adjusted_rand_score(labels[known], others[known]))


def likeness(one: Side, other: Side) -> float:
    """ARI of a run's phases with those of the other one whose mean its intervals lie nearest to.

    That is the prediction strength of Tibshirani and Walther (2005) with the index that the other one has. It asks for
    no moments that are the same: of a program that does what it can in a given time, there are none.
    """
    names = sorted({*one.names(), *other.names()})
    shares = other.shares(names)
    middle = np.stack([shares[other.labels == phase].mean(axis=0) for phase in range(other.answer["k"])])
    known = one.labels >= 0
    return float(adjusted_rand_score(one.labels[known], pairwise_distances_argmin(one.shares(names)[known], middle)))


def sites(answer: dict[str, Any]) -> set[tuple[str, str]]:
    """Functions and kinds of all sites."""
    return {(site["function"], site["kind"]) for phase in answer["phases"] for site in phase["sites"]}


def against_source(run: str) -> tuple[SiteScores, SiteScores] | None:
    """What is right of the sites with -pg and without, by what was expected from the source; None: nothing was."""
    known = next((each for each in all_real() if each.name == run), None)
    if known is None:
        return None
    found = []
    for pg in BOTH:
        directory = place(pg) / "runs" / run
        by = json.loads(directory.with_suffix(".json").read_text())["run"]["pooled"]
        profile = pooled(read_profile(open_run(directory), libs="named", inlined=True), by)
        found.append(evaluate(run, run, known.split, profile, None, known.truth, "robust", METHODS["robust"]).sites)
    return found[0], found[1]


def row(run: str, both: list[Side], scores: tuple[SiteScores, SiteScores] | None) -> str:
    """What the two recordings of a run say, as a row of a Markdown table."""
    known, found = (sites(each.answer) for each in both)
    parts = (known & found, known - found, found - known)
    cells = [
        run,
        f"{agreement(*both):.3f}",
        ", ".join(f"{likeness(*pair):.3f}" for pair in (both, both[::-1])),
        ", ".join(each.order() for each in both),
        ", ".join(f"{each.profile.counters.cpu_s.sum():.1f}" for each in both),
        *([_told(each.places) for each in scores] if scores else ["", ""]),
        *(", ".join(f"`{short(f)}` {kind}" for f, kind in sorted(part)) for part in parts),
    ]
    return f"| {' | '.join(cells)} |"


def _told(places: Matches) -> str:
    return f"{places.right} of {places.found}, {places.hit} of {places.true}"


def main() -> int:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.twins", description=__doc__)
    parser.add_argument("--recorded", action="store_true", help="what was recorded before")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"{', '.join(RUNS)} (default: all)")
    args = parser.parse_args()
    if unknown := set(args.programs) - set(RUNS):
        parser.error(f"no such program: {', '.join(sorted(unknown))}; there are {', '.join(RUNS)}")
    columns = "run", "ARI", "alike", "phases with, without", "CPU s", "expected sites with", "without"
    print(f"| {' | '.join(columns)} | sites of both | with alone | without alone |")
    print("|---" * 10 + "|", flush=True)
    agreements, alike, sums, kinds = [], [], [NOTHING, NOTHING], [0, 0]
    for program in args.programs or RUNS:
        if not args.recorded:
            make(program)
        for run in RUNS[program]:
            if not all((place(pg) / "runs" / f"{run}.json").exists() for pg in BOTH):
                print(f"{run} has not been recorded below {scratch()}: leave out --recorded", file=sys.stderr)
                return 1
            both, scores = [side(run, pg) for pg in BOTH], against_source(run)
            print(row(run, both, scores), flush=True)
            agreements.append(agreement(*both))
            alike += [likeness(*pair) for pair in (both, both[::-1])]
            if scores:
                sums = [one + each.places for one, each in zip(sums, scores, strict=True)]
                kinds = [kinds[0] + scores[1].places.right, kinds[1] + scores[1].functions.right]
    sites_f1 = " | ".join(f"F1 {each.f1:.3f}" for each in sums)
    medians = f"{statistics.median(agreements):.3f} | {statistics.median(alike):.3f}"
    print(f"| all (ARI, alike: median) | {medians} | | | {sites_f1} | | | without: {kinds[0]} of {kinds[1]} kinds |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
