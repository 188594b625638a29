"""Long recordings are read a piece at a time, and that shows nowhere."""

import json
import os

import numpy as np
import pytest

from incprof.errors import NoDataError
from incprof.readers.profile_builder import LongTable
from incprof.readers.run import open_run, read_profile
from incprof.readers.stream import records as streamrecords
from incprof.readers.stream import stream_files as source
from incprof.readers.stream import stream_profile as stream
from incprof.readers.stream.as_gmon import stream_totals
from incprof.readers.stream.collect import collect
from incprof.readers.stream.stream_files import Source
from tests.unit.elfwriter import Symbol, elf_bytes
from tests.unit.streamwriter import LIBRARY, MODULES, OWN_TIME, PROFILER, Sample, StreamWriter, arc, image, module


@pytest.fixture
def directory(tmp_path):
    writer = StreamWriter(["main", "solve", "io", "leaf"])
    paths = ["main;solve", "main;io", "main;solve;leaf"]
    for i in range(12):
        samples = [Sample(paths[i % 3], weight=50 + i), Sample(paths[(i + i // 4) % 3]), Sample("main", LIBRARY)]
        arcs = {("main", "solve"): i, ("", "main"): 2, ("solve", "leaf"): 3 * i + 1}
        writer.interval([*samples[: i % 4], Sample("main", PROFILER)], arcs=arcs if i % 3 else {})
    writer.end()
    return writer.save(tmp_path / "run")


def content(profile):
    """All numbers of a profile."""
    tables = [profile.arcs, profile.paths, profile.samples, profile.counters]
    arrays = [getattr(table, name) for table in tables for name in table.__dataclass_fields__]
    arrays += [profile.start_s, profile.end_s, profile.self_s.toarray(), profile.calls.toarray()]
    return [array.tolist() for array in arrays], profile.functions, profile.warnings


@pytest.mark.parametrize(("size", "intervals", "window"), [(1, 4096, 64), (4 << 20, 1, 4 << 20), (900, 5, 1000)])
def test_pieces_of_any_size(directory, monkeypatch, size, intervals, window):
    whole = content(read_profile(open_run(directory)))
    totals = stream_totals(open_run(directory).processes[0])
    monkeypatch.setattr(streamrecords, "CHUNK_BYTES", size)
    monkeypatch.setattr(streamrecords, "CHUNK_INTERVALS", intervals)
    monkeypatch.setattr(source, "WINDOW", window)
    assert content(read_profile(open_run(directory))) == whole
    again = stream_totals(open_run(directory).processes[0])
    for name in totals.__dataclass_fields__:
        assert np.array_equal(getattr(again, name), getattr(totals, name))


def test_without_arcs(directory):
    whole = read_profile(open_run(directory))
    profile = read_profile(open_run(directory), arcs=False)
    assert len(whole.arcs.count) > 20
    assert len(profile.arcs.count) == 0
    assert profile.functions == whole.functions
    assert profile.calls.toarray().tolist() == whole.calls.toarray().tolist()


def test_file_cut_short_while_it_is_read(directory, monkeypatch):
    path = directory / "rank-00000.gmon"

    def cut_after_collecting(opened):
        found = collect(opened)
        os.truncate(path, 1500)
        return found

    monkeypatch.setattr(stream, "collect", cut_after_collecting)
    monkeypatch.setattr(source, "WINDOW", 512)
    with pytest.raises(NoDataError, match="shrank while it was read") as caught:
        read_profile(open_run(directory))
    assert "\n" not in str(caught.value)


def test_what_is_appended_meanwhile_is_not_seen(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"abcdef")
    with Source(str(path)) as opened:
        with path.open("ab") as file:
            file.write(b"ghi")
        assert opened.size == 6
        assert opened.bytes_at(4, 10) == b"ef"
        assert opened.peek(5, 10) == b"f"
        assert opened.bytes_at(9, 1) == b""
        assert opened.array_at(6, 1).tolist() == []


@pytest.mark.parametrize("window", [4, 5, 7, 100])
def test_find_over_the_edges_of_windows(tmp_path, monkeypatch, window):
    monkeypatch.setattr(source, "WINDOW", window)
    data = b"xxabxabcxxxxabcd"
    (tmp_path / "file").write_bytes(data)
    with Source(str(tmp_path / "file")) as opened:
        for pattern in (b"abc", b"abcd", b"x", b"abce"):
            for start in range(len(data) + 1):
                for end in range(start, len(data) + 2):
                    assert opened.find(pattern, start, end) == data.find(pattern, start, end)


def test_modules_in_order_whichever_is_met_first(tmp_path):
    writer = StreamWriter(["main"])
    libraries = [module(number, f"/opt/lib{number}.so", f"{number:02d}" * 20, app=True) for number in (3, 9)]
    writer.data += image(MODULES, json.dumps(libraries).encode())
    for numbers in ((9,), (9, 3)):
        for number in numbers:
            records = arc(0, 0x2010, 5) + arc(0x2011, 0x2010, number)
            writer.data += image(OWN_TIME, records, module=number, interval=writer._count)
        writer.interval([Sample("main")])
    directory = writer.save(tmp_path)
    for number in (3, 9):
        content = elf_bytes([Symbol(f"run{number}", 0x2000)], build_id=f"{number:02d}" * 20, text=(0x2000, 0x3000))
        (directory / "symbols" / f"{f'{number:02d}' * 20}.elf").write_bytes(content)
    profile = read_profile(open_run(directory))
    assert [f.name for f in profile.functions] == ["main", "run3", "run9"]
    table = np.column_stack([profile.arcs.interval, profile.arcs.caller, profile.arcs.callee, profile.arcs.count])
    assert table.tolist() == [[0, -1, 2, 5], [0, 2, 2, 9], [1, -1, 1, 5], [1, -1, 2, 5], [1, 1, 1, 3], [1, 2, 2, 9]]


def test_long_table():
    table = LongTable(np.int32, np.float64)
    table.append((np.arange(6)[::2], np.ones(3)))
    table.append((np.empty(0), np.empty(0)))
    table.append((np.array([7]), np.array([8])))
    first, second = table.columns()
    assert first.tolist() == [0, 2, 4, 7]
    assert first.dtype == np.int32
    assert second.tolist() == [1, 1, 1, 8]
    second[:] = 2
    assert table.columns()[1].tolist() == [2] * 4
    assert [len(column) for column in LongTable(np.int8).columns()] == [0]
