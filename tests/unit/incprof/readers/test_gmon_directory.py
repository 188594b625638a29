"""Directories of cumulative gmon files, ours and glibc's."""

import json
import struct

import numpy as np
import pytest

from incprof.errors import NoDataError, UsageError
from incprof.readers.run import open_run, read_profile
from tests.unit.elfwriter import Symbol, write_elf
from tests.unit.streamwriter import BASE, STEP, StreamWriter, arc, blocks, histogram

HEAD = b"gmon\x01\0\0\0" + bytes(12)
FUNCTIONS = ["main", "solve", "io"]
BINS = 3 * STEP // 4


@pytest.fixture
def exe(tmp_path):
    path = tmp_path / "bin" / "app"
    symbols = [Symbol(name, BASE + STEP * i) for i, name in enumerate(FUNCTIONS)]
    write_elf(path, symbols, build_id="ab" * 20, text=(BASE, BASE + 3 * STEP))
    return str(path)


def dense(ticks, calls=()):
    """A file as glibc writes it: one histogram over all of the code. ticks, calls: by function."""
    counts = [0] * BINS
    for name, value in ticks.items():
        counts[FUNCTIONS.index(name) * STEP // 4 + 3] = value % 65536
    arcs = b"".join(arc(BASE + 5, BASE + STEP * FUNCTIONS.index(n) + 4, c) for n, c in dict(calls).items())
    return HEAD + histogram(BASE, counts) + arcs


def table(profile):
    columns = zip(profile.functions, profile.self_s.toarray().T, profile.calls.toarray().T, strict=True)
    return {f.name: (np.round(s, 6).tolist(), c.tolist()) for f, s, c in columns}


def test_dense_files_are_subtracted(tmp_path, exe):
    (tmp_path / "gmon-0").write_bytes(dense({"solve": 100}, {"solve": 3}))
    (tmp_path / "gmon-1").write_bytes(dense({"solve": 150, "io": 50}, {"solve": 3, "io": 7}))
    (tmp_path / "gmon-10").write_bytes(dense({"solve": 150, "io": 90}, {"solve": 3, "io": 8}))
    (tmp_path / "gmon-2").write_bytes(dense({"solve": 150, "io": 50}, {"solve": 3, "io": 7}))
    profile = read_profile(open_run(tmp_path, exe=exe), exe=exe)
    assert table(profile) == {
        "main": ([0] * 4, [0] * 4),
        "solve": ([1.0, 0.5, 0, 0], [3, 0, 0, 0]),
        "io": ([0, 0.5, 0, 0.4], [0, 7, 0, 1]),
    }
    assert profile.end_s.tolist() == [1, 2, 3, 11]
    assert profile.start_s.tolist() == [0, 1, 2, 3]
    assert profile.warnings == ("7 numbers have no file: their time counts in the interval after them",)
    assert not profile.damaged
    assert profile.metadata.app == "app"


def test_counters_that_wrap(tmp_path, exe):
    for number, ticks in enumerate([65000, 65000 + 700, 65000 + 700 + 65536 - 164]):
        (tmp_path / f"gmon.out-{number}").write_bytes(dense({"solve": ticks}))
    profile = read_profile(open_run(tmp_path, exe=exe), exe=exe)
    assert table(profile)["solve"][0] == [650.0, 7.0, 653.72]


def test_a_bin_over_two_functions_is_shared(tmp_path, exe):
    # [0x1060, 0x1120): 0x20 bytes of main, 0x20 of solve, the padding between counts for none.
    (tmp_path / "gmon.out").write_bytes(HEAD + histogram(BASE + 0x60, [40], width=0xC0) + arc(0, BASE, 1))
    profile = read_profile(open_run(tmp_path, exe=exe), exe=exe)
    assert table(profile) == {"main": ([0.2], [1]), "solve": ([0.2], [0])}


def test_time_outside_of_all_functions(tmp_path, exe):
    (tmp_path / "gmon.out").write_bytes(HEAD + histogram(BASE + 0x90, [10, 0]))
    profile = read_profile(open_run(tmp_path, exe=exe), exe=exe)
    assert table(profile) == {"[unknown in app]": ([0.1], [0])}


def test_decreasing_calls_are_reported(tmp_path, exe):
    (tmp_path / "gmon-0").write_bytes(dense({}, {"solve": 9}))
    (tmp_path / "gmon-1").write_bytes(dense({}, {"solve": 2, "io": 1}))
    profile = read_profile(open_run(tmp_path, exe=exe), exe=exe)
    assert table(profile)["io"][1] == [0, 1]
    assert "1 call counts decrease" in profile.warnings[0]


def our_directory(root, files):
    writer = StreamWriter(FUNCTIONS, interval_s=0.5, rate_hz=1000)
    writer.save(root)
    (root / "rank-00000.gmon").unlink()
    (root / "gmon-meta.4.json").write_text(json.dumps({**writer.metadata, "rank": 4}))
    for name, content in files.items():
        (root / name).write_bytes(HEAD + content)
    return open_run(root)


def test_our_files_name_their_program(tmp_path):
    solve = BASE + STEP + 8
    run = our_directory(
        tmp_path,
        {
            "gmon-0.4": blocks({solve: 70000}, 1000) + arc(BASE + 5, solve, 2**32 - 1) + arc(BASE + 5, solve, 5),
            "gmon-1.4": blocks({solve: 140001}, 1000) + arc(BASE + 5, solve, 2**32 - 1) + arc(BASE + 5, solve, 6),
            "gmon-0.4.99": blocks({BASE: 1}, 1000),
        },
    )
    assert [(p.rank, p.pid, p.primary) for p in run.processes] == [(4, None, True), (4, 99, False)]
    profile = read_profile(run)
    assert table(profile) == {"main": ([0, 0], [0, 0]), "solve": ([70.0, 70.001], [2**32 + 4, 1])}
    assert profile.end_s.tolist() == [0.5, 1.0]
    assert table(read_profile(run, process=99)) == {"main": ([0.001], [0])}


def test_a_damaged_file_is_dropped(tmp_path):
    good = blocks({BASE: 5}, 1000)
    run = our_directory(tmp_path, {"gmon-0.4": good, "gmon-1.4": good[:-3], "gmon-2.4": good})
    profile = read_profile(run)
    assert profile.end_s.tolist() == [0.5, 1.5]
    assert profile.damaged
    assert "gmon-1.4: damaged" in profile.warnings[0]


def test_the_program_is_requested(tmp_path):
    (tmp_path / "gmon-0").write_bytes(dense({"solve": 1}))
    with pytest.raises(UsageError, match="do not name their program: give it with --exe"):
        open_run(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty file"),
        (b"gmon\0\0\0\x01" + bytes(12), "big-endian"),
        (b"nomg" + bytes(60), "wrong magic"),
        (HEAD[:12], "wrong magic"),
        (HEAD + b"\0\x10\x20", "damaged, or from a 32-bit program"),
        (HEAD + histogram(0, [1] * 4)[:-1], "4 bins does not fit"),
        # 4 GiB of bins in a small file.
        (HEAD + struct.pack("<BQQII15sc", 0, 4096, 8192, 2**32 - 1, 100, b"seconds", b"s"), "bins does not fit"),
    ],
)
def test_files_that_cannot_be_used(content, message, tmp_path, exe):
    (tmp_path / "gmon-0").write_bytes(content)
    with pytest.raises(NoDataError, match=message) as caught:
        read_profile(open_run(tmp_path, exe=exe), exe=exe)
    assert "\n" not in str(caught.value)
    assert "gmon-0" in str(caught.value)
