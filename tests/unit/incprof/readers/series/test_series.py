"""Series from files of every kind, and what happens to those that are none."""

import io
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.errors import IncprofError, NoDataError, UsageError
from incprof.readers.series import SeriesRequest
from incprof.systems.periods.read import PIECE, Rows, read_series

PERF = """# started on Sat Nov 21 08:00:00 2026

#           time             counts unit events
     0.005060130              5,01 msec cpu-clock:u
     0.005060130         12,345,678      instructions              #    1.23  insn per cycle
     0.005060130    <not supported>      cycles
     0.010093260         12,000,000      instructions
     0.010093260         10,000,000      ref-cycles
     0.015100000          6,000,000      instructions
     0.015100000         10,000,000      ref-cycles
     0.015100000    <not supported>      cycles
"""
PERF_X = """     0.005060130,5.01,msec,cpu-clock,5010000,100.00,1.0,CPUs utilized
     0.005060130,12345678,,instructions,5000000,100.00,,
     0.005060130,<not supported>,,cycles,0,100.00,,
     0.010093260,5.02,msec,cpu-clock,5010000,100.00,1.0,CPUs utilized
     0.010093260,12000000,,instructions,5000000,100.00,,
"""


def read(text, column=None, **more):
    from incprof.systems.periods.read import read_text

    return read_text(io.StringIO(text), "x.csv", SeriesRequest(column, **more))


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("1\n2\n4\n", None),
        ("ipc\n1\n2\n4\n", None),
        ("# made by hand\n\ntime,ipc\n0,1\n0.5,2\n1,4\n", None),
        ('"a","ipc"\n9,"1"\n9,"2"\n9,"4"\n', "ipc"),
        ("a;ipc\n9;1\n9;2\n9;4\n", "2"),
        ("a\tipc\n9\t1e0\n9\t2.0\n9\t+4\n", "ipc"),
        ("9 1\n9 2\n9 4\n", "2"),
        ("a,b\n2,2\n4,2\n8,2\n", "a/b"),
        ("a/x,b/y\n2,2\n4,2\n8,2\n", "a/x/b/y"),
        ("a;ipc\n9;1,0\n9;2,0\n9;4,0\n", "ipc"),
        ("0,5;1,0\n1,0;2,0\n1,5;4,0\n", "2"),
        ('"a,b",ipc\n9,1\n9,2\n9,4\n', "2"),
    ],
)
def test_tables(text, column):
    assert read(text, column).values.tolist() == [1, 2, 4]


def test_a_short_table_takes_little_memory():
    tracemalloc.start()
    try:
        read("time,ipc\n0,1\n0.5,2\n1,4\n", "ipc")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 16 << 20


@pytest.mark.parametrize("rows", [PIECE - 1, PIECE, PIECE + 1, 2 * PIECE])
def test_a_table_of_several_pieces(rows):
    text = "time,ipc\n" + "".join(f"{row},{row * 2}\n" for row in range(rows))
    assert read(text, "ipc").values.tolist() == list(range(0, 2 * rows, 2))
    assert read(text, "ipc", first=3, last=PIECE + 1).values.tolist() == list(range(6, 2 * min(rows, PIECE + 1), 2))


def test_time_gives_the_interval():
    assert read("t_s,ipc\n0,1\n0.005,2\n0.010,3\n").interval_s == pytest.approx(0.005)
    assert read("a,when\n1,10\n2,20\n", "a", time="when").interval_s == 10
    assert read("a,time\n1,10\n2,5\n", "a", time="none").interval_s is None
    late = read("time,a\n" + "".join(f"{at},1\n" for at in (0, 1, 2, 9, 10)))
    assert late.interval_s == 1
    assert "1 of 4 samples" in late.notes[0]


def test_a_range_of_samples():
    text = "time,a\n" + "".join(f"{at},{at}\n" for at in range(10))
    assert read(text, first=2, last=5).values.tolist() == [2, 3, 4]
    assert read(text, first=8).values.tolist() == [8, 9]
    with pytest.raises(NoDataError, match="no sample in that range"):
        read(text, first=50)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", None, "empty"),
        ("# nothing\n\n", None, "empty"),
        ("ipc\n", None, "no sample"),
        ("ipc\n1\nx1\n3\n", None, r"line 3: 'x1' is not a number \(column ipc\)"),
        ("a,ipc\n1,1\n2\n", "ipc", "line 3 has fewer than 2 columns"),
        ("ipc\n1\nnan\ninf\n", None, "sample 2 of ipc is nan, and 2 in all"),
        ("ipc\n1\n-inf\n", None, "sample 2 of ipc is -inf"),
        ("a,b\n1,0\n", "a/b", "sample 1 of a/b is inf"),
        ("time,a\n0,1\n2,1\n1,1\n", None, "time does not increase: sample 3 is at 1 after 2"),
        ("time,a\n0,1\n0,1\n", None, "time does not increase: sample 2"),
        ("time,a\n0,1\nnan,1\n", None, "time of sample 2 is nan"),
        ("time,a\n-1e308,1\n1e308,1\n", None, r"time of sample 1 is -1e\+308: too large"),
        ("a,b\n1e300,1e-300\n", "a/b", "sample 1 of a/b is inf"),
        ("1" * (1 << 20) + "1\n", None, "longer than"),
        ("\x00\x01\x02\n", None, "no sample"),
        ("time,a\n2026-11-21,1\n", None, r"line 2: '2026-11-21' is not a number \(column time\): take --time none"),
        ("a\n1\n-1e300\n", None, "sample 2 of a is -1e\\+300: too large"),
        ("\x1b[31mred\nx\n", None, r"column \\x1b\[31mred"),
        ("a" * 9999 + "\nnan\n", None, r"sample 1 of a{40}\.\.\. is nan"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_bad_tables(text, column, message):
    with pytest.raises(NoDataError, match=message) as error:
        read(text, column)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("a,b,c\n1,2,3\n", None, r"3 columns: name one with --column \(a, b, c\)"),
        ("a,b\n1,2\n", "z", "no column 'z': there are a, b"),
        ("a,b\n1,2\n", "3", "no column '3'"),
        ("a,b\n1,2\n", "a/z", "no column 'z'"),
        ("a\n1\n2\n3\n", "a", "more than 2 samples"),
    ],
)
def test_what_cannot_be_meant(text, column, message):
    with pytest.raises(UsageError, match=message):
        read(text, column, most=2)


@pytest.mark.filterwarnings("error")
def test_numbers_that_float64_does_not_have(tmp_path):
    np.save(tmp_path / "long.npy", np.full(3, np.longdouble("1e4000")))
    with pytest.raises(NoDataError, match="sample 1 of values is inf, and 3 in all"):
        read_series(str(tmp_path / "long.npy"), SeriesRequest())


def test_a_bad_number_far_down_is_named_by_its_line():
    text = "time,ipc\n" + "".join(f"{at},1\n" for at in range(120_000)) + "120000,oops\n"
    with pytest.raises(NoDataError, match="line 120002: 'oops'"):
        read(text)


@pytest.mark.parametrize("text", [PERF, PERF_X])
def test_perf_stat(text):
    series = read(text, "instructions")
    assert series.values[:2].tolist() == [12_345_678, 12_000_000]
    assert series.interval_s == pytest.approx(0.005, abs=1e-3)
    with pytest.raises(NoDataError, match="cycles was not supported on the machine that recorded it"):
        read(text, "cycles")
    with pytest.raises(UsageError, match="name one with --column"):
        read(text)


def test_the_ratio_of_two_events():
    lines = [line for line in PERF.splitlines(keepends=True) if not line.strip().startswith("0.005")]
    series = read("".join(lines), "instructions/ref-cycles")
    assert series.values.tolist() == [1.2, 0.6]
    assert series.name == "instructions/ref-cycles"


def test_an_event_that_was_not_counted_for_a_while_is_no_zero():
    text = "     0.001000000 5 cycles\n     0.002000000 <not counted> cycles\n"
    with pytest.raises(NoDataError, match="sample 2 of cycles is nan"):
        read(text, "cycles")


@given(st.text(max_size=200) | st.lists(st.sampled_from('1,;\t\n #.e-<>naif"x'), max_size=120).map("".join))
@settings(max_examples=120, deadline=None)
def test_any_text_is_a_series_or_one_line(text):
    problem, values = "", np.zeros(1)
    try:
        values = read(text).values
    except IncprofError as error:
        problem = str(error)
    assert "\n" not in problem
    assert np.isfinite(values).all()
    assert len(values)


def test_npy(tmp_path):
    path = str(tmp_path / "x.npy")
    np.save(path, np.arange(6, dtype=np.int32))
    assert read_series(path, SeriesRequest()).values.tolist() == [0, 1, 2, 3, 4, 5]
    assert read_series(path, SeriesRequest(first=1, last=3)).values.tolist() == [1, 2]
    np.save(path, np.arange(6.0).reshape(3, 2))
    assert read_series(path, SeriesRequest("2")).values.tolist() == [1, 3, 5]
    with pytest.raises(UsageError, match="2 columns"):
        read_series(path, SeriesRequest())


def test_an_array_of_python_2_is_read_without_a_warning(tmp_path, recwarn):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(6.0))
    path.write_bytes(path.read_bytes().replace(b"(6,), } ", b"(6L,), }"))
    assert len(read_series(str(path), SeriesRequest()).values) == 6
    assert not recwarn.list


def test_invalid_npy_files(tmp_path):
    path = tmp_path / "x.npy"
    for content in (
        b"",
        b"\x93NUMPY",
        b"text",
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, ",
        b"\x93NUMPY\x01\x00\x28\x23" + b"(" * 9000,
    ):
        path.write_bytes(content)
        with pytest.raises(NoDataError, match="not an array of numbers"):
            read_series(str(path), SeriesRequest())
    for array in (np.array(["a", "b"]), np.array([1j]), np.zeros((2, 2, 2)), np.array(3.0)):
        np.save(path, array)
        with pytest.raises(NoDataError, match="real numbers"):
            read_series(str(path), SeriesRequest())
    np.save(path, np.array([object()]), allow_pickle=True)
    with pytest.raises(NoDataError, match="not an array"):
        read_series(str(path), SeriesRequest())
    for shape in ((0,), (0, 3), (3, 0)):
        np.save(path, np.zeros(shape))
        with pytest.raises((NoDataError, UsageError)):
            read_series(str(path), SeriesRequest())


def test_too_many_samples_are_refused_before_they_are_read(tmp_path):
    path = str(tmp_path / "x.npy")
    huge = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(100_000_000,))
    del huge
    with pytest.raises(UsageError, match=r"100000000 samples, more than 20000000: take a part with --range"):
        read_series(path, SeriesRequest())
    assert len(read_series(path, SeriesRequest(first=99_999_000)).values) == 1000


def test_parquet(tmp_path):
    path = str(tmp_path / "x.parquet")
    table = pa.table({"time": [0.0, 0.5, 1.0], "ipc": [1.0, 2.0, 3.0], "host": ["a", "a", "a"], "count": [1, 2, 4]})
    parquet.write_table(table, path)
    assert read_series(path, SeriesRequest("ipc")).values.tolist() == [1, 2, 3]
    assert read_series(path, SeriesRequest("count")).interval_s == 0.5
    assert read_series(path, SeriesRequest("ipc/count", first=1)).values.tolist() == [1, 0.75]
    with pytest.raises(UsageError, match="no column 'host'"):
        read_series(path, SeriesRequest("host"))
    stamps = np.array([0, 5, 10], dtype="datetime64[ms]")
    parquet.write_table(pa.table({"timestamp": stamps, "x": [1.0, 2.0, 3.0]}), path)
    assert read_series(path, SeriesRequest()).interval_s == pytest.approx(0.005)
    parquet.write_table(pa.table([pa.array([1.0]), pa.array([2.0])], names=["x", "x"]), path)
    with pytest.raises(NoDataError, match="several columns are called x"):
        read_series(path, SeriesRequest("x"))
    parquet.write_table(pa.table({"x": [1.0, None, 3.0]}), path)
    with pytest.raises(NoDataError, match="sample 2 of x is nan"):
        read_series(path, SeriesRequest())
    parquet.write_table(pa.table({"x": ["a"]}), path)
    with pytest.raises(NoDataError, match="no column of numbers"):
        read_series(path, SeriesRequest())
    (tmp_path / "x.parquet").write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(NoDataError, match="not a Parquet file"):
        read_series(path, SeriesRequest())


def test_no_file(tmp_path):
    with pytest.raises(NoDataError, match="no such file"):
        read_series(str(tmp_path / "x.csv"), SeriesRequest())


def batches(lines, column, size):
    rows = Rows("x", SeriesRequest(column))
    return [batch.tolist() for batch in rows.batches(lines, size)], rows.name


def test_rows_in_batches():
    lines = ["# c\n", "time,ipc\n", "0,1\n", "1,2\n", "", "2,3\n", "3,4\n", "4,5\n"]
    assert batches(lines, None, 2) == ([[1, 2], [3, 4], [5]], "ipc")
    assert batches(["a;b\n", "1;2,5\n"], "b", 9) == ([[2.5]], "b")
    assert batches(["when,a\n", "1,2\n"], "a", 9) == ([[2]], "a")
    for bad, message in (("nan\n", "line 2 holds nan"), ("x\n", "line 2 holds no number"), ("1e300\n", "1e\\+300")):
        with pytest.raises(NoDataError, match=message):
            batches(["1\n", bad], None, 9)


@pytest.mark.parametrize("sign", [" ", ","])
def test_rows_of_perf(sign):
    def line(at, count, event):
        time = f"{at / 200:16.9f}"
        return f"{time},{count},,{event},1,100.00,,\n" if sign == "," else f"{time} {count:>18}      {event}\n"

    lines = [line(at, count, event) for at in (1, 2, 3) for count, event in ((at * 4, "instructions"), (2, "cycles"))]
    assert batches(lines, "instructions/cycles", 9) == ([[2, 4, 6]], "instructions/cycles")
    assert batches(lines, "cycles", 9) == ([[2, 2, 2]], "cycles")
    assert batches(lines[:2], "instructions", 9) == ([[4]], "instructions")
    with pytest.raises(UsageError, match=r"no column 'branches': there are instructions, cycles"):
        batches(lines, "branches", 9)
    with pytest.raises(UsageError, match="name one with --column"):
        batches(lines, None, 9)
    with pytest.raises(NoDataError, match="holds nan"):
        batches([*lines, line(4, "<not counted>", "instructions"), line(5, 1, "cycles")], "instructions", 9)


@pytest.mark.parametrize(
    ("count", "value"),
    [
        ("12,345,678", 12345678),
        ("1,234.5", 1234.5),
        ("5,01", 5.01),
        ("1.234.567", 1234567),
        ("1.234,5", 1234.5),
        ("7", 7),
    ],
)
def test_numbers_of_any_locale(count, value):
    assert read(f"     0.005000000 {count} msec cpu-clock\n", "cpu-clock").values.tolist() == [value]
