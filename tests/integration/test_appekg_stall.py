"""An interval thread that stands still, a process that does: the program goes on, and nothing is lost afterwards."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

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


def held(hold: Path, milliseconds: int, program: Path, place: Path, span: int) -> Pressed:
    pressed = press([hold, str(milliseconds), program, "start", f"sleep={span}"], place, interval="0.01")
    if pressed.outcome.status == 77:
        pytest.skip("no ptrace here")
    assert (pressed.outcome.status, pressed.outcome.stderr) == (0, "")
    return pressed


def longest(beats: Heartbeats) -> int:
    """The longest interval."""
    intervals = beats.processes[0].intervals
    return int((intervals["end_ns"] - intervals["start_ns"]).argmax())


def longest_s(beats: Heartbeats) -> float:
    interval = beats.processes[0].intervals[longest(beats)]
    return float(interval["end_ns"] - interval["start_ns"]) / 1e9


def test_a_stall_that_passes(hold: Path, program: Path, tmp_path: Path) -> None:
    """What happened meanwhile is in one long interval; the program's threads beat as before."""
    pressed = held(hold, 300, program, tmp_path, span=600)
    beats = pressed.read()
    assert counts(beats) == tally(pressed.outcome)
    assert longest_s(beats) >= 0.28
    plausible(beats)
    meanwhile = beats.rows[beats.rows["interval"] == longest(beats)]
    assert (meanwhile["count"] > 1000).all()
    assert set(meanwhile["thread"].tolist()) == {0, 1}


def test_a_stall_until_the_end(hold: Path, program: Path, tmp_path: Path) -> None:
    """The end waits for a while, and then no more. What is missing is the open interval."""
    pressed = held(hold, 0, program, tmp_path, span=200)
    beats = pressed.read()
    assert not beats.processes[0].clean
    plausible(beats)
    found, expected = counts(beats), tally(pressed.outcome)
    assert all(0 < found[number][0] < expected[number][0] for number in expected)


def test_stderr_that_nobody_reads(program: Path, tmp_path: Path) -> None:
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


def started(program: Path, place: Path, span: int, interval: str, file: str) -> subprocess.Popen[str]:
    """Start the program and wait until there is something in that file of its run directory."""
    variables = {**clean_environment(), "EKG_DIR": str(place / "run"), "EKG_INTERVAL": interval}
    process = subprocess.Popen([program, "start", f"sleep={span}"], env=variables, stdout=subprocess.PIPE, text=True)
    path = place / "run" / file
    while not path.exists() or path.stat().st_size == 0:
        time.sleep(0.001)
    return process


def finished(process: subprocess.Popen[str]) -> Outcome:
    stdout, _ = process.communicate(timeout=600)
    assert process.returncode == 0
    return Outcome(process.returncode, stdout, "", 0)


def test_a_suspended_process(program: Path, tmp_path: Path) -> None:
    """One interval is as long as the pause; no deadline that passed meanwhile is made up for."""
    process = started(program, tmp_path, 1500, "0.01", "rank-00000.ekg")
    process.send_signal(signal.SIGSTOP)
    time.sleep(0.4)
    process.send_signal(signal.SIGCONT)
    outcome = finished(process)
    beats = Pressed(outcome, tmp_path / "run").read()
    assert counts(beats) == tally(outcome)
    assert longest_s(beats) >= 0.38
    plausible(beats)


def test_an_hours_interval(program: Path, tmp_path: Path) -> None:
    """It ends with the program; the operator is obeyed in the middle of it."""
    process = started(program, tmp_path, 1500, "3600", "launch")
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
    """Somebody else's file, under a second name that can be guessed, is neither written nor removed."""
    shell = shutil.which("sh")
    assert shell is not None
    (tmp_path / "victim").write_text("mine")
    link = '"$EKG_PROMETHEUS_DIR/appekg-limits-$$.prom.tmp"'
    script = f'ln "$EKG_PROMETHEUS_DIR/victim" {link} && exec "$0" start sleep=100'
    pressed = press([shell, "-c", script, program], tmp_path, sink="prometheus", prometheus_dir=str(tmp_path))
    assert (pressed.outcome.status, pressed.outcome.stderr) == (0, "")
    (left,) = tmp_path.glob("appekg-limits-*")
    assert left.read_text() == (tmp_path / "victim").read_text() == "mine"
