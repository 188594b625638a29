"""Which processes a run directory holds, and which one is read."""

import os

import pytest

from incprof.errors import NoDataError, UsageError
from incprof.readers.run import open_run, read_profile
from tests.unit.streamwriter import Sample, StreamWriter


def stream(rank=0, weight=1, **metadata):
    writer = StreamWriter(rank=rank, **metadata)
    writer.interval([Sample("main", weight=weight)])
    writer.end()
    return writer


@pytest.fixture
def ranks(tmp_path):
    """Ranks 3 and 10, and two children of rank 3. Ticks tell them apart."""
    stream(10, weight=10).save(tmp_path)
    stream(3, weight=3).save(tmp_path)
    stream(3, weight=4).save(tmp_path, "rank-00003.200.gmon")
    stream(3, weight=5).save(tmp_path, "rank-00003.100-1.gmon")
    (tmp_path / "launch").write_text("job.1\n")
    (tmp_path / "rank-notes.gmon").write_text("not a stream")
    return open_run(tmp_path)


def ticks(profile):
    return round(profile.self_s.sum() * 100)


def test_processes_in_order(ranks):
    found = [(p.rank, p.pid, p.primary) for p in ranks.processes]
    assert found == [(3, 100, True), (3, 200, False), (3, 4711, False), (10, None, True)]
    assert ranks.ranks == (3, 10)
    assert ranks.app == "app"


def test_lowest_rank_by_default(ranks):
    """And of its processes the busiest."""
    assert ticks(read_profile(ranks)) == 5
    assert ticks(read_profile(ranks, rank=10)) == 10


def test_one_process(ranks):
    assert ticks(read_profile(ranks, process=200)) == 4
    assert ticks(read_profile(ranks, process=ranks.processes[2])) == 3
    assert ticks(read_profile(ranks, rank=3, process=100)) == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": 0}, "no rank 0, only 3, 10"),
        ({"process": 5}, "no process 5, only 100, 200, 4711"),
        ({"libs": "all"}, "use named, caller, separate or drop"),
    ],
)
def test_unavailable_options(ranks, options, message):
    with pytest.raises(UsageError, match=message):
        read_profile(ranks, **options)


def test_a_rank_without_its_first_process(tmp_path):
    stream(0).save(tmp_path, "rank-00000.77.gmon")
    stream(0).save(tmp_path, "rank-00000.78.gmon")
    assert [p.primary for p in open_run(tmp_path).processes] == [True, False]


def test_directories_without_profiles(tmp_path):
    with pytest.raises(NoDataError, match="no such directory"):
        open_run(tmp_path / "missing")
    with pytest.raises(NoDataError, match="no profile in it: record one with incprof record"):
        open_run(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(NoDataError, match="is a file: give the directory that holds it"):
        open_run(tmp_path / "file")


def test_a_directory_that_may_not_be_read(tmp_path, monkeypatch):
    def refused(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "listdir", refused)
    with pytest.raises(NoDataError, match=f"^{tmp_path}: Permission denied$"):
        open_run(tmp_path)


def test_an_unusable_first_rank_does_not_hide_the_others(tmp_path):
    stream(1).save(tmp_path)
    (tmp_path / "rank-00000.gmon").write_bytes(b"")
    run = open_run(tmp_path)
    assert run.app == "app"
    with pytest.raises(NoDataError, match=r"rank-00000\.gmon: empty file"):
        read_profile(run)
    assert ticks(read_profile(run, rank=1)) == 1


def test_progress_ends_at_the_total(ranks):
    steps = []
    read_profile(ranks, progress=lambda done, total: steps.append((done, total)))
    assert steps[-1][0] == steps[-1][1]


def test_metadata_lists_all_modules(ranks):
    metadata = read_profile(ranks).metadata
    assert [(m.id, m.path, m.app) for m in metadata.modules] == [
        (0, "/nowhere/app", True),
        (7, "/lib/libm.so.6", False),
    ]
    assert metadata.rate_hz == 100.0
    assert metadata.raw["host"] == "node1"
