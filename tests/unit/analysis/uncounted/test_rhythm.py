"""The period of a sequence of states, and calls that come with the iterations of loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.analysis.uncounted.loop_run import LoopPeriods, Repeated
from incprof.analysis.uncounted.rhythm import Period, period_of
from incprof.model import FloatArray, IntArray, IntervalProfile
from tests.unit.analysis.uncounted.test_uncounted_loops import played

ONCE = np.ones(3, dtype=np.bool_)


def moments(rng: np.random.Generator, seconds: int) -> FloatArray:
    """A hundred samples a second, and once a second 24 looks a millisecond apart."""
    looks = np.arange(seconds)[:, None] + rng.uniform(0.0, 0.9, (seconds, 1)) + 0.001 * np.arange(24)
    ticks = 0.01 * np.arange(100 * seconds) + rng.uniform(0.0, 0.002, 100 * seconds)
    return np.sort(np.concatenate([ticks, looks.ravel()]))


def found(time_s: FloatArray, state: IntArray) -> Period | None:
    return period_of(time_s, state, np.zeros(len(state), dtype=np.int64), ONCE, 0.003)


def of_iterations(seed: int, period: float, scatter: float) -> tuple[Period | None, float]:
    """What is found of a loop with three parts, and how long its iterations take on average, seconds."""
    rng = np.random.default_rng(seed)
    ends = np.cumsum(period * np.maximum(rng.normal(1.0, scatter, round(60 / period)), 0.5))
    time_s = moments(rng, 30)
    turn = np.searchsorted(ends, time_s)
    part = (time_s - np.concatenate([[0.0], ends])[turn]) / np.diff(ends, prepend=0.0)[turn]
    return found(time_s, np.searchsorted([0.5, 0.8], part)), float(ends[turn[-1]] / (turn[-1] + 1))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), period=st.floats(0.03, 0.3), scatter=st.floats(0.0, 0.1))
def test_what_comes_again_in_an_order_has_a_period(seed: int, period: float, scatter: float) -> None:
    one, mean = of_iterations(seed, period, scatter)
    assert one is None or one.seconds == pytest.approx(mean, rel=max(0.04, 4 * one.error))


@pytest.mark.parametrize("period", [0.03, 0.074, 0.3])
def test_a_period_is_hardly_ever_missed(period: float) -> None:
    """Of 400 seeds 10 miss the second of them, and none another one."""
    assert sum(of_iterations(seed, period, 0.03)[0] is None for seed in range(20)) <= 2


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000))
def test_what_changes_at_random_has_none(seed: int) -> None:
    rng = np.random.default_rng(seed)
    time_s = moments(rng, 30)
    assert found(time_s, rng.integers(0, 3, len(time_s))) is None
    ends = np.cumsum(rng.exponential(0.02, 3000))
    assert found(time_s, rng.integers(0, 3, 3001)[np.searchsorted(ends, time_s)]) is None


def test_a_longer_rhythm_of_what_changes_all_the_time_is_not_its_period() -> None:
    # In a loop of microseconds one part grows, and shrinks, with the iterations of a loop around it.
    rng = np.random.default_rng(5)
    time_s = moments(rng, 60)
    share = 0.5 + 0.45 * np.sign(np.sin(2 * np.pi * time_s / 0.08))
    assert found(time_s, (rng.uniform(size=len(time_s)) < share).astype(np.int64)) is None


def calls_in(profile: IntervalProfile) -> dict[str, Repeated]:
    chains, _ = profile.own_tree.without_recursion()
    calls = LoopPeriods(profile, chains).in_intervals(np.arange(profile.n_intervals))
    return {profile.functions[int(chains.function[chain])].name: each for chain, each in calls.items()}


# Two loops of `step`, which `main` calls in a loop that does nothing else.
ONE, OTHER = ("main@1", "step@2"), ("main@1", "step@3")


def test_a_function_that_is_called_right_after_itself() -> None:
    profile = played([(ONE, 4), (OTHER, 3)] * 100)
    step = calls_in(profile)["step"]
    assert step.estimate.calls == 100
    assert step.estimate.high is not None
    assert step.estimate.low <= 100 <= step.estimate.high <= 107
    assert abs(int(step.times.sum()) - 100) <= 1
    assert step.times[:7].tolist() == pytest.approx([100 / 7] * 7, abs=1)


def test_of_functions_that_one_address_calls_in_turn_nothing_is_reported() -> None:
    assert calls_in(played([(ONE, 4), (OTHER, 3), (("main@1", "report@3"), 2)] * 100)) == {}


def test_steps_of_a_second_are_found_each_by_each() -> None:
    step = calls_in(played([(ONE, 60), (OTHER, 40)] * 12))["step"]
    assert step.estimate.calls == 12
    assert step.estimate.low >= 11
    # Unlike steps that last for so long only now and then: shorter ones may hide between.
    rng = np.random.default_rng(3)
    lengths = np.maximum(rng.exponential(60, (2, 12)), 1).astype(int).tolist()
    uneven = [visit for one, other in zip(*lengths, strict=True) for visit in ((ONE, one), (OTHER, other))]
    assert calls_in(played(uneven)) == {}


def test_a_loop_that_is_the_whole_iteration_gives_no_rate() -> None:
    assert calls_in(played([(ONE, 700)])) == {}
