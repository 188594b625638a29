"""Wall and CPU time that say different things, and phases that only one of two runs has: what a gate makes of it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from incprof.analysis.diff import broken, compare, parse, unsure
from incprof.analysis.diff.measure import ALONE, SHARED
from incprof.errors import UsageError
from incprof.report.words.diff_words import sure, verdict
from tests.unit.diffruns import Work, recorded, simulate, slower

FILL, SOLVE = Work(120, 0.1, {"fill": 1.0}), Work(100, 0.15, {"solve": 1.0})
OUT = Work(60, 0.15, {"write_out": 1.0})
PROGRAM = [FILL, SOLVE, OUT]
GATES = [parse("phase>10%"), parse("run>5%")]


def beside_others(profile, factor, cpu=1.0):
    """The same run while others have the CPU: it takes `factor` times as long, and about the same CPU time."""
    counters = profile.counters
    wall = replace(counters, thread_s=counters.thread_s * factor, cpu_s=counters.cpu_s * cpu)
    return replace(profile, start_s=profile.start_s * factor, end_s=profile.end_s * factor, counters=wall)


def gates(found):
    return [row.name for _, row in broken(GATES, found)], [row.name for _, row in unsure(GATES, found)]


def test_equal_runs_of_which_one_shared_its_cpu_fail_no_gate():
    a, b = recorded(simulate(PROGRAM, seed=1)), recorded(beside_others(simulate(PROGRAM, seed=2), 1.6))
    found = compare([a], [b], clock="both")
    assert (found.run.verdict, found.run.cpu.verdict, found.run.disagrees) == ("slower", "same", True)
    assert gates(found) == ([], ["fill", "solve", "write_out", "whole run"])
    assert gates(compare([b], [a], clock="both")) == ([], [])
    # An explicit request for one of them is granted.
    assert gates(compare([a], [b], clock="wall"))[0] == ["fill", "solve", "write_out", "whole run"]
    assert gates(compare([a], [b], clock="cpu"))[0] == []


@pytest.mark.parametrize("factor", [1.0, 1.6])
def test_what_really_became_slower_fails_beside_others_too(factor):
    a, b = simulate(PROGRAM, seed=1), beside_others(simulate(slower(PROGRAM, "solve", 1.4), seed=2), factor)
    failed, held = gates(compare([recorded(a)], [recorded(b)], clock="both"))
    assert failed == ["solve", "whole run"]
    assert held == (["fill", "write_out"] if factor > 1 else [])


def test_scattered_wall_time_does_not_contradict_cpu_time():
    loads, cpu = (1.0, 1.7, 1.3, 1.1), (0.99, 1.01, 1.0, 1.02)

    def runs(program, seed, loads):
        found = zip(loads, cpu, strict=True)
        return [recorded(beside_others(simulate(program, seed=seed + i), *one)) for i, one in enumerate(found)]

    a, same, b = runs(PROGRAM, 0, loads), runs(PROGRAM, 10, loads[::-1]), runs(slower(PROGRAM, "solve", 1.2), 20, loads)
    assert gates(compare(a, same, clock="both"))[0] == []
    found = compare(a, b, clock="both")
    assert [(p.name, p.verdict) for p in found.phases] == [("fill", "same"), ("solve", "same"), ("write_out", "same")]
    assert [p.name for p in found.phases if p.only_cpu] == ["solve"]
    assert gates(found)[0] == ["solve", "whole run"]


def test_a_run_that_got_less_of_its_cpu_is_less_sure():
    a, b = simulate(PROGRAM, seed=1), simulate(PROGRAM, seed=2)
    assert compare([recorded(a)], [recorded(b)]).run_noise == pytest.approx(ALONE, abs=2e-3)
    half = compare([recorded(a)], [recorded(beside_others(b, 2.0))]).run_noise
    assert half == pytest.approx(ALONE + SHARED / 2, abs=2e-3)
    assert compare([recorded(a)], [recorded(beside_others(b, 2.0))], run_noise=0.0).run_noise == 0.0


def test_a_phase_that_is_gone_fails_and_one_without_a_counterpart_does_not():
    a = recorded(simulate(PROGRAM, seed=1))
    without = compare([a], [recorded(simulate([FILL, SOLVE], seed=2))], clock="both")
    assert [(p.name, p.verdict, p.elsewhere) for p in without.phases if p.verdict == "gone"] == [
        ("write_out", "gone", False)
    ]
    assert gates(without)[0] == ["write_out"]
    path, summary, profile, result = recorded(simulate(PROGRAM, seed=2))
    labels = np.where(result.labels == 2, -1, result.labels)
    unseen = (path, summary, profile, replace(result, k=2, labels=labels, phases=result.phases[:2]))
    for sides in (([a], [unseen]), ([unseen], [a])):
        found = compare(*sides, clock="both")
        assert [p.elsewhere for p in found.phases if p.name == "write_out"] == [True]
        assert gates(found)[0] == []


def test_less_waiting_is_no_regression():
    pause = [FILL, Work(1, 12.0, {"solve": 0.0}, called=False), SOLVE]
    found = compare([recorded(simulate(pause, seed=3))], [recorded(simulate([FILL, SOLVE], seed=1))], clock="both")
    assert [(p.name, p.verdict) for p in found.phases if p.verdict == "gone"] == [("waiting", "gone")]
    assert "waiting" not in gates(found)[0]


def waiting(profile, function, each_s):
    """The same run, whose intervals of a function each end with a wait of so many seconds."""
    name = [f.name for f in profile.functions].index(function)
    there = np.asarray(profile.self_s[:, [name]].todense()).ravel() > 0
    wall = profile.end_s - profile.start_s + np.where(there, each_s, 0.0)
    end = np.cumsum(wall)
    counters = replace(profile.counters, thread_s=wall)
    return replace(profile, start_s=end - wall, end_s=end, counters=counters)


def test_a_gate_of_its_own_fails_by_time_off_the_cpu():
    """Waiting and having to wait for the CPU look alike: the user may state that it is the first."""
    a, b = simulate(PROGRAM, seed=1), waiting(simulate(PROGRAM, seed=2), "solve", 0.4)
    found = compare([recorded(a)], [recorded(b)], clock="both")
    solve = next(row for row in found.phases if row.name == "solve")
    intervals = 15  # of a second each
    assert solve.off_cpu_s == pytest.approx((0.0, 0.4 * intervals), abs=0.6)
    assert gates(found)[0] == []

    def failing(text):
        return [row.name for _, row in broken([parse(text)], found)]

    assert failing("waiting>10%") == failing("waiting>3s") == failing("solve:waiting>0s") == ["solve"]
    # 6 s are 40 % of its 15 s.
    assert failing("waiting>50%") == failing("waiting>8s") == failing("fill:waiting>0s") == []
    with pytest.raises(UsageError, match="CPU time does not include waiting"):
        broken([parse("waiting>10%")], compare([recorded(a)], [recorded(b)], clock="cpu"))


def idle(profile, at, seconds):
    """The same run, in which nothing happens for some seconds before an interval."""
    late = np.zeros(profile.n_intervals)
    late[at] = seconds
    shift = np.cumsum(late)
    n = profile.n_intervals

    def grown(values):
        return np.insert(np.asarray(values), at, 0, axis=0)

    counters = replace(profile.counters, **{k: grown(v) for k, v in vars(profile.counters).items()})
    start = np.insert(profile.start_s + shift, at, profile.start_s[at])
    end = np.insert(profile.end_s + shift, at, profile.start_s[at] + seconds)
    rows = np.array([i + (i >= at) for i in range(n)])
    place = csr_array((np.ones(n), (rows, np.arange(n))), shape=(n + 1, n))
    return replace(
        profile, start_s=start, end_s=end, counters=replace(counters, thread_s=end - start),
        self_s=csr_array(place @ profile.self_s), calls=csr_array(place @ profile.calls).astype(np.int64),
    )  # fmt: skip


def test_a_thread_off_the_cpu_for_long_was_not_waiting_for_it():
    a, b = simulate(PROGRAM, seed=1), idle(simulate(PROGRAM, seed=2), 20, 8.0)
    found = compare([recorded(a)], [recorded(b)], clock="both")
    assert "whole run" in gates(found)[0]
    assert any("waiting for long" in line for line in found.notes)
    # As much, spread over the run, may be that of others.
    beside = beside_others(simulate(PROGRAM, seed=2), 1 + 8.0 / float(a.end_s[-1]))
    assert gates(compare([recorded(a)], [recorded(beside)], clock="both"))[0] == []


@pytest.mark.parametrize(
    ("low", "high", "said", "known"),
    [(0.95, 1.08, "same", "same"), (0.95, 1.3, "inconclusive", "unsure"), (0.008, 117.0, "inconclusive", "unsure")],
)
def test_unchanged_requires_an_interval_without_relevant_changes(low, high, said, known):
    run = compare([recorded(simulate(PROGRAM, seed=1))], [recorded(simulate(PROGRAM, seed=2))], clock="wall").run
    row = replace(run, ci=replace(run.ci, low=low, high=high), verdict="same")
    assert (verdict(row), sure(row)) == (said, known)
