"""incprof merge: the run that one shared directory would have held, out of several; the parts stay as they are."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from incprof.cli.main import main
from incprof.readers.run import open_run, read_profile
from tests.integration.collector import run, variables
from tests.integration.hosts import BuildHost, calls, small_disk, streams
from tests.unit.incprof.readers.stream.test_follow import content
from tests.unit.streamwriter import Sample, StreamWriter, chunks_of


def part(directory: Path, *ranks: int, launch: str = "job 7.0", of: int = 4, gathered: bool = False) -> Path:
    """A run directory with these ranks, each of which does something else."""
    data = b""
    for rank in ranks:
        writer = StreamWriter(["main", "solve", "io"], rank=rank, ranks=of)
        for i in range(3):
            writer.interval([Sample("main;solve" if i < 2 else "main;io", weight=20 + rank)])
        writer.end()
        writer.save(directory)
        data += b"".join(chunks_of(writer.data, rank=rank))
    if gathered:
        for name in streams(directory):
            (directory / name).unlink()
        (directory / "node-n1-0badcafe.gmon").write_bytes(data)
    (directory / "launch").write_text(launch + "\n")
    return directory


def snapshot(directory: Path) -> dict[str, tuple[bytes, int]]:
    return {str(p): (p.read_bytes(), p.stat().st_mtime_ns) for p in directory.rglob("*") if p.is_file()}


def merged(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    status = main(["merge", *map(str, words)])
    out, err = capsys.readouterr()
    return status, out, err


def contents(directory: Path) -> list[object]:
    found = open_run(directory)
    return [(p.rank, p.primary, content(read_profile(found, process=p))) for p in found.processes]


@pytest.mark.parametrize("gathered", [False, True])
def test_parts_are_the_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str], gathered: bool) -> None:
    whole = part(tmp_path / "whole", 0, 1, 2, 3)
    parts = [part(tmp_path / "a", 1, 3, gathered=gathered), part(tmp_path / "b", 0, 2, gathered=gathered)]
    before = [snapshot(each) for each in parts]
    assert merged(capsys, tmp_path / "out", *parts) == (
        0, f"{tmp_path}/out: 4 ranks, 4 processes; next: incprof phases {tmp_path}/out\n", "",
    )  # fmt: skip
    assert contents(tmp_path / "out") == contents(whole)
    assert [snapshot(each) for each in parts] == before
    assert (tmp_path / "out/launch").read_text() == "job 7.0\n"
    assert sorted(tmp_path.iterdir()) == [tmp_path / name for name in ("a", "b", "out", "whole")]
    # Without its parts, it is still there.
    for each in parts:
        shutil.rmtree(each)
    assert main(["phases", str(tmp_path / "out"), "--rank", "2"]) == 0


def test_names_of_node_files_may_be_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = [part(tmp_path / str(i), i, gathered=True) for i in range(4)]
    assert merged(capsys, tmp_path / "out", *parts)[0] == 0
    assert open_run(tmp_path / "out").ranks == (0, 1, 2, 3)


def test_ranks_that_are_missing_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = [part(tmp_path / "a", 1, of=9), part(tmp_path / "b", 6, of=9)]
    status, _, err = merged(capsys, tmp_path / "out", *parts)
    assert (status, err.count("\n")) == (0, 1)
    assert "no directory holds these ranks of the launch: 0, 2-5, 7-8" in err


def test_what_does_not_belong_together_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = part(tmp_path / "a", 0, 1), part(tmp_path / "b", 1, 2)
    other, nodes = part(tmp_path / "other", 3, launch="job 8.0"), part(tmp_path / "n", 3, launch="parent 7@9")
    for words, message in (
        ((tmp_path / "a", b), "exists: give the name of a new directory"),
        ((tmp_path / "out", a, a), "is given twice"),
        ((tmp_path / "out", a, b), "rank 1 is in .*/a and in .*/b: --renumber"),
        ((tmp_path / "out", a, other), "are of different launches: --renumber"),
    ):
        status, out, err = merged(capsys, *words)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert re.search(message, err), err
        assert not (tmp_path / "out").exists()
    (tmp_path / "empty").mkdir()
    assert merged(capsys, tmp_path / "out", a, tmp_path / "empty")[0] == 4
    assert merged(capsys, tmp_path / "no/such/out", a, b, "--renumber")[0] == 1
    # The nodes of a launch have different names for it.
    assert merged(capsys, tmp_path / "out", a, nodes)[0] == 0


@pytest.mark.parametrize("gathered", [False, True])
def test_runs_become_the_ranks_of_one(tmp_path: Path, capsys: pytest.CaptureFixture[str], gathered: bool) -> None:
    parts = [part(tmp_path / "a", 0, 2, gathered=gathered), part(tmp_path / "b", 0, launch="job 8.0")]
    assert merged(capsys, tmp_path / "out", *parts, "--renumber")[::2] == (0, "")
    assert streams(tmp_path / "out") == [f"rank-{rank:05}.gmon" for rank in range(3)]
    found = open_run(tmp_path / "out")
    for rank, (directory, old) in enumerate([(parts[0], 0), (parts[0], 2), (parts[1], 0)]):
        profile = read_profile(found, rank=rank)
        assert profile.metadata.rank == rank
        assert content(profile) == content(read_profile(open_run(directory), rank=old))


def test_traces_of_calls_come_along(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where ranks keep their numbers: a trace names other ranks by them."""
    parts = [part(tmp_path / name, rank, of=2) for rank, name in enumerate("ab")]
    for rank, directory in enumerate(parts):
        (directory / f"rank-{rank:05}.mpi").write_bytes(b"calls of %d" % rank)
    assert merged(capsys, tmp_path / "out", *parts)[::2] == (0, "")
    assert [(tmp_path / f"out/rank-{rank:05}.mpi").read_bytes() for rank in (0, 1)] == [b"calls of 0", b"calls of 1"]
    status, _, err = merged(capsys, tmp_path / "anew", *parts, "--renumber")
    assert (status, err.count("\n"), "leaves out traces of MPI calls" in err) == (0, 1, True)
    assert not list((tmp_path / "anew").glob("*.mpi"))


def test_programs_without_a_build_id_must_be_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, rank, data in (("a", 0, b"one"), ("b", 1, b"one"), ("c", 2, b"two")):
        (part(tmp_path / name, rank) / "symbols/path-0123456789abcdef.elf").write_bytes(data)
    assert merged(capsys, tmp_path / "out", tmp_path / "a", tmp_path / "b")[0] == 0
    status, _, err = merged(capsys, tmp_path / "out2", tmp_path / "a", tmp_path / "c")
    assert (status, "none has a build-id" in err) == (1, True)
    assert not (tmp_path / "out2").exists()


def test_links_that_lead_out_of_a_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, secret = part(tmp_path / "a", 0), tmp_path / "secret"
    secret.write_text("x")
    (a / "symbols/00.elf").symlink_to(secret)
    status, _, err = merged(capsys, tmp_path / "out", a)
    assert (status, "leads out of" in err, err.count("\n")) == (1, True, 1)
    assert not (tmp_path / "out").exists()


def test_across_file_systems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be linked is copied; a disk that is full leaves nothing behind."""
    parts = [part(tmp_path / "a", 0), part(tmp_path / "b", 1)]
    with small_disk(tmp_path / "disk", "1m") as disk:
        assert merged(capsys, disk / "out", *parts)[0] == 0
        assert contents(disk / "out")
        (disk / "filler").write_bytes(bytes((1 << 20) - sum(p.stat().st_blocks * 512 for p in disk.rglob("*")) - 8192))
        status, _, err = merged(capsys, disk / "again", *parts)
        assert (status, "No space left" in err) == (1, True), err
        assert sorted(path.name for path in disk.iterdir()) == ["filler", "out"]


@pytest.mark.parametrize("style", ["stream", "gmon"])
def test_recordings(host: BuildHost, tmp_path: Path, capsys: pytest.CaptureFixture[str], style: str) -> None:
    for rank in (0, 5):
        launch = {"PMIX_NAMESPACE": "one", "PMIX_RANK": str(rank), "INCPROF_FORMAT": style}
        assert run([host("simple.c")], tmp_path, {**variables(tmp_path / f"node{rank}"), **launch}).status == 3
    for words, ranks in (([], (0, 5)), (["--renumber"], (0, 1))):
        out = tmp_path / f"out{len(words)}"
        assert merged(capsys, out, tmp_path / "node0", tmp_path / "node5", *words)[0] == 0
        found = open_run(out)
        assert found.ranks == ranks
        profiles = [read_profile(found, rank=rank) for rank in ranks]
        assert [calls(profile)["tick"] for profile in profiles] == [500, 500]
        assert not any(profile.warnings for profile in profiles)
        assert np.all(profiles[0].end_s > 0)
