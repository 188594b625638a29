"""The cost of tracing MPI calls: a call, a whole run, and disk space; under Open MPI and MPICH."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.bed import HERE, Bed
from benchmarks.measure import Command, Result, compare, run
from incprof.systems.mpi.trace_file import Trace, find_traces

MPIS = {"openmpi": ("Open MPI", "libmpi.so.40"), "mpich": ("MPICH", "libmpich.so.12")}
FLAGS = {"openmpi": ("--oversubscribe", "--allow-run-as-root"), "mpich": ()}
MOST_NS, MOST_BYTES, MOST_TIMES = 150, 4, 1.01
# More ranks would wait for each other on a busy machine, each with its processor.
RANKS, STEPS = 1, 6000


def benchmarks(bed: Bed) -> Iterator[tuple[str, Callable[[], Result | list[Result]]]]:
    """Yield two measurements for each installed MPI."""
    for mpi in MPIS:
        if shutil.which(f"mpicc.{mpi}") and shutil.which(f"mpirun.{mpi}"):
            yield f"trace-calls-{mpi}", functools.partial(calls, bed, mpi)
            yield f"trace-run-{mpi}", functools.partial(whole_run, bed, mpi)


def _program(bed: Bed, mpi: str, source: str) -> Path:
    path = HERE / "programs" / source
    program = bed.scratch / f"{path.stem}-{mpi}"
    subprocess.run([f"mpicc.{mpi}", "-O2", "-g", path, "-o", program, "-ldl"], check=True, capture_output=True)
    return program


def _launch(mpi: str, ranks: int, *command: str | Path) -> Command:
    return [f"mpirun.{mpi}", *FLAGS[mpi], "-n", str(ranks), *command]


def _traced(bed: Bed, *command: str | Path) -> Command:
    directory = bed.scratch / "traced"
    shutil.rmtree(directory, ignore_errors=True)
    return [sys.executable, "-m", "incprof", "trace", "-o", directory, "--", *command]


def calls(bed: Bed, mpi: str) -> list[Result]:
    """Compare an intercepted call with the library's own, in turn in one process."""
    words, library = MPIS[mpi]
    program = _program(bed, mpi, "mpi_calls.c")
    output = run(_launch(mpi, 1, *_traced(bed, program, library)), bed.scratch, dict(os.environ)).output
    names = ("MPI_Iprobe", "MPI_Test", "Irecv, Isend and Waitall, each")
    results = []
    for name, line in zip(names, output.splitlines(), strict=True):
        bare, more = map(float, line.split())
        what = f"trace, {name}, {words}, over the bare call (CPU time)"
        results.append(Result(what, f"at most {MOST_NS} ns", f"{more:.0f} ns over {bare:.0f} ns", more <= MOST_NS))
    return results


def whole_run(bed: Bed, mpi: str) -> list[Result]:
    """Compare whole runs of a stencil of six calls a step, traced and not; and measure the size of its trace."""
    words = MPIS[mpi][0]
    program = _program(bed, mpi, "mpi_steps.c")
    plain = _launch(mpi, RANKS, program, str(STEPS))
    environ = {**os.environ, "INCPROF_LOG": "quiet"}

    def traced() -> float:
        return run(_traced(bed, *plain), bed.scratch, environ).cpu_s

    # The start of incprof itself is not the program's time.
    def alone() -> float:
        start = [sys.executable, "-m", "incprof", "trace", "-o", bed.scratch / "none", "--", "env", "-u", "LD_PRELOAD"]
        return run([*start, *plain], bed.scratch, environ).cpu_s

    ratio = compare(traced, alone, bed.pairs)
    events = size = 0
    for path in find_traces(str(bed.scratch / "traced")):
        with Trace(path) as trace:
            events += sum(1 for _ in trace.events())
        size += os.path.getsize(path)
    each = size / events
    return [
        Result(
            f"trace, stencil of 6 calls a step, {words}, whole run (CPU time)",
            f"at most {MOST_TIMES:g}x", ratio.text(4), ratio.median <= MOST_TIMES,
        ),
        Result(f"trace, bytes a call of the same, {words}", f"at most {MOST_BYTES}", f"{each:.2f}", each <= MOST_BYTES),
    ]  # fmt: skip
