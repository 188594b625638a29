"""However a process ends: what was written can be read, is right, and lacks the open interval at most."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

import appekg
from appekg import AppekgError, Heartbeats
from tests.integration.appekg_build import EkgBuilder
from tests.integration.appekg_robust import counter, plausible, press
from tests.integration.collector import clean_environment

THREADS = 3  # as in robust_ends.c
THREAD = np.dtype([("started", np.uint64), ("ended", np.uint64), ("padding", "V112")])
SAMPLE = np.dtype([("ended", np.uint64), ("time_ns", np.uint64)])
INTERVAL = "0.01"


@pytest.fixture(scope="session")
def program(ekg: EkgBuilder) -> Path:
    return ekg.program("robust_ends.c", output="ends")


def check(beats: Heartbeats, witness: Path, position: int = 0) -> int:
    """Compare a process with its witness; return how many intervals it has.

    What had ended before the end of the last complete interval is in the file, and nothing that never began.
    """
    data = witness.read_bytes()
    threads = np.frombuffer(data, THREAD, THREADS + 1)
    at = threads.nbytes
    number = int(np.frombuffer(data, np.uint64, 1, at)[0])
    samples = np.frombuffer(data, SAMPLE, number, at + 8)
    plausible(beats)
    process = beats.processes[position]
    counted = int(beats.rows["count"][beats.rows["process"] == position].sum())
    assert counted <= int(threads["started"].sum())
    assert counter(beats, "dropped") == counter(beats, "unmatched") == counter(beats, "lost_intervals") == 0
    if len(process.intervals) > 0:
        written_until = process.metadata["start_mono_ns"] + int(process.intervals["end_ns"][-1])
        before = samples[samples["time_ns"] <= written_until]
        assert counted >= int(before["ended"].max(initial=0))
    return len(process.intervals)


def kill_after(program: Path, place: Path, seconds: float, number: signal.Signals, *, waits: bool = False) -> None:
    """Run the program and end it from outside, some time after its start or after its first interval."""
    variables = {**clean_environment(), "EKG_DIR": str(place / "run"), "EKG_INTERVAL": INTERVAL}
    with subprocess.Popen([program, "wait", place / "witness"], env=variables, cwd=place) as process:
        while waits and not any(b"#interval" in path.read_bytes() for path in (place / "run").glob("*.ekg")):
            time.sleep(0.001)
        time.sleep(seconds)
        process.send_signal(number)
        try:
            assert process.wait(600) == -number
        finally:
            process.kill()


@pytest.mark.slow
def test_kill_at_50_random_moments(program: Path, tmp_path: Path) -> None:
    """Half of the moments may come before the first interval is complete: there is nothing to be read then."""
    moments, complete = random.Random(3), 0
    for turn in range(50):
        place = tmp_path / str(turn)
        place.mkdir()
        kill_after(program, place, moments.uniform(0.002, 0.08), signal.SIGKILL, waits=turn % 2 == 1)
        try:
            beats = appekg.read(place / "run")
        except AppekgError:
            assert not any(b"#interval" in path.read_bytes() for path in (place / "run").glob("*.ekg"))
            continue
        assert not beats.processes[0].clean
        complete += check(beats, place / "witness")
    assert complete >= 25


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_from_outside(program: Path, tmp_path: Path, number: signal.Signals) -> None:
    kill_after(program, tmp_path, 0.05, number, waits=True)
    assert check(appekg.read(tmp_path / "run"), tmp_path / "witness") >= 1


@pytest.mark.parametrize(
    ("kind", "status"),
    [("segv", -signal.SIGSEGV), ("abort", -signal.SIGABRT), ("_exit", 5), ("quick_exit", 6), ("return", 0)],
)
def test_ends_from_inside(program: Path, tmp_path: Path, kind: str, status: int) -> None:
    pressed = press([program, kind, tmp_path / "witness"], tmp_path, interval=INTERVAL)
    assert (pressed.outcome.status, pressed.outcome.stderr) == (status, "")
    beats = pressed.read()
    assert check(beats, tmp_path / "witness") >= 1
    assert beats.processes[0].clean == (kind == "return")


def test_exit_in_a_handler(program: Path, tmp_path: Path) -> None:
    """It has interrupted a beat, often within the library: that one may be missing, and nothing else is."""
    for turn in range(20):
        place = tmp_path / str(turn)
        place.mkdir()
        pressed = press([program, "handler", place / "witness"], place, interval=INTERVAL)
        assert (pressed.outcome.status, pressed.outcome.stderr) == (0, "")
        beats = pressed.read()
        assert beats.processes[0].clean
        check(beats, place / "witness")
        threads = np.frombuffer((place / "witness").read_bytes(), THREAD, 1)
        assert beats.rows["count"].sum() >= int(threads["ended"][0])


def test_exec_in_the_middle(program: Path, tmp_path: Path) -> None:
    """The program that takes the process over has a file of its own."""
    pressed = press([program, "exec", tmp_path / "witness"], tmp_path, interval=INTERVAL)
    assert (pressed.outcome.status, pressed.outcome.stderr) == (0, "")
    beats = pressed.read()
    first, second = beats.processes
    assert (first.clean, second.clean) == (False, True)
    assert first.metadata["pid"] == second.metadata["pid"]
    assert (first.path.name, second.path.name) == ("rank-00000.ekg", f"rank-00000.{first.metadata['pid']}.ekg")
    assert check(beats, tmp_path / "witness", 0) >= 1
    assert check(beats, tmp_path / "witness.second", 1) >= 1
