"""Run directories of many launches: ranks of one meet in one, however their starts interleave, and at little cost."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from tests.integration.collector import clean_environment, run, variables
from tests.integration.hosts import BuildHost, collector_lines, streams

OPENAT, MKDIRAT, GETDENTS64, FACCESSAT, UNLINKAT, RENAMEAT2 = 257, 258, 217, 269, 263, 316
RANKS = 12


def rank_of(launch: str, rank: int) -> dict[str, str]:
    """Return the output of a launcher."""
    return {"PMIX_NAMESPACE": launch, "PMIX_RANK": str(rank)}


def make_launches(directory: Path, numbers: Iterable[int]) -> None:
    """Run directories of other launches: DIR for 0, DIR.N for the others."""
    for number in numbers:
        place = directory if number == 0 else directory.with_name(f"{directory.name}.{number}")
        place.mkdir()
        (place / "launch").write_text(f"process {number + 1}@1\n")


def start(program: Path, directory: Path, more: Mapping[str, str]) -> subprocess.Popen[bytes]:
    environment = {**clean_environment(), **variables(directory), **more}
    return subprocess.Popen([program, "0"], env=environment, cwd=directory.parent)


def directories_of(directory: Path) -> Counter[str]:
    """How many ranks of each launch are in each of the directories whose name begins like this."""
    found: Counter[str] = Counter()
    for place in directory.parent.glob(f"{directory.name}*"):
        ranks = len(streams(place))
        if ranks > 0:
            found[f"{(place / 'launch').read_text().strip()}: {ranks}"] += 1
    return found


@pytest.mark.parametrize("earlier", [0, 1, 300])
def test_two_launches_at_the_same_time(host: BuildHost, tmp_path: Path, earlier: int) -> None:
    directory = tmp_path / "run"
    make_launches(directory, range(earlier))
    started = [
        start(host("simple.c"), directory, rank_of(launch, rank)) for rank in range(RANKS) for launch in ("one", "two")
    ]
    assert [process.wait(600) for process in started] == [3] * 2 * RANKS
    assert directories_of(directory) == {f" launcher {launch}: {RANKS}".strip(): 1 for launch in ("one", "two")}


def test_a_rank_that_comes_after_other_launches(host: BuildHost, tmp_path: Path) -> None:
    """What others have taken meanwhile, what was removed, and what only looks like a run directory."""
    directory = tmp_path / "run"
    make_launches(directory, range(5))
    assert start(host("simple.c"), directory, rank_of("one", 0)).wait(600) == 3
    assert streams(tmp_path / "run.5") == ["rank-00000.gmon"]
    make_launches(directory, range(6, 100))
    (tmp_path / "run.3/launch").unlink()
    (tmp_path / "run.100").write_text("a file")
    (tmp_path / "run.0101").mkdir()
    (tmp_path / "run.101.old").mkdir()
    (tmp_path / "runs.200").mkdir()
    assert start(host("simple.c"), directory, rank_of("one", 1)).wait(600) == 3
    assert streams(tmp_path / "run.5") == ["rank-00000.gmon", "rank-00001.gmon"]
    assert start(host("simple.c"), directory, rank_of("two", 0)).wait(600) == 3
    assert streams(tmp_path / "run.101") == ["rank-00000.gmon"]


def test_a_launch_that_has_made_its_directory_and_not_yet_signed(host: BuildHost, tmp_path: Path) -> None:
    """Its ranks are about to meet there: one that comes first takes it."""
    directory = tmp_path / "run"
    make_launches(directory, range(3))
    (tmp_path / "run.3").mkdir()
    for rank in range(2):
        assert start(host("simple.c"), directory, rank_of("one", rank)).wait(600) == 3
    assert streams(tmp_path / "run.3") == ["rank-00000.gmon", "rank-00001.gmon"]


def counted(counter: Path, program: Path, directory: Path, more: Mapping[str, str]) -> dict[int, int]:
    """How often a rank and its threads make each system call, without samples of waits."""
    counts = directory.parent / "counts"
    environment = {**variables(directory), "INCPROF_WAITS": "0", **more}
    found = run([counter, counts, program, "0"], directory.parent, environment)
    if found.status == 77:
        pytest.skip("no ptrace here")
    assert (found.status, collector_lines(found)) == (3, [])
    return {int(line.split()[0]): int(line.split()[1]) for line in counts.read_text().splitlines()}


@pytest.mark.parametrize("gather", ["rank", "node"])
def test_what_others_have_made_is_left_alone(host: BuildHost, tmp_path: Path, gather: str) -> None:
    """A rank reads whose directory it is and opens its file: it makes, names and looks for nothing else."""
    counter, program, directory = host("syscalls.c", pg=False), host("simple.c"), tmp_path / "run"
    more = {"INCPROF_GATHER": gather}
    environment = {**clean_environment(), **variables(directory), **rank_of("one", 0), **more}
    with subprocess.Popen([program, "60000"], env=environment, cwd=tmp_path) as first:
        while not list(directory.glob("symbols/*.elf")):
            assert first.poll() is None
        counts = counted(counter, program, directory, {**rank_of("one", 1), **more})
        first.kill()
    assert {call: counts.get(call, 0) for call in (MKDIRAT, FACCESSAT, UNLINKAT, RENAMEAT2)} == {
        MKDIRAT: 0, FACCESSAT: 0, UNLINKAT: 0, RENAMEAT2: 0,
    }  # fmt: skip
    assert len(list(directory.glob("symbols/*"))) == 1


@pytest.mark.slow
def test_thousands_of_earlier_launches_cost_little(host: BuildHost, tmp_path: Path) -> None:
    """One listing and a bounded look for others of the launch, which the next rank finds at once."""
    counter = host("syscalls.c", pg=False)
    directory = tmp_path / "run"
    make_launches(directory, range(3000))
    counts = []
    for rank in range(2):
        counts.append(counted(counter, host("simple.c"), directory, rank_of("one", rank)))
    assert streams(tmp_path / "run.3000") == ["rank-00000.gmon", "rank-00001.gmon"]
    assert counts[0][MKDIRAT] <= 6
    assert counts[0][OPENAT] <= 256 + 60
    assert counts[1].get(MKDIRAT, 0) == 0
    assert counts[1][OPENAT] <= 60
    assert counts[1][GETDENTS64] <= 10
