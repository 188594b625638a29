"""`make bench`: the figures of docs/lab/performance.md that new versions change, as ratios measured in one run.

usage: python benchmarks/run.py [--pairs N] [--only WORD] [--scratch DIR]
"""

from __future__ import annotations

import argparse
import functools
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks import (
    collector,
    heartbeat_programs,
    heartbeats,
    largecode,
    long_runs,
    many_ranks,
    memory,
    ranks_scale,
    report,
    sample,
    selfanalyze,
    startup,
    top,
    trace,
)
from benchmarks.bed import Bed
from benchmarks.measure import Command, Result

MET = {True: "yes", False: "**no**", None: ""}


def _large_code(bed: Bed) -> tuple[str, Path, Command, Command]:
    """Return name, program, a long and a short run.

    It is lammps if benchmarks/realworld has built it, else a generated program.
    """
    default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "incprof-realworld"
    folder = Path(os.environ.get("INCPROF_SCRATCH", default)) / "lammps"
    program, script = folder / "build" / "lmp_serial", folder / "in.melt"
    if not program.exists() or not script.exists():
        return _generated(bed)
    short = bed.scratch / "in.short"
    short.write_text(re.sub(r"(?m)^run .*", "run 20", script.read_text()))
    quiet = ["-log", "none", "-screen", "none"]
    return "lammps", program, [program, "-in", script, *quiet], [program, "-in", short, *quiet]


def _generated(bed: Bed) -> tuple[str, Path, Command, Command]:
    program = largecode.build(bed)
    return "a C program of 20 000 functions, 5 MB of text", program, [program, "36.5"], [program, "1"]


def _benchmarks(bed: Bed) -> Iterable[tuple[str, Callable[[], Result | list[Result]]]]:
    yield "calls-1", lambda: collector.cost_per_call(bed, 1)
    yield "calls-2", lambda: collector.cost_per_call(bed, 2)
    yield "calls-empty", lambda: collector.empty_hook(bed, "callheavy.c")
    yield "calls-empty-fentry", lambda: collector.empty_hook(bed, "callheavy.c", "-mfentry")
    yield "calls-lost", lambda: collector.calls_lost(bed)
    yield "run-callheavy", lambda: collector.whole_run(bed, "callheavy", [bed.compile("callheavy.c")])
    yield "run-zstd", lambda: collector.whole_run(bed, "zstd -9", collector.zstd_command(bed))
    yield "rate", lambda: collector.sample_rate(bed)
    yield "interval", lambda: collector.short_intervals(bed)
    yield from _heartbeats(bed)
    yield from sample.benchmarks(bed)
    yield from long_runs.benchmarks(bed)
    yield from ranks_scale.benchmarks(bed)
    yield from many_ranks.benchmarks(bed)
    yield from report.benchmarks(bed)
    yield from top.benchmarks(bed)
    yield from trace.benchmarks(bed)
    yield from startup.benchmarks(bed)
    yield from memory.benchmarks(bed)
    for compiler, threads in (("gcc", 1), ("gcc", 2), ("clang", 1), ("clang", 2)):
        yield f"regions-{compiler}-{threads}", functools.partial(selfanalyze.whole_run, bed, compiler, threads)
    name, program, long, short = _large_code(bed)
    yield "bytes", lambda: largecode.bytes_per_interval(bed, name, long)
    yield "phases", lambda: largecode.phases_against_gprof(bed, name, program, long, short)
    if name == "lammps":
        yield "phases-generated", lambda: largecode.phases_against_gprof(bed, *_generated(bed))


def _heartbeats(bed: Bed) -> Iterable[tuple[str, Callable[[], Result | list[Result]]]]:
    pair = heartbeats.pair
    yield "beat-pair", lambda: pair(bed, "pair of begin and end against two counter reads", "reads", 1.2)
    yield "beat-2", lambda: heartbeats.threads(bed, 2)
    yield "beat-8", lambda: heartbeats.threads(bed, 8)
    yield "beat-rate", lambda: pair(bed, "pair with rate factor 100 against a full pair", "rate", 0.12)
    yield "beat-disabled", lambda: pair(bed, "pair while disabled against a full pair", "disabled", 0.08)
    for work in ("tally", "relax"):
        yield f"beat-run-{work}", functools.partial(heartbeat_programs.whole_run, bed, work)
        yield f"beat-thinned-{work}", functools.partial(heartbeat_programs.thinned, bed, work)
        yield f"beat-predicted-{work}", functools.partial(heartbeat_programs.prediction, bed, work)
    yield "beat-scope", lambda: pair(bed, "EKG_SCOPE against two counter reads", "scope", None)
    yield "beat-pulse", lambda: pair(bed, "pulse against a full pair", "pulse", None)
    yield "beat-fortran", lambda: heartbeats.fortran(bed)
    yield "beat-python", lambda: heartbeats.python(bed)


def main() -> int:
    """Print a Markdown table; exit code 0 even if a bar is missed: the number is the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=7, help="pairs per ratio (default 7)")
    parser.add_argument("--only", default="", help="benchmarks whose name contains this word")
    parser.add_argument("--scratch", type=Path, help="keep what is built here")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        scratch = args.scratch or Path(temporary)
        scratch.mkdir(parents=True, exist_ok=True)
        bed = Bed(scratch.resolve(), args.pairs)
        print("| what | bar | reached | met |\n|---|---|---|---|", flush=True)
        for name, measure in _benchmarks(bed):
            if args.only not in name:
                continue
            results = measure()
            for result in results if isinstance(results, list) else [results]:
                met = MET[result.met]
                print(f"| {result.what} | {result.bar} | {result.reached} | {met} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
