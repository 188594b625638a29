"""Streams that grow while they are read: in the end, the same as a file that is read at once."""

import json
import os
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.errors import NoDataError
from incprof.model import Process, pooled
from incprof.readers.run import open_run, read_profile
from incprof.readers.stream import follow
from incprof.readers.stream.follow import RunFollower
from incprof.systems.live.track import LiveRun
from tests.unit.streamwriter import LIBRARY, MODULES, PROFILER, UNKNOWN, Sample, StreamWriter, image, module


def written(intervals: int = 9) -> StreamWriter:
    """A stream with paths that come later, library time, calls, and a library that is loaded on the way."""
    writer = StreamWriter(["main", "solve", "io", "leaf"])
    paths = ["main;solve", "main;io", "main;solve;leaf"]
    for i in range(intervals):
        samples = [Sample(paths[i % 3], weight=50 + i), Sample(paths[(i + i // 4) % 3]), Sample("main", LIBRARY)]
        samples += [Sample("main", PROFILER), Sample("", UNKNOWN), Sample("", LIBRARY)]
        if i == 4:
            late = [module(9, "/lib/late.so", None, app=True)]
            writer.data += image(MODULES, json.dumps(late).encode(), interval=i)
        if i > 4:
            samples.append(Sample(((0, writer.address("main")), (9, 0x2000 + 16 * i))))
        arcs = {("main", "solve"): i, ("", "main"): 2, ("solve", "leaf"): 3 * i + 1}
        writer.interval(samples[i % 2 :], arcs=arcs if i % 3 else {})
    writer.end()
    return writer


def content(profile):
    """All numbers of a profile."""
    tables = [profile.paths, profile.samples, profile.counters]
    arrays = [getattr(table, name) for table in tables for name in table.__dataclass_fields__]
    arrays += [profile.start_s, profile.end_s, profile.self_s.toarray(), profile.calls.toarray()]
    return [array.tolist() for array in arrays], profile.functions


def seconds(profile):
    """Seconds of self time by interval's end and function."""
    rows = profile.self_s.toarray().tolist()
    return {
        (end, profile.functions[i].name): value
        for end, row in zip(profile.end_s.tolist(), rows, strict=True)
        for i, value in enumerate(row)
        if value
    }


def follower(directory, keep=10_000, **options):
    run = RunFollower(str(directory), **options)
    run.scan()
    [(_, found)] = run.processes
    found.keep = keep
    return found


def look_on(found):
    """What a file has now: the profiles of what is new."""
    profiles = []
    while True:
        data = found.poll()
        profiles += [data.profile] if data.profile else []
        if not data.more:
            return profiles


DATA = written().data


@settings(max_examples=40, deadline=None)
@given(
    cuts=st.lists(st.integers(0, len(DATA)), max_size=12),
    most=st.sampled_from([1, 4, 1024]),
    by=st.integers(1, 12),
    hole=st.booleans(),
)
def test_intervals_taken_together_are_those_of_the_whole_file(tmp_path_factory, cuts, most, by, hole):
    root = tmp_path_factory.mktemp("run")
    path = written().save(root) / "rank-00000.gmon"
    data = DATA if not hole else DATA[: len(DATA) // 2] + b"x" * 60 + DATA[len(DATA) // 2 + 60 :]
    path.write_bytes(data)
    whole = pooled(read_profile(open_run(root), arcs=False), by)
    path.write_bytes(b"")
    found, profiles = follower(root), []
    found.regroup(by)
    with pytest.MonkeyPatch.context() as patch, path.open("ab") as raw:
        patch.setattr(follow, "MOST_INTERVALS", most)
        for low, high in pairwise([0, *sorted(cuts), len(data)]):
            raw.write(data[low:high])
            raw.flush()
            profiles += look_on(found)
        found.flush = True
        profiles += look_on(found)
    given_out = np.concatenate([p.end_s for p in profiles])
    assert found.n_intervals == len(given_out) == len(pooled(found.window(), by).end_s)
    if not hole:
        assert given_out.tolist() == whole.end_s.tolist()
        seconds = np.concatenate([p.self_s.sum(axis=1) for p in profiles])
        assert seconds == pytest.approx(np.asarray(whole.self_s.sum(axis=1)))
        assert found.ended


@settings(max_examples=60, deadline=None)
@given(cuts=st.lists(st.integers(0, len(DATA)), max_size=12), most=st.sampled_from([1, 2, 1024]))
def test_cut_anywhere_it_ends_as_the_whole_file(tmp_path_factory, cuts, most):
    root = tmp_path_factory.mktemp("run")
    writer = written()
    whole = read_profile(open_run(writer.save(root / "whole")), arcs=False)
    directory = writer.save(root / "growing")
    path = directory / "rank-00000.gmon"
    path.write_bytes(b"")
    found, parts = follower(directory), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(follow, "MOST_INTERVALS", most)
        for cut in [*sorted(cuts), len(DATA)]:
            with path.open("r+b") as raw:
                raw.write(DATA[:cut])
            parts += look_on(found)
    assert content(found.window()) == content(whole)
    assert found.ended
    assert (found.n_intervals, found.first_kept, found.holes) == (whole.n_intervals, 0, 0)
    together = {}
    for part in parts:
        together |= seconds(part)
    assert together == pytest.approx(seconds(whole))
    assert sum(part.n_intervals for part in parts) == whole.n_intervals


def test_byte_by_byte_an_interval_comes_with_its_last_byte(tmp_path):
    writer = StreamWriter()
    begin = len(writer.data)
    ends = [len(writer.data) for _ in range(3) if writer.interval([Sample("main;solve", weight=9)])]
    directory = writer.save(tmp_path / "run")
    path, data = directory / "rank-00000.gmon", writer.data
    path.write_bytes(b"")
    found, seen = follower(directory), []
    with path.open("ab", buffering=0) as raw:
        for at in range(len(data)):
            raw.write(data[at : at + 1])
            if look_on(found):
                seen.append(at + 1)
            assert (found.metadata is not None) == (at + 1 >= begin)
    assert seen == ends
    assert not found.ended


def test_a_look_without_news_does_not_read(tmp_path, monkeypatch):
    found = follower(written().save(tmp_path / "run"))
    assert look_on(found)
    monkeypatch.setattr(os, "pread", None)
    assert found.poll() == follow.NewData()


def test_only_what_was_appended_is_read_again(tmp_path, monkeypatch):
    writer = StreamWriter()
    for _ in range(3000):
        writer.interval([Sample("main;solve", weight=9), Sample("main;io", weight=1 + _ % 7)])
    directory = writer.save(tmp_path / "run")
    found = follower(directory, keep=0)
    look_on(found)
    read = []
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, n, at: read.append(len(data := pread(fd, n, at))) or data)
    added = writer.interval([Sample("main;solve")])
    with (directory / "rank-00000.gmon").open("ab") as raw:
        raw.write(added)
    assert len(look_on(found)) == 1
    assert sum(read) <= follow.KNOWN_BYTES + 4 * len(added)


@pytest.mark.parametrize("how", ["truncated", "renamed", "rewritten longer"])
def test_another_recording_under_the_same_name_is_started_over(tmp_path, how):
    directory = written().save(tmp_path / "run")
    path = directory / "rank-00000.gmon"
    found = follower(directory)
    look_on(found)
    other = StreamWriter(["main", "other"], pid=4712)
    for _ in range(40 if how == "rewritten longer" else 2):
        other.interval([Sample("main;other", weight=30)])
    if how == "renamed":
        (directory / "new").write_bytes(other.data)
        (directory / "new").rename(path)
    else:
        path.write_bytes(other.data)
    data = found.poll()
    assert data.restarted
    assert found.n_intervals == data.profile.n_intervals == (40 if how == "rewritten longer" else 2)
    assert found.metadata.raw["pid"] == 4712
    assert not found.ended


def test_a_window_keeps_the_last_intervals(tmp_path, monkeypatch):
    monkeypatch.setattr(follow, "MOST_INTERVALS", 2)
    directory = written(9).save(tmp_path / "run")
    whole = read_profile(open_run(directory), arcs=False)
    found = follower(directory, keep=3)
    look_on(found)
    window = found.window()
    assert found.first_kept + window.n_intervals == 9
    assert 3 <= window.n_intervals <= 4
    assert window.end_s.tolist() == whole.end_s[found.first_kept :].tolist()
    assert seconds(window).items() <= seconds(whole).items()


def test_a_hole_costs_what_it_costs_a_reader_of_the_whole(tmp_path):
    writer = StreamWriter()
    writer.interval([Sample("main;solve", weight=5)])
    writer.interval([Sample("main;io", weight=6)])
    before = len(writer.data)
    writer.interval([Sample("main;io", weight=7)])
    after = len(writer.data)
    writer.interval([Sample("main;solve", weight=8)])
    writer.interval([Sample("main;solve", weight=9)])
    writer.data = writer.data[: before + 30] + b"\xff" * 40 + writer.data[after - 20 :]
    directory = writer.save(tmp_path / "run")
    whole = read_profile(open_run(directory), arcs=False)
    found = follower(directory)
    parts = look_on(found)
    assert parts
    assert found.holes == 1
    assert content(found.window()) == content(whole)


def test_an_invalid_stream_is_reported(tmp_path):
    directory = tmp_path / "run"
    directory.mkdir()
    run = RunFollower(str(directory))
    run.scan()
    assert run.processes == []
    (directory / "rank-00000.gmon").write_bytes(b"hello, this is text")
    run.scan()
    with pytest.raises(NoDataError, match="not an incprof stream"):
        run.processes[0][1].poll()
    (directory / "rank-00000.gmon").write_bytes(b"gmon\x01" + bytes(15))
    with pytest.raises(NoDataError, match=r"classic gmon\.out"):
        run.processes[0][1].poll()
    with pytest.raises(NoDataError, match="rank-00000"):
        RunFollower(str(directory / "rank-00000.gmon")).scan()


def test_gmon_files_cannot_be_followed(tmp_path):
    (tmp_path / "gmon-0.0").write_bytes(b"x")
    with pytest.raises(NoDataError, match="INCPROF_FORMAT=stream"):
        RunFollower(str(tmp_path)).scan()


def test_ranks_and_children_come_later(tmp_path):
    run = RunFollower(str(tmp_path / "run"))
    run.scan()
    assert run.processes == []
    for rank, name in ((1, None), (0, None), (1, "rank-00001.99.gmon")):
        writer = StreamWriter(rank=rank)
        writer.interval([Sample("main", weight=3)])
        writer.save(tmp_path / "run", name)
        run.scan()
    assert [(p.rank, p.pid) for p, _ in run.processes] == [(0, None), (1, None), (1, 99)]
    only = RunFollower(str(tmp_path / "run"), rank=1)
    only.scan()
    assert [p.rank for p, _ in only.processes] == [1, 1]


@settings(max_examples=60, deadline=None)
@given(
    places=st.lists(st.tuples(st.integers(0, len(DATA) - 1), st.integers(0, 255)), min_size=1, max_size=6),
    cuts=st.lists(st.integers(0, len(DATA)), max_size=4),
)
def test_damage_is_skipped_or_refused(tmp_path_factory, places, cuts):
    root = tmp_path_factory.mktemp("run")
    data = bytearray(DATA)
    for at, value in places:
        data[at] = value
    directory = written().save(root / "growing")
    path = directory / "rank-00000.gmon"
    found, live = follower(directory), LiveRun(100)
    process = Process(0, None, str(path))
    seen = 0
    for cut in [*sorted(cuts), len(data)]:
        path.write_bytes(bytes(data[:cut]))
        try:
            for profile in look_on(found):
                seen += profile.n_intervals
                live.add(process, profile, lead=True)
        except NoDataError:
            return
    view = live.view(process)
    assert seen == found.n_intervals == (view.front.intervals if view else 0) <= 9
