"""What to do next with a run, and where the rest of an iteration is."""

import dataclasses
from types import SimpleNamespace

import pytest

from incprof.analysis.phase_result import Rest, Step
from incprof.model import Function
from incprof.report.words.phase_words import next_steps
from incprof.report.words.site_evidence import remainder

WAIT, WRITE = (Function("libmpi.so", name, name, 0, imported=True) for name in ("MPI_Wait", "write"))


def step(name="solve", mean_s=0.004, period_s=0.02, cpu=0.5, **more):
    function = Function("app", name, name, 1)
    return Step(0, function, "body", 0.5, 100, mean_s, period_s=period_s, cpu=cpu, **more)


def test_commands_can_be_typed():
    sites = (SimpleNamespace(heartbeat=1), SimpleNamespace(heartbeat=2))
    result = SimpleNamespace(phases=[SimpleNamespace(steps=(), sites=sites)])
    first, *_ = [command for _, command in next_steps(result, "gmon my-app", None)]
    assert first == "incprof instrument 'gmon my-app' --source . --patch beats.patch"
    none = SimpleNamespace(phases=[SimpleNamespace(steps=(), sites=())])
    assert not any("instrument" in command for _, command in next_steps(none, "gmon my-app", None))


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ((step(mean_s=0.01),), "10 ms of CPU time in steps, 10 ms off the CPU"),
        ((step(mean_s=0.002), step(mean_s=0.001, times=4, every=2)),
         "4 ms of CPU time in steps, 10 ms off the CPU, 6 ms on it elsewhere"),
        ((step(cpu=1.0, mean_s=0.01),), "10 ms of CPU time in steps, 10 ms of it elsewhere"),
        ((step(rest=Rest({"work": 0.001, "mpi": 0.005}, (WAIT, WRITE))),),
         "4 ms of CPU time in steps, 10 ms off the CPU (it calls MPI_Wait, write), 5 ms in MPI"),
        ((step(cpu=1.0, rest=Rest({"work": 0.012, "io": 0.004, "waiting": 0.0001})),),
         "4 ms of CPU time in steps, 4 ms input and output, 12 ms on it elsewhere"),
        ((step(cpu=1.0, mean_s=0.0195),), None),
        ((step(cpu=None),), None),
        ((dataclasses.replace(step(), period_s=None),), None),
    ],
)  # fmt: skip
def test_where_the_rest_of_an_iteration_is(steps, said):
    assert remainder(steps) == said
