"""Running a harness: its inputs, its limits, and its report."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from fuzz.harnesses import KEPT, Harness
from fuzz.seeds import whole_files, write_seeds

LIMITS = ("-timeout=10", "-rss_limit_mb=2048", "-malloc_limit_mb=1024", "-print_final_stats=1")


@dataclass(frozen=True)
class Ran:
    """Result of one run of a harness. `fault`: its report, or empty; `input`: the file that it left, if any."""

    name: str
    executions: int
    edges: int
    features: int
    fault: str
    input: Path | None


def _run(program: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    options = "detect_leaks=1:allocator_may_return_null=1"
    environment = {**os.environ, "ASAN_OPTIONS": options, "UBSAN_OPTIONS": "print_stacktrace=1"}
    return subprocess.run([str(program), *words], capture_output=True, text=True, errors="replace", env=environment,
                          check=False)  # fmt: skip


def _last(pattern: str, text: str) -> int:
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def kept_inputs(harness: Harness) -> list[Path]:
    """Return the inputs that have found a fault before."""
    return sorted((KEPT / harness.name).glob("*"))


def replay(harness: Harness, program: Path, place: Path) -> str:
    """Run the kept inputs and the whole files, unchanged. Return a report of all faults, or an empty text."""
    files = [str(path) for path in (*kept_inputs(harness), *whole_files(harness.name, place / "whole"))]
    if not files:
        return ""
    done = _run(program, [*LIMITS, "-timeout=60", *files])
    return "" if done.returncode == 0 else done.stderr[-6000:]


def run(harness: Harness, program: Path, place: Path, *, seconds: int = 0, runs: int = -1, seed: int = 0) -> Ran:
    """Run a harness for a number of seconds or inputs on its corpus in `place`, which is created if missing.

    seed 0: another one each time.
    """
    corpus, found = place / "corpus" / harness.name, place / "found" / harness.name
    found.mkdir(parents=True, exist_ok=True)
    write_seeds(harness.name, harness.longest, corpus)
    before = set(found.iterdir())
    words = [*LIMITS, f"-max_len={harness.longest}", f"-seed={seed}", f"-runs={runs}", f"-max_total_time={seconds}"]
    words += [f"-artifact_prefix={found}/", str(corpus)]
    done = _run(program, words + [str(KEPT / harness.name)] * bool(kept_inputs(harness)))
    left = sorted(set(found.iterdir()) - before)
    return Ran(
        name=harness.name,
        executions=_last(r"stat::number_of_executed_units:\s+(\d+)", done.stderr),
        edges=_last(r"cov: (\d+)", done.stderr),
        features=_last(r"ft: (\d+)", done.stderr),
        fault="" if done.returncode == 0 else done.stderr[-6000:],
        input=left[0] if left else None,
    )
