"""The cost of `record --memory` per allocation; that of whole programs is measured by phase_card.py."""

from __future__ import annotations

import os
import statistics
import subprocess
from collections.abc import Callable, Iterable
from functools import partial

from benchmarks.bed import HERE, Bed
from benchmarks.measure import Command, Result, compare, run
from incprof.record import launch

BAR = 1.02
PAIR_BAR_NS = 2.0
TIMES = "20000000"
# With so much work in each iteration it takes 100 ns: 10 million allocations a second.
ITERATION_NS = 100


def benchmarks(bed: Bed) -> Iterable[tuple[str, Callable[[], Result | list[Result]]]]:
    """Yield name and measurement of each benchmark."""
    for how in ("malloc", "calloc", "realloc", "new"):
        yield f"memory-pair-{how}", partial(pair, bed, how)
    yield "memory-rate", partial(rate, bed)


def _environment(bed: Bed, command: Command, with_memory: bool | None) -> dict[str, str]:
    """Return the variables for a command that is recorded with or without --memory, or not (None)."""
    if with_memory is None:
        return dict(os.environ)
    collector = launch.find_library(os.environ)
    beside = f":{collector.with_name(launch.MEMORY_LIBRARY)}" if with_memory else ""
    return bed.environment(exe=os.path.realpath(command[0])) | {"LD_PRELOAD": f"{collector}{beside}"}


def _program(bed: Bed) -> str:
    program = bed.scratch / "allocations"
    source = HERE / "programs" / "allocations.cpp"
    subprocess.run(["g++", "-O2", "-g", "-fno-builtin", str(source), "-o", str(program)], check=True)
    return str(program)


def _iteration_ns(bed: Bed, command: Command, with_memory: bool | None) -> float:
    return float(run(command, bed.scratch, _environment(bed, command, with_memory)).output)


def pair(bed: Bed, how: str) -> Result:
    """Measure what a pair of an allocation and a release of some 50 bytes adds, samples included."""
    command = [_program(bed), how, TIMES, "0"]
    alone, recorded = list[float](), list[float]()
    for turn in range(bed.pairs):
        for with_memory in (None, True) if turn % 2 == 0 else (True, None):
            (alone if with_memory is None else recorded).append(_iteration_ns(bed, command, with_memory))
    added = [ours - theirs for ours, theirs in zip(recorded, alone, strict=True)]
    median = statistics.median(added)
    reached = f"{median:.2f} ns ({min(added):.2f} to {max(added):.2f}); alone {statistics.median(alone):.1f} ns"
    return Result(f"record --memory, a pair of {how} and its release", f"adds at most {PAIR_BAR_NS:g} ns", reached,
                  median <= PAIR_BAR_NS)  # fmt: skip


def rate(bed: Bed) -> list[Result]:
    """Compare a program that allocates 10 million times a second with itself recorded without --memory, and alone."""
    program, work = _program(bed), 1000
    alone_ns, with_work_ns = (
        _iteration_ns(bed, [program, "malloc", "1000000", each], None) for each in ("0", str(work))
    )
    work = round(work * (ITERATION_NS - alone_ns) / (with_work_ns - alone_ns))
    command = [program, "malloc", TIMES, str(work)]
    found = []
    for peer, with_memory in (("a recording without it", False), ("no recording", None)):
        ratio = compare(
            partial(_iteration_ns, bed, command, True), partial(_iteration_ns, bed, command, with_memory), bed.pairs
        )
        what = f"record --memory, 10 million allocations a second, against {peer}"
        found.append(Result(what, f"at most {BAR:g}x", f"{ratio.text(4)}", ratio.median <= BAR))
    return found
