"""The steps of a time-step loop against the program's own counts; and the clock for such rates."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from incprof.readers.run import open_run, read_profile
from tests.integration import command_line
from tests.integration.collector import clean_environment
from tests.integration.conftest import Build
from tests.recordings.kept import kept

SYS_PERF_EVENT_OPEN = 298
# The rate is reported only of a hundred samples or more, which fast machines must have time for, too.
ITERATIONS = "150"
ORDER = ["exchange", "gather", "accelerate", "drift"]
# CLOCK_MONOTONIC_COARSE goes on by the kernel's tick; that of the recordings that are kept was 250.
HZ, KEPT_HZ = round(1 / time.clock_getres(6)), 250


@dataclass(frozen=True)
class Answer:
    """What a program printed, and what `incprof phases` found."""

    program: dict[str, float]
    text: str
    found: dict[str, Any]


@dataclass(frozen=True)
class Recorded:
    """The program's output, the answer of `incprof phases`, the clock of the samples, and ticks per CPU second."""

    stderr: str
    text: str
    clock: str
    ticks_hz: float


def incprof(*words: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {**clean_environment(), **{k: v for k, v in os.environ.items() if k == "INCPROF_LIB"}, **variables}
    return command_line.incprof(*words, env=env, check=True)


def answer_of(name: str, place: Path) -> Answer:
    """What is found in a recording that is kept."""
    recording = kept(name, place)
    said = dict(line.split() for line in recording.stdout.splitlines())
    text = incprof("phases", recording.run, "--details").stdout
    found = json.loads(incprof("phases", recording.run, "--json").stdout)
    return Answer({name: float(number) for name, number in said.items()}, text, found)


def record(place: Path, rate: int, *command: str | Path, clock: str | None = None) -> Recorded:
    words = ["--clock", clock] if clock else []
    recorded = incprof("record", "-i", "0.2", "-r", str(rate), *words, "-o", place / "run", "--", *command)
    text = incprof("phases", place / "run", "--details").stdout
    profile = read_profile(open_run(place / "run"))
    used_s = float((profile.counters.cpu_s - profile.counters.collector_s).sum())
    ticks_hz = float(profile.samples.weight.sum()) / used_s
    return Recorded(recorded.stderr, text, str(profile.metadata.raw["clock"]), ticks_hz)


def loop_phase(answer: Answer) -> dict[str, Any]:
    """The phase of the time-step loop: the last interval of the set-up may hold some of it, too."""
    return dict(max(answer.found["phases"], key=lambda phase: phase["seconds"]))


def test_a_time_step_loop(tmp_path: Path) -> None:
    answer = answer_of("timesteps", tmp_path)
    phase, program = loop_phase(answer), answer.program
    steps = {step["function"]: step for step in phase["steps"]}
    placed = sorted((name for name in ORDER if steps[name]["order"]), key=lambda name: steps[name]["order"])
    assert placed == ORDER
    assert steps["output"]["order"] in (5, None)
    assert (steps["output"]["every"], steps["output"]["times"]) == (8, 1)
    for name in ORDER:
        step = steps[name]
        assert (step["driver"], step["every"], step["times"]) == ("evolve", 1, 1)
        assert step["period_s"] == pytest.approx(program["loop_us"] / program["iterations"] / 1e6, rel=0.1)
        # Ticks of a step scatter by the square root of their number.
        ticks = step["share"] * phase["seconds"] * KEPT_HZ
        assert step["mean_s"] == pytest.approx(program[f"{name}_us"] / program[name] / 1e6, rel=4 / ticks**0.5)
    sites = {(site["function"], site["kind"]) for site in phase["sites"]}
    # What has less of the phase than a tenth need not be watched.
    assert {(name, "body") for name in ORDER if steps[name]["share"] >= 0.1} <= sites
    lines = answer.text.split("evolve repeats every ")[1].splitlines()
    assert [line.split()[-1] for line in lines[1 : len(placed) + 1]] == placed


@pytest.mark.slow
def test_a_time_step_that_is_about_as_long_as_a_tick(tmp_path: Path) -> None:
    """Where both are in step, some of it is never sampled; what there is most of is, and calls are counted anyhow."""
    answer = answer_of("timesteps-slow", tmp_path)
    phase, program = loop_phase(answer), answer.program
    steps = {step["function"]: step for step in phase["steps"]}
    assert "accelerate" in steps.keys() <= {*ORDER, "output"}
    step = steps["accelerate"]
    assert (step["driver"], step["every"], step["times"]) == ("evolve", 1, 1)
    assert step["period_s"] == pytest.approx(program["loop_us"] / program["iterations"] / 1e6, rel=0.1)


@pytest.mark.slow
@pytest.mark.skipif(HZ >= 1000, reason="CPU timers go as fast as that here")
def test_perf_is_taken_where_timers_are_too_slow(build: Build, tmp_path: Path, fast_clock: str) -> None:
    answer = record(tmp_path, 1000, build("timesteps.c"), ITERATIONS, "50")
    assert answer.clock == fast_clock
    # A busy machine takes one sample for several ticks.
    assert answer.ticks_hz > 900 if fast_clock == "perf" else "per CPU second, not 1000" in answer.text


@pytest.mark.slow
@pytest.mark.skipif(HZ >= 1000, reason="CPU timers go as fast as that here")
def test_a_requested_clock_stays(build: Build, tmp_path: Path) -> None:
    answer = record(tmp_path, 1000, build("timesteps.c"), ITERATIONS, "50", clock="cpu")
    assert answer.clock == "cpu"
    (line,) = answer.stderr.splitlines()
    assert "; next: incprof phases " in line
    assert "per CPU second, not 1000" in answer.text


@pytest.mark.slow
@pytest.mark.skipif(HZ >= 1000, reason="CPU timers go as fast as that here")
def test_without_perf_there_is_one_line(build: Build, tmp_path: Path) -> None:
    barred = [build("refuse.c", pg=False), str(SYS_PERF_EVENT_OPEN), str(errno.EACCES)]
    answer = record(tmp_path, 1000, *barred, build("timesteps.c"), ITERATIONS, "50")
    lines = [line for line in answer.stderr.splitlines() if "; next: " not in line]
    assert answer.clock == "cpu"
    assert len(lines) == 2
    assert "restricts its system calls" in lines[0]  # of what starts the program
    assert "the rate will be lower than requested" in lines[1]


def test_rates_that_timers_reach_take_timers(build: Build, tmp_path: Path) -> None:
    incprof("record", "-r", "100", "-o", tmp_path / "run", "--", build("timesteps.c"), "3", "50")
    (stream,) = (tmp_path / "run").glob("*.gmon")
    assert b'"clock":"cpu"' in stream.read_bytes()[:4000]
