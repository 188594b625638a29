"""What `record --memory` estimates against heaptrack, memray, mallinfo2 and a program's own exact count."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from incprof.study.study import Study
from incprof.systems.memory.analyse import PhaseMemory, curve_of, memory_by_phase
from incprof.systems.memory.read import Allocations, read_allocations
from tests.integration.collector import FIXTURES, clean_environment
from tests.integration.conftest import Build

ALLOCATED, PEAK = 0.03, 0.05
PYTHON_PROGRAM = FIXTURES / "memory_phases.py"

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Recorded:
    """A recording by `record --memory`: what the program printed, its allocations, and its phases by main function."""

    output: dict[str, int]
    allocations: Allocations
    phases: dict[str, PhaseMemory]

    @property
    def peak_b(self) -> float:
        return float(curve_of(self.allocations).values.max())


def recorded(command: Sequence[str | Path], place: Path, mean: str) -> Recorded:
    words = [sys.executable, "-m", "incprof", "record", f"--memory={mean}", "-i", "50ms", "-o", "run", "--", *command]
    done = subprocess.run(words, cwd=place, env=clean_environment(), capture_output=True, text=True, check=True)
    allocations = read_allocations(str(place / "run" / "rank-00000.gmon"))
    assert allocations is not None
    study = Study(place / "run")
    # On a busy machine the program may be off the CPU for long enough to be in a phase without functions.
    names = {each.id: each.functions[0].function.name for each in study.phases().present if each.functions}
    memory = memory_by_phase(allocations, study.profile, study.phases())
    phases = {names[each.id]: each for each in memory if each.id in names}
    output = {name: int(number) for name, number in re.findall(r"^([\w.]+) (\d+)$", done.stdout, re.MULTILINE)}
    return Recorded(output, allocations, phases)


def alive_at(time_s: float, allocations: Allocations) -> tuple[float, float]:
    """Return the bytes that are alive at a time (infinity: never freed), and the standard error of that estimate.

    The error is that of counting samples: 2 to 4 % here, as the recorder takes fewer than asked for where many
    allocations a second would cost too much.
    """
    alive = (allocations.time_s <= time_s) & ((allocations.freed_s > time_s) | np.isinf(allocations.freed_s))
    bytes_alive = float(allocations.weight[alive].sum())
    return bytes_alive, float(np.sqrt((allocations.weight * allocations.mean)[alive].sum()))


def assert_peak_is(peak_b: float, found: Recorded) -> None:
    curve = curve_of(found.allocations)
    _, error = alive_at(float(curve.times[curve.values.argmax()]), found.allocations)
    assert abs(found.peak_b - peak_b) <= 5 * error


@pytest.fixture(scope="module")
def program(build: Build) -> Path:
    return build("memory_phases.c", flags="-O2 -fno-builtin", pg=False)


@pytest.mark.parametrize("mean", ["64K", "512K"])
def test_phases_agree_with_the_programs_own_count(program: Path, tmp_path: Path, mean: str) -> None:
    found = recorded([program], tmp_path, mean)
    assert set(found.phases) == {"fill", "churn", "shrink"}
    for name, phase in found.phases.items():
        # What a thread allocates around a change of phase, between two samples, is divided by half.
        between = 3 * float(found.allocations.usual_mean.max())
        truth = found.output[f"{name}.allocated"]
        assert phase.allocated_b == pytest.approx(truth, rel=ALLOCATED, abs=between), name
        assert phase.peak_b == pytest.approx(found.output[f"{name}.peak"], rel=PEAK), name
    assert found.allocations.allocated_b == pytest.approx(found.output["run.allocated"], rel=ALLOCATED)


def test_what_is_alive_at_the_end_agrees_with_mallinfo(program: Path, tmp_path: Path) -> None:
    found = recorded([program], tmp_path, "16K")
    alive, error = alive_at(np.inf, found.allocations)
    assert abs(alive - found.output["run.in_use"]) <= 5 * error


def decimal_bytes(text: str) -> float:
    """Return the bytes of a size that heaptrack prints: 160.39M."""
    number, unit = re.fullmatch(r"([\d.]+)([BKMG])", text).groups()
    return float(number) * {"B": 1, "K": 1e3, "M": 1e6, "G": 1e9}[unit]


def test_a_c_program_agrees_with_heaptrack(program: Path, tmp_path: Path) -> None:
    tools = [shutil.which(name) for name in ("heaptrack", "heaptrack_print")]
    if None in tools:
        pytest.skip("heaptrack is missing")
    subprocess.run([tools[0], "-o", tmp_path / "heaptrack", program], cwd=tmp_path, capture_output=True, check=True)
    (data,) = tmp_path.glob("heaptrack.*")
    printed = subprocess.run([tools[1], "-f", data], capture_output=True, text=True, check=True).stdout
    peak = decimal_bytes(re.search(r"peak heap memory consumption: (\S+)", printed)[1])
    leaked = decimal_bytes(re.search(r"total memory leaked: (\S+)", printed)[1])
    found = recorded([program], tmp_path, "64K")
    alive, error = alive_at(np.inf, found.allocations)
    assert_peak_is(peak, found)
    assert abs(alive - leaked) <= 5 * error


def test_a_python_program_agrees_with_memray(tmp_path: Path, scratch_memray: Path) -> None:
    data, stats = tmp_path / "memray.bin", tmp_path / "memray.json"
    memray = [scratch_memray, "-m", "memray"]
    for words in (["run", "-q", "-o", data, PYTHON_PROGRAM], ["stats", "--json", "-o", stats, data]):
        subprocess.run([*memray, *words], cwd=tmp_path, env=clean_environment(), capture_output=True, check=True)
    found = recorded([scratch_memray, PYTHON_PROGRAM], tmp_path, "64K")
    told = json.loads(stats.read_text())
    assert found.allocations.allocated_b == pytest.approx(told["total_bytes_allocated"], rel=ALLOCATED)
    assert_peak_is(told["metadata"]["peak_memory"], found)


@pytest.fixture(scope="module")
def scratch_memray(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a Python that has memray, in an environment of its own."""
    place = tmp_path_factory.mktemp("memray")
    python = place / "bin" / "python"
    for words in ([sys.executable, "-m", "venv", place], [python, "-m", "pip", "install", "-q", "memray"]):
        done = subprocess.run(words, env=dict(os.environ), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"memray cannot be installed: {done.stderr.strip().splitlines()[-1:]}")
    return python
