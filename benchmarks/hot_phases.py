"""Whether MUSCLE's phases stay the same where `check --hot` leaves functions out of -pg.

MUSCLE_MEMBERS=50 sh benchmarks/realworld/muscle.sh build
python -m benchmarks.hot_phases [--interval 0.1] [--runs 5]

Two recordings of one program differ too: recordings of both builds are compared with each other, and with those of the
other. Moments are compared at the same points of MUSCLE's work, by what it says of its stages and how far it is.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.bed import Bed
from benchmarks.hot import built_muscle, patched, tree_of
from benchmarks.measure import Command
from benchmarks.without_pg import Side, agreement
from incprof.readers import open_run, read_profile
from truth.answers import METHODS
from truth.recordings import label

STAGE = re.compile(rb"(Iter +\d+) +[\d.]+% +(\S.*?) *$")


def side(bed: Bed, command: Command, interval: float) -> Side:
    """Record a run, and find its phases; its pieces of work are the steps that it names on stderr."""
    environment = bed.environment(interval=interval, log="quiet")
    begins, stages = [], []
    with subprocess.Popen([str(word) for word in command], env=environment, stderr=subprocess.PIPE, bufsize=0) as run:
        assert run.stderr is not None
        kept = b""
        while read := run.stderr.read(65536):
            now = time.monotonic()
            *lines, kept = (kept + read).split(b"\r")
            for found in filter(None, map(STAGE.search, lines)):
                begins.append(now)
                stages.append(" ".join(b" ".join(found.groups()).decode().split()))
        ended = time.monotonic()
    if run.returncode:
        raise SystemExit(f"MUSCLE failed with {run.returncode}")
    ends = [*begins[1:], ended]
    profile = read_profile(open_run(str(bed.scratch / "run")))
    log = "\n".join(f"{begin} {end} {stage}" for begin, end, stage in zip(begins, ends, stages, strict=True))
    start = float(profile.metadata.raw["start_mono_ns"]) * 1e-9  # type: ignore[arg-type]
    labels = label(profile, log, sorted(set(stages)))
    return Side(profile, labels, METHODS["robust"](profile), np.array(begins) - start, np.array(ends) - start)


def spread(found: list[float]) -> str:
    """`0.93 (0.85-0.97, 6 pairs)`: median, least, greatest."""
    return f"{statistics.median(found):.3f} ({min(found):.3f}-{max(found):.3f}, {len(found)} pairs)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--interval", type=float, default=0.1)
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        bed = Bed(Path(scratch), 0)
        built = built_muscle()
        if built is None:
            raise SystemExit("MUSCLE is not here: sh benchmarks/realworld/muscle.sh build")
        ways = ("-pg", "patch")
        commands = {}
        for way in ways:
            tree = tree_of(bed, built, way.lstrip("-"))
            if way == "patch":
                patched(bed, built, tree)
            built.make(tree, "-pg -O2 -g", ())
            commands[way] = built.command(tree)
        sides: dict[str, list[Side]] = {way: [] for way in ways}
        for run, way in itertools.product(range(args.runs), ways):
            each = side(bed, commands[way], args.interval)
            sides[way].append(each)
            calls, known = int(each.profile.calls.sum()), float(np.mean(each.labels >= 0))
            phases = np.bincount(each.answer.labels[each.answer.labels >= 0])
            told = f"{each.profile.n_intervals} intervals, {known:.0%} in one stage, {calls} calls, phases of {phases}"
            print(f"{way} {run}: {told}; load {os.getloadavg()[0]:.1f}", flush=True)
        for way in ways:
            again = [agreement(*pair) for pair in itertools.combinations(sides[way], 2)]
            print(f"ARI of {way} and {way}: {spread(again)}")
        print(f"ARI of -pg and patch: {spread([agreement(*pair) for pair in itertools.product(*sides.values())])}")


if __name__ == "__main__":
    main()
