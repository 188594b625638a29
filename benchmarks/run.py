"""`make bench`: every figure of docs/performance.md, as ratios measured in one run.

usage: python benchmarks/run.py [--pairs N] [--only WORD] [--scratch DIR]
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks import collector, largecode
from benchmarks.bed import Bed
from benchmarks.measure import Command, Result


def _large_code(bed: Bed) -> tuple[str, Path, Command, Command]:
    """Name, program, a long and a short run: lammps if benchmarks/realworld has built it, else a generated program."""
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
    yield "calls-lost", lambda: collector.calls_lost(bed)
    yield "run-callheavy", lambda: collector.whole_run(bed, "callheavy", [bed.compile("callheavy.c")])
    yield "run-zstd", lambda: collector.whole_run(bed, "zstd -9", collector.zstd_command(bed))
    yield "rate", lambda: collector.sample_rate(bed)
    yield "interval", lambda: collector.short_intervals(bed)
    name, program, long, short = _large_code(bed)
    yield "bytes", lambda: largecode.bytes_per_interval(bed, name, long)
    yield "phases", lambda: largecode.phases_against_gprof(bed, name, program, long, short)
    if name == "lammps":
        yield "phases-generated", lambda: largecode.phases_against_gprof(bed, *_generated(bed))


def main() -> int:
    """Prints a Markdown table; exit code 0 also where a bar is missed: the number is the result."""
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
                met = "yes" if result.met else "**no**"
                print(f"| {result.what} | {result.bar} | {result.reached} | {met} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
