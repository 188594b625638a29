"""Sampled allocations against programs that count what they allocate themselves."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from incprof.record.launch import MEMORY_LIBRARY, _find_library, find_library
from incprof.systems.memory.read import Allocations, read_allocations
from tests.integration.collector import Recording
from tests.integration.conftest import Build, Record

MIB = 1 << 20
BURN = "burn:60"
NEAR_S = 0.02


@pytest.fixture
def program(build: Build) -> Path:
    return build("allocations.c", flags="-O2 -pthread -fno-builtin", pg=False)


def recorded(record: Record, program: Path, *words: str, mean: int = 65536, preload: str = "") -> Recording:
    own = f"{find_library(os.environ)}:{_find_library(MEMORY_LIBRARY, os.environ)}"
    env = {"INCPROF_EXE": str(program), "LD_PRELOAD": own + preload, "INCPROF_MEMORY": str(mean)}
    return record([program, BURN, *words, BURN], env=env, interval=0.05)


def found_in(recording: Recording, name: str = "rank-00000.gmon") -> Allocations:
    found = read_allocations(str(recording.directory / name))
    assert found is not None
    assert found.damaged == 0
    assert not found.own_allocator
    return found


def alive_b(found: Allocations) -> float:
    return float(found.weight[np.isinf(found.freed_s)].sum())


@pytest.mark.parametrize(
    "words",
    [
        ("churn:64:1000000",),
        ("churn:5000:20000", "calloc:100:500000", "memalign:1000:50000"),
        ("keep:1000:100000",),
        ("keep:200:300000", "drop", "keep:3000000:20"),
        ("grow:100000:60",),
        ("map:300000:300", "churn:100:1000000"),
    ],
)
def test_bytes_agree_with_the_programs_own_count(program: Path, record: Record, words: tuple[str, ...]) -> None:
    recording = recorded(record, program, *words)
    found, told = found_in(recording), recording.outcome.values()
    assert found.allocated_b == pytest.approx(told["allocated"], rel=0.03)
    # The samples by themselves: their usual error is that of counting them. One of 100 runs that grow has no sample of
    # the first two sizes, 100 and 200 kB.
    by_samples = float(found.weight[~found.is_remainder].sum())
    assert abs(by_samples - told["allocated"]) <= 5 * np.sqrt(float((found.weight * found.mean).sum())) + 400000
    error = np.sqrt(float((found.weight * found.mean)[np.isinf(found.freed_s)].sum()))
    assert abs(alive_b(found) - told["alive"]) <= 5 * error + 200000
    # The program goes on between the end of an interval and the count.
    for end, alive in zip(found.end_s.tolist(), found.alive.tolist(), strict=True):
        surely = ((found.time_s <= end - NEAR_S) & (found.freed_s > end + NEAR_S)).sum()
        perhaps = ((found.time_s <= end + NEAR_S) & (found.freed_s > end - NEAR_S)).sum()
        assert surely - 1 - 0.02 * surely <= alive <= perhaps + 1 + 0.02 * perhaps


def test_what_is_left_of_a_mapping_stays_alive(program: Path, record: Record) -> None:
    recording = recorded(record, program, f"halve:{64 * MIB}")
    found = found_in(recording)
    assert alive_b(found) == pytest.approx(32 * MIB, rel=0.02)
    assert found.is_remainder.sum() == 1
    assert recording._path(int(found.node[found.is_remainder][0])) == ("main",)


def test_threads_and_their_paths(program: Path, record: Record) -> None:
    recording = recorded(record, program, "threads:1000:100000")
    found, told = found_in(recording), recording.outcome.values()
    assert found.allocated_b == pytest.approx(told["allocated"], rel=0.03)
    paths = {recording._path(int(node)) for node in np.unique(found.node[found.thread > 0])}
    assert ("on_thread", "churn") in paths


def test_a_forked_child_has_its_own(program: Path, record: Record) -> None:
    recording = recorded(record, program, "keep:1000:50000", "fork:1000:100000")
    (child,) = recording.directory.glob("rank-00000.*.gmon")
    found = found_in(recording, child.name)
    assert found.allocated_b == pytest.approx(1e8, rel=0.03)
    assert alive_b(found) < 1e6


@pytest.mark.parametrize("library", ["libjemalloc.so.2", "libtcmalloc_minimal.so.4"])
def test_other_allocators(program: Path, record: Record, library: str) -> None:
    places = list(Path("/usr/lib").glob(f"*/{library}"))
    if not places:
        pytest.skip(f"{library} is not installed")
    recording = recorded(record, program, "churn:1000:100000", "keep:1000:50000", preload=f":{places[0]}")
    found, told = found_in(recording), recording.outcome.values()
    assert found.allocated_b == pytest.approx(told["allocated"], rel=0.03)


def test_fewer_are_recorded_where_they_would_cost_too_much(program: Path, record: Record) -> None:
    recording = recorded(record, program, "churn:1000:3000000", mean=256)
    found, told = found_in(recording), recording.outcome.values()
    assert found.usual_mean.max() > 256
    assert found.lost.max() < 0.2 * told["allocated"] / 256
    assert found.allocated_b == pytest.approx(told["allocated"], rel=0.03)
