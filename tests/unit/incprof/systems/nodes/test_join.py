"""Several files of the same nodes: on one row each, on one clock, with one power."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from incprof.errors import UsageError
from incprof.model import FloatArray, NodeSeries
from incprof.systems.nodes.join import lag_of, mean_over
from incprof.systems.nodes.read import read_nodes

START = 1700000000.0


def drawn(seed: int, rows: int = 600) -> tuple[FloatArray, FloatArray]:
    """Counters (rows, 4) of a program with states of 8 to 60 s, and the power that follows them."""
    rng = np.random.default_rng(seed)
    states = np.concatenate([np.full(rng.integers(8, 60), rng.integers(5)) for _ in range(rows)])[:rows]
    counters = rng.lognormal(0, 1, (5, 4))[states] * (1 + 0.1 * rng.standard_normal((rows, 4)))
    power = counters @ np.array([1.0, 0.5, 0, 0.2])
    return counters, 100 + 50 * power / power.std() + 3 * rng.standard_normal(rows)


def counters_csv(place: Path, node: str, counters: FloatArray, ahead: float = 0.0) -> Path:
    names = [f"instructions-{at}" for at in range(counters.shape[1])]
    rows = [f"{START + 1 + at + ahead:.3f},{node}," + ",".join(map(str, row)) for at, row in enumerate(counters)]
    path = place / f"{node}.csv"
    path.write_text("\n".join([",".join(["time", "node", *names]), *rows]) + "\n")
    return path


def meter_csv(place: Path, rows: list[str], head: str = "timestamp,watts") -> Path:
    path = place / "pdu.csv"
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


def said(series: NodeSeries, text: str) -> bool:
    return any(text in note for note in series.notes)


@pytest.mark.parametrize("late", [-7.3, 0.0, 4.0])
def test_the_clock_of_a_meter_is_set_by_what_its_power_follows(tmp_path, late):
    counters, power = drawn(1)
    meter = meter_csv(tmp_path, [f"{START + 1 + at + late:.3f},{watts:.3f}" for at, watts in enumerate(power)])
    (found,) = read_nodes([counters_csv(tmp_path, "n1", counters), meter])
    assert found.power == "watts"
    known = np.isfinite(found.watts)
    assert known.sum() > 590
    assert np.abs(found.watts - power)[known].mean() < 8
    assert said(found, "its clock fits" if late == 0 else "behind" if late < 0 else "ahead, or its readings are late")
    assert np.corrcoef(found.watts[known], power[known])[0, 1] > 0.97


def test_a_meter_that_follows_nothing_is_left_as_it_is(tmp_path):
    counters, _ = drawn(2)
    _, other = drawn(3)
    meter = meter_csv(tmp_path, [f"{START + 1 + at},{watts:.3f}" for at, watts in enumerate(other)])
    (found,) = read_nodes([counters_csv(tmp_path, "n1", counters), meter])
    assert said(found, "too little to set its clock by")
    np.testing.assert_allclose(found.watts, other, atol=1e-3)


@pytest.mark.parametrize("seed", range(20))
def test_shifts_are_found_and_not_made_up(seed):
    counters, power = drawn(100 + seed)
    _, other = drawn(200 + seed)
    times = START + np.arange(1.0, 601)
    node = NodeSeries("n", times, tuple("abcd"), ("1/s",) * 4, counters)
    shift = np.random.default_rng(seed).uniform(-30, 30)
    meter = NodeSeries("n", times + shift, ("pdu",), ("W",), power[:, None], "pdu")
    lag = lag_of(node, meter)
    assert lag is not None
    assert lag.is_sure
    assert lag.seconds == pytest.approx(-shift, abs=0.4)
    unrelated = lag_of(node, NodeSeries("n", times, ("pdu",), ("W",), other[:, None], "pdu"))
    assert unrelated is not None
    assert not unrelated.is_shift


def test_times_that_are_far_apart_take_no_memory(monkeypatch):
    monkeypatch.setattr("incprof.systems.nodes.join.MOST_ROWS", 1000)
    counters, power = drawn(8, 200)
    times = np.concatenate([[0.0], START + np.arange(199.0) / 100])
    node = NodeSeries("n", times, tuple("abcd"), ("1/s",) * 4, counters)
    tracemalloc.start()
    lag_of(node, NodeSeries("n", times, ("pdu",), ("W",), power[:, None], "pdu"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 << 20


def test_clocks_of_nodes_are_set_by_the_meter_of_all(tmp_path):
    ahead = {"a": 0.0, "b": 0.0, "c": 9.0, "d": 0.0}
    paths, rows, powers = [], [], {}
    for seed, (node, seconds) in enumerate(ahead.items()):
        counters, powers[node] = drawn(10 + seed)
        paths.append(counters_csv(tmp_path, node, counters, seconds))
        rows += [f"{START + 1 + at},{node},{watts:.3f}" for at, watts in enumerate(powers[node])]
    found = read_nodes([*paths, meter_csv(tmp_path, rows, "timestamp,node,watts")])
    assert [series.node for series in found] == ["a", "b", "c", "d"]
    assert said(found[2], "its clock is 9.0")
    assert said(found[2], "ahead of the other nodes'")
    for series in found:
        assert series.times[0] == pytest.approx(START + 1, abs=0.5)
        known = np.isfinite(series.watts)
        assert np.corrcoef(series.watts[known], powers[series.node][known])[0, 1] > 0.95


def test_rows_of_other_rates_keep_their_energy(tmp_path):
    counters, power = drawn(4, 300)
    slow = power.reshape(-1, 5).mean(axis=1)
    slow_rows = [f"{START + 5 * (at + 1)},{watts:.6f}" for at, watts in enumerate(slow)]
    (found,) = read_nodes([counters_csv(tmp_path, "n", counters), meter_csv(tmp_path, slow_rows)])
    assert said(found, "a row every 5 s, held over rows of 1 s")
    assert np.nansum(found.watts) == pytest.approx(power.sum(), rel=1e-6)
    fast = [f"{START + 0.25 * (at + 1)},{watts:.6f}" for at, watts in enumerate(np.repeat(power, 4))]
    (found,) = read_nodes([counters_csv(tmp_path, "n", counters), meter_csv(tmp_path, fast)])
    assert said(found, "its mean over rows of 1 s")
    np.testing.assert_allclose(found.watts, power, atol=1e-5)


def test_means_of_rows_over_others_conserve_known_values():
    rng = np.random.default_rng(5)
    times = np.cumsum(rng.uniform(0.2, 2, 200))
    values = rng.random((200, 2))
    ends = np.linspace(times[0], times[-1], 37)
    coarse = mean_over(times, values, times[0], ends)
    lengths = np.diff(np.concatenate([[ends[0] - (ends[1] - ends[0])], ends]))
    assert coarse.shape == (37, 2)
    inside = np.diff(np.concatenate([[0.0], times]))
    # The first row of the coarse ones begins before the first of the fine ones did.
    assert (coarse[1:] * lengths[1:, None]).sum() == pytest.approx((values[1:] * inside[1:, None]).sum(), rel=1e-9)
    values[50:60] = np.nan
    holes = mean_over(times, values, times[0], ends)
    assert np.isnan(holes).any()
    assert np.nanmax(holes) <= 1


def test_the_power_of_the_whole_node_is_the_one_at_the_plug(tmp_path):
    text = (
        "time,instructions,rapl-package-0-watts,ipmi-watts,gpu_power_w\n1,1,50,190,90\n2,4,60,200,95\n3,2,55,210,96\n"
    )
    path = tmp_path / "n.csv"
    path.write_text(text)
    assert read_nodes([path])[0].power == "ipmi-watts"
    (found,) = read_nodes([path, meter_csv(tmp_path, ["1,205", "2,215", "3,225"], "time,pdu")])
    assert found.power == "pdu"
    assert "power is pdu" in found.notes
    assert found.names[-1] == "pdu"


def test_recordings_of_one_node_at_other_times_are_series_of_their_own(tmp_path):
    for at in (0, 1000):
        rows = "".join(f"{START + at + s},n1,{s % 3}\n" for s in range(10))
        (tmp_path / f"run{at}.csv").write_text(f"time,node,instructions\n{rows}")
    found = read_nodes([tmp_path / "run1000.csv", tmp_path / "run0.csv"])
    assert [(series.node, series.times[0]) for series in found] == [("n1", START), ("n1", START + 1000)]


def test_a_meter_without_a_clock_begins_with_the_counters(tmp_path):
    counters, power = drawn(6, 300)
    meter = meter_csv(tmp_path, [f"{at + 1},{watts}" for at, watts in enumerate(power)], "seconds,watts")
    (found,) = read_nodes([meter, counters_csv(tmp_path, "n1", counters)])
    assert said(found, "has no start time")
    np.testing.assert_allclose(found.watts, power, rtol=0.05)


def test_a_meter_of_an_unknown_node(tmp_path):
    counters, _ = drawn(7, 30)
    paths = [counters_csv(tmp_path, node, counters) for node in ("a", "b")]
    with pytest.raises(UsageError, match="add a column node"):
        read_nodes([*paths, meter_csv(tmp_path, [f"{START},5", f"{START + 1},6"])])


def test_columns_of_the_same_name_are_distinguished(tmp_path):
    for name in ("one", "two"):
        rows = "".join(f"{START + s},n1,{s % 3},{s % 2}\n" for s in range(10))
        (tmp_path / f"{name}.csv").write_text(f"time,node,instructions,{name}\n{rows}")
    (found,) = read_nodes([tmp_path])
    assert found.names == ("instructions", "one", "two:instructions", "two")


def test_nodes_are_the_same_with_and_without_their_domain(tmp_path):
    for name in ("nid1", "nid1.cluster.org"):
        rows = "".join(f"{START + s},{name},{s % 3}\n" for s in range(10))
        (tmp_path / f"{len(name)}.csv").write_text(f"time,node,{'power' if '.' in name else 'instructions'}\n{rows}")
    (found,) = read_nodes([tmp_path])
    assert (found.node, found.names, found.power) == ("nid1", ("instructions", "power"), "power")
    rows = "".join(f"{START + s},a.{domain},{s % 3}\n" for s in range(10) for domain in "xy")
    path = tmp_path / "two.csv"
    path.write_text(f"time,node,instructions\n{rows}")
    assert [series.node for series in read_nodes([path])] == ["a.x", "a.y"]
