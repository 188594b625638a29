"""The interval thread follows the application where it ends without libc, and where it becomes another user."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from tests.integration.appekg_build import EkgBuilder
from tests.integration.appekg_robust import press
from tests.integration.collector import run
from tests.integration.conftest import Build
from tests.integration.hosts import HOSTS, BuildHost, calls, ended_cleanly, need_root, try_both

ENDS = ["exit", "strict", "filter", "later", "leave"]
SYS_SETRESUID = 117
BEATS = "-DWITH_HEARTBEATS"


@pytest.mark.parametrize("how", ENDS)
def test_a_program_that_ends_behind_libcs_back_is_recorded_and_ends(host: BuildHost, tmp_path: Path, how: str) -> None:
    """With the status that it has alone, which the kernel takes from the last thread or from the first."""
    trial = try_both([host("gone.c"), how], tmp_path, interval=60, lines=int(how in {"strict", "filter"}))
    assert calls(trial.profile())["tick"] == 1000
    assert ended_cleanly(trial.directory / "rank-00000.gmon")


@pytest.mark.parametrize("how", ENDS)
def test_heartbeats_of_a_program_that_ends_behind_libcs_back(ekg: EkgBuilder, tmp_path: Path, how: str) -> None:
    program = ekg.program(HOSTS / "gone.c", own_flags=BEATS, output="gone")
    alone = run([program, how], tmp_path, {"EKG_DISABLE": "1"})
    pressed = press([program, how], tmp_path, interval="60")
    assert (pressed.outcome.status, pressed.outcome.stderr) == (alone.status, "")
    (process,) = pressed.read().processes
    assert process.clean
    assert int(pressed.read().rows["pulses"].sum()) == 1000


@pytest.mark.parametrize("threads", ["many", "one"])
def test_a_program_that_becomes_others_takes_the_interval_thread_with_it(
    host: BuildHost, tmp_path: Path, threads: str
) -> None:
    """At once, where libc's functions are called: every thread that the kernel shows is the same."""
    need_root()
    when = "now" if threads == "many" else "wait"  # with one, capabilities change by a system call
    trial = try_both([host("credentials.c"), when, threads], tmp_path)
    assert trial.recorded.stdout.endswith("for good 0 0\nand back -1 0\ndumpable 1\n")
    assert threads == "many" or "vfork 4 0\n" in trial.recorded.stdout
    assert ended_cleanly(trial.directory / "rank-00000.gmon")


@pytest.mark.parametrize("threads", [pytest.param("many", marks=pytest.mark.slow), "one"])
def test_heartbeats_of_a_program_that_becomes_others(ekg: EkgBuilder, tmp_path: Path, threads: str) -> None:
    """Within a moment, though the library gets no notice."""
    need_root()
    program = ekg.program(HOSTS / "credentials.c", own_flags=BEATS, output="credentials")
    command = [program, "wait", threads]
    alone = run(command, tmp_path, {"EKG_DISABLE": "1"})
    pressed = press(command, tmp_path, interval="0.05")
    assert (pressed.outcome.status, pressed.outcome.stdout) == (alone.status, alone.stdout)
    assert pressed.outcome.stderr == ""
    assert all(process.clean for process in pressed.read().processes)


@pytest.fixture
def refuse(build: Build) -> list[str | Path]:
    """A launcher of programs that may become a user by one system call, but not by that of the interval thread."""
    need_root()
    return [build("refuse.c", pg=False), str(SYS_SETRESUID), str(errno.EPERM)]


def test_a_user_that_the_interval_thread_cannot_become(
    refuse: list[str | Path], host: BuildHost, tmp_path: Path
) -> None:
    """It does not stay what it was: one line, and the recording ends."""
    trial = try_both([*refuse, host("credentials.c"), "refused"], tmp_path, lines=1)
    assert "cannot become the user" in trial.lines()[0]
    assert trial.recorded.stdout == "setuid 0 threads 1\n"
    assert ended_cleanly(trial.directory / "rank-00000.gmon")


def test_heartbeats_of_a_user_that_the_interval_thread_cannot_become(
    refuse: list[str | Path], ekg: EkgBuilder, tmp_path: Path
) -> None:
    program = ekg.program(HOSTS / "credentials.c", own_flags=BEATS, output="credentials")
    pressed = press([*refuse, program, "refused"], tmp_path, interval="0.05")
    assert (pressed.outcome.status, pressed.outcome.stdout) == (0, "setuid 0 threads 1\n")
    assert len(pressed.lines()) == len(pressed.outcome.stderr.splitlines()) == 1
    (process,) = pressed.read().processes
    assert process.clean
    assert int(pressed.read().rows["pulses"].sum()) == 1  # and none of after it
