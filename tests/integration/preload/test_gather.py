"""INCPROF_GATHER=node: the ranks of a node in one file, each of them what it would be in a file of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from incprof.errors import IncprofError
from incprof.readers.run import open_all, open_run, read_profile
from tests.integration.collector import clean_environment, run, variables
from tests.integration.command_line import incprof
from tests.integration.hosts import BuildHost, calls, collector_lines, need, streams, try_both

NODE = {"INCPROF_GATHER": "node"}


def node_file(directory: Path) -> Path:
    """The one that is there."""
    (found,) = directory.glob("node-*.gmon")
    assert os.uname().nodename[:64] in found.name.replace("_", "-") or "_" in found.name
    assert streams(directory) == []
    return found


def all_calls(directory: Path) -> list[tuple[int, bool, int]]:
    """Rank, whether it is the rank's first program, and calls of tick, for each process; none has lost anything."""
    found = open_all(directory)
    profiles = [read_profile(found, process=process) for process in found.processes]
    assert not any(profile.damaged or profile.warnings for profile in profiles)
    return [(p.rank, p.primary, calls(q).get("tick", 0)) for p, q in zip(found.processes, profiles, strict=True)]


def rank_of(rank: int, ranks: int) -> dict[str, str]:
    return {"PMIX_NAMESPACE": "one", "PMIX_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": str(ranks)}


def started(program: Path, directory: Path, ranks: int, *words: str, interval: float) -> list[subprocess.Popen[bytes]]:
    common = {**clean_environment(), **variables(directory, interval=interval), **NODE}
    return [
        subprocess.Popen([program, *words], env={**common, **rank_of(rank, ranks)}, cwd=directory.parent)
        for rank in range(ranks)
    ]


def test_many_ranks_that_write_at_the_same_time(host: BuildHost, tmp_path: Path) -> None:
    """Every millisecond, each of them."""
    processes = started(host("simple.c"), tmp_path / "run", 4, "30", interval=0.001)
    assert [process.wait(600) for process in processes] == [3] * 4
    node_file(tmp_path / "run")
    assert all_calls(tmp_path / "run") == [(rank, True, 500) for rank in range(4)]


@pytest.mark.slow
def test_children(host: BuildHost, tmp_path: Path) -> None:
    trial = try_both([host("forks.c"), "threads"], tmp_path, env=NODE)
    node_file(trial.directory)
    assert all_calls(trial.directory) == [(0, True, 1010)] + [(0, False, 7)] * 6


def test_programs_that_a_process_becomes(host: BuildHost, tmp_path: Path) -> None:
    plain = host("reexec.c", pg=False, output="plain")
    trial = try_both(
        [host("reexec.c"), "20"], tmp_path, interval=0.001, env={**NODE, "BRIEF": "1"}, reference=[plain, "20"]
    )
    assert all_calls(trial.directory) == [(0, True, 111)] + [(0, False, 111)] * 20
    assert [process.life for process in open_all(trial.directory).processes] == [1, *range(1, 21)]


def test_launches_do_not_mix(host: BuildHost, tmp_path: Path) -> None:
    for number in range(2):
        environment = {**variables(tmp_path / "run"), **NODE, "PMIX_NAMESPACE": str(number), "PMIX_RANK": "3"}
        assert run([host("simple.c")], tmp_path, environment).status == 3
    assert all_calls(tmp_path / "run") == all_calls(tmp_path / "run.1") == [(3, True, 500)]


def intervals_of(directory: Path, rank: int) -> int:
    """How many a rank has on record so far."""
    try:
        return read_profile(open_run(directory), rank=rank).n_intervals
    except IncprofError:  # there is nothing of it yet
        return 0


@pytest.mark.slow
def test_a_rank_that_is_killed_costs_the_others_nothing(host: BuildHost, tmp_path: Path) -> None:
    directory = tmp_path / "run"
    processes = started(host("simple.c"), directory, 4, "3000", interval=0.002)
    # How large the file is does not say whose intervals are in it.
    while intervals_of(directory, 1) <= 20:
        assert processes[1].poll() is None
        time.sleep(0.001)
    processes[1].send_signal(signal.SIGKILL)
    assert [process.wait(600) for process in processes] == [3, -9, 3, 3]
    found = open_run(directory)
    profiles = [read_profile(found, rank=rank) for rank in range(4)]
    assert [bool(profile.warnings) for profile in profiles] == [False, True, False, False]
    assert "did not end cleanly" in profiles[1].warnings[0] or "cut off" in profiles[1].warnings[0]
    assert profiles[1].n_intervals > 1
    assert [calls(profile)["tick"] for profile in profiles] == [500] * 4


def test_a_file_that_may_not_grow(host: BuildHost, tmp_path: Path) -> None:
    """One line, and nothing half written that a reader would stumble over."""
    need("bash")
    program = host("simple.c")
    trial = try_both(["bash", "-c", f"ulimit -f 8; exec {program} 600"], tmp_path, interval=0.002, env=NODE, lines=1)
    assert "File too large" in trial.lines()[0]
    (process,) = open_run(trial.directory).processes
    assert read_profile(open_run(trial.directory), process=process).n_intervals > 3


@pytest.mark.parametrize("what", ["fifo", "link", "symbolic"])
def test_what_others_have_put_in_its_place_is_left_alone(host: BuildHost, tmp_path: Path, what: str) -> None:
    """The rank neither waits for it nor writes through it: it has a file of its own."""
    directory, victim = tmp_path / "run", tmp_path / "victim"
    assert run([host("simple.c")], tmp_path, {**variables(directory), **NODE}).status == 3
    path = node_file(directory)
    path.unlink()
    (directory / "launch").unlink()
    victim.write_text("mine")
    if what == "fifo":
        os.mkfifo(path)
    elif what == "link":
        path.hardlink_to(victim)
    else:
        path.symlink_to(victim)
    outcome = run([host("simple.c")], tmp_path, {**variables(directory), **NODE})
    assert (outcome.status, outcome.stderr) == (3, "")
    assert streams(directory) == ["rank-00000.gmon"]
    assert victim.read_text() == "mine"


def test_files_for_gprof_are_one_process_each(host: BuildHost, tmp_path: Path) -> None:
    trial = try_both([host("simple.c")], tmp_path, env={**NODE, "INCPROF_FORMAT": "gmon"}, lines=1)
    assert trial.lines() == ["incprof: INCPROF_GATHER=node is not valid, using rank (gmon: a process's own files)"]
    assert (trial.directory / "gmon-0.0").is_file()


@pytest.mark.slow
def test_verbs_take_it_like_any_other_run(host: BuildHost, tmp_path: Path) -> None:
    assert run([host("simple.c"), "400"], tmp_path, {**variables(tmp_path / "run", interval=0.05), **NODE}).status == 3
    for words in (["phases"], ["sites"], ["report", "-o", "-"], ["top", "--once"], ["export", "--format", "csv"]):
        done = incprof(words[0], tmp_path / "run", *words[1:])
        assert (done.returncode, "tick" in done.stdout or "burn" in done.stdout) == (0, True), done.stderr


def test_record_hands_it_over(host: BuildHost, tmp_path: Path) -> None:
    done = incprof("record", "--gather", "node", "-o", tmp_path / "run", "--", host("simple.c"))
    assert done.returncode == 3
    node_file(tmp_path / "run")
    assert incprof("record", "--gather", "rack", "--", "true").returncode == 2
    assert collector_lines(run([host("simple.c")], tmp_path, {**variables(tmp_path / "x"), "INCPROF_GATHER": "all"}))
