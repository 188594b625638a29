"""The cheapest cover, against all subsets."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from incprof.analysis.sites import site_cover
from incprof.analysis.sites.site_cover import cover


@st.composite
def instances(draw):
    elements, candidates = draw(st.integers(1, 12)), draw(st.integers(1, 7))
    covers = draw(hnp.arrays(np.bool_, (elements, candidates)))
    weight = draw(hnp.arrays(np.float64, candidates, elements=st.floats(0.5, 20, width=16)))
    return covers, weight, draw(st.integers(0, elements))


def least(covers, weight, need):
    need = min(need, int(covers.any(axis=1).sum()))
    every = range(covers.shape[1])
    subsets = [list(c) for size in range(covers.shape[1] + 1) for c in combinations(every, size)]
    return min(sum(weight[c] for c in s) for s in subsets if covers[:, s].any(axis=1).sum() >= need)


@settings(deadline=None)
@given(instances())
def test_the_exact_cover_is_the_cheapest_of_all(instance):
    covers, weight, need = instance
    found = cover(covers, weight, need)
    assert covers[:, found].any(axis=1).sum() >= min(need, covers.any(axis=1).sum())
    assert weight[found].sum() <= least(covers, weight, need) * (1 + 1e-5) + 1e-9


@settings(deadline=None)
@given(instances())
def test_the_greedy_cover_keeps_its_bound(instance):
    covers, weight, need = instance
    kinds, count = np.unique(covers, axis=0, return_counts=True)
    need = min(need, int(covers.any(axis=1).sum()))
    found = site_cover._greedy(kinds, count, weight, need) if need else np.zeros(0, dtype=int)
    assert covers[:, found].any(axis=1).sum() >= need
    assert weight[found].sum() <= (1 + np.log(len(covers))) * least(covers, weight, need) + 1e-9


def test_many_candidates_are_covered_too():
    rng = np.random.default_rng(0)
    covers, weight = rng.random((300, 80)) < 0.1, rng.uniform(1, 5, 80)
    found = cover(covers, weight, 285)
    assert covers[:, found].any(axis=1).sum() >= 285
    assert len(found) < 80


def test_the_solver_writes_nothing(capfd):
    rng = np.random.default_rng(1)
    for _ in range(4):
        cover(rng.random((54, 29)) < 0.3, rng.uniform(1.5, 6, 29), 52)
    assert capfd.readouterr() == ("", "")


def test_nothing_to_cover():
    assert not len(cover(np.zeros((0, 3), dtype=bool), np.ones(3), 5))
    assert not len(cover(np.zeros((4, 2), dtype=bool), np.ones(2), 4))
    assert not len(cover(np.ones((4, 2), dtype=bool), np.ones(2), 0))
