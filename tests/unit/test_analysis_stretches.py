"""Stretches of a run in which nothing changes: their borders, ways, drifts and turns, on ticks that are drawn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.analysis.options.phases import PHASES
from incprof.analysis.phases import stretches
from incprof.analysis.phases.abrupt import without_drifts
from incprof.analysis.phases.difference import differences, how_different
from incprof.analysis.phases.inclusive import Inclusive
from incprof.analysis.phases.scatter import at_best_lag, inside
from incprof.analysis.phases.segmented import segmented
from incprof.analysis.phases.stretches import Stretches, Sums, neighbours_joined
from incprof.analysis.phases.turns import in_turn_joined
from incprof.analysis.phases.ways import without_ways

A, B, C = np.array([0.7, 0.2, 0.1]), np.array([0.1, 0.2, 0.7]), np.array([0.2, 0.7, 0.1])


def ticks_of(mixes, each=100, seed=0, drives=None):
    """Intervals with so many ticks of each mix (n, c), drawn."""
    rng = np.random.default_rng(seed)
    counts = np.array([rng.multinomial(each, mix) for mix in mixes], dtype=np.float64)
    held = np.zeros((len(counts), 0), dtype=np.bool_) if drives is None else np.asarray(drives, dtype=np.bool_)[:, None]
    return Inclusive(counts, counts.sum(axis=1), np.arange(counts.shape[1]), held)


def spans(stretches):
    return list(zip(stretches.first.tolist(), stretches.end.tolist(), strict=True))


def sums(ticks):
    return Sums(ticks, np.ones(ticks.counts.shape[1]))


@given(st.lists(st.integers(0, 500), min_size=2, max_size=6), st.lists(st.integers(0, 500), min_size=2, max_size=6))
def test_a_difference_has_no_direction_and_none_is_nothing(one, other):
    size = min(len(one), len(other))
    a, b = (np.array(x[:size], dtype=np.float64) for x in (one, other))
    na, nb = a.sum() + 1.0, b.sum() + 1.0
    score, apart = differences(a, na, b, nb, np.ones(size))
    back, also = differences(b, nb, a, na, np.ones(size))
    assert np.allclose(score, back)
    assert np.allclose(apart, also)
    assert ((score >= 0) & np.isfinite(score)).all()
    # The root of the likelihood ratio of the same share is rounding.
    assert differences(a, na, a, na, np.ones(size))[0].max() < 1e-3


def test_a_difference_of_counts_is_normal_where_there_is_none():
    rng = np.random.default_rng(0)
    a, b = rng.binomial(300, 0.3, (2, 4000))
    score, _ = differences(a[:, None], np.full(4000, 300.0), b[:, None], np.full(4000, 300.0), np.ones(1))
    assert np.mean(score**2) == pytest.approx(1.0, rel=0.1)
    assert np.mean(score > 1.96) == pytest.approx(0.05, abs=0.015)


def test_what_is_sure_needs_size_and_certainty():
    def different(share, ticks):
        n = np.array([float(ticks)])
        return how_different(np.array([[0.3 * ticks]]), n, np.array([[(0.3 + share) * ticks]]), n, np.ones(1))[0]

    assert different(0.15, 2000) > 1 > different(0.15, 200)
    assert different(0.05, 10**7) < 1


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 6, 80]), st.floats(0.01, 100))
@settings(max_examples=60, deadline=None)
def test_functions_that_are_not_asked_would_not_have_been_the_most_different(seed, columns, usual):
    rng = np.random.default_rng(seed)
    a, b = (rng.poisson(usual * rng.gamma(0.3, 1, (50, columns))).astype(np.float64) for _ in range(2))
    totals = a.sum(axis=1) + 1, b.sum(axis=1) + rng.integers(1, 9, 50)
    scatter, times = 1 + rng.exponential(1, columns), rng.uniform(0.5, 2, 50)
    score, apart = differences(a, totals[0], b, totals[1], scatter)
    surely = apart * np.maximum(1 - PHASES.surely / np.maximum(score, 1e-9), 1e-6)
    each = np.minimum(score / PHASES.beyond, surely / (PHASES.named * times[:, None]))
    assert (how_different(a, totals[0], b, totals[1], scatter, times=times) == each.max(axis=1)).all()


@pytest.mark.parametrize("seed", range(5))
def test_scatter_is_one_for_ticks_alone_and_found_where_there_is_more(seed):
    rng = np.random.default_rng(seed)
    plain = ticks_of([A] * 600, seed=seed)
    loose = ticks_of([rng.dirichlet(A * 100 / 3.0) for _ in range(600)], seed=seed)
    whole = np.array([0]), np.array([600])
    for measure in (at_best_lag, lambda c, t: inside(c, t, *whole)):
        assert measure(plain.counts, plain.total).max() < 1.6
        assert 2.0 < measure(loose.counts, loose.total).max() < 7.0


def test_scatter_does_not_see_what_alternates():
    ticks = ticks_of([A, B] * 100)
    assert at_best_lag(ticks.counts, ticks.total).max() < 2.0


@pytest.mark.parametrize("each", [10, 100, 1000])
def test_borders_are_where_the_mix_changes(each):
    ticks = ticks_of([A] * 30 + [B] * 20 + [A] * 25, each)
    assert spans(neighbours_joined(ticks, np.ones(3))) == [(0, 30), (30, 50), (50, 75)]


def test_length_buys_power():
    near = A + np.array([0.0, 0.08, -0.08])
    short, long = ticks_of([A] * 4 + [near] * 4, 40), ticks_of([A] * 400 + [near] * 400, 40)
    assert len(neighbours_joined(short, np.ones(3))) == 1
    found = spans(neighbours_joined(long, np.ones(3), PHASES.__class__(named=0.04)))
    assert len(found) == 2
    assert abs(found[0][1] - 400) < 25


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 12)), min_size=1, max_size=8), st.integers(0, 100))
def test_stretches_cover_a_run_in_order(story, seed):
    mixes = [(A, B, C)[kind] for kind, length in story for _ in range(length)]
    ticks = ticks_of(mixes, seed=seed)
    found = neighbours_joined(ticks, np.ones(3))
    assert found.first[0] == 0
    assert found.end[-1] == len(mixes)
    assert (found.first[1:] == found.end[:-1]).all()
    total = sums(ticks)
    assert total.counts(found.first, found.end).sum() == ticks.counts.sum()


def test_a_run_of_nothing_new_is_one_stretch():
    assert [len(neighbours_joined(ticks_of([A] * 400, seed=s), np.ones(3))) for s in range(20)] == [1] * 20


@pytest.mark.parametrize("changes", [(), (1500, 2200)])
def test_what_is_all_alike_is_joined_in_rounds_that_double(changes, monkeypatch):
    """Where none of the neighbours is more alike than others, as in a run of one function."""
    rounds = []
    monkeypatch.setattr(stretches, "how_different", lambda *a: rounds.append(len(a[0])) or how_different(*a))
    second = np.searchsorted(changes, np.arange(3000), side="right") % 2
    counts = 100.0 * np.column_stack([1 - second, second])
    ticks = Inclusive(counts, counts.sum(axis=1), np.arange(2), np.zeros((3000, 0), dtype=np.bool_))
    found = neighbours_joined(ticks, np.ones(2))
    assert found.first.tolist() == [0, *changes]
    assert len(rounds) <= 16
    assert sum(rounds) <= 4 * 3000


def test_ways_are_left_out():
    half, ramp = 0.5 * (A + B), [A + t * (B - A) for t in np.linspace(0.1, 0.9, 6)]
    for middle in ([half], ramp):
        ticks = ticks_of([A] * 30 + middle + [B] * 30, 1000)
        cuts = [0, 30, 30 + len(middle), 60 + len(middle)]
        found = without_ways(sums(ticks), Stretches(np.array(cuts[:-1]), np.array(cuts[1:])))
        assert spans(found) == [(0, 30), (30 + len(middle), 60 + len(middle))]


def test_a_steady_mixture_and_what_is_off_the_line_are_no_ways():
    for middle in ([0.5 * (A + B)] * 10, [C] * 2):
        ticks = ticks_of([A] * 30 + middle + [B] * 30, 1000)
        cuts = [0, 30, 30 + len(middle), 60 + len(middle)]
        found = without_ways(sums(ticks), Stretches(np.array(cuts[:-1]), np.array(cuts[1:])))
        assert len(found) == 3


def test_a_drift_has_no_border_and_a_jump_has_one():
    drift = ticks_of([A + t * (B - A) for t in np.linspace(0, 1, 80)], 1000)
    jump = ticks_of([A] * 40 + [B] * 40, 1000)
    cut = Stretches(np.array([0, 40]), np.array([40, 80]))
    assert len(without_drifts(sums(drift), cut)) == 1
    assert len(without_drifts(sums(jump), cut)) == 2


def test_steps_in_turn_below_a_driver_are_one_stretch():
    story = [A] * 20 + ([B] * 4 + [C] * 5) * 8 + [A] * 20
    inside_driver = [False] * 20 + [True] * 72 + [False] * 20
    for drives, expected in ((inside_driver, [(0, 20), (20, 92), (92, 112)]), (None, None)):
        ticks = ticks_of(story, drives=drives)
        stretches = neighbours_joined(ticks, np.ones(3))
        found, joined = in_turn_joined(sums(ticks), stretches)
        assert spans(found) == (expected or spans(stretches))
        assert spans(joined) == ([(20, 92)] if drives else [])


def test_stages_below_a_driver_stay():
    kinds = np.eye(8)
    story = [kind for k in range(4) for kind in ([kinds[2 * k]] * 5 + [kinds[2 * k + 1]] * 5) * 2]
    ticks = ticks_of(story, drives=[True] * len(story))
    stretches = neighbours_joined(ticks, np.ones(8))
    assert len(in_turn_joined(sums(ticks), stretches)[0]) == len(stretches) == 16


@pytest.mark.parametrize("k", [1, 2, 3, 4, 7])
def test_stretches_that_do_the_same_are_one_group_and_any_number_can_be_had(k):
    found = segmented(ticks_of([A] * 20 + [B] * 20 + [A] * 20 + [C] * 20), PHASES)
    assert found.groups.count == 3
    groups = found.groups.cut(k)
    assert len(set(groups.tolist())) == min(k, 4)
    assert k > 3 or groups[0] == groups[2]


def test_very_many_stretches_take_little():
    ticks = ticks_of([A, A, A, B, B, B] * 1500)
    found = segmented(ticks, PHASES)
    assert found.groups.count == 2
    assert len(found.stretches) > 2500
