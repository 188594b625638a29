"""Heartbeats of programs that fork, in every way, and of what they run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.integration.appekg_build import EkgBuilder
from tests.integration.appekg_scripts import Recorded, files, only_file, read_file, run_program, run_script

TURN = ["begin 0 1", "advance 10", "end 0 1"]


@pytest.fixture(scope="session")
def script(ekg: EkgBuilder) -> Path:
    return ekg.program("script.c", flags="-DEKG_FAKE_CLOCK", output="script")


@pytest.fixture(scope="session", params=[False, True], ids=["static", "shared"])
def forks(ekg: EkgBuilder, request: pytest.FixtureRequest) -> Path:
    return ekg.program("forks.c", output="forks", shared=request.param)


def parent_and_children(directory: Path) -> tuple[Recorded, list[Recorded]]:
    first, *others = files(directory)
    assert first.name == "rank-00000.ekg"
    children = [read_file(path) for path in others]
    for path, child in zip(others, children, strict=True):
        assert path.name == f"rank-00000.{child.header['pid']}.ekg"
        assert child.header["forked"]
    parent = read_file(first)
    assert not parent.header["forked"]
    return parent, children


def test_a_child_has_a_file_of_its_own_if_it_beats(script: Path, tmp_path: Path) -> None:
    idle, busy = ["fork", "advance 5", "joined"], ["fork", "advance 5", *TURN * 3, "joined"]
    _, directory = run_script(script, [*TURN, *idle, *TURN, *busy, *TURN, "interval", *TURN], tmp_path)
    parent, (child,) = parent_and_children(directory)
    assert [row.count for row in parent.rows] == [3, 1]
    assert [(row.thread, row.count, row.sum_ns) for row in child.rows] == [(0, 3, 30)]
    assert child.intervals[0]["start_ns"] == 0
    assert child.header["ppid"] == parent.header["pid"]
    assert child.header["launch"] == parent.header["launch"]
    assert child.has_end


def test_beats_that_are_open_at_a_fork_are_the_parents(script: Path, tmp_path: Path) -> None:
    lines = ["begin 0 1", "begin 1 1", "advance 5", "fork", "advance 5", "end 0 1", "end 0 1", *TURN, "joined"]
    _, directory = run_script(script, [*lines, "advance 1", "end 0 1", "end 1 1"], tmp_path)
    parent, (child,) = parent_and_children(directory)
    assert [(row.count, row.sum_ns) for row in parent.rows] == [(1, 6), (1, 6)]
    assert [(row.count, row.sum_ns, row.open) for row in child.rows] == [(1, 10, 0)]
    assert child.total("unmatched") == 2


def test_a_child_inherits_names_and_rates_and_has_its_own_threads(script: Path, tmp_path: Path) -> None:
    lines = ["name 1 61", "rate 1 2", *TURN, "begin 2 1", "end 2 1", "fork", *TURN * 4, *["begin 2 1", "end 2 1"]]
    _, directory = run_script(script, [*lines, "joined"], tmp_path)
    _, (child,) = parent_and_children(directory)
    assert child.beats == [{"id": 1, "name": "a", "rate_factor": 2}]
    assert [(row.thread, row.count) for row in child.rows] == [(0, 2), (1, 1)]


def test_forks_of_forks(script: Path, tmp_path: Path) -> None:
    """The middle one never beats."""
    lines = [*TURN, "fork", "fork", *TURN, "fork", *TURN * 2, "joined", *TURN, "joined", "joined", *TURN]
    _, directory = run_script(script, lines, tmp_path)
    parent, children = parent_and_children(directory)
    assert parent.total("count") == 2
    assert sorted(child.total("count") for child in children) == [2, 2]


def test_children_from_before_the_first_beat_meet_in_one_directory(script: Path, tmp_path: Path) -> None:
    lines = ["name 1 61", *["fork", *TURN, "joined"] * 3]
    _, directory = run_script(script, lines, tmp_path / "all")
    assert [read_file(path).header["forked"] for path in files(directory)] == [True] * 3
    _, directory = run_script(script, [*lines, *TURN], tmp_path / "too")
    parent, children = parent_and_children(directory)
    assert [parent.total("count"), *(child.total("count") for child in children)] == [1] * 4
    assert not (tmp_path / "too" / "run.1").exists()


def test_a_child_of_a_process_that_is_switched_off(script: Path, tmp_path: Path) -> None:
    """It is off as well, and an operator can switch it on: one that beats looks at the operator's file."""
    child = ["fork", *TURN, "interval", "control on", "interval", *TURN, "joined"]
    _, directory = run_script(script, [*TURN, "disable", *child], tmp_path / "operator")
    parent, (found,) = parent_and_children(directory)
    assert parent.total("count") == found.total("count") == 1
    assert [interval["enabled"] for interval in found.intervals] == [False, True, True]
    outcome, directory = run_script(
        script,
        [*TURN, "disable", "fork", "enable", *TURN, "joined", "fork", "disable", *TURN, "joined"],
        tmp_path / "api",
    )
    assert outcome.stdout.split() == "enabled 0 enabled 1 enabled 0".split()
    parent, (found,) = parent_and_children(directory)
    assert found.total("count") == 1


def test_a_finalized_process_has_children_without_heartbeats(script: Path, tmp_path: Path) -> None:
    _, directory = run_script(script, [*TURN, "finalize", "fork", *TURN, "init", "joined"], tmp_path)
    assert only_file(directory).total("count") == 1


def test_a_child_that_leaves_by__exit_loses_its_open_interval_only(script: Path, tmp_path: Path) -> None:
    lines = [*TURN, "fork", *TURN, "interval", *TURN, "leap", "joined", *TURN]
    _, directory = run_script(script, lines, tmp_path)
    parent, (child,) = parent_and_children(directory)
    assert parent.total("count") == 2
    assert parent.has_end
    assert child.total("count") == 1
    assert not child.has_end


def test_forks_of_a_program_with_threads_that_beat(forks: Path, tmp_path: Path) -> None:
    outcome = run_program([forks, "threads"], tmp_path, {"EKG_INTERVAL": "0.005"})
    assert outcome.status == 0, outcome
    parent, children = parent_and_children(tmp_path / "run")
    assert parent.total("count") == outcome.values()["beats"]
    assert [(child.total("count", id=2), child.total("count")) for child in children] == [(10, 10)] * 20


def test_forks_in_a_signal_handler(forks: Path, tmp_path: Path) -> None:
    """They interrupt the library's own calls, too: nothing hangs, and the parent's beats are whole."""
    outcome = run_program([forks, "handler"], tmp_path)
    assert outcome.status == 0, outcome
    parent = read_file(files(tmp_path / "run")[0])
    assert parent.total("count", id=1) + parent.total("dropped") == outcome.values()["beats"]
    assert parent.total("dropped") == 0


@pytest.mark.parametrize(("kind", "own", "others"), [("vfork", 2, 1), ("spawn", 1, 1), ("shell", 3, 0)])
def test_what_a_program_runs_has_a_directory_of_its_own(
    forks: Path, tmp_path: Path, kind: str, own: int, others: int
) -> None:
    outcome = run_program([forks, kind], tmp_path)
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, "", "")
    assert only_file(tmp_path / "run").total("count", id=1) == own
    found = [only_file(path) for path in tmp_path.glob("run.*")]
    assert [run.total("count", id=3) for run in found] == [1] * others


def test_exec_goes_on_in_the_same_directory(forks: Path, tmp_path: Path) -> None:
    """It is the same process. What was open when it called exec is lost, as at _exit."""
    outcome = run_program([forks, "exec"], tmp_path, {"EKG_INTERVAL": "0.01"})
    assert outcome.status == 0, outcome
    before, after = files(tmp_path / "run")
    assert (before.name, bool(re.fullmatch(r"rank-00000\.\d+\.ekg", after.name))) == ("rank-00000.ekg", True)
    assert read_file(before).total("count", id=1) == 1
    assert read_file(after).total("count", id=3) == 1
    assert not read_file(before).has_end


def test_a_child_made_behind_libcs_back_harms_nothing(forks: Path, tmp_path: Path) -> None:
    outcome = run_program([forks, "behind"], tmp_path)
    assert (outcome.status, outcome.stderr) == (0, "")
    found = only_file(tmp_path / "run")
    assert found.total("count") == 10
    assert found.has_end
