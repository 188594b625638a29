"""The effect of heartbeats on whole programs: a run with a million per second, and a build without them."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
from pathlib import Path

from appekg import _flags, _library
from benchmarks.bed import HERE, Bed
from benchmarks.heartbeats import build, environment
from benchmarks.measure import Result, compare, run

ALIGNED = ("-falign-functions=64", "-falign-loops=64")


def whole_run(bed: Bed, work: str) -> list[Result]:
    """Compare a program with a million beats a second with the same program built with -DEKG_OFF (CPU time).

    The last row shows the effect of two bare counter reads in the place of each beat.
    """
    with_beats, without = _programs(bed)
    reads = build(bed, "beats_work.c", *ALIGNED, "-DEKG_OFF", "-DREADS", name="beats_work_reads")
    words = _steps_of(bed, without, work, 1e-6, 500_000)
    rates: list[float] = []

    def cost(program: Path) -> float:
        usage = run([program, *words], bed.scratch, environment(bed))
        if program == with_beats:
            rates.append(1 / float(usage.output))
        return usage.cpu_s

    ratio = compare(lambda: cost(with_beats), lambda: cost(without), 3 * bed.pairs)
    limit = compare(lambda: cost(reads), lambda: cost(without), 3 * bed.pairs)
    what = f"whole run with 1e6 beats a second against -DEKG_OFF: {work}"
    reached = f"{ratio}; {statistics.median(rates):.3g} beats per CPU second"
    return [
        Result(what, "at most 1.06x", reached, ratio.median <= 1.06),
        Result("the same, two counter reads instead of each beat", "-", str(limit), None),
    ]


def thinned(bed: Bed, work: str, step_s: float) -> Result:
    """Measure a program whose steps are far too small for a beat each, with the default limit of overhead.

    Against the same program built with -DEKG_OFF (CPU time).
    """
    with_beats, without = _programs(bed)
    words = _steps_of(bed, without, work, step_s, round(0.5 / step_s))

    def cost(program: Path) -> float:
        return run([program, *words], bed.scratch, environment(bed, overhead=1)).cpu_s

    ratio = compare(lambda: cost(with_beats), lambda: cost(without), 3 * bed.pairs)
    what = f"whole run with {1 / step_s:.0e} beats a second, thinned to 1 %, against -DEKG_OFF: {work}"
    return Result(what, "at most 1.03x", str(ratio), ratio.median <= 1.03)


def _programs(bed: Bed) -> tuple[Path, Path]:
    """Return the program with its beats and without."""
    without = build(bed, "beats_work.c", *ALIGNED, "-DEKG_OFF", name="beats_work_off")
    return build(bed, "beats_work.c", *ALIGNED), without


def _steps_of(bed: Bed, without: Path, work: str, step_s: float, steps: int) -> list[str]:
    """Return the arguments for that many steps of about that many seconds."""
    probes = [float(run([without, work, "1000", "200000"], bed.scratch).output) for _ in range(5)]
    return [work, str(max(round(1000 * step_s / min(probes)), 1)), str(steps)]


def compiled_out(bed: Bed) -> Result:
    """Compare the machine code of a function with every call, -DEKG_OFF, with that of the same source without them."""
    source = (HERE / "programs" / "beats_off.cpp").read_text()
    plain = bed.scratch / "beats_none.cpp"
    kept = [line for line in source.splitlines() if "ekg_" not in line and "EKG_" not in line]
    plain.write_text("\n".join(kept) + "\n")
    builds = [(compiler, level) for compiler in ("gcc -x c", "g++") for level in ("-O0", "-O2", "-O3")]
    same = [
        _text(bed, HERE / "programs" / "beats_off.cpp", compiler, level, "-DEKG_OFF")
        == _text(bed, plain, compiler, level)
        for compiler, level in builds
        if shutil.which(compiler.split()[0])
    ]
    reached = f"{sum(same)} of {len(same)} builds the same (C and C++, -O0, -O2, -O3)"
    return Result("-DEKG_OFF against the source without the calls", "same machine code", reached, all(same))


def _text(bed: Bed, source: Path, compiler: str, *flags: str) -> bytes:
    """Return the machine code that a compiler generates for a file, with its relocations."""
    part, text = bed.scratch / "part.o", bed.scratch / "part.text"
    include = _flags.compile_flags(_library.find(os.environ))
    subprocess.run([*compiler.split(), *flags, *include, "-c", str(source), "-o", str(part)], check=True)
    subprocess.run(["objcopy", "-O", "binary", "-j", ".text", str(part), str(text)], check=True)
    calls = subprocess.run(["objdump", "-r", str(part)], capture_output=True, text=True, check=True).stdout
    return text.read_bytes() + calls.encode()
