"""benchmarks/gpu.py on the stand-ins: that what is recorded is compared with the truth."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.gpu import (
    Bench,
    Failed,
    activities,
    against_truth,
    all_kernels,
    by_phase,
    launching_paths,
    other_rows,
)
from incprof.study.study import Study
from tests.integration.conftest import Build


@pytest.fixture
def bench(build: Build, tmp_path: Path) -> tuple[Bench, Path]:
    cupti = build("standin_cupti.c", flags="-O1 -shared -fPIC -pthread", pg=False, output="libcupti.so.12")
    cuda = build("standin_cuda.c", flags="-O1 -shared -fPIC", pg=False, output="libcuda.so.1")
    program = build("gpu_host.c", cuda, flags="-O1 -pthread -fno-optimize-sibling-calls", pg=False, output="gpu_host")
    found = Bench(tmp_path, {**os.environ, "INCPROF_CUPTI": str(cupti), "STANDIN_CUPTI": str(cupti)})
    return found, program


def test_a_run_is_compared_with_what_the_program_printed(bench: tuple[Bench, Path]) -> None:
    runs, program = bench
    # The path of the first launch shows the collector the driver's library, from the next interval on.
    words = ["devices:1:1000", "burn:1200", "run:500:100000:1000", "move:20:1000000:50000", "wait:3000000", "burn:60"]
    truth, directory = runs.record(program, *words)
    ((path, found),) = activities(directory).items()
    assert all_kernels([truth], [found]).met
    rows = {row.what: row for row in against_truth(truth, found)}
    assert [row.met for row in rows.values()] == [True, True, True]
    assert rows["time of kernel relax, against events"].reached == "0.05 of 0.05 s"
    assert launching_paths(path, directory, {"relax": "relax"}).reached == "100.0%"
    assert launching_paths(path, directory, {"relax": "shuttle"}).met is False


def test_phases_are_compared_with_what_the_program_did_in_them(bench: tuple[Bench, Path]) -> None:
    runs, program = bench
    # Records end when their word is read: each word's work is within its phase, which begins with host work.
    busy = ["begin:1", "burn:1400", *["burn:50", "run:40:1000000:100000", "wait:20000000"] * 20, "end:1"]
    words = ["burn:1500", *busy, "burn:1500"]
    truth, directory = runs.record(program, *words)
    ((_, found),) = activities(directory).items()
    study = Study(directory)
    rows = {row.what: row for row in by_phase(truth.phases, found, study.profile, study.phases())}
    assert [*rows] == ["phase of phase-1: device busy", "phase of phase-1: host waits"]
    assert all(row.met for row in rows.values()), rows
    ((name, one),) = truth.phases.items()
    wrong = {name: replace(one, amounts={"busy_s": one.amounts["busy_s"] * 1.03})}
    (row,) = by_phase(wrong, found, study.profile, study.phases())
    assert row.met is False


def test_kernels_without_records_are_missed(bench: tuple[Bench, Path]) -> None:
    runs, program = bench
    (row,) = other_rows(runs, "the host", program, "burn:60", "run:40:1000:10", "burn:60")
    assert (row.met, row.reached) == (True, "40 of 40")


def test_a_program_without_kernels_is_a_failure(bench: tuple[Bench, Path]) -> None:
    runs, _ = bench
    with pytest.raises(Failed, match="no GPU activity"):
        other_rows(runs, "nothing", "sh", "-c", "true")
