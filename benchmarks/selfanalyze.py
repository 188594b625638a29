"""The cost of timing the loops around parallel regions in a program that has very many of them."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess

from benchmarks.bed import HERE, Bed
from benchmarks.measure import Command, Result, compare, run
from incprof.record import launch
from incprof.systems.openmp.read import read_loops

RATE = 10_000  # parallel regions a second
SECONDS = 2
BAR = 1.02


def whole_run(bed: Bed, compiler: str, threads: int) -> Result:
    """Compare whole runs of 10 000 parallel regions a second with libincprof_omp and without, in CPU time."""
    what = f"selfanalyze, {RATE} parallel regions a second, {compiler}, {threads} threads, whole run (CPU time)"
    program = bed.scratch / f"regions-{compiler}"
    words = [compiler, "-O2", "-g", "-fopenmp", str(HERE / "programs" / "regions.c"), "-o", str(program)]
    if shutil.which(compiler) is None or subprocess.run(words, check=False, capture_output=True).returncode != 0:
        return Result(what, "-", f"not measured: no {compiler} with OpenMP", None)
    # Threads that spin while others wait for their processor would measure the machine's other load.
    env = {**os.environ, "OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive"}
    rounds = run([program, "0", str(RATE)], bed.scratch, env).output.strip()
    command: Command = [program, str(SECONDS * RATE), str(RATE), rounds]
    directory = bed.scratch / "loops"
    rates: list[float] = []
    elapsed: dict[str, list[float]] = {"watched": [], "alone": []}

    def watched() -> float:
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        library = str(launch.find_loop_library(os.environ))
        settings = {"LD_PRELOAD": library, "SELFANALYZE_DIR": str(directory), "SELFANALYZE_JOIN": "1"}
        usage = run(command, bed.scratch, {**env, **settings})
        elapsed["watched"].append(usage.elapsed_s)
        return usage.cpu_s

    def alone() -> float:
        usage = run(command, bed.scratch, env)
        rates.append(float(usage.output))
        elapsed["alone"].append(usage.elapsed_s)
        return usage.cpu_s

    ratio = compare(watched, alone, bed.pairs)
    (loops,) = (done.loops for done in read_loops(str(directory)))
    counted = max(loop.iterations for loop in loops if loop.period == 5)
    lasted = min(elapsed["watched"]) / min(elapsed["alone"])
    rate = statistics.median(rates)
    found = f"{rate:.0f} regions a second, {counted} iterations found"
    reached = f"{ratio.text(4)}; elapsed, best against best {lasted:.4g}x; {found}"
    return Result(what, f"at most {BAR:g}x", reached, ratio.median <= BAR and counted == SECONDS * RATE // 5)
