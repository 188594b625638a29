"""A stream written as one gmon.out gives the same profile when it is read."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.errors import NoDataError
from incprof.readers.gmon_directory import read_gmon
from incprof.readers.run import open_run, read_profile
from incprof.readers.stream import coded_records
from incprof.readers.stream.as_gmon import GmonTotals, stream_totals, write_gmon
from tests.unit import streamwriter
from tests.unit.streamwriter import BUILD_ID, LIBRARY, Sample, StreamWriter


@pytest.fixture
def directory(tmp_path):
    writer = StreamWriter(["main", "solve", "io"])
    for _ in range(3):
        writer.interval(
            [Sample("main;solve", weight=60000), Sample("main;io", LIBRARY, weight=40), Sample("main;io")],
            arcs={("main", "solve"): 2**32 - 2, ("main", "io"): 1},
        )
    writer.end()
    return writer.save(tmp_path / "run")


@pytest.mark.parametrize(("libs", "io_ticks"), [("caller", 123), ("drop", 3), ("separate", 3)])
def test_export_of_a_stream(directory, tmp_path, libs, io_ticks):
    exported = tmp_path / "exported"
    exported.mkdir()
    with (exported / "gmon.out").open("wb") as file:
        write_gmon(stream_totals(open_run(directory).processes[0], libs=libs), file)
    exe = str(directory / "symbols" / f"{BUILD_ID}.elf")
    profile = read_profile(open_run(exported, exe=exe), exe=exe)
    own, calls = np.asarray(profile.self_s.sum(axis=0)), np.asarray(profile.calls.sum(axis=0))
    seen = {f.name: (float(s), int(n)) for f, s, n in zip(profile.functions, own, calls, strict=True) if s or n}
    assert seen == {
        "solve": (pytest.approx(1800.0), 3 * (2**32 - 2)),
        "io": (pytest.approx(io_ticks / 100), 3),
    }


def test_records_are_blocks_of_one_grid(directory, tmp_path):
    out = tmp_path / "gmon.out"
    with out.open("wb") as file:
        write_gmon(stream_totals(open_run(directory).processes[0]), file)
    for run in read_gmon(str(out)).histograms:
        assert run.counts.shape[1] == 16
        assert (run.low % 64 == 0).all()
        assert (run.high - run.low == 64).all()


def test_empty_run_still_pleases_gprof(tmp_path):
    writer = StreamWriter()
    writer.interval()
    totals = stream_totals(open_run(writer.save(tmp_path / "run")).processes[0])
    out = tmp_path / "gmon.out"
    with out.open("wb") as file:
        write_gmon(totals, file)
    records = read_gmon(str(out))
    assert len(records.histograms) == 1
    assert records.count.tolist() == [0]


def test_nothing_to_export(tmp_path):
    directory = StreamWriter().save(tmp_path / "run")
    with pytest.raises(NoDataError, match="nothing to export"):
        stream_totals(open_run(directory).processes[0])


addresses = st.integers(0, 2**40)


@settings(max_examples=100, deadline=None)
@given(
    ticks=st.dictionaries(addresses.map(lambda a: a * 4), st.integers(1, 300000), max_size=20),
    arcs=st.dictionaries(st.tuples(addresses, addresses), st.integers(1, 2**34), max_size=20),
)
def test_round_trip(ticks, arcs, tmp_path_factory):
    bins, ends = sorted(ticks), sorted(arcs)
    totals = GmonTotals(
        np.array(bins, dtype=np.uint64),
        np.array([ticks[b] for b in bins], dtype=np.int64),
        np.array([e[0] for e in ends], dtype=np.uint64),
        np.array([e[1] for e in ends], dtype=np.uint64),
        np.array([arcs[e] for e in ends], dtype=np.int64),
        100,
    )
    buffer = io.BytesIO()
    write_gmon(totals, buffer)
    path = tmp_path_factory.mktemp("gmon") / "gmon.out"
    path.write_bytes(buffer.getvalue())
    records = read_gmon(str(path))

    seen: dict[int, int] = {}
    for run in records.histograms:
        for low, counts in zip(run.low.tolist(), run.counts.tolist(), strict=True):
            for index, count in enumerate(counts):
                if count:
                    seen[low + 4 * index] = seen.get(low + 4 * index, 0) + count
    assert seen == ticks
    calls: dict[tuple[int, int], int] = {}
    for source, target, count in zip(
        records.from_pc.tolist(), records.self_pc.tolist(), records.count.tolist(), strict=True
    ):
        calls[source, target] = calls.get((source, target), 0) + count
    assert {ends: count for ends, count in calls.items() if count} == arcs


def as_array(data):
    return np.frombuffer(data, dtype=np.uint8)


@given(rows=st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=20), max_size=5))
def test_numbers(rows):
    payloads = [as_array(b"".join(map(streamwriter.varint, row))) for row in rows]
    numbers, counts, good = coded_records.decode_rows(payloads)
    assert numbers.tolist() == [value for row in rows for value in row]
    assert counts.tolist() == [len(row) for row in rows]
    assert good.all()


@given(values=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=50))
def test_signed_numbers(values):
    data = as_array(b"".join(map(streamwriter.zigzag, values)))
    assert coded_records.unzigzag(coded_records.decode_rows([data])[0]).tolist() == values


@pytest.mark.parametrize("data", [b"\x80", b"\x01\xff", b"\xff" * 10 + b"\x01"])
def test_malformed_numbers(data):
    payloads = [as_array(part) for part in (b"\x01\x02", data, b"", b"\x03", data)]
    numbers, counts, good = coded_records.decode_rows(payloads)
    assert numbers.tolist() == [1, 2, 3]
    assert counts.tolist() == [2, 0, 0, 1, 0]
    assert good.tolist() == [True, False, True, True, False]
