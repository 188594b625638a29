"""Stretches without a change, and rows that borrow ticks from their stretch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from incprof.analysis.phases.segments import pooled, segments


def draw(lengths, mixes, ticks, seed):
    rng = np.random.default_rng(seed)
    rows = [rng.multinomial(ticks, mix) for length, mix in zip(lengths, mixes, strict=True) for _ in range(length)]
    return np.array(rows) / ticks


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("ticks", [3, 10, 100])
def test_changes_are_found_where_they_are(seed, ticks):
    x = draw([40, 30, 50], [[0.9, 0.1, 0.0], [0.05, 0.1, 0.85], [0.9, 0.1, 0.0]], ticks, seed)
    found = segments(x, np.full(len(x), float(ticks)))
    assert found[-1] >= 2
    for border in (40, 70):
        nearest = np.abs(np.flatnonzero(np.diff(found)) + 1 - border).min()
        assert nearest <= (2 if ticks < 10 else 0)


def test_counting_makes_hardly_any_changes():
    borders = 0
    for seed in range(20):
        x = draw([150], [[0.3, 0.3, 0.2, 0.2]], 5, seed)
        borders += int(segments(x, np.full(150, 5.0))[-1])
    assert borders <= 4


@settings(max_examples=60)
@given(st.integers(1, 60), st.integers(1, 5), st.integers(1, 30), st.integers(0, 2**31))
def test_stretches_are_numbered_in_order(n, d, ticks, seed):
    x = draw([n], [np.random.default_rng(seed).dirichlet(np.ones(d))], ticks, seed)
    found = segments(x, np.full(n, float(ticks)))
    assert found[0] == 0
    assert set(np.diff(found)) <= {0, 1}
    assert np.array_equal(found, segments(x, np.full(n, float(ticks))))


def test_enough_ticks_are_left_as_they_are():
    x = draw([50], [[0.5, 0.5]], 100, 1)
    rows, ticks = pooled(x, np.full(50, 100.0))
    assert np.array_equal(rows, x)
    assert np.all(ticks == 100.0)


def test_few_ticks_are_borrowed_from_the_same_stretch():
    x = np.vstack([np.tile([1.0, 0.0], (20, 1)), np.tile([0.0, 1.0], (20, 1))])
    rows, ticks = pooled(x, np.full(40, 5.0))
    assert np.array_equal(rows, x), "nothing comes over the border"
    assert np.all(ticks == 55.0), "and windows at a border are as long as others"


@settings(max_examples=60)
@given(st.lists(st.integers(1, 8), min_size=1, max_size=60), st.integers(0, 2**31))
def test_borrowed_rows_are_means_of_neighbours(ticks, seed):
    count = np.array(ticks, dtype=float)
    rng = np.random.default_rng(seed)
    x = np.array([rng.multinomial(t, [0.5, 0.3, 0.2]) for t in ticks]) / count[:, None]
    rows, behind = pooled(x, count)
    assert np.allclose(rows.sum(axis=1), 1.0)
    assert np.all(behind >= count)
    assert np.all(behind <= count.sum())
    assert np.all(rows >= x.min(axis=0) - 1e-12)
    assert np.all(rows <= x.max(axis=0) + 1e-12)
