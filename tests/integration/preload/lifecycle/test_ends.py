"""However a program ends, it ends as it would alone, and what it did is on record."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.integration.collector import clean_environment, variables
from tests.integration.command_line import incprof
from tests.integration.hosts import (
    BuildHost,
    calls,
    ended_cleanly,
    raw_images,
    ticks,
    try_both,
    wait_for_intervals,
)
from tests.variants import mostly_slow

WRITTEN = [
    ("exit", 0),
    ("exit", 255),
    ("return", 1),
    ("_exit", 2),
    ("_Exit", 0),
    ("quick_exit", 128),
    ("thread-exit", 9),
]


@pytest.mark.parametrize(("mode", "status"), WRITTEN)
def test_orderly_end_loses_nothing(host: BuildHost, tmp_path: Path, mode: str, status: int) -> None:
    """The open interval is written whatever way the program chose, and the exit code is its own."""
    trial = try_both([host("ends.c"), mode, str(status)], tmp_path, interval=60)
    assert trial.recorded.status == status
    profile = trial.profile()
    assert calls(profile)["tick"] == 1000
    assert ticks(profile) >= 15
    assert ended_cleanly(trial.directory / "rank-00000.gmon")


@pytest.mark.parametrize("name", mostly_slow(4, ["TERM", "INT", "HUP", "USR1", "PIPE", "ALRM", "USR2"]))
def test_a_signal_that_ends_the_program_loses_nothing(host: BuildHost, tmp_path: Path, name: str) -> None:
    """The open interval is written first, and the program ends by the signal all the same."""
    number = signal.Signals[f"SIG{name}"]
    trial = try_both([host("ends.c"), "raise", str(int(number))], tmp_path, interval=60)
    assert trial.recorded.status == -number
    assert calls(trial.profile())["tick"] == 1000
    assert ticks(trial.profile()) >= 15
    assert ended_cleanly(trial.directory / "rank-00000.gmon")


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGQUIT, signal.SIGRTMIN])
def test_deadly_signal_keeps_complete_intervals(host: BuildHost, tmp_path: Path, number: int) -> None:
    trial = try_both([host("ends.c"), "raise", str(int(number))], tmp_path, interval=0.02, env={"INTERVALS": "3"})
    assert trial.recorded.status == -number
    assert calls(trial.profile())["tick"] == 1000
    assert trial.profile().n_intervals >= 3
    assert not ended_cleanly(trial.directory / "rank-00000.gmon")


def test_abort(host: BuildHost, tmp_path: Path) -> None:
    trial = try_both([host("ends.c"), "abort"], tmp_path, interval=0.02, env={"INTERVALS": "3"})
    assert trial.recorded.status == -signal.SIGABRT
    assert trial.profile().n_intervals >= 3


def test_main_thread_leaves_and_workers_run_on(host: BuildHost, tmp_path: Path) -> None:
    """The process ends with its last thread: ours is none of the application's."""
    trial = try_both([host("ends.c"), "pthread_exit"], tmp_path)
    assert trial.recorded.status == 0
    assert trial.recorded.stdout.count("worker done") == 2
    assert calls(trial.profile())["tick"] == 2000
    assert ended_cleanly(trial.directory / "rank-00000.gmon")


def test_exit_while_threads_run_hard(host: BuildHost, tmp_path: Path) -> None:
    trial = try_both([host("ends.c"), "busy", "7"], tmp_path, interval=60)
    assert trial.recorded.status == 7
    assert calls(trial.profile())["tick"] == 1000


def test_order_of_exit_handlers(host: BuildHost, tmp_path: Path) -> None:
    trial = try_both([host("ends.c"), "exit"], tmp_path)
    assert trial.recorded.stdout.split("\n") == ["main done", "atexit two", "atexit one", "destructor", ""]


def start(command: list[str | Path], place: Path, interval: float) -> subprocess.Popen[bytes]:
    environment = {**clean_environment(), **variables(place / "run", interval=interval)}
    return subprocess.Popen(list(map(str, command)), cwd=place, env=environment, stdout=subprocess.DEVNULL)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Stop all of it. A thread that waits for a processor or for the disk stops when it has got it."""
    os.kill(process.pid, signal.SIGSTOP)
    threads = [path / "stat" for path in Path(f"/proc/{process.pid}/task").iterdir()]
    while {path.read_text().rpartition(") ")[2][0] for path in threads} != {"T"}:
        time.sleep(0.01)


def test_kill_9_in_the_middle_of_an_interval(host: BuildHost, tmp_path: Path) -> None:
    """All complete intervals are readable; the command line reports that the run did not end, and succeeds."""
    process = start([host("endless.c")], tmp_path, 0.05)
    stream = tmp_path / "run/rank-00000.gmon"
    wait_for_intervals(stream, 6)
    stop(process)  # not in the middle of a write, which it would tear
    process.kill()
    assert process.wait() == -signal.SIGKILL
    kinds = [image.kind for image in raw_images(stream.read_bytes())]
    assert kinds[-1] == 2
    done = incprof("export", tmp_path / "run", "--format", "csv", "-o", tmp_path / "out.csv")
    assert done.returncode == 0, done.stderr
    assert "did not end" in done.stderr or "not end cleanly" in done.stderr, done.stderr


def test_stopped_and_continued(host: BuildHost, tmp_path: Path) -> None:
    """SIGSTOP and SIGCONT: intervals stay on their grid, with one long one where the process stood."""
    process = start([host("endless.c")], tmp_path, 0.05)
    stream = tmp_path / "run/rank-00000.gmon"
    wait_for_intervals(stream, 2)
    stop(process)
    before = stream.stat().st_size
    time.sleep(0.5)
    assert stream.stat().st_size == before
    seen = sum(image.kind == 2 for image in raw_images(stream.read_bytes()))
    os.kill(process.pid, signal.SIGCONT)
    wait_for_intervals(stream, seen + 4)
    process.terminate()
    assert process.wait() == -signal.SIGTERM
