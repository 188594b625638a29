"""The tree of steps, against programs whose every call is known."""

from __future__ import annotations

import numpy as np
import pytest

from incprof.analysis.phase_result import Step, all_steps
from incprof.analysis.steps import find_steps
from incprof.model import IntervalProfile
from tests.unit.machine import Machine


def steps_of(profile: IntervalProfile) -> tuple[Step, ...]:
    (steps,) = find_steps(profile, np.zeros(profile.n_intervals, dtype=np.int64))
    return steps


def drawn(steps: tuple[Step, ...]) -> dict[str, object]:
    """Names and what is below them."""
    return {step.function.name: drawn(step.steps) for step in steps}


def named(steps: tuple[Step, ...]) -> dict[str, Step]:
    return {step.function.name: step for step in all_steps(steps)}


def run_of(machine: Machine, body) -> Machine:
    machine.call("main", body)
    return machine


def test_a_step_of_all_the_time_has_its_own_steps():
    m = Machine()

    def time_step() -> None:
        m.call("gather", 0.02)
        m.call("accelerate", 0.06)
        m.call("drift", 0.01)

    def evolve() -> None:
        for _ in range(200):
            m.call("time_step", time_step)

    steps = steps_of(run_of(m, lambda: m.call("evolve", evolve)).profile())
    assert drawn(steps) == {"time_step": {"accelerate": {}, "gather": {}, "drift": {}}}
    (outer,) = steps
    assert (outer.calls, outer.driver.name, outer.period_s) == (200, "evolve", pytest.approx(0.09, rel=0.02))
    inner = named(outer.steps)
    assert [inner[name].order for name in ("gather", "accelerate", "drift")] == [1, 2, 3]
    assert {(s.per_call, s.calls, s.driver.name) for s in outer.steps} == {(1.0, 200, "time_step")}
    assert [s.period_s for s in outer.steps] == pytest.approx([0.09] * len(outer.steps), rel=0.02)


def test_functions_that_only_pass_on_are_no_levels():
    m = Machine()

    def work() -> None:
        m.call("left", 0.03)
        m.call("right", 0.05)

    def evolve() -> None:
        for _ in range(100):
            m.call("api", lambda: m.call("checked", lambda: m.call("locked", lambda: m.call("work", work))))

    assert drawn(steps_of(run_of(m, evolve).profile())) == {"api": {"work": {"right": {}, "left": {}}}}


@pytest.mark.parametrize("loads", [1, 2, 40])
def test_set_up_and_what_is_called_once_are_no_steps(loads):
    m = Machine()

    def evolve() -> None:
        for _ in range(150):
            m.call("left", 0.05)
            m.call("right", 0.05)

    def program() -> None:
        for _ in range(loads):
            m.call("load", 1.5 / loads)
        m.call("evolve", evolve)
        m.call("save", 0.8)

    steps = steps_of(run_of(m, program).profile())
    assert sorted(drawn(steps)) == ["left", "right"]
    assert [s.period_s for s in steps] == pytest.approx([0.1] * len(steps), rel=0.02)


def test_what_is_called_once_has_no_period():
    m = Machine()
    run_of(m, lambda: (m.call("factor", 10.0), m.call("solve", 8.0)))
    assert steps_of(m.profile()) == ()


@pytest.mark.parametrize("where", ["driver", "solve"])
@pytest.mark.parametrize("irregular", [False, True])
def test_sweeps_within_a_time_step(where, irregular):
    m, rng = Machine(), np.random.default_rng(1)

    def sweeps() -> None:
        for _ in range(int(rng.integers(50, 72)) if irregular else 61):
            m.call("sweep", 0.0098)

    def evolve() -> None:
        for _ in range(40):
            m.call("assemble", 0.025)
            if where == "driver":
                sweeps()
            else:
                m.call("solve", sweeps)
            m.call("correct", 0.03)

    steps = steps_of(run_of(m, lambda: m.call("evolve", evolve)).profile())
    found = named(steps)
    assert found["assemble"].period_s == pytest.approx(m.now / 40, rel=0.02)
    assert found["assemble"].driver.name == "evolve"
    sweep, calls = found["sweep"], len(m.calls["evolve" if where == "driver" else "solve", "sweep"])
    assert sweep.calls == calls
    if where == "solve":
        assert drawn(steps) == {"solve": {"sweep": {}}, "correct": {}, "assemble": {}}
        assert sweep.per_call == pytest.approx(calls / 40)
        assert sweep.period_s == pytest.approx(0.0098, rel=0.05)
    else:
        assert sweep.per_iteration == pytest.approx(calls / 40)
        assert sweep.times == (None if irregular else 61)


@pytest.mark.parametrize("same", [False, True])
def test_two_drivers_one_after_another_have_a_loop_each(same):
    """same: both call a function of the same name, which is a step of either."""
    m = Machine()

    def drive(name: str, seconds: float) -> None:
        for _ in range(100):
            m.call("body" if same else f"body_{name}", seconds)
            m.call(f"check_{name}", seconds / 4)

    run_of(m, lambda: (m.call("relax", lambda: drive("relax", 0.04)), m.call("polish", lambda: drive("polish", 0.08))))
    steps = steps_of(m.profile())
    periods = {(s.driver.name, s.function.name.partition("_")[0]): s.period_s for s in steps}
    assert periods == {
        (driver, step): pytest.approx(period, rel=0.03)
        for driver, period in (("relax", 0.05), ("polish", 0.1))
        for step in ("body", "check")
    }
    assert all(s.calls == 100 for s in steps)


def test_a_body_through_two_callers():
    """Calls of what the body calls are those of both: only certain ones are reported."""
    m = Machine()

    def body(seconds: float) -> None:
        m.call("inner", seconds)
        m.call("outer", seconds / 2)

    def evolve() -> None:
        for i in range(200):
            m.call("plus", lambda: m.call("body", lambda: body(0.02)))
            if i % 2:
                m.call("minus", lambda: m.call("body", lambda: body(0.05)))

    steps = steps_of(run_of(m, evolve).profile())
    found = {step.function.name: step for step in steps}
    assert sorted(found) == ["minus", "plus"]
    assert (found["plus"].times, found["minus"].times) == (2, 1)
    assert found["plus"].period_s == pytest.approx(m.now / 100, rel=0.02)
    for step in all_steps(steps):
        if step.function.name in ("inner", "outer"):
            assert step.period_s is None


@pytest.mark.parametrize("intervals", [0.5, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_iterations_of_about_an_interval(intervals, seed):
    m, period = Machine(scatter=0.1, seed=seed), 0.2 * intervals

    def evolve() -> None:
        for _ in range(60):
            m.call("assemble", 0.3 * period)
            m.call("solve", 0.6 * period)
            m.call("update", 0.1 * period)

    steps = steps_of(run_of(m, lambda: m.call("evolve", evolve)).profile(interval_s=0.2))
    found = named(steps)
    assert sorted(found) == ["assemble", "solve", "update"]
    assert {(s.every, s.times) for s in steps} == {(1, 1)}
    assert [s.period_s for s in steps] == pytest.approx([m.now / 60] * len(steps), rel=0.1)
    orders = [found[name].order for name in ("assemble", "solve", "update")]
    assert orders in ([1, 2, 3], [None, None, None])


def test_a_phase_that_is_visited_again_has_no_period_of_its_visits():
    m = Machine()

    def solve() -> None:
        for _ in range(40):
            m.call("sweep", 0.05)

    def program() -> None:
        for _ in range(6):
            m.call("solve", solve)
            m.call("write", 3.0)

    profile = run_of(m, program).profile()
    times = np.sort([*m.calls["main", "solve"], *m.calls["main", "write"]])
    labels = (np.searchsorted(times, profile.end_s - 0.125, side="right") - 1) % 2
    solving, writing = find_steps(profile, labels.astype(np.int64))
    assert sorted(drawn(solving)) == ["sweep"]
    assert solving[0].period_s == pytest.approx(0.05, rel=0.03)
    assert all(step.period_s is None for step in writing)


def test_a_loop_that_ends_early_gives_no_period():
    """Half of the driver's time is in a loop of another step: neither is the driver's period."""
    m = Machine()

    def evolve() -> None:
        for _ in range(100):
            m.call("first", 0.05)
        for _ in range(100):
            m.call("second", 0.07)

    steps = steps_of(run_of(m, evolve).profile())
    assert [(s.function.name, s.calls, s.period_s) for s in steps] == [("second", 100, None), ("first", 100, None)]


def test_three_levels_are_enough():
    m = Machine()

    def level(deep: int) -> None:
        if deep == 6:
            m.work(0.004)
            return
        for side in "ab":
            m.call(f"{side}{deep}", lambda: level(deep + 1))

    def evolve() -> None:
        for _ in range(10):
            m.call("top", lambda: level(1))

    steps = steps_of(run_of(m, evolve).profile())

    def depth(some: tuple[Step, ...]) -> int:
        return max((1 + depth(step.steps) for step in some), default=0)

    assert depth(steps) == 3


def test_without_counts_the_same_run_has_the_same_text():
    m = Machine()

    def evolve() -> None:
        for _ in range(100):
            m.call("left", 0.05)
            m.call("right", 0.05)

    profile = run_of(m, evolve).profile()
    assert steps_of(profile) == steps_of(profile)
