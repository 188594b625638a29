"""Every beat that ended is counted once, whatever threads do to each other; and no fork comes at a bad moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.appekg_build import EkgBuilder
from tests.integration.appekg_robust import exact, press

MILLISECONDS = "1000"


@pytest.fixture(scope="session")
def program(ekg: EkgBuilder) -> Path:
    return ekg.program("robust_tally.c", output="tally")


@pytest.fixture(scope="session")
def forks(ekg: EkgBuilder) -> Path:
    return ekg.program("robust_forks.c", output="forks")


@pytest.mark.slow
@pytest.mark.parametrize("clock", ["auto", "monotonic"])
@pytest.mark.parametrize("barrier", ["always", "never", "early"])
def test_every_beat_counts_once(program: Path, tmp_path: Path, barrier: str, clock: str) -> None:
    """With the kernel's barriers, without, and with a program that forbids them to itself while it runs."""
    if clock == "monotonic" and barrier == "early":
        pytest.skip("the same path as without barriers")
    pressed = press([program, MILLISECONDS, "4", barrier], tmp_path, interval="0.001", clock=clock)
    if pressed.outcome.status == 77:
        pytest.skip("no seccomp filters here")
    exact(pressed)


@pytest.mark.slow
def test_many_more_threads_than_processors(program: Path, tmp_path: Path) -> None:
    """Owners lose the processor in the middle of an edge: what is in their slots waits."""
    exact(press([program, MILLISECONDS, "128"], tmp_path, interval="0.005"))


@pytest.mark.slow
def test_thousands_of_1_ms_intervals(program: Path, tmp_path: Path) -> None:
    command = [program, "3000", "2", "always", tmp_path / "run" / "rank-00000.ekg", "600"]
    pressed = press(command, tmp_path, interval="0.001")
    exact(pressed)
    intervals = pressed.read().processes[0].intervals
    assert len(intervals) > 500
    assert (intervals["interval"] == range(len(intervals))).all()


def test_a_fork_while_another_thread_starts_heartbeats(forks: Path, tmp_path: Path) -> None:
    assert press([forks, "starting", "40"], tmp_path).outcome.stdout == "failures 0\n"


@pytest.mark.parametrize("rate", ["1", "2"])
def test_a_handler_that_forks_in_the_middle_of_a_beat(forks: Path, tmp_path: Path, rate: str) -> None:
    """The child goes back to a beat of its parent's, also to one after which others are skipped."""
    pressed = press([forks, "handler", "40"], tmp_path, interval="0.01", rate=rate)
    assert pressed.outcome.stdout == "failures 0\n"
    children = [process for process in pressed.read().processes if process.metadata["forked"]]
    assert len(children) == 40


def test_children_behind_libcs_back(forks: Path, tmp_path: Path) -> None:
    """Children find locks taken by threads that do not exist there."""
    assert press([forks, "bare", "40"], tmp_path, interval="0.001").outcome.stdout == "failures 0\n"
