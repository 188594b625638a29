"""The cost of a heartbeat: pairs of begin and end, against the two counter reads that are their minimum."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from appekg import _flags, _fortran_module, _library
from benchmarks.bed import HERE, Bed
from benchmarks.measure import Command, Ratio, Result, run

ROUNDS = 200
# Prints per round, in nanoseconds of the thread's CPU time: two clock readings, begin and end, the with block.
PYTHON = """
import sys, time
import appekg

BATCH = 5000

def clocks():
    for _ in range(BATCH):
        time.perf_counter_ns()
        time.perf_counter_ns()

def calls():
    for _ in range(BATCH):
        appekg.begin(1)
        appekg.end(1)

def blocks():
    beat = appekg.beat(1)
    for _ in range(BATCH):
        with beat:
            pass

def timed(batch):
    start = time.thread_time_ns()
    batch()
    return (time.thread_time_ns() - start) / BATCH

calls()
for _ in range(int(sys.argv[1])):
    print(timed(clocks), timed(calls), timed(blocks))
"""


@dataclass(frozen=True)
class Batches:
    """Batches of two alternatives in turn, in one process.

    Attributes:
        peer: nanoseconds of the peer per round.
        ours: nanoseconds of ours per round.
    """

    peer: list[float]
    ours: list[float]

    @property
    def ratio(self) -> float:
        """Median of the rounds' ratios."""
        return statistics.median(b / a for a, b in zip(self.peer, self.ours, strict=True))


def build(bed: Bed, source: str, *flags: str | Path, name: str | None = None) -> Path:
    """Build a program of benchmarks/programs, linked with libappekg."""
    found = _library.find(os.environ)
    program = bed.scratch / (name or Path(source).stem)
    words = ["gcc", "-O2", "-g", *_flags.compile_flags(found), str(HERE / "programs" / source), *map(str, flags)]
    subprocess.run([*words, "-o", str(program), *_flags.link_flags(found), "-lpthread"], check=True)
    return program


def environment(bed: Bed, **settings: object) -> dict[str, str]:
    """Return this process's environment with heartbeats written into a new folder `ekg` of the scratch folder."""
    for old in bed.scratch.glob("ekg*"):
        shutil.rmtree(old)
    variables = {f"EKG_{name.upper()}": str(value) for name, value in settings.items()}
    # The cost of a recorded beat is measured: none is thinned.
    return {**os.environ, "EKG_DIR": str(bed.scratch / "ekg"), "EKG_OVERHEAD": "0", **variables}


def columns(output: str) -> list[list[float]]:
    """Return the columns of a table of numbers."""
    return [list(column) for column in zip(*(map(float, line.split()) for line in output.splitlines()), strict=True)]


def batches(bed: Bed, command: Command, **settings: object) -> Batches:
    """Run a program that prints peer and ours."""
    peer, ours = columns(run(command, bed.scratch, environment(bed, **settings)).output)
    return Batches(peer, ours)


def over_processes(runs: Iterable[Batches]) -> Ratio:
    """Return the ratio over several processes: the median of each is one pair."""
    done = list(runs)
    ratios = tuple(one.ratio for one in done)
    best = min(min(one.ours) for one in done) / min(min(one.peer) for one in done)
    return Ratio(ratios, best)


def pair(bed: Bed, what: str, case: str, bar: float | None, **settings: object) -> Result:
    """Measure one case of beats_pairs.c; a bar of None: for information."""
    program = build(bed, "beats_pairs.c")
    return _result(bed, what, [program, case, str(ROUNDS)], bar, **settings)


def _result(bed: Bed, what: str, command: Command, bar: float | None, **settings: object) -> Result:
    done = [batches(bed, command, **settings) for _ in range(bed.pairs)]
    ratio = over_processes(done)
    ours, peer = (statistics.median(statistics.median(side) for side in sides) for sides in _sides(done))
    reached = f"{ratio.text(4)}; {ours:.3g} ns against {peer:.3g} ns"
    if bar is None:
        return Result(what, "-", reached, None)
    return Result(what, f"at most {bar:g}x", reached, ratio.median <= bar)


def _sides(done: list[Batches]) -> tuple[list[list[float]], list[list[float]]]:
    return [one.ours for one in done], [one.peer for one in done]


def fortran(bed: Bed) -> Result:
    """Measure a pair from Fortran: two calls, nothing inlined."""
    what = "pair from Fortran against C's"
    compiler = shutil.which("gfortran")
    if compiler is None:
        return Result(what, "-", "not measured: no gfortran", None)
    found = _library.find(os.environ)
    modules = _fortran_module.module_directory(found, compiler, os.environ)
    part = bed.scratch / "beats_fortran.o"
    flags = _flags.fortran_flags(found, modules)
    source = HERE / "programs" / "beats_fortran.f90"
    subprocess.run([compiler, "-O2", *flags, "-c", str(source), "-o", str(part)], cwd=bed.scratch, check=True)
    program = build(bed, "beats_pairs.c", "-DWITH_FORTRAN", part, name="beats_fortran")
    return _result(bed, what, [program, "fortran", str(ROUNDS)], None)


def python(bed: Bed) -> list[Result]:
    """Measure a pair from Python, through the binding's functions and as a with block."""
    command: Command = [sys.executable, "-c", PYTHON, str(ROUNDS)]
    done = [columns(run(command, bed.scratch, environment(bed)).output) for _ in range(bed.pairs)]
    results = []
    for column, name in ((1, "begin and end"), (2, "with block")):
        ratio = over_processes(Batches(one[0], one[column]) for one in done)
        ours, peer = (statistics.median(statistics.median(one[i]) for one in done) for i in (column, 0))
        reached = f"{ratio}; {ours:.3g} ns against {peer:.3g} ns"
        results.append(Result(f"Python: {name} against two of time.perf_counter_ns", "-", reached, None))
    return results


def threads(bed: Bed, count: int) -> Result:
    """Measure a pair's CPU time in each of several threads that beat concurrently, against the same thread alone."""
    program = build(bed, "beats_threads.c")
    pairs, reads = [], []
    for _ in range(bed.pairs):
        output = run([program, str(count), str(max(4, 40 // count))], bed.scratch, environment(bed)).output
        read_alone, pair_alone, read_crowd, pair_crowd = columns(output)
        pairs.append(Batches(pair_alone, pair_crowd))
        reads.append(Batches(read_alone, read_crowd))
    ratio, control = over_processes(pairs), over_processes(reads)
    what = f"pair per thread (CPU time), {count} threads against one, {os.cpu_count()} cores"
    low, high = min(control.of_pairs), max(control.of_pairs)
    reached = f"{ratio.text(4)}; two counter reads: {control.median:.4g}x ({low:.4g}-{high:.4g})"
    return Result(what, "at most 1.05x", reached, ratio.median <= 1.05)
