"""A file system that stands still: intervals go on being collected, the program goes on, and it ends."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from incprof.readers.run import open_all, open_run, read_profile
from tests.integration.appekg_build import EKG_FIXTURES
from tests.integration.collector import Outcome, run, variables
from tests.integration.command_line import incprof
from tests.integration.hosts import BuildHost, calls, collector_lines, need

# How often the interval thread has slept while the one that writes was held: about as many intervals have ended.
SLEEPS = 50


@pytest.fixture(scope="session")
def hold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A launcher that stops the thread which writes."""
    target = tmp_path_factory.mktemp("hold") / "hold"
    subprocess.run(["gcc", "-O2", EKG_FIXTURES / "robust_hold.c", "-o", target], check=True)
    return target


def held(hold: Path, command: list[str | Path], place: Path, *, to_the_end: bool, **env: str) -> Outcome:
    """Return the command with the thread held until the program releases it, or to the end."""
    shell, milliseconds = "/bin/sh", 0 if to_the_end else 1
    variable = {**variables(place / "run", interval=0.01), "HOLD": "incprof-write", **env}
    variable["HOLD_FILES"] = str(place / "hold")
    preload = variable.pop("LD_PRELOAD")
    # The launcher itself is not preloaded.
    script = ["-c", 'LD_PRELOAD="$0" exec "$@"', preload]
    outcome = run([hold, str(milliseconds), shell, *script, *command], place, variable)
    if outcome.status == 77:
        pytest.skip("no ptrace here")
    return outcome


@pytest.mark.slow
@pytest.mark.parametrize("gather", ["rank", "node"])
def test_a_stall_that_passes_costs_nothing(host: BuildHost, hold: Path, tmp_path: Path, gather: str) -> None:
    command: list[str | Path] = [host("held.c"), str(SLEEPS), "over"]
    outcome = held(hold, command, tmp_path, to_the_end=False, INCPROF_GATHER=gather)
    assert (outcome.status, outcome.stderr) == (3, "")
    profile = read_profile(open_run(tmp_path / "run"))
    assert (profile.warnings, profile.damaged) == ((), False)
    assert calls(profile)["tick"] == 500
    np.testing.assert_array_equal(profile.start_s[1:], profile.end_s[:-1])
    assert profile.n_intervals > SLEEPS / 2


@pytest.mark.slow
def test_more_than_memory_holds_is_dropped_and_counted(host: BuildHost, hold: Path, tmp_path: Path) -> None:
    """Little address space leaves little room for what waits."""
    need("bash")
    command: list[str | Path] = ["bash", "-c", f"ulimit -v 15000; exec {host('held.c')} 3000 over"]
    outcome = held(hold, command, tmp_path, to_the_end=False, INCPROF_INTERVAL="0.001")
    assert (outcome.status, outcome.stderr) == (3, "")
    profile = read_profile(open_run(tmp_path / "run"))
    (warning,) = profile.warnings
    assert "intervals were dropped: the file system did not respond" in warning
    dropped = int(warning.split(": ")[1].split()[0])
    gaps = profile.start_s[1:] != profile.end_s[:-1]
    assert (gaps.sum() > 0, dropped >= gaps.sum(), profile.damaged) == (True, True, False)
    assert calls(profile)["tick"] == 500  # in the first interval
    done = incprof("phases", tmp_path / "run")
    assert (done.returncode, f"{dropped} intervals were dropped" in done.stderr) == (0, True), done


@pytest.mark.parametrize("gather", ["rank", "node"])
def test_a_stall_until_the_end(host: BuildHost, hold: Path, tmp_path: Path, gather: str) -> None:
    """The program waits for a moment and ends as it would; one line reports what is missing."""
    outcome = held(hold, [host("held.c"), str(SLEEPS)], tmp_path, to_the_end=True, INCPROF_GATHER=gather)
    assert outcome.status == 3
    (line,) = collector_lines(outcome)
    assert "the file system does not respond, not waiting for it any more: not written: " in line
    assert int(line.split()[-2]) > SLEEPS / 2
    profile = read_profile(open_run(tmp_path / "run"))
    assert profile.n_intervals > 0
    path = open_run(tmp_path / "run").processes[0].path
    said = f"the run did not end cleanly, or is still going on (all {profile.n_intervals} intervals are whole)"
    assert profile.warnings == (f"{path}: {said}",)


@pytest.mark.parametrize("gather", ["rank", "node"])
def test_children_during_a_stall(host: BuildHost, hold: Path, tmp_path: Path, gather: str) -> None:
    """A child has a writer of its own; what its parent has not written is not written by it."""
    outcome = held(hold, [host("forks.c"), "fork"], tmp_path, to_the_end=True, INCPROF_GATHER=gather)
    assert (outcome.status, outcome.stdout) == (4, "status 3\n")
    found = open_all(tmp_path / "run")
    (child,) = (process for process in found.processes if not process.primary)
    profile = read_profile(found, process=child)
    assert (calls(profile)["tick"], profile.warnings) == (7, ())


@pytest.mark.slow
def test_a_program_that_becomes_another_one_during_a_stall(host: BuildHost, hold: Path, tmp_path: Path) -> None:
    """The next one is recorded as if nothing had been."""
    outcome = held(hold, [host("reexec.c"), "1"], tmp_path, to_the_end=True)
    assert outcome.status == 9
    lives = open_all(tmp_path / "run").processes
    assert [process.life for process in lives] == [1, 1]
    assert calls(read_profile(open_run(tmp_path / "run"), process=lives[1]))["tick"] == 111
