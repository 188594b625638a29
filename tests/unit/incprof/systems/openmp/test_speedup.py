"""Speedups by Amdahl's law, and run times to expect: against numbers made by the law, and against simulated runs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.systems.openmp.analyse import Loop, Times, amdahl, estimate, speedup

threads = st.integers(1, 512)
parts = st.floats(1e-6, 1e3)


def loop(done: int, times: Times, last_s: float = 1.0) -> Loop:
    return Loop(0, "detected", None, 3, 0, "a", (), iterations=done, times=times, last_s=last_s)


@given(parts, parts, threads, threads)
def test_amdahls_law_is_found_from_two_of_its_points(serial: float, parallel: float, a: int, b: int) -> None:
    if a == b:
        return
    one, found = amdahl(serial + parallel / a, a, serial + parallel / b, b)
    assert one == pytest.approx(serial + parallel, rel=1e-6)
    assert found == pytest.approx(serial, rel=1e-6, abs=1e-6 * one)


@given(st.floats(1e-6, 1e3), st.floats(1e-6, 1e3), threads, threads)
def test_any_two_times_give_a_possible_law(time_a: float, time_b: float, a: int, b: int) -> None:
    if a == b:
        return
    one, serial = amdahl(time_a, a, time_b, b)
    assert 0 <= serial <= one * (1 + 1e-9)
    assert one >= time_a * (1 - 1e-9)


def test_a_baseline_of_one_thread_needs_no_law() -> None:
    found = speedup(Times(50, 0.5, 0.01), 4, Times(20, 1.6, 0.02), 1)
    assert found is not None
    assert found.relative == pytest.approx(3.2)
    assert found.low < 3.2 < found.high
    assert found.speedup == pytest.approx(3.2)


def test_a_baseline_of_two_threads_is_normalised() -> None:
    # 0.2 s that stay and 0.8 s that are shared: 0.6 s with two threads, 0.4 s with four.
    found = speedup(Times(9, 0.4), 4, Times(9, 0.6), 2)
    assert found is not None
    assert found.relative == pytest.approx(1.5)
    assert (found.one_thread_s, found.serial_s) == (pytest.approx(1.0), pytest.approx(0.2))
    assert found.speedup == pytest.approx(2.5)


def test_the_same_number_of_threads_gives_no_time_of_one() -> None:
    found = speedup(Times(9, 0.4), 4, Times(9, 0.5), 4)
    assert found is not None
    assert (found.relative, found.speedup, found.one_thread_s) == (pytest.approx(1.25), None, None)


@pytest.mark.parametrize(("now", "base", "base_threads"), [(0, 5, 1), (5, 0, 1), (5, 5, 0)])
def test_no_speedup_from_nothing(now: int, base: int, base_threads: int) -> None:
    assert speedup(Times(now, 1.0 * (now > 0)), 2, Times(base, 1.0 * (base > 0)), base_threads) is None


def test_the_interval_contains_the_run_time_as_often_as_stated() -> None:
    random = np.random.default_rng(3)
    inside = 0
    for _ in range(400):
        iterations = random.normal(1.0, 0.1, 200)
        timed = iterations[:20]
        times = Times(20, float(timed.mean()), float(timed.std(ddof=1)))
        found = estimate(loop(20, times, float(timed.sum())), 200)
        assert found is not None
        inside += found.low_s <= iterations.sum() <= found.high_s
    assert 0.91 <= inside / 400 <= 0.985


def test_estimates_end_where_the_loop_does() -> None:
    times = Times(19, 0.5, 0.1)
    done = estimate(loop(20, times, 10.0), 20, 10.5)
    assert done is not None
    assert (done.total_s, done.low_s, done.high_s) == (10.5, 10.5, 10.5)
    over = estimate(loop(20, times, 10.0), 15, 10.5)
    assert over is not None
    assert over.expected == 20
    assert estimate(loop(20, times), 15) is None  # it goes on: the number was wrong
    assert estimate(loop(20, times), 0) is None
    assert estimate(loop(1, Times(1, 0.5)), 20) is None
