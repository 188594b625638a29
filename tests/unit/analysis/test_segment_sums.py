import numpy as np
import pytest

from incprof.analysis.segment_sums import (
    effective_dimensions,
    local_shares,
    overdispersion,
    sampling_noise,
)


def draw(p, n, ticks=100, scatter=0.0, seed=0):
    rng = np.random.default_rng(seed)
    p = np.asarray(p)
    rows = [rng.dirichlet(p * ticks / scatter) if scatter else p for _ in range(n)]
    return np.array([rng.multinomial(ticks, row / row.sum()) for row in rows]) / ticks


@pytest.mark.parametrize("p", [[0.5, 0.5], [0.7, 0.2, 0.1], [0.1] * 10])
def test_sampling_noise_is_the_scatter_of_ticks(p):
    x = draw(p, 4000)
    scatter = ((x - np.asarray(p)) ** 2).sum(axis=1).mean()
    assert sampling_noise(x, np.full(4000, 100.0)).mean() == pytest.approx(scatter, rel=0.05)


def test_an_interval_of_one_function_is_not_without_noise():
    assert sampling_noise(np.array([[1.0, 0.0]]), np.array([100.0]))[0] > 0


def test_effective_dimensions():
    assert effective_dimensions(np.array([[0.5, 0.5, 0.0]]))[0] == pytest.approx(1.0)
    assert effective_dimensions(np.full((1, 10), 0.1))[0] == pytest.approx(9.0)
    assert effective_dimensions(np.array([[1.0, 0.0]]))[0] == 1.0


@pytest.mark.parametrize("p", [[0.5, 0.5], [0.4, 0.3, 0.2, 0.1], [0.1] * 10])
def test_overdispersion_is_one_for_ticks_alone(p):
    x = draw(p, 2000)
    assert overdispersion(x, np.full(2000, 100.0)) < 1.3


def test_overdispersion_is_found():
    x = draw([0.4, 0.3, 0.2, 0.1], 2000, scatter=3.0)
    assert 2.5 < overdispersion(x, np.full(2000, 100.0)) < 5.0


def test_alternating_phases_are_not_scatter():
    a, b = draw([0.9, 0.05, 0.05], 300), draw([0.05, 0.05, 0.9], 300, seed=1)
    x = np.where((np.arange(300) % 2 == 0)[:, None], a, b)
    assert overdispersion(x, np.full(300, 100.0)) < 1.5


def test_few_ticks_are_averaged_over_neighbours():
    x = draw([0.5, 0.3, 0.2], 400, ticks=5)
    ticks = np.full(400, 5.0)
    assert abs(local_shares(x, ticks) - [0.5, 0.3, 0.2]).max() < 0.35
    assert overdispersion(x, ticks) < 1.4
    assert local_shares(x, np.full(400, 100.0)) is x
