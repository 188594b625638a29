"""Counters of nodes from files of every kind: the numbers are rates, whatever the file had."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.errors import IncprofError, NoDataError, UsageError
from incprof.model import NodeSeries
from incprof.systems.nodes.read import read_nodes
from soak.mutate import damaged

OWN = """# incprof sample 1: a row for each interval of 1 s
# of: the whole machine
# begun: 1700000000.250000 s since 1970 on n7
# not available: cycles: this processor has no such counter (ENOENT)
# not available: instructions: this processor has no such counter (ENOENT)
# column: net-tx-bytes: interval
# column: cpu: share
# column: run-queue: level
# column: rapl-package-0-watts: watts
# column: rapl-package-0-core-watts: watts
# column: rapl-package-0-dram-watts: watts
time_s,net-tx-bytes,cpu,run-queue,rapl-package-0-watts,rapl-package-0-core-watts,rapl-package-0-dram-watts
1.000000,1000,0.5,3,50.0,30.0,5.0
2.000000,2000,1.5,4,nan,31.0,5.0
6.000000,8000,1.0,2,60.0,40.0,6.0
# note: net-tx-bytes: counted 50.0 % of the time, scaled to the whole
# end: 3 rows, 2 late ticks
"""


def write(place: Path, **files: str) -> list[Path]:
    """Write files; the last `_` of a name stands for a point."""
    paths = [place / ".".join(name.rsplit("_", 1)) for name in files]
    for path, text in zip(paths, files.values(), strict=True):
        path.write_text(text)
    return paths


def one(place: Path, **files: str) -> NodeSeries:
    (found,) = read_nodes(write(place, **files))
    return found


def tried(path: Path) -> list[NodeSeries]:
    """What is read of a file; nothing where it is refused, which has to be in one line."""
    try:
        return read_nodes([path])
    except IncprofError as error:
        line, code = str(error), error.exit_code
    assert "\n" not in line
    assert line.startswith(str(path))
    assert code in (2, 4)
    return []


def said(series: NodeSeries, text: str) -> bool:
    return any(text in note for note in series.notes)


def test_what_incprof_sample_writes(tmp_path):
    found = one(tmp_path, run_csv=OWN)
    assert found.node == "n7"
    np.testing.assert_allclose(found.times, 1700000000.25 + np.array([1, 2, 6]))
    # A late row is for all of its time: nothing is missing.
    np.testing.assert_allclose(found.column("net-tx-bytes"), [1000, 2000, 2000])
    np.testing.assert_allclose(found.column("cpu"), [0.5, 1.5, 1.0])
    assert dict(zip(found.names, found.units, strict=True)) == {
        "net-tx-bytes": "B/s",
        "cpu": "cpus",
        "run-queue": "threads",
        "rapl-package-0-watts": "W",
        "rapl-package-0-core-watts": "W",
        "rapl-package-0-dram-watts": "W",
        "rapl-watts": "W",
    }
    # The cores are a part of the package.
    assert found.power == "rapl-watts"
    np.testing.assert_allclose(found.watts, [55, np.nan, 66])
    assert said(found, "not counted: cycles, instructions: this processor has no such counter")
    assert said(found, "processors and memory, not the whole node")
    assert said(found, "scaled to the whole")
    assert not found.simulated


def test_a_file_that_is_still_written_or_torn(tmp_path):
    for cut in range(0, len(OWN), 11):
        path = tmp_path / "run.csv"
        path.write_text(OWN[:cut])
        assert all(len(series.times) for series in tried(path))


def test_times_and_nodes_of_any_table(tmp_path):
    rows = "\n".join(f"2026-11-23T08:00:0{s}Z,{node},{s * 10},{200 + s}" for s in (2, 0, 1) for node in ("b", "a"))
    found = read_nodes(write(tmp_path, all_csv=f"timestamp,hostname,load,power_w\n{rows}\n"))
    assert [series.node for series in found] == ["a", "b"]
    for series in found:
        np.testing.assert_allclose(series.times, 1795420800 + np.arange(3))
        np.testing.assert_allclose(series.watts, [200, 201, 202])
        assert said(series, "not in the order of their times")


@pytest.mark.parametrize("scale", [1, 1e3, 1e6, 1e9])
def test_times_since_1970_in_any_unit(tmp_path, scale):
    rows = "\n".join(f"{int((1700000000 + s) * scale)},{s}" for s in range(3))
    np.testing.assert_allclose(
        one(tmp_path, t_csv=f"time;x\n{rows}\n".replace(",", ";")).times, 1700000000 + np.arange(3)
    )


@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("power", 1), ("pdu", 1), ("Power (W)", 1), ("node_power_mw", 1e-3), ("rack kW", 1e3),
        ("DCGM_FI_DEV_POWER_USAGE", 1),
    ],
)  # fmt: skip
def test_names_of_power(tmp_path, name, factor):
    found = one(tmp_path, p_csv=f"time,instructions,{name}\n1,5,100\n2,6,110\n3,4,120\n")
    assert found.power == name
    np.testing.assert_allclose(found.watts, np.array([100, 110, 120]) * factor)


@pytest.mark.parametrize("name", ["powercap_w", "power_state", "power_limit_watts", "towers", "power_factor"])
def test_names_that_are_not_of_power(tmp_path, name):
    assert one(tmp_path, p_csv=f"time,instructions,{name}\n1,5,100\n2,6,110\n3,4,120\n").power is None


@pytest.mark.parametrize(("name", "joule"), [("energy_uJ", 1e6), ("pkg_joules", 1), ("E (Wh)", 1 / 3600)])
def test_energy_that_is_counted_is_power(tmp_path, name, joule):
    rows = "".join(f"{s},{(7 + 150 * s) * joule:.9f},{s % 3}\n" for s in range(12))
    found = one(tmp_path, e_csv=f"time,{name},x\n{rows}")
    np.testing.assert_allclose(found.column(name)[1:], 150, rtol=1e-5)
    assert np.isnan(found.column(name)[0])
    assert found.power == name


@pytest.mark.parametrize("bits", [32, 48, 64])
def test_counters_that_go_round(tmp_path, bits):
    start = 2**bits - (5000 if bits < 64 else 8192 * 3)
    step = 1000 if bits < 64 else 8192  # of float64 at 2^64
    rows = "".join(f"{s},{(start + step * s) % 2**bits},{s % 2}\n" for s in range(12))
    found = one(tmp_path, c_csv=f"time,rx,x\n{rows}")
    np.testing.assert_allclose(found.column("rx")[1:], step, rtol=0.5 if bits == 64 else 1e-6)
    assert said(found, "rx wrapped around 1 times")
    assert said(found, "because they only grow: rx")


def test_a_counter_that_begins_anew_has_no_value_there(tmp_path):
    counts = [7_000_000 + 1000 * s for s in range(8)] + [300 + 1000 * s for s in range(8)]
    found = one(tmp_path, c_csv="time,rx\n" + "".join(f"{s},{count}\n" for s, count in enumerate(counts)))
    rates = found.column("rx")
    np.testing.assert_allclose(np.delete(rates, [0, 8]), 1000)
    assert np.isnan(rates[8])
    assert said(found, "restarted 1 times")


def test_gaps_have_no_value_and_rows_of_the_same_time_are_one(tmp_path):
    times = [0, 1, 2, 3, 30, 31, 31, 32]
    found = one(tmp_path, g_csv="time,instructions,temp\n" + "".join(f"{t},{100 * t},{t}\n" for t in times))
    assert found.times.tolist() == [0, 1, 2, 3, 29, 30, 31, 32]
    assert np.isnan(found.values[4]).all()
    assert found.column("temp").tolist()[5:] == [30, 31, 32]
    assert said(found, "1 gaps, 26 s in all")
    assert said(found, "1 rows have the time of another one")


def test_counts_per_row_are_of_their_row(tmp_path):
    # Known names count per row, at any rate of rows.
    found = one(tmp_path, g_csv="time,instructions\n" + "".join(f"{t / 4},{100 + t % 2}\n" for t in range(9)))
    np.testing.assert_allclose(found.column("instructions"), [400, 404] * 4 + [400])


PERF = """# started on Wed Nov 15 08:00:00 2023

     1.001060130         12,345,678      instructions              #    1.23  insn per cycle
     1.001060130    <not supported>      cycles
     1.001060130              45.50 Joules power/energy-pkg/
     2.001060130         24,000,000      instructions
     2.001060130    <not supported>      cycles
     2.001060130              50.50 Joules power/energy-pkg/
     4.001060130         24,000,000      instructions
     4.001060130             100.00 Joules power/energy-pkg/
"""
PERF_X = """1.001060130,12345678,,instructions,5000000,100.00,,
1.001060130,45.50,Joules,power/energy-pkg/,5000000,100.00,,
2.001060130,24000000,,instructions,5000000,100.00,,
2.001060130,50.50,Joules,power/energy-pkg/,5000000,100.00,,
4.001060130,24000000,,instructions,5000000,100.00,,
4.001060130,100.00,Joules,power/energy-pkg/,5000000,100.00,,
"""


@pytest.mark.parametrize("text", [PERF, PERF_X])
def test_perf_stat(tmp_path, text):
    found = one(tmp_path, stat_txt=text)
    np.testing.assert_allclose(found.column("instructions"), [12345678 / 1.00106013, 24e6, 12e6], rtol=1e-6)
    np.testing.assert_allclose(found.watts, [45.5 / 1.00106013, 50.5, 50], rtol=1e-6)
    assert found.power == "power/energy-pkg/"
    assert (found.times[0] > 1.6e9) == text.startswith("#")


@pytest.mark.parametrize("form", ["{t} CPU{s} {n} cs\n", "{t} S0-D{s}-C1 2 {n} cs\n", "{t},CPU{s},{n},,cs,9,1.0,,\n",
                                  "{t},S{s},2,{n},,cs,9,1.0,,\n"])  # fmt: skip
def test_perf_stat_of_processors_is_added_up(tmp_path, form):
    lines = [form.format(t=f"{t}.000000000", s=s, n=100 * t + s) for t in (1, 2) for s in (0, 1)]
    np.testing.assert_allclose(one(tmp_path, stat_txt="".join(lines)).column("context-switches"), [201, 401])


LDMS = "#Time,Time_usec,ProducerName,component_id,job_id,app_id,user,user.rate,MemFree,rx_bytes#eth0\n"


def ldms_rows(first: int, node: str = "nid1") -> str:
    rows = range(first, first + 10)
    return "".join(
        f"17000000{s:02d}.250000,250000,{node},1,0,0,{s * 50},50.0,{9000 - s % 3},{s * 7000}\n" for s in rows
    )


def test_ldms(tmp_path):
    found = one(tmp_path, meminfo_csv=LDMS + ldms_rows(10))
    assert found.node == "nid1"
    np.testing.assert_allclose(found.times, 1700000010.25 + np.arange(10))
    assert found.names == ("user", "MemFree", "rx_bytes#eth0")
    np.testing.assert_allclose(found.column("user")[1:], 50)
    np.testing.assert_allclose(found.column("rx_bytes#eth0")[1:], 7000)
    assert found.column("MemFree")[0] == 8999


def test_lines_that_are_too_long_are_left_out_and_counted(tmp_path):
    found = one(tmp_path, l_csv="\ufefftime,instructions\n1,5\n2,6,7\n3,7\n4,8\n")
    assert found.times.tolist() == [1, 3, 4]
    assert said(found, "1 lines have more fields")


def test_a_file_of_names_that_is_empty(tmp_path):
    (tmp_path / "vmstat.1").write_text(ldms_rows(1))
    (tmp_path / "vmstat.HEADER.1").write_text("")
    assert tried(tmp_path / "vmstat.1") == []


def test_ldms_with_names_in_a_file_of_their_own_and_logs_that_were_rotated(tmp_path):
    for first in (10, 20):
        (tmp_path / f"vmstat.17000000{first}").write_text(ldms_rows(first))
        (tmp_path / f"vmstat.HEADER.17000000{first}").write_text(LDMS)
    (found,) = read_nodes([tmp_path])
    # The counter goes on from file to file.
    np.testing.assert_allclose(found.column("user")[1:], 50)
    assert len(found.times) == 20


def prometheus(results: object, **more: object) -> str:
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": results}, **more})


def test_prometheus(tmp_path):
    def series(name, node, values, **labels):
        points = [[1700000000 + s, str(value)] for s, value in enumerate(values)]
        return {"metric": {"__name__": name, "instance": f"{node}:9100", "job": "node", **labels}, "values": points}

    joules = [10, 110, 210, 5, 105]
    found = read_nodes(
        write(
            tmp_path,
            prom_json=prometheus([
                series("node_cpu_seconds_total", "n2", [0, 2, 4, 6, 8], mode="user"),
                series("ipmi_dcmi_power_consumption_watts", "n1", [200, 201, 202, 203, 204]),
                series("node_rapl_package_joules_total", "n1", joules, index="0"),
                series("node_load1", "n1", [1, 2, "NaN", 4, 5]),
            ]),
        )
    )  # fmt: skip
    assert [each.node for each in found] == ["n1", "n2"]
    first, second = found
    assert first.power == "ipmi_dcmi_power_consumption_watts"
    np.testing.assert_allclose(first.column("node_rapl_package_joules_total{index=0}"), [np.nan, 100, 100, np.nan, 100])
    np.testing.assert_allclose(first.column("node_load1"), [1, 2, np.nan, 4, 5])
    np.testing.assert_allclose(second.column("node_cpu_seconds_total{mode=user}")[1:], 2)


def test_parquet(tmp_path):
    stamps = pa.array(np.arange(1700000000, 1700000010) * 1000, pa.timestamp("ms", "UTC"))
    nodes = pa.array(["a", "b"] * 5).dictionary_encode()
    numbers = pa.array([1, None, *range(8)], pa.int64())
    table = {
        "timestamp": stamps,
        "node": nodes,
        "cache-misses": numbers,
        "power": pa.array(np.arange(10.0)),
        "l": [[1]] * 10,
    }
    parquet.write_table(pa.table(table), tmp_path / "n.parquet")
    a, b = read_nodes([tmp_path / "n.parquet"])
    np.testing.assert_allclose(a.times, 1700000000 + np.arange(0, 10, 2))
    np.testing.assert_allclose(a.watts, [0, 2, 4, 6, 8])
    np.testing.assert_allclose(b.column("cache-misses"), np.array([np.nan, 1, 3, 5, 7]) / 2)


def test_simulated_power_is_marked(tmp_path):
    found = one(tmp_path, s_csv="# simulated: 100 W + 30 W * cpu\ntime,cpu,power\n1,0,100\n2,1,130\n3,0,100\n")
    assert found.simulated
    assert said(found, "power is simulated: 100 W + 30 W * cpu")


@pytest.mark.parametrize(
    ("name", "text", "kind", "message"),
    [
        ("a.csv", "", NoDataError, "empty"),
        ("a.csv", "# nothing\n", NoDataError, "empty"),
        ("a.csv", "1,2\n3,4\n", NoDataError, "name the columns"),
        ("a.csv", "x,y\n3,4\n", UsageError, "no column of times"),
        ("a.csv", "time,y\n", NoDataError, "no row with a time and a number"),
        ("a.csv", "time,y\nsoon,4\n", NoDataError, "no row with a time and a number"),
        ("a.csv", "time,y\n1,many\n", NoDataError, "no row with a time and a number"),
        ("a.json", "{", NoDataError, "no JSON"),
        ("a.json", "[" * 100000, NoDataError, "no JSON"),
        ("a.json", "{}", NoDataError, "not an answer of Prometheus"),
        ("a.json", '{"status": "error", "error": "query timed out"}', NoDataError, "query timed out"),
        ("a.json", prometheus([]), NoDataError, "no number"),
        ("a.json", prometheus([{"metric": {}, "values": [[1]]}]), NoDataError, "not a pair"),
        ("a.json", prometheus([{"metric": {}, "value": [1, "2"]}]), NoDataError, "range query"),
        ("a.parquet", "PAR1", NoDataError, "not a Parquet file"),
    ],
)
def test_invalid_input_is_one_line(tmp_path, name, text, kind, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(kind, match=message) as error:
        read_nodes([tmp_path / name])
    assert "\n" not in str(error.value)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(NoDataError, match="no such file"):
        read_nodes([tmp_path / "x.csv"])
    with pytest.raises(NoDataError, match="no file of counters"):
        read_nodes([tmp_path])


TOKENS = st.sampled_from(
    ["time", "node", "power", "#Time", "Time_usec", ",", ";", "\n", "\t", "1", "2.5", "-3", "1e308", "nan", "inf", '"',
     "#", "é", "# begun: 1.000000 s since 1970 on x", "# incprof sample 1: ", "time_s", "\0", "9" * 400, "1.000000000",
     " ", "2023-01-01"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.lists(TOKENS, max_size=60).map("".join).map(str.encode), st.binary(max_size=200)))
@pytest.mark.parametrize("suffix", [".csv", ".json", ".parquet"])
def test_hostile_files_are_refused_in_a_line_or_read(tmp_path_factory, suffix, data):
    path = tmp_path_factory.getbasetemp() / f"hostile{suffix}"
    path.write_bytes(data)
    assert all(len(series.times) for series in tried(path))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6))
def test_damaged_parquet(tmp_path_factory, seed):
    path = tmp_path_factory.getbasetemp() / "damaged.parquet"
    if not path.exists():
        parquet.write_table(pa.table({"time": np.arange(9.0), "power": np.arange(9.0)}), path)
    other = path.with_name("damaged-now.parquet")
    other.write_bytes(damaged(seed, path.read_bytes()))
    tried(other)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.just("1"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["metric", "values", "data", "result"]), inner)
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(JSON, st.lists(JSON, max_size=3))
def test_hostile_answers_of_prometheus(tmp_path_factory, answer, results):
    path = tmp_path_factory.getbasetemp() / "answer.json"
    for text in (json.dumps(answer), prometheus(results), prometheus([{"metric": {}, "values": results}])):
        path.write_text(text)
        tried(path)


def test_a_node_that_was_off_costs_the_others_nothing(tmp_path):
    rows = "".join(f"{s},{node},{'' if node == 'off' else s % 3}\n" for s in range(5) for node in ("on", "off"))
    found = read_nodes(write(tmp_path, n_csv=f"time,node,instructions\n{rows}"))
    assert [series.node for series in found] == ["on"]
