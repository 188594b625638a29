import dataclasses
import io

import numpy as np
import pytest

from incprof.analysis.answer import find_phases
from incprof.analysis.answer.describe import summarise
from incprof.analysis.phase_result import Step
from incprof.model import Function, Samples
from incprof.report.json.phases_json import as_dict
from incprof.report.text.phases_text import write_text
from incprof.report.words.site_evidence import how_often
from tests.unit.loops import Loop, run
from tests.unit.machine import Machine

STEPS = (("exchange", 0.0015), ("gather", 0.004), ("accelerate", 0.009), ("drift", 0.0025), ("output", 0.02))


def answered(loop):
    profile = run(loop)
    return summarise(profile, 1), find_phases(profile, k=1)


def lines_of(loop, width=100):
    out = io.StringIO()
    write_text(*answered(loop), out, width=width, details=True)
    lines = [*out.getvalue().splitlines(), ""]
    (first,) = [i for i, line in enumerate(lines) if "repeats every" in line]
    return lines[first : lines.index("", first)]


def test_steps_stand_below_their_phase_in_order():
    first, *steps = lines_of(Loop(STEPS, 240, every=6, rate_hz=1000))
    assert first.strip().startswith("evolve repeats every 20.")
    assert [line.split()[0] for line in steps] == ["1", "2", "3", "4", "5"]
    assert [line.split(",")[0].split()[-1] for line in steps] == [name for name, _ in STEPS]
    assert steps[-1].endswith("output, in one of 6")


def test_an_unknown_order_is_reported():
    calls = [step for i in range(200) for step in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (2, 1, 0))[i * i * 7 % 4]]
    first, *steps = lines_of(Loop((("a", 0.004), ("b", 0.006), ("c", 0.005)), 1, first=calls))
    assert first.endswith("order unknown") or "known where" in first
    assert any(line.split()[0] == "-" for line in steps)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_names_are_cut_to_the_width(width):
    named = [(f"solver::Domain<double, {'long_' * 30}>::step{i}", s) for i, (_, s) in enumerate(STEPS[:4])]
    for line in lines_of(Loop(named, 200), width=width):
        assert len(line) <= width


def test_the_name_of_the_driver_stands_whole_where_the_line_can_be_folded():
    called = "evolve_a_whole_system_of_many_bodies"
    profile = run(Loop(STEPS[:4], 200))
    profile = dataclasses.replace(
        profile, functions=[dataclasses.replace(f, name=called) if f.name == "evolve" else f for f in profile.functions]
    )
    out = io.StringIO()
    write_text(summarise(profile, 1), find_phases(profile, k=1), out, width=60, details=True)
    lines = out.getvalue().splitlines()
    (first,) = [i for i, line in enumerate(lines) if line.startswith(f"      {called} repeats")]
    assert lines[first + 1].startswith("        ")
    assert all(len(line) <= 60 for line in lines[first : first + 2])


def test_json_has_null_for_unknown_values():
    (phase,) = as_dict(*answered(Loop(STEPS[:4], 200, inlined=[1], rate_hz=1000)))["phases"]
    steps = {step["function"]: step for step in phase["steps"]}
    assert [steps[name]["order"] for name, _ in STEPS[:4]] == [1, 2, 3, 4]
    assert {name: steps[name]["every"] for name, _ in STEPS[:4]} == {
        "exchange": 1, "gather": None, "accelerate": 1, "drift": 1,
    }  # fmt: skip
    assert steps["drift"]["driver"] == "evolve"
    assert steps["drift"]["period_s"] == pytest.approx(0.017, rel=0.02)


def nested(levels=1, steps=2, seconds=0.02):
    """A loop of steps that each call as many others, and so on; every second call of the last one."""
    machine = Machine()

    def turn(deep, i, name):
        if deep > levels:
            machine.work(seconds)
            return
        for j in range(steps):
            if j < steps - 1 or i % 2 or deep == 1:
                machine.call(f"{name}_{j}", lambda j=j: turn(deep + 1, i, f"{name}_{j}"))

    def evolve():
        for i in range(120):
            turn(1, i, "step")

    machine.call("main", lambda: machine.call("evolve", evolve))
    return machine.profile()


def lines_below(profile, width=100):
    out = io.StringIO()
    write_text(summarise(profile, 1), find_phases(profile, k=1), out, width=width, details=True)
    lines = [*out.getvalue().splitlines(), ""]
    (first,) = [i for i, line in enumerate(lines) if "repeats every" in line]
    return lines[first : lines.index("", first)]


def test_what_a_step_calls_stands_indented_below_it():
    head, *steps = lines_below(nested(levels=2))
    assert head.startswith("      evolve repeats every ")
    names = [line.split(",")[0].split()[-1] for line in steps]
    assert names == ["step_0", "step_0_0", "step_0_1", "step_1", "step_1_0", "step_1_1"]
    column = [line.index("%") for line in steps]
    assert column == [15, 18, 18, 15, 18, 18]
    assert [line.partition(", ")[2] for line in steps] == ["", "", "in one of 2"] * 2


@pytest.mark.parametrize("width", [60, 100])
def test_no_phase_has_more_than_eight_lines(width):
    lines = lines_below(nested(levels=2, steps=4, seconds=0.005), width)
    assert len(lines) == 8
    assert all(len(line) <= width for line in lines)
    assert lines[-1].strip().endswith("smaller ones: --json")


def test_json_has_steps_below_steps():
    profile = nested(levels=2)
    (phase,) = as_dict(summarise(profile, 1), find_phases(profile, k=1))["phases"]
    first, second = sorted(phase["steps"], key=lambda step: step["function"])
    assert [step["function"] for step in sorted(first["steps"], key=lambda s: s["function"])] == [
        "step_0_0",
        "step_0_1",
    ]
    assert {step["function"]: step["per_call"] for step in second["steps"]} == {"step_1_0": 1.0, "step_1_1": 0.5}
    assert (first["per_call"], first["per_iteration"], first["cpu"]) == (None, 1.0, pytest.approx(1.0, abs=0.01))
    assert all(step["steps"] == [] and step["cpu"] is None for step in first["steps"])


@pytest.mark.parametrize(("part", "said"), [(1.0, False), (0.5, True)])
def test_the_share_of_a_loop_off_the_cpu_is_reported(part, said):
    profile = nested()
    weight = profile.samples.weight
    use = np.arange(len(weight)) % 2 < 2 * part
    kept = {f: getattr(profile.samples, f)[use] for f in ("time_s", "thread", "node", "kind", "weight", "library")}
    head, *_ = lines_below(dataclasses.replace(profile, samples=Samples(**kept)))
    assert head.endswith("% of it on the CPU") == said


@pytest.mark.parametrize(
    ("times", "words"),
    [(1.0, ""), (2.0, ", 2 times"), (61.3, ", about 61 times"), (1.4, ", about 1.4 times"), (0.125, ", in one of 8"),
     (0.7, ", in 70 %"), (1 / 2.7, ", in about one of 2.7"), (1.0004, "")],
)  # fmt: skip
def test_how_often_in_words(times, words):
    function = Function("app", "f", "f", 1)
    assert how_often(Step(0, function, "body", 0.5, 100, 0.01, period_s=1.0, per_iteration=times)) == words
    assert how_often(Step(0, function, "body", 0.5, 100, 0.01, per_call=times)) == words


def test_the_actual_rate_is_reported_where_it_differs():
    profile = run(Loop(STEPS[:4], 200))
    out = io.StringIO()
    counters = dataclasses.replace(profile.counters, cpu_s=profile.counters.cpu_s * 2)
    slow = dataclasses.replace(profile, counters=counters)
    write_text(summarise(slow, 1), find_phases(slow, k=1), out)
    assert "(50 per CPU second, not 100)" in out.getvalue().splitlines()[0]
    assert summarise(profile, 1).reached_hz == pytest.approx(100, rel=0.01)
