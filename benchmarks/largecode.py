"""The cost of reading large codes: lammps, or a generated program of 20 000 functions and some 5 MB of text."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks.bed import Bed
from benchmarks.measure import Command, Result, run

FUNCTIONS = 20_000
PER_FILE = 2_500


def _function(number: int) -> str:
    body = "\n".join(
        f"    x = x * {2 * (number * 7 + k) + 3}u + (x >> {k % 5 + 3}); t[(x >> 7) & 255] ^= x + {k}u;"
        for k in range(2)
    )
    return f"unsigned f{number}(unsigned x, unsigned *t)\n{{\n{body}\n    return x;\n}}\n"


def _driver() -> str:
    names = [f"f{i}" for i in range(FUNCTIONS)]
    declarations = "\n".join(f"unsigned {name}(unsigned, unsigned *);" for name in names)
    table = ", ".join(names)
    # Four segments of the run use four ranges of functions: thirty hot ones each, and more that are seldom called.
    return f"""#include <stdlib.h>
#include <time.h>
{declarations}
static unsigned (*const all[])(unsigned, unsigned *) = {{{table}}};
static unsigned table[256];
static double now(void)
{{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}}
int main(int argc, char **argv)
{{
    double seconds = argc > 1 ? atof(argv[1]) : 1, start = now();
    unsigned x = 1;
    for (int stretch = 0; stretch < 4; stretch++)
        while (now() - start < seconds * (stretch + 1) / 4)
            for (int i = 0; i < 100000; i++)
                x = all[(stretch * 5000 + (x >> 9) % 30 + (i % 50 == 0) * 17 * (x & 7)) % {FUNCTIONS}](x, table);
    return x == 42;
}}
"""


def build(bed: Bed) -> Path:
    """Compile the program in the scratch folder, unless it exists."""
    folder = bed.scratch / "manyfunctions"
    program = folder / "program"
    if program.exists():
        return program
    folder.mkdir()
    sources = [folder / "driver.c"]
    sources[0].write_text(_driver())
    for first in range(0, FUNCTIONS, PER_FILE):
        sources.append(folder / f"part{first}.c")
        sources[-1].write_text("".join(_function(i) for i in range(first, first + PER_FILE)))
    subprocess.run(["gcc", "-pg", "-O0", "-g1", *map(str, sources), "-o", str(program)], check=True)
    return program


def phases_against_gprof(bed: Bed, name: str, program: Path, long: Command, short: Command) -> list[Result]:
    """Compare `incprof phases` on 3 600 or more intervals of 100 samples with `gprof -b -p` per interval.

    long: a run of at least 36 s, recorded at 10 ms and 10 kHz. short: any run, for a gmon.out of glibc's.
    """
    run(long, bed.scratch, bed.environment(clock="perf", rate=10000, interval="0.01"))
    command = [sys.executable, "-m", "incprof", "phases", str(bed.scratch / "run"), "--json"]
    # From the checkout, installed or not.
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    usages = [run(command, bed.scratch, env) for _ in range(bed.pairs)]
    recorded = json.loads(usages[0].output)["run"]
    run(short, bed.scratch)
    gprof = statistics.median(
        run(["gprof", "-b", "-p", program, "gmon.out"], bed.scratch).elapsed_s for _ in range(100)
    )
    elapsed = sorted(usage.elapsed_s for usage in usages)
    ours, intervals = statistics.median(elapsed), recorded["intervals"]
    ratio = gprof * intervals / ours
    detail = (
        f"{ratio:.0f}x: {ours:.2f} s ({elapsed[0]:.2f}-{elapsed[-1]:.2f}) for {intervals} intervals "
        f"and {recorded['samples']} samples, gprof {gprof:.3f} s each"
    )
    peak = max(usage.peak_mb for usage in usages)
    return [
        Result(f"incprof phases against gprof per interval: {name}", "at least 300x", detail, ratio >= 300),
        Result("the same, peak memory", "under 500 MB", f"{peak:.0f} MB", peak < 500),
    ]


def bytes_per_interval(bed: Bed, name: str, command: Command) -> Result:
    """Compare the size of an interval in the stream with the dense gmon.out of the same program."""
    run(command, bed.scratch, bed.environment())
    stream = bed.scratch / "run" / "rank-00000.gmon"
    data = stream.read_bytes()
    first = 20 + int.from_bytes(data[12:16], "little")
    intervals = _count_intervals(data)
    run(command, bed.scratch)
    dense = (bed.scratch / "gmon.out").stat().st_size
    sparse = (len(data) - first) / intervals
    reached = f"{dense / sparse:.0f}x: {sparse:.0f} bytes against {dense} ({intervals} intervals)"
    return Result(
        f"bytes per 1 s interval against the dense gmon.out: {name}",
        "at least 50x smaller",
        reached,
        dense / sparse >= 50,
    )


def _count_intervals(data: bytes) -> int:
    at, intervals = 0, 0
    while at + 20 <= len(data):
        intervals += data[at + 8] == 2
        at += 20 + int.from_bytes(data[at + 12 : at + 16], "little")
    return intervals
