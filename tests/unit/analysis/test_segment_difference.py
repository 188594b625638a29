"""Whether two segments do the same, and by how much shares scatter, on ticks that are drawn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.analysis.features import Inclusive
from incprof.analysis.segment_sums import differences, how_different, scatter_by_lag, scatter_in_segments
from incprof.analysis.thresholds import PHASES

A, B = np.array([0.7, 0.2, 0.1]), np.array([0.1, 0.2, 0.7])


def ticks_of(mixes, each=100, seed=0):
    """Intervals with so many ticks of each mix (n, c), drawn."""
    rng = np.random.default_rng(seed)
    counts = np.array([rng.multinomial(each, mix) for mix in mixes], dtype=np.float64)
    return Inclusive(counts, counts.sum(axis=1), np.arange(counts.shape[1]))


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
def test_skipped_functions_are_never_the_most_different(seed, columns, usual):
    rng = np.random.default_rng(seed)
    a, b = (rng.poisson(usual * rng.gamma(0.3, 1, (50, columns))).astype(np.float64) for _ in range(2))
    totals = a.sum(axis=1) + 1, b.sum(axis=1) + rng.integers(1, 9, 50)
    scatter = 1 + rng.exponential(1, columns)
    score, apart = differences(a, totals[0], b, totals[1], scatter)
    surely = apart * np.maximum(1 - PHASES.surely / np.maximum(score, 1e-9), 1e-6)
    least = np.sqrt(2 * (PHASES.penalty * np.log(totals[0] + totals[1]) + np.log(columns)))
    each = np.minimum(score / least[:, None], surely / PHASES.named)
    assert (how_different(a, totals[0], b, totals[1], scatter) == each.max(axis=1)).all()


@pytest.mark.parametrize("seed", range(5))
def test_scatter_is_one_for_ticks_alone_and_found_where_there_is_more(seed):
    rng = np.random.default_rng(seed)
    plain = ticks_of([A] * 600, seed=seed)
    loose = ticks_of([rng.dirichlet(A * 100 / 3.0) for _ in range(600)], seed=seed)
    whole = np.array([0]), np.array([600])
    for measure in (scatter_by_lag, lambda c, t: scatter_in_segments(c, t, *whole)):
        assert measure(plain.counts, plain.total).max() < 1.6
        assert 2.0 < measure(loose.counts, loose.total).max() < 7.0


def test_scatter_does_not_see_what_alternates():
    ticks = ticks_of([A, B] * 100)
    assert scatter_by_lag(ticks.counts, ticks.total).max() < 2.0
