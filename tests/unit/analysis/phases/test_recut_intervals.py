"""A profile cut anew in time: nothing is lost, and what has a time goes where it was."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.analysis.phases.levels import in_bins
from incprof.model.intervals import cut
from incprof.model.time_use import tree_ticks
from incprof.study import Study
from tests.unit.streamwriter import Sample, StreamWriter


def a_run(directory, functions=("solve", "write_out"), intervals=12, interval_s=1.0, every=25):
    """Each function has a part of the run, and is called once an interval. every: samples in an interval."""
    writer = StreamWriter(["main", *functions], interval_s=interval_s)
    for i in range(intervals):
        function = functions[i * len(functions) // intervals]
        writer.interval([Sample(f"main;{function}")] * every, arcs={("main", function): 3})
    writer.end()
    return writer.save(directory)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return Study(a_run(tmp_path_factory.mktemp("cut") / "run")).recorded


edges_of_a_run = st.lists(st.floats(0.05, 11.95), max_size=20, unique=True)


@given(inner=edges_of_a_run)
def test_nothing_is_lost_and_all_has_its_time(recorded, inner):
    edges = np.sort(np.concatenate([[recorded.start_s[0]], inner, [recorded.end_s[-1]]]))
    edges = edges[np.diff(edges, prepend=-1) > 1e-3]
    found = cut(recorded, edges[:-1], edges[1:])
    assert found.n_intervals == len(edges) - 1
    for name in ("self_s", "calls"):
        before, after = getattr(recorded, name), getattr(found, name)
        assert np.asarray(after.sum(axis=0)) == pytest.approx(np.asarray(before.sum(axis=0)))
    assert found.arcs.count.sum() == recorded.arcs.count.sum()
    assert (np.diff(found.arcs.interval) >= 0).all()
    for name in ("cpu_s", "thread_s", "collector_s", "samples", "lost"):
        values = getattr(recorded.counters, name)
        assert getattr(found.counters, name).sum() == pytest.approx(values.sum())
    # Self time is where the samples are.
    ticks = np.asarray(tree_ticks(found, found.tree).sum(axis=1)).ravel()
    assert np.asarray(found.self_s.sum(axis=1)).ravel() * 100 == pytest.approx(ticks)


def test_the_same_edges_change_nothing(recorded):
    found = cut(recorded, recorded.start_s, recorded.end_s)
    assert (found.self_s != recorded.self_s).nnz == 0
    assert (found.calls != recorded.calls).nnz == 0
    for name in ("interval", "caller", "callee", "count"):
        assert (getattr(found.arcs, name) == getattr(recorded.arcs, name)).all()


def test_a_call_begins_where_its_function_is_first_seen(recorded):
    half = np.array([0.0, 0.5, *range(1, 13)])
    found = cut(recorded, half[:-1], half[1:])
    solve = [f.name for f in found.functions].index("solve")
    assert found.calls.toarray()[:2, solve].sum() == 3
    assert found.calls.toarray()[0, solve] >= 1


@pytest.mark.parametrize("interval_s", [0.25, 0.5, 1.0, 2.0, 4.0])
def test_the_interval_of_the_recorder_does_not_matter(tmp_path, interval_s):
    run = a_run(
        tmp_path / "run", ("read", "solve", "write_out"), round(12 / interval_s), interval_s, round(25 * interval_s)
    )
    result = Study(run).phases(confidence=False)
    assert [phase.sites[0].function.name for phase in result.phases] == ["read", "solve", "write_out"]
    begins = [result.end_s[np.flatnonzero(result.labels == phase)[0] - 1] for phase in (1, 2)]
    assert begins == pytest.approx([4.0, 8.0], abs=0.05)


def test_no_bin_lies_in_two_phases(tmp_path):
    writer = StreamWriter(["main", "solve", "write_out"], interval_s=1.0)
    for i in range(20):
        first, second = ("solve", "solve") if i < 9 else ("solve", "write_out") if i == 9 else ("write_out",) * 2
        writer.interval([Sample(f"main;{first}")] * 37 + [Sample(f"main;{second}")] * 63)
    writer.end()
    profile = Study(writer.save(tmp_path / "run")).profile
    mixed = np.minimum(*(profile.self_s.toarray()[:, at] for at in (1, 2)))
    assert mixed.max() == 0
    assert in_bins(profile).n_intervals == profile.n_intervals


def test_an_interval_of_hours_is_not_cut_into_all_its_seconds(tmp_path, monkeypatch):
    monkeypatch.setattr("incprof.analysis.phases.levels.MOST", 10_000)
    profile = Study(a_run(tmp_path / "run", intervals=4, interval_s=8640.0, every=100)).profile
    assert 4 <= profile.n_intervals <= 11_000
    assert profile.end_s[-1] == pytest.approx(4 * 8640)
