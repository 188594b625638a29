"""Children: a file of its own for each that does something, nothing of the parent's in it, and the other way round."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from incprof.readers.run import open_all, read_profile
from tests.integration.hosts import BuildHost, Trial, calls, ended_cleanly, raw_images, streams, ticks, try_both


def child_calls(trial: Trial) -> list[int]:
    """Calls of tick in each file that is not the parent's."""
    run = open_all(trial.directory)
    return sorted(calls(read_profile(run, process=p))["tick"] for p in run.processes if not p.primary)


def test_forked_child_has_a_file_of_its_own(host: BuildHost, tmp_path: Path) -> None:
    trial = try_both([host("forks.c"), "fork"], tmp_path)
    assert "status 3" in trial.recorded.stdout
    assert calls(trial.profile())["tick"] == 1010
    assert child_calls(trial) == [7]
    child = next(trial.directory / name for name in trial.files() if name != "rank-00000.gmon")
    first = raw_images(child.read_bytes())[0]
    metadata = json.loads(child.read_bytes()[first.start + 20 : first.end])
    assert metadata["forked"] is True
    assert child.name == f"rank-00000.{metadata['pid']}.gmon"
    assert ended_cleanly(child)
    process = next(p for p in open_all(trial.directory).processes if not p.primary)
    assert 5 <= ticks(read_profile(open_all(trial.directory), process=process)) <= 30


def test_child_stays_off_on_request(host: BuildHost, tmp_path: Path) -> None:
    trial = try_both([host("forks.c"), "fork"], tmp_path, env={"INCPROF_FOLLOW": "0"})
    assert trial.files() == ["rank-00000.gmon"]
    assert calls(trial.profile())["tick"] == 1010


def test_child_that_forks_again(host: BuildHost, tmp_path: Path) -> None:
    trial = try_both([host("forks.c"), "again"], tmp_path)
    assert child_calls(trial) == [7, 7]


@pytest.mark.slow
def test_fork_in_a_program_with_threads(host: BuildHost, tmp_path: Path) -> None:
    trial = try_both([host("forks.c"), "threads"], tmp_path)
    assert "status 6\n" in trial.recorded.stdout
    assert child_calls(trial) == [7] * 6
    assert calls(trial.profile())["tick"] == 1010


def sampled_children(trial: Trial) -> int:
    """Return how many children are on record, each of which must have been sampled."""
    run = open_all(trial.directory)
    children = [read_profile(run, process=process) for process in run.processes if not process.primary]
    assert all(ticks(profile) > 0 for profile in children)
    return len(children)


def test_children_that_do_nothing_leave_no_file(host: BuildHost, tmp_path: Path) -> None:
    # A child that is sampled has something to say: at 1 Hz, one of 200 is in one run of some hundreds, or of ten where
    # the machine is slow. That there are more than ten is nothing that happens by chance.
    trial = try_both([host("forks.c"), "idle"], tmp_path, env={"INCPROF_RATE": "1"})
    assert "status 200" in trial.recorded.stdout
    assert sampled_children(trial) <= 10


def test_vfork_child_that_exits_ends_nothing(host: BuildHost, tmp_path: Path) -> None:
    """It runs in its parent's memory: its _exit must not end the parent's recording."""
    trial = try_both([host("forks.c"), "vfork-exit"], tmp_path)
    assert "status 42" in trial.recorded.stdout
    assert calls(trial.profile())["tick"] == 1010
    assert ended_cleanly(trial.directory / "rank-00000.gmon")


@pytest.mark.parametrize("mode", ["vfork", "exec", "spawn", "system", "popen"])
def test_child_that_becomes_another_recorded_program(host: BuildHost, tmp_path: Path, mode: str) -> None:
    """It is a launch of its own: it takes DIR.1, and leaves the parent's directory alone."""
    trial = try_both([host("forks.c"), mode, host("child.c")], tmp_path)
    assert "status 6" in trial.recorded.stdout
    # A forked child may be sampled before it becomes another program.
    assert sampled_children(trial) <= (mode == "exec")
    assert calls(trial.profile())["tick"] == 1010
    other = tmp_path / "recorded/run.1"
    assert streams(other) == ["rank-00000.gmon"]
    assert calls(read_profile(open_all(other)))["tick"] == 33


@pytest.mark.parametrize("mode", ["vfork", "exec", "spawn", "system", "popen"])
def test_child_that_becomes_a_plain_program(host: BuildHost, tmp_path: Path, mode: str) -> None:
    trial = try_both([host("forks.c"), mode, "/bin/true"], tmp_path)
    assert "status 0" in trial.recorded.stdout
    assert sampled_children(trial) <= (mode == "exec")
    assert not (tmp_path / "recorded/run.1").exists()


def test_program_that_becomes_itself(host: BuildHost, tmp_path: Path) -> None:
    """One file per life, no life written over another, and an exec that fails changes nothing."""
    # glibc's own timer survives an exec, and may kill the next life before that has a handler.
    plain = host("reexec.c", pg=False, output="plain")
    trial = try_both([host("reexec.c"), "2"], tmp_path, interval=60, reference=[plain, "2"])
    assert trial.recorded.status == 9
    run = open_all(trial.directory)
    assert len(run.processes) == 3
    assert [calls(read_profile(run, process=p))["tick"] for p in run.processes] == [111] * 3
    assert all(ended_cleanly(trial.directory / name) for name in trial.files())


def test_what_is_written_before_an_exec_stands(host: BuildHost, tmp_path: Path) -> None:
    """Where intervals are short, none comes between the last one and the exec, which could tear it."""
    plain = host("reexec.c", pg=False, output="plain")
    trial = try_both([host("reexec.c"), "40"], tmp_path, interval=0.001, env={"BRIEF": "1"}, reference=[plain, "40"])
    assert [name for name in trial.files() if not ended_cleanly(trial.directory / name)] == []
    run = open_all(trial.directory)
    assert [calls(read_profile(run, process=process))["tick"] for process in run.processes] == [111] * 41


@pytest.mark.parametrize("style", ["stream", pytest.param("gmon", marks=pytest.mark.slow)])
def test_program_that_becomes_itself_again_and_again(host: BuildHost, tmp_path: Path, style: str) -> None:
    """Each life has files of its own, and all of it is in them."""
    plain = host("reexec.c", pg=False, output="plain")
    env = {"INCPROF_FORMAT": style, "BRIEF": "1"}
    trial = try_both([host("reexec.c"), "30"], tmp_path, interval=60, env=env, reference=[plain, "30"])
    assert trial.recorded.status == 9
    run = open_all(trial.directory)
    assert [process.life for process in run.processes] == [1, *range(1, 31)]
    assert len({process.pid for process in run.processes[1:]}) == 1
    assert [calls(read_profile(run, process=process))["tick"] for process in run.processes] == [111] * 31
    assert not [path.name for path in trial.directory.rglob("*.tmp")]
