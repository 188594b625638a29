"""What to do next with a run, and where the rest of an iteration is."""

import dataclasses
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incprof.analysis.phases.results import Step
from incprof.model import Function
from incprof.report.words.next_steps import fitting_interval_s, next_steps
from incprof.report.words.remainder import remainder


def step(name="solve", mean_s=0.004, period_s=0.02, cpu=0.5, **more):
    function = Function("app", name, name, 1)
    return Step(0, function, "body", 0.5, 100, mean_s, period_s=period_s, cpu=cpu, **more)


@given(st.floats(1e-6, 1e5), st.floats(1e-6, 1e5))
def test_an_interval_holds_two_iterations(period, interval):
    found = fitting_interval_s(period, interval)
    if found is None:
        assert interval >= 2 * period * 0.999999
    else:
        assert 2 * period * 0.999999 <= found <= 5.000001 * period
        assert found > interval * 0.999999


def commands(*steps, interval_s=1.0, sites=(), argv=("./my app", "-n", "3")):
    phase = SimpleNamespace(steps=steps, sites=sites)
    run, metadata = SimpleNamespace(interval_s=interval_s), SimpleNamespace(raw={"argv": list(argv)})
    found = next_steps(run, SimpleNamespace(phases=[phase]), metadata, "gmon my-app", None)
    return [command for _, command in found]


def test_commands_can_be_typed():
    sites = (SimpleNamespace(heartbeat=1), SimpleNamespace(heartbeat=2))
    first, patch, *_ = commands(step(period_s=0.9), sites=sites)
    assert first == "incprof record -i 2 -- './my app' -n 3"
    assert patch == "incprof instrument 'gmon my-app' --source . --patch beats.patch"
    assert not any("instrument" in command or "record" in command for command in commands(step(period_s=0.3)))


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ((step(mean_s=0.01),), "10 ms of CPU time in steps, 10 ms off the CPU"),
        ((step(mean_s=0.002), step(mean_s=0.001, times=4, every=2)),
         "4 ms of CPU time in steps, 10 ms off the CPU, 6 ms on it elsewhere"),
        ((step(cpu=1.0, mean_s=0.01),), "10 ms of CPU time in steps, 10 ms of it elsewhere"),
        ((step(cpu=1.0, mean_s=0.0195),), None),
        ((step(cpu=None),), None),
        ((dataclasses.replace(step(), period_s=None),), None),
    ],
)  # fmt: skip
def test_where_the_rest_of_an_iteration_is(steps, said):
    assert remainder(steps) == said
