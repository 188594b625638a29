"""Every program with known phases compiles without a warning, has the functions of its truth, and logs its phases."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from itertools import pairwise
from pathlib import Path

import pytest

from truth.places import PROGRAMS
from truth.recordings import Program, all_programs

pytestmark = pytest.mark.slow

TINY = "0.002"
WARNINGS = {".c": ["-Wall", "-Wextra"], ".cpp": ["-Wall", "-Wextra"], ".f90": ["-Wall"]}
# As root, in a container with few cores.
MPI = {
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_plm_rsh_agent": "",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}
COUNTING = """
#include "truth_log.h"
int main(void)
{
    truth_rank(3);
    for (int i = 0; i < 5000; i++) {
        truth_phase("odd");
        truth_phase("even");
    }
    return 0;
}
"""
COUNTING_FORTRAN = """
program counting
  use truth_log
  integer :: i
  call truth_rank(3)
  do i = 1, 5000
    call truth_phase('odd')
    call truth_phase('even')
  end do
  call truth_end()
end program counting
"""


def run(command: list[str], folder: Path, **environment: str) -> str:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    given = {name: value for name, value in os.environ.items() if name != "TRUTH_LOG"}
    done = subprocess.run(
        command, cwd=folder, env={**given, **environment}, capture_output=True, text=True, timeout=600, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), f"{command}: {done.stderr}"
    return done.stdout


def build(source: Path, folder: Path, compiler: str, flags: list[str], libs: list[str]) -> Path:
    """Compile as in the suite's README, but without debug information, which takes time."""
    words = [compiler, "-pg", *flags, *WARNINGS[source.suffix], "-I", str(PROGRAMS), str(source)]
    if source.suffix == ".f90":
        log = PROGRAMS / "truth_log.f90"
        run(["gfortran", "-O2", "-Wall", "-J", str(folder), "-c", str(log), "-o", "truth_log.o"], folder)
        words += ["-J", str(folder), "truth_log.o"]
    run([*words, *libs, "-o", str(folder / source.stem)], folder)
    return folder / source.stem


def stretches(log: Path) -> list[tuple[float, float, str]]:
    lines = [line.split(maxsplit=2) for line in log.read_text().splitlines()]
    return [(float(begin), float(end), name) for begin, end, name in lines]


def last_name(function: str) -> str:
    return function.rsplit("::", 1)[-1]


def places(program: Program) -> list[tuple[str, bool]]:
    """Every function that the truth names, and whether it is inlined."""
    phases = program.settings["phase"]
    assert isinstance(phases, list)
    return [
        (entry["function"], entry.get("inlined", False))
        for phase in phases
        for key in ("sites", "steps", "also", "also_steps")
        for entry in phase.get(key, [])
    ]


@pytest.mark.parametrize("program", all_programs(), ids=lambda program: program.name)
def test_a_program_matches_its_truth(program: Program, tmp_path: Path) -> None:
    compiler, *flags = program.words("build")
    binary = build(program.source, tmp_path, compiler, flags, program.words("libs"))
    symbols = run(["nm", "-C", str(binary)], tmp_path)
    for function, inlined in places(program):
        name = re.escape(last_name(function))
        assert re.search(rf"\b{name}\(|subroutine {name}\(|function {name}\(", program.source.read_text()), function
        there = re.search(rf"(?m) [tTwW] .*(\b|_MOD_){name}\b(?!\.)", symbols) is not None
        assert there != inlined, f"{function} in the symbol table: {there}"

    ranks = int(program.number("ranks", 1))
    command = [str(binary), TINY]
    if ranks > 1:
        command = ["mpirun", "--oversubscribe", "--allow-run-as-root", "-n", str(ranks), *command]
    work, logged = tmp_path / "work", tmp_path / "logged"
    work.mkdir()
    logged.mkdir()
    started = time.monotonic()
    output = run(command, work, TRUTH_LOG=str(logged / "log"), OMP_NUM_THREADS="2", **MPI)
    ended = time.monotonic()
    assert re.fullmatch(rf"{program.name}: .+\n", output)
    assert {path.name for path in work.iterdir()} <= {"gmon.out"}
    logs = sorted(logged.iterdir())
    assert [log.name for log in logs] == (["log"] if ranks == 1 else [f"log.{rank}" for rank in range(ranks)])
    for log in logs:
        rows = stretches(log)
        assert {name for _, _, name in rows} == {phase.name for phase in program.truth.phases}
        assert all(begin < end for begin, end, _ in rows)
        assert all(before[1] <= after[0] for before, after in pairwise(rows))
        assert started <= rows[0][0]
        assert rows[-1][1] <= ended


def test_of_each_kind_the_first_name_is_tuned_on() -> None:
    rows = re.findall(r"(?m)^\| .+ \| `(\w+)\.\w+` \| `(\w+)\.\w+` \|$", (PROGRAMS / "README.md").read_text())
    splits = {program.name: program.split for program in all_programs()}
    assert {name: split for row in rows for name, split in zip(row, ("tune", "held"), strict=True)} == splits
    kinds = {program.name: program.kinds for program in all_programs()}
    for first, second in rows:
        assert first < second
        assert kinds[first] == kinds[second]


@pytest.mark.parametrize(("suffix", "text"), [(".c", COUNTING), (".cpp", COUNTING), (".f90", COUNTING_FORTRAN)])
def test_a_log_of_any_length(tmp_path: Path, suffix: str, text: str) -> None:
    (tmp_path / f"counting{suffix}").write_text(text)
    compiler = {".c": "gcc", ".cpp": "g++", ".f90": "gfortran"}[suffix]
    binary = build(tmp_path / f"counting{suffix}", tmp_path, compiler, ["-O2"], [])
    for _ in range(2):  # the second run replaces the log of the first
        run([str(binary)], tmp_path, TRUTH_LOG=str(tmp_path / "log"))
        rows = stretches(tmp_path / "log.3")
        assert [name for _, _, name in rows] == ["odd", "even"] * 5000
        assert all(before[1] <= after[0] for before, after in pairwise(rows))
    (tmp_path / "log.3").unlink()
    run([str(binary)], tmp_path)
    assert not list(tmp_path.glob("log*"))


@pytest.mark.parametrize("flags", ["-O0", "-O2"])
def test_the_log_is_not_in_the_profile(tmp_path: Path, flags: str) -> None:
    """Of all functions, only main calls the profiler's hook."""
    (tmp_path / "counting.c").write_text(COUNTING)
    run(["gcc", "-pg", flags, "-I", str(PROGRAMS), "-S", "counting.c", "-o", "counting.s"], tmp_path)
    assert len(re.findall(r"call\s+\*?mcount", (tmp_path / "counting.s").read_text())) == 1
