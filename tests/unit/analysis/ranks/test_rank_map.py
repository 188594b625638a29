import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from incprof.analysis.answer import find_phases
from incprof.analysis.features import build_features
from incprof.analysis.ranks.assign import assigned
from incprof.analysis.ranks.ranks_result import Group
from incprof.analysis.ranks.summary import modes_of
from incprof.analysis.thresholds import OPTIONS
from incprof.analysis.views.page_parts import MOST_ROWS, RankMap, RankRow, agreement, groups_of_rows, quality, rank_rows
from incprof.readers.run import open_run, read_profile
from incprof.report.page.page_data import ranks_data
from incprof.study import Study
from tests.unit.manyranks import in_phases_of_first, summary_of
from tests.unit.profiles import rows
from tests.unit.streamwriter import LIBRARY, PROFILER, Sample, StreamWriter

EDGES = np.arange(21.0)


def rows_of(*profiles):
    """Rows of ranks 0, 1, ..., all in the phases of the first."""
    return rank_rows(in_phases_of_first(profiles), 0, EDGES)


def test_another_rank_is_in_the_phase_that_it_looks_like():
    # The functions are in another order there, some are new, and it switches later.
    own, other = rows_of(rows(*["a=90 c=10"] * 10, *["b=95 c=5"] * 10), rows(*["Z=5 a=80 b=1"] * 14, *["Z=5 b=90"] * 6))
    assert own.label.tolist() == [0] * 10 + [1] * 10
    assert other.label.tolist() == [0] * 14 + [1] * 6
    assert agreement(other, own) == 16 / 20
    assert agreement(own, own) == 1.0


def test_intervals_unlike_all_phases_have_none_and_a_shorter_rank_ends():
    own, other = rows_of(rows(*["a=90 c=10"] * 10, *["b=95 c=5"] * 10), rows(*["new=90"] * 5, *["b=90"] * 5))
    assert other.label.tolist() == [-1] * 5 + [1] * 5 + [-2] * 10
    assert agreement(other, own) == 0.0
    assert other.busy.tolist() == [0.9] * 10 + [0.0] * 10


def test_the_rank_that_phases_were_found_in_goes_through_them():
    """Also where an interval of a phase is of no mode, as the processor was elsewhere for most of it."""
    profile = rows(*["a=90 c=10"] * 10, *["b=95 c=5"] * 10)
    result = find_phases(profile)
    modes = modes_of(profile, build_features(profile, share=True), result, OPTIONS)
    modes = replace(modes, of_interval=np.where(np.arange(20) < 10, modes.of_interval, -1))
    (labels,), _ = assigned([summary_of(profile)], modes, OPTIONS.phases, (0, result.labels))
    assert set(labels.label.tolist()) == {0, 1}
    assert labels.unexplained == 0.0


def test_no_bin_in_common_is_no_agreement():
    own, other = rows_of(rows(*["a=90 c=10"] * 10, *["b=95 c=5"] * 10), rows(*["new=90"] * 20))
    assert agreement(other, own) is None


def test_many_ranks_that_are_alike_share_rows():
    own, late = rows_of(rows(*["a=90"] * 5, *["b=90"] * 5), rows(*["a=90"] * 7, *["b=90"] * 3))
    ranks = [replace(late if i in (4, 5, 9) else own, ranks=(i,)) for i in range(10)]
    found = SimpleNamespace(ranks=tuple(range(10)), groups=(Group((0, 1, 2, 3, 6, 7, 8), 6), Group((4, 5, 9), 4)))
    groups = groups_of_rows(found, ranks, 10)
    assert [[row.ranks for row in group.rows] for group in groups] == [
        [(0,), (1,), (2,), (3,), (6,), (7,), (8,)],
        [(4,), (5,), (9,)],
    ]
    # At most five rows: two ranks of a group in each.
    groups = groups_of_rows(found, ranks, 5)
    assert [[row.ranks for row in group.rows] for group in groups] == [
        [(0, 1), (2, 3), (6, 7), (8,)],
        [(4, 5), (9,)],
    ]
    assert [group.typical for group in groups] == [6, 4]
    assert [group.row.label.tolist().index(1) for group in groups] == [5, 7]
    assert groups[0].row.cpu_s == pytest.approx(9.0)
    everybody = SimpleNamespace(ranks=found.ranks, groups=())
    assert [group.row.ranks for group in groups_of_rows(everybody, ranks)] == [found.ranks]


def test_rows_of_any_number_of_ranks_are_small():
    """The worst: no rank stays in a phase for two bins, and all use the CPU differently."""
    rng = np.random.default_rng(0)
    ranks = tuple(range(5000))
    rows = [
        RankRow((rank,), rng.integers(0, 12, 240), rng.uniform(0, 64, 240), 1e4 / 3, 1e4 / 3, 1e4 / 3, 1e4 / 3)
        for rank in ranks
    ]
    found = SimpleNamespace(ranks=ranks, groups=tuple(Group(ranks[i::40], i) for i in range(40)))
    groups = tuple(groups_of_rows(found, rows))
    assert sum(len(group.rows) for group in groups) <= MOST_ROWS
    edges = np.arange(241.0)
    data = ranks_data(RankMap(found, groups, dict.fromkeys(ranks, 0.12345), edges[:-1], edges[1:], 0))
    assert len(json.dumps(data, separators=(",", ":"))) < 2_700_000
    assert sorted(rank for group in groups for row in group.rows for rank in row.ranks) == list(ranks)


def test_quality_counts_what_was_lost_and_where_paths_begin(tmp_path):
    writer = StreamWriter(["main", "worker", "solve"])
    cut = ((65534, 0), (0, writer.address("solve")))
    writer.interval([
        Sample("main;solve", weight=50), Sample("worker;solve", weight=20), Sample(cut, weight=10),
        Sample("main;solve", LIBRARY, weight=20), Sample("main", PROFILER, weight=25),
    ], counters={7: 125, 9: 3, 10: 10})  # fmt: skip
    writer.end()
    found = quality(read_profile(open_run(writer.save(tmp_path / "run"))))
    assert found.reach_main == 0.7
    assert found.complete == 0.9
    assert found.outside == 0.2
    assert found.profiler == 25 / 125
    assert found.unknown == 0.0


def test_quality_of_gmon_files_has_no_paths():
    found = quality(rows("a=90", "a=50 b=20"))
    assert (found.samples, found.reach_main, found.complete, found.paths) == (160, None, None, 0)


def test_phases_that_differ_in_callers_are_distinguished_in_every_rank(tmp_path):
    """All self time is one function's."""
    for rank, first in ((0, 12), (1, 28)):
        writer = StreamWriter(["main", "assemble", "relax", "kernel"], rank=rank)
        for interval in range(40):
            caller = "assemble" if interval < first else "relax"
            writer.interval([Sample(f"main;{caller};kernel", weight=100)])
        writer.end()
        writer.save(tmp_path, f"rank-{rank:05}.gmon")
    labels = {own.rank: own.of_intervals(own.label).tolist() for own in Study(tmp_path).ranks.labels}
    assert labels == {0: [0] * 12 + [1] * 28, 1: [0] * 28 + [1] * 12}
