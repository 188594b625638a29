"""The cost of `incprof sample` for the program and the machine, and the regularity of its rows."""

from __future__ import annotations

import itertools
import math
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks.bed import HERE, Bed
from benchmarks.measure import Command, Result, compare, run
from incprof.record import launch

SECONDS = 4
INTERVAL_S = 0.005
BAR, SHARE_BAR_PCT = 1.01, 1.0


def benchmarks(bed: Bed) -> Iterable[tuple[str, Callable[[], Result | list[Result]]]]:
    """Yield name and measurement of each benchmark."""
    yield "sample", lambda: [*whole_run(bed), start_up(bed), whole_machine(bed)]


def whole_run(bed: Bed) -> list[Result]:
    """Measure whole runs of a program that only computes, sampled against alone; and the lateness of rows."""
    program = bed.scratch / "sums"
    subprocess.run(["gcc", "-O2", str(HERE / "programs" / "sums.c"), "-o", str(program)], check=True)
    rounds = SECONDS * int(run([program], bed.scratch).output)
    alone: Command = [program, str(rounds)]
    sampler = launch.find_sampler(os.environ)
    target = bed.scratch / "series.csv"
    watched: Command = [sampler, "--interval", str(INTERVAL_S), "--output", target, "--force", "--", *alone]
    elapsed: dict[str, list[float]] = {"watched": [], "alone": []}
    shares: list[float] = []
    lateness: list[float] = []
    missed: list[int] = []

    def sampled() -> float:
        usage = run([sys.executable, "-c", KEEPING_STDERR, *map(str, watched)], bed.scratch)
        cpu_s, elapsed_s, line = usage.output.split(" ", 2)
        elapsed["watched"].append(float(elapsed_s))
        found = re.search(r"(\d+) late ticks; the sampler took ([\d.]+) %", line)
        assert found is not None, line
        missed.append(int(found[1]))
        shares.append(float(found[2]))
        lateness.extend(late_s(target))
        return float(cpu_s)

    def unsampled() -> float:
        usage = run(alone, bed.scratch)
        elapsed["alone"].append(usage.elapsed_s)
        return usage.cpu_s

    ratio = compare(sampled, unsampled, bed.pairs)
    lasted = min(elapsed["watched"]) / min(elapsed["alone"])
    share = statistics.median(shares)
    cuts = statistics.quantiles(lateness, n=100)
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
        Result(
            f"{what}, how late rows are",
            "-",
            f"median {cuts[49] * 1e6:.0f} us, 99th percentile {cuts[98] * 1e6:.0f} us; "
            f"{sum(missed)} of {len(lateness) + sum(missed)} ticks missed",
            None,
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


def late_s(path: Path) -> list[float]:
    """Return the delay of each row after its tick, without the last one, which was written at the program's end."""
    rows = itertools.dropwhile(lambda line: not line[0].isdigit(), path.read_text().splitlines())
    times = [float(row.split(",", 1)[0]) for row in rows if not row.startswith("#")]
    return [at - math.floor(at / INTERVAL_S) * INTERVAL_S for at in times[:-1]]


def start_up(bed: Bed) -> Result:
    """Measure the cost at start: Python's start-up, and opening the counters."""
    command: Command = [sys.executable, "-m", "incprof", "sample", "-o", bed.scratch / "s.csv", "--force", "--", "true"]
    times: list[float] = []
    for _ in range(max(bed.pairs, 3)):
        start = time.perf_counter()
        run(command, HERE.parent)
        times.append(time.perf_counter() - start)
    return Result(
        "sample, from the command line to the program's end, of true", "-", f"{min(times) * 1e3:.0f} ms", None
    )


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
