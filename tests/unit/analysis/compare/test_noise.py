import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from incprof.analysis.compare.noise import MIN_INTERVALS, adjusted, change, series_mean


def series(rng, n, correlation, noise=0.1):
    """Counts and sums of n intervals whose mean durations are 1 ms with correlated noise."""
    steps = rng.standard_normal(n + 100)
    level = np.zeros(n + 100)
    for t in range(1, n + 100):
        level[t] = correlation * level[t - 1] + np.sqrt(1 - correlation**2) * steps[t]
    counts = rng.poisson(20, n) + 1.0
    return counts, counts * 1e-3 * np.exp(noise * level[100:])


@pytest.mark.parametrize(("n", "correlation"), [(10, 0.0), (40, 0.0), (20, 0.6), (100, 0.6), (400, 0.8)])
def test_intervals_contain_the_truth_as_often_as_stated(n, correlation):
    rng = np.random.default_rng(n)
    held = 0
    for _ in range(400):
        found = change(series_mean(*series(rng, n, correlation)), series_mean(*series(rng, n, correlation)))
        held += found.low <= 1 <= found.high
    # 95 % of 400 is 380 with a standard deviation of 4.4; correlation may cost a few.
    assert 360 <= held <= 400


def test_neighbours_that_are_alike_make_the_interval_wider_than_independence_would():
    rng = np.random.default_rng(3)
    wider = []
    for _ in range(50):
        counts, sums = series(rng, 400, 0.8)
        naive = np.std(sums / counts) / np.mean(sums / counts) / np.sqrt(400)
        wider.append(series_mean(counts, sums).relative_error / naive)
    # In theory sqrt((1 + 0.8) / (1 - 0.8)) = 3.
    assert 2.3 < np.mean(wider) < 3.3


def test_a_change_beyond_noise_is_detected():
    rng = np.random.default_rng(4)
    (counts, sums), b = series(rng, 60, 0.3), series(rng, 60, 0.3)
    found = change(series_mean(counts, 1.2 * sums), series_mean(*b))
    assert found.low < 1 / 1.2 < found.high < 0.95
    assert found.p_value < 0.01


def test_with_independent_noise_it_agrees_with_welch():
    rng = np.random.default_rng(5)
    a, b = rng.normal(1, 0.01, 5000), rng.normal(1.0003, 0.01, 5000)
    found = change(series_mean(np.ones(5000), a), series_mean(np.ones(5000), b))
    oracle = stats.ttest_ind(b, a, equal_var=False).confidence_interval()
    assert found.low - 1 == pytest.approx(oracle.low, abs=1.5e-4)
    assert found.high - 1 == pytest.approx(oracle.high, abs=1.5e-4)


def test_too_few_intervals_have_no_error():
    assert series_mean(np.ones(MIN_INTERVALS - 1), np.ones(MIN_INTERVALS - 1)) is None
    assert series_mean(np.ones(MIN_INTERVALS), np.ones(MIN_INTERVALS)).value == 1
    assert series_mean(np.ones(9), np.zeros(9)) is None


def test_without_noise_any_change_is_beyond_it():
    a, b = series_mean(np.ones(9), np.full(9, 0.5)), series_mean(np.ones(9), np.full(9, 0.55))
    assert change(a, b).p_value == 0
    assert change(a, b).low == change(a, b).high == pytest.approx(1.1)
    assert change(a, a).p_value == 1


@given(st.lists(st.tuples(st.integers(1, 10**6), st.floats(1e-9, 1e6)), min_size=5, max_size=40))
def test_any_series_has_a_sensible_interval(rows):
    counts = np.array([float(count) for count, _ in rows])
    mean = series_mean(counts, np.array([total for _, total in rows]))
    found = change(mean, mean)
    assert found.low <= 1 + 1e-9
    assert found.high >= 1 - 1e-9
    assert found.p_value == pytest.approx(1)


@given(st.lists(st.floats(0, 1), max_size=30))
def test_adjusted_values_equal_those_of_scipy(p_values):
    oracle = stats.false_discovery_control(p_values).tolist() if p_values else []
    assert adjusted(p_values) == pytest.approx(oracle)


def test_what_cannot_be_tested_does_not_count():
    first, second = adjusted([0.01, 0.04])
    assert adjusted([None, 0.01, None, 0.04]) == [None, first, None, second]
    assert adjusted([None]) == [None]
