"""The cost of recording: per call, per run, per sample, per interval, and in bytes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

from benchmarks.bed import HERE, Bed
from benchmarks.measure import Command, Ratio, Result, compare, run

# Work of callheavy: some two seconds.
ROUNDS = "1200"


def cost_per_call(bed: Bed, threads: int) -> Result:
    """Compare the own mcount with glibc's on the same binary, by the time that the program itself measures."""
    program = bed.compile("calls.c")
    command = [program, "40000000" if threads == 1 else "20000000", str(threads)]

    def ours() -> float:
        return float(run(command, bed.scratch, bed.environment()).output)

    def glibc() -> float:
        return float(run(command, bed.scratch).output)

    ratio = compare(ours, glibc, bed.pairs)
    what = f"cost per call, own mcount against glibc's, {threads} thread{'s' * (threads > 1)}"
    return Result(what, "at most 0.5x", str(ratio), ratio.median <= 0.5)


def empty_hook(bed: Bed, source: str, *flags: str) -> Result:
    """Compare the own mcount with an empty one, which costs only the call and the function's frame."""
    program = bed.compile(source, *flags)
    empty = _empty(bed)

    def ours() -> float:
        return run([program, ROUNDS], bed.scratch, bed.environment()).cpu_s

    def nothing() -> float:
        return run([program, ROUNDS], bed.scratch, empty).cpu_s

    ratio = compare(ours, nothing, bed.pairs)
    what = " ".join(["whole run, counted against a hook that does nothing: callheavy", *flags])
    return Result(what, "at most 1.1x", str(ratio), ratio.median <= 1.1)


def _empty(bed: Bed) -> dict[str, str]:
    """Return the environment with a hook that counts nothing."""
    library = bed.scratch / "empty_hook.so"
    subprocess.run(["gcc", "-shared", "-fPIC", str(HERE / "programs" / "empty_hook.S"), "-o", str(library)], check=True)
    return {**os.environ, "LD_PRELOAD": str(library)}


def calls_lost(bed: Bed) -> Result:
    """Compare counted with actual calls of two threads, next to the count of glibc's runtime."""
    from incprof.readers.run import open_run, read_profile

    program = bed.compile("calls.c")
    made = 2 * 20_000_000
    run([program, "20000000", "2"], bed.scratch, bed.environment())
    profile = read_profile(open_run(str(bed.scratch / "run")))
    index = next(i for i, f in enumerate(profile.functions) if f.name == "leaf")
    counted = int(profile.calls.sum(axis=0)[index])
    run([program, "20000000", "2"], bed.scratch)
    text = subprocess.run(
        ["gprof", "-b", "-p", str(program), "gmon.out"], cwd=bed.scratch, capture_output=True, text=True, check=True
    ).stdout
    peer = next((int(line.split()[3]) for line in text.splitlines() if line.endswith(" leaf")), 0)
    reached = f"{made - counted} of {made} lost (glibc: {100 * (made - peer) / made:.0f} %)"
    return Result("calls lost with 2 threads", "none", reached, counted == made)


def _cpu(bed: Bed, command: Command, recorded: bool, **settings: object) -> Callable[[], float]:
    def measure() -> float:
        env = bed.environment(**settings) if recorded else None
        return run(command, bed.scratch, env).cpu_s

    return measure


def zstd_command(bed: Bed) -> Command | None:
    """Return a fixed amount of work for zstd: one file, one level, one thread."""
    program = bed.zstd()
    if program is None:
        return None
    data = bed.scratch / "zstd.input"
    if not data.exists():
        words = [f"{i * 2654435761 % 99991:x} {'phase' * (i % 3)}" for i in range(400_000)]
        data.write_text("\n".join(words * 18))
    return [program, "-9", "--single-thread", "-q", "-f", "-o", "/dev/null", data]


def whole_run(bed: Bed, name: str, command: Command | None) -> Result:
    """Compare the whole run at 1 s intervals with the same binary under glibc's runtime (CPU time)."""
    what = f"whole run, 1 s intervals, against glibc's runtime: {name}"
    if command is None:
        return Result(what, "at most 1.0x", "not measured: zstd could not be built", False)
    ratio = compare(_cpu(bed, command, True), _cpu(bed, command, False), 3 * bed.pairs)
    return Result(what, "at most 1.0x", str(ratio), ratio.median <= 1.0)


def sample_rate(bed: Bed) -> Result:
    """Compare 1 000 delivered samples a second with 100."""
    program = bed.compile("callheavy.c")
    delivered: list[float] = []

    def fast() -> float:
        from incprof.readers.run import open_run, read_profile

        usage = run([program], bed.scratch, bed.environment(clock="perf", rate=1000))
        profile = read_profile(open_run(str(bed.scratch / "run")))
        delivered.append(len(profile.samples.time_s) / usage.cpu_s)
        return usage.cpu_s

    ratio = compare(fast, _cpu(bed, [program], True, clock="perf", rate=100), 3 * bed.pairs)
    reached = f"{ratio}, {sorted(delivered)[len(delivered) // 2]:.0f} samples per CPU second"
    what = "whole run, 1 000 samples a second against 100 (INCPROF_CLOCK=perf)"
    return Result(what, "at most 1.03x", reached, ratio.median <= 1.03)


def short_intervals(bed: Bed) -> Result:
    """Compare 10 ms intervals with 1 s intervals."""
    program = bed.compile("callheavy.c")
    ratio: Ratio = compare(
        _cpu(bed, [program], True, interval="0.01"), _cpu(bed, [program], True, interval="1"), 3 * bed.pairs
    )
    return Result("whole run, 10 ms intervals against 1 s", "at most 1.02x", str(ratio), ratio.median <= 1.02)
