"""Programs without -pg: what recording them costs, and how far what is found agrees with the build that counts calls.

python -m benchmarks.without_pg [PROGRAM ...]     # programs of truth/, built both ways; all that were not held out
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.bed import Bed
from benchmarks.measure import Command, Result, compare, run
from incprof.model import IntArray, IntervalProfile
from truth.answers import METHODS, Answer
from truth.evaluate import evaluate
from truth.recordings import NotRecorded, Program, all_programs, log_of, recorded
from truth.scores.sites import NOTHING

# Of callheavy: some two seconds.
ROUNDS = "1500"
# Programs in Python, of some four seconds each.
PYTHON_STEPS = {"recursion": "250000", "arrays": "15000"}
# Moments at which the two recordings are compared.
MOMENTS = 2000


def whole_run(bed: Bed, name: str) -> Result:
    """CPU time of a program recorded at 100 Hz against the same unrecorded; callheavy, zstd, or one in Python."""
    what = f"whole run without -pg, recorded against unrecorded: {name}"
    command = _command(bed, name)
    if command is None:
        return Result(what, "at most 1.005x", f"{name} is not here", None)

    def recording() -> float:
        return run(command, bed.scratch, bed.environment(exe=os.path.realpath(command[0]))).cpu_s

    ratio = compare(recording, lambda: run(command, bed.scratch).cpu_s, bed.pairs)
    return Result(what, "at most 1.005x", ratio.text(4), ratio.median <= 1.005)


def _command(bed: Bed, name: str) -> Command | None:
    if name == "callheavy":
        return [bed.compile("callheavy.c", pg=False), ROUNDS]
    if name in PYTHON_STEPS:
        return [sys.executable, Path(__file__).parent / "programs" / f"{name}.py", PYTHON_STEPS[name]]
    program = shutil.which(name)
    if program is None:
        return None
    data = bed.scratch / "zstd-debian.input"
    if not data.exists():
        data.write_bytes(np.random.default_rng(1).integers(97, 105, 30_000_000).astype(np.uint8).tobytes())
    return [program, "-9", "-q", "-f", data, "-o", bed.scratch / "zstd.output"]


@dataclass(frozen=True)
class Side:
    """A program built one way. ends: (m,) when each piece of work of its log ended, seconds of the recording."""

    profile: IntervalProfile
    labels: IntArray
    answer: Answer
    begins: IntArray
    ends: IntArray


def side(program: Program, *, pg: bool) -> Side:
    """Record a program, and answer."""
    profile, labels = recorded(program, pg=pg)
    start = float(profile.metadata.raw["start_mono_ns"]) * 1e-9  # type: ignore[arg-type]
    rows = (
        np.array([[float(word) for word in line.split()[:2]] for line in log_of(program, pg=pg).splitlines()]) - start
    )
    return Side(profile, labels, METHODS["robust"](profile), rows[:, 0], rows[:, 1])


def agreement(one: Side, other: Side) -> float:
    """ARI of the phases of two recordings, at the same points of the program's work."""
    pieces = min(len(one.ends), len(other.ends))
    took = np.maximum(one.ends - one.begins, 0.0)[:pieces]
    upto = np.cumsum(took)
    at = (np.arange(MOMENTS) + 0.5) / MOMENTS * upto[-1]
    piece = np.minimum(np.searchsorted(upto, at, side="right"), pieces - 1)
    part = 1.0 - (upto[piece] - at) / np.maximum(took[piece], 1e-12)
    labels = []
    for each in (one, other):
        time = each.begins[piece] + part * (each.ends - each.begins)[piece]
        where = np.searchsorted(each.profile.end_s, time)
        labels.append(each.answer.labels[np.minimum(where, each.profile.n_intervals - 1)])
    known = (labels[0] >= 0) & (labels[1] >= 0)
    return float(adjusted_rand_score(labels[0][known], labels[1][known]))


def main() -> int:
    """Print a Markdown table."""
    wanted = sys.argv[1:]
    programs = [p for p in all_programs() if p.name in wanted or (not wanted and p.split == "tune")]
    print("| program | ARI of phases | phases with, without | sites: right of found, of true; with | without |")
    print("|---|---|---|---|---|", flush=True)
    agreements, sums = [], [NOTHING, NOTHING]
    for program in programs:
        try:
            sides = [side(program, pg=pg) for pg in (True, False)]
        except NotRecorded as error:
            print(f"| {program.name} | {error} | | | |", flush=True)
            continue
        agreements.append(agreement(*sides))
        texts = []
        for which, each in enumerate(sides):
            about = (program.name, "", program.split, each.profile, each.labels, program.truth, "robust")
            found = evaluate(*about, lambda _, known=each.answer: known).sites.places
            sums[which] += found
            texts.append(f"{found.right} of {found.found}, {found.hit} of {found.true}")
        phases = ", ".join(str(each.answer.k) for each in sides)
        print(f"| {program.name} | {agreements[-1]:.3f} | {phases} | {texts[0]} | {texts[1]} |", flush=True)
    with_pg, without = sums
    print(f"| all: median, F1 | {statistics.median(agreements):.3f} | | {with_pg.f1:.3f} | {without.f1:.3f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
