"""Stacks of any depth at any rate: the program ends, and is ended, as it is without us."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.integration.collector import clean_environment, variables
from tests.integration.hosts import BuildHost, calls, ticks, try_both
from tests.variants import mostly_slow

SHELL = ["sh", "-c", 'ulimit -s 1000000 2>/dev/null; exec "$@"', "sh"]
CASES = [
    (10, 10_000),
    (5_000, 10_000),
    (65_000, 1_000),
    (400_000, 10_000),
    (20_000, 5_000),
    (65_000, 100),
    (400_000, 100),
]


def deep(host: BuildHost) -> Path:
    """Its recursion is one: the compiler makes no loop of it."""
    return host("deep.c", flags="-O1 -fno-optimize-sibling-calls", output="deep-host")


@pytest.mark.parametrize(("depth", "rate"), mostly_slow(4, CASES))
def test_deep_recursion_ends(host: BuildHost, fast_clock: str, tmp_path: Path, depth: int, rate: int) -> None:
    """At any cost: a rate is not lowered."""
    env = {
        "INCPROF_CLOCK": fast_clock,
        "INCPROF_RATE": str(rate),
        "INCPROF_OVERHEAD": "100",
        "INCPROF_INTERVAL": "0.05",
    }
    trial = try_both([*SHELL, deep(host), str(depth)], tmp_path, env=env)
    assert trial.recorded.stdout == "done\n"
    profile = trial.profile()
    assert calls(profile)["climb"] == depth + 1
    # What the handler skips counts with the next sample, or has found no room and is counted: a busy machine may let
    # the collector's thread wait until the buffers are full. Ticks behind the last sample are in none: usually few, but
    # a machine that stops its guest in the handler makes that sample as expensive as all that follow.
    before = int(profile.interval_of_samples().max())
    cpu_s = float(profile.counters.cpu_s[:before].sum())
    assert before > 0 or profile.counters.handler_s.sum() > 0.001
    assert ticks(profile) + profile.counters.lost.sum() >= 0.7 * profile.metadata.rate_hz * cpu_s


def test_all_ticks_are_sampled_where_the_budget_is_all_time(host: BuildHost, fast_clock: str, tmp_path: Path) -> None:
    """A path of a thousand frames takes 3.5 us of the 100 between two ticks: more than the usual 2 %."""
    if fast_clock != "perf":
        pytest.skip("perf events are not permitted here")
    env = {"INCPROF_CLOCK": fast_clock, "INCPROF_RATE": "10000", "INCPROF_OVERHEAD": "100"}
    counters = try_both([deep(host), "1000", "300"], tmp_path, env=env).profile().counters
    # A machine that stops its guest in the handler makes that sample as expensive as some that follow.
    assert counters.skipped.sum() < 0.2 * counters.samples.sum()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it(host: BuildHost, fast_clock: str, tmp_path: Path, number: int) -> None:
    env = {"INCPROF_CLOCK": fast_clock, "INCPROF_RATE": "10000", "INCPROF_OVERHEAD": "100"}
    run = tmp_path / "run"
    with subprocess.Popen(
        [*SHELL, deep(host), "65000", "60000"], env={**clean_environment(), **variables(run, interval=0.05), **env}
    ) as process:
        while not list(run.glob("rank-*.gmon")) or next(run.glob("rank-*.gmon")).stat().st_size < 3000:
            time.sleep(0.05)
        process.send_signal(number)
        assert process.wait(timeout=600) == -number


def test_a_stack_that_overflows_ends_as_alone(host: BuildHost, fast_clock: str, tmp_path: Path) -> None:
    env = {"INCPROF_CLOCK": fast_clock, "INCPROF_RATE": "10000", "INCPROF_OVERHEAD": "100"}
    program = host("deep.c", flags="-O0", output="over-host")
    trial = try_both(["sh", "-c", 'ulimit -s 100000; ulimit -c 0; exec "$0" over', program], tmp_path, env=env)
    assert trial.recorded.status == -signal.SIGSEGV


def test_a_rate_that_costs_too_much_is_lowered_and_reported(host: BuildHost, fast_clock: str, tmp_path: Path) -> None:
    if fast_clock != "perf":
        pytest.skip("perf events are not permitted here")
    env = {"INCPROF_CLOCK": "perf", "INCPROF_RATE": "10000", "INCPROF_OVERHEAD": "0.1"}
    trial = try_both([deep(host), "10"], tmp_path, env=env, lines=1)
    assert "a second instead of 10000" in trial.lines()[0]
    assert 1000 <= trial.profile().metadata.rate_hz < 10_000
