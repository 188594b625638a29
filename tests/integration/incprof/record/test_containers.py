"""Containers whose filters refuse system calls: the rest is recorded, and one line names what is missing."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.integration.conftest import Build, Record

USING_PERF = "incprof: timers are not permitted here (a container's seccomp profile?), using perf's clock\n"
USING_TIMERS = "incprof: INCPROF_CLOCK=perf is not permitted here (see kernel.perf_event_paranoid), using cpu\n"
NO_SAMPLES = (
    "incprof: neither timers nor perf's clock are permitted here (see incprof doctor): "
    "no samples are taken, and only calls of functions built with -pg are counted\n"
)
# On x86-64.
NUMBERS = {"timer_create": 222, "perf_event_open": 298, "clone": 56}


def without(build: Build, refused: Sequence[str], *command: str | Path) -> list[str | Path]:
    """The command, under a filter for each of these system calls."""
    filtered: list[str | Path] = []
    for name in refused:
        filtered += [build("refuse.c", pg=False), str(NUMBERS[name]), str(errno.EPERM)]
    return [*filtered, *command]


@pytest.mark.parametrize(
    ("refused", "clock", "said"),
    [
        (["timer_create"], "cpu", USING_PERF),
        (["perf_event_open"], "perf", USING_TIMERS),
        (["timer_create", "perf_event_open"], "cpu", NO_SAMPLES),
        (["timer_create", "perf_event_open"], "perf", NO_SAMPLES),
    ],
)
def test_clocks_that_are_refused(
    build: Build, record: Record, fast_clock: str, refused: list[str], clock: str, said: str
) -> None:
    if said == USING_PERF and fast_clock != "perf":
        pytest.skip("perf events are not permitted here")
    recording = record(without(build, refused, build("turns.c"), "1"), clock=clock)
    assert recording.outcome.stderr == said
    calls = recording.calls()
    assert {name: calls[name] for name in ("work", "rest")} == recording.outcome.values()
    names = {path[-1] for path in recording.paths() if path}
    assert names >= {"work", "rest"} if said != NO_SAMPLES else not names


@pytest.mark.slow
def test_a_job_without_counters_reports_it_once(build: Build, tmp_path: Path) -> None:
    program = build("turns.c", pg=False)
    job = ["sh", "-c", f"{program} 1; {program} 1 & wait; exec {program} 1"]
    record = [sys.executable, "-m", "incprof", "record", "--counters", "-o", "run", "--", *job]
    words = list(map(str, without(build, ["perf_event_open"], *record)))
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=os.environ, check=True)
    (said,) = (line for line in done.stderr.splitlines() if "program in" not in line)
    assert said.startswith("incprof: counters are not permitted here ("), done.stderr
    of_a_rank = {**os.environ, "PMI_RANK": "1"}
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=of_a_rank, check=True)
    assert "counters" not in done.stderr


def test_threads_that_are_refused(build: Build, record: Record) -> None:
    """Without a thread of its own the library records nothing and prints one line."""
    recording = record(without(build, ["clone"], build("arcs.c")))
    assert recording.outcome.stderr == "incprof: cannot start the interval thread, not recording\n"


@pytest.mark.parametrize(
    ("refused", "expected"),
    [
        (["perf_event_open"], "perf clock       cannot be opened: Operation not permitted"),
        (["timer_create", "perf_event_open"], "timers are refused (Operation not permitted): calls are counted"),
    ],
)
def test_doctor_lists_refused_calls(build: Build, refused: list[str], expected: str) -> None:
    words = without(build, refused, sys.executable, "-m", "incprof", "doctor")
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, env=os.environ, check=False)
    assert expected in done.stdout, done
