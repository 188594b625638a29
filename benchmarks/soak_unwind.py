"""Soak: a million samples of each kind of code that an unwinder may trip over, and no fault in any.

    python benchmarks/soak_unwind.py [--samples 1000000] [CASE ...]

Each program prints `done` and exits with 7 when all is well. It is run under the collector at 10 000 samples a second
(INCPROF_CLOCK=perf) until the samples are there. Exit status 1 when any run ended otherwise.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from incprof.launch import find_library
from incprof.readers import open_run, read_profile

FIXTURES = Path(__file__).resolve().parent.parent / "tests" / "integration" / "fixtures"
RATE = 10_000
CHUNK_S = 20.0


@dataclass(frozen=True)
class Case:
    """A fixture; its arguments end with the CPU seconds to use, or `repeats` per second of them."""

    name: str
    build: str
    arguments: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    expect: tuple[int, str] = (7, "done\n")
    repeats: int | None = None


CASES = (
    Case("exceptions", "g++ throwing.cpp", expect=(0, "caught "), repeats=90_000),
    Case("guard pages", "gcc guarded.c -pthread"),
    Case("signal stacks of 8 KiB", "gcc altstack.c -pthread"),
    Case("signal stacks of 64 KiB", "gcc altstack.c -pthread", after=("65536",)),
    Case("coroutines", "gcc coroutines.c"),
    Case("no and wrong tables", "gcc strange_main.c strange.S"),
    Case("code made at run time", "gcc jit.c"),
    Case("libraries that come and go", "gcc reload.c -pthread", arguments=("libplugin.so",)),
)


def build(case: Case, place: Path) -> Path:
    """Compile a case in `place`."""
    compiler, *words = case.build.split()
    sources = [str(FIXTURES / word) if "." in word else word for word in words]
    target = place / "program"
    subprocess.run([compiler, "-pg", "-g", "-O2", *sources, "-o", target], check=True)
    plugin: tuple[str | Path, ...] = (FIXTURES / "plugin.c", "-o", place / "libplugin.so")
    subprocess.run(["gcc", "-pg", "-g", "-O2", "-shared", "-fPIC", *plugin], check=True)
    return target


def run_once(case: Case, program: Path, place: Path, seconds: float) -> tuple[int, int, str]:
    """Samples, broken paths, and what was wrong (nothing: the empty string)."""
    with tempfile.TemporaryDirectory(dir=place) as directory:
        environment = {
            **os.environ,
            "LD_PRELOAD": str(find_library(os.environ)),
            "INCPROF_DIR": f"{directory}/run",
            "INCPROF_CLOCK": "perf",
            "INCPROF_RATE": str(RATE),
        }
        amount = str(int(seconds * case.repeats)) if case.repeats else str(seconds)
        arguments = [str(place / word) if word.startswith("lib") else word for word in case.arguments]
        command: list[str | Path] = [program, *arguments, amount, *case.after]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        status, output = case.expect
        if done.returncode != status or not done.stdout.startswith(output):
            return 0, 0, f"status {done.returncode}, {done.stdout!r}, {done.stderr!r}"
        counters = read_profile(open_run(f"{directory}/run")).counters
        return int(counters.samples.sum()), int(counters.broken.sum()), ""


def soak(case: Case, wanted: int) -> bool:
    """Run a case until `wanted` samples were taken; print a line."""
    samples = broken = runs = 0
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        program = build(case, place)
        while samples < wanted:
            more, more_broken, problem = run_once(case, program, place, min(CHUNK_S, 0.2 + (wanted - samples) / RATE))
            if problem or not more:
                print(f"{case.name}: FAILED after {samples} samples: {problem or 'no samples'}")
                return False
            samples, broken, runs = samples + more, broken + more_broken, runs + 1
    print(f"{case.name}: {samples} samples in {runs} runs, no fault; {broken / samples:.1%} of the paths incomplete")
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("cases", nargs="*", help="parts of names of cases; all by default")
    options = parser.parse_args()
    chosen = [case for case in CASES if not options.cases or any(word in case.name for word in options.cases)]
    failed = [case for case in chosen if not soak(case, options.samples)]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
