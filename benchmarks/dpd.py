"""The cost of a sample in the periodicity detectors, and how well they predict the calls of real programs."""

from __future__ import annotations

import functools
import os
import statistics
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.bed import HERE, Bed
from benchmarks.heartbeats import Batches, columns, over_processes
from benchmarks.measure import Result, run
from incprof.analysis import _native
from incprof.systems.periods.dpd_events import detect

ROUNDS = 60
EVENT_BARS = {200: 2.5, 1024: 10.0}
VALUE_BAR = 30.0
STREAMS = {"loop": "a loop of 6", "nest": "1 in 24 in 269", "none": "no loop"}
SERIES = {"loop": "period 44", "nest": "44 in 387", "none": "noise"}

SKIP, CALLS = 1_000_000, 1_000_000
# Table 3 of the paper, N = 128: the lower value of its two floating-point programs, and of its two others.
FLOATING, OTHERS = (99.89, 99.51), (84.10, 50.53)
MEMORY = 16384


def benchmarks(bed: Bed) -> Iterable[tuple[str, Callable[[], Result | list[Result]]]]:
    """Yield the benchmarks of `make bench`: names, and functions that measure."""
    for window, bar in EVENT_BARS.items():
        for stream, words in STREAMS.items():
            what = f"DPD of events, window {window}, {words}: a sample against one counter read"
            yield f"dpd-events-{window}-{stream}", functools.partial(sample, bed, what, "events", stream, window, bar)
    for stream, words in SERIES.items():
        what = f"DPD of values, N = M = 1024, {words}: a sample against one counter read"
        yield f"dpd-values-1024-{stream}", functools.partial(sample, bed, what, "values", stream, 1024, VALUE_BAR)
    what = f"DPD of events, window 200, memory {MEMORY}, 1 in 24 in 269: a sample against one counter read"
    yield "dpd-memory", functools.partial(sample, bed, what, "events", "nest", 200, None, MEMORY)
    for program in PROGRAMS:
        yield f"dpd-calls-{program}", functools.partial(calls, bed, program)


def sample(bed: Bed, what: str, kind: str, stream: str, window: int, bar: float | None, memory: int = 0) -> Result:
    """Alternate batches of samples with batches of counter reads in one process; repeat in several processes."""
    command = [_program(bed), kind, stream, str(window), str(ROUNDS), str(memory)]
    done = [Batches(*columns(run(command, bed.scratch).output)) for _ in range(bed.pairs)]
    ratio = over_processes(done)
    ours, read = (statistics.median(statistics.median(side) for side in sides) for sides in _sides(done))
    reached = f"{ratio}; {ours:.3g} ns against {read:.3g} ns"
    return Result(what, f"at most {bar:g}x" if bar else "-", reached, ratio.median <= bar if bar else None)


def _sides(done: list[Batches]) -> tuple[list[list[float]], list[list[float]]]:
    return [one.ours for one in done], [one.peer for one in done]


def _program(bed: Bed) -> Path:
    library = _native.find(os.environ)
    program = bed.scratch / "dpd_samples"
    include = HERE.parent / "analysis" / "native" / "include"
    words = ["gcc", "-O2", f"-I{include}", str(HERE / "programs" / "dpd_samples.c"), "-o", str(program), str(library)]
    subprocess.run([*words, f"-Wl,-rpath,{library.parent}"], check=True)
    return program


def _realworld() -> Path:
    default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "incprof-realworld"
    return Path(os.environ.get("INCPROF_SCRATCH", default))


# Programs that benchmarks/realworld/run.sh builds with -pg, relative to its folder, and whether they compute with
# floating-point numbers like ART and EQUAKE.
PROGRAMS: dict[str, tuple[str, list[str], bool]] = {
    "lammps": ("lammps", ["build/lmp_serial", "-in", "in.melt", "-log", "none", "-screen", "none"], True),
    "heat": ("heat", ["heat", "1"], True),
    "zstd": ("zstd", ["zstd", "-b1", "-e3", "-i1", "input-2000000"], False),
    "sqlite": ("sqlite3", ["sqlite3", ":memory:", ".read script-600000.sql"], False),
    "hmmsearch": ("hmmer", ["tree/src/hmmsearch", "families.hmm", "search-160000-2000.fa"], False),
    "hmmbuild": ("hmmer", ["tree/src/hmmbuild", "/dev/null", "families.sto"], False),
}


def calls(bed: Bed, name: str) -> list[Result]:
    """Measure how many of a program's calls were predicted by earlier ones."""
    place, command, floating = PROGRAMS[name]
    bars = FLOATING if floating else OTHERS
    folder = _realworld() / place
    what = f"calls of {name} predicted (next, fifth)"
    bar = f"at least {bars[0]} %, {bars[1]} %"
    if not (folder / command[0]).exists():
        return [Result(what, bar, f"not measured: benchmarks/realworld/run.sh builds {name}", None)]
    stream = record_calls(bed, [str(folder / command[0]), *command[1:]], folder)
    kinds = len(np.unique(stream))
    results = []
    for window, memory in ((128, MEMORY), (128, 0), (1024, 0)):
        trace = detect(stream, window, memory=memory, ahead=(1, 5))
        hits = [100 * trace.hit_rate(ahead) for ahead in (1, 5)]
        whole = 100 * trace.whole_rate()
        reached = (
            f"{hits[0]:.2f} %, {hits[1]:.2f} %; whole periods {whole:.1f} %; {len(stream)} calls, {kinds} functions"
        )
        met = all(hit >= least for hit, least in zip(hits, bars, strict=True)) if memory else None
        words = f"{what}, N = {window}" + (f", memory {memory}" if memory else "")
        results.append(Result(words, bar if memory else "-", reached, met))
    return results


def record_calls(bed: Bed, command: list[str], folder: Path) -> NDArray[np.int64]:
    """Return the functions called by the first thread of a -pg program, as addresses, after SKIP of them; shape (n,).

    A program with fewer calls is taken from its first call.
    """
    recorder = bed.scratch / "calls_recorder.so"
    words = ["gcc", "-O2", "-mgeneral-regs-only", "-fPIC", "-shared", "-Wl,-z,now"]
    subprocess.run([*words, str(HERE / "programs" / "calls_recorder.c"), "-o", str(recorder)], check=True)
    file = bed.scratch / "calls.bin"
    for skip in (SKIP, 0):
        settings = {"CALLS_FILE": str(file), "CALLS_SKIP": str(skip), "CALLS_MOST": str(CALLS)}
        env = {**os.environ, **settings, "LD_PRELOAD": str(recorder)}
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(command, cwd=folder, env=env, check=False, **quiet)  # type: ignore[call-overload]
        recorded = np.fromfile(file, dtype=np.int64)
        recorded = recorded[: int(np.count_nonzero(recorded))]  # addresses are not 0, unused entries are
        if len(recorded) >= CALLS // 2:
            break
    return recorded
