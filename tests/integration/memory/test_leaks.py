"""Leak verdicts on recorded programs whose truth is drawn: no false one, and nearly all leaks found."""

from __future__ import annotations

import os
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from scipy.stats import binom

from incprof.record.launch import MEMORY_LIBRARY, _find_library, find_library
from incprof.study.study import Study
from incprof.systems.memory.analyse import PhaseMemory, memory_by_phase
from incprof.systems.memory.read import read_allocations
from tests.integration.collector import run, variables
from tests.integration.conftest import Build

PROGRAMS, AT_ONCE = 40, 4
HARMLESS = ("steady", "cache", "sawtooth", "plateau", "late")
STEPS = 150


def phases_of(directory: Path) -> list[PhaseMemory]:
    study = Study(directory)
    allocations = read_allocations(str(directory / "rank-00000.gmon"))
    assert allocations is not None
    return memory_by_phase(allocations, study.profile, study.phases())


@pytest.mark.slow
def test_leaks_of_drawn_programs(build: Build, tmp_path: Path) -> None:
    program = build("leaks.c", flags="-O2 -fno-builtin", pg=False)
    libraries = f"{find_library(os.environ)}:{_find_library(MEMORY_LIBRARY, os.environ)}"
    draw = random.Random(6)
    drawn = [
        ("leak" if at % 2 == 0 else HARMLESS[at // 2 % len(HARMLESS)], round(10 ** draw.uniform(4.8, 5.6)),
         draw.choice([6300, 7900, 10300]))
        for at in range(PROGRAMS)
    ]  # fmt: skip

    def record(at: int) -> Path:
        place = tmp_path / str(at)
        place.mkdir()
        environment = variables(place / "run", interval=0.025, rate=250)
        environment |= {"INCPROF_EXE": str(program), "LD_PRELOAD": libraries, "INCPROF_MEMORY": "64K"}
        kind, size, step_us = drawn[at]
        assert run([program, kind, str(size), str(STEPS), str(step_us)], place, environment).status == 0
        return place / "run"

    with ThreadPoolExecutor(AT_ONCE) as pool:
        directories = list(pool.map(record, range(PROGRAMS)))
    told = [any(each.growth and each.growth.is_leak for each in phases_of(directory)) for directory in directories]
    # No step is a multiple of a kernel tick: CPU timers would miss a program that always sleeps at one.
    false = [drawn[at] for at in range(PROGRAMS) if told[at] and drawn[at][0] != "leak"]
    missed = [drawn[at] for at in range(PROGRAMS) if not told[at] and drawn[at][0] == "leak"]
    assert not false
    # Most that a method misses by chance if it finds 95 %.
    assert len(missed) <= binom.ppf(0.99, PROGRAMS / 2, 0.05), missed
