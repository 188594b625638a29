"""The period of magnitudes: against equation 1, against known periods, and against series that have none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.errors import UsageError
from incprof.systems.periods.dpd_values import DpdValues, FloatArray, detect
from tests.unit.dpd_values_reference import DpdValuesReference

N = 3000
T = np.arange(N)


def by_definition(x: FloatArray, window: int, lags: int) -> FloatArray:
    """d(m) over the last `window` samples of x, or as many as there are."""
    found = np.full(lags - 1, np.nan)
    for m in range(1, min(lags, len(x))):
        terms = np.abs(x[m:] - x[:-m])[-window:]
        found[m - 1] = terms.sum() / len(terms)
    return found


numbers = st.one_of(
    st.lists(st.integers(-3, 3).map(float), max_size=200),
    st.lists(st.integers(-(2**40), 2**40).map(float), max_size=100),
)


@settings(max_examples=100, deadline=None)
@given(numbers, st.integers(2, 60), st.integers(2, 60), st.integers(0, 150))
def test_distances_of_integers_are_exact(x: list[float], window: int, lags: int, cut: int) -> None:
    """And stay so when N and M change: samples that neither reaches are forgotten."""
    detector = DpdValues(20, lags=15)
    detector.feed(x[:cut])
    detector.resize(window, lags)
    detector.feed(x[cut:])
    known = min(cut, 35, window + lags, len(x)) + len(x[cut:])
    values = np.asarray(x, dtype=np.float64)[len(x) - known :]
    # One division of the same exact sum by the same number of terms.
    np.testing.assert_array_equal(detector.distances(), by_definition(values, window, lags))


def test_rounding_does_not_add_up() -> None:
    """A huge sample takes digits away from every sum; when it has left and they were made again, all are right."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=60_000)
    x[100] = 1e12
    detector = DpdValues(64)
    detector.feed(x)
    np.testing.assert_allclose(detector.distances(), by_definition(x, 64, 64), rtol=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(2, 50),
    st.integers(2, 70),
    st.sampled_from([None, 1, 3, 16]),
    st.sampled_from([0.0, 0.1, 0.4]),
)
def test_like_the_reference(seed: int, window: int, lags: int, every: int, noise: float) -> None:
    """Periods, starts and confidence of series that have a period now and then."""
    rng = np.random.default_rng(seed)
    pieces = [np.tile(rng.integers(0, 9, rng.integers(1, 30)), rng.integers(1, 8)) for _ in range(4)]
    x = np.concatenate(pieces) + np.round(noise * rng.normal(size=sum(map(len, pieces))) * 64) / 64
    trace = detect(x, window, lags=lags, every=every)
    reference = DpdValuesReference(window, lags=lags, every=every)
    for i, value in enumerate(x.tolist()):
        period, start, confidence = reference.sample(value)
        assert (trace.period[i], trace.start[i]) == (period, start)
        assert trace.confidence[i] == pytest.approx(confidence, rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([24, 40, 60]), st.sampled_from([0.0, 0.1, 0.3]))
def test_repetitions_within_a_period_like_the_reference(seed: int, window: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    motif, tail = rng.integers(0, 9, rng.integers(1, 6)), rng.integers(0, 9, rng.integers(1, 6))
    x = np.resize(np.concatenate([np.tile(motif, rng.integers(2, 5)), tail]), 3 * window)
    x = x + np.round(noise * 3 * rng.normal(size=len(x)) * 64) / 64
    trace, reference = detect(x, window), DpdValuesReference(window)
    assert trace.period.tolist() == [reference.sample(value)[0] for value in x.tolist()]


EXACT = {
    "motif and tail": [1, 5, 9] * 5 + [2, 2, 2, 8, 8],
    "modular": [i * 3 % 17 for i in range(44)],
    "parallelism": np.repeat([1, 16, 1, 16, 1, 16, 1], [6, 10, 4, 8, 5, 6, 5]).tolist(),
    "nested": ([1, 2] * 3 + [7]) * 4 + [4, 4],
    "plateaus": np.repeat([3, 8] * 3 + [0, 8] * 2, 4).tolist(),
    "mixed": [1, 5, 9] * 4 + [i * 5 % 11 for i in range(30)],
}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("noise", [0, 0.1])
def test_what_repeats_within_a_period_is_not_the_period(name: str, noise: float) -> None:
    """Nor is the series without one because of it."""
    pattern = np.asarray(EXACT[name], dtype=np.float64)
    x = np.resize(pattern, N) + noise * pattern.std() * np.random.default_rng(0).normal(size=N)
    trace = detect(x, 200, ahead=(1,))
    assert np.mean(trace.period[400:] == len(pattern)) > 0.98
    if noise == 0:
        assert np.mean(trace.period == len(pattern)) > 1 - 4 * len(pattern) / N
        assert trace.hit_rate(1) > 0.95


@pytest.mark.parametrize(("pattern", "noise"), [(44, 0), (44, 0.1), (13, 0)])
def test_odd_samples_do_not_multiply_the_period(pattern: int, noise: float) -> None:
    rng = np.random.default_rng(3)
    x = np.resize(rng.normal(size=pattern), N) + noise * rng.normal(size=N)
    x += 9 * rng.normal(size=N) * (rng.random(N) < 0.005)
    assert np.mean(detect(x, 400).period[800:] == pattern) > 0.98


@pytest.mark.parametrize("noise", [0, 0.1, 0.2])
@pytest.mark.parametrize(("short", "long"), [(40, 44), (21, 23), (33, 37), (50, 57)])
def test_two_close_sines_have_no_period(short: int, long: int, noise: float) -> None:
    x = np.sin(2 * np.pi * T / short) + np.sin(2 * np.pi * T / long + 1)
    trace = detect(x + noise * np.random.default_rng(0).normal(size=N), 400)
    assert np.mean(trace.period[800:] != 0) < 0.02


def processors(rng: np.random.Generator) -> FloatArray:
    """Processors in use, as in the paper's figure 5: up to 16, opened and closed in 44 ms, never quite alike."""
    shape = np.repeat([1, 16, 8, 16, 4, 1], [6, 10, 5, 11, 7, 5])
    x = np.tile(shape, 40) + rng.integers(-1, 2, 40 * 44) * (rng.random(40 * 44) < 0.3)
    return np.clip(x, 1, 16).astype(np.float64)


def test_figure_6() -> None:
    """Up to M = 88, d has its minimum at 44, and it is the period."""
    x = processors(np.random.default_rng(0))
    detector = DpdValues(100, lags=88)
    trace = detector.feed(x, ahead=(1, 44))
    assert int(np.nanargmin(detector.distances())) + 1 == 44
    assert set(trace.period[200:].tolist()) == {44}
    assert set(np.diff(np.flatnonzero(trace.start)).tolist()) == {44}
    assert trace.confidence[200:].min() > 5
    assert trace.hit_rate(1, tolerance=2) > 0.9
    assert trace.hit_rate(44, tolerance=2) > 0.9


def tiled(period: int, noise: float) -> Callable[[np.random.Generator], FloatArray]:
    """A pattern of random values, and noise in units of its deviation."""
    return lambda rng: np.resize(rng.normal(size=period), N) + noise * rng.normal(size=N)


def waves(period: float, noise: float) -> Callable[[np.random.Generator], FloatArray]:
    angle = 2 * np.pi * T / period
    return lambda rng: np.sin(angle) + 0.5 * np.sin(2 * angle + 1) + noise * rng.normal(size=N)


@pytest.mark.parametrize(
    ("make", "period"),
    [
        (tiled(44, 0), 44),
        (tiled(44, 0.3), 44),
        (tiled(7, 0.2), 7),
        (tiled(90, 0.2), 90),
        (lambda rng: T % 2 + 0.1 * rng.normal(size=N), 2),
        (waves(44, 0), 44),
        (waves(44, 0.4), 44),
        (waves(41.5, 0.1), 41.5),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_periods_with_noise(make: Callable[[np.random.Generator], FloatArray], period: float, seed: int) -> None:
    """No multiples of it, no part of it."""
    trace = detect(make(np.random.default_rng(seed)), 200)
    later = trace.period[400:]
    assert np.mean(np.abs(later - period) <= max(1, 0.02 * period)) > 0.95


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: rng.normal(size=N),
        lambda rng: np.cumsum(rng.normal(size=N)),
        lambda rng: rng.integers(0, 4, N).astype(float),
        lambda rng: np.full(N, 0.1),
        lambda rng: T * 0.37,
        lambda rng: 10.0 * (rng.random(N) < 0.03),
        # Two frequencies close to each other, of similar amplitude.
        lambda rng: np.sin(2 * np.pi * T / 40) + np.sin(2 * np.pi * T / 44),
        lambda rng: (T % 40 < 4) * 1.0 + (T % 44 < 4),
        lambda rng: (T % 40 == 0) * 1.0 + (T % 43 == 0),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_no_period(make: Callable[[np.random.Generator], FloatArray], seed: int) -> None:
    """Once the window is full: shorter than a beat, two frequencies are one."""
    trace = detect(make(np.random.default_rng(seed)), 400)
    assert np.mean(trace.period[800:] != 0) < 0.02


def test_a_period_ends_and_another_begins() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 9, 30), rng.integers(0, 9, 50)
    trace = detect(np.concatenate([np.tile(a, 20), rng.integers(0, 9, 300), np.tile(b, 20)]), 120, every=4)
    assert set(trace.period[200:600].tolist()) == {30}
    assert set(trace.period[750:900].tolist()) == {0}
    assert set(trace.period[-200:].tolist()) == {50}


def test_a_drifting_period_keeps_its_beginnings() -> None:
    """Each period is some samples longer than the one before: the starts follow."""
    lengths = [60 + i // 4 for i in range(60)]
    x = np.concatenate([np.sin(2 * np.pi * np.arange(length) / length) for length in lengths])
    trace = detect(x, 128, every=4)
    steps = np.diff(np.flatnonzero(trace.start))
    assert (trace.period[300:] > 0).all()
    assert steps.min() >= 59
    assert steps.max() <= 77


@pytest.mark.parametrize("stream", [[], [1.0], [1.0, 1.0]])
def test_hardly_any_samples(stream: list[float]) -> None:
    trace = detect(stream, 10, ahead=(1,))
    assert trace.period.tolist() == [0] * len(stream)
    assert trace.hit_rate(1) == 0


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: DpdValues(1), "window 1"),
        (lambda: DpdValues(10, lags=1), "lags 1"),
        (lambda: DpdValues(10, every=0), "every 0"),
        (lambda: DpdValues(10, confidence=1), "confidence 1"),
        (lambda: DpdValues(10, confidence=float("nan")), "confidence nan"),
        (lambda: DpdValues(10).resize(40_000), "window 40000"),
        (lambda: DpdValues(10).feed([1, float("nan")]), "sample 1 is nan"),
        (lambda: DpdValues(10).feed([float("-inf")]), "sample 0 is -inf"),
        (lambda: DpdValues(10).feed([1e200]), "1e\\+200"),
        (lambda: DpdValues(10).feed(["a"]), "must be numbers"),
        (lambda: DpdValues(10).feed([[1.0]]), r"shape \(1, 1\)"),
        (lambda: DpdValues(10).feed([1.0], ahead=(0,)), "ahead"),
    ],
)
def test_bad_arguments(call: Callable[[], object], word: str) -> None:
    with pytest.raises(UsageError, match=word):
        call()
