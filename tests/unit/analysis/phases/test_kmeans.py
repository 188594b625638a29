"""k-means of the paper's method: the best start of scikit-learn's, whatever number of threads runs it."""

import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from incprof.analysis.phases.kmeans import STARTS, KMeansRuns, fit_k, fit_range, make_fit
from tests.variants import mostly_slow


def ticks_of(groups, n, d, seed, ticks=100):
    """Shares of few ticks, which lie on a lattice; many rows are equal."""
    rng = np.random.default_rng(seed)
    mixes = rng.dirichlet(np.full(d, 0.3), size=groups)
    return np.array([rng.multinomial(ticks, mixes[group]) for group in rng.integers(groups, size=n)]) / ticks


@settings(deadline=None, max_examples=10)
@given(st.integers(2, 6), st.integers(12, 80), st.integers(2, 20), st.integers(0, 2**31), st.sampled_from([10, 100]))
def test_a_fit_is_the_best_of_ten_starts_or_better(groups, n, d, seed, ticks):
    x = ticks_of(groups, n, d, seed, ticks)
    k = 2
    assume(len(np.unique(x, axis=0)) >= k)
    one = make_fit(x, np.zeros(n, dtype=np.int64))
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # fewer distinct rows than clusters
        fit = fit_k(x, x, k, previous=one, random_state=seed % 1000)
        models = [KMeans(k, n_init=1, random_state=seed % 1000 + i).fit(x) for i in range(STARTS)]
    best = min(round(model.inertia_, 12) for model in models)
    assert fit.inertia <= best + 1e-9


ANSWER = """
import json, sys
import numpy as np
from incprof.analysis.phases.kmeans import fit_range
rng = np.random.default_rng(3)
x = rng.dirichlet(np.full(12, 0.3), size=1500)
fits = fit_range(x, max_k=5, jobs=int(sys.argv[1]))
print(json.dumps([[fit.inertia.hex(), fit.stability.hex(), fit.labels.tolist()] for fit in fits]))
"""


@pytest.mark.slow
def test_the_number_of_threads_changes_no_bit():
    answers = set()
    for jobs, threads in (("1", "1"), ("4", "1"), ("1", "4"), ("4", "4")):
        environment = {**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        command = [sys.executable, "-c", ANSWER, jobs]
        answers.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert len(answers) == 1
    assert len(json.loads(answers.pop())) == 5


def as_tuples(fits):
    return [(fit.k, fit.labels.tolist(), fit.inertia, fit.centers.tolist(), fit.stability) for fit in fits]


def test_kept_runs_are_those_that_were_computed():
    x = ticks_of(3, 40, 6, 1)
    first = KMeansRuns()
    fits = first.fits(x, 0)
    k = first.elbow(x, 0, fits)
    assert as_tuples(fits) == as_tuples(fit_range(x))
    again = KMeansRuns(json.loads(json.dumps(first.used)))
    assert as_tuples(again.fits(x, 0)) == as_tuples(fits)
    assert again.elbow(x, 0, fits) == k
    assert again.used == first.used
    # Other rows and another seed are other runs.
    again.fits(x, 1)
    again.fits(x[::-1], 0)
    assert len(again.used) == 3


@pytest.mark.parametrize(
    "damage",
    mostly_slow(
        5,
        [
            lambda kept: None,
            lambda kept: 7,
            lambda kept: {},
            lambda kept: {**kept, "labels": [[0] * 40, [1] + [0] * 39]},
            lambda kept: {**kept, "labels": [[0] * 40, [0] * 40]},
            lambda kept: {**kept, "labels": [[-1] * 40]},
            lambda kept: {**kept, "labels": [[0] * 39]},
            lambda kept: {**kept, "labels": []},
            lambda kept: {**kept, "labels": "x", "stability": None},
            lambda kept: {**kept, "labels": [[0] * 40] * 99, "stability": [1.0] * 99},
            lambda kept: {**kept, "stability": [1.0]},
            lambda kept: {**kept, "stability": ["x"] * len(kept["stability"])},
            lambda kept: {**kept, "elbow": 10**9},
            lambda kept: {**kept, "elbow": "2"},
        ],
    ),
)
def test_damaged_runs_are_computed_again(damage):
    x = ticks_of(3, 40, 6, 1)
    first = KMeansRuns()
    fits = first.fits(x, 0)
    k = first.elbow(x, 0, fits)
    again = KMeansRuns({key: damage(kept) for key, kept in first.used.items()})
    assert as_tuples(again.fits(x, 0)) == as_tuples(fits)
    assert again.elbow(x, 0, fits) == k
