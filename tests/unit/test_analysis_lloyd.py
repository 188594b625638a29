"""k-means as scikit-learn does it: the same labels and the same inertia, to the last bit."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from incprof.analysis.phases.kmeans import adjusted_rand
from incprof.analysis.phases.lloyd import k_means


@st.composite
def rows(draw):
    """Shares of few ticks, which lie on a lattice; with a little noise; or anywhere. Some rows are equal."""
    n, d, groups = draw(st.integers(2, 300)), draw(st.integers(1, 33)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    ticks = draw(st.sampled_from([1, 2, 4, 10, 100]))
    mixes = rng.dirichlet(np.full(d, 0.3), size=groups)
    x = np.array([rng.multinomial(ticks, mixes[group]) for group in rng.integers(groups, size=n)]) / ticks
    x += draw(st.sampled_from([0.0, 0.01, 1.0])) * rng.normal(size=x.shape)
    return x * draw(st.sampled_from([1.0, 0.25, 1e4]))


def assert_same(x, k, seed, starts, centers=None):
    options = {"n_init": starts, "random_state": seed, "init": "k-means++" if centers is None else centers}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer distinct rows than clusters
        model = KMeans(k, algorithm="lloyd", **options).fit(x)
        inertia, labels = k_means(x, k, seed=seed, starts=starts, centers=centers)
    assert labels.tolist() == model.labels_.tolist()
    assert inertia == model.inertia_


@settings(deadline=None)
@given(rows(), st.integers(2, 16), st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_drawn_starts_end_where_those_of_scikit_learn_do(x, k, seed, starts):
    assert_same(x, min(k, len(x)), seed, starts)


@settings(deadline=None)
@given(rows(), st.integers(1, 16), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.1, 10.0]))
def test_so_do_given_centers_also_those_that_no_row_is_near_to(x, k, seed, apart):
    rng = np.random.default_rng(seed)
    k = min(k, len(x))
    chosen = x[rng.integers(len(x), size=k)]
    assert_same(x, k, 0, 1, chosen + apart * rng.normal(size=chosen.shape))


@pytest.mark.parametrize("n", [256, 512, 700])
def test_so_do_more_rows_than_are_worked_out_together(n):
    x = np.random.default_rng(0).dirichlet(np.full(12, 0.3), size=n)
    assert_same(x, 8, 3, 2)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=40))
def test_agreement_is_the_adjusted_rand_index_of_scikit_learn(pairs):
    one, other = np.array(pairs).T
    assert adjusted_rand(one, other) == adjusted_rand_score(one, other)
