"""Clusters without the full matrix against those of the whole dendrogram."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.systems.periods import dtw
from incprof.systems.periods.dtw import Forest, Heights, clusters, cut_of
from incprof.systems.periods.pattern_result import PatternOptions


def families(draw, shapes, members, noise, length=24):
    """Instances of several shapes in random order, and of which shape each is."""
    centres = [draw.uniform(0, 1, length) for _ in range(shapes)]
    kind = draw.integers(0, shapes, members)
    series = []
    for number in kind.tolist():
        part = centres[number][: length - int(draw.integers(0, 3))]
        series.append(part + noise * draw.standard_normal(len(part)))
    return series, kind


@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(2, 45), st.sampled_from([0.0, 0.01, 0.05, 0.2, 0.5]))
@settings(max_examples=150, deadline=None)
def test_the_fast_way_gives_the_clusters_of_the_full_matrix(seed, shapes, members, noise):
    draw = np.random.default_rng(seed)
    series, _ = families(draw, shapes, members, noise)
    packed = dtw.pack(series)
    after = np.flatnonzero(draw.random(members - 1) < 0.7)
    follows = np.column_stack([after, after + 1])
    gap, ceiling = float(draw.choice([1.2, 2.0])), float(draw.choice([0.05, 0.1, 0.3]))
    options = PatternOptions(gap=gap, ceiling=ceiling)
    exact = clusters(packed, follows, PatternOptions(gap=gap, ceiling=ceiling, exact=True))
    assert clusters(packed, follows, options).tolist() == exact.tolist()


def test_shapes_come_apart_and_stay_together():
    series, kind = families(np.random.default_rng(1), 4, 200, 0.02)
    order = np.argsort(kind, kind="stable")
    packed, kind = dtw.pack([series[at] for at in order.tolist()]), kind[order]
    same = np.flatnonzero(kind[1:] == kind[:-1])
    labels = clusters(packed, np.column_stack([same, same + 1]), PatternOptions())
    assert len(set(labels.tolist())) == 4
    assert len(set(zip(labels.tolist(), kind.tolist(), strict=True))) == 4


def test_most_pairs_are_never_measured(monkeypatch):
    """One tight cluster of q instances needs about q distances."""
    series, _ = families(np.random.default_rng(2), 1, 400, 0.02)
    measured = 0
    original = dtw.distances

    def counted(packed, left, right, **more):
        nonlocal measured
        measured += len(left)
        return original(packed, left, right, **more)

    monkeypatch.setattr(dtw, "distances", counted)
    regions = np.array([at for at in range(399) if at % 20 != 19])
    labels = clusters(dtw.pack(series), np.column_stack([regions, regions + 1]), PatternOptions())
    assert set(labels.tolist()) == {0}
    assert measured < 1000


@pytest.mark.parametrize(
    ("merges", "expected"),
    [
        ([0.5, 1.5, 1.6, 6.0], 1.6),  # the gap between 1.6 and 6
        ([0.5, 0.8], 1.0),  # all within the floor
        ([1.5, 2.0, 3.0], 3.0),  # no gap: all of them
        ([1.5, 2.0, 12.0], 2.0),  # beyond the ceiling
        ([4.0, 5.0], 1.0),  # the gap is right above the floor
    ],
)
def test_where_the_tree_is_cut(merges, expected):
    assert cut_of(np.array(merges), Heights(1.0, 10.0), 2.0) == expected


@given(st.integers(1, 30), st.lists(st.tuples(st.integers(0, 29), st.integers(0, 29)), max_size=40))
def test_a_forest_has_the_sets_of_its_merges(count, merges):
    forest, sets = Forest(count), [{number} for number in range(count)]
    for one, other in ((a % count, b % count) for a, b in merges):
        first, second = (next(each for each in sets if number in each) for number in (one, other))
        assert forest.merge(one, other) == (first is not second)
        sets = [each for each in sets if each is not first and each is not second]
        sets.append(first | second)
    assert [part.tolist() for part in forest.parts()] == sorted(sorted(each) for each in sets)
    assert forest.roots().tolist() == [min(next(each for each in sets if n in each)) for n in range(count)]
