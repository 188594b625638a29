"""Period, order and duration of steps, against loops whose every call is known."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from incprof.analysis.steps import find_steps
from incprof.report.words.site_evidence import remainder
from tests.unit.loops import Loop, run

GADGET = (("exchange", 0.0015), ("gather", 0.004), ("accelerate", 0.009), ("drift", 0.0025))


def steps_of(loop, seed=0):
    profile = run(loop, seed)
    (steps,) = find_steps(profile, np.zeros(profile.n_intervals, dtype=np.int64))
    return {step.function.name: step for step in steps}


def in_order(steps):
    return [step.function.name for step in sorted(steps.values(), key=lambda s: s.order or 99) if step.order]


@pytest.mark.parametrize("rate", [100.0, 1000.0])
def test_four_steps_of_a_time_step(rate):
    steps = steps_of(Loop(GADGET, 200, rate_hz=rate))
    assert in_order(steps) == [name for name, _ in GADGET]
    for name, seconds in GADGET:
        step = steps[name]
        assert (step.every, step.times, step.driver.name) == (1, 1, "evolve")
        assert step.period_s == pytest.approx(0.017, rel=0.02)
        # 340 samples at 100 Hz: the count of those in a step scatters by its square root.
        assert step.mean_s == pytest.approx(seconds, rel=4 / np.sqrt(200 * seconds * rate))


@settings(max_examples=40, deadline=None)
# Two steps that are too small to be any lie between the others.
@example(seconds=[0.005, 0.002, 0.005, 0.1, 0.002, 0.03], rate=1000.0, scatter=0.0, seed=0)
@given(
    seconds=st.lists(st.sampled_from([0.002, 0.005, 0.01, 0.03, 0.1]), min_size=2, max_size=6),
    rate=st.sampled_from([100.0, 1000.0]),
    scatter=st.sampled_from([0.0, 0.03, 0.2]),
    seed=st.integers(0, 10_000),
)
def test_an_order_that_is_given_is_the_true_one(seconds, rate, scatter, seed):
    """Where there is too little evidence for some step, it has no order; those that have one have the right one."""
    named = [(f"step{i}", s) for i, s in enumerate(seconds)]
    loop = Loop(named, max(int(6 / sum(seconds)), 12), scatter=scatter, rate_hz=rate)
    found = in_order(steps_of(loop, seed))
    true = [name for name, _ in named if name in found]
    # What an iteration begins with may not be known; what follows what is.
    turns = [true[i:] + true[:i] for i in range(max(len(true), 1))]
    assert found in turns


@pytest.mark.parametrize(("count", "seconds"), [(3, 0.005), (4, 0.001), (5, 0.005)])
def test_no_order_in_what_has_none(count, seconds):
    """Steps that are called in another order each time; chance may have it once in a while."""
    wrong = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        calls = [step for _ in range(int(4 / seconds / count)) for step in rng.permutation(count).tolist()]
        loop = Loop([(f"step{i}", seconds) for i in range(count)], 1, first=calls, scatter=0.02)
        wrong += bool(in_order(steps_of(loop, seed)))
    assert wrong <= 1


@pytest.mark.parametrize("every", [2, 7, 20])
@pytest.mark.parametrize("rate", [100.0, 1000.0])
def test_a_rare_step(every, rate):
    steps = steps_of(Loop((*GADGET, ("output", 0.012)), 40 * every, every=every, rate_hz=rate))
    rare = steps["output"]
    assert (rare.every, rare.times, rare.calls) == (every, 1, 40)
    assert steps["drift"].every == 1
    assert rare.period_s == pytest.approx(0.017 + 0.012 / every, rel=0.02)
    if rate == 1000.0:
        assert rare.order == 5


def test_a_step_called_before_the_loop_is_not_its_first():
    steps = steps_of(Loop(GADGET, 300, first=[2]))
    assert in_order(steps) == [name for name, _ in GADGET]


def test_an_inlined_step_has_its_place():
    steps = steps_of(Loop(GADGET, 300, inlined=[1]))
    assert in_order(steps) == [name for name, _ in GADGET]
    assert (steps["gather"].calls, steps["gather"].every) == (0, None)
    assert steps["gather"].period_s == pytest.approx(0.017, rel=0.02)


def test_several_calls_in_an_iteration():
    # Samples at the rate of the iterations would all fall into one step.
    twice = Loop((("dot", 0.001), ("multiply", 0.006), ("update", 0.002)), 1, first=[0, 1, 0, 2] * 300, rate_hz=130)
    steps = steps_of(twice)
    assert (steps["dot"].times, steps["multiply"].times, steps["dot"].order) == (2, 1, None)
    assert steps["multiply"].period_s == pytest.approx(0.010, rel=0.02)


def test_irregular_steps_have_no_period():
    rng = np.random.default_rng(5)
    calls = np.repeat([0, 1], 300)
    rng.shuffle(calls)
    steps = steps_of(Loop((("a", 0.004), ("b", 0.006)), 1, first=[*calls.tolist()], scatter=0.1))
    assert sorted(step.every is None for step in steps.values()) == [False, True]


def test_few_intervals_and_no_calls_are_no_error():
    assert steps_of(Loop(GADGET, 1)) == {}
    assert all(step.order is None for step in steps_of(Loop(GADGET, 100, inlined=[0, 1, 2, 3])).values())


def test_what_a_loop_does_outside_of_its_steps():
    """Calls of libraries are not counted: their time is the rest of an iteration, by the functions that call them."""
    program = (("gather", 0.01), ("solve", 0.02), ("MPI_Wait", 0.008), ("fsync", 0.006))
    loop = Loop(program, 400, rate_hz=1000.0, inlined=(2, 3))
    profile = run(loop)
    libraries = {"MPI_Wait", "fsync"}
    functions = tuple(replace(f, imported=f.name in libraries) for f in profile.functions)
    profile = replace(profile, functions=functions)
    (steps,) = find_steps(profile, np.zeros(profile.n_intervals, dtype=np.int64))
    timed = [step for step in steps if step.period_s]
    assert {step.function.name for step in timed} == {"gather", "solve"}
    rest = timed[0].rest
    assert all(step.rest == rest for step in timed)
    assert rest.spent["mpi"] == pytest.approx(0.008, rel=0.1)
    assert rest.spent["io"] == pytest.approx(0.006, rel=0.1)
    assert rest.spent.get("work", 0.0) < 0.001
    assert [function.name for function in rest.waits] == ["MPI_Wait", "fsync"]
    said = r"(29|30)\S* ms of CPU time in steps, [78]\S* ms in MPI, [56]\S* ms input and output"
    assert re.fullmatch(said, remainder(timed))
