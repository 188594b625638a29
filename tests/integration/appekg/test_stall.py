"""An interval thread that stands still, a process that does: the program goes on, and nothing is lost afterwards."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from appekg import Heartbeats
from tests.integration.appekg_build import EKG_FIXTURES, EkgBuilder
from tests.integration.appekg_robust import Pressed, counts, plausible, press, tally
from tests.integration.collector import Outcome, clean_environment

F_SETPIPE_SZ = 1031


@pytest.fixture(scope="session")
def program(ekg: EkgBuilder) -> Path:
    return ekg.program("robust_limits.c", output="limits")


@pytest.fixture(scope="session")
def hold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A launcher that stops the interval thread of what it launches."""
    target = tmp_path_factory.mktemp("hold") / "hold"
    subprocess.run(["gcc", "-O2", EKG_FIXTURES / "robust_hold.c", "-o", target], check=True)
    return target


def held(hold: Path, milliseconds: int, program: Path, place: Path, *afterwards: str) -> Pressed:
    """Stop the interval thread, when it has written beats of each thread, while each has 1 000 more of each id."""
    files = place / "hold"
    actions = ["start", "beats=1", f"create={files}.ready", f"file={files}.held", "beats=1000", *afterwards]
    command = [hold, str(milliseconds), program, *actions]
    pressed = press(command, place, env={"HOLD_FILES": str(files)}, interval="0.01")
    if pressed.outcome.status == 77:
        pytest.skip("no ptrace here")
    assert (pressed.outcome.status, pressed.outcome.stderr) == (0, "")
    return pressed


def lengths_s(beats: Heartbeats) -> np.ndarray[Any, np.dtype[np.float64]]:
    """How long each interval is. A busy machine makes long ones, too."""
    intervals = beats.processes[0].intervals
    return np.asarray((intervals["end_ns"] - intervals["start_ns"]) / 1e9)


def fewest(beats: Heartbeats, interval: int) -> int:
    """The fewest beats of an id that a thread has in an interval and those beside it: it may be half taken."""
    rows = beats.rows[abs(beats.rows["interval"].astype(int) - interval) <= 1]
    found = [
        int(rows["count"][(rows["thread"] == thread) & (rows["id"] == number)].sum())
        for thread in (0, 1)
        for number in range(5)
    ]
    return min(found)


def test_a_stall_that_passes(hold: Path, program: Path, tmp_path: Path) -> None:
    """What happened meanwhile is in one long interval; the program's threads beat as before."""
    pressed = held(hold, 300, program, tmp_path, f"create={tmp_path}/hold.done", f"file={tmp_path}/hold.over")
    beats = pressed.read()
    assert counts(beats) == tally(pressed.outcome)
    plausible(beats)
    long = [number for number, length in enumerate(lengths_s(beats)) if length >= 0.28]
    assert max(fewest(beats, number) for number in long) >= 1000


def test_a_stall_until_the_end(hold: Path, program: Path, tmp_path: Path) -> None:
    """The end waits for a while, and then no more. What is missing is the open interval."""
    pressed = held(hold, 0, program, tmp_path)
    beats = pressed.read()
    assert not beats.processes[0].clean
    plausible(beats)
    found, expected = counts(beats), tally(pressed.outcome)
    assert all(0 < found[number][0] < expected[number][0] for number in expected)


def test_stderr_without_a_reader(program: Path, tmp_path: Path) -> None:
    """The line about a failure waits for room in a pipe; the program does not."""
    read_end, write_end = os.pipe()
    fcntl.fcntl(write_end, F_SETPIPE_SZ, 4096)
    os.set_blocking(write_end, False)
    assert os.write(write_end, bytes(4096)) == 4096
    with pytest.raises(BlockingIOError):
        os.write(write_end, b"x")
    os.set_blocking(write_end, True)
    variables = {**clean_environment(), "EKG_DIR": str(tmp_path / "run"), "EKG_INTERVAL": "0.01"}
    command = [program, "fsize=100", "start", "sleep=100"]
    with subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=write_end, text=True) as process:
        stdout, _ = process.communicate(timeout=600)
    os.close(read_end)
    os.close(write_end)
    outcome = Outcome(process.returncode, stdout, "", 0)
    assert (outcome.status, len(tally(outcome))) == (0, 5)


def started(program: Path, place: Path, interval: str, file: Path, *actions: str) -> subprocess.Popen[str]:
    """Start the program and wait until there is something in that file."""
    variables = {**clean_environment(), "EKG_DIR": str(place / "run"), "EKG_INTERVAL": interval}
    process = subprocess.Popen([program, "start", *actions], env=variables, stdout=subprocess.PIPE, text=True)
    while not file.exists() or file.stat().st_size == 0:
        assert process.poll() is None
        time.sleep(0.001)
    return process


def finished(process: subprocess.Popen[str]) -> Outcome:
    stdout, _ = process.communicate(timeout=600)
    assert process.returncode == 0
    return Outcome(process.returncode, stdout, "", 0)


def test_a_suspended_process(program: Path, tmp_path: Path) -> None:
    """One interval is as long as the pause; no deadline that passed meanwhile is made up for."""
    resumed = tmp_path / "resumed"
    process = started(program, tmp_path, "0.01", tmp_path / "run" / "rank-00000.ekg", f"file={resumed}")
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)
    time.sleep(0.4)
    process.send_signal(signal.SIGCONT)
    resumed.touch()
    outcome = finished(process)
    beats = Pressed(outcome, tmp_path / "run").read()
    assert counts(beats) == tally(outcome)
    assert lengths_s(beats).max() >= 0.38
    plausible(beats)


def test_an_hours_interval(program: Path, tmp_path: Path) -> None:
    """It ends with the program; the operator is obeyed in the middle of it."""
    beaten = tmp_path / "beaten"
    process = started(program, tmp_path, "3600", beaten, "beats=1000", f"create={beaten}", "off", "beats=1000")
    (tmp_path / "run" / "control").write_text("off\n")
    outcome = finished(process)
    (interval,) = Pressed(outcome, tmp_path / "run").read().processes[0].intervals
    assert not interval["enabled"]
    found, expected = counts(Pressed(outcome, tmp_path / "run").read()), tally(outcome)
    assert all(0 < found[number][0] < expected[number][0] for number in expected)


@pytest.mark.parametrize("name", ["", ".tmp"])
def test_pipes_where_prometheus_files_should_be(program: Path, tmp_path: Path, name: str) -> None:
    """What has the file's name is replaced, and what has another one is not touched."""
    shell = shutil.which("sh")
    assert shell is not None
    script = f'mkfifo "$EKG_PROMETHEUS_DIR/appekg-limits-$$.prom{name}" && exec "$0" start sleep=100'
    pressed = press([shell, "-c", script, program], tmp_path, sink="prometheus", prometheus_dir=str(tmp_path))
    assert (pressed.outcome.status, len(tally(pressed.outcome)), pressed.outcome.stderr) == (0, 5, "")
    assert len(list(tmp_path.glob("appekg-limits-*"))) == (1 if name else 0)


def test_files_where_prometheus_could_write_first(program: Path, tmp_path: Path) -> None:
    """Another user's file, under a second name that can be guessed, is neither written nor removed."""
    shell = shutil.which("sh")
    assert shell is not None
    (tmp_path / "victim").write_text("mine")
    link = '"$EKG_PROMETHEUS_DIR/appekg-limits-$$.prom.tmp"'
    script = f'ln "$EKG_PROMETHEUS_DIR/victim" {link} && exec "$0" start sleep=100'
    pressed = press([shell, "-c", script, program], tmp_path, sink="prometheus", prometheus_dir=str(tmp_path))
    assert (pressed.outcome.status, pressed.outcome.stderr) == (0, "")
    (left,) = tmp_path.glob("appekg-limits-*")
    assert left.read_text() == (tmp_path / "victim").read_text() == "mine"
