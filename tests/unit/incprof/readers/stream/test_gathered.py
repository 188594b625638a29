"""Files that ranks share: each rank is what it would be in a file of its own, whatever has become of the others."""

import os
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.errors import NoDataError
from incprof.model import Process
from incprof.readers.run import open_run, read_profile
from incprof.readers.stream.follow import RunFollower
from tests.unit.incprof.readers.stream.test_follow import content, look_on
from tests.unit.streamwriter import Sample, StreamWriter, chunk, chunks_of

NAME = "node-n1-0badcafe.gmon"


def stream(rank: int, intervals: int = 5, *, end: bool = True) -> StreamWriter:
    writer = StreamWriter(["main", "solve", "io"], rank=rank, ranks=4)
    for i in range(intervals):
        writer.interval([Sample(("main;solve", "main;io")[(i + rank) % 2], weight=20 + rank + i)])
    if end:
        writer.end()
    return writer


def interleaved(*parts):
    """All chunks, in an order in which each stream's own stay as they are."""
    dice, left, found = random.Random(1), [list(part) for part in parts], []
    while any(left):
        found.append(dice.choice([part for part in left if part]).pop(0))
    return found


def save(directory, data, name=NAME):
    """A run directory with such a file, and symbols."""
    stream(0).save(directory)
    (directory / "rank-00000.gmon").unlink()
    (directory / name).write_bytes(data)
    return directory


def paths(directory):
    run = open_run(directory)
    return [os.path.relpath(process.path, directory) for process in run.processes], run


def test_ranks_are_what_they_are_in_files_of_their_own(tmp_path):
    own, writers = tmp_path / "own", [stream(rank) for rank in (3, 0, 2)]
    for writer in writers:
        writer.save(own)
    data = b"".join(interleaved(*(chunks_of(writer.data, rank=writer.rank, pid=writer.rank + 9) for writer in writers)))
    found, run = paths(save(tmp_path / "run", data))
    assert found == [f"{NAME}/rank-{rank:05}.gmon" for rank in (0, 2, 3)]
    for rank in (0, 2, 3):
        one, other = read_profile(run, rank=rank), read_profile(open_run(own), rank=rank)
        assert content(one) == content(other)
        assert (one.warnings, one.damaged) == ((), False)


def test_beside_files_of_their_own(tmp_path):
    directory = save(tmp_path, b"".join(chunks_of(stream(1).data, rank=1)))
    (directory / "node-n2-0badcafe.gmon").write_bytes(b"".join(chunks_of(stream(2).data, rank=2)))
    stream(0).save(directory)
    assert open_run(directory).ranks == (0, 1, 2)


def test_children_and_programs_that_a_rank_becomes(tmp_path):
    """They have the names that files of their own would have."""
    data = stream(0, 1).data
    parts = [
        *chunks_of(data, pid=5, start_ns=1),
        *chunks_of(data, pid=6, start_ns=2, forked=True),
        *chunks_of(data, pid=5, start_ns=3),
        *chunks_of(data, pid=5, start_ns=4),
    ]
    found, run = paths(save(tmp_path, b"".join(parts)))
    names = ["rank-00000.gmon", "rank-00000.5.gmon", "rank-00000.5-2.gmon", "rank-00000.6.gmon"]
    assert found == [f"{NAME}/{name}" for name in names]
    assert [(p.pid, p.life, p.primary) for p in run.processes] == [
        (None, 1, True), (5, 1, False), (5, 2, False), (6, 1, False),
    ]  # fmt: skip


def test_a_rank_killed_in_the_middle_of_a_write_leaves_the_others_intact(tmp_path):
    """What is left of the write is at the end of the file, or before what others append."""
    torn, others = chunks_of(stream(0, end=False).data, rank=0), chunks_of(stream(1).data, rank=1)
    for length in (*range(1, len(torn[-1]), 7), len(torn[-1]) - 1):
        for behind in (True, False):
            before = others[:3] if behind else others
            data = b"".join([*torn[:-1], *before, torn[-1][:length], *(others[3:] if behind else [])])
            _, run = paths(save(tmp_path / f"{length}-{behind}", data))
            assert (whole := read_profile(run, rank=1)).n_intervals == 5
            assert (whole.warnings, whole.damaged) == ((), False)
            mine = read_profile(run, rank=0)
            assert mine.n_intervals == 4
            assert mine.damaged == (length >= 48)  # a shorter one has no complete header
            assert len(mine.warnings) == 1


def test_a_damaged_chunk_costs_its_interval(tmp_path):
    parts = chunks_of(stream(0).data)
    parts[2] = parts[2][:100] + bytes([parts[2][100] ^ 1]) + parts[2][101:]
    _, run = paths(save(tmp_path, b"".join(parts)))
    profile = read_profile(run)
    assert (profile.end_s.tolist(), profile.damaged) == ([1.0, 3.0, 4.0, 5.0], True)
    assert "1 damaged places were skipped" in profile.warnings[0]


def test_a_chunk_that_is_missing_is_noticed(tmp_path):
    parts = chunks_of(stream(0).data)
    _, run = paths(save(tmp_path, b"".join([*parts[:2], *parts[3:]])))
    assert read_profile(run).damaged


def test_a_program_that_was_to_become_another_one_and_goes_on(tmp_path):
    writer = stream(0, 2)
    writer.interval([Sample("main")])
    _, run = paths(save(tmp_path, b"".join(chunks_of(writer.data))))
    profile = read_profile(run)
    assert (profile.n_intervals, profile.damaged) == (3, False)
    assert "did not end cleanly" in profile.warnings[0]


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    directory = save(tmp_path, b"")
    (directory / NAME).unlink()
    os.mkfifo(directory / NAME)
    with pytest.raises(NoDataError, match=rf"{NAME}: cannot be read: not a regular file: move it away"):
        open_run(directory)


@pytest.mark.parametrize("data", [b"", b"nothing of ours" * 100, chunk(b"")[:20]])
def test_nothing_in_it(tmp_path, data):
    with pytest.raises(NoDataError, match="no profile in it"):
        open_run(save(tmp_path, data))


PARTS = interleaved(*(chunks_of(stream(rank).data, rank=rank) for rank in range(3)))
WHOLE = b"".join(PARTS)


@settings(max_examples=40, deadline=None)
@given(cuts=st.lists(st.integers(0, len(WHOLE)), max_size=8))
def test_followed_it_ends_as_the_whole_file(tmp_path_factory, cuts):
    directory = save(tmp_path_factory.mktemp("run"), b"")
    run, ends = RunFollower(str(directory)), {}
    for cut in [*sorted(cuts), len(WHOLE)]:
        with (directory / NAME).open("r+b") as raw:
            raw.seek(0, os.SEEK_END)
            raw.write(WHOLE[raw.tell() : cut])
        run.scan()
        for process, follower in run.processes:
            for profile in look_on(follower):
                ends.setdefault(process.rank, []).extend(profile.end_s.tolist())
    assert ends == {rank: [1.0, 2.0, 3.0, 4.0, 5.0] for rank in range(3)}
    assert all(follower.ended and not follower.holes for _, follower in run.processes)


def test_a_file_that_is_replaced_is_followed_from_its_start(tmp_path):
    directory = save(tmp_path, WHOLE)
    run = RunFollower(str(directory), rank=1)
    run.scan()
    [(process, follower)] = run.processes
    assert isinstance(process, Process)
    assert look_on(follower)
    writer = StreamWriter(rank=1, pid=77)
    writer.interval([Sample("main")])
    other = chunks_of(writer.data, rank=1, pid=77)
    (directory / NAME).unlink()
    (directory / NAME).write_bytes(b"".join(other))
    assert follower.poll().restarted
    assert follower.n_intervals == 1


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_nothing_that_is_in_it_breaks_a_reader(tmp_path_factory, data):
    """Chunks cut, drawn, repeated, swapped, and heads with any numbers."""
    parts = list(PARTS)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(parts) - 1))
        drawn = data.draw(st.integers(0, 4))
        if drawn == 0:
            parts[at] = parts[at][: data.draw(st.integers(0, len(parts[at])))]
        elif drawn == 1:
            parts[at] = data.draw(st.binary(max_size=200))
        elif drawn == 2:
            parts.insert(data.draw(st.integers(0, len(parts))), parts[at])
        elif drawn == 3:
            whole = bytearray(parts[at])
            for _ in range(min(4, len(whole))):
                whole[data.draw(st.integers(0, min(len(whole), 60) - 1))] = data.draw(st.integers(0, 255))
            parts[at] = bytes(whole)
        else:
            number = st.integers(0, 2**32 - 1)
            parts[at] = chunk(parts[at], rank=data.draw(number), pid=data.draw(number), number=data.draw(number))
    directory = save(tmp_path_factory.mktemp("run"), b"".join(parts))
    told = []
    try:
        run = open_run(directory)
        for process in run.processes:
            try:
                read_profile(run, process=process)
            except NoDataError as error:
                told.append(str(error))
    except NoDataError as error:
        told.append(str(error))
    assert "\n" not in "".join(told)
