"""incprof selfanalyze as its users call it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from incprof.cli.main import main
from tests.integration.selfanalyze_programs import Programs, environment
from tests.integration.selfanalyze_programs import programs as programs


def command(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "incprof", "selfanalyze", *map(str, words)]


def incprof(*words: str | Path, cwd: Path, threads: int = 3) -> subprocess.CompletedProcess[str]:
    env = environment(OMP_NUM_THREADS=str(threads))
    return subprocess.run(command(*words), cwd=cwd, env=env, capture_output=True, text=True, timeout=600, check=False)


def test_the_programs_output_and_status_are_its_own(programs: Programs, tmp_path: Path) -> None:
    done = incprof("--", programs.compile("nested.c"), "30", "3", cwd=tmp_path)
    assert done.returncode == 7
    assert done.stdout == "outer 30\ninner 90\n"
    assert "first (nested.c:" in done.stderr
    assert "unknown (--iterations)" in done.stderr
    again = incprof("selfanalyze-nested-gcc", cwd=tmp_path)
    assert again.returncode == 0
    assert again.stdout in done.stderr


def test_json_is_pure(programs: Programs, tmp_path: Path) -> None:
    done = incprof(
        "--json", "--iterations", "60", "-o", "run", "--", programs.compile("nested.c"), "30", "3", cwd=tmp_path
    )
    assert done.returncode == 7
    told = json.loads(done.stdout)
    assert told["schema"] == "incprof.selfanalyze/1"
    assert told["run"]["status"] == 7
    around, within = told["regions"]
    assert (around["iterations"], around["id"]["period"], within["iterations"]) == (30, 8, 90)
    assert around["name"].startswith("first (nested.c:")
    assert [name.split(" ")[0] for name in around["functions"]][:5] == ["first", "second", "third", "fourth", "fifth"]
    estimate = around["estimate"]
    assert (estimate["iterations"], estimate["expected"]) == (30, 60)
    assert estimate["low_s"] <= estimate["total_s"] <= estimate["high_s"]
    # As many again after the last one: time before and after the loop depends on how busy the machine is.
    until_last = estimate["total_s"] - 30 * around["mean_s"]
    assert 0.99 * 29 * around["mean_s"] <= until_last <= 1.01 * told["run"]["seconds"]
    assert "outer 30" in done.stderr


def test_iterations_are_those_of_the_requested_loop(programs: Programs, tmp_path: Path) -> None:
    """Of 100 time steps every tenth has a region of its own: 400 are time steps, not tens of them."""
    words = ["--json", "--iterations", "400"]
    done = incprof(*words, "-o", "run", "--", programs.compile("rebuild.c"), "100", cwd=tmp_path)
    step, ten = json.loads(done.stdout)["regions"]
    assert (step["iterations"], ten["iterations"], ten["estimate"]) == (100, 10, None)
    assert (step["name"].split(" ")[0], step["estimate"]["expected"]) == ("forces", 400)
    # What is between the visits comes again as well.
    run = json.loads(done.stdout)["run"]
    assert step["estimate"]["total_s"] > ten["total_s"] * 0.99 + 3 * step["total_s"]
    assert run["status"] == 0
    assert "--iterations 400 are those of forces" in done.stderr
    other = json.loads(incprof(*words, "--loop", "neighbours", "run", cwd=tmp_path).stdout)["regions"][0]
    assert (other["iterations"], other["estimate"]["expected"]) == (10, 400)


@pytest.mark.slow
def test_an_earlier_run_is_the_baseline(programs: Programs, tmp_path: Path) -> None:
    program = programs.compile("nested.c")
    assert incprof("-o", "two", "--", program, "40", "3", cwd=tmp_path, threads=2).returncode == 7
    done = incprof("--json", "--baseline", "two", "-o", "four", "--", program, "20", "3", cwd=tmp_path, threads=4)
    around = json.loads(done.stdout)["regions"][0]
    before = json.loads(incprof("--json", "two", cwd=tmp_path).stdout)["regions"][0]
    found = around["speedup"]
    assert (around["threads"], found["baseline_threads"]) == (4, 2)
    assert found["relative"] == pytest.approx(before["mean_s"] / around["mean_s"], rel=1e-3)
    assert found["speedup"] == pytest.approx(found["one_thread_s"] / around["mean_s"], rel=1e-3)
    assert (around["estimate"]["iterations"], around["estimate"]["expected"]) == (20, 40)


def test_a_baseline_is_measured_only_on_request(programs: Programs, tmp_path: Path) -> None:
    program = programs.compile("nested.c")
    done = incprof("--json", "--measure-baseline", "1", "--", program, "60", "2", cwd=tmp_path)
    assert json.loads(done.stdout)["regions"][0]["speedup"]["baseline_threads"] == 1
    done = incprof("--json", "--", program, "60", "2", cwd=tmp_path)
    assert json.loads(done.stdout)["regions"][0]["speedup"] is None


@pytest.mark.slow
def test_another_programs_run_is_no_baseline(programs: Programs, tmp_path: Path) -> None:
    incprof("-o", "other", "--", programs.compile("ways.c"), "plain", "30", cwd=tmp_path)
    done = incprof("--baseline", "other", "--", programs.compile("nested.c"), "30", "3", cwd=tmp_path)
    assert "no loop of this run is in the baseline" in done.stderr


def test_progress_is_reported_while_the_program_runs(programs: Programs, tmp_path: Path) -> None:
    words = command("--live", "--iterations", "25", "--", programs.compile("ways.c"), "waits", "25")
    env = environment(OMP_NUM_THREADS="3")
    with subprocess.Popen(
        words, cwd=tmp_path, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stderr is not None
        # It computes for a moment, and waits to be killed.
        for line in run.stderr:
            if " s: one (ways.c:" in line and "25 iterations" in line:
                break
        (child,) = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
        os.kill(int(child), signal.SIGKILL)
        rest = run.stderr.read()
    assert run.returncode == 128 + 9
    assert "did not end cleanly" in rest


def test_a_program_without_regions_leaves_no_directory(tmp_path: Path) -> None:
    done = incprof("--", "echo", "hello", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "hello\n")
    assert "no parallel region" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ((), 2, "no command given"),
        (("a", "b"), 2, "after --"),
        (("--iterations", "0", "--", "true"), 2, "whole number above 0"),
        (("--measure-baseline", "5000", "--", "true"), 2, "at most 4096"),
        (("--", "no-such-program"), 127, "command not found"),
        (("--", "/"), 126, "cannot be run"),
        (("--baseline", "none", "--", "true"), 1, "none"),
        (("nowhere",), 1, "nowhere"),
    ],
)
def test_errors_are_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], words: tuple[str, ...], status: int, said: str
) -> None:
    with contextlib.chdir(tmp_path):
        assert main(["selfanalyze", *words]) == status
    out, err = capfd.readouterr()
    assert said in err
    assert "Traceback" not in err
    assert out == ""
    assert list(tmp_path.iterdir()) == []


def test_the_headers_are_in_the_printed_directory(tmp_path: Path) -> None:
    done = incprof("--include", cwd=tmp_path)
    assert done.returncode == 0
    assert {"selfanalyze.h", "selfanalyze.f90"} <= {path.name for path in Path(done.stdout.strip()).iterdir()}
