"""The cost of `incprof sample` for the program and the machine."""

from __future__ import annotations

import itertools
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable

from benchmarks.bed import HERE, Bed
from benchmarks.measure import Command, Result, compare, run
from incprof.record import launch

SECONDS = 4
INTERVAL_S = 0.005
BAR, SHARE_BAR_PCT = 1.01, 1.0


def benchmarks(bed: Bed) -> Iterable[tuple[str, Callable[[], Result | list[Result]]]]:
    """Yield name and measurement of each benchmark."""
    yield "sample", lambda: [*whole_run(bed), whole_machine(bed)]


def whole_run(bed: Bed) -> list[Result]:
    """Measure whole runs of a program that only computes, sampled against alone."""
    program = bed.scratch / "sums"
    subprocess.run(["gcc", "-O2", str(HERE / "programs" / "sums.c"), "-o", str(program)], check=True)
    rounds = SECONDS * int(run([program], bed.scratch).output)
    alone: Command = [program, str(rounds)]
    sampler = launch.find_sampler(os.environ)
    target = bed.scratch / "series.csv"
    watched: Command = [sampler, "--interval", str(INTERVAL_S), "--output", target, "--force", "--", *alone]
    elapsed: dict[str, list[float]] = {"watched": [], "alone": []}
    shares: list[float] = []

    def sampled() -> float:
        usage = run([sys.executable, "-c", KEEPING_STDERR, *map(str, watched)], bed.scratch)
        cpu_s, elapsed_s, line = usage.output.split(" ", 2)
        elapsed["watched"].append(float(elapsed_s))
        found = re.search(r"the sampler took ([\d.]+) %", line)
        assert found is not None, line
        shares.append(float(found[1]))
        return float(cpu_s)

    def unsampled() -> float:
        usage = run(alone, bed.scratch)
        elapsed["alone"].append(usage.elapsed_s)
        return usage.cpu_s

    ratio = compare(sampled, unsampled, bed.pairs)
    lasted = min(elapsed["watched"]) / min(elapsed["alone"])
    share = statistics.median(shares)
    what = "sample every 5 ms, default events"
    return [
        Result(
            f"{what}, a program that only computes, whole run (CPU time, sampler's included)",
            f"at most {BAR:g}x",
            f"{ratio.text(4)}; elapsed, best against best {lasted:.4g}x",
            ratio.median <= BAR,
        ),
        Result(
            f"{what}, CPU time of the sampler",
            f"at most {SHARE_BAR_PCT:g} % of a processor",
            f"{share:.2g} % ({min(shares):.2g}-{max(shares):.2g})",
            share <= SHARE_BAR_PCT,
        ),
    ]


# CPU seconds of a command and its awaited children, elapsed seconds, and the last line of its stderr.
KEEPING_STDERR = """
import resource, subprocess, sys, time
start = time.perf_counter()
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
elapsed = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, elapsed, done.stderr.splitlines()[-1])
"""


def whole_machine(bed: Bed) -> Result:
    """Measure the machine's counters at a row a second, with as many energy counters as a node of two packages has."""
    zones = bed.scratch / "sys" / "class" / "powercap"
    for package, part in itertools.product("01", ("", ":0", ":1")):
        zone = zones / f"intel-rapl:{package}{part}"
        zone.mkdir(parents=True, exist_ok=True)
        (zone / "name").write_text(f"package-{package}\n" if not part else f"part{part[1:]}\n")
        (zone / "energy_uj").write_text("1\n")
    command: Command = [sys.executable, "-m", "incprof", "sample", "--system", "--for", "10", "--sysfs"]
    command += [zones.parents[1], "-o", bed.scratch / "s.csv", "--force"]
    shares = []
    for _ in range(3):
        usage = run([sys.executable, "-c", KEEPING_STDERR, *map(str, command)], HERE.parent)
        found = re.search(r"the sampler took ([\d.]+) %", usage.output)
        assert found is not None, usage.output
        shares.append(float(found[1]))
    shares_text = (
        f"{statistics.median(shares):.2g} % of a processor ({min(shares):.2g}-{max(shares):.2g}, {len(shares)} runs)"
    )
    return Result(
        "sample --system, a row a second, six energy counters, CPU time of the sampler", "-", shares_text, None
    )
