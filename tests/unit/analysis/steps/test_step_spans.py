"""How much of a phase a loop covers, and its period, against calls whose times are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incprof.analysis.phase_result import Step
from incprof.analysis.steps import find_steps
from incprof.analysis.steps.step_samples import spans_of
from tests.unit.machine import Machine


def counted(times, intervals, width):
    """Calls per interval, and as many intervals of one length."""
    counts = np.bincount((np.asarray(times) / width).astype(np.int64), minlength=intervals)
    return counts[:intervals], np.full(intervals, width)


@settings(max_examples=200, deadline=None)
@given(
    period=st.floats(0.05, 12.0),
    scatter=st.sampled_from([0.0, 0.1, 0.5]),
    start=st.floats(0.0, 20.0),
    seed=st.integers(0, 10_000),
)
def test_a_period_is_as_accurate_as_stated(period, scatter, start, seed):
    rng = np.random.default_rng(seed)
    gaps = period * np.exp(scatter * rng.standard_normal(int(120 / period)))
    times = start + np.cumsum(gaps)
    n = int(times[-1]) + 20
    counts, width = counted(times, n, 1.0)
    found = spans_of(counts, np.arange(n), width, np.full(n, 100.0))
    if found.error <= 0.05:
        assert found.seconds / found.calls == pytest.approx(np.diff(times).mean(), rel=4 * found.error + 0.02)
    inside = (np.arange(n) >= times[0] - 1) & (np.arange(n) <= times[-1])
    assert found.covered[inside].mean() > 0.95


def test_calls_that_come_in_one_burst_cover_little():
    times = np.concatenate([np.linspace(5, 7, 50), [90.0]])
    counts, width = counted(times, 100, 1.0)
    found = spans_of(counts, np.arange(100), width, np.full(100, 100.0))
    assert found.covered.sum() < 15


def test_a_driver_that_waits_has_not_ended_its_loop():
    times = np.concatenate([np.arange(0, 40, 0.5), np.arange(60, 100, 0.5)])
    counts, width = counted(times, 100, 1.0)
    busy = np.where((np.arange(100) >= 40) & (np.arange(100) < 60), 0.0, 100.0)
    waits = spans_of(counts, np.arange(100), width, busy)
    works = spans_of(counts, np.arange(100), width, np.full(100, 100.0))
    assert waits.covered.all()
    assert waits.seconds / waits.calls == pytest.approx(100 / 160, rel=0.05)
    assert not works.covered[50]
    assert works.seconds / works.calls == pytest.approx(0.5, rel=0.05)


def test_an_interval_of_another_phase_only_interrupts():
    counts, width = counted(np.arange(0, 100, 3.1), 100, 1.0)
    members = np.flatnonzero(np.arange(100) % 5 != 0)
    found = spans_of(counts, members, width, np.full(100, 10.0))
    assert found.seconds / found.calls == pytest.approx(3.1, rel=0.03)
    assert found.covered.shape == members.shape


def test_nothing_is_known_of_what_is_not_called():
    found = spans_of(np.zeros(9, dtype=np.int64), np.arange(9), np.ones(9), np.ones(9))
    assert (found.calls, found.error, found.covered.any()) == (0, np.inf, False)


TREES = st.recursive(st.floats(0.002, 0.05), lambda below: st.lists(below, min_size=1, max_size=3), max_leaves=12)


@settings(max_examples=40, deadline=None)
@given(tree=st.lists(TREES, min_size=1, max_size=3), often=st.lists(st.integers(1, 4), min_size=6, max_size=6))
def test_of_any_program_steps_are_called_again_and_no_larger_than_what_calls_them(tree, often):
    machine = Machine()

    def run(body, name, deep):
        if isinstance(body, float):
            machine.work(body)
            return
        for i, inner in enumerate(body):
            for _ in range(often[deep % len(often)]):
                machine.call(f"{name}{i}", lambda inner=inner, i=i: run(inner, f"{name}{i}", deep + 1))

    def program():
        while machine.now < 20:
            run(tree, "f", 0)

    machine.call("main", program)
    profile = machine.profile()
    (steps,) = find_steps(profile, np.zeros(profile.n_intervals, dtype=np.int64))
    # A name has one caller; of functions that only pass on, the first stands above the last.
    made = {callee: len(times) for (_, callee), times in machine.calls.items()}

    def check(some: tuple[Step, ...], above: Step | None, deep: int) -> None:
        assert deep <= 5
        for step in some:
            assert step.calls == made[step.function.name] >= 3
            assert 0.02 <= step.share <= (above.share if above else 1.0) + 1e-9
            if step.every and step.times:
                assert step.per_iteration == pytest.approx(step.times / step.every)
            check(step.steps, step, deep + 1)

    check(steps, None, 1)
