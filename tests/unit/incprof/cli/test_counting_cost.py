"""The cost of counting calls, and when it is reported."""

from __future__ import annotations

import json

import pytest

from incprof.cli.main import main
from incprof.readers.run import open_run, read_profile
from tests.unit.streamwriter import PROFILER, Sample, StreamWriter


def saved(folder, calls: int, **metadata) -> str:
    """8 intervals of 1 s: `solve` is called from main so often in each, and 1 of 100 samples is in the hook."""
    writer = StreamWriter(["main", "solve", "io"], **metadata)
    for _ in range(8):
        samples = [Sample("main;solve", weight=99), Sample("main;solve", PROFILER)]
        writer.interval(samples, arcs={("main", "solve"): calls, ("main", "io"): calls // 100})
    writer.end()
    return str(writer.save(folder / "run"))


def told(capsys, run: str) -> tuple[dict, str]:
    main(["phases", run, "--json"])
    found = json.loads(capsys.readouterr().out)["run"]
    main(["phases", run])
    return found, capsys.readouterr().out


def test_the_overhead_is_calls_times_what_one_costs(tmp_path, capsys):
    run = saved(tmp_path, 100_000_000, call_ps=2000)
    found, text = told(capsys, run)
    profile = read_profile(open_run(run))
    counters = profile.counters
    cpu_s = counters.cpu_s - counters.collector_s - counters.handler_s
    assert counters.profiler_s == pytest.approx(0.202)
    assert found["counting"]["calls"] == 8 * 101_000_000
    assert found["counting"]["pct"] == pytest.approx(100 * 0.202 * 8 / (cpu_s.sum() - 0.202 * 8), rel=1e-5)
    assert found["overhead_pct"] >= found["counting"]["pct"]
    assert [one["function"] for one in found["counting"]["functions"]] == ["solve"]
    assert "counting 808000000 calls at 2 ns" in text
    assert "solve 99 %" in " ".join(text.split())
    assert "`incprof check --hot DIR`" in " ".join(text.split())


def test_few_calls_are_not_reported_and_larger_estimates_from_samples_win(tmp_path, capsys):
    run = saved(tmp_path, 1000, call_ps=2000)
    found, text = told(capsys, run)
    assert found["counting"]["pct"] < 0.001
    assert "counting 8" not in text
    assert read_profile(open_run(run)).counters.profiler_s == pytest.approx(0.01)


@pytest.mark.parametrize("wrong", [None, 0, -5, "many", 10**9, True, 1.5])
def test_a_cost_that_makes_no_sense_is_not_known(tmp_path, capsys, wrong):
    found, text = told(capsys, saved(tmp_path, 100_000_000, call_ps=wrong))
    assert found["counting"] is None
    assert "counting 8" not in text


def test_counting_takes_no_more_than_there_was(tmp_path):
    profile = read_profile(open_run(saved(tmp_path, 2**32 - 1, call_ps=10**6)))
    assert (profile.counters.profiler_s <= profile.counters.cpu_s).all()
