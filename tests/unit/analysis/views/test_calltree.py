import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.analysis.views.timed_calltree import (
    BROKEN_FRAME,
    LEAST_NODES,
    LIBRARY_FRAME,
    MOST_NODES,
    OTHER_FRAME,
    ROOT_FRAME,
    UNKNOWN_FRAME,
    drawn_tree,
)
from incprof.analysis.views.tracks import calls_by_cell, cut, entries, self_series, time_bins
from incprof.model.calltree import inclusive
from incprof.readers.run import open_run, read_profile
from tests.unit.profiles import rows, two_phase_run
from tests.unit.streamwriter import LIBM_ID, LIBRARY, PROFILER, UNKNOWN, Sample, StreamWriter


def recorded(writer, tmp_path):
    writer.end()
    return read_profile(open_run(writer.save(tmp_path / "run")))


def paths(profile, tree):
    """Ticks by path: names of functions, numbers of other frames."""
    found = {}
    for node, ticks in zip(tree.node.tolist(), tree.ticks.tolist(), strict=True):
        names = []
        while node:
            frame = int(tree.frame[node])
            names.insert(0, profile.functions[frame].name if frame >= 0 else frame)
            node = int(tree.parent[node])
        found[tuple(names)] = found.get(tuple(names), 0) + ticks
    return found


def test_samples_lie_where_they_were_taken(tmp_path):
    writer = StreamWriter()
    writer.interval([
        Sample("main;solve", weight=60), Sample("main", weight=5), Sample("main;solve", LIBRARY, weight=20),
        Sample("main;solve", PROFILER, weight=9), Sample("", UNKNOWN, weight=3),
    ])  # fmt: skip
    profile = recorded(writer, tmp_path)
    none = np.zeros(1, dtype=np.int64)
    libm = LIBRARY_FRAME - LIBM_ID
    wanted = {("main", "solve"): 60, ("main",): 5, ("main", "solve", libm): 20, (UNKNOWN_FRAME,): 3}
    tree = drawn_tree(profile, none)
    assert paths(profile, tree) == wanted
    assert tree.total[0] == 88
    del wanted["main", "solve", libm]
    assert paths(profile, drawn_tree(profile, none, libraries=False)) == wanted


def test_what_is_small_everywhere_becomes_other(tmp_path):
    names = [f"f{i}" for i in range(300)]
    writer = StreamWriter(["main", "solve", "rare", *names])
    for i in range(60):
        few = [Sample("main;rare", weight=30)] if i == 59 else []
        small = [Sample(f"main;solve;{name}", weight=1) for name in names[5 * i : 5 * i + 5]]
        writer.interval([Sample("main;solve", weight=2000), *small, *few])
    profile = recorded(writer, tmp_path)
    labels = np.array([0] * 59 + [1])
    found = paths(profile, drawn_tree(profile, labels))
    # 1 of 120 000 ticks each; what is rare in the run but not in its phase stays, and as many others as make 200.
    assert found["main", "solve"] == 120000
    assert found["main", "rare"] == 30
    assert found["main", "solve", OTHER_FRAME] == 300 - (LEAST_NODES - 4)
    whole = drawn_tree(profile, labels, whole=True)
    assert len(paths(profile, whole)) == 302
    assert whole.joined == 0


def test_gmon_files_give_a_list_of_functions():
    profile = rows("a=90 b=10", "b=50")
    tree = drawn_tree(profile, np.zeros(2, dtype=np.int64))
    assert paths(profile, tree) == {("a",): 90, ("b",): 60}


def test_paths_that_are_lost_do_not_hide_the_functions(tmp_path):
    writer = StreamWriter()
    broken = ((65534, 0),)
    writer.interval([Sample(broken, weight=10), Sample("main;solve", weight=90)])
    profile = recorded(writer, tmp_path)
    assert BROKEN_FRAME in {path[0] for path in paths(profile, drawn_tree(profile, np.zeros(1, dtype=np.int64)))}
    writer = StreamWriter()
    writer.interval([Sample(broken, weight=60), Sample("main;solve", weight=40)])
    profile = recorded(writer, tmp_path / "second")
    tree = drawn_tree(profile, np.zeros(1, dtype=np.int64))
    assert not tree.paths
    found = paths(profile, tree)
    assert found == {("solve",): 40, ("[no application frame]",): 60}


def test_time_below_functions_by_phase(tmp_path):
    profile = read_profile(open_run(two_phase_run(tmp_path / "run", intervals=4)))
    labels = np.array([-1, 0, 1, 1])
    tree = drawn_tree(profile, labels)
    at = {function.name: i for i, function in enumerate(profile.functions)}
    # 88 + i % 3 in each interval, 10 below it in libm, and 2 in main.
    assert tree.below([at["solve"]], labels) == {-1: 98, 0: 99, 1: 0}
    assert tree.below([at["write_out"]], labels) == {-1: 0, 0: 0, 1: 198}
    assert tree.below([at["main"], at["solve"]], labels) == {-1: 100, 0: 101, 1: 202}


@given(st.lists(st.integers(0, 30), min_size=1, max_size=60), st.randoms(use_true_random=False))
def test_inclusive_is_the_sum_over_all_descendants(own, random):
    parent = [0] + [random.randrange(i) for i in range(1, len(own))]
    wanted = [0.0] * len(own)
    for node, ticks in enumerate(own):
        up = node
        while True:
            wanted[up] += ticks
            if up == 0:
                break
            up = parent[up]
    assert inclusive(np.array(parent), np.array(own, dtype=np.float64)).tolist() == wanted


def test_deep_and_wide_trees_stay_small(tmp_path):
    names = [f"f{i}" for i in range(100)]
    writer = StreamWriter(["main", *names])
    deep = "main;" + ";".join(names[:60])
    for i in range(100):
        writer.interval([Sample(deep, weight=50)] + [Sample(f"main;{names[i]};{name}", weight=1) for name in names])
    profile = recorded(writer, tmp_path)
    tree = drawn_tree(profile, np.arange(100) % 5)
    assert len(tree.parent) <= 2 * MOST_NODES
    assert tree.total[0] == 100 * 150
    assert (tree.parent[1:] < np.arange(1, len(tree.parent))).all()
    assert tree.frame[0] == ROOT_FRAME


def test_any_stretch_and_any_phase_can_be_summed_up(tmp_path):
    profile = read_profile(open_run(two_phase_run(tmp_path / "run", intervals=30)), arcs=False)
    labels = np.array([0] * 15 + [1] * 14 + [-1])
    tree = drawn_tree(profile, labels)
    for step in (1, 2, 8):
        bins = time_bins(profile, labels, 10)
        cells = cut(bins, labels, step)
        table = tree.by_cell(cells)
        assert table.value.sum() == tree.ticks.sum()
        for label in (-1, 0, 1):
            mine = np.isin(table.cell, np.flatnonzero(cells.label == label))
            assert table.value[mine].sum() == tree.ticks[labels[tree.interval] == label].sum()
    calls = calls_by_cell(profile, cut(bins, labels), np.arange(len(profile.functions)))
    assert calls.value.sum() == profile.calls.sum()


def test_entries_are_in_order_and_without_zeros():
    cells = cut(time_bins(rows("a=1", "a=1", "a=1"), np.zeros(3, dtype=np.int64)), np.zeros(3, dtype=np.int64))
    table = entries(cells, np.array([2, 0, 2, 1]), np.array([1, 0, 1, 3]), np.array([2.0, 1.0, 3.0, 0.2]))
    assert (table.cell.tolist(), table.column.tolist(), table.value.tolist()) == ([0, 2], [0, 1], [1, 5])


@pytest.mark.parametrize("most", [1, 3, 7, 1000])
def test_bins_cover_the_run(most):
    profile = rows(*["a=90 b=10"] * 7)
    labels = np.array([0, 0, 0, 1, 1, -1, 1])
    bins = time_bins(profile, labels, most)
    assert len(bins.label) == min(most, 7)
    assert (bins.start_s[0], bins.end_s[-1]) == (0, 7)
    assert bins.start_s[1:].tolist() == bins.end_s[:-1].tolist()
    assert np.asarray(bins.summed(profile.self_s).sum(axis=0)).ravel().tolist() == pytest.approx([6.3, 0.7])


def test_series_show_the_function_of_a_short_phase():
    names = {f"big{i}": 10 - i for i in range(10)}
    lines = [" ".join(f"{name}={ticks}" for name, ticks in names.items())] * 50 + ["tiny=10 big0=1"]
    profile = rows(*lines)
    labels = np.array([0] * 50 + [1])
    found = self_series(profile, labels, time_bins(profile, labels), most=3)
    shown = [profile.functions[i].name for i in found.functions]
    assert shown == ["big0", "big1", "tiny"]
    assert found.self_s.sum() == pytest.approx(profile.self_s.sum())
