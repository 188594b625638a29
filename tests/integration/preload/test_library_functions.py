"""Time in a library is that of its function that the program called, and waiting in MPI is a phase of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from incprof.cli.main import main
from incprof.model import LIBRARY, IntervalProfile
from incprof.model.time_use import SPENT
from incprof.readers.run import modules_of, open_run, read_profile
from tests.integration.collector import Recording
from tests.integration.conftest import Build, Record
from tests.recordings.kept import kept

CALLED = {"MPI_Barrier": "settle", "cblas_dgemm": "multiply"}


SLOW = [pytest.param(flag, marks=pytest.mark.slow) for flag in ("-no-pie", "-fcf-protection=full")]


@pytest.fixture(scope="module", params=["", pytest.param("-fno-plt", marks=pytest.mark.slow), *SLOW])
def flags(request: pytest.FixtureRequest) -> str:
    """Ways to call a library: by a stub, or by the slot that the loader fills."""
    return f"-O2 -fno-pie {request.param}" if request.param == "-no-pie" else f"-O2 {request.param}"


def recorded(build: Build, record: Record, flags: str = "-O2") -> Recording:
    library = build("libcalls_lib.c", flags="-O2 -fPIC -shared", pg=False, output="libmpicalls.so")
    return record([build("libcalls.c", library, flags=flags), "0.5"], interval=60)


def seconds(profile: IntervalProfile) -> dict[str, float]:
    total = np.asarray(profile.self_s.sum(axis=0)).ravel().tolist()
    return {f.name: s for f, s in zip(profile.functions, total, strict=True) if s}


def test_a_called_function_has_its_time(build: Build, record: Record, flags: str) -> None:
    run = open_run(recorded(build, record, flags).directory)
    named, charged = read_profile(run, libs="named"), read_profile(run, libs="caller")
    after, before = seconds(named), seconds(charged)
    assert sum(after.values()) == pytest.approx(sum(before.values()))
    assert CALLED.keys() <= after.keys()
    assert not CALLED.keys() & before.keys()
    for library, caller in CALLED.items():
        assert after[library] + after.get(caller, 0.0) == pytest.approx(before[caller])
        assert after[library] > 0.9 * before[caller]
    # What is no visible part of any interval stays its caller's.
    assert "MPI_Wtime_rarely" not in after
    # A sample in a library ends below the function that was called, and that below its caller.
    inside = named.samples.node[named.samples.kind == LIBRARY]
    name = [*(f.name for f in named.functions), "-"]
    found = {(name[named.paths.function[named.paths.parent[n]]], name[named.paths.function[n]]) for n in set(inside)}
    assert set(zip(CALLED.values(), CALLED, strict=True)) <= found


def test_a_program_that_was_built_again_keeps_the_names(build: Build, record: Record, tmp_path: Path) -> None:
    library = build("libcalls_lib.c", flags="-O2 -fPIC -shared", pg=False, output="libmpicalls.so")
    program, other = tmp_path / "program", build("libcalls.c", library, flags="-O1")
    shutil.copy(build("libcalls.c", library), program)
    run = open_run(record([program, "0.5"], interval=60).directory)
    program.unlink()
    shutil.copy(other, program)
    profile = read_profile(run, libs="named")
    assert CALLED.keys() <= seconds(profile).keys()
    assert not profile.warnings
    # The copy of a large program has no code: a line says what cannot be known.
    copy = Path(run.directory) / "symbols" / f"{modules_of(run.processes[0])[0].build_id}.elf"
    subprocess.run(["objcopy", "--only-keep-debug", build("libcalls.c", library), copy], check=True)
    (warning,) = read_profile(run, libs="named").warnings
    assert "was built again since the run" in warning


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """Phases have no fixed number of samples on a busy machine: a recording that is kept."""
    return kept("libcalls", tmp_path).run


def phases(run: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict:
    assert main(["phases", str(run), "--json", *options]) == 0
    return json.loads(capsys.readouterr().out)


def test_waiting_in_mpi_is_a_phase(answers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = phases(answers, capsys)
    mains = [(phase["functions"][0]["name"], phase["mostly"]) for phase in found["phases"]]
    assert mains == [("relax", "work"), ("MPI_Barrier", "mpi"), ("cblas_dgemm", "work")]
    # No heartbeat goes into a library: it goes to the function of the program that called.
    assert [phase["sites"][0]["function"] for phase in found["phases"]] == ["relax", "settle", "multiply"]
    waiting = found["phases"][1]
    assert waiting["spent"]["mpi"] > 0.8 * sum(waiting["spent"][kind] for kind in SPENT)
    assert {what for what, label in zip(found["mostly"], found["labels"], strict=True) if label == 1} == {"mpi"}


def test_the_ribbon_separates_waiting_from_work(answers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["phases", str(answers), "--details"]) == 0
    text = capsys.readouterr().out
    assert "most of an interval: m: in MPI" in text
    lines = text.splitlines()
    line = lines[next(i for i, line in enumerate(lines) if line.startswith("0 s ")) - 1]
    assert set(line) == {" ", "m"}
    assert " % in MPI" in text


@pytest.mark.slow
def test_libs_changes_the_phases(answers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def mains(libs: str) -> list[str]:
        found = phases(answers, capsys, "--libs", libs)["phases"]
        return [function["name"] for phase in found for function in phase["functions"][:1]]

    assert mains("caller") == ["relax", "settle", "multiply"]
    assert mains("separate") == ["relax", "[libcalls.so]", "[libcalls.so]"]
    assert mains("drop") == ["relax"]
    # The paper's method has no libraries.
    assert not CALLED.keys() & set(mains("caller"))
    paper = phases(answers, capsys, "--method", "paper")
    assert not CALLED.keys() & {f["name"] for phase in paper["phases"] for f in phase["functions"]}
