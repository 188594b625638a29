"""libincprof_omp in real OpenMP programs: exact counts of iterations, and a host that does not notice."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from incprof.record.launch import find_loop_library
from incprof.systems.openmp.analyse import Loop, LoopRun
from incprof.systems.openmp.sections import Analyst
from tests.integration.appekg_build import EKG_FIXTURES
from tests.integration.selfanalyze_programs import COMPILERS, FIXTURES, ROOT, Programs, analyse, environment, unnoticed
from tests.integration.selfanalyze_programs import programs as programs

both = pytest.mark.parametrize("compiler", COMPILERS)


@both
@pytest.mark.parametrize(("outer", "inner"), [(20, 4), (333, 3), (12, 150)])
def test_iterations_of_both_loops_are_exact(
    programs: Programs, tmp_path: Path, compiler: str, outer: int, inner: int
) -> None:
    done = analyse([programs.compile("nested.c", compiler=compiler), str(outer), str(inner)], tmp_path)
    unnoticed(done)
    (around,), (within,) = done.loops(5 + inner), done.loops(1)
    assert around.iterations == done.printed("outer") == outer
    assert within.iterations == done.printed("inner") == outer * inner
    assert (around.episodes, within.episodes) == (1, outer)
    assert (around.depth, within.depth) == (0, 1)
    assert (around.threads, around.fewest_threads) == (3, 3)
    assert done.runs[0].parallel_regions == outer * (5 + inner)
    assert done.runs[0].ended
    assert not done.runs[0].damaged


def test_a_loop_around_that_is_found_after_the_first_state_was_written(programs: Programs, tmp_path: Path) -> None:
    done = analyse([programs.compile("nested.c"), "6", "900"], tmp_path, interval="0.01")
    (around,), (within,) = done.loops(905), done.loops(1)
    assert (around.depth, within.depth) == (0, 1)


@both
def test_times_hold_together(programs: Programs, tmp_path: Path, compiler: str) -> None:
    done = analyse([programs.compile("nested.c", compiler=compiler), "50", "4"], tmp_path)
    (loop,) = done.loops(9)
    times = loop.times
    assert times.count == 49  # the last iteration has no next one that ends it
    assert 0 < times.min_s <= times.mean_s <= times.max_s
    assert times.mean_s * times.count <= loop.total_s <= done.runs[0].end_s
    assert times.max_s <= loop.total_s
    assert 0 < loop.parallel_s <= loop.total_s
    assert times.std_s <= times.max_s - times.min_s


@both
def test_a_loop_that_is_interrupted_is_one_loop(programs: Programs, tmp_path: Path, compiler: str) -> None:
    done = analyse([programs.compile("nested.c", compiler=compiler), "60", "3", "20"], tmp_path)
    unnoticed(done)
    (loop,) = done.loops(8)
    assert loop.iterations == 60
    assert loop.episodes == 3


def test_a_loop_is_the_same_in_every_run_and_with_any_number_of_threads(programs: Programs, tmp_path: Path) -> None:
    identities = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        done = analyse([programs.compile("nested.c"), "20", "4"], tmp_path / name)
        identities.append({loop.identity for loop in done.runs[0].loops})
    assert identities[0] == identities[1]
    assert len(identities[0]) == 2


@both
def test_regions_within_regions_are_left_alone(programs: Programs, tmp_path: Path, compiler: str) -> None:
    done = analyse([programs.compile("ways.c", compiler=compiler), "nested", "30"], tmp_path)
    unnoticed(done)
    assert [loop.iterations for loop in done.loops(2)] == [30]
    assert done.runs[0].parallel_regions == 60
    assert done.runs[0].other_threads == 0


@both
def test_another_thread_is_counted_and_not_mixed_in(programs: Programs, tmp_path: Path, compiler: str) -> None:
    done = analyse([programs.compile("ways.c", compiler=compiler), "together", "25"], tmp_path)
    unnoticed(done)
    assert [loop.iterations for loop in done.loops(2)] == [25]
    assert done.runs[0].other_threads == 50


@both
def test_threads_that_follow_each_other_are_all_watched(programs: Programs, tmp_path: Path, compiler: str) -> None:
    done = analyse([programs.compile("ways.c", compiler=compiler), "threads", "25"], tmp_path)
    unnoticed(done)
    (loop,) = done.loops(2)
    assert (loop.iterations, loop.episodes) == (50, 2)
    assert done.runs[0].parallel_regions == 100


@both
def test_a_forked_child_has_a_file_of_its_own(programs: Programs, tmp_path: Path, compiler: str) -> None:
    done = analyse([programs.compile("ways.c", compiler=compiler), "forked", "25"], tmp_path)
    unnoticed(done)
    assert [loop.iterations for loop in done.loops(2)] == [25, 25]


@both
@pytest.mark.parametrize(("way", "status"), [("_exit", 5), ("_Exit", 6), ("exit", 3), ("plain", 0)])
def test_every_way_out_is_the_end(programs: Programs, tmp_path: Path, compiler: str, way: str, status: int) -> None:
    done = analyse([programs.compile("ways.c", compiler=compiler), way, "25"], tmp_path)
    unnoticed(done)
    assert done.under.returncode == status
    assert [loop.iterations for loop in done.loops(2)] == [25]
    assert done.runs[0].ended


def test_a_program_that_becomes_another_one_has_two_files(programs: Programs, tmp_path: Path) -> None:
    done = analyse([programs.compile("ways.c"), "exec", "25"], tmp_path)
    unnoticed(done)
    assert [loop.iterations for loop in done.loops(2)] == [25, 25]


def test_a_killed_program_loses_an_interval_at_most(programs: Programs, tmp_path: Path) -> None:
    done = analyse([programs.compile("ways.c"), "killed", "25"], tmp_path, interval="0.02")
    assert done.under.returncode == done.alone.returncode == -9
    assert [loop.iterations for loop in done.loops(2)] == [25]
    assert not done.runs[0].ended


def test_a_program_without_regions_leaves_nothing(programs: Programs, tmp_path: Path) -> None:
    done = analyse([programs.compile("ways.c"), "none", "25"], tmp_path)
    unnoticed(done)
    assert done.runs == []


def in_order(run: LoopRun) -> list[Loop]:
    """The rows of the answer, the outermost loop first."""
    answer = Analyst(None, None).answer(run, "", None)
    return sorted((row.loop for row in answer.loops), key=lambda loop: loop.depth)


@both
@pytest.mark.parametrize("lengths", [("2", "9", "2", "2"), ("20", "40", "3", "0"), ("4", "0", "3", "0")])
def test_a_solver_has_a_row_for_each_of_its_loops(
    programs: Programs, tmp_path: Path, compiler: str, lengths: tuple[str, ...]
) -> None:
    done = analyse([programs.compile("solver.c", compiler=compiler), "9", *lengths], tmp_path)
    unnoticed(done)
    (run,) = done.runs
    steps, newton, solver = rows = in_order(run)
    assert [row.depth for row in rows] == [0, 1, 2]
    assert [row.iterations for row in rows] == [done.printed(name) for name in ("steps", "newton", "solver")]
    assert [row.episodes for row in rows] == [1, 9, newton.iterations]
    assert (solver.period, solver.longest_period) == (5, 5)
    assert (newton.period < newton.longest_period) == (lengths[1] != "0")
    assert solver.total_s <= newton.total_s <= steps.total_s <= run.end_s
    assert sum(row.self_s for row in rows) <= run.end_s


@both
@pytest.mark.parametrize("lengths", [("50", "40"), ("50", "20", "9"), ("9", "5")])
def test_a_loop_around_one_that_its_own_region_ends(
    programs: Programs, tmp_path: Path, compiler: str, lengths: tuple[str, ...]
) -> None:
    """It begins with the region that ends the inner one: the first iteration is none."""
    done = analyse([programs.compile("own_end.c", compiler=compiler), *lengths], tmp_path)
    unnoticed(done)
    around, within = in_order(done.runs[0])
    assert (around.iterations, around.depth) == (done.printed("outer") - 1, 0)
    assert (within.iterations, within.depth) == (done.printed("inner"), 1)
    assert done.runs[0].main_loop() is not None


def test_a_fortran_solver_has_a_row_for_each_of_its_loops(programs: Programs, tmp_path: Path) -> None:
    done = analyse([programs.compile("solver.f90", compiler="gfortran"), "6"], tmp_path)
    unnoticed(done)
    around, within = in_order(done.runs[0])
    assert (around.iterations, around.episodes, around.depth) == (6, 1, 0)
    assert (within.iterations, within.episodes, within.depth) == (done.printed("solver"), 6, 1)


def test_regions_that_never_repeat_are_no_loop(programs: Programs, tmp_path: Path) -> None:
    done = analyse([programs.compile("nested.c"), "1", "1"], tmp_path)
    unnoticed(done)
    assert done.runs[0].loops == ()
    assert done.runs[0].parallel_regions == 6


def test_a_directory_that_cannot_be_written_to_costs_a_line(programs: Programs, tmp_path: Path) -> None:
    done = analyse([programs.compile("ways.c"), "plain", "25"], tmp_path, dir="/proc/none")
    assert (done.under.returncode, done.under.stdout) == (0, done.alone.stdout)
    assert len(done.under.stderr.splitlines()) == 1
    assert "/proc/none" in done.under.stderr


@both
def test_a_library_that_brings_the_run_time_with_it(programs: Programs, tmp_path: Path, compiler: str) -> None:
    plugin = programs.compile("plugin.c", "-shared", "-fPIC", compiler=compiler, name=f"plugin-{compiler}.so")
    opener = programs.compile("opener.c", "-fno-openmp", name="opener")
    done = analyse([opener, plugin], tmp_path)
    unnoticed(done)
    assert [loop.iterations for loop in done.loops(1)] == [done.printed("iterations")] == [100]


@both
def test_fewer_threads_for_some_iterations(programs: Programs, tmp_path: Path, compiler: str) -> None:
    command = [programs.compile("nested.c", compiler=compiler), "60", "2"]
    done = analyse(command, tmp_path, baseline="1", baseline_iterations="4")
    unnoticed(done)
    (loop,) = done.loops(7)
    assert loop.iterations == 60
    assert loop.fewer.count == 4
    assert (loop.threads, loop.fewest_threads) == (3, 3)
    assert loop.times.count == 59 - 4 - 2  # without those that pay for the changes


@pytest.mark.parametrize("flags", [(), ("-no-pie", "-fno-pie")])
@both
def test_loops_marked_in_the_source(programs: Programs, tmp_path: Path, compiler: str, flags: tuple[str, ...]) -> None:
    program = programs.compile("explicit.c", *flags, compiler=compiler, name=f"explicit-{compiler}{len(flags)}")
    done = analyse([program, "40"], tmp_path)
    unnoticed(done)
    (loop,) = done.loops(0, "explicit")
    assert (loop.name, loop.iterations, loop.expected, loop.episodes) == ("steps", 40, 40, 1)
    assert loop.times.count == 40
    (given,) = done.loops(5, "explicit")
    assert given.iterations == 39  # the last one has not ended
    assert done.runs[0].main_loop() in (loop, given)


def test_loops_marked_in_fortran(programs: Programs, tmp_path: Path) -> None:
    module = ROOT / "selfanalyze" / "fortran" / "selfanalyze.f90"
    source = FIXTURES / "explicit.f90"
    program = programs.compile("", str(module), str(source), compiler="gfortran", name="explicit-fortran")
    done = analyse([program], tmp_path)
    unnoticed(done)
    (loop,) = done.loops(0, "explicit")
    assert (loop.name, loop.iterations, loop.expected) == ("steps", 40, 40)


@pytest.mark.slow
def test_a_file_system_that_stands_still_until_the_end(programs: Programs, tmp_path: Path) -> None:
    """Regions go on, the program waits for a moment and ends as it would, and a line reports it."""
    hold = tmp_path / "hold"
    subprocess.run(["gcc", "-O2", EKG_FIXTURES / "robust_hold.c", "-o", hold], check=True)
    settings = {"SELFANALYZE_DIR": str(tmp_path), "SELFANALYZE_JOIN": "1", "SELFANALYZE_INTERVAL": "0.01"}
    env = environment(INCPROF_DIR=str(tmp_path), HOLD="selfanalyze", HOLD_FILES=str(tmp_path / "files"), **settings)
    preload = f'LD_PRELOAD="{find_loop_library(os.environ)}" exec "$@"'
    words = [hold, "0", "/bin/sh", "-c", preload, "sh", programs.compile("nested.c"), "20", "20"]
    done = subprocess.run(words, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode == 77:
        pytest.skip("no ptrace here")
    outer, inner = (int(number) for number in re.findall(r"^(?:outer|inner) (\d+)$", done.stdout, re.MULTILINE))
    assert (done.returncode, inner) == (7, 20 * outer)
    (line,) = done.stderr.splitlines()
    assert line.startswith("incprof selfanalyze: the file system does not respond, ")
