"""What the library takes of what a process has little of: descriptors, mappings, locked memory, system calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.collector import run, variables
from tests.integration.hosts import BuildHost, calls, ended_cleanly, streams, ticks, try_both


@pytest.mark.parametrize("clock", ["cpu", "perf"])
def test_the_table_of_descriptors_is_the_programs_own(
    host: BuildHost, fast_clock: str, tmp_path: Path, clock: str
) -> None:
    """It may close all of it and open files of its own there; a forked child of its finds them open."""
    if clock == "perf" and fast_clock != "perf":
        pytest.skip("perf events are not permitted here")
    env = {"INCPROF_CLOCK": clock, "INCPROF_FOLLOW": "0"}
    trial = try_both([host("descriptors.c")], tmp_path, env=env)
    assert "child reads 1 1\n" in trial.recorded.stdout
    assert ticks(trial.profile()) >= 45


def test_perf_events_beyond_the_limit_of_descriptors_are_timers(
    host: BuildHost, fast_clock: str, tmp_path: Path
) -> None:
    if fast_clock != "perf":
        pytest.skip("perf events are not permitted here")
    words = [
        "sh",
        "-c",
        'ulimit -n 12; exec "$0" threads',
        host("urgent.c", flags="-D_GNU_SOURCE", output="urgent-few"),
    ]
    trial = try_both(words, tmp_path, env={"INCPROF_CLOCK": "perf"}, lines=None)
    assert all("no more descriptors" in line for line in trial.lines())
    assert ticks(trial.profile()) >= 60


@pytest.mark.parametrize("words", [["400"], ["400", "locked"]], ids=["mappings", "locked"])
def test_a_thread_takes_few_mappings_and_little_locked_memory(
    host: BuildHost, tmp_path: Path, words: list[str]
) -> None:
    """The kernel allows 65 530 mappings; a thread has two of its own."""
    program = host("crowd.c")
    figures = []
    for place, env in (("alone", {}), ("recorded", variables(tmp_path / "run", interval=60))):
        (tmp_path / place).mkdir()
        outcome = run([program, *words], tmp_path / place, env)
        if outcome.status == 3 or (place, words[1:], outcome.status) == ("alone", ["locked"], 4):
            pytest.skip("no memory, or not enough for so many threads, can be locked here (ulimit -l)")
        assert outcome.status == 0, outcome
        figures.append(
            {
                line.split()[0]: int(line.split()[1])
                for line in outcome.stderr.splitlines()
                if line.split()[0] in {"mappings", "locked"}
            }
        )
    alone, recorded = figures
    assert recorded["mappings"] - alone["mappings"] <= 400 * 0.2
    assert recorded["locked"] - alone["locked"] <= 400 * 16  # KiB


@pytest.mark.parametrize(("mode", "status"), [("strict", 0), ("filter", 5)])
def test_a_program_that_restricts_its_system_calls(host: BuildHost, tmp_path: Path, mode: str, status: int) -> None:
    """The recording ends before; what was recorded until then is whole."""
    plain = host("sandbox.c", pg=False, output="sandbox-plain", flags="-w")
    trial = try_both([host("sandbox.c", flags="-w"), mode], tmp_path, reference=[plain, mode], lines=1)
    assert (trial.recorded.status, trial.recorded.stdout) == (status, "alive\n")
    assert "restricts its system calls" in trial.lines()[0]
    assert calls(trial.profile())["tick"] == 77
    assert ticks(trial.profile()) >= 15
    (name,) = streams(trial.directory)
    assert ended_cleanly(trial.directory / name)
